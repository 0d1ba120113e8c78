/* Legal holds: what they cover, neither decay nor the reaper takes. */
#ifndef GRANARY_CATALOG_ADMIN_HOLDS_H
#define GRANARY_CATALOG_ADMIN_HOLDS_H

#include "common/catalog/catalog.h"

struct catalog_hold {
    struct uuid hold_id, table_id;
    const char *project, *table_name;
    struct uuid partition_id;                   /* nil: not of one partition */
    bool has_range;                             /* of a time range, both ends included */
    int64_t min_timestamp_us, max_timestamp_us; /* while has_range */
    const char *reason;
    int64_t placed_at_us;
    const char *placed_by;
    int64_t released_at_us; /* 0: stands */
    const char *released_by;
};

struct catalog_hold_new {
    struct uuid hold_id; /* a new one, of the caller */
    struct uuid table_id;
    struct uuid partition_id; /* nil: none */
    bool has_range;
    int64_t min_timestamp_us, max_timestamp_us;
    const char *reason, *actor;
};
/* With an audit row, under the exclusive fence of the table, which the caller has taken first. *out_claimed: partitions
 * under it that a reaper has claimed already and may have deleted by now (NULL: not asked). */
MUST_CHECK enum err_code catalog_admin_hold_place(struct catalog_transaction *transaction,
                                                  const struct catalog_hold_new *hold, int64_t *out_claimed,
                                                  struct error *err);
/* With an audit row, in a transaction of its own. ERR_NOT_FOUND: no such hold; ERR_CONFLICT: released already. */
MUST_CHECK enum err_code catalog_admin_hold_release(struct catalog *catalog, const struct uuid *hold_id,
                                                    const char *actor, struct error *err);

MUST_CHECK enum err_code catalog_admin_hold_load(struct catalog *catalog, const struct uuid *hold_id,
                                                 struct arena *arena, struct catalog_hold *out, struct error *err);

struct catalog_hold_page {
    const struct uuid *table_id; /* NULL: of all tables */
    bool with_released;
    int64_t after_placed_us; /* the last one of the page before; nil after_id: from the start */
    struct uuid after_id;
    size_t limit;
};
/* Newest first. */
MUST_CHECK enum err_code catalog_admin_hold_list(struct catalog *catalog, const struct catalog_hold_page *page,
                                                 struct arena *arena, struct catalog_hold **out, size_t *out_count,
                                                 struct error *err);
/* Those that stand over one partition: the same question as granary.is_held. At most 100. */
MUST_CHECK enum err_code catalog_admin_hold_over(struct catalog *catalog, const struct partition_record *partition,
                                                 struct arena *arena, struct catalog_hold **out, size_t *out_count,
                                                 struct error *err);
/* How many stand over a table, its time ranges and its partitions together. */
MUST_CHECK enum err_code catalog_admin_hold_count(struct catalog *catalog, const struct uuid *table_id,
                                                  int64_t *out_count, struct error *err);

#endif
