/* Settings of granary-partition-cleaner. */
#ifndef GRANARY_PARTITION_CLEANER_CONFIG_H
#define GRANARY_PARTITION_CLEANER_CONFIG_H

#include "common/config/config.h"

struct partition_cleaner_config {
    struct config_catalog catalog;
    struct config_store store;
    struct config_http http;
    bool deletes;
    int64_t grace_us, quarantine_us, resume_within_us, max_skew_us;
    int64_t max_orphan_percent, max_shrink_percent;
    int64_t page, batch;
};

extern const struct setting partition_cleaner_settings[];
extern const size_t partition_cleaner_setting_count;

#endif
