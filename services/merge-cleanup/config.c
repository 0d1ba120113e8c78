#include "services/merge-cleanup/config.h"

#include "common/base/clock.h"

#define KEEP(name, member, default_value, help)                                                             \
    {                                                                                                       \
        name, SETTING_DURATION, offsetof(struct merge_cleanup_config, member), default_value, CLOCK_DAY_US, \
            CLOCK_NEVER, NULL, help                                                                         \
    }

const struct setting merge_cleanup_settings[] = {
    CONFIG_CATALOG_SETTINGS(struct merge_cleanup_config, catalog),
    CONFIG_BUS_SETTINGS(struct merge_cleanup_config, bus),
    CONFIG_HTTP_SETTINGS(struct merge_cleanup_config, http),
    {"GRANARY_CLEANUP_BATCH", SETTING_INT, offsetof(struct merge_cleanup_config, batch), "500", 1, 500, NULL,
     "rows in one transaction, and partitions in one reap event"},
    {"GRANARY_CLEANUP_MAX_BACKLOG", SETTING_INT, offsetof(struct merge_cleanup_config, max_backlog), "1000", 1, 1000000,
     NULL, "reap events waiting beyond which none are added; the collector finds the rest"},
    KEEP("GRANARY_CLEANUP_KEEP_ATTEMPTS", keep_attempts_us, "30d", "how long finished rewrites and lineage are kept"),
    KEEP("GRANARY_CLEANUP_KEEP_RECEIPTS", keep_receipts_us, "400d", "how long receipts of deletions are kept"),
    KEEP("GRANARY_CLEANUP_KEEP_AUDIT", keep_audit_us, "400d", "how long the audit log is kept"),
    KEEP("GRANARY_CLEANUP_KEEP_JOB_RUNS", keep_job_runs_us, "30d", "how long runs of jobs and expired plans are kept"),
    {"GRANARY_CLEANUP_KEEP_BATCH_IDS", SETTING_DURATION, offsetof(struct merge_cleanup_config, keep_batch_ids_us), "7d",
     7 * CLOCK_DAY_US, 400 * CLOCK_DAY_US, NULL,
     "how long ids of committed batches are kept: at least the longest idempotency.horizon there may be (7d)"},
};
const size_t merge_cleanup_setting_count = sizeof merge_cleanup_settings / sizeof merge_cleanup_settings[0];
