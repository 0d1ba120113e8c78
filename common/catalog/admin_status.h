/* What the status page shows: counts over everything that there is, read without locks. */
#ifndef GRANARY_CATALOG_ADMIN_STATUS_H
#define GRANARY_CATALOG_ADMIN_STATUS_H

#include "common/catalog/catalog.h"

struct catalog_status_state {
    const char *project, *table_name, *state;
    int64_t partitions, rows, bytes;
    int64_t oldest_us; /* the first timestamp of their data */
};
struct catalog_status_job { /* the last run of each job */
    const char *job, *instance, *counts_json, *error;
    int64_t finished_at_us;
    int32_t exit_code;
};
struct catalog_status_lock {
    enum lock_kind kind;
    const char *owner;
    int64_t count, expired, oldest_us;
};
struct catalog_status_attempt {
    struct uuid attempt_id;
    const char *project, *table_name, *target, *pool, *state, *worker;
    int64_t rows_done, rows_total, created_at_us;
};

struct catalog_status {
    struct catalog_status_state *states;
    struct catalog_status_job *jobs;
    struct catalog_status_lock *locks;       /* oldest first, at most 100 */
    struct catalog_status_attempt *attempts; /* under way, oldest first, at most 100 */
    size_t state_count, job_count, lock_count, attempt_count;
};
MUST_CHECK enum err_code catalog_admin_status(struct catalog *catalog, struct arena *arena, struct catalog_status *out,
                                              struct error *err);

struct catalog_cutoff { /* what is older is past retention */
    struct uuid table_id;
    int64_t cutoff_us;
};
struct catalog_overdue {
    struct uuid table_id;
    int64_t partitions, rows;
};
/* Past retention and yet not free to decay, because locked or held; tables without any are left out. */
MUST_CHECK enum err_code catalog_admin_overdue(struct catalog *catalog, const struct catalog_cutoff *cutoffs,
                                               size_t count, struct arena *arena, struct catalog_overdue **out,
                                               size_t *out_count, struct error *err);

struct catalog_table_count {
    int64_t partitions, rows, bytes;
};
/* Of the active partitions: out[i] for ids[i]. */
MUST_CHECK enum err_code catalog_admin_table_counts(struct catalog *catalog, const struct uuid *ids, size_t count,
                                                    struct catalog_table_count *out, struct error *err);

#endif
