/* Settings of granary-merge-cleanup. */
#ifndef GRANARY_MERGE_CLEANUP_CONFIG_H
#define GRANARY_MERGE_CLEANUP_CONFIG_H

#include "common/config/config.h"

struct merge_cleanup_config {
    struct config_catalog catalog;
    struct config_bus bus;
    struct config_http http;
    int64_t batch;       /* rows in one transaction */
    int64_t max_backlog; /* reap events waiting beyond which none are added */
    int64_t keep_attempts_us, keep_receipts_us, keep_audit_us, keep_job_runs_us, keep_batch_ids_us;
};

extern const struct setting merge_cleanup_settings[];
extern const size_t merge_cleanup_setting_count;

#endif
