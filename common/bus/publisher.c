/* A link that publishes.
 *
 * Callers queue entries; the thread writes them, many at a time, and keeps them in the window until the broker
 * confirms. An entry is completed exactly once: by its confirm, when the connection is lost (then nobody knows whether
 * the broker has it), when it waited too long for a connection, or by close. The bytes of all entries are bounded. */
#include <string.h>

#include "common/base/clock.h"
#include "common/bus/publisher.h"

enum {
    BATCH_MESSAGES = 256, /* written before frames are read again: an alarm is heard in time */
    BATCH_BYTES = 256 * 1024,
    CONFIRM_PATIENCE_US = 30000000, /* for a confirm, before the connection counts as lost */
};

static void fail_window(struct bus_publisher *publisher, const struct error *err)
{
    struct entry *entry;
    while ((entry = bus_window_take_oldest(&publisher->window)) != NULL) {
        bus_outbox_complete(publisher, entry, err->code, err);
    }
}

/* --- the thread -------------------------------------------------------------------------------------------------- */

static enum err_code setup(void *self, struct error *err)
{
    struct bus_publisher *publisher = self;
    amqp_connection_state_t connection = publisher->link.connection;
    bus_window_restart(&publisher->window);
    publisher->in_return = false;
    TRY(bus_declare_exchange(connection, err));
    if (publisher->queue != NULL) {
        TRY(bus_declare_ladder(connection, &publisher->link.settings, err));
        TRY(bus_declare_dead(connection, publisher->queue, err));
    }
    amqp_confirm_select(connection, BUS_CHANNEL);
    return bus_reply_check(amqp_get_rpc_reply(connection), "ask for confirms", err);
}

static void confirm_entry(struct bus_publisher *publisher, struct entry *entry, bool taken)
{
    struct error err = {0};
    enum err_code code = OK;
    if (entry->returned) {
        code = err_set(&err, ERR_NOT_FOUND, "no queue takes messages for \"%s\"", entry->message.routing_key);
    } else if (!taken) {
        code = err_set(&err, ERR_CONFLICT, "the queue \"%s\" is full", entry->message.routing_key);
    }
    bus_outbox_complete(publisher, entry, code, &err);
}

static void confirm(struct bus_publisher *publisher, uint64_t tag, bool multiple, bool taken)
{
    struct entry *entry;
    if (!multiple) {
        entry = bus_window_take(&publisher->window, tag);
        if (entry != NULL) {
            confirm_entry(publisher, entry, taken);
        }
        return;
    }
    while (publisher->window.first_tag <= tag && (entry = bus_window_take_oldest(&publisher->window)) != NULL) {
        confirm_entry(publisher, entry, taken);
    }
}

static void set_blocked(struct bus_publisher *publisher, bool blocked)
{
    pthread_mutex_lock(&publisher->link.lock);
    publisher->blocked = blocked;
    pthread_mutex_unlock(&publisher->link.lock);
}

static void take_method(struct bus_publisher *publisher, const amqp_method_t *method)
{
    if (method->id == AMQP_BASIC_ACK_METHOD) {
        const amqp_basic_ack_t *ack = method->decoded;
        confirm(publisher, ack->delivery_tag, ack->multiple, true);
    } else if (method->id == AMQP_BASIC_NACK_METHOD) {
        const amqp_basic_nack_t *nack = method->decoded;
        confirm(publisher, nack->delivery_tag, nack->multiple, false);
    } else if (method->id == AMQP_BASIC_RETURN_METHOD) {
        publisher->in_return = true;
    } else if (method->id == AMQP_CONNECTION_BLOCKED_METHOD) {
        set_blocked(publisher, true);
    } else if (method->id == AMQP_CONNECTION_UNBLOCKED_METHOD) {
        set_blocked(publisher, false);
    }
}

/* A returned message comes back whole, before its ack. Its sequence header says which one it is. */
static void take_returned_header(struct bus_publisher *publisher, const amqp_basic_properties_t *properties)
{
    struct entry *entry = bus_window_peek(&publisher->window, (uint64_t)bus_meta_read(properties).sequence);
    if (entry != NULL) {
        entry->returned = true;
    }
}

static enum err_code take_frame(void *self, const amqp_frame_t *frame, struct error *err)
{
    (void)err;
    struct bus_publisher *publisher = self;
    if (frame->frame_type == AMQP_FRAME_METHOD) {
        take_method(publisher, &frame->payload.method);
    } else if (frame->frame_type == AMQP_FRAME_HEADER && publisher->in_return) {
        publisher->in_return = false;
        take_returned_header(publisher, frame->payload.properties.decoded);
    }
    return OK;
}

/* The library wants void *, and only reads. */
static void *unconst(const void *pointer)
{
    union {
        const void *in;
        void *out;
    } same = {.in = pointer};
    return same.out;
}

static enum err_code write_entry(struct bus_publisher *publisher, const struct entry *entry, uint64_t tag,
                                 struct error *err)
{
    const struct bus_outgoing *message = &entry->message;
    struct bus_meta meta = message->meta;
    meta.sequence = (int64_t)tag;
    amqp_table_entry_t entries[BUS_META_ENTRIES];
    amqp_basic_properties_t properties = {
        ._flags = AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG |
                  AMQP_BASIC_TYPE_FLAG | AMQP_BASIC_HEADERS_FLAG,
        .content_type = amqp_cstring_bytes(message->content_type),
        .delivery_mode = AMQP_DELIVERY_PERSISTENT,
        .message_id = amqp_cstring_bytes(message->message_id),
        .type = amqp_cstring_bytes(message->type),
        .headers = bus_meta_write(&meta, entries),
    };
    amqp_bytes_t body = {.len = message->body_bytes, .bytes = unconst(message->body)};
    int status = amqp_basic_publish(publisher->link.connection, BUS_CHANNEL, amqp_cstring_bytes(message->exchange),
                                    amqp_cstring_bytes(message->routing_key), 1, 0, &properties, body);
    return bus_status_check(status, "publish", err);
}

static enum err_code send_batch(struct bus_publisher *publisher, struct error *err)
{
    struct entry *entry = NULL;
    size_t bytes = 0;
    int64_t now_us = clock_monotonic_us();
    for (int i = 0; i < BATCH_MESSAGES && bytes < BATCH_BYTES; i++) {
        TRY(bus_window_reserve(&publisher->window, err));
        entry = bus_outbox_pop(publisher, INT64_MAX);
        if (entry == NULL) {
            return OK;
        }
        bytes += entry->cost_bytes;
        entry->since_us = now_us;
        /* In the window before it is written: a write that fails half-way leaves it uncertain, as any lost one. */
        uint64_t tag = bus_window_push(&publisher->window, entry);
        TRY(write_entry(publisher, entry, tag, err));
    }
    publisher->link.again = true;
    return OK;
}

static enum err_code check_patience(struct bus_publisher *publisher, struct error *err)
{
    const struct entry *oldest = bus_window_oldest(&publisher->window);
    if (oldest != NULL && oldest->since_us < clock_monotonic_us() - CONFIRM_PATIENCE_US) {
        return err_set(err, ERR_UNAVAILABLE, "the broker confirmed nothing for %d s",
                       (int)(CONFIRM_PATIENCE_US / CLOCK_SECOND_US));
    }
    return OK;
}

static bool is_blocked(struct bus_publisher *publisher)
{
    pthread_mutex_lock(&publisher->link.lock);
    bool blocked = publisher->blocked;
    pthread_mutex_unlock(&publisher->link.lock);
    return blocked;
}

static void expire_queued(void *self)
{
    struct bus_publisher *publisher = self;
    struct error err = {0}, why = {0};
    if (!bus_publisher_ready(publisher, &why)) {
        (void)err_set(&err, ERR_UNAVAILABLE, "%s", why.text);
        bus_outbox_fail(publisher, clock_monotonic_us() - BUS_QUEUE_PATIENCE_US, &err);
    }
}

static enum err_code do_round(void *self, struct error *err)
{
    struct bus_publisher *publisher = self;
    TRY(check_patience(publisher, err));
    if (bus_outbox_is_empty(publisher)) {
        return OK;
    }
    if (is_blocked(publisher)) {
        expire_queued(publisher);
        return OK;
    }
    if (!bus_link_writable(&publisher->link)) {
        publisher->link.want_write = true;
        return OK;
    }
    bus_link_cork(&publisher->link, true);
    enum err_code code = send_batch(publisher, err);
    bus_link_cork(&publisher->link, false);
    return code;
}

static void lost(void *self, const struct error *err)
{
    struct bus_publisher *publisher = self;
    struct error told = {0};
    set_blocked(publisher, false);
    (void)err_set(&told, err->code == ERR_STOPPED ? ERR_STOPPED : ERR_UNAVAILABLE, "%s", err->text);
    fail_window(publisher, &told);
    if (err->code == ERR_STOPPED) {
        bus_outbox_fail(publisher, INT64_MAX, &told);
    }
}

static const struct bus_link_role role = {
    .setup = setup, .frame = take_frame, .round = do_round, .idle = expire_queued, .lost = lost};

/* --- callers ----------------------------------------------------------------------------------------------------- */

enum err_code bus_publisher_open_for(const struct bus_settings *settings, size_t max_in_flight_bytes, const char *queue,
                                     struct bus_publisher **out, struct error *err)
{
    AUTO(bus_settings_done) struct bus_settings own = {0};
    TRY(bus_settings_copy(settings, &own, err));
    AUTO(bus_publisher_close_auto) struct bus_publisher *publisher = calloc(1, sizeof *publisher);
    if (publisher == NULL) {
        return err_no_memory(err, sizeof *publisher);
    }
    publisher->last_next = &publisher->first;
    publisher->max_in_flight_bytes = max_in_flight_bytes;
    bus_window_init(&publisher->window);
    TRY(bus_cond_init(&publisher->room, err));
    if (queue != NULL && (publisher->queue = strdup(queue)) == NULL) {
        return err_no_memory(err, strlen(queue));
    }
    TRY(bus_link_init(&publisher->link, &own, &role, publisher, err));
    TRY(bus_link_start(&publisher->link, err));
    *out = TAKE(publisher);
    return OK;
}

enum err_code bus_publisher_open(const struct bus_options *options, size_t max_in_flight_bytes,
                                 struct bus_publisher **out, struct error *err)
{
    AUTO(bus_settings_done) struct bus_settings settings = {0};
    TRY(bus_settings_parse(options, &settings, err));
    return bus_publisher_open_for(&settings, max_in_flight_bytes, NULL, out, err);
}

void bus_publisher_close(struct bus_publisher *publisher)
{
    if (publisher == NULL) {
        return;
    }
    bus_link_done(&publisher->link); /* the thread fails what is left */
    pthread_cond_destroy(&publisher->room);
    bus_window_done(&publisher->window);
    free(publisher->queue);
    free(publisher);
}

bool bus_publisher_ready(struct bus_publisher *publisher, struct error *err)
{
    if (!bus_link_ready(&publisher->link, err)) {
        return false;
    }
    if (is_blocked(publisher)) {
        (void)err_set(err, ERR_UNAVAILABLE,
                      "the broker is in alarm and takes no messages; hint: look at its disk and "
                      "memory");
        return false;
    }
    return true;
}
