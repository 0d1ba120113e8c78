/* What becomes of deliveries.
 *
 * Callers queue verdicts; the consumer's thread carries them out. Acknowledgements that reach from the oldest unsettled
 * delivery onwards go out as one (multiple); the rest one by one. A delay or a dead letter is a copy, published with
 * confirm on a connection of its own (a broker in alarm stops reading from connections that publish, and
 * acknowledgements must not wait behind that); its confirm comes back as another verdict: acknowledge, or requeue when
 * it failed. So a message is at every moment in some queue, at worst in two. */
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/bus/consumer.h"

enum bus_fate bus_fate_of(enum err_code code)
{
    static const enum bus_fate fates[ERR_COUNT] = {
        [OK] = BUS_ACK,
        [ERR_NOT_FOUND] = BUS_ACK,
        [ERR_CONFLICT] = BUS_ACK,
        [ERR_UNAVAILABLE] = BUS_DELAY,
        [ERR_TIMEOUT] = BUS_DELAY,
        [ERR_NO_MEMORY] = BUS_DELAY,
        [ERR_UNKNOWN] = BUS_DELAY,
        [ERR_INVALID] = BUS_DEAD,
        [ERR_CORRUPT] = BUS_DEAD,
        [ERR_DENIED] = BUS_DEAD,
        [ERR_STOPPED] = BUS_REQUEUE,
    };
    return code < ERR_COUNT ? fates[code] : BUS_DELAY;
}

bool bus_consumer_is_stale(const struct delivery *delivery)
{
    return delivery->epoch != delivery->consumer->epoch;
}

bool bus_delivery_is_stale(const struct bus_delivery *delivery)
{
    return bus_consumer_is_stale((const struct delivery *)delivery); /* public is its first member */
}

static void queue_verdict(struct delivery *delivery, bool first)
{
    struct bus_consumer *consumer = delivery->consumer;
    pthread_mutex_lock(&consumer->link.lock);
    consumer->settling += first;
    bus_delivery_queue_push(&consumer->verdicts, delivery);
    bus_link_wake_locked(&consumer->link);
    pthread_mutex_unlock(&consumer->link.lock);
}

void bus_settle(struct bus_consumer *consumer, struct bus_delivery *delivery_take, enum bus_fate fate,
                const char *reason)
{
    (void)consumer;
    struct delivery *delivery = (struct delivery *)delivery_take;
    delivery->fate = fate;
    if (reason != NULL && (fate == BUS_DELAY || fate == BUS_DEAD)) {
        delivery->reason = strndup(reason, BUS_REASON_MAX_BYTES); /* out of memory: no reason is told */
    }
    queue_verdict(delivery, true);
}

void bus_settle_delay_with(struct bus_consumer *consumer, struct bus_delivery *delivery_take, const void *body,
                           size_t body_bytes, const char *reason)
{
    struct delivery *delivery = (struct delivery *)delivery_take;
    delivery->other_body = malloc(body_bytes + 1);
    if (delivery->other_body == NULL) { /* the old body would carry an old claim: let it come again whole */
        bus_settle(consumer, delivery_take, BUS_REQUEUE, NULL);
        return;
    }
    if (body_bytes > 0) {
        memcpy(delivery->other_body, body, body_bytes);
    }
    delivery->other_body_bytes = body_bytes;
    bus_settle(consumer, delivery_take, BUS_DELAY, reason);
}

static void count_settled(struct bus_consumer *consumer)
{
    pthread_mutex_lock(&consumer->link.lock);
    consumer->settling--;
    if (consumer->settling == 0) {
        pthread_cond_broadcast(&consumer->on_settled);
    }
    pthread_mutex_unlock(&consumer->link.lock);
}

static void forget(struct bus_consumer *consumer, struct delivery *delivery)
{
    bus_delivery_list_remove(&consumer->unsettled, delivery);
    bus_delivery_free(delivery);
    count_settled(consumer);
}

static enum err_code requeue(struct bus_consumer *consumer, struct delivery *delivery, struct error *err)
{
    int status = amqp_basic_nack(consumer->link.connection, BUS_CHANNEL, delivery->public.tag, 0, 1);
    forget(consumer, delivery);
    return bus_status_check(status, "requeue", err);
}

/* On the thread of the publisher for copies. */
static void on_copied(void *context, enum err_code code, const struct error *err)
{
    (void)err;
    struct delivery *delivery = context;
    delivery->fate = code == OK ? BUS_ACK : BUS_REQUEUE;
    queue_verdict(delivery, false);
}

static enum err_code publish_copy(struct bus_consumer *consumer, struct delivery *delivery, struct error *err)
{
    if (consumer->copies == NULL) {
        TRY(bus_publisher_open_for(&consumer->link.settings, SIZE_MAX / 2, consumer->queue, &consumer->copies, err));
    }
    const struct bus_delivery *public = &delivery->public;
    char name[BUS_NAME_MAX_BYTES + 1];
    bool changed = delivery->other_body != NULL;
    struct bus_outgoing copy = {
        .content_type = delivery->content_type,
        .type = public->type,
        .message_id = public->message_id,
        .body = changed ? delivery->other_body : public->body,
        .body_bytes = changed ? delivery->other_body_bytes : public->body_bytes,
        .meta = {.published_us = public->published_at_us,
                 .attempt = public->attempt,
                 .reason = amqp_cstring_bytes(delivery->reason == NULL ? "" : delivery->reason)},
    };
    if (delivery->fate == BUS_DELAY) {
        copy.exchange = bus_ladder_name(&consumer->link.settings, bus_ladder_step(public->attempt), name);
        copy.routing_key = consumer->queue;
        copy.meta.attempt++;
    } else {
        (void)snprintf(name, sizeof name, "%s" BUS_DEAD_SUFFIX, consumer->queue);
        copy.exchange = BUS_EXCHANGE;
        copy.routing_key = name;
        copy.meta.queue = amqp_cstring_bytes(consumer->queue);
        copy.meta.dead_us = clock_now_us();
    }
    return bus_publisher_submit(consumer->copies, &copy, 0, on_copied, delivery, err);
}

static enum err_code carry_out(struct bus_consumer *consumer, struct delivery *delivery,
                               struct delivery_queue *acknowledged, struct error *err)
{
    if (bus_consumer_is_stale(delivery)) {
        forget(consumer, delivery);
        return OK;
    }
    switch (delivery->fate) {
    case BUS_ACK:
        delivery->acknowledged = true;
        bus_delivery_queue_push(acknowledged, delivery);
        return OK;
    case BUS_DELAY:
    case BUS_DEAD: {
        struct error why = {0};
        return publish_copy(consumer, delivery, &why) == OK ? OK : requeue(consumer, delivery, err);
    }
    case BUS_REQUEUE:
    case BUS_FATE_COUNT: break;
    }
    return requeue(consumer, delivery, err);
}

/* Frees all of them, also when the connection breaks half-way: then the broker delivers them again. */
static enum err_code acknowledge(struct bus_consumer *consumer, struct delivery_queue *acknowledged, struct error *err)
{
    if (acknowledged->first == NULL) {
        return OK;
    }
    amqp_connection_state_t connection = consumer->link.connection;
    uint64_t all_up_to = bus_delivery_list_pop_acknowledged(&consumer->unsettled);
    int status = AMQP_STATUS_OK;
    if (all_up_to != 0) {
        status = amqp_basic_ack(connection, BUS_CHANNEL, all_up_to, 1);
    }
    struct delivery *delivery;
    while ((delivery = bus_delivery_queue_pop(acknowledged)) != NULL) {
        if (delivery->unsettled && status == AMQP_STATUS_OK) {
            status = amqp_basic_ack(connection, BUS_CHANNEL, delivery->public.tag, 0);
        }
        forget(consumer, delivery);
    }
    return bus_status_check(status, "acknowledge", err);
}

static struct delivery_queue take_verdicts(struct bus_consumer *consumer)
{
    pthread_mutex_lock(&consumer->link.lock);
    struct delivery_queue verdicts = consumer->verdicts;
    consumer->verdicts = (struct delivery_queue){0};
    pthread_mutex_unlock(&consumer->link.lock);
    return verdicts;
}

static void put_back(struct bus_consumer *consumer, struct delivery_queue *verdicts)
{
    struct delivery *delivery;
    pthread_mutex_lock(&consumer->link.lock);
    while ((delivery = bus_delivery_queue_pop(verdicts)) != NULL) {
        bus_delivery_queue_push(&consumer->verdicts, delivery);
    }
    pthread_mutex_unlock(&consumer->link.lock);
}

enum err_code bus_consumer_settle_all(struct bus_consumer *consumer, struct error *err)
{
    struct delivery_queue verdicts = take_verdicts(consumer), acknowledged = {0};
    struct delivery *delivery;
    enum err_code code = OK;
    while (code == OK && (delivery = bus_delivery_queue_pop(&verdicts)) != NULL) {
        code = carry_out(consumer, delivery, &acknowledged, err);
    }
    if (code == OK) {
        return acknowledge(consumer, &acknowledged, err);
    }
    put_back(consumer, &acknowledged); /* the connection is lost: they are freed as stale */
    put_back(consumer, &verdicts);
    return code;
}

void bus_consumer_forget_unsettled(struct bus_consumer *consumer)
{
    while (consumer->unsettled.first != NULL) {
        bus_delivery_list_remove(&consumer->unsettled, consumer->unsettled.first);
    }
    pthread_mutex_lock(&consumer->link.lock);
    struct delivery_queue arrived = consumer->arrived;
    consumer->arrived = (struct delivery_queue){0};
    pthread_mutex_unlock(&consumer->link.lock);
    struct delivery *delivery;
    while ((delivery = bus_delivery_queue_pop(&arrived)) != NULL) {
        bus_delivery_free(delivery);
    }
}
