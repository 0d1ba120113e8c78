#include "services/intake/head/coalescer.h"

#include <pthread.h>

#include "common/base/clock.h"
#include "common/base/fault.h"
#include "common/events/events.h"
#include "services/intake/head/asker.h"
#include "services/intake/plan.h"
#include "services/intake/queue.h"

#define DRAIN_US (5 * CLOCK_SECOND_US)

struct group { /* of one table and schema version */
    struct group *next;
    const struct intake_table *table; /* of its first request, which keeps it alive */
    struct request *first, **end;
    size_t count, bytes, rows;
    int64_t since_us;
};

struct message { /* on its way to the broker */
    struct coalescer *coalescer;
    struct request *first;
    struct buf body;
    char id[UUID_TEXT_BYTES];
};

struct coalescer {
    struct coalescer_options options;
    pthread_t thread;
    bool running;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stopping;
    struct group *groups;
    unsigned in_flight; /* messages */
};

static void fail_all(struct request *first, const struct error *err)
{
    while (first != NULL) {
        struct request *next = first->next;
        request_fail(first, err);
        first = next;
    }
}

/* --- the broker's answer, on the publisher's thread --------------------------------------------------------------- */

static void answer_one(struct coalescer *coalescer, struct request *request, enum err_code code,
                       const struct error *err)
{
    if (code == OK && request->wait_committed) {
        asker_wait(coalescer->options.asker, request);
    } else if (code == OK) {
        request_accept(request);
    } else if (code == ERR_CONFLICT) {
        metric_add(coalescer->options.queue_full, 1);
        request_queue_full(request);
    } else {
        const struct error unsaid = {.code = ERR_UNAVAILABLE,
                                     .text =
                                         "the message broker did not confirm; hint: the rows may or may not have been "
                                         "taken: repeat with an Idempotency-Key to be sure"};
        (void)err;
        request_fail(request, &unsaid);
    }
}

static void confirmed(void *context, enum err_code code, const struct error *err)
{
    struct message *message = context;
    struct coalescer *coalescer = message->coalescer;
    FAULT_POINT("intake.after_confirm");
    for (struct request *request = message->first; request != NULL;) {
        struct request *next = request->next;
        answer_one(coalescer, request, code, err);
        request = next;
    }
    buf_done(&message->body);
    free(message);
    pthread_mutex_lock(&coalescer->lock);
    coalescer->in_flight--;
    pthread_cond_signal(&coalescer->changed);
    pthread_mutex_unlock(&coalescer->lock);
}

/* --- sending ------------------------------------------------------------------------------------------------------ */

static enum err_code encode(struct group *group, struct message *message, struct error *err)
{
    const struct uuid id = uuid_v7(); /* of the message, and of every batch in it that has no key of its own */
    uuid_format(&id, message->id);
    AUTO(free_auto) struct event_intake_segment *segments = calloc(group->count, sizeof *segments);
    if (segments == NULL) {
        return err_no_memory(err, group->count * sizeof *segments);
    }
    size_t at = 0;
    for (struct request *request = group->first; request != NULL; request = request->next) {
        request->batch_id = uuid_is_nil(&request->batch_id) ? id : request->batch_id;
        struct event_intake_segment *segment = &segments[at++];
        *segment = (struct event_intake_segment){
            .batch_id = request->batch_id,
            .keyed = request->keyed,
            .row_count = request->row_count,
            .reject_count = request->reject_count,
            .rows = request->rows.data,
            .rows_bytes = request->rows.length_bytes,
            .rejects = request->rejects.data,
            .rejects_bytes = request->rejects.length_bytes,
        };
        if (request->keyed) {
            __builtin_memcpy(segment->body_sha256, request->body_sha256, sizeof segment->body_sha256);
        }
    }
    const struct event_intake event = {
        .table_id = group->table->table_id,
        .schema_version = group->table->schema->version,
        .segment_count = at,
        .segments = segments,
    };
    return event_intake_encode(&event, &message->body, err);
}

static enum err_code publish(struct coalescer *coalescer, struct group *group, struct error *err)
{
    struct message *message = calloc(1, sizeof *message);
    if (message == NULL) {
        return err_no_memory(err, sizeof *message);
    }
    message->coalescer = coalescer;
    enum err_code code = encode(group, message, err);
    if (code == OK) {
        const struct bus_message envelope = {
            .routing_key = INTAKE_QUEUE,
            .body = message->body.data,
            .body_bytes = message->body.length_bytes,
            .content_type = "application/x-granary-batches",
            .type = EVENT_INTAKE_TYPE,
            .message_id = message->id,
            .published_at_us = intake_tables_now_us(coalescer->options.tables),
        };
        message->first = group->first;
        FAULT_POINT("intake.before_enqueue");
        code = bus_publish_async(coalescer->options.publisher, &envelope, confirmed, message, err);
    }
    if (code != OK) {
        buf_done(&message->body);
        free(message);
    }
    return code;
}

static void send_group(struct coalescer *coalescer, struct group *group_take)
{
    struct error err = {0};
    const int64_t count = (int64_t)group_take->count;
    struct request *first = group_take->first;
    if (publish(coalescer, group_take, &err) == OK) {
        metric_add(coalescer->options.messages, 1);
        metric_add(coalescer->options.segments, count);
    } else {
        pthread_mutex_lock(&coalescer->lock);
        coalescer->in_flight--;
        pthread_mutex_unlock(&coalescer->lock);
        fail_all(first, &err);
    }
    free(group_take);
}

/* --- gathering ---------------------------------------------------------------------------------------------------- */

/* Takes a group that is due out of the list; else *wait_us says when the first will be (-1: none). Under the lock. */
static struct group *take_due(struct coalescer *coalescer, int64_t *wait_us)
{
    const int64_t now_us = clock_monotonic_us();
    *wait_us = -1;
    for (struct group **at = &coalescer->groups; *at != NULL; at = &(*at)->next) {
        struct group *group = *at;
        const struct intake_gathered gathered = {
            .bytes = group->bytes,
            .waited_us = now_us - group->since_us,
            .decoding = atomic_load(coalescer->options.decoding),
            .messages_in_flight = coalescer->in_flight,
        };
        if (intake_plan_send(&gathered, coalescer->options.linger_us)) {
            *at = group->next;
            return group;
        }
        const int64_t left_us = coalescer->options.linger_us - gathered.waited_us;
        *wait_us = *wait_us < 0 || left_us < *wait_us ? left_us : *wait_us;
    }
    return NULL;
}

static void wait_for_change(struct coalescer *coalescer, int64_t wait_us)
{
    if (wait_us < 0) {
        pthread_cond_wait(&coalescer->changed, &coalescer->lock);
        return;
    }
    const int64_t until_us = clock_monotonic_us() + wait_us;
    const struct timespec until = {.tv_sec = until_us / CLOCK_SECOND_US, .tv_nsec = until_us % CLOCK_SECOND_US * 1000};
    pthread_cond_timedwait(&coalescer->changed, &coalescer->lock, &until);
}

/* Under the lock, which it leaves while it sends. */
static void send_taken(struct coalescer *coalescer, struct group *group_take)
{
    coalescer->in_flight++;
    pthread_mutex_unlock(&coalescer->lock);
    send_group(coalescer, group_take);
    pthread_mutex_lock(&coalescer->lock);
}

/* Whoever has been read gets an answer: what is gathered goes out, and the broker has a while to confirm. */
static void drain(struct coalescer *coalescer)
{
    const int64_t until_us = clock_monotonic_us() + DRAIN_US;
    while (coalescer->groups != NULL) {
        struct group *group = coalescer->groups;
        coalescer->groups = group->next;
        send_taken(coalescer, group);
    }
    while (coalescer->in_flight != 0 && clock_monotonic_us() < until_us) {
        wait_for_change(coalescer, until_us - clock_monotonic_us());
    }
}

static void *gather(void *context)
{
    struct coalescer *coalescer = context;
    pthread_mutex_lock(&coalescer->lock);
    while (!coalescer->stopping) {
        int64_t wait_us;
        struct group *group = take_due(coalescer, &wait_us);
        if (group == NULL) {
            wait_for_change(coalescer, wait_us);
        } else {
            send_taken(coalescer, group);
        }
    }
    drain(coalescer);
    pthread_mutex_unlock(&coalescer->lock);
    return NULL;
}

static struct group *find_group(struct coalescer *coalescer, const struct request *request)
{
    for (struct group *group = coalescer->groups; group != NULL; group = group->next) {
        if (uuid_equal(&group->table->table_id, &request->table->table_id) &&
            group->table->schema->version == request->table->schema->version &&
            group->count < EVENT_INTAKE_MAX_SEGMENTS && group->rows + request_row_total(request) <= INTAKE_MAX_ROWS &&
            group->bytes + request->rows.length_bytes + request->rejects.length_bytes < BUS_MAX_MESSAGE_BYTES / 2) {
            return group;
        }
    }
    return NULL;
}

void coalescer_submit(struct coalescer *coalescer, struct request *request_take)
{
    struct error err;
    request_take->next = NULL;
    pthread_mutex_lock(&coalescer->lock);
    struct group *group = find_group(coalescer, request_take);
    if (group == NULL && !coalescer->stopping) {
        group = calloc(1, sizeof *group);
        if (group != NULL) {
            group->table = request_take->table;
            group->end = &group->first;
            group->since_us = clock_monotonic_us();
            group->next = coalescer->groups;
            coalescer->groups = group;
        }
    }
    const bool stopping = coalescer->stopping;
    if (group != NULL && !stopping) {
        *group->end = request_take;
        group->end = &request_take->next;
        group->count++;
        group->rows += request_row_total(request_take);
        group->bytes += request_take->rows.length_bytes + request_take->rejects.length_bytes;
        pthread_cond_signal(&coalescer->changed);
    }
    pthread_mutex_unlock(&coalescer->lock);
    if (stopping) {
        err_set(&err, ERR_STOPPED, "shutting down");
        request_fail(request_take, &err);
    } else if (group == NULL) {
        err_no_memory(&err, sizeof *group);
        request_fail(request_take, &err);
    }
}

void coalescer_wake(struct coalescer *coalescer)
{
    pthread_mutex_lock(&coalescer->lock);
    if (coalescer->groups != NULL) {
        pthread_cond_signal(&coalescer->changed);
    }
    pthread_mutex_unlock(&coalescer->lock);
}

enum err_code coalescer_open(const struct coalescer_options *options, struct coalescer **out, struct error *err)
{
    struct coalescer *coalescer = calloc(1, sizeof *coalescer);
    pthread_condattr_t monotonic;
    if (coalescer == NULL) {
        return err_no_memory(err, sizeof *coalescer);
    }
    coalescer->options = *options;
    pthread_mutex_init(&coalescer->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&coalescer->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (pthread_create(&coalescer->thread, NULL, gather, coalescer) != 0) {
        coalescer_close(coalescer);
        return err_set(err, ERR_NO_MEMORY, "could not start the coalescer's thread");
    }
    coalescer->running = true;
    *out = coalescer;
    return OK;
}

void coalescer_stop(struct coalescer *coalescer)
{
    if (coalescer == NULL || !coalescer->running) {
        return;
    }
    pthread_mutex_lock(&coalescer->lock);
    coalescer->stopping = true;
    pthread_cond_signal(&coalescer->changed);
    pthread_mutex_unlock(&coalescer->lock);
    (void)pthread_join(coalescer->thread, NULL);
    coalescer->running = false;
}

void coalescer_close(struct coalescer *coalescer)
{
    if (coalescer != NULL) {
        coalescer_stop(coalescer);
        pthread_cond_destroy(&coalescer->changed);
        pthread_mutex_destroy(&coalescer->lock);
        free(coalescer);
    }
}
