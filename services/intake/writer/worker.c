/* Commit, then acknowledge: a crash in between brings the message again, and the batch ids keep its rows from landing twice.
 * While store or catalog are away the worker holds what it has and tries again; it takes nothing more from the queue, which
 * has no delivery limit. A flush that fails for what is in it is taken apart, message by message, so that only the bad one
 * goes to the dead queue. */
#include "services/intake/writer/worker.h"

#include "common/base/clock.h"
#include "common/base/fault.h"
#include "common/log/log.h"
#include "services/intake/queue.h"

#define BACKOFF_FIRST_US (100 * INT64_C(1000))
#define BACKOFF_LAST_US  (5 * CLOCK_SECOND_US)
#define IDLE_US          (CLOCK_SECOND_US / 4)

void worker_metrics_init(struct worker_metrics *metrics, struct metrics *registry)
{
    metrics->rows = metrics_counter(registry, "granary_writer_rows_total", NULL, "Rows made queryable.");
    metrics->rejects = metrics_counter(registry, "granary_writer_rejects_total", NULL, "Rejects made queryable.");
    metrics->partitions = metrics_counter(registry, "granary_writer_partitions_total", NULL, "Partitions published.");
    metrics->bytes = metrics_counter(registry, "granary_writer_bytes_total", NULL, "Bytes of published partitions.");
    metrics->batches = metrics_counter(registry, "granary_writer_batches_total", NULL, "Batches committed.");
    metrics->duplicates = metrics_counter(registry, "granary_writer_duplicate_batches_total", NULL,
                                          "Batches left out because they were committed before.");
    metrics->dead =
        metrics_counter(registry, "granary_writer_dead_messages_total", NULL, "Messages sent to the dead queue.");
    metrics->failed_flushes = metrics_counter(registry, "granary_writer_failed_flushes_total", NULL,
                                              "Flushes that failed and were tried again or taken apart.");
    metrics->flush_seconds = metrics_histogram(registry, "granary_writer_flush_seconds", NULL,
                                               "Time to write and commit what was gathered.");
}

static bool is_stopping(void *context)
{
    return service_stopping(context);
}

static void settle_all(struct worker *worker, struct gather *gather, enum bus_fate fate, const char *reason)
{
    for (size_t i = 0; i < gather->delivery_count; i++) {
        bus_settle(worker->consumer, gather->deliveries[i], fate, reason);
    }
    gather_clear(gather);
}

static void count_flush(struct worker_metrics *metrics, const struct flush_outcome *outcome)
{
    metric_add(metrics->rows, outcome->rows);
    metric_add(metrics->rejects, outcome->rejects);
    metric_add(metrics->partitions, outcome->partitions);
    metric_add(metrics->bytes, outcome->bytes);
    metric_add(metrics->batches, outcome->batches);
    metric_add(metrics->duplicates, outcome->duplicates);
}

static bool can_heal(enum err_code code)
{
    return code == ERR_UNAVAILABLE || code == ERR_TIMEOUT || code == ERR_CONFLICT || code == ERR_NO_MEMORY;
}

/* Store or catalog are away. What has come is held, nothing more is taken, and it is tried again. */
struct outage {
    bool told;
    int64_t pause_us;
};

static enum err_code sit_out(struct worker *worker, struct outage *outage, struct error *err)
{
    if (!outage->told) {
        log_warn("rows cannot be written now and are held", LOG_INT("messages", worker->gather.delivery_count),
                 LOG_ERR(err));
        bus_consumer_pause(worker->consumer);
        outage->pause_us = BACKOFF_FIRST_US;
    }
    outage->told = true;
    if (service_wait(worker->service, outage->pause_us) == ERR_STOPPED) {
        return err_set(err, ERR_STOPPED, "shutting down");
    }
    outage->pause_us = outage->pause_us * 2 < BACKOFF_LAST_US ? outage->pause_us * 2 : BACKOFF_LAST_US;
    return OK;
}

static void go_on(struct worker *worker, const struct outage *outage)
{
    if (outage->told) {
        log_info("writing goes on");
        bus_consumer_resume(worker->consumer);
    }
}

static enum err_code flush_once(struct worker *worker, struct gather *gather, struct error *err)
{
    const struct flush_options options = {
        .catalog = worker->catalog,
        .storages = worker->storages,
        .owner = service_instance(worker->service),
        .lease_us = worker->lease_us,
        .threads = worker->threads,
        .stopped = is_stopping,
        .context = worker->service,
    };
    struct flush_outcome outcome = {0};
    const int64_t started_us = clock_monotonic_us();
    FAULT_POINT("writer.before_stage");
    enum err_code code = flush(&options, gather, &outcome, err);
    if (code == OK) {
        metric_observe_us(worker->metrics->flush_seconds, clock_monotonic_us() - started_us);
        count_flush(worker->metrics, &outcome);
    } else {
        metric_add(worker->metrics->failed_flushes, 1);
    }
    return code;
}

/* Until it is written, its contents are to blame, or the service stops. */
static enum err_code flush_patiently(struct worker *worker, struct gather *gather, struct error *err)
{
    struct outage outage = {0};
    enum err_code code = flush_once(worker, gather, err);
    while (can_heal(code)) {
        TRY(sit_out(worker, &outage, err));
        code = flush_once(worker, gather, err);
    }
    go_on(worker, &outage);
    return code;
}

/* Likewise: the schema of a table not met before is the catalog's to say. */
static enum err_code add_patiently(struct worker *worker, struct gather *gather, struct bus_delivery *delivery,
                                   struct error *err)
{
    struct outage outage = {0};
    enum err_code code = gather_add(gather, worker->tables, delivery, err);
    while (can_heal(code)) {
        TRY(sit_out(worker, &outage, err));
        code = gather_add(gather, worker->tables, delivery, err);
    }
    go_on(worker, &outage);
    return code;
}

static void bury(struct worker *worker, struct bus_delivery *delivery_take, const struct error *err)
{
    log_error("a message cannot be written and goes to the dead queue",
              LOG_TEXT("message_id", delivery_take->message_id), LOG_ERR(err));
    metric_add(worker->metrics->dead, 1);
    bus_settle(worker->consumer, delivery_take, BUS_DEAD, err->text);
}

static void settle_flush(struct worker *worker, struct gather *gather, enum err_code code, const struct error *err);

static void write_alone(struct worker *worker, struct bus_delivery *delivery_take)
{
    AUTO(gather_done) struct gather alone = {0};
    struct error err = {0};
    enum err_code code = add_patiently(worker, &alone, delivery_take, &err);
    if (code == OK) {
        settle_flush(worker, &alone, flush_patiently(worker, &alone, &err), &err);
    } else if (code == ERR_STOPPED) {
        bus_settle(worker->consumer, delivery_take, BUS_REQUEUE, err.text);
    } else {
        bury(worker, delivery_take, &err);
    }
}

/* Each message by itself, so that only the bad ones suffer. */
static void flush_apart(struct worker *worker, struct gather *whole)
{
    AUTO(free_auto) struct bus_delivery **deliveries = TAKE(whole->deliveries);
    const size_t count = whole->delivery_count;
    gather_done(whole);
    for (size_t i = 0; i < count; i++) {
        write_alone(worker, deliveries[i]);
    }
}

static void settle_flush(struct worker *worker, struct gather *gather, enum err_code code, const struct error *err)
{
    if (code == OK) {
        FAULT_POINT("writer.before_ack");
        settle_all(worker, gather, BUS_ACK, "");
        FAULT_POINT("writer.after_ack");
    } else if (code == ERR_STOPPED || code == ERR_UNKNOWN) {
        settle_all(worker, gather, BUS_REQUEUE, err->text);
    } else if (gather->delivery_count == 1) {
        bury(worker, gather->deliveries[0], err);
        gather_clear(gather);
    } else {
        log_warn("a flush failed and is taken apart", LOG_INT("messages", gather->delivery_count), LOG_ERR(err));
        flush_apart(worker, gather);
    }
}

static void flush_gathered(struct worker *worker)
{
    struct error err = {0};
    if (worker->gather.delivery_count != 0) {
        enum err_code code = flush_patiently(worker, &worker->gather, &err);
        settle_flush(worker, &worker->gather, code, &err);
    }
}

static void take(struct worker *worker, struct bus_delivery *delivery_take)
{
    struct error err = {0};
    FAULT_POINT("writer.after_receive");
    if (intake_plan_alone(delivery_take->delivery_count)) {
        flush_gathered(worker);
        write_alone(worker, delivery_take);
        return;
    }
    enum err_code code = add_patiently(worker, &worker->gather, delivery_take, &err);
    if (code == ERR_STOPPED) {
        bus_settle(worker->consumer, delivery_take, BUS_REQUEUE, err.text);
    } else if (code != OK) {
        bury(worker, delivery_take, &err);
    }
}

static int64_t time_left_us(const struct worker *worker)
{
    if (worker->gather.delivery_count == 0) {
        return IDLE_US;
    }
    const int64_t left_us = worker->gather.since_us + worker->bounds.max_open_us - clock_monotonic_us();
    return left_us < 0 ? 0 : left_us < IDLE_US ? left_us : IDLE_US;
}

void worker_run(struct worker *worker)
{
    while (!service_stopping(worker->service)) {
        struct bus_delivery *delivery = NULL;
        if (bus_next(worker->consumer, time_left_us(worker), &delivery, NULL) == OK) {
            take(worker, delivery);
        }
        worker->gather.load.open_us =
            worker->gather.delivery_count != 0 ? clock_monotonic_us() - worker->gather.since_us : 0;
        if (intake_plan_flush(&worker->gather.load, &worker->bounds)) {
            flush_gathered(worker);
        }
    }
    settle_all(worker, &worker->gather, BUS_REQUEUE, "shutting down");
    gather_done(&worker->gather);
}
