#include "services/rewriter/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"

/* A failed renewal is tried again after this, or after a twelfth of the lease where that is sooner. */
#define RETRY_US CLOCK_SECOND_US

/* --- pools --------------------------------------------------------------------------------------------------------- */

static MUST_CHECK enum err_code add_pool(struct rewriter_pools *pools, const char *name, size_t length,
                                         struct error *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";
    char queue[REWRITER_QUEUE_BYTES];
    if (length == 0 || length >= REWRITER_QUEUE_BYTES - sizeof "rewrite" || strspn(name, letters) < length) {
        return err_set(err, ERR_INVALID, "expected names of pools separated by commas but found \"%.*s\"",
                       (int)(length > 64 ? 64 : length), name);
    }
    (void)snprintf(queue, sizeof queue, "rewrite.%.*s", (int)length, name);
    for (size_t i = 0; i < pools->count; i++) {
        if (strcmp(pools->queues[i], queue) == 0) {
            return err_set(err, ERR_INVALID, "expected each pool once but found \"%.*s\" twice", (int)length, name);
        }
    }
    if (pools->count == REWRITER_MAX_POOLS) {
        return err_set(err, ERR_INVALID, "expected at most %d pools", REWRITER_MAX_POOLS);
    }
    memcpy(pools->queues[pools->count++], queue, sizeof queue);
    return OK;
}

enum err_code rewriter_plan_pools(const char *pools, struct rewriter_pools *out, struct error *err)
{
    struct rewriter_pools found = {0};
    for (const char *at = pools;; at++) {
        size_t length = strcspn(at, ",");
        TRY(add_pool(&found, at, length, err));
        at += length;
        if (*at == '\0') {
            break;
        }
    }
    *out = found;
    return OK;
}

/* --- leases -------------------------------------------------------------------------------------------------------- */

int64_t rewriter_plan_renewal_us(const struct rewriter_lease_state *state, int64_t now_us)
{
    if (state->last_failed) {
        int64_t wait_us = state->lease_us / 12;
        return now_us + (wait_us < RETRY_US ? wait_us : RETRY_US);
    }
    return state->confirmed_at_us + state->lease_us / 3;
}

int64_t rewriter_plan_end_us(const struct rewriter_lease_state *state)
{
    return state->confirmed_at_us + state->lease_us;
}

/* --- results ------------------------------------------------------------------------------------------------------- */

bool rewriter_plan_speaks(const struct rewriter_outcome *outcome)
{
    return outcome->code == OK || !outcome->lease_lost;
}

struct event_rewrite_result rewriter_plan_result(const struct event_rewrite *task,
                                                 const struct rewriter_outcome *outcome)
{
    struct event_rewrite_result result = {
        .attempt_id = task->attempt_id,
        .token = task->token,
        .ok = outcome->code == OK,
        .error_code = "",
        .error_text = "",
        .output_id = task->output_id,
        .etag = "",
    };
    if (outcome->code != OK) {
        result.error_code = err_code_name(outcome->code);
        result.error_text = outcome->error->text;
        if (outcome->bad_input >= 0 && (size_t)outcome->bad_input < task->input_count) {
            result.bad_partition = task->inputs[outcome->bad_input].partition_id;
        }
        return result;
    }
    const struct partition_facts *facts = outcome->facts;
    result.row_count = facts->row_count;
    result.data_bytes = facts->data_bytes;
    result.memory_bytes = facts->memory_bytes;
    result.min_timestamp_us = facts->min_timestamp_us;
    result.max_timestamp_us = facts->max_timestamp_us;
    memcpy(result.sha256, facts->sha256, sizeof result.sha256);
    result.etag = facts->etag;
    result.column_count = facts->column_count;
    result.columns = facts->columns;
    return result;
}

enum err_code rewriter_plan_check_rows(const struct event_rewrite *task, uint64_t row_count, struct error *err)
{
    uint64_t wanted = 0;
    for (size_t i = 0; i < task->input_count; i++) {
        wanted += task->inputs[i].row_count;
    }
    if (wanted != row_count) {
        return err_set(err, ERR_CORRUPT, "expected %" PRIu64 " rows of all inputs in the output but found %" PRIu64,
                       wanted, row_count);
    }
    return OK;
}
