/* The merge planner: partitions and targets in, merges out. Pure: no I/O, the clock is passed in.
 *
 * For each target, smallest first: neighbours in time within one bucket of the target's width (counted from the epoch,
 * both ends inside), whose newest row is of an age that the target asks for, whose schemas can be reconciled, and that no
 * target of this or a higher level has made, are gathered until the output would pass the target's size. What a target
 * gathers crosses no border of a larger target either, so that its output can climb on. A partition that fills most of a
 * target alone is left alone. A group that does not fill its target waits while its bucket still grows, until it has
 * merge.min_inputs members or half the target's size: so that a trickle is not rewritten over and over.
 *
 * Each row is rewritten at most about once per target level: an output has merge_level = target + 1, and only partitions
 * of a level at or below the target are its inputs; a level's own outputs are merged again with each other only when eight
 * or more of them, each at most an eighth of the target, fit one. A bucket in which a smaller target has work, or a merge
 * is under way, waits for it. */
#ifndef GRANARY_LIFECYCLE_MERGE_PLAN_H
#define GRANARY_LIFECYCLE_MERGE_PLAN_H

#include "common/base/arena.h"
#include "common/lifecycle/records.h"

struct merge_candidate { /* active, not held itself, not set aside, of one table; unlocked unless busy */
    struct uuid partition_id;
    int64_t min_timestamp_us, max_timestamp_us;
    int64_t data_bytes, row_count;
    int32_t schema_version;
    int32_t merge_level;
    int64_t version;
    bool busy; /* an input of a merge under way: never planned, but its bucket is not settled yet */
};

struct merge_task {
    enum merge_target_id target;
    size_t input_count;                    /* 2..merge.max_inputs */
    const struct merge_candidate **inputs; /* by (min_timestamp, max_timestamp, partition_id) */
    int64_t min_timestamp_us, max_timestamp_us;
    int64_t row_count, data_bytes;
    int32_t merge_level; /* of the output */
};

struct merge_plan_options {
    const struct table_settings *settings;
    int64_t now_us;    /* of the database */
    int64_t cutoff_us; /* partitions whose max is below decay soon: left alone (INT64_MIN: none) */
    /* May rows of these two schema versions live in one file? NULL: only equal versions. */
    bool (*reconcilable)(void *context, int32_t version_a, int32_t version_b);
    void *context;
    size_t max_tasks; /* for each target */
};

/* Candidates are sorted in place. Tasks (disjoint inputs) live in `arena`. Deterministic. */
MUST_CHECK enum err_code merge_plan(struct merge_candidate *candidates, size_t count,
                                    const struct merge_plan_options *options, struct arena *arena,
                                    struct merge_task **out, size_t *out_count, struct error *err);

#endif
