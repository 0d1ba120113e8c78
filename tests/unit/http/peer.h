/* A server with routes that do what the tests need, and two ways to ask it: common/net, and a bare socket for what no
 * decent client would send. */
#ifndef GRANARY_TESTS_UNIT_HTTP_PEER_H
#define GRANARY_TESTS_UNIT_HTTP_PEER_H

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/digest/digest.h"
#include "common/http/http.h"
#include "common/net/net.h"

#define UNUSED __attribute__((unused))

enum { STREAM_PIECES = 100, STREAM_PIECE_BYTES = 10000, BODY_LIMIT = 1000, ROWS_LIMIT = 8 << 20 };

/* What the handlers leave for the tests. Guarded by lock. */
struct peer {
    struct http_server *server;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int states;   /* begun and not ended, of bodies and streams */
    int arrivals; /* handlers of "later" and "gate" that were reached */
    struct http_request *later;
    bool gate_open;
    int faults; /* of the tokens file */
    char dir[64];
    char tokens_file[96];
};

static struct peer peer = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void peer_change(int *number, int by)
{
    (void)pthread_mutex_lock(&peer.lock);
    *number += by;
    (void)pthread_cond_broadcast(&peer.changed);
    (void)pthread_mutex_unlock(&peer.lock);
}

/* Waits until *number is what is wanted; fails the test after 20 s. */
UNUSED static void peer_wait_for(const int *number, int wanted)
{
    struct timespec deadline = {.tv_sec = time(NULL) + 20};
    (void)pthread_mutex_lock(&peer.lock);
    while (*number != wanted && pthread_cond_timedwait(&peer.changed, &peer.lock, &deadline) == 0) {
    }
    int seen = *number;
    (void)pthread_mutex_unlock(&peer.lock);
    assert_int_equal(seen, wanted);
}

/* --- handlers ---------------------------------------------------------------------------------------------------- */

static enum err_code answer_open(void *context, struct http_request *request, struct error *err)
{
    (void)context;
    return http_reply(request, 200, "text/plain", "open", 4, err);
}

static enum err_code answer_echo(void *context, struct http_request *request, struct error *err)
{
    (void)context;
    const char *q = http_query(request, "q");
    const char *text = arena_printf(http_arena(request), "%s|%s|%s|%s|%s", http_path(request, "a"),
                                    http_path(request, "b"), q == NULL ? "(none)" : q, http_principal(request),
                                    http_has_role(request, HTTP_ROLE_WRITE) ? "writer" : "no writer");
    return text == NULL ? err_no_memory(err, 1) : http_reply(request, 200, "text/plain", text, strlen(text), err);
}

static enum err_code answer_body(void *context, struct http_request *request, struct error *err)
{
    (void)context;
    size_t length;
    const char *body = http_body(request, &length);
    assert(body[length] == '\0');
    http_set_header(request, "X-Seen", "once");
    http_set_header(request, "X-Seen", "twice");
    return http_reply(request, 201, "text/plain", body, length, err);
}

static enum err_code answer_fail(void *context, struct http_request *request, struct error *err)
{
    (void)context;
    int64_t code = 0;
    TRY(text_parse_i64(http_path(request, "code"), 0, ERR_COUNT, "a code", &code, err));
    if (code == OK) {
        return OK; /* without an answer */
    }
    TRY(http_reply_json(request, 200, "{\"begun\":true}", err));
    return err_set(err, (enum err_code)code, "could not \"x\"\n; hint: try y");
}

struct rows {
    size_t bytes;
};

static enum err_code rows_begin(void *context, struct http_request *request, void **out, struct error *err)
{
    (void)context;
    if (strcmp(http_path(request, "table"), "refused") == 0) {
        http_set_error_status(request, 422);
        http_set_header(request, "Retry-After", "7");
        return err_set(err, ERR_INVALID, "not this table");
    }
    struct rows *rows = calloc(1, sizeof *rows);
    if (rows == NULL) {
        return err_no_memory(err, sizeof *rows);
    }
    peer_change(&peer.states, 1);
    *out = rows;
    return OK;
}

static enum err_code rows_body(void *context, void *state, const void *data, size_t length, struct error *err)
{
    (void)context;
    struct rows *rows = state;
    rows->bytes += length;
    return memchr(data, '!', length) == NULL ? OK : err_set(err, ERR_CORRUPT, "found a \"!\"");
}

/* Blocks until the gate opens. */
static enum err_code gated_body(void *context, void *state, const void *data, size_t length, struct error *err)
{
    peer_change(&peer.arrivals, 1);
    (void)pthread_mutex_lock(&peer.lock);
    while (!peer.gate_open) {
        (void)pthread_cond_wait(&peer.changed, &peer.lock);
    }
    (void)pthread_mutex_unlock(&peer.lock);
    return rows_body(context, state, data, length, err);
}

static void rows_end(void *context, void *state)
{
    (void)context;
    free(state);
    peer_change(&peer.states, -1);
}

static enum err_code answer_rows(void *context, struct http_request *request, struct error *err)
{
    (void)context;
    const struct rows *rows = http_state(request);
    const char *json = arena_printf(http_arena(request), "{\"bytes\":%zu}", rows->bytes);
    return json == NULL ? err_no_memory(err, 1) : http_reply_json(request, 202, json, err);
}

/* Answered when the test says so: peer.later. */
static enum err_code answer_later(void *context, struct http_request *request, struct error *err)
{
    (void)context;
    (void)err;
    http_suspend(request);
    (void)pthread_mutex_lock(&peer.lock);
    peer.later = request;
    (void)pthread_mutex_unlock(&peer.lock);
    peer_change(&peer.arrivals, 1);
    return OK;
}

static enum err_code answer_now(void *context, struct http_request *request, struct error *err)
{
    (void)context;
    (void)err;
    http_suspend(request);
    http_complete(request, 200, "{\"now\":true}", OK, NULL);
    return OK;
}

/* Blocks until the gate opens. */
static enum err_code answer_gate(void *context, struct http_request *request, struct error *err)
{
    (void)context;
    peer_change(&peer.arrivals, 1);
    (void)pthread_mutex_lock(&peer.lock);
    while (!peer.gate_open) {
        (void)pthread_cond_wait(&peer.changed, &peer.lock);
    }
    (void)pthread_mutex_unlock(&peer.lock);
    return http_reply_json(request, 200, "{\"gate\":true}", err);
}

struct pieces {
    int left;
    bool cut;
};

static enum err_code fill_pieces(void *state, struct buf *out, bool *done, struct error *err)
{
    struct pieces *pieces = state;
    if (pieces->cut && pieces->left == STREAM_PIECES / 2) {
        return err_set(err, ERR_UNAVAILABLE, "lost the source");
    }
    TRY(buf_reserve(out, STREAM_PIECE_BYTES, err));
    memset(out->data + out->length_bytes, 'a' + pieces->left % 26, STREAM_PIECE_BYTES);
    out->length_bytes += STREAM_PIECE_BYTES;
    *done = --pieces->left == 0;
    return OK;
}

static void free_pieces(void *state)
{
    free(state);
    peer_change(&peer.states, -1);
}

static enum err_code answer_stream(void *context, struct http_request *request, struct error *err)
{
    (void)context;
    struct pieces *pieces = calloc(1, sizeof *pieces);
    if (pieces == NULL) {
        return err_no_memory(err, sizeof *pieces);
    }
    peer_change(&peer.states, 1);
    *pieces = (struct pieces){.left = STREAM_PIECES, .cut = strcmp(http_path(request, "kind"), "cut") == 0};
    return http_reply_stream(request, 200, "text/plain", fill_pieces, free_pieces, pieces, err);
}

static enum err_code answer_id(void *context, struct http_request *request, struct error *err)
{
    (void)context;
    const char *id = http_request_id(request);
    return http_reply(request, 200, "text/plain", id, strlen(id), err);
}

static char route_context[] = "of the route";

static enum err_code answer_context(void *context, struct http_request *request, struct error *err)
{
    return http_reply(request, 200, "text/plain", context, strlen(context), err);
}

static const struct http_route peer_routes[] = {
    {"GET", "/open", HTTP_ROLE_NONE, 0, answer_open, NULL, NULL, NULL, false, NULL},
    {"PUT", "/open", HTTP_ROLE_NONE, 10, answer_open, NULL, NULL, NULL, false, NULL},
    {"GET", "/echo/{a}/x/{b}", HTTP_ROLE_NONE, 0, answer_echo, NULL, NULL, NULL, false, NULL},
    {"GET", "/read/{a}/{b}", HTTP_ROLE_READ, 0, answer_echo, NULL, NULL, NULL, false, NULL},
    {"POST", "/operate/{a}/{b}", HTTP_ROLE_OPERATE, 0, answer_echo, NULL, NULL, NULL, false, NULL},
    {"POST", "/body", HTTP_ROLE_NONE, BODY_LIMIT, answer_body, NULL, NULL, NULL, false, NULL},
    {"POST", "/blocking-body", HTTP_ROLE_NONE, BODY_LIMIT, answer_body, NULL, NULL, NULL, true, NULL},
    {"POST", "/rows/{table}", HTTP_ROLE_NONE, ROWS_LIMIT, answer_rows, rows_begin, rows_body, rows_end, false, NULL},
    {"POST", "/blocking-rows/{table}", HTTP_ROLE_NONE, ROWS_LIMIT, answer_rows, rows_begin, rows_body, rows_end, true,
     NULL},
    {"POST", "/gated-rows/{table}", HTTP_ROLE_NONE, ROWS_LIMIT, answer_rows, rows_begin, gated_body, rows_end, true,
     NULL},
    {"GET", "/context", HTTP_ROLE_NONE, 0, answer_context, NULL, NULL, NULL, false, route_context},
    {"POST", "/later/{table}", HTTP_ROLE_NONE, ROWS_LIMIT, answer_later, rows_begin, rows_body, rows_end, false, NULL},
    {"POST", "/blocking-later/{table}", HTTP_ROLE_NONE, ROWS_LIMIT, answer_later, rows_begin, rows_body, rows_end, true,
     NULL},
    {"GET", "/now", HTTP_ROLE_NONE, 0, answer_now, NULL, NULL, NULL, false, NULL},
    {"GET", "/blocking-now", HTTP_ROLE_NONE, 0, answer_now, NULL, NULL, NULL, true, NULL},
    {"POST", "/gate/{table}", HTTP_ROLE_NONE, ROWS_LIMIT, answer_gate, rows_begin, rows_body, rows_end, true, NULL},
    {"GET", "/fail/{code}", HTTP_ROLE_NONE, 0, answer_fail, NULL, NULL, NULL, false, NULL},
    {"GET", "/stream/{kind}", HTTP_ROLE_NONE, 0, answer_stream, NULL, NULL, NULL, false, NULL},
    {"GET", "/blocking-stream/{kind}", HTTP_ROLE_NONE, 0, answer_stream, NULL, NULL, NULL, true, NULL},
    {"GET", "/id", HTTP_ROLE_NONE, 0, answer_id, NULL, NULL, NULL, false, NULL},
};
enum { PEER_ROUTES = sizeof peer_routes / sizeof *peer_routes };

/* --- set-up ------------------------------------------------------------------------------------------------------ */

UNUSED static void peer_write_file(const char *path, const char *text)
{
    char next[128];
    (void)snprintf(next, sizeof next, "%s.next", path);
    FILE *file = fopen(next, "w");
    assert_non_null(file);
    assert_int_equal(fputs(text, file) >= 0, 1);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rename(next, path), 0);
}

/* A line of the tokens file. */
UNUSED static void peer_token_line(struct buf *out, const char *name, const char *token, const char *roles)
{
    uint8_t sha256[DIGEST_SHA256_BYTES];
    char hex[DIGEST_SHA256_TEXT_BYTES];
    digest_sha256(token, strlen(token), sha256);
    text_hex_encode(sha256, sizeof sha256, hex);
    assert_int_equal(buf_printf(out, NULL, "{\"name\":\"%s\",\"sha256\":\"%s\",\"roles\":[%s]}\n", name, hex, roles),
                     OK);
}

static void peer_note_fault(const struct error *fault)
{
    (void)fault;
    peer_change(&peer.faults, 1);
}

static int peer_open_with(const struct http_options *extra)
{
    struct error err;
    struct http_options options = *extra;
    peer.states = peer.arrivals = peer.faults = 0;
    peer.gate_open = false;
    options.listen = "127.0.0.1:0";
    options.tokens_file = peer.tokens_file;
    options.on_tokens_fault = peer_note_fault;
    if (http_server_open(&options, peer_routes, PEER_ROUTES, NULL, &peer.server, &err) != OK) {
        print_error("%s\n", err.text);
        return -1;
    }
    return 0;
}

UNUSED static int peer_setup(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    (void)snprintf(peer.dir, sizeof peer.dir, "%.40s/granary-http-XXXXXX", base == NULL ? P_tmpdir : base);
    if (mkdtemp(peer.dir) == NULL) {
        return -1;
    }
    (void)snprintf(peer.tokens_file, sizeof peer.tokens_file, "%s/tokens", peer.dir);
    AUTO(buf_done) struct buf tokens = {0};
    peer_token_line(&tokens, "reader", "r-secret", "\"read\"");
    peer_token_line(&tokens, "operator", "o-secret", "\"operate\",\"write\"");
    peer_write_file(peer.tokens_file, buf_text(&tokens));
    return peer_open_with(&(struct http_options){.event_threads = 2, .worker_threads = 2});
}

/* Nothing that was begun may be left. */
UNUSED static int peer_teardown(void **state)
{
    (void)state;
    http_server_close(peer.server);
    peer.server = NULL;
    (void)unlink(peer.tokens_file);
    (void)rmdir(peer.dir);
    return peer.states == 0 ? 0 : -1;
}

/* --- asking ------------------------------------------------------------------------------------------------------ */

UNUSED static struct net_answer peer_ask(const char *method, const char *path, const char *token, const void *body,
                                         size_t length)
{
    AUTO(net_client_close_auto) struct net_client *client = NULL;
    struct error err = {0};
    struct net_answer answer = {0};
    char url[256];
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u%s", http_server_port(peer.server), path);
    assert_int_equal(net_client_open(&(struct net_client_options){.bearer_token = token}, &client, &err), OK);
    struct net_request request = {
        .method = method, .url = url, .body = body, .body_bytes = length, .timeout_us = 30000000};
    enum err_code code = net_send(client, &request, &answer, &err);
    if (code != OK) {
        print_error("%s %s: %s\n", method, path, err.text);
    }
    assert_int_equal(code, OK);
    return answer;
}

UNUSED static int peer_connect(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(http_server_port(peer.server))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    struct timeval patience = {.tv_sec = 20};
    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

UNUSED static void peer_send(int fd, const char *text)
{
    size_t length = strlen(text);
    assert_int_equal(send(fd, text, length, MSG_NOSIGNAL), length);
}

/* Everything until the server closes. */
UNUSED static const char *peer_receive_all(int fd, struct buf *out)
{
    ssize_t got;
    do {
        assert_int_equal(buf_reserve(out, 65536, NULL), OK);
        got = recv(fd, out->data + out->length_bytes, 65536, 0);
        assert_true(got >= 0);
        out->length_bytes += (size_t)got;
    } while (got > 0);
    return buf_text(out);
}

/* The whole answer, with its headers, to a request that is sent as it stands. */
UNUSED static const char *peer_exchange(const char *text, struct buf *out)
{
    int fd = peer_connect();
    peer_send(fd, text);
    const char *answer = peer_receive_all(fd, out);
    (void)close(fd);
    return answer;
}

#endif
