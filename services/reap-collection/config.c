#include "services/reap-collection/config.h"

#include "common/events/events.h"

const struct setting reap_collection_settings[] = {
    CONFIG_CATALOG_SETTINGS(struct reap_collection_config, catalog),
    CONFIG_BUS_SETTINGS(struct reap_collection_config, bus),
    CONFIG_HTTP_SETTINGS(struct reap_collection_config, http),
    {"GRANARY_COLLECTION_BATCH", SETTING_INT, offsetof(struct reap_collection_config, batch), "1000", 1, EVENT_REAP_MAX,
     NULL, "partitions in one reap event"},
    {"GRANARY_COLLECTION_MAX_BACKLOG", SETTING_INT, offsetof(struct reap_collection_config, max_backlog), "200", 1,
     1000000, NULL, "reap events waiting at which the collector stops until its next run"},
};
const size_t reap_collection_setting_count = sizeof reap_collection_settings / sizeof reap_collection_settings[0];
