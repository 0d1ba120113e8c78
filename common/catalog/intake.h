/* Ids of committed batches: what makes rows land exactly once. */
#ifndef GRANARY_CATALOG_INTAKE_H
#define GRANARY_CATALOG_INTAKE_H

#include "common/catalog/catalog.h"

struct catalog_batch {
    struct uuid batch_id;
    struct uuid table_id;
    bool keyed;              /* the request had an Idempotency-Key */
    uint8_t body_sha256[32]; /* when keyed */
    int64_t row_count, reject_count;
};

struct catalog_batch_state {
    bool known; /* committed; the rest is then filled in, else zero */
    bool keyed;
    uint8_t body_sha256[32];
    int64_t row_count, reject_count;
    int64_t committed_at_us;
};
/* Looks up many ids at once; out[i] answers ids[i]. An id that is still kept is known, though its horizon be over. */
MUST_CHECK enum err_code catalog_intake_find(struct catalog *catalog, const struct uuid *ids, size_t count,
                                             struct catalog_batch_state *out, struct error *err);

/* Which of the ids are known, in no order: for what publishing refused as a duplicate. */
MUST_CHECK enum err_code catalog_intake_find_known(struct catalog *catalog, const struct catalog_batch *batches,
                                                   size_t count, struct arena *arena, struct uuid **out,
                                                   size_t *out_count, struct error *err);
/* Files the ids within the transaction that makes their rows live. ERR_CONFLICT: one of them is there already, or two are
 * the same; the transaction must then be rolled back. A duplicate of another transaction under way is waited for. */
MUST_CHECK enum err_code catalog_intake_insert(struct catalog_transaction *transaction,
                                               const struct catalog_batch *batches, size_t count, struct error *err);

#endif
