/* The life of a request. libmicrohttpd calls http_on_request once with the headers, once for each piece of the body, and
 * once at the end, where the answer is given; when that call suspends the connection, it comes again after the resume.
 *
 * An answer can be given before the body or after it, not in between. A refused request's body is therefore read and
 * dropped, up to a bound, so that the client gets to see the answer and the connection stays usable; when the client
 * announces a larger body, or waits with it (Expect: 100-continue), the answer is given at once.
 *
 * The body of a blocking route that takes it piece by piece is gathered; what has gathered goes to the pool while the
 * connection is suspended. The bytes that find no room are left with the library, which brings them again after the
 * resume: were they taken, it might go on with the next chunk although the connection is suspended. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/http/internal.h"

enum { MOST_DISCARDED_BYTES = 64 << 20, PIECE_BYTES = 256 << 10 };

/* --- birth and end ----------------------------------------------------------------------------------------------- */

void http_request_release(struct http_request *request)
{
    if (atomic_fetch_sub(&request->references, 1) != 1) {
        return;
    }
    if (request->begun && request->match.route->end != NULL) {
        request->match.route->end(request->match.context, request->state);
    }
    buf_done(&request->body);
    arena_free(request->arena);
    free(request);
}

static struct http_request *new_request(struct http_server *server, struct MHD_Connection *connection)
{
    struct http_request *request = calloc(1, sizeof *request);
    if (request == NULL) {
        return NULL;
    }
    request->server = server;
    request->connection = connection;
    request->principal = "";
    request->arena = arena_new(1024);
    atomic_store_explicit(&request->references, 1, memory_order_relaxed);
    if (request->arena == NULL) {
        http_request_release(request);
        return NULL;
    }
    request->start_us = clock_monotonic_us();
    http_meter_begin(&server->meter);
    (void)atomic_fetch_add(&server->open, 1);
    return request;
}

static void tell_closer(struct http_server *server)
{
    if (atomic_load(&server->closing)) {
        (void)pthread_mutex_lock(&server->lock);
        (void)pthread_cond_broadcast(&server->over);
        (void)pthread_mutex_unlock(&server->lock);
    }
}

void http_on_completed(void *context, struct MHD_Connection *connection, void **slot,
                       enum MHD_RequestTerminationCode why)
{
    struct http_server *server = context;
    struct http_request *request = *slot;
    (void)connection;
    (void)why;
    if (request == NULL) {
        return;
    }
    *slot = NULL;
    bool counted = request->counted;
    http_meter_end(&server->meter, request->start_us);
    if (request->response != NULL) { /* never handed over: its stream has a reference to the request */
        MHD_destroy_response(request->response);
        request->response = NULL;
    }
    http_request_release(request);
    if (counted) {
        (void)atomic_fetch_sub(&server->running, 1);
    }
    (void)atomic_fetch_sub(&server->open, 1);
    tell_closer(server);
}

/* --- headers ----------------------------------------------------------------------------------------------------- */

static enum err_code refuse(struct http_request *request, unsigned status, enum err_code code)
{
    request->error_status = status;
    return code;
}

static enum err_code find_route(struct http_request *request, const char *method, const char *path, struct error *err)
{
    TRY(http_match(request->server->tables, HTTP_TABLES, method, path, request->arena, &request->match, err));
    if (request->match.route != NULL) {
        return OK;
    }
    if (request->match.allow[0] == '\0') {
        return err_set(err, ERR_NOT_FOUND, "expected a known path but found \"%.256s\"", path);
    }
    http_set_header(request, MHD_HTTP_HEADER_ALLOW, request->match.allow);
    return refuse(request, MHD_HTTP_METHOD_NOT_ALLOWED,
                  err_set(err, ERR_INVALID, "expected method %s but found \"%.32s\"", request->match.allow, method));
}

static enum err_code authorize(struct http_request *request, struct error *err)
{
    enum http_role role = request->match.route->role;
    if (role == HTTP_ROLE_NONE) {
        return OK;
    }
    enum err_code code = http_tokens_find(request->server->tokens, http_header(request, MHD_HTTP_HEADER_AUTHORIZATION),
                                          request->arena, &request->principal, &request->roles, err);
    if (code == ERR_NOT_FOUND) {
        http_set_header(request, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer realm=\"granary\"");
        err->code = ERR_DENIED;
        return refuse(request, MHD_HTTP_UNAUTHORIZED, ERR_DENIED);
    }
    if (code == OK && !http_has_role(request, role)) {
        const char *name = role == HTTP_ROLE_READ ? "read" : role == HTTP_ROLE_WRITE ? "write" : "operate";
        return err_set(err, ERR_DENIED, "expected a token with role \"%s\" but \"%.64s\" has it not", name,
                       request->principal);
    }
    return code;
}

enum { LENGTH_UNKNOWN = -1 };

/* What the headers announce; libmicrohttpd has refused a malformed Content-Length already. */
static int64_t announced_bytes(struct http_request *request)
{
    if (http_header(request, MHD_HTTP_HEADER_TRANSFER_ENCODING) != NULL) {
        return LENGTH_UNKNOWN;
    }
    const char *length = http_header(request, MHD_HTTP_HEADER_CONTENT_LENGTH);
    return length == NULL ? 0 : (int64_t)strtoull(length, NULL, 10);
}

static enum err_code too_large(struct http_request *request, struct error *err)
{
    size_t most = request->match.route->max_body_bytes;
    return refuse(request, MHD_HTTP_CONTENT_TOO_LARGE,
                  err_set(err, ERR_INVALID, "expected a body of at most %zu bytes but found more", most));
}

static enum err_code begin(struct http_request *request, const char *method, const char *path, int64_t announced,
                           struct error *err)
{
    if (atomic_load_explicit(&request->server->closing, memory_order_relaxed)) {
        http_set_header(request, MHD_HTTP_HEADER_CONNECTION, "close");
        return err_set(err, ERR_STOPPED, "shutting down; hint: try again");
    }
    TRY(find_route(request, method, path, err));
    TRY(authorize(request, err));
    const struct http_route *route = request->match.route;
    if (announced != LENGTH_UNKNOWN && (uint64_t)announced > route->max_body_bytes) {
        return too_large(request, err);
    }
    if (route->begin != NULL) {
        TRY(route->begin(request->match.context, request, &request->state, err));
    } else if (announced > 0) {
        TRY(buf_reserve(&request->body, (size_t)announced + 1, err));
    }
    request->begun = true;
    return OK;
}

static enum MHD_Result on_headers(struct http_request *request, const char *method, const char *path)
{
    struct error err = {0};
    int64_t announced = announced_bytes(request);
    enum err_code code = begin(request, method, path, announced, &err);
    if (code == OK) {
        return MHD_YES;
    }
    http_answer_error(request, code, &err);
    request->phase = HTTP_PHASE_DISCARDING;
    bool waits = announced != 0 && http_header(request, MHD_HTTP_HEADER_EXPECT) != NULL;
    return waits || announced > MOST_DISCARDED_BYTES ? http_answer_queue(request) : MHD_YES;
}

/* --- body -------------------------------------------------------------------------------------------------------- */

static enum err_code take_piece(struct http_request *request, const char *data, size_t length, struct error *err)
{
    const struct http_route *route = request->match.route;
    if (length > route->max_body_bytes - request->received_bytes) {
        return too_large(request, err);
    }
    request->received_bytes += length;
    return route->body != NULL && !route->blocking
               ? route->body(request->match.context, request->state, data, length, err)
               : buf_append(&request->body, data, length, err);
}

static void refuse_rest(struct http_request *request, enum err_code code, const struct error *err)
{
    http_answer_error(request, code, err);
    request->phase = HTTP_PHASE_DISCARDING;
    request->received_bytes = 0; /* now counts what is dropped */
}

/* Is it still a time to run a route? Counts the request before it looks at `refusing`: see http_server_close. */
static enum err_code enter(struct http_server *server, struct error *err)
{
    (void)atomic_fetch_add(&server->running, 1);
    return atomic_load(&server->refusing) ? err_set(err, ERR_STOPPED, "shutting down; hint: try again") : OK;
}

static void leave(struct http_server *server)
{
    (void)atomic_fetch_sub(&server->running, 1);
    tell_closer(server);
}

/* Hands what was gathered to a blocking route. */
static enum err_code feed(struct http_request *request, struct error *err)
{
    const struct http_route *route = request->match.route;
    if (route->body == NULL || !route->blocking || request->body.length_bytes == 0) {
        return OK;
    }
    enum err_code code =
        route->body(request->match.context, request->state, request->body.data, request->body.length_bytes, err);
    buf_clear(&request->body);
    return code;
}

static void feed_on_pool(struct http_job *job)
{
    struct http_request *request = (struct http_request *)job; /* its first member */
    struct http_server *server = request->server;
    struct error err = {0};
    enum err_code code = feed(request, &err);
    if (code != OK) {
        refuse_rest(request, code, &err);
    }
    MHD_resume_connection(request->connection); /* from here the request is the event thread's */
    leave(server);
}

static void feed_elsewhere(struct http_request *request)
{
    struct error err;
    enum err_code code = enter(request->server, &err);
    if (code != OK) {
        leave(request->server);
        refuse_rest(request, code, &err);
        return;
    }
    MHD_suspend_connection(request->connection);
    request->job.run = feed_on_pool;
    http_pool_submit(request->server->pool, &request->job);
}

static bool is_gathered(const struct http_request *request)
{
    const struct http_route *route = request->match.route;
    return request->phase == HTTP_PHASE_RECEIVING && route->blocking && route->body != NULL &&
           request->body.length_bytes >= PIECE_BYTES;
}

static enum MHD_Result on_body(struct http_request *request, const char *data, size_t length)
{
    if (request->phase == HTTP_PHASE_RECEIVING) {
        struct error err = {0};
        enum err_code code = take_piece(request, data, length, &err);
        if (code != OK) {
            refuse_rest(request, code, &err);
        }
        return MHD_YES;
    }
    request->received_bytes += length;
    return request->received_bytes > MOST_DISCARDED_BYTES ? MHD_NO : MHD_YES;
}

/* --- handler and answer ------------------------------------------------------------------------------------------ */

/* Runs the handler. True: there is an answer. False: http_suspend was called. */
static bool run(struct http_request *request)
{
    struct error err = {0};
    enum err_code code = feed(request, &err);
    if (code == OK && buf_text(&request->body) == NULL) {
        code = err_no_memory(&err, 1);
    }
    if (code == OK) {
        code = request->match.route->handler(request->match.context, request, &err);
    }
    if (request->suspended) {
        assert(code == OK);
        return false;
    }
    if (code == OK && request->response == NULL) {
        code = err_set(&err, ERR_CORRUPT, "expected an answer from the handler but found none");
    }
    if (code != OK) {
        http_answer_error(request, code, &err);
    }
    return true;
}

static void resume(struct http_request *request)
{
    struct MHD_Connection *connection = request->connection;
    request->phase = HTTP_PHASE_ANSWERING;
    MHD_resume_connection(connection); /* from here the request is the event thread's */
}

/* One of handler and http_complete is through. */
static void party_over(struct http_request *request)
{
    if (atomic_fetch_sub(&request->parties, 1) == 1) {
        resume(request);
    }
}

static void run_on_pool(struct http_job *job)
{
    struct http_request *request = (struct http_request *)job; /* its first member */
    if (run(request)) {
        resume(request);
    } else {
        party_over(request);
    }
}

static enum MHD_Result on_complete_body(struct http_request *request)
{
    struct http_server *server = request->server;
    struct error err;
    request->counted = true;
    if (enter(server, &err) != OK) {
        http_answer_error(request, err.code, &err);
        return http_answer_queue(request);
    }
    if (request->match.route->blocking) {
        MHD_suspend_connection(request->connection);
        request->job.run = run_on_pool;
        http_pool_submit(server->pool, &request->job);
        return MHD_YES;
    }
    if (run(request) || atomic_load(&request->parties) == 1) { /* 1: completed before the handler returned */
        return http_answer_queue(request);
    }
    MHD_suspend_connection(request->connection);
    party_over(request);
    return MHD_YES;
}

void http_suspend(struct http_request *request)
{
    atomic_store(&request->parties, 2);
    request->suspended = true;
}

void http_complete(struct http_request *request, unsigned status, const char *json, enum err_code code,
                   const struct error *err)
{
    struct error failure = {0};
    if (code == OK) {
        code = http_reply_json(request, status, json, &failure);
        err = &failure;
    } else if (status >= 400) {
        request->error_status = status;
    }
    if (code != OK) {
        http_answer_error(request, code, err);
    }
    party_over(request);
}

enum MHD_Result http_on_request(void *server, struct MHD_Connection *connection, const char *path, const char *method,
                                const char *version, const char *data, size_t *data_bytes, void **slot)
{
    struct http_request *request = *slot;
    (void)version;
    if (request == NULL) {
        request = new_request(server, connection);
        *slot = request;
        return request == NULL ? MHD_NO : on_headers(request, method, path);
    }
    if (*data_bytes > 0) {
        size_t length = *data_bytes;
        if (is_gathered(request)) {
            feed_elsewhere(request);
            return MHD_YES;
        }
        *data_bytes = 0;
        return on_body(request, data, length);
    }
    return request->phase == HTTP_PHASE_RECEIVING ? on_complete_body(request) : http_answer_queue(request);
}
