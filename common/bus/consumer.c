/* A link that consumes.
 *
 * The thread gathers deliveries from frames and hands them out through a queue; the broker's prefetch bounds how many
 * there are. A delivery belongs to the connection that brought it: once that is lost the broker gives the message to
 * somebody again, and whatever is decided about the old delivery means nothing (stale). */
#include "common/bus/consumer.h"

#include <string.h>

#include "common/base/clock.h"

enum { CLOSE_PATIENCE_US = 5000000 }; /* for copies to be confirmed and acks to be written */

/* --- frames ------------------------------------------------------------------------------------------------------ */

static enum err_code finish_delivery(struct bus_consumer *consumer, struct error *err)
{
    consumer->content = CONTENT_NONE;
    struct delivery *delivery = TAKE(consumer->incoming);
    if (delivery == NULL) { /* too large for us, for ever: to the dead queue */
        return bus_status_check(amqp_basic_reject(consumer->link.connection, BUS_CHANNEL, consumer->content_tag, 0),
                                "reject a message that is too large", err);
    }
    bus_delivery_list_append(&consumer->unsettled, delivery);
    pthread_mutex_lock(&consumer->link.lock);
    bus_delivery_queue_push(&consumer->arrived, delivery);
    pthread_cond_signal(&consumer->on_arrival);
    pthread_mutex_unlock(&consumer->link.lock);
    return OK;
}

static enum err_code take_header(struct bus_consumer *consumer, const amqp_frame_t *frame, struct error *err)
{
    uint64_t body_bytes = frame->payload.properties.body_size;
    consumer->content = CONTENT_BODY;
    consumer->incoming_bytes = 0;
    consumer->incoming_wanted_bytes = body_bytes;
    if (body_bytes <= BUS_MAX_MESSAGE_BYTES) {
        struct delivery *delivery =
            bus_delivery_new(frame->payload.properties.decoded, (size_t)body_bytes, consumer->content_tag);
        if (delivery == NULL) {
            return err_no_memory(err, (size_t)body_bytes);
        }
        delivery->consumer = consumer;
        delivery->epoch = consumer->epoch;
        consumer->incoming = delivery;
    }
    return body_bytes == 0 ? finish_delivery(consumer, err) : OK;
}

static enum err_code take_body(struct bus_consumer *consumer, amqp_bytes_t part, struct error *err)
{
    if (part.len > consumer->incoming_wanted_bytes - consumer->incoming_bytes) {
        return err_set(err, ERR_UNAVAILABLE, "the broker sent more bytes than it had said");
    }
    if (consumer->incoming != NULL && part.len > 0) {
        memcpy(bus_delivery_body(consumer->incoming) + consumer->incoming_bytes, part.bytes, part.len);
    }
    consumer->incoming_bytes += part.len;
    return consumer->incoming_bytes == consumer->incoming_wanted_bytes ? finish_delivery(consumer, err) : OK;
}

static enum err_code take_method(struct bus_consumer *consumer, const amqp_method_t *method, struct error *err)
{
    if (method->id == AMQP_BASIC_CANCEL_METHOD) {
        return err_set(err, ERR_UNAVAILABLE, "the broker cancelled the consumer of \"%s\": the queue is gone or moves",
                       consumer->queue);
    }
    if (method->id == AMQP_BASIC_DELIVER_METHOD) {
        const amqp_basic_deliver_t *deliver = method->decoded;
        consumer->content = CONTENT_HEADER;
        consumer->content_tag = deliver->delivery_tag;
    }
    return OK;
}

static enum err_code take_frame(void *self, const amqp_frame_t *frame, struct error *err)
{
    struct bus_consumer *consumer = self;
    if (frame->frame_type == AMQP_FRAME_METHOD) {
        return take_method(consumer, &frame->payload.method, err);
    }
    if (frame->frame_type == AMQP_FRAME_HEADER && consumer->content == CONTENT_HEADER) {
        return take_header(consumer, frame, err);
    }
    if (frame->frame_type == AMQP_FRAME_BODY && consumer->content == CONTENT_BODY) {
        return take_body(consumer, frame->payload.body_fragment, err);
    }
    return OK;
}

/* --- the thread -------------------------------------------------------------------------------------------------- */

#define CONSUMER_TAG "granary"

static enum err_code start_consuming(struct bus_consumer *consumer, struct error *err)
{
    amqp_connection_state_t connection = consumer->link.connection;
    amqp_basic_consume(connection, BUS_CHANNEL, amqp_cstring_bytes(consumer->queue), amqp_cstring_bytes(CONSUMER_TAG),
                       0, 0, 0, amqp_empty_table);
    TRY(bus_reply_check(amqp_get_rpc_reply(connection), "consume", err));
    consumer->consuming = true;
    consumer->link.again = true; /* the library may hold frames that came before its answer */
    return OK;
}

/* Without waiting for the answer: deliveries that are on their way still count. */
static enum err_code stop_consuming(struct bus_consumer *consumer, struct error *err)
{
    amqp_basic_cancel_t cancel = {.consumer_tag = amqp_cstring_bytes(CONSUMER_TAG), .nowait = 1};
    TRY(bus_status_check(amqp_send_method(consumer->link.connection, BUS_CHANNEL, AMQP_BASIC_CANCEL_METHOD, &cancel),
                         "stop consuming", err));
    consumer->consuming = false;
    return OK;
}

static enum err_code follow_pause(struct bus_consumer *consumer, struct error *err)
{
    pthread_mutex_lock(&consumer->link.lock);
    bool paused = consumer->paused;
    pthread_mutex_unlock(&consumer->link.lock);
    if (paused && consumer->consuming) {
        return stop_consuming(consumer, err);
    }
    return !paused && !consumer->consuming ? start_consuming(consumer, err) : OK;
}

static enum err_code setup(void *self, struct error *err)
{
    struct bus_consumer *consumer = self;
    amqp_connection_state_t connection = consumer->link.connection;
    consumer->content = CONTENT_NONE;
    consumer->consuming = false;
    amqp_basic_qos(connection, BUS_CHANNEL, 0, consumer->prefetch, 0);
    TRY(bus_reply_check(amqp_get_rpc_reply(connection), "set the prefetch", err));
    return follow_pause(consumer, err);
}

static enum err_code do_round(void *self, struct error *err)
{
    struct bus_consumer *consumer = self;
    TRY(follow_pause(consumer, err));
    return bus_consumer_settle_all(consumer, err);
}

static void free_stale_verdicts(void *self)
{
    struct error ignored = {0};
    (void)!bus_consumer_settle_all(self, &ignored); /* while down each one is stale: nothing is written */
}

static void lost(void *self, const struct error *err)
{
    (void)err;
    struct bus_consumer *consumer = self;
    consumer->epoch++;
    bus_consumer_forget_unsettled(consumer);
    bus_delivery_free(TAKE(consumer->incoming));
    free_stale_verdicts(consumer);
}

static const struct bus_link_role role = {
    .setup = setup, .frame = take_frame, .round = do_round, .idle = free_stale_verdicts, .lost = lost};

/* --- callers ----------------------------------------------------------------------------------------------------- */

enum err_code bus_consumer_open(const struct bus_options *options, const struct bus_consumer_options *consumer,
                                struct bus_consumer **out, struct error *err)
{
    TRY(bus_name_check(consumer->queue, "a queue's name", err));
    if (consumer->prefetch == 0) {
        return err_set(err, ERR_INVALID, "expected a prefetch of 1 .. 65535 but found 0");
    }
    AUTO(bus_settings_done) struct bus_settings settings = {0};
    TRY(bus_settings_parse(options, &settings, err));
    AUTO(bus_consumer_close_auto) struct bus_consumer *opened = calloc(1, sizeof *opened);
    if (opened == NULL) {
        return err_no_memory(err, sizeof *opened);
    }
    opened->prefetch = consumer->prefetch;
    TRY(bus_cond_init(&opened->on_arrival, err));
    TRY(bus_cond_init(&opened->on_settled, err));
    if ((opened->queue = strdup(consumer->queue)) == NULL) {
        return err_no_memory(err, strlen(consumer->queue));
    }
    TRY(bus_link_init(&opened->link, &settings, &role, opened, err));
    TRY(bus_link_start(&opened->link, err));
    *out = TAKE(opened);
    return OK;
}

static void await_settlements(struct bus_consumer *consumer)
{
    int64_t deadline_us = clock_monotonic_us() + CLOSE_PATIENCE_US;
    pthread_mutex_lock(&consumer->link.lock);
    while (consumer->settling > 0 && bus_cond_wait_until(&consumer->on_settled, &consumer->link.lock, deadline_us)) {
    }
    pthread_mutex_unlock(&consumer->link.lock);
}

void bus_consumer_close(struct bus_consumer *consumer)
{
    if (consumer == NULL) {
        return;
    }
    if (consumer->link.started) {
        await_settlements(consumer);
        bus_link_stop(&consumer->link);
    }
    bus_publisher_close(consumer->copies); /* its callbacks put what is left among the verdicts */
    struct delivery *delivery;
    while ((delivery = bus_delivery_queue_pop(&consumer->verdicts)) != NULL) {
        bus_delivery_free(delivery);
    }
    bus_link_done(&consumer->link);
    pthread_cond_destroy(&consumer->on_arrival);
    pthread_cond_destroy(&consumer->on_settled);
    free(consumer->queue);
    free(consumer);
}

enum err_code bus_next(struct bus_consumer *consumer, int64_t timeout_us, struct bus_delivery **out, struct error *err)
{
    int64_t deadline_us = clock_monotonic_us() + timeout_us;
    pthread_mutex_lock(&consumer->link.lock);
    while (consumer->arrived.first == NULL &&
           bus_cond_wait_until(&consumer->on_arrival, &consumer->link.lock, deadline_us)) {
    }
    struct delivery *delivery = bus_delivery_queue_pop(&consumer->arrived);
    pthread_mutex_unlock(&consumer->link.lock);
    if (delivery == NULL) {
        return err_set(err, ERR_TIMEOUT, "no message came from \"%s\"", consumer->queue);
    }
    *out = &delivery->public;
    return OK;
}

static void set_paused(struct bus_consumer *consumer, bool paused)
{
    pthread_mutex_lock(&consumer->link.lock);
    consumer->paused = paused;
    bus_link_wake_locked(&consumer->link);
    pthread_mutex_unlock(&consumer->link.lock);
}

void bus_consumer_pause(struct bus_consumer *consumer)
{
    set_paused(consumer, true);
}

void bus_consumer_resume(struct bus_consumer *consumer)
{
    set_paused(consumer, false);
}

bool bus_consumer_ready(struct bus_consumer *consumer, struct error *err)
{
    return bus_link_ready(&consumer->link, err);
}
