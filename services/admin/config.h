/* Settings of granary-admin. */
#ifndef GRANARY_ADMIN_CONFIG_H
#define GRANARY_ADMIN_CONFIG_H

#include "common/config/config.h"

struct admin_config {
    struct config_catalog catalog;
    struct config_bus bus;
    struct config_store store;
    struct config_http http;
    int64_t connections;
    int64_t scans;
    int64_t plan_life_us, orphan_grace_us;
    int64_t apply_batch;
};

extern const struct setting admin_settings[];
extern const size_t admin_setting_count;

#endif
