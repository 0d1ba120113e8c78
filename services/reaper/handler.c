/* Claim, objects, rows: three steps with a crash between any two of them harmless.
 *
 *   killed after      what is left                         who finds it
 *   the claim         rows claimed, objects there          the collector, once the claim has run out
 *   the objects       rows claimed, objects gone           the same; an absent object counts as deleted
 *   the rows          nothing but an unacknowledged event  redelivered: no row matches, acknowledged
 *
 * The other order (rows first) would leave objects that nothing names. Claim and row delete are transactions of their own;
 * no transaction is open while the store works. */
#include "services/reaper/handler.h"

#include "common/base/clock.h"
#include "common/base/fault.h"
#include "common/catalog/reap.h"
#include "common/catalog/tables.h"
#include "common/events/events.h"
#include "common/log/log.h"
#include "services/reaper/plan.h"

#define OUTCOME_TIMEOUT_US (30 * CLOCK_SECOND_US)

void reaper_metrics_init(struct reaper_metrics *metrics, struct metrics *registry)
{
    static const char name[] = "granary_reaper_partitions_total";
    static const char help[] = "Partitions of reap events, by what became of them.";
    metrics->deleted = metrics_counter(registry, name, "result=\"deleted\"", help);
    metrics->failed = metrics_counter(registry, name, "result=\"failed\"", help);
    metrics->stale = metrics_counter(registry, name, "result=\"stale\"", help);
    metrics->absent_objects = metrics_counter(registry, "granary_reaper_absent_objects_total", NULL,
                                              "Objects that were gone already when they were to be deleted.");
    metrics->kept_objects =
        metrics_counter(registry, "granary_reaper_kept_objects_total", NULL,
                        "Objects that were found although the store had said that they are deleted.");
    metrics->events = metrics_counter(registry, "granary_reaper_events_total", NULL, "Reap events handled.");
    metrics->malformed = metrics_counter(registry, "granary_reaper_malformed_events_total", NULL,
                                         "Reap events that could not be read and went to the dead queue.");
    metrics->seconds =
        metrics_histogram(registry, "granary_reaper_event_seconds", NULL, "Time to handle one reap event.");
}

struct work {
    struct arena *arena;
    struct event_reap event;
    struct catalog_claim claim;
    struct catalog_claimed *claimed;
    size_t claimed_count;
    struct reap_split split;
};

/* How long the event will wait on the ladder before somebody goes on with the claim. */
static int64_t wait_us(const struct reaper *reaper, uint32_t attempt)
{
    return reaper->bus->delays_us[attempt < BUS_LADDER_STEPS ? attempt : BUS_LADDER_STEPS - 1];
}

/* Fills in what is claimed; nothing claimed is no error. The fence comes first, then the graces are read. */
static enum err_code claim(struct reaper *reaper, struct work *work, uint32_t attempt, struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    struct table_record table;
    const struct event_reap *event = &work->event;
    struct catalog_reap_item *items = arena_zalloc(work->arena, event->count, sizeof *items);
    if (items == NULL) {
        return err_no_memory(err, event->count * sizeof *items);
    }
    for (size_t i = 0; i < event->count; i++) {
        items[i] = (struct catalog_reap_item){event->items[i].partition_id, event->items[i].deactivated_at_us};
    }
    TRY(catalog_begin(reaper->catalog, &transaction, err));
    TRY(catalog_fence_shared(transaction, &event->table_id, err));
    TRY(catalog_table_load(reaper->catalog, &event->table_id, work->arena, &table, err));
    if (uuid_is_nil(&event->claim_lock_id)) {
        const struct catalog_reap_graces graces = catalog_reap_graces_of(&table.settings);
        TRY(catalog_reap_claim(transaction, &event->table_id, &graces, items, event->count, reaper->owner,
                               reaper->lease_us, work->arena, &work->claim, &work->claimed, &work->claimed_count, err));
    } else {
        work->claim = (struct catalog_claim){event->claim_lock_id, event->claim_token};
        TRY(catalog_reap_resume(transaction, &event->table_id, &work->claim, items, event->count,
                                reaper->lease_us + wait_us(reaper, attempt), work->arena, &work->claimed,
                                &work->claimed_count, err));
    }
    FAULT_POINT("reaper.in_claim");
    return catalog_commit(TAKE(transaction), err);
}

static void fail_run(const struct reap_run *run, struct store_delete_result *results, bool deleted_only,
                     const struct error *reason)
{
    for (size_t i = run->first; i < run->first + run->count; i++) {
        if (!deleted_only || results[i].outcome == STORE_DELETED) {
            results[i] = (struct store_delete_result){.outcome = STORE_DELETE_FAILED, .error = *reason};
        }
    }
}

/* A store that says "deleted" and keeps the object is found out by looking for some of them. Then none of the run's answers
 * counts, and neither where it cannot be asked: rows stay until their objects are known to be gone. */
static enum err_code verify_run(struct reaper *reaper, struct store *store, const struct work *work,
                                const struct reap_keys *keys, const struct reap_run *run,
                                const struct store_delete_result *results, struct error *err)
{
    size_t total = 0;
    size_t position = 0;
    for (size_t i = run->first; i < run->first + run->count; i++) {
        total += results[i].outcome == STORE_DELETED;
    }
    for (size_t i = run->first; i < run->first + run->count; i++) {
        struct store_object object;
        if (results[i].outcome != STORE_DELETED ||
            !reap_plan_is_sampled(position++, total, reaper->verify_one_in, (uint64_t)work->claim.token)) {
            continue;
        }
        enum err_code code = store_head(store, keys->keys[i], work->arena, &object, err);
        if (code == OK) {
            metric_add(reaper->metrics->kept_objects, 1);
            return err_set(err, ERR_CONFLICT, "expected \"%s\" to be gone, as the store \"%s\" says, but it is there",
                           keys->keys[i], store_url(store));
        }
        if (code != ERR_NOT_FOUND) {
            return code;
        }
    }
    return OK;
}

static enum err_code ask_store(struct reaper *reaper, const struct reap_keys *keys, const struct reap_run *run,
                               struct store_delete_result *results, struct store **out, struct error *err)
{
    TRY(gate_check(reaper->gate, run->storage_id, err));
    TRY(storages_get(reaper->storages, reaper->catalog, run->storage_id, out, err));
    return store_delete(*out, keys->keys + run->first, run->count, results + run->first, err);
}

static void delete_run(struct reaper *reaper, const struct work *work, const struct reap_keys *keys,
                       const struct reap_run *run, struct store_delete_result *results)
{
    struct store *store = NULL;
    struct error reason = {0};
    if (ask_store(reaper, keys, run, results, &store, &reason) != OK) {
        fail_run(run, results, false, &reason);
    } else if (verify_run(reaper, store, work, keys, run, results, &reason) != OK) {
        fail_run(run, results, true, &reason);
    }
}

static enum err_code delete_objects(struct reaper *reaper, struct work *work, struct error *err)
{
    struct reap_keys keys;
    TRY(reap_plan_keys(work->claimed, work->claimed_count, work->arena, &keys, err));
    struct store_delete_result *results = arena_zalloc(work->arena, keys.count, sizeof *results);
    if (results == NULL) {
        return err_no_memory(err, keys.count * sizeof *results);
    }
    for (size_t i = 0; i < keys.run_count; i++) {
        delete_run(reaper, work, &keys, &keys.runs[i], results);
    }
    return reap_plan_split(work->claimed, work->claimed_count, results, work->arena, &work->split, err);
}

static enum err_code delete_rows_once(struct reaper *reaper, const struct work *work, struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    TRY(catalog_begin(reaper->catalog, &transaction, err));
    TRY(catalog_reap_delete(transaction, &work->claim, work->split.confirmed, work->split.confirmed_count,
                            reaper->owner, err));
    if (work->split.failed_count == 0) {
        TRY(catalog_reap_release(transaction, &work->claim, err));
    }
    FAULT_POINT("reaper.in_delete");
    return catalog_commit(TAKE(transaction), err);
}

/* A commit whose answer was lost is looked up: rows that are gone, are gone with their receipts. */
static enum err_code delete_rows(struct reaper *reaper, const struct work *work, struct error *err)
{
    const int64_t deadline_us = clock_monotonic_us() + OUTCOME_TIMEOUT_US;
    enum err_code code = delete_rows_once(reaper, work, err);
    while (code == ERR_UNKNOWN && clock_monotonic_us() < deadline_us) {
        size_t remaining = 0;
        code = catalog_reap_remaining(reaper->catalog, &work->claim, work->split.confirmed_ids,
                                      work->split.confirmed_count, &remaining, err);
        if (code == OK && remaining != 0) {
            code = delete_rows_once(reaper, work, err);
        }
    }
    return code;
}

static enum err_code note_failures(struct reaper *reaper, const struct work *work, uint32_t attempt, struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    TRY(catalog_begin(reaper->catalog, &transaction, err));
    TRY(catalog_reap_failed(transaction, &work->claim, work->split.failed, work->split.failed_count,
                            reaper->lease_us + wait_us(reaper, attempt), err));
    return catalog_commit(TAKE(transaction), err);
}

/* The event that goes on with the claim: just the partitions whose objects are still there. */
static enum err_code encode_rest(const struct work *work, struct buf *out, struct error *err)
{
    size_t count = work->split.failed_count;
    struct event_reap_item *items = arena_zalloc(work->arena, count, sizeof *items);
    if (items == NULL) {
        return err_no_memory(err, count * sizeof *items);
    }
    for (size_t i = 0; i < count; i++) {
        items[i] = (struct event_reap_item){work->split.failed_items[i].partition_id,
                                            work->split.failed_items[i].deactivated_at_us};
    }
    const struct event_reap rest = {
        .table_id = work->event.table_id,
        .claim_lock_id = work->claim.lock_id,
        .claim_token = work->claim.token,
        .count = count,
        .items = items,
    };
    return event_reap_encode(&rest, out, err);
}

static enum err_code reap(struct reaper *reaper, struct work *work, const struct bus_delivery *delivery,
                          struct error *err)
{
    enum err_code code = event_reap_decode(delivery->body, delivery->body_bytes, work->arena, &work->event, err);
    if (code != OK) {
        metric_add(reaper->metrics->malformed, 1);
        return code;
    }
    TRY(claim(reaper, work, delivery->attempt, err));
    metric_add(reaper->metrics->stale, (int64_t)(work->event.count - work->claimed_count));
    FAULT_POINT("reaper.after_claim");
    if (work->claimed_count == 0) {
        return OK;
    }
    TRY(delete_objects(reaper, work, err));
    FAULT_POINT("reaper.after_objects");
    metric_add(reaper->metrics->absent_objects, (int64_t)work->split.absent);
    if (work->split.confirmed_count != 0) {
        TRY(delete_rows(reaper, work, err));
        metric_add(reaper->metrics->deleted, (int64_t)work->split.confirmed_count);
    }
    FAULT_POINT("reaper.after_rows");
    if (work->split.failed_count != 0) {
        metric_add(reaper->metrics->failed, (int64_t)work->split.failed_count);
        TRY(note_failures(reaper, work, delivery->attempt, err));
    }
    return OK;
}

/* The work broke off after the claim: all that is claimed goes over the ladder under the claim, so that nobody has to wait
 * until it runs out. Deleting twice is harmless. */
static enum err_code keep_claim(struct work *work, struct error *err)
{
    size_t count = work->claimed_count;
    work->split =
        (struct reap_split){.failed_items = arena_zalloc(work->arena, count, sizeof(struct catalog_reap_item))};
    if (work->split.failed_items == NULL) {
        return err_no_memory(err, count * sizeof(struct catalog_reap_item));
    }
    for (size_t i = 0; i < count; i++) {
        work->split.failed_items[i] =
            (struct catalog_reap_item){work->claimed[i].partition_id, work->claimed[i].deactivated_at_us};
    }
    work->split.failed_count = count;
    return OK;
}

static void settle_rest(struct reaper *reaper, struct work *work, struct bus_delivery *delivery_take,
                        const char *reason)
{
    AUTO(buf_done) struct buf body = {0};
    struct error err = {0};
    log_warn("partitions could not be reaped and will be tried again", LOG_UUID("table_id", &work->event.table_id),
             LOG_INT("partitions", work->split.failed_count), LOG_INT("attempt", delivery_take->attempt),
             LOG_TEXT("error", reason));
    if (encode_rest(work, &body, &err) == OK) {
        bus_settle_delay_with(reaper->consumer, delivery_take, body.data, body.length_bytes, reason);
    } else {
        bus_settle(reaper->consumer, delivery_take, bus_fate_of(err.code), err.text);
    }
}

void reaper_handle(struct reaper *reaper, struct bus_delivery *delivery_take)
{
    const int64_t started_us = clock_monotonic_us();
    AUTO(arena_free_auto) struct arena *arena = arena_new(64 << 10);
    struct error err = {0};
    struct work work = {.arena = arena};
    enum err_code code = arena == NULL ? err_no_memory(&err, 64 << 10) : reap(reaper, &work, delivery_take, &err);
    FAULT_POINT("reaper.before_ack");
    if (code == OK && work.split.failed_count != 0) {
        settle_rest(reaper, &work, delivery_take, work.split.failed[0].text);
    } else if (bus_fate_of(code) == BUS_DELAY && work.claimed_count != 0 && keep_claim(&work, NULL) == OK) {
        settle_rest(reaper, &work, delivery_take, err.text);
    } else {
        if (code != OK && bus_fate_of(code) != BUS_ACK) {
            log_warn("a reap event could not be handled", LOG_TEXT("message_id", delivery_take->message_id),
                     LOG_UUID("table_id", &work.event.table_id), LOG_ERR(&err));
        }
        bus_settle(reaper->consumer, delivery_take, bus_fate_of(code), err.text);
    }
    FAULT_POINT("reaper.after_ack");
    metric_add(reaper->metrics->events, 1);
    metric_observe_us(reaper->metrics->seconds, clock_monotonic_us() - started_us);
}
