/* What waits to be published: callers put entries in, the publisher's thread takes them out and completes each exactly
 * once. The bytes of all entries between the two are bounded. */
#include <string.h>

#include "common/base/clock.h"
#include "common/bus/publisher.h"

enum { ENTRY_OVERHEAD_BYTES = 512 }; /* counted beside the body, so that many small messages are bounded too */

static amqp_bytes_t text_or_empty(const char *text)
{
    return text == NULL ? amqp_empty_bytes : amqp_cstring_bytes(text);
}

static amqp_bytes_t cut(amqp_bytes_t text)
{
    return (amqp_bytes_t){.bytes = text.bytes,
                          .len = text.len > BUS_REASON_MAX_BYTES ? BUS_REASON_MAX_BYTES : text.len};
}

struct entry *bus_outbox_entry_new(const struct bus_outgoing *message)
{
    amqp_bytes_t texts[] = {
        text_or_empty(message->exchange), text_or_empty(message->routing_key), text_or_empty(message->content_type),
        text_or_empty(message->type),     text_or_empty(message->message_id),  cut(message->meta.reason),
        cut(message->meta.queue),
    };
    size_t size = sizeof(struct entry) + (message->copy_body ? message->body_bytes : 0);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        size += texts[i].len + 1;
    }
    struct entry *entry = calloc(1, size);
    if (entry == NULL) {
        return NULL;
    }
    char *cursor = entry->storage;
    entry->message = *message;
    entry->message.exchange = bus_text_take(&cursor, texts[0]);
    entry->message.routing_key = bus_text_take(&cursor, texts[1]);
    entry->message.content_type = bus_text_take(&cursor, texts[2]);
    entry->message.type = bus_text_take(&cursor, texts[3]);
    entry->message.message_id = bus_text_take(&cursor, texts[4]);
    entry->message.meta.reason = amqp_cstring_bytes(bus_text_take(&cursor, texts[5]));
    entry->message.meta.queue = amqp_cstring_bytes(bus_text_take(&cursor, texts[6]));
    if (message->copy_body && message->body_bytes > 0) {
        memcpy(cursor, message->body, message->body_bytes);
        entry->message.body = cursor;
    }
    entry->cost_bytes = message->body_bytes + ENTRY_OVERHEAD_BYTES;
    return entry;
}

void bus_outbox_complete(struct bus_publisher *publisher, struct entry *entry, enum err_code code,
                         const struct error *err)
{
    entry->done(entry->context, code, err);
    pthread_mutex_lock(&publisher->link.lock);
    publisher->in_flight_bytes -= entry->cost_bytes;
    pthread_cond_broadcast(&publisher->room);
    pthread_mutex_unlock(&publisher->link.lock);
    free(entry);
}

struct entry *bus_outbox_pop(struct bus_publisher *publisher, int64_t before_us)
{
    pthread_mutex_lock(&publisher->link.lock);
    struct entry *entry = publisher->first;
    if (entry != NULL && entry->since_us < before_us) {
        publisher->first = entry->next;
        if (publisher->first == NULL) {
            publisher->last_next = &publisher->first;
        }
    } else {
        entry = NULL;
    }
    pthread_mutex_unlock(&publisher->link.lock);
    return entry;
}

void bus_outbox_fail(struct bus_publisher *publisher, int64_t before_us, const struct error *err)
{
    struct entry *entry;
    while ((entry = bus_outbox_pop(publisher, before_us)) != NULL) {
        bus_outbox_complete(publisher, entry, err->code, err);
    }
}

bool bus_outbox_is_empty(struct bus_publisher *publisher)
{
    pthread_mutex_lock(&publisher->link.lock);
    bool empty = publisher->first == NULL;
    pthread_mutex_unlock(&publisher->link.lock);
    return empty;
}

static enum err_code check_message(const struct bus_outgoing *message, struct error *err)
{
    TRY(bus_short_check(message->routing_key, "a routing key", err));
    TRY(bus_short_check(message->content_type, "a content type", err));
    TRY(bus_short_check(message->type, "a message type", err));
    TRY(bus_short_check(message->message_id, "a message id", err));
    if (message->body_bytes > BUS_MAX_MESSAGE_BYTES) {
        return err_set(err, ERR_INVALID, "expected a message of at most %d bytes but found %zu",
                       (int)BUS_MAX_MESSAGE_BYTES, message->body_bytes);
    }
    return OK;
}

/* Lock held. One message of any size is let through when nothing else is in flight. */
static enum err_code wait_for_room(struct bus_publisher *publisher, size_t cost_bytes, int64_t wait_us,
                                   struct error *err)
{
    struct bus_link *link = &publisher->link;
    bool may_wait = !pthread_equal(pthread_self(), link->thread); /* a done callback would wait for itself */
    int64_t deadline_us = clock_monotonic_us() + wait_us;
    while (!link->stopping && publisher->in_flight_bytes > 0 &&
           publisher->in_flight_bytes + cost_bytes > publisher->max_in_flight_bytes) {
        if (!may_wait || !bus_cond_wait_until(&publisher->room, &link->lock, deadline_us)) {
            return err_set(err, ERR_UNAVAILABLE, "%zu bytes wait for the broker's confirm already",
                           publisher->in_flight_bytes);
        }
    }
    return link->stopping ? err_set(err, ERR_STOPPED, "the publisher is closing") : OK;
}

static void enqueue(struct bus_publisher *publisher, struct entry *entry)
{
    entry->since_us = clock_monotonic_us();
    publisher->in_flight_bytes += entry->cost_bytes;
    *publisher->last_next = entry;
    publisher->last_next = &entry->next;
    bus_link_wake_locked(&publisher->link);
}

enum err_code bus_publisher_submit(struct bus_publisher *publisher, const struct bus_outgoing *message, int64_t wait_us,
                                   bus_done_fn *done, void *context, struct error *err)
{
    TRY(check_message(message, err));
    AUTO(free_auto) struct entry *entry = bus_outbox_entry_new(message);
    if (entry == NULL) {
        return err_no_memory(err, sizeof *entry + message->body_bytes);
    }
    entry->done = done;
    entry->context = context;
    if (entry->message.meta.published_us == 0) {
        entry->message.meta.published_us = clock_now_us();
    }
    pthread_mutex_lock(&publisher->link.lock);
    enum err_code code = wait_for_room(publisher, entry->cost_bytes, wait_us, err);
    if (code == OK) {
        enqueue(publisher, TAKE(entry));
    }
    pthread_mutex_unlock(&publisher->link.lock);
    return code;
}
