#include <amqp_ssl_socket.h>
#include <amqp_tcp_socket.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "common/bus/internal.h"

/* Where Debian keeps the authorities that the system trusts. */
#define SYSTEM_CA_FILE "/etc/ssl/certs/ca-certificates.crt"

enum {
    CONNECT_TIMEOUT_S = 5,
    RPC_TIMEOUT_S = 10,
    FRAME_MAX_BYTES = 128 * 1024, /* RabbitMQ's own default */
    /* A write that the peer takes nothing of for so long is given up by the kernel: the library would wait for ever
     * when a broker in alarm stops reading. */
    WRITE_TIMEOUT_MS = 20000,
    REPLY_NOT_FOUND = 404,
    REPLY_PRECONDITION_FAILED = 406,
    REPLY_ACCESS_REFUSED = 403,
    REPLY_RESOURCE_LOCKED = 405,
    REPLY_NOT_ALLOWED = 530, /* no such vhost */
};

static enum err_code code_of_status(int status)
{
    switch (status) {
    case AMQP_STATUS_NO_MEMORY: return ERR_NO_MEMORY;
    case AMQP_STATUS_SSL_HOSTNAME_VERIFY_FAILED:
    case AMQP_STATUS_SSL_PEER_VERIFY_FAILED: return ERR_DENIED;
    default: return ERR_UNAVAILABLE;
    }
}

enum err_code bus_status_check(int status, const char *what, struct error *err)
{
    if (status == AMQP_STATUS_OK) {
        return OK;
    }
    return err_set(err, code_of_status(status), "could not %s: %s", what, amqp_error_string2(status));
}

static enum err_code closed_by_broker(uint16_t reply_code, amqp_bytes_t reply_text, const char *what, struct error *err)
{
    enum err_code code = reply_code == REPLY_NOT_FOUND                                           ? ERR_NOT_FOUND
                         : reply_code == REPLY_PRECONDITION_FAILED                               ? ERR_INVALID
                         : reply_code == REPLY_RESOURCE_LOCKED                                   ? ERR_CONFLICT
                         : reply_code == REPLY_ACCESS_REFUSED || reply_code == REPLY_NOT_ALLOWED ? ERR_DENIED
                                                                                                 : ERR_UNAVAILABLE;
    return err_set(err, code, "could not %s: the broker answered %u \"%.*s\"", what, (unsigned)reply_code,
                   (int)reply_text.len, reply_text.len == 0 ? "" : (const char *)reply_text.bytes);
}

static enum err_code check_close(const amqp_method_t *method, const char *what, struct error *err)
{
    if (method->id == AMQP_CONNECTION_CLOSE_METHOD) {
        const amqp_connection_close_t *close = method->decoded;
        return closed_by_broker(close->reply_code, close->reply_text, what, err);
    }
    if (method->id == AMQP_CHANNEL_CLOSE_METHOD) {
        const amqp_channel_close_t *close = method->decoded;
        return closed_by_broker(close->reply_code, close->reply_text, what, err);
    }
    return OK;
}

enum err_code bus_reply_check(amqp_rpc_reply_t reply, const char *what, struct error *err)
{
    switch (reply.reply_type) {
    case AMQP_RESPONSE_NORMAL: return OK;
    case AMQP_RESPONSE_LIBRARY_EXCEPTION: return bus_status_check(reply.library_error, what, err);
    case AMQP_RESPONSE_SERVER_EXCEPTION: TRY(check_close(&reply.reply, what, err)); break;
    case AMQP_RESPONSE_NONE: break;
    }
    return err_set(err, ERR_UNAVAILABLE, "could not %s: the broker's answer was lost", what);
}

enum err_code bus_frame_check(const amqp_frame_t *frame, struct error *err)
{
    return frame->frame_type == AMQP_FRAME_METHOD ? check_close(&frame->payload.method, "stay connected", err) : OK;
}

static enum err_code open_tls(amqp_connection_state_t connection, const char *ca_file, amqp_socket_t **out,
                              struct error *err)
{
    amqp_socket_t *socket = amqp_ssl_socket_new(connection); /* the connection owns it */
    if (socket == NULL) {
        return err_no_memory(err, 0);
    }
    amqp_ssl_socket_set_verify_peer(socket, 1);
    amqp_ssl_socket_set_verify_hostname(socket, 1);
    TRY(bus_status_check(amqp_ssl_socket_set_ssl_versions(socket, AMQP_TLSv1_2, AMQP_TLSvLATEST), "ask for TLS 1.2",
                         err));
    const char *file = ca_file[0] == '\0' ? SYSTEM_CA_FILE : ca_file;
    if (amqp_ssl_socket_set_cacert(socket, file) != AMQP_STATUS_OK) {
        return err_set(err, ERR_INVALID, "could not read authorities from \"%s\"", file);
    }
    *out = socket;
    return OK;
}

static enum err_code open_socket(amqp_connection_state_t connection, const struct bus_settings *settings,
                                 struct error *err)
{
    amqp_socket_t *socket = NULL;
    if (settings->tls) {
        TRY(open_tls(connection, settings->ca_file, &socket, err));
    } else if ((socket = amqp_tcp_socket_new(connection)) == NULL) {
        return err_no_memory(err, 0);
    }
    struct timeval timeout = {.tv_sec = CONNECT_TIMEOUT_S};
    int status = amqp_socket_open_noblock(socket, settings->host, settings->port, &timeout);
    if (status != AMQP_STATUS_OK) {
        return err_set(err, code_of_status(status), "could not connect to the broker at \"%s\" port %d: %s",
                       settings->host, settings->port, amqp_error_string2(status));
    }
    const unsigned write_timeout_ms = WRITE_TIMEOUT_MS;
    const int on = 1;
    int fd = amqp_get_sockfd(connection);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &write_timeout_ms, sizeof write_timeout_ms);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    return OK;
}

static amqp_table_entry_t capability(const char *name)
{
    return (amqp_table_entry_t){.key = amqp_cstring_bytes(name),
                                .value = {.kind = AMQP_FIELD_KIND_BOOLEAN, .value.boolean = 1}};
}

/* The broker tells of a vanished queue, an alarm, a nack and a wrong password only to clients that say they know of
 * such messages. */
static enum err_code log_in(amqp_connection_state_t connection, const struct bus_settings *settings, int heartbeat_s,
                            struct error *err)
{
    amqp_table_entry_t capabilities[] = {
        capability("consumer_cancel_notify"), capability("connection.blocked"),           capability("basic.nack"),
        capability("publisher_confirms"),     capability("authentication_failure_close"),
    };
    amqp_table_entry_t properties[] = {
        {.key = amqp_cstring_bytes("connection_name"),
         .value = {.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = amqp_cstring_bytes(settings->client_name)}},
        {.key = amqp_cstring_bytes("capabilities"),
         .value = {.kind = AMQP_FIELD_KIND_TABLE,
                   .value.table = {.num_entries = sizeof capabilities / sizeof *capabilities,
                                   .entries = capabilities}}},
    };
    const amqp_table_t table = {.num_entries = sizeof properties / sizeof *properties, .entries = properties};
    return bus_reply_check(amqp_login_with_properties(connection, settings->vhost, 0, FRAME_MAX_BYTES, heartbeat_s,
                                                      &table, AMQP_SASL_METHOD_PLAIN, settings->user,
                                                      settings->password),
                           "log in at the broker", err);
}

static void drop_auto(amqp_connection_state_t *connection)
{
    bus_drop_connection(*connection);
}

enum err_code bus_connect(const struct bus_settings *settings, int heartbeat_s, amqp_connection_state_t *out,
                          struct error *err)
{
    AUTO(drop_auto) amqp_connection_state_t connection = amqp_new_connection();
    if (connection == NULL) {
        return err_no_memory(err, 0);
    }
    struct timeval handshake = {.tv_sec = CONNECT_TIMEOUT_S}, rpc = {.tv_sec = RPC_TIMEOUT_S};
    TRY(bus_status_check(amqp_set_handshake_timeout(connection, &handshake), "set the handshake's time-out", err));
    TRY(bus_status_check(amqp_set_rpc_timeout(connection, &rpc), "set the calls' time-out", err));
    TRY(open_socket(connection, settings, err));
    TRY(log_in(connection, settings, heartbeat_s, err));
    amqp_channel_open(connection, BUS_CHANNEL);
    TRY(bus_reply_check(amqp_get_rpc_reply(connection), "open a channel", err));
    *out = TAKE(connection);
    return OK;
}

void bus_drop_connection(amqp_connection_state_t connection)
{
    if (connection != NULL) {
        amqp_destroy_connection(connection);
    }
}

void bus_disconnect(amqp_connection_state_t connection)
{
    if (connection != NULL) {
        amqp_connection_close(connection, AMQP_REPLY_SUCCESS);
        amqp_destroy_connection(connection);
    }
}

void bus_disconnect_auto(amqp_connection_state_t *connection)
{
    bus_disconnect(*connection);
}
