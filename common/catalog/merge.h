/* Merges: what may be merged, the attempts under way, and the swap of inputs for an output. One transaction each for
 * reserving, committing and abandoning; the caller begins and commits it, so that fault points and lost answers are his.
 * Every one of them is fenced by the leader's epoch, and acts on exactly the rows that it expects or changes nothing
 * (ERR_CONFLICT). On failure only outputs are ever given up; inputs are just unlocked. */
#ifndef GRANARY_CATALOG_MERGE_H
#define GRANARY_CATALOG_MERGE_H

#include "common/catalog/catalog.h"
#include "common/lifecycle/merge_plan.h"
#include "common/rows/stats.h"

#define CATALOG_MERGE_LEADER "merge-controller" /* the name under which the controllers elect their leader */

/* --- what may be merged ------------------------------------------------------------------------------------------- */

/* Active partitions of the table below max_bytes that are not held themselves and not set aside, unlocked or (busy) locked
 * by a merge; by (min_timestamp, partition_id), after `after` (NULL: from the start). Fewer than limit: the end. */
MUST_CHECK enum err_code catalog_merge_candidates(struct catalog *catalog, const struct uuid *table_id,
                                                  int64_t max_bytes, const struct merge_candidate *after, size_t limit,
                                                  struct arena *arena, struct merge_candidate **out, size_t *out_count,
                                                  struct error *err);

/* --- attempts ----------------------------------------------------------------------------------------------------- */

enum catalog_attempt_state { ATTEMPT_PLANNED, ATTEMPT_RUNNING, ATTEMPT_DONE, ATTEMPT_ABANDONED, ATTEMPT_STATE_COUNT };
const char *catalog_attempt_state_name(enum catalog_attempt_state state);

struct catalog_merge_attempt {
    struct uuid attempt_id, table_id;
    enum catalog_attempt_state state;
    const char *target, *pool;
    struct uuid lock_id; /* on the inputs */
    int64_t token;       /* of that lock */
    struct uuid output_id, output_lock_id;
    const char *task;   /* the rewrite event as published */
    const char *worker; /* "" before one has started */
};
/* ERR_NOT_FOUND. */
MUST_CHECK enum err_code catalog_merge_attempt_load(struct catalog *catalog, const struct uuid *attempt_id,
                                                    struct arena *arena, struct catalog_merge_attempt *out,
                                                    struct error *err);
/* Those that wait for a rewriter and whose lease has not run out, by id, after `after` (NULL: from the start). */
MUST_CHECK enum err_code catalog_merge_attempts_waiting(struct catalog *catalog, const struct uuid *after, size_t limit,
                                                        struct arena *arena, struct catalog_merge_attempt **out,
                                                        size_t *out_count, struct error *err);
/* Those under way whose lease has run out by the database's clock, oldest first. */
MUST_CHECK enum err_code catalog_merge_attempts_expired(struct catalog *catalog, size_t limit, struct arena *arena,
                                                        struct catalog_merge_attempt **out, size_t *out_count,
                                                        struct error *err);

struct catalog_merge_pool {
    const char *pool;
    int64_t planned, running; /* attempts of this pool */
};
/* Pools with attempts under way. */
MUST_CHECK enum err_code catalog_merge_pools(struct catalog *catalog, struct arena *arena,
                                             struct catalog_merge_pool **out, size_t *out_count, struct error *err);

/* --- reserving ---------------------------------------------------------------------------------------------------- */

struct catalog_merge_wanted {
    struct uuid partition_id;
    int64_t version; /* as planned */
};
struct catalog_merge_reservation {
    int64_t epoch;
    struct uuid attempt_id, table_id, lock_id, output_lock_id;
    const char *owner; /* of both locks */
    const char *target, *pool;
    int64_t lease_us; /* until a rewriter has to have started */
    size_t input_count;
    const struct catalog_merge_wanted *inputs;
    /* the output to be staged */
    struct uuid output_id;
    const char *output_path;
    int32_t schema_version, merge_level;
    int64_t min_timestamp_us, max_timestamp_us, row_count, data_bytes; /* data_bytes: of the inputs together */
};
struct catalog_merge_input {
    struct uuid partition_id;
    int32_t storage_id;
    const char *path;
    int64_t row_count, data_bytes;
    uint8_t sha256[32];
};
struct catalog_merge_reserved {
    int64_t token;
    int32_t output_storage_id;          /* where the output is to go */
    struct catalog_merge_input *inputs; /* in the order of the reservation's; in the arena */
};
/* Locks the inputs and stages the output. The caller takes the table
 * fence (shared) first. ERR_CONFLICT: an input is not as planned, held, or set aside; or another leads. ERR_NOT_FOUND: the
 * table was dropped. */
MUST_CHECK enum err_code catalog_merge_reserve(struct catalog_transaction *transaction,
                                               const struct catalog_merge_reservation *reservation, struct arena *arena,
                                               struct catalog_merge_reserved *out, struct error *err);
/* Second half, in the same transaction: the attempt's row with its task, which names the token. */
MUST_CHECK enum err_code catalog_merge_attempt_insert(struct catalog_transaction *transaction,
                                                      const struct catalog_merge_reservation *reservation,
                                                      int64_t token, const char *task, struct error *err);

/* --- ending ------------------------------------------------------------------------------------------------------- */

struct catalog_merge_swap {
    int64_t epoch;
    const char *actor;
    const struct catalog_merge_attempt *attempt;
    size_t input_count;
    const struct uuid *inputs;
    /* the output as written */
    int64_t row_count, data_bytes, memory_bytes, min_timestamp_us, max_timestamp_us;
    const uint8_t *sha256; /* 32 bytes */
    const char *etag;
    size_t column_count;
    const struct column_stats *columns;
};
/* Output active with its measurements, inputs inactive and still locked (reason merge), lineage written, attempt done. The
 * caller takes the table fence (shared) first. ERR_CONFLICT: the attempt is over, an input is no longer active under its
 * lock, or another leads. ERR_NOT_FOUND: the table was dropped. A lease that has run out is no obstacle as long as nobody
 * has judged it: the inputs are this attempt's until it is abandoned, and the object was finished within the lease. */
MUST_CHECK enum err_code catalog_merge_commit(struct catalog_transaction *transaction,
                                              const struct catalog_merge_swap *swap, struct error *err);

struct catalog_merge_failure {
    int64_t epoch;
    const char *actor;
    const struct catalog_merge_attempt *attempt;
    const char *reason;
    bool expired_only; /* only if its lease has run out: ERR_CONFLICT when it was renewed meanwhile */
    /* Partitions to count a failed try against; those with max_tries of them are set aside. */
    size_t blamed_count;
    const struct uuid *blamed;
    int64_t max_tries;
};
/* Inputs unlocked, output given up, attempt abandoned, locks removed. ERR_CONFLICT: the attempt is over already. */
MUST_CHECK enum err_code catalog_merge_abandon(struct catalog_transaction *transaction,
                                               const struct catalog_merge_failure *failure, size_t *out_set_aside,
                                               struct error *err);

#endif
