/* Settings of granary-merge-controller. */
#ifndef GRANARY_MERGE_CONTROLLER_CONFIG_H
#define GRANARY_MERGE_CONTROLLER_CONFIG_H

#include "common/config/config.h"

struct merge_config {
    struct config_catalog catalog;
    const char *leader_url; /* "": the catalog's */
    struct config_bus bus;
    struct config_http http;
    int64_t interval_us;
    int64_t lease_us;
    int64_t start_lease_us;
    int64_t ahead;
};

extern const struct setting merge_settings[];
extern const size_t merge_setting_count;

#endif
