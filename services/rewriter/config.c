#include "services/rewriter/config.h"

const struct setting rewriter_settings[] = {
    CONFIG_CATALOG_SETTINGS(struct rewriter_config, catalog),
    CONFIG_BUS_SETTINGS(struct rewriter_config, bus),
    CONFIG_STORE_SETTINGS(struct rewriter_config, store),
    CONFIG_HTTP_SETTINGS(struct rewriter_config, http),
    {"GRANARY_REWRITER_POOLS", SETTING_TEXT, offsetof(struct rewriter_config, pools), "small,medium,large", 0, 0, NULL,
     "pools whose tasks are taken, separated by commas; each has a worker of its own, which does one task at a time"},
};
const size_t rewriter_setting_count = sizeof rewriter_settings / sizeof rewriter_settings[0];
