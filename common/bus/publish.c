/* What callers see of a publisher: publish and be called back, or publish and wait. */
#include "common/base/clock.h"
#include "common/bus/internal.h"

static struct bus_outgoing outgoing_of(const struct bus_message *message)
{
    return (struct bus_outgoing){.exchange = BUS_EXCHANGE,
                                 .routing_key = message->routing_key,
                                 .content_type = message->content_type,
                                 .type = message->type,
                                 .message_id = message->message_id,
                                 .meta = {.published_us = message->published_at_us},
                                 .body = message->body,
                                 .body_bytes = message->body_bytes};
}

enum err_code bus_publish_async(struct bus_publisher *publisher, const struct bus_message *message, bus_done_fn *done,
                                void *context, struct error *err)
{
    TRY(bus_name_check(message->routing_key, "a queue's name", err));
    struct bus_outgoing outgoing = outgoing_of(message);
    return bus_publisher_submit(publisher, &outgoing, BUS_QUEUE_PATIENCE_US, done, context, err);
}

/* Two hold it, the caller that waits and the message on its way: the last one frees it. So a caller may go when its
 * time is over. */
struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t settled;
    int holders;
    bool done;
    enum err_code code;
    struct error err;
};

static void waiter_release(struct waiter **held)
{
    struct waiter *waiter = TAKE(*held);
    if (waiter == NULL) {
        return;
    }
    pthread_mutex_lock(&waiter->lock);
    bool last = --waiter->holders == 0;
    pthread_mutex_unlock(&waiter->lock);
    if (last) {
        pthread_cond_destroy(&waiter->settled);
        pthread_mutex_destroy(&waiter->lock);
        free(waiter);
    }
}

/* NULL when out of memory. */
static struct waiter *waiter_new(void)
{
    AUTO(free_auto) struct waiter *waiter = calloc(1, sizeof *waiter);
    if (waiter == NULL || bus_cond_init(&waiter->settled, NULL) != OK) {
        return NULL;
    }
    pthread_mutex_init(&waiter->lock, NULL);
    waiter->holders = 1;
    return TAKE(waiter);
}

static void on_done(void *context, enum err_code code, const struct error *err)
{
    AUTO(waiter_release) struct waiter *waiter = context;
    pthread_mutex_lock(&waiter->lock);
    waiter->done = true;
    waiter->code = code;
    if (code != OK) {
        waiter->err = *err;
    }
    pthread_cond_signal(&waiter->settled);
    pthread_mutex_unlock(&waiter->lock);
}

static enum err_code await(struct waiter *waiter, int64_t deadline_us, struct error *err)
{
    pthread_mutex_lock(&waiter->lock);
    while (!waiter->done && bus_cond_wait_until(&waiter->settled, &waiter->lock, deadline_us)) {
    }
    bool done = waiter->done;
    pthread_mutex_unlock(&waiter->lock);
    if (!done) {
        return err_set(err, ERR_TIMEOUT, "the broker did not confirm in time");
    }
    return waiter->code == OK ? OK : err_set(err, waiter->code, "%s", waiter->err.text);
}

enum err_code bus_publisher_send(struct bus_publisher *publisher, const struct bus_outgoing *message,
                                 int64_t timeout_us, struct error *err)
{
    AUTO(waiter_release) struct waiter *waiter = waiter_new();
    if (waiter == NULL) {
        return err_no_memory(err, sizeof *waiter);
    }
    int64_t deadline_us = clock_monotonic_us() + timeout_us;
    struct bus_outgoing copied = *message;
    copied.copy_body = true; /* the caller's body may be gone before the message is */
    waiter->holders++;
    enum err_code code = bus_publisher_submit(publisher, &copied, timeout_us, on_done, waiter, err);
    if (code != OK) {
        waiter->holders--;
        return code;
    }
    code = await(waiter, deadline_us, err);
    struct error why = {0};
    if (code == ERR_TIMEOUT && !bus_publisher_ready(publisher, &why)) {
        return err_set(err, ERR_UNAVAILABLE, "the broker did not confirm in time: %s", why.text);
    }
    return code;
}

enum err_code bus_publish(struct bus_publisher *publisher, const struct bus_message *message, int64_t timeout_us,
                          struct error *err)
{
    TRY(bus_name_check(message->routing_key, "a queue's name", err));
    struct bus_outgoing outgoing = outgoing_of(message);
    return bus_publisher_send(publisher, &outgoing, timeout_us, err);
}
