#include "common/bus/internal.h"

enum err_code bus_queue_inspect(const struct bus_options *options, const char *queue, struct bus_queue_depth *out,
                                struct error *err)
{
    TRY(bus_name_check(queue, "a queue's name", err));
    AUTO(bus_settings_done) struct bus_settings settings = {0};
    TRY(bus_settings_parse(options, &settings, err));
    AUTO(bus_disconnect_auto) amqp_connection_state_t connection = NULL;
    TRY(bus_connect(&settings, BUS_HEARTBEAT_S, &connection, err));
    const amqp_queue_declare_ok_t *answer =
        amqp_queue_declare(connection, BUS_CHANNEL, amqp_cstring_bytes(queue), 1, 0, 0, 0, amqp_empty_table);
    struct error why = {0};
    enum err_code code = bus_reply_check(amqp_get_rpc_reply(connection), "inspect a queue", &why);
    if (code == ERR_NOT_FOUND) {
        *out = (struct bus_queue_depth){.exists = false};
        return OK;
    }
    if (code != OK || answer == NULL) {
        return err_set(err, code == OK ? ERR_UNAVAILABLE : code, "%s", why.text);
    }
    *out = (struct bus_queue_depth){
        .exists = true, .messages = answer->message_count, .consumers = answer->consumer_count};
    return OK;
}
