/* Settings of granary-reap-collection. */
#ifndef GRANARY_REAP_COLLECTION_CONFIG_H
#define GRANARY_REAP_COLLECTION_CONFIG_H

#include "common/config/config.h"

struct reap_collection_config {
    struct config_catalog catalog;
    struct config_bus bus;
    struct config_http http;
    int64_t batch;       /* partitions in one event */
    int64_t max_backlog; /* events waiting at which the collector stops */
};

extern const struct setting reap_collection_settings[];
extern const size_t reap_collection_setting_count;

#endif
