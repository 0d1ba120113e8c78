/* What follows from the store's answers: pure. */
#ifndef GRANARY_REAPER_PLAN_H
#define GRANARY_REAPER_PLAN_H

#include "common/base/arena.h"
#include "common/catalog/reap.h"
#include "common/store/store.h"

/* The keys to delete for these partitions: each one's further objects first, its own last, in order; and which of them
 * follow each other in one storage. */
struct reap_run {
    int32_t storage_id;
    size_t first, count; /* of the keys */
};
struct reap_keys {
    const char **keys;
    size_t count;
    struct reap_run *runs;
    size_t run_count;
};
MUST_CHECK enum err_code reap_plan_keys(const struct catalog_claimed *claimed, size_t count, struct arena *arena,
                                        struct reap_keys *out, struct error *err);

/* A partition is confirmed when every one of its objects is deleted or was absent already; otherwise it has failed, with
 * the first failure's text. `results` answers reap_keys.keys one by one. All memory is the arena's. */
struct reap_split {
    struct catalog_reaped *confirmed;
    struct uuid *confirmed_ids;
    size_t confirmed_count;
    struct catalog_reap_failure *failed;
    struct catalog_reap_item *failed_items; /* as they stand in the event to come */
    size_t failed_count;
    size_t absent; /* objects that were gone already */
};
MUST_CHECK enum err_code reap_plan_split(const struct catalog_claimed *claimed, size_t count,
                                         const struct store_delete_result *results, struct arena *arena,
                                         struct reap_split *out, struct error *err);

/* Is the position-th of `total` keys that a store says it has deleted to be looked for? One in `one_in` is, and at least one
 * of them all; none with one_in 0. The seed moves the choice from batch to batch. */
bool reap_plan_is_sampled(size_t position, size_t total, uint64_t one_in, uint64_t seed);

#endif
