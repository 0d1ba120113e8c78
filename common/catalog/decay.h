/* Decay: which partitions of a table are past retention, and marking them inactive. */
#ifndef GRANARY_CATALOG_DECAY_H
#define GRANARY_CATALOG_DECAY_H

#include "common/catalog/catalog.h"

/* What lies past a cutoff. cutoff_us INT64_MAX takes the whole table (a dropped one). */
struct catalog_decay_measure {
    int64_t partitions, rows, bytes;          /* that would decay now: unlocked, not held, deleting not paused */
    int64_t overdue_partitions, overdue_rows; /* past the cutoff but locked or held */
    int64_t rows_active;                      /* of the table, those past the cutoff included */
    int64_t rows_deactivated;                 /* decayed in the last 24 h without an approved plan */
    int64_t oldest_us, newest_us;             /* of what would decay; 0 when nothing would */
};
/* A first, cheap question: is anything past the cutoff at all? Reads one index entry. */
MUST_CHECK enum err_code catalog_decay_any(struct catalog *catalog, const struct uuid *table_id, int64_t cutoff_us,
                                           bool *out_any, struct error *err);
MUST_CHECK enum err_code catalog_decay_measure(struct catalog *catalog, const struct uuid *table_id, int64_t cutoff_us,
                                               struct catalog_decay_measure *out, struct error *err);

struct catalog_decay_outcome {
    int64_t partitions, rows, bytes;
};
/* One batch, oldest first, at most `limit` partitions; others' batches are stepped over (skip locked). The caller holds
 * the table fence (shared) and has read the retention after taking it. `reason` is decay or drop. */
MUST_CHECK enum err_code catalog_decay_batch(struct catalog_transaction *transaction, const struct uuid *table_id,
                                             int64_t cutoff_us, enum deactivation_reason reason, const char *actor,
                                             int64_t limit, struct catalog_decay_outcome *out, struct error *err);

/* Those of a plan's items that are still as they were looked at and still past the cutoff; actor is "plan:<id>". */
MUST_CHECK enum err_code catalog_decay_planned(struct catalog_transaction *transaction, const struct uuid *table_id,
                                               int64_t cutoff_us, const struct uuid *plan_id, const char *actor,
                                               int64_t limit, struct catalog_decay_outcome *out, struct error *err);

#endif
