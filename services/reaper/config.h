/* Settings of granary-reaper. */
#ifndef GRANARY_REAPER_CONFIG_H
#define GRANARY_REAPER_CONFIG_H

#include "common/config/config.h"

struct reaper_config {
    struct config_catalog catalog;
    struct config_bus bus;
    struct config_store store;
    struct config_http http;
    int64_t workers;
    int64_t prefetch;
    int64_t lease_us; /* of a claim, beyond any wait on the retry ladder */
    int64_t gate_interval_us;
    int64_t verify_one_in;
};

extern const struct setting reaper_settings[];
extern const size_t reaper_setting_count;

#endif
