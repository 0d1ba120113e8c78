/* The decisions of the rewriter: pure. */
#ifndef GRANARY_REWRITER_PLAN_H
#define GRANARY_REWRITER_PLAN_H

#include "common/events/events.h"
#include "common/partition/writer.h"

/* --- pools --------------------------------------------------------------------------------------------------------- */

enum { REWRITER_MAX_POOLS = 16, REWRITER_QUEUE_BYTES = 8 + 32 };
struct rewriter_pools {
    size_t count;
    char queues[REWRITER_MAX_POOLS][REWRITER_QUEUE_BYTES]; /* "rewrite.small" */
};
/* "small,medium" to queues. ERR_INVALID: none, too many, one twice, or no name of a pool. */
MUST_CHECK enum err_code rewriter_plan_pools(const char *pools, struct rewriter_pools *out, struct error *err);

/* --- leases -------------------------------------------------------------------------------------------------------- */

/* When to renew a lease: a third of it after it was confirmed; after a failure sooner, as long as it runs. Times are
 * those of the monotonic clock. */
struct rewriter_lease_state {
    int64_t confirmed_at_us; /* before the last call that renewed it */
    int64_t lease_us;
    bool last_failed;
};
int64_t rewriter_plan_renewal_us(const struct rewriter_lease_state *state, int64_t now_us);
int64_t rewriter_plan_end_us(const struct rewriter_lease_state *state);

/* --- results ------------------------------------------------------------------------------------------------------- */

struct rewriter_outcome {
    enum err_code code;
    const struct error *error; /* where it failed */
    bool lease_lost;
    int bad_input;                       /* index into the task's inputs, or negative */
    const struct partition_facts *facts; /* where it went well */
};
/* Does anybody want to hear of it? Whoever has lost his lease keeps silent: the attempt is another's business now. */
bool rewriter_plan_speaks(const struct rewriter_outcome *outcome);
/* The result, borrowing from task and outcome. */
struct event_rewrite_result rewriter_plan_result(const struct event_rewrite *task,
                                                 const struct rewriter_outcome *outcome);
/* All rows of the inputs must be in the output. ERR_CORRUPT otherwise. */
MUST_CHECK enum err_code rewriter_plan_check_rows(const struct event_rewrite *task, uint64_t row_count,
                                                  struct error *err);

#endif
