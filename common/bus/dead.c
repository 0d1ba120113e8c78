/* Looks through a queue of dead letters, one message at a time, with basic.get: nothing is acknowledged before it was
 * dropped or its replay was confirmed. Messages that stay are held until the end and given back by closing the
 * connection; a quorum queue puts them back in front, in their order. */
#include <string.h>

#include "common/bus/internal.h"

enum {
    REPLAY_TIMEOUT_US = 10000000,
    REPLAY_IN_FLIGHT_BYTES = 2 * BUS_MAX_MESSAGE_BYTES,
};

struct visit {
    struct bus_settings settings;
    const char *dead_queue;
    char *home; /* the queue that dead_queue belongs to */
    amqp_connection_state_t connection;
    struct bus_publisher *publisher; /* opened with the first replay */
    bus_dead_visitor *visitor;
    void *context;
};

static void visit_done(struct visit *visit)
{
    bus_publisher_close(visit->publisher);
    bus_disconnect(visit->connection);
    bus_settings_done(&visit->settings);
    free(visit->home);
}

/* What the visitor sees, and what a replay needs. The texts are in `storage`. */
struct letter {
    struct bus_dead_message message;
    const char *content_type;
    int64_t published_us;
    uint64_t tag;
    char *storage;          /* owned */
    amqp_message_t content; /* owned */
    bool has_content;
};

static void letter_done(struct letter *letter)
{
    if (letter->has_content) {
        amqp_destroy_message(&letter->content);
    }
    free(letter->storage);
}

static enum err_code visit_begin(struct visit *visit, const struct bus_options *options, struct error *err)
{
    size_t length = strlen(visit->dead_queue), suffix = strlen(BUS_DEAD_SUFFIX);
    if (length <= suffix || strcmp(visit->dead_queue + length - suffix, BUS_DEAD_SUFFIX) != 0) {
        return err_set(err, ERR_INVALID, "expected a queue named \"....dead\" but found \"%s\"", visit->dead_queue);
    }
    if ((visit->home = strndup(visit->dead_queue, length - suffix)) == NULL) {
        return err_no_memory(err, length);
    }
    TRY(bus_name_check(visit->home, "a queue's name", err));
    TRY(bus_settings_parse(options, &visit->settings, err));
    return bus_connect(&visit->settings, BUS_VISIT_HEARTBEAT_S, &visit->connection, err);
}

static enum err_code count_messages(struct visit *visit, size_t *out, struct error *err)
{
    const amqp_queue_declare_ok_t *answer = amqp_queue_declare(
        visit->connection, BUS_CHANNEL, amqp_cstring_bytes(visit->dead_queue), 1, 0, 0, 0, amqp_empty_table);
    TRY(bus_reply_check(amqp_get_rpc_reply(visit->connection), "look at the dead letters", err));
    *out = answer == NULL ? 0 : answer->message_count;
    return OK;
}

/* Where the message came from, and why: our headers say it; else the broker dead-lettered it and its own say it. */
static enum err_code describe(struct visit *visit, struct letter *letter, struct error *err)
{
    const amqp_basic_properties_t *properties = &letter->content.properties;
    struct bus_meta meta = bus_meta_read(properties);
    bool ours = meta.queue.len > 0;
    amqp_bytes_t home = amqp_cstring_bytes(visit->home);
    amqp_bytes_t texts[] = {
        ours                       ? meta.queue
        : meta.death_queue.len > 0 ? meta.death_queue
                                   : home,
        ours ? meta.reason : meta.death_reason,
        bus_property(properties, AMQP_BASIC_TYPE_FLAG, properties->type),
        bus_property(properties, AMQP_BASIC_MESSAGE_ID_FLAG, properties->message_id),
        bus_property(properties, AMQP_BASIC_CONTENT_TYPE_FLAG, properties->content_type),
    };
    size_t bytes = 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        bytes += texts[i].len + 1;
    }
    if ((letter->storage = malloc(bytes)) == NULL) {
        return err_no_memory(err, bytes);
    }
    char *cursor = letter->storage;
    letter->message.queue = bus_text_take(&cursor, texts[0]);
    letter->message.reason = bus_text_take(&cursor, texts[1]);
    letter->message.type = bus_text_take(&cursor, texts[2]);
    letter->message.message_id = bus_text_take(&cursor, texts[3]);
    letter->content_type = bus_text_take(&cursor, texts[4]);
    letter->message.body = letter->content.body.bytes;
    letter->message.body_bytes = letter->content.body.len;
    letter->message.dead_at_us = ours ? meta.dead_us : 0;
    letter->published_us = meta.published_us;
    return OK;
}

/* *found is false when the queue is empty. */
static enum err_code fetch(struct visit *visit, struct letter *letter, bool *found, struct error *err)
{
    amqp_maybe_release_buffers(visit->connection);
    amqp_rpc_reply_t reply = amqp_basic_get(visit->connection, BUS_CHANNEL, amqp_cstring_bytes(visit->dead_queue), 0);
    TRY(bus_reply_check(reply, "get a dead letter", err));
    *found = reply.reply.id == AMQP_BASIC_GET_OK_METHOD;
    if (!*found) {
        return OK;
    }
    letter->tag = ((const amqp_basic_get_ok_t *)reply.reply.decoded)->delivery_tag;
    reply = amqp_read_message(visit->connection, BUS_CHANNEL, &letter->content, 0);
    TRY(bus_reply_check(reply, "read a dead letter", err));
    letter->has_content = true;
    return describe(visit, letter, err);
}

/* Back to where it came from, with its first publishing time: what dates it must not grow younger. */
static enum err_code replay(struct visit *visit, const struct letter *letter, struct error *err)
{
    if (visit->publisher == NULL) {
        TRY(bus_publisher_open_for(&visit->settings, REPLAY_IN_FLIGHT_BYTES, NULL, &visit->publisher, err));
    }
    struct bus_outgoing outgoing = {
        .exchange = BUS_EXCHANGE,
        .routing_key = letter->message.queue,
        .content_type = letter->content_type,
        .type = letter->message.type,
        .message_id = letter->message.message_id,
        .body = letter->message.body,
        .body_bytes = letter->message.body_bytes,
        .meta = {.published_us = letter->published_us},
    };
    return bus_publisher_send(visit->publisher, &outgoing, REPLAY_TIMEOUT_US, err);
}

static enum err_code visit_one(struct visit *visit, bool *found, struct error *err)
{
    AUTO(letter_done) struct letter letter = {0};
    TRY(fetch(visit, &letter, found, err));
    if (!*found) {
        return OK;
    }
    switch (visit->visitor(visit->context, &letter.message)) {
    case BUS_DEAD_KEEP: return OK;
    case BUS_DEAD_REPLAY: TRY(replay(visit, &letter, err)); break;
    case BUS_DEAD_DROP: break;
    }
    return bus_status_check(amqp_basic_ack(visit->connection, BUS_CHANNEL, letter.tag, 0), "remove a dead letter", err);
}

/* All that was kept, at once; the question behind it is answered when the broker has taken it, so that who looks next finds
 * them in the queue. */
static enum err_code give_back(struct visit *visit, struct error *err)
{
    enum { ALL_UNSETTLED = 0 };
    size_t left;
    TRY(bus_status_check(amqp_basic_nack(visit->connection, BUS_CHANNEL, ALL_UNSETTLED, 1, 1),
                         "give kept dead letters back", err));
    return count_messages(visit, &left, err);
}

enum err_code bus_dead_visit(const struct bus_options *options, const char *dead_queue, size_t max,
                             bus_dead_visitor *visitor, void *context, size_t *out_visited, struct error *err)
{
    AUTO(visit_done) struct visit visit = {.dead_queue = dead_queue, .visitor = visitor, .context = context};
    size_t left;
    TRY(visit_begin(&visit, options, err));
    TRY(count_messages(&visit, &left, err)); /* those that come in meanwhile are for the next visit */
    left = left < max ? left : max;
    size_t visited = 0;
    bool found = true;
    while (left-- > 0 && found) {
        TRY(visit_one(&visit, &found, err));
        visited += found;
    }
    TRY(give_back(&visit, err));
    *out_visited = visited;
    return OK;
}
