/* Plans: what would be taken, looked at before it is done. A plan of retention names each partition with the version it was
 * looked at in; applying takes only what is still so (catalog_decay_planned). A plan of orphans names objects instead
 * (admin_orphans.h). */
#ifndef GRANARY_CATALOG_ADMIN_PLANS_H
#define GRANARY_CATALOG_ADMIN_PLANS_H

#include "common/catalog/admin_partitions.h"

struct catalog_plan {
    struct uuid plan_id, table_id; /* of orphans of all tables: nil, and no names */
    const char *kind, *project, *table_name;
    int64_t objects; /* of orphans: that it names; `bytes` counts theirs */
    bool cut;        /* there were more than it may name */
    int64_t cutoff_us;
    int64_t partitions, rows, bytes; /* that it names */
    int64_t held, locked;            /* past the cutoff, but not named because of that */
    double share, max_share;         /* of the breaker */
    bool breaker_allows;
    int64_t created_at_us, expires_at_us;
    const char *created_by;
    bool expired;          /* by the database's clock, when it was read */
    int64_t applied_at_us; /* 0: not applied */
    const char *applied_by;
    const char *outcome_json; /* NULL: none */
};

struct catalog_plan_new {
    struct uuid plan_id; /* a new one, of the caller */
    struct uuid table_id;
    int64_t cutoff_us;
    double share, max_share;
    bool breaker_allows;
    int64_t life_us; /* until it expires */
    const char *actor;
};
/* Names everything that would decay now, in the caller's transaction, with an audit row. */
MUST_CHECK enum err_code catalog_admin_plan_create(struct catalog_transaction *transaction,
                                                   const struct catalog_plan_new *plan, struct error *err);
MUST_CHECK enum err_code catalog_admin_plan_load(struct catalog *catalog, const struct uuid *plan_id,
                                                 struct arena *arena, struct catalog_plan *out, struct error *err);
/* The partitions that it names and that still have a row, oldest data first. */
MUST_CHECK enum err_code catalog_admin_plan_items(struct catalog *catalog, const struct uuid *plan_id, size_t limit,
                                                  struct arena *arena, struct catalog_admin_partition **out,
                                                  size_t *out_count, struct error *err);
/* Marks it as applied, with an audit row, in a transaction of its own: only one caller ever gets OK. ERR_CONFLICT: applied
 * already, or expired. */
MUST_CHECK enum err_code catalog_admin_plan_claim(struct catalog *catalog, const struct uuid *plan_id,
                                                  const struct uuid *table_id, const char *actor, struct error *err);
MUST_CHECK enum err_code catalog_admin_plan_finish(struct catalog *catalog, const struct uuid *plan_id,
                                                   int64_t deactivated, int64_t rows, int64_t skipped,
                                                   struct error *err);

struct catalog_plan_skip { /* a partition that the plan names and did not take */
    struct uuid partition_id;
    bool exists, active, same_version, held;
    enum lock_kind lock_kind;
};
/* At most limit of them; *out_total: how many there are. deactivated_by: "plan:<id>". */
MUST_CHECK enum err_code catalog_admin_plan_skipped(struct catalog *catalog, const struct uuid *plan_id,
                                                    const char *deactivated_by, size_t limit, struct arena *arena,
                                                    struct catalog_plan_skip **out, size_t *out_count,
                                                    int64_t *out_total, struct error *err);

/* Everything active past a cutoff (INT64_MAX: the whole table), whether free to decay or not: what a change of retention
 * or a drop is about to make old. Times are 0 where there is nothing. */
struct catalog_preview {
    int64_t partitions, rows, bytes;
    int64_t oldest_us, newest_us;
};
MUST_CHECK enum err_code catalog_admin_preview(struct catalog *catalog, const struct uuid *table_id, int64_t cutoff_us,
                                               struct catalog_preview *out, struct error *err);

#endif
