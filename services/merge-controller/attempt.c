#include "services/merge-controller/attempt.h"

#include "common/base/fault.h"
#include "common/catalog/tables.h"
#include "common/log/log.h"

enum err_code attempt_commit(struct controller *controller, const struct catalog_merge_attempt *attempt,
                             const struct event_rewrite *task, const struct uuid *inputs,
                             const struct event_rewrite_result *result, struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    const struct catalog_merge_swap swap = {
        .epoch = controller->leadership.epoch,
        .actor = controller->owner,
        .attempt = attempt,
        .input_count = task->input_count,
        .inputs = inputs,
        .row_count = (int64_t)result->row_count,
        .data_bytes = (int64_t)result->data_bytes,
        .memory_bytes = (int64_t)result->memory_bytes,
        .min_timestamp_us = result->min_timestamp_us,
        .max_timestamp_us = result->max_timestamp_us,
        .sha256 = result->sha256,
        .etag = result->etag,
        .column_count = result->column_count,
        .columns = result->columns,
    };
    FAULT_POINT("merge.before_commit");
    TRY(catalog_begin(controller->catalog, &transaction, err));
    TRY(catalog_fence_shared(transaction, &attempt->table_id, err));
    TRY(catalog_merge_commit(transaction, &swap, err));
    TRY(controller_commit(controller, TAKE(transaction), err));
    FAULT_POINT("merge.after_commit");
    controller->changed = true;
    metric_add(controller->metrics->committed, 1);
    metric_add(controller->metrics->inputs, (int64_t)task->input_count);
    metric_add(controller->metrics->rows, swap.row_count);
    metric_add(controller->metrics->bytes, swap.data_bytes);
    log_info("a merge is committed", LOG_UUID("attempt_id", &attempt->attempt_id),
             LOG_UUID("table_id", &attempt->table_id), LOG_UUID("output_id", &attempt->output_id),
             LOG_TEXT("target", attempt->target), LOG_INT("inputs", task->input_count), LOG_INT("rows", swap.row_count),
             LOG_INT("bytes", swap.data_bytes));
    return OK;
}

static MUST_CHECK enum err_code load_max_tries(struct controller *controller, const struct uuid *table_id, int64_t *out,
                                               struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct table_record table;
    if (arena == NULL) {
        return err_no_memory(err, 4 << 10);
    }
    TRY(catalog_table_load(controller->catalog, table_id, arena, &table, err));
    *out = table.settings.merge_max_tries;
    return OK;
}

enum err_code attempt_abandon(struct controller *controller, const struct catalog_merge_attempt *attempt,
                              const struct merge_decision *decision, bool expired_only, struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    size_t set_aside = 0;
    struct catalog_merge_failure failure = {
        .epoch = controller->leadership.epoch,
        .actor = controller->owner,
        .attempt = attempt,
        .reason = decision->reason,
        .expired_only = expired_only,
        .blamed_count = decision->blamed_count,
        .blamed = decision->blamed,
    };
    TRY(load_max_tries(controller, &attempt->table_id, &failure.max_tries, err));
    TRY(catalog_begin(controller->catalog, &transaction, err));
    TRY(catalog_merge_abandon(transaction, &failure, &set_aside, err));
    TRY(controller_commit(controller, TAKE(transaction), err));
    FAULT_POINT("merge.after_abandon");
    controller->changed = true;
    metric_add(expired_only ? controller->metrics->expired : controller->metrics->failed, 1);
    metric_add(controller->metrics->set_aside, (int64_t)set_aside);
    log_warn("a merge is abandoned", LOG_UUID("attempt_id", &attempt->attempt_id),
             LOG_UUID("table_id", &attempt->table_id), LOG_TEXT("worker", attempt->worker),
             LOG_TEXT("reason", decision->reason), LOG_INT("blamed", decision->blamed_count),
             LOG_INT("set_aside", set_aside));
    return OK;
}
