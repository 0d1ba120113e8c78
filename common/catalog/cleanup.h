/* Merge cleanup: unlocking merged partitions, sweeping locks that have run out, pruning what grows. Each call is one short
 * transaction over at most `limit` rows and says how many it took: call again until it takes fewer. */
#ifndef GRANARY_CATALOG_CLEANUP_H
#define GRANARY_CATALOG_CLEANUP_H

#include "common/catalog/catalog.h"
#include "common/catalog/reap.h"

/* Retired partitions of the table whose merge.cleanup_grace is over and that nothing holds become reapable; the answer is
 * what a reap event says of them. Nothing while deleting is paused. */
MUST_CHECK enum err_code catalog_cleanup_unlock_merged(struct catalog *catalog, const struct uuid *table_id,
                                                       int64_t grace_us, size_t limit, struct arena *arena,
                                                       struct catalog_reap_item **out, size_t *out_count,
                                                       struct error *err);
/* Tables that have retired partitions, by id, after `after` (NULL: from the start). */
MUST_CHECK enum err_code catalog_cleanup_tables(struct catalog *catalog, const struct uuid *after, size_t limit,
                                                struct arena *arena, struct uuid **out, size_t *out_count,
                                                struct error *err);

/* Staged partitions whose writer's lock has run out are given up. */
MUST_CHECK enum err_code catalog_cleanup_sweep_staged(struct catalog *catalog, const char *actor, size_t limit,
                                                      size_t *out_count, struct error *err);
/* Merge attempts whose lease has run out are abandoned: inputs unlocked, output given up. The controller does so too; this
 * is for when none runs. */
MUST_CHECK enum err_code catalog_cleanup_sweep_attempts(struct catalog *catalog, const char *actor, size_t limit,
                                                        size_t *out_count, struct error *err);
/* Locks that hold nothing any more are deleted: those that have run out, and those of attempts that are over. */
MUST_CHECK enum err_code catalog_cleanup_sweep_locks(struct catalog *catalog, size_t limit, size_t *out_count,
                                                     struct error *err);

struct catalog_prune_ages { /* how long each is kept; CLOCK_NEVER keeps it for ever */
    int64_t attempts_us, receipts_us, audit_us, job_runs_us, batch_ids_us;
};
struct catalog_pruned {
    uint64_t attempts, lineage, receipts, orphan_receipts, cleaner_runs, audit, job_runs, plans;
    int64_t batch_days;
};
/* Lineage goes with the attempt that made it, once neither parent nor child has a row. */
MUST_CHECK enum err_code catalog_cleanup_prune(struct catalog *catalog, const struct catalog_prune_ages *ages,
                                               size_t limit, struct catalog_pruned *out, struct error *err);

#endif
