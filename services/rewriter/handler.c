/* The broker hands a task over; the lease decides whose it is. So the order is: start the lease, acknowledge, work.
 *
 *   killed after          what is left                           who finds it
 *   the lease             the task in the queue, redelivered     refused: another worker's; the lease runs out
 *   the acknowledgement   a lease nobody renews                  the controller abandons the attempt and plans anew
 *   the upload            an object whose row is staged          the same; the reaper deletes it
 *   the result            the result in its queue                the controller commits
 *
 * Whoever loses the lease stops, leaves no object, and says nothing. */
#include "services/rewriter/handler.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/base/fault.h"
#include "common/events/events.h"
#include "common/log/log.h"
#include "common/partition/merge.h"
#include "services/rewriter/lease.h"
#include "services/rewriter/plan.h"

#define PUBLISH_TIMEOUT_US (10 * CLOCK_SECOND_US)
#define PUBLISH_PAUSE_US   CLOCK_SECOND_US

void rewriter_metrics_init(struct rewriter_metrics *metrics, struct metrics *registry)
{
    static const char name[] = "granary_rewriter_tasks_total";
    static const char help[] = "Rewrite tasks, by what became of them.";
    metrics->done = metrics_counter(registry, name, "result=\"done\"", help);
    metrics->failed = metrics_counter(registry, name, "result=\"failed\"", help);
    metrics->refused = metrics_counter(registry, name, "result=\"refused\"", help);
    metrics->lost = metrics_counter(registry, name, "result=\"lost\"", help);
    metrics->malformed = metrics_counter(registry, name, "result=\"malformed\"", help);
    metrics->rows = metrics_counter(registry, "granary_rewriter_rows_total", NULL, "Rows of finished outputs.");
    metrics->bytes =
        metrics_counter(registry, "granary_rewriter_written_bytes_total", NULL, "Bytes of finished outputs.");
    metrics->running = metrics_gauge(registry, "granary_rewriter_running", NULL, "Tasks being worked on now.");
    metrics->seconds = metrics_histogram(registry, "granary_rewriter_task_seconds", NULL,
                                         "Time from the lease to the published result.");
}

struct work {
    struct rewriter *rewriter;
    const struct event_rewrite *task;
    struct lease *lease;
    struct schema *schema;
    struct partition_reader **readers; /* input_count */
    struct partition_facts facts;
    int bad_input;
};

static void work_done(struct work *work)
{
    for (size_t i = 0; work->readers != NULL && i < work->task->input_count; i++) {
        partition_reader_free(work->readers[i]);
    }
    free(work->readers);
    partition_facts_done(&work->facts);
    schema_free(work->schema);
    lease_close(work->lease);
}

/* --- the merge ----------------------------------------------------------------------------------------------------- */

static enum err_code progress(void *context, uint64_t rows_done, struct error *err)
{
    struct work *work = context;
    if (service_stopping(work->rewriter->service)) {
        return err_set(err, ERR_STOPPED, "the rewriter was told to stop");
    }
    lease_set_progress(work->lease, rows_done);
    return lease_check(work->lease, err);
}

static MUST_CHECK enum err_code open_input(struct work *work, size_t i, struct error *err)
{
    const struct event_rewrite *task = work->task;
    const struct event_rewrite_input *input = &task->inputs[i];
    const struct partition_reader_options options = {
        .size_bytes = input->data_bytes,
        .window_bytes = partition_merge_window_bytes(task->input_count, work->schema->column_count),
    };
    struct store *store;
    TRY(storages_get(work->rewriter->storages, NULL, input->storage_id, &store, err));
    TRY(partition_reader_open(store, input->path, &options, &work->readers[i], err));
    uint64_t rows = parquet_reader_rows(partition_reader_file(work->readers[i]));
    if (rows != input->row_count) {
        return err_set(err, ERR_CORRUPT, "expected %llu rows in \"%s\" but found %llu",
                       (unsigned long long)input->row_count, input->path, (unsigned long long)rows);
    }
    return OK;
}

static MUST_CHECK enum err_code open_inputs(struct work *work, struct error *err)
{
    const struct event_rewrite *task = work->task;
    work->readers = calloc(task->input_count, sizeof(struct partition_reader *));
    if (work->readers == NULL) {
        return err_no_memory(err, task->input_count * sizeof(struct partition_reader *));
    }
    for (size_t i = 0; i < task->input_count; i++) {
        enum err_code code = open_input(work, i, err);
        if (code != OK) {
            bool its_fault = code == ERR_CORRUPT || code == ERR_NOT_FOUND || code == ERR_INVALID;
            work->bad_input = its_fault ? (int)i : PARTITION_MERGE_NO_INPUT;
            return code;
        }
    }
    return OK;
}

static MUST_CHECK enum err_code merge_and_finish(struct work *work, struct partition_writer *writer, struct error *err)
{
    const struct partition_merge_options options = {
        .schema = work->schema,
        .inputs = work->readers,
        .input_count = work->task->input_count,
        .progress = progress,
        .context = work,
    };
    TRY(partition_merge(&options, writer, &work->bad_input, err));
    FAULT_POINT("rewriter.mid_write");
    TRY(lease_check(work->lease, err));
    TRY(partition_writer_finish(writer, &work->facts, err));
    return rewriter_plan_check_rows(work->task, work->facts.row_count, err);
}

static MUST_CHECK enum err_code rewrite(struct work *work, struct error *err)
{
    const struct event_rewrite *task = work->task;
    AUTO(partition_writer_free_auto) struct partition_writer *writer = NULL;
    struct store *store;
    for (size_t i = 0; i < task->storage_count; i++) {
        TRY(storages_declare(work->rewriter->storages, task->storages[i].storage_id, task->storages[i].url, err));
    }
    TRY(schema_parse(task->schema_json, strlen(task->schema_json), &task->table_id, &work->schema, err));
    TRY(open_inputs(work, err));
    const struct partition_writer_options options = {
        .path = task->output_path,
        .partition_id = task->output_id,
        .deadline_us = lease_end_us(work->lease),
    };
    TRY(storages_get(work->rewriter->storages, NULL, task->output_storage_id, &store, err));
    TRY(partition_writer_open(store, work->schema, &options, &writer, err));
    lease_set_writer(work->lease, writer);
    enum err_code code = merge_and_finish(work, writer, err);
    lease_set_writer(work->lease, NULL);
    return code;
}

/* --- the result ---------------------------------------------------------------------------------------------------- */

/* Publishes until the broker has it: the lease is kept meanwhile, so that the work is not lost to a broker that restarts. */
static MUST_CHECK enum err_code publish(struct work *work, const struct buf *body, struct error *err)
{
    char attempt[UUID_TEXT_BYTES];
    const struct bus_message message = {
        .routing_key = work->task->result_queue,
        .body = body->data,
        .body_bytes = body->length_bytes,
        .content_type = "application/json",
        .type = EVENT_REWRITE_RESULT_TYPE,
        .message_id = uuid_format(&work->task->attempt_id, attempt),
    };
    for (;;) {
        enum err_code code = bus_publish(work->rewriter->publisher, &message, PUBLISH_TIMEOUT_US, err);
        if (code == OK || code == ERR_INVALID || code == ERR_STOPPED || lease_check(work->lease, NULL) != OK) {
            return code;
        }
        if (service_wait(work->rewriter->service, PUBLISH_PAUSE_US) == ERR_STOPPED) {
            return code;
        }
    }
}

static MUST_CHECK enum err_code announce(struct work *work, const struct rewriter_outcome *outcome, struct error *err)
{
    AUTO(buf_done) struct buf body = {0};
    const struct event_rewrite_result result = rewriter_plan_result(work->task, outcome);
    TRY(event_rewrite_result_encode(&result, &body, err));
    FAULT_POINT("rewriter.before_publish_result");
    TRY(publish(work, &body, err));
    FAULT_POINT("rewriter.after_publish_result");
    return OK;
}

static void tell(const struct work *work, const struct rewriter_outcome *outcome, int64_t duration_us)
{
    struct rewriter_metrics *metrics = work->rewriter->metrics;
    const struct uuid *attempt = &work->task->attempt_id;
    metric_observe_us(metrics->seconds, duration_us);
    if (outcome->code == OK) {
        metric_add(metrics->done, 1);
        metric_add(metrics->rows, (int64_t)work->facts.row_count);
        metric_add(metrics->bytes, (int64_t)work->facts.data_bytes);
        log_info("a rewrite is done", LOG_UUID("attempt_id", attempt), LOG_UUID("table_id", &work->task->table_id),
                 LOG_UUID("output_id", &work->task->output_id), LOG_INT("inputs", work->task->input_count),
                 LOG_INT("rows", work->facts.row_count), LOG_INT("bytes", work->facts.data_bytes),
                 LOG_INT("duration_ms", duration_us / 1000));
    } else {
        metric_add(outcome->lease_lost ? metrics->lost : metrics->failed, 1);
        log_warn("a rewrite failed", LOG_UUID("attempt_id", attempt), LOG_UUID("table_id", &work->task->table_id),
                 LOG_ERR(outcome->error));
    }
}

static void work_on(struct work *work)
{
    struct error err = {0};
    struct error publish_err = {0};
    int64_t started_us = clock_monotonic_us();
    struct rewriter_outcome outcome = {.error = &err, .facts = &work->facts};
    metric_add(work->rewriter->metrics->running, 1);
    outcome.code = rewrite(work, &err);
    outcome.bad_input = work->bad_input;
    outcome.lease_lost = outcome.code != OK && lease_check(work->lease, NULL) != OK;
    FAULT_POINT("rewriter.after_upload");
    if (rewriter_plan_speaks(&outcome) && announce(work, &outcome, &publish_err) != OK) {
        log_warn("the result of a rewrite could not be published", LOG_UUID("attempt_id", &work->task->attempt_id),
                 LOG_ERR(&publish_err));
    }
    tell(work, &outcome, clock_monotonic_us() - started_us);
    metric_add(work->rewriter->metrics->running, -1);
}

/* --- the task ------------------------------------------------------------------------------------------------------ */

static MUST_CHECK enum err_code accept(struct rewriter *rewriter, const struct bus_delivery *delivery,
                                       struct arena *arena, struct event_rewrite *task, struct work *work,
                                       struct error *err)
{
    enum err_code code = event_rewrite_decode(delivery->body, delivery->body_bytes, arena, task, err);
    if (code != OK) {
        metric_add(rewriter->metrics->malformed, 1);
        return code;
    }
    const struct catalog_rewrite_lease terms = {
        .attempt_id = task->attempt_id,
        .token = task->token,
        .worker = rewriter->name,
        .lease_us = task->lease_us,
    };
    code = lease_open(rewriter->catalog, &terms, &work->lease, err);
    if (code == ERR_CONFLICT) {
        metric_add(rewriter->metrics->refused, 1); /* a task that came twice or too late */
    }
    return code;
}

void rewriter_handle(struct rewriter *rewriter, struct bus_delivery *delivery_take)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(64 << 10);
    struct error err = {0};
    struct event_rewrite task = {0};
    AUTO(work_done) struct work work = {.rewriter = rewriter, .task = &task, .bad_input = PARTITION_MERGE_NO_INPUT};
    enum err_code code =
        arena == NULL ? err_no_memory(&err, 64 << 10) : accept(rewriter, delivery_take, arena, &task, &work, &err);
    if (code != OK && bus_fate_of(code) != BUS_ACK) {
        log_warn("a rewrite task could not be taken", LOG_TEXT("message_id", delivery_take->message_id), LOG_ERR(&err));
    }
    FAULT_POINT("rewriter.after_lease");
    if (code != OK) {
        bus_settle(rewriter->consumer, delivery_take, bus_fate_of(code), err.text);
        return;
    }
    bus_consumer_pause(rewriter->consumer); /* what this worker cannot start now is for others */
    bus_settle(rewriter->consumer, delivery_take, BUS_ACK, "");
    FAULT_POINT("rewriter.after_ack");
    work_on(&work);
    bus_consumer_resume(rewriter->consumer);
}
