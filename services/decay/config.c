#include "services/decay/config.h"

const struct setting decay_settings[] = {
    CONFIG_CATALOG_SETTINGS(struct decay_config, catalog),
    CONFIG_HTTP_SETTINGS(struct decay_config, http),
    {"GRANARY_DECAY_BATCH", SETTING_INT, offsetof(struct decay_config, batch), "5000", 1, 100000, NULL,
     "partitions marked in one transaction"},
};
const size_t decay_setting_count = sizeof decay_settings / sizeof decay_settings[0];
