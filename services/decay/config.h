/* Settings of granary-decay. */
#ifndef GRANARY_DECAY_CONFIG_H
#define GRANARY_DECAY_CONFIG_H

#include "common/config/config.h"

struct decay_config {
    struct config_catalog catalog;
    struct config_http http;
    int64_t batch; /* partitions in one transaction */
};

extern const struct setting decay_settings[];
extern const size_t decay_setting_count;

#endif
