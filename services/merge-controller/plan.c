#include "services/merge-controller/plan.h"

#include <string.h>

/* --- how much ------------------------------------------------------------------------------------------------------ */

int64_t merge_plan_budget(int64_t ahead, int64_t consumers, const struct catalog_merge_pool *pool)
{
    int64_t budget = ahead * (consumers + pool->running) - pool->planned;
    return budget > 0 ? budget : 0;
}

int64_t merge_plan_max_bytes(const struct table_settings *settings)
{
    int64_t max_bytes = 0;
    for (enum merge_target_id target = MERGE_SMALL; target < MERGE_TARGET_COUNT; target++) {
        int64_t size_bytes = settings->merge[target].size_bytes;
        max_bytes = size_bytes > max_bytes ? size_bytes : max_bytes;
    }
    return max_bytes;
}

static int64_t bucket_of(int64_t time_us, int64_t width_us)
{
    return time_us / width_us - (time_us % width_us < 0);
}

size_t merge_plan_whole(const struct merge_candidate *page, size_t count, const struct table_settings *settings)
{
    int64_t width_us = 1;
    for (enum merge_target_id target = MERGE_SMALL; target < MERGE_TARGET_COUNT; target++) {
        int64_t wider_us = settings->merge[target].width_us;
        width_us = wider_us > width_us ? wider_us : width_us;
    }
    size_t whole = count;
    while (whole > 0 && bucket_of(page[whole - 1].min_timestamp_us, width_us) ==
                            bucket_of(page[count - 1].min_timestamp_us, width_us)) {
        whole--;
    }
    return whole > 0 ? whole : count;
}

/* --- schemas ------------------------------------------------------------------------------------------------------- */

const struct merge_schema *merge_plan_find_schema(const struct merge_schemas *schemas, int32_t version)
{
    for (size_t i = 0; i < schemas->count; i++) {
        if (schemas->items[i].version == version) {
            return &schemas->items[i];
        }
    }
    return NULL;
}

bool merge_plan_reconcilable(void *schemas, int32_t version_a, int32_t version_b)
{
    const struct merge_schema *a = merge_plan_find_schema(schemas, version_a);
    const struct merge_schema *b = merge_plan_find_schema(schemas, version_b);
    return a != NULL && b != NULL && a->readable && b->readable;
}

const struct merge_schema *merge_plan_output_schema(const struct merge_schemas *schemas, const struct merge_task *task)
{
    const struct merge_schema *own = merge_plan_find_schema(schemas, task->inputs[0]->schema_version);
    return own != NULL && own->readable ? merge_plan_find_schema(schemas, schemas->latest) : own;
}

/* --- results ------------------------------------------------------------------------------------------------------- */

const struct uuid *merge_plan_inputs(const struct event_rewrite *task, struct arena *arena)
{
    struct uuid *inputs = arena_zalloc(arena, task->input_count, sizeof *inputs);
    for (size_t i = 0; inputs != NULL && i < task->input_count; i++) {
        inputs[i] = task->inputs[i].partition_id;
    }
    return inputs;
}

static bool under_way(const struct catalog_merge_attempt *attempt)
{
    return attempt->state == ATTEMPT_PLANNED || attempt->state == ATTEMPT_RUNNING;
}

/* Codes that say something about the inputs; all others are the weather. */
static bool is_of_the_inputs(const char *error_code)
{
    static const enum err_code codes[] = {ERR_INVALID, ERR_CORRUPT, ERR_NOT_FOUND, ERR_NO_MEMORY};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        if (strcmp(err_code_name(codes[i]), error_code) == 0) {
            return true;
        }
    }
    return false;
}

static struct merge_decision failed(const struct event_rewrite *task, const struct uuid *inputs,
                                    const struct event_rewrite_result *result)
{
    struct merge_decision decision = {.verdict = MERGE_ABANDON, .reason = result->error_text};
    for (size_t i = 0; i < task->input_count; i++) {
        if (uuid_equal(&inputs[i], &result->bad_partition)) {
            decision.blamed_count = 1;
            decision.blamed = &inputs[i];
            return decision;
        }
    }
    if (is_of_the_inputs(result->error_code)) {
        decision.blamed_count = task->input_count;
        decision.blamed = inputs;
    }
    return decision;
}

/* Says what is wrong with an output, or NULL. */
static const char *fault_of_output(const struct event_rewrite *task, const struct event_rewrite_result *result)
{
    uint64_t rows = 0;
    for (size_t i = 0; i < task->input_count; i++) {
        rows += task->inputs[i].row_count;
    }
    if (!uuid_equal(&result->output_id, &task->output_id)) {
        return "the result names another output than the task";
    }
    if (result->row_count != rows) {
        return "the output has not as many rows as its inputs";
    }
    if (result->data_bytes == 0 || result->data_bytes > INT64_MAX || result->memory_bytes > INT64_MAX) {
        return "the output's size cannot be";
    }
    if (result->min_timestamp_us > result->max_timestamp_us) {
        return "the output's first time is after its last";
    }
    return NULL;
}

struct merge_decision merge_plan_result(const struct catalog_merge_attempt *attempt, const struct event_rewrite *task,
                                        const struct uuid *inputs, const struct event_rewrite_result *result)
{
    if (!under_way(attempt)) {
        return (struct merge_decision){.verdict = MERGE_IGNORE, .reason = "the attempt is over"};
    }
    if (attempt->token != result->token) {
        return (struct merge_decision){.verdict = MERGE_IGNORE, .reason = "the token is not this attempt's"};
    }
    if (!result->ok) {
        return failed(task, inputs, result);
    }
    const char *fault = fault_of_output(task, result);
    if (fault != NULL) {
        return (struct merge_decision){
            .verdict = MERGE_ABANDON, .reason = fault, .blamed_count = task->input_count, .blamed = inputs};
    }
    return (struct merge_decision){.verdict = MERGE_COMMIT};
}

struct merge_decision merge_plan_expired(const struct catalog_merge_attempt *attempt, const struct event_rewrite *task,
                                         const struct uuid *inputs)
{
    if (!under_way(attempt)) {
        return (struct merge_decision){.verdict = MERGE_IGNORE, .reason = "the attempt is over"};
    }
    if (attempt->state == ATTEMPT_PLANNED) {
        return (struct merge_decision){.verdict = MERGE_ABANDON, .reason = "no rewriter started it in time"};
    }
    return (struct merge_decision){
        .verdict = MERGE_ABANDON, .reason = "its lease ran out", .blamed_count = task->input_count, .blamed = inputs};
}
