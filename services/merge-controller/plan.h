/* The decisions of the merge controller: pure. What to merge is decided by common/lifecycle/merge_plan.h. */
#ifndef GRANARY_MERGE_CONTROLLER_PLAN_H
#define GRANARY_MERGE_CONTROLLER_PLAN_H

#include "common/catalog/merge.h"
#include "common/events/events.h"

/* --- how much ------------------------------------------------------------------------------------------------------ */

/* How many more tasks a pool may be given: `ahead` for each of its rewriters (those that wait for work are consumers of
 * the queue, those at work are not) less those that wait already. */
int64_t merge_plan_budget(int64_t ahead, int64_t consumers, const struct catalog_merge_pool *pool);

/* Partitions of this size and more are an input of no target. */
int64_t merge_plan_max_bytes(const struct table_settings *settings);

/* How many of a page of candidates, sorted by min_timestamp, can be planned without knowing the next page: those before
 * the last bucket of the widest target, unless there is but one. */
size_t merge_plan_whole(const struct merge_candidate *page, size_t count, const struct table_settings *settings);

/* --- schemas ------------------------------------------------------------------------------------------------------- */

/* The versions of a table's schema that occur among its candidates. */
struct merge_schemas {
    int32_t latest;
    size_t count;
    const struct merge_schema {
        int32_t version;
        bool readable; /* its rows can be read as the latest version */
        const char *json;
    } * items;
};
const struct merge_schema *merge_plan_find_schema(const struct merge_schemas *schemas, int32_t version);
/* For merge_plan_options.reconcilable, with struct merge_schemas as context. */
bool merge_plan_reconcilable(void *schemas, int32_t version_a, int32_t version_b);
/* The version of the output: the latest, or the inputs' own where that cannot be read as the latest. */
const struct merge_schema *merge_plan_output_schema(const struct merge_schemas *schemas, const struct merge_task *task);

/* --- results ------------------------------------------------------------------------------------------------------- */

enum merge_verdict {
    MERGE_IGNORE, /* the attempt is over, or the result is not of this try */
    MERGE_COMMIT,
    MERGE_ABANDON, /* it failed, or what was written is not what was asked for */
};
struct merge_decision {
    enum merge_verdict verdict;
    const char *reason;  /* of abandoning or ignoring; may point into the result */
    size_t blamed_count; /* inputs to count a failed try against */
    const struct uuid *blamed;
};
/* Inputs of the task, for the catalog. NULL when out of memory. */
const struct uuid *merge_plan_inputs(const struct event_rewrite *task, struct arena *arena);
/* `inputs` are those of the task: all are blamed for a failure that names none, unless it is one of the surroundings
 * (a store that cannot be reached, a rewriter that was stopped), which blames nobody. */
struct merge_decision merge_plan_result(const struct catalog_merge_attempt *attempt, const struct event_rewrite *task,
                                        const struct uuid *inputs, const struct event_rewrite_result *result);
/* A lease that has run out: whoever crashed over these inputs may crash again, but a task that nobody took is no fault of
 * theirs. */
struct merge_decision merge_plan_expired(const struct catalog_merge_attempt *attempt, const struct event_rewrite *task,
                                         const struct uuid *inputs);

#endif
