/* Reaping: what may be reaped, claiming it, and deleting rows once their objects are gone. */
#ifndef GRANARY_CATALOG_REAP_H
#define GRANARY_CATALOG_REAP_H

#include "common/catalog/catalog.h"

struct catalog_reap_graces { /* CLOCK_NEVER: stays */
    int64_t merged_us, abandoned_us, other_us;
};
struct catalog_reap_graces catalog_reap_graces_of(const struct table_settings *settings);

struct catalog_reap_item {
    struct uuid partition_id;
    int64_t deactivated_at_us;
};
/* What may be claimed, by deactivated_at and id, after `after` (NULL: from the start). Read only. */
MUST_CHECK enum err_code catalog_reap_collect(struct catalog *catalog, const struct uuid *table_id,
                                              const struct catalog_reap_graces *graces,
                                              const struct catalog_reap_item *after, size_t limit, struct arena *arena,
                                              struct catalog_reap_item **out, size_t *out_count, struct error *err);
/* Tables that have inactive partitions at all, by id, after `after` (NULL: from the start). */
MUST_CHECK enum err_code catalog_reap_tables(struct catalog *catalog, const struct uuid *after, size_t limit,
                                             struct arena *arena, struct uuid **out, size_t *out_count,
                                             struct error *err);

struct catalog_claim {
    struct uuid lock_id;
    int64_t token;
};
struct catalog_claimed { /* in the order of storages */
    struct uuid partition_id;
    int64_t deactivated_at_us;
    int32_t storage_id; /* where all of its objects are */
    const char *path;
    size_t extra_count; /* other objects of the partition */
    const char **extra_paths;
};

/* Claims those of `items` that are as the event says (inactive, same deactivated_at), unclaimed or under a claim that has
 * run out, whose grace is over and that nothing holds. The caller holds the table fence (shared) and has read the graces
 * after taking it. Nothing to claim: *out_count 0 and no lock is left. */
MUST_CHECK enum err_code catalog_reap_claim(struct catalog_transaction *transaction, const struct uuid *table_id,
                                            const struct catalog_reap_graces *graces,
                                            const struct catalog_reap_item *items, size_t count, const char *owner,
                                            int64_t lease_us, struct arena *arena, struct catalog_claim *out_claim,
                                            struct catalog_claimed **out, size_t *out_count, struct error *err);
/* Goes on with an earlier claim: renews it and answers those of its items that nothing holds now. ERR_CONFLICT when the
 * claim has run out or is not this token's; then somebody else may have it. */
MUST_CHECK enum err_code catalog_reap_resume(struct catalog_transaction *transaction, const struct uuid *table_id,
                                             const struct catalog_claim *claim, const struct catalog_reap_item *items,
                                             size_t count, int64_t lease_us, struct arena *arena,
                                             struct catalog_claimed **out, size_t *out_count, struct error *err);

struct catalog_reaped {
    struct uuid partition_id;
    const char *answers_json; /* {"path":"deleted"|"absent",...} */
};
/* Deletes the rows and writes their receipts: every one of them must still be under this claim, unexpired, else
 * ERR_CONFLICT and nothing changes. */
MUST_CHECK enum err_code catalog_reap_delete(struct catalog_transaction *transaction, const struct catalog_claim *claim,
                                             const struct catalog_reaped *items, size_t count, const char *owner,
                                             struct error *err);
/* Which of these still have a row under the claim: after a commit whose answer was lost. */
MUST_CHECK enum err_code catalog_reap_remaining(struct catalog *catalog, const struct catalog_claim *claim,
                                                const struct uuid *ids, size_t count, size_t *out_remaining,
                                                struct error *err);

struct catalog_reap_failure {
    struct uuid partition_id;
    const char *text;
};
/* Notes why objects could not be deleted, and renews the claim for the wait to come. */
MUST_CHECK enum err_code catalog_reap_failed(struct catalog_transaction *transaction, const struct catalog_claim *claim,
                                             const struct catalog_reap_failure *failures, size_t count,
                                             int64_t lease_us, struct error *err);
/* Removes the claim's lock if no partition is under it any more. */
MUST_CHECK enum err_code catalog_reap_release(struct catalog_transaction *transaction,
                                              const struct catalog_claim *claim, struct error *err);

#endif
