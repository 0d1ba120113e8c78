#include "services/merge-controller/reserve.h"

#include <string.h>

#include "common/base/fault.h"
#include "common/catalog/storages.h"
#include "common/log/log.h"
#include "services/merge-controller/attempt.h"
#include "services/merge-controller/handler.h"

static const char *const target_names[MERGE_TARGET_COUNT] = {
    [MERGE_SMALL] = "small",
    [MERGE_MEDIUM] = "medium",
    [MERGE_LARGE] = "large",
};

static MUST_CHECK enum err_code describe(struct controller *controller, const struct reserve_request *request,
                                         struct arena *arena, struct catalog_merge_reservation *out, struct error *err)
{
    const struct merge_task *task = request->task;
    const struct merge_target *target = &request->table->settings.merge[task->target];
    struct catalog_merge_wanted *wanted = arena_zalloc(arena, task->input_count, sizeof *wanted);
    char *path = arena_alloc(arena, PARTITION_PATH_BYTES);
    if (wanted == NULL || path == NULL) {
        return err_no_memory(err, task->input_count * sizeof *wanted);
    }
    for (size_t i = 0; i < task->input_count; i++) {
        wanted[i] = (struct catalog_merge_wanted){task->inputs[i]->partition_id, task->inputs[i]->version};
    }
    *out = (struct catalog_merge_reservation){
        .epoch = controller->leadership.epoch,
        .attempt_id = uuid_v7(),
        .table_id = request->table->table_id,
        .lock_id = uuid_v7(),
        .output_lock_id = uuid_v7(),
        .owner = controller->owner,
        .target = target_names[task->target],
        .pool = target->pool,
        .lease_us = controller->config->start_lease_us,
        .input_count = task->input_count,
        .inputs = wanted,
        .output_id = uuid_v7(),
        .output_path = path,
        .schema_version = request->schema->version,
        .merge_level = task->merge_level,
        .min_timestamp_us = task->min_timestamp_us,
        .max_timestamp_us = task->max_timestamp_us,
        .row_count = task->row_count,
        .data_bytes = task->data_bytes,
    };
    (void)partition_path(&out->table_id, out->min_timestamp_us, &out->output_id, path);
    return OK;
}

/* The rewriter has no right to look them up. */
static MUST_CHECK enum err_code list_storages(struct controller *controller, struct arena *arena,
                                              struct event_rewrite *event, struct error *err)
{
    struct catalog_storage *known;
    size_t count;
    TRY(catalog_storages_load(controller->catalog, arena, &known, &count, err));
    event->storages = arena_zalloc(arena, count + 1, sizeof *event->storages);
    if (event->storages == NULL) {
        return err_no_memory(err, count * sizeof *event->storages);
    }
    for (size_t i = 0; i < count; i++) {
        bool used = known[i].storage_id == event->output_storage_id;
        for (size_t k = 0; k < event->input_count && !used; k++) {
            used = known[i].storage_id == event->inputs[k].storage_id;
        }
        if (used && known[i].url != NULL) {
            event->storages[event->storage_count++] = (struct event_rewrite_storage){known[i].storage_id, known[i].url};
        }
    }
    return OK;
}

static MUST_CHECK enum err_code encode(struct controller *controller, const struct reserve_request *request,
                                       const struct catalog_merge_reservation *reservation,
                                       const struct catalog_merge_reserved *reserved, struct arena *arena,
                                       const char **out, struct error *err)
{
    const struct catalog_merge_input *inputs = reserved->inputs;
    AUTO(buf_done) struct buf body = {0};
    struct event_rewrite_input *sources = arena_zalloc(arena, reservation->input_count, sizeof *sources);
    if (sources == NULL) {
        return err_no_memory(err, reservation->input_count * sizeof *sources);
    }
    for (size_t i = 0; i < reservation->input_count; i++) {
        sources[i] = (struct event_rewrite_input){
            .partition_id = inputs[i].partition_id,
            .storage_id = inputs[i].storage_id,
            .path = inputs[i].path,
            .data_bytes = (uint64_t)inputs[i].data_bytes,
            .row_count = (uint64_t)inputs[i].row_count,
        };
        memcpy(sources[i].sha256, inputs[i].sha256, sizeof sources[i].sha256);
    }
    struct event_rewrite event = {
        .attempt_id = reservation->attempt_id,
        .table_id = reservation->table_id,
        .token = reserved->token,
        .epoch = reservation->epoch,
        .lease_us = controller->config->lease_us,
        .result_queue = MERGE_RESULT_QUEUE,
        .schema_json = request->schema->json,
        .output_id = reservation->output_id,
        .output_storage_id = reserved->output_storage_id,
        .output_path = reservation->output_path,
        .input_count = reservation->input_count,
        .inputs = sources,
    };
    TRY(list_storages(controller, arena, &event, err));
    TRY(event_rewrite_encode(&event, &body, err));
    *out = arena_strndup(arena, (const char *)body.data, body.length_bytes);
    return *out == NULL ? err_no_memory(err, body.length_bytes) : OK;
}

static MUST_CHECK enum err_code reserve(struct controller *controller, const struct reserve_request *request,
                                        const struct catalog_merge_reservation *reservation, struct arena *arena,
                                        int64_t *out_token, const char **out_task, struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    struct catalog_merge_reserved reserved;
    TRY(catalog_begin(controller->catalog, &transaction, err));
    TRY(catalog_fence_shared(transaction, &reservation->table_id, err));
    TRY(catalog_merge_reserve(transaction, reservation, arena, &reserved, err));
    TRY(encode(controller, request, reservation, &reserved, arena, out_task, err));
    TRY(catalog_merge_attempt_insert(transaction, reservation, reserved.token, *out_task, err));
    TRY(controller_commit(controller, TAKE(transaction), err));
    FAULT_POINT("merge.after_reserve");
    *out_token = reserved.token;
    return OK;
}

/* The task may have reached the broker all the same: then its lease is refused, because the attempt is over. Where this
 * fails too, the start lease runs out. */
static void take_back(struct controller *controller, const struct catalog_merge_reservation *reservation, int64_t token)
{
    struct error err = {0};
    const struct catalog_merge_attempt attempt = {
        .attempt_id = reservation->attempt_id,
        .table_id = reservation->table_id,
        .state = ATTEMPT_PLANNED,
        .lock_id = reservation->lock_id,
        .token = token,
        .output_id = reservation->output_id,
        .output_lock_id = reservation->output_lock_id,
        .worker = "",
    };
    const struct merge_decision decision = {.verdict = MERGE_ABANDON, .reason = "its task could not be published"};
    metric_add(controller->metrics->unpublished, 1);
    if (attempt_abandon(controller, &attempt, &decision, false, &err) != OK) {
        log_warn("an attempt could not be abandoned and waits for its lease to run out",
                 LOG_UUID("attempt_id", &attempt.attempt_id), LOG_ERR(&err));
    }
}

enum err_code reserve_and_publish(struct controller *controller, const struct reserve_request *request,
                                  struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct catalog_merge_reservation reservation;
    const char *task = NULL;
    int64_t token = 0;
    if (arena == NULL) {
        return err_no_memory(err, 4 << 10);
    }
    TRY(describe(controller, request, arena, &reservation, err));
    TRY(reserve(controller, request, &reservation, arena, &token, &task, err));
    metric_add(controller->metrics->reserved, 1);
    enum err_code code = handler_publish(controller, &reservation.attempt_id, reservation.pool, task, err);
    if (code != OK) {
        take_back(controller, &reservation, token);
        return code == ERR_CONFLICT || code == ERR_NOT_FOUND ? err_set(err, ERR_UNAVAILABLE, "the queue takes no tasks")
                                                             : code;
    }
    log_info("a merge is planned", LOG_UUID("attempt_id", &reservation.attempt_id),
             LOG_UUID("table_id", &reservation.table_id), LOG_TEXT("target", reservation.target),
             LOG_INT("inputs", reservation.input_count), LOG_INT("rows", reservation.row_count),
             LOG_INT("bytes", reservation.data_bytes));
    return OK;
}
