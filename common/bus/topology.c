#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/bus/internal.h"

enum { MAX_ARGUMENTS = 10, DELIVERY_LIMIT = 20 };

struct arguments {
    amqp_table_entry_t entries[MAX_ARGUMENTS];
    int count;
};

static void add_text(struct arguments *arguments, const char *key, const char *value)
{
    arguments->entries[arguments->count++] =
        (amqp_table_entry_t){.key = amqp_cstring_bytes(key),
                             .value = {.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = amqp_cstring_bytes(value)}};
}

static void add_number(struct arguments *arguments, const char *key, int64_t value)
{
    arguments->entries[arguments->count++] = (amqp_table_entry_t){
        .key = amqp_cstring_bytes(key), .value = {.kind = AMQP_FIELD_KIND_I64, .value.i64 = value}};
}

/* At-least-once: the queue keeps the message until the next one has confirmed it. It asks for reject-publish. */
static void add_dead_lettering(struct arguments *arguments)
{
    add_text(arguments, "x-overflow", "reject-publish");
    add_text(arguments, "x-dead-letter-exchange", BUS_EXCHANGE);
    add_text(arguments, "x-dead-letter-strategy", "at-least-once");
}

static enum err_code declare_exchange(amqp_connection_state_t connection, const char *name, const char *type,
                                      struct error *err)
{
    char what[BUS_NAME_MAX_BYTES + 64];
    (void)snprintf(what, sizeof what, "declare exchange \"%s\"", name);
    amqp_exchange_declare(connection, BUS_CHANNEL, amqp_cstring_bytes(name), amqp_cstring_bytes(type), 0, 1, 0, 0,
                          amqp_empty_table);
    return bus_reply_check(amqp_get_rpc_reply(connection), what, err);
}

static enum err_code declare_queue(amqp_connection_state_t connection, const char *name, struct arguments *arguments,
                                   const char *exchange, struct error *err)
{
    char what[BUS_NAME_MAX_BYTES + 64];
    (void)snprintf(what, sizeof what, "declare queue \"%s\"", name);
    add_text(arguments, "x-queue-type", "quorum");
    amqp_table_t table = {.num_entries = arguments->count, .entries = arguments->entries};
    amqp_queue_declare(connection, BUS_CHANNEL, amqp_cstring_bytes(name), 0, 1, 0, 0, table);
    TRY(bus_reply_check(amqp_get_rpc_reply(connection), what, err));
    amqp_queue_bind(connection, BUS_CHANNEL, amqp_cstring_bytes(name), amqp_cstring_bytes(exchange),
                    amqp_cstring_bytes(name), amqp_empty_table);
    return bus_reply_check(amqp_get_rpc_reply(connection), what, err);
}

unsigned bus_ladder_step(uint32_t attempt)
{
    return attempt < BUS_LADDER_STEPS ? attempt : BUS_LADDER_STEPS - 1;
}

/* The name tells the delay: another ladder in the settings makes other queues, and the old ones drain by themselves. */
char *bus_ladder_name(const struct bus_settings *settings, unsigned step, char name[BUS_LADDER_NAME_BYTES])
{
    char delay[CLOCK_TEXT_BYTES];
    (void)snprintf(name, BUS_LADDER_NAME_BYTES, BUS_EXCHANGE ".delay.%s",
                   clock_format_duration(settings->delays_us[step], delay));
    return name;
}

enum err_code bus_declare_exchange(amqp_connection_state_t connection, struct error *err)
{
    return declare_exchange(connection, BUS_EXCHANGE, "direct", err);
}

enum err_code bus_declare_ladder(amqp_connection_state_t connection, const struct bus_settings *settings,
                                 struct error *err)
{
    for (unsigned step = 0; step < BUS_LADDER_STEPS; step++) {
        char name[BUS_LADDER_NAME_BYTES];
        bus_ladder_name(settings, step, name);
        TRY(declare_exchange(connection, name, "fanout", err));
        struct arguments arguments = {0};
        add_dead_lettering(&arguments); /* no routing key: the message keeps its own, which is its work queue */
        add_number(&arguments, "x-message-ttl", settings->delays_us[step] / 1000);
        TRY(declare_queue(connection, name, &arguments, name, err));
    }
    return OK;
}

static char *dead_name(const char *queue, char name[BUS_NAME_MAX_BYTES + 1])
{
    (void)snprintf(name, BUS_NAME_MAX_BYTES + 1, "%s" BUS_DEAD_SUFFIX, queue);
    return name;
}

enum err_code bus_declare_dead(amqp_connection_state_t connection, const char *queue, struct error *err)
{
    char name[BUS_NAME_MAX_BYTES + 1];
    struct arguments arguments = {0};
    return declare_queue(connection, dead_name(queue, name), &arguments, BUS_EXCHANGE, err);
}

static enum err_code declare_work(amqp_connection_state_t connection, const struct bus_queue_spec *spec,
                                  struct error *err)
{
    char dead[BUS_NAME_MAX_BYTES + 1];
    struct arguments arguments = {0};
    add_dead_lettering(&arguments);
    add_text(&arguments, "x-dead-letter-routing-key", dead_name(spec->name, dead));
    if (spec->max_length > 0) {
        add_number(&arguments, "x-max-length", spec->max_length);
    }
    if (spec->max_length_bytes > 0) {
        add_number(&arguments, "x-max-length-bytes", spec->max_length_bytes);
    }
    if (!spec->unlimited_delivery) {
        add_number(&arguments, "x-delivery-limit", DELIVERY_LIMIT);
    }
    return declare_queue(connection, spec->name, &arguments, BUS_EXCHANGE, err);
}

enum err_code bus_declare(const struct bus_options *options, const struct bus_queue_spec *queues, size_t count,
                          struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        TRY(bus_name_check(queues[i].name, "a queue's name", err));
    }
    AUTO(bus_settings_done) struct bus_settings settings = {0};
    TRY(bus_settings_parse(options, &settings, err));
    AUTO(bus_disconnect_auto) amqp_connection_state_t connection = NULL;
    TRY(bus_connect(&settings, BUS_HEARTBEAT_S, &connection, err));
    TRY(bus_declare_exchange(connection, err));
    TRY(bus_declare_ladder(connection, &settings, err));
    for (size_t i = 0; i < count; i++) {
        TRY(bus_declare_dead(connection, queues[i].name, err)); /* first: the queue's dead letters need it */
        TRY(declare_work(connection, &queues[i], err));
    }
    return OK;
}
