/* Partitions as an operator sees them: with their lock, table and relations; and the changes of state that an operator may
 * ask for. Results live in the caller's arena. The guard in the database has the last word on every change. */
#ifndef GRANARY_CATALOG_ADMIN_PARTITIONS_H
#define GRANARY_CATALOG_ADMIN_PARTITIONS_H

#include "common/catalog/catalog.h"
#include "common/rows/stats.h"

struct catalog_admin_partition {
    struct partition_record partition;
    struct lock_record lock; /* nil lock_id: unlocked */
    const char *project, *table_name;
    bool table_dropped;
};

struct catalog_admin_partition_page {
    struct uuid table_id;
    const char *state;                          /* as granary.partition_state says; NULL: every state */
    int64_t min_timestamp_us, max_timestamp_us; /* partitions that touch it; INT64_MIN, INT64_MAX: open */
    int64_t after_min_us;                       /* the last one of the page before; nil after_id: from the start */
    struct uuid after_id;
    size_t limit;
};
/* By (min_timestamp, partition_id). Fewer than limit: the end. */
MUST_CHECK enum err_code catalog_admin_partition_list(struct catalog *catalog,
                                                      const struct catalog_admin_partition_page *page,
                                                      struct arena *arena, struct catalog_admin_partition **out,
                                                      size_t *out_count, struct error *err);
/* ERR_NOT_FOUND: there is no row (any more). */
MUST_CHECK enum err_code catalog_admin_partition_load(struct catalog *catalog, const struct uuid *partition_id,
                                                      struct arena *arena, struct catalog_admin_partition *out,
                                                      struct error *err);
/* The same with the row locked until the transaction ends. Take the table's fence before. */
MUST_CHECK enum err_code catalog_admin_partition_lock(struct catalog_transaction *transaction,
                                                      const struct uuid *partition_id, struct arena *arena,
                                                      struct catalog_admin_partition *out, struct error *err);
/* The inactive ones that touch a time range, their rows locked, at most `limit`, by (min_timestamp, partition_id). */
MUST_CHECK enum err_code catalog_admin_partition_lock_inactive(struct catalog_transaction *transaction,
                                                               const struct uuid *table_id, int64_t min_us,
                                                               int64_t max_us, size_t limit, struct arena *arena,
                                                               struct catalog_admin_partition **out, size_t *out_count,
                                                               struct error *err);

/* --- what belongs to one ------------------------------------------------------------------------------------------ */

/* Bounds by column id; `type` is not kept in the catalog and stays zero. */
MUST_CHECK enum err_code catalog_admin_partition_columns(struct catalog *catalog, const struct uuid *partition_id,
                                                         struct arena *arena, struct column_stats **out,
                                                         size_t *out_count, struct error *err);

struct catalog_admin_object {
    const char *path, *kind;
    int64_t data_bytes;
};
MUST_CHECK enum err_code catalog_admin_partition_objects(struct catalog *catalog, const struct uuid *partition_id,
                                                         struct arena *arena, struct catalog_admin_object **out,
                                                         size_t *out_count, struct error *err);

struct catalog_admin_lineage {
    struct uuid *parents, *children; /* at most 1,000 each */
    size_t parent_count, child_count;
};
/* What it was made of, and what was made of it; known for deleted ones too, as long as the lineage is kept. */
MUST_CHECK enum err_code catalog_admin_partition_lineage(struct catalog *catalog, const struct uuid *partition_id,
                                                         struct arena *arena, struct catalog_admin_lineage *out,
                                                         struct error *err);

struct catalog_admin_failure { /* what was tried on it and failed */
    bool known;
    int64_t tries;
    const char *last_error;
    int64_t last_at_us;
    bool set_aside; /* merging goes on around it */
};
MUST_CHECK enum err_code catalog_admin_partition_failure(struct catalog *catalog, const struct uuid *partition_id,
                                                         struct arena *arena, struct catalog_admin_failure *out,
                                                         struct error *err);

/* --- changes ------------------------------------------------------------------------------------------------------ */

/* Moves one partition, locked by this transaction, to another state. lock_kind is LOCK_NONE or LOCK_MANUAL. ERR_CONFLICT:
 * it is no longer of that version, or the guard refuses. */
struct catalog_admin_move {
    struct uuid partition_id;
    int64_t version;
    bool active;
    struct uuid lock_id; /* nil with LOCK_NONE */
    enum lock_kind lock_kind;
    enum deactivation_reason reason;
    const char *deactivated_by; /* NULL while active */
};
MUST_CHECK enum err_code catalog_admin_partition_move(struct catalog_transaction *transaction,
                                                      const struct catalog_admin_move *move, struct error *err);
/* Makes all of these active and unlocked at once; each must be inactive and unlocked. ERR_CONFLICT otherwise. */
MUST_CHECK enum err_code catalog_admin_partition_activate(struct catalog_transaction *transaction,
                                                          const struct uuid *ids, size_t count, struct error *err);

/* A manual lock, which never expires; and its end, once nothing is under it any more. */
MUST_CHECK enum err_code catalog_admin_lock_add(struct catalog_transaction *transaction, const struct uuid *lock_id,
                                                const char *owner, const char *reason, struct error *err);
MUST_CHECK enum err_code catalog_admin_lock_remove(struct catalog_transaction *transaction, const struct uuid *lock_id,
                                                   struct error *err);

#endif
