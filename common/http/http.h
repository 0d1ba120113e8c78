/* HTTP server on libmicrohttpd: routes, bearer tokens with roles, limits, one error shape, streaming both ways.
 * Probes and metrics need no token; everything else does. Error body: {"error":{"code":"invalid","message":"...",
 * "hint":"..."}} (a "; hint: " in the error's text is split off). */
#ifndef GRANARY_HTTP_HTTP_H
#define GRANARY_HTTP_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/base/error.h"
#include "common/metrics/metrics.h"

enum http_role { HTTP_ROLE_NONE = 0, HTTP_ROLE_READ = 1, HTTP_ROLE_WRITE = 2, HTTP_ROLE_OPERATE = 4 };

struct http_request;

/* A route. Pattern parts in braces match one path part: "/api/v1/tables/{table}". */
typedef enum err_code http_handler(void *context, struct http_request *request, struct error *err);
struct http_route {
    const char *method; /* GET, POST, PUT, PATCH, DELETE */
    const char *pattern;
    enum http_role role;   /* needed; NONE answers everyone */
    size_t max_body_bytes; /* 0: no body allowed */
    http_handler *handler; /* called with the whole body. An error becomes the answer: INVALID 400, NOT_FOUND 404,
                              CONFLICT 409, DENIED 403, UNAVAILABLE and STOPPED 503, TIMEOUT 504, else 500. */
    /* For bodies as they come (then handler runs at the end, with no body). Both may be NULL. body returns an error to
     * refuse the rest. begin runs on the event thread, also for blocking routes: it must not wait. So does body, but for
     * blocking routes: there it runs on a thread of the pool, with some 256 KiB at a time, and may wait; meanwhile nothing
     * more is read, so that the client feels it. */
    enum err_code (*begin)(void *context, struct http_request *request, void **out_state, struct error *err);
    enum err_code (*body)(void *context, void *state, const void *data, size_t length, struct error *err);
    /* Frees state, always, on any thread: once the answer is sent, or the client gone. Not called if begin failed. */
    void (*end)(void *context, void *state);
    bool blocking; /* the handler may block: it runs on a thread of the pool, not on the event loop */
    void *context; /* for the functions above; NULL: that of the server */
};

struct http_options {
    const char *listen;                       /* "127.0.0.1:0" */
    const char *tls_cert_file, *tls_key_file; /* "" for plain */
    const char *tokens_file;                  /* "" : no route with a role can be used */
    unsigned event_threads;                   /* 0: number of processors */
    unsigned worker_threads;                  /* for blocking routes; 0: 8 */
    unsigned max_connections;                 /* 0: 1024 */
    int64_t idle_timeout_us;                  /* 0: 60 s */
    /* Routes with a context of their own, asked first: the probes of the frame. Borrowed. */
    const struct http_route *probe_routes;
    size_t probe_route_count;
    void *probe_context;
    struct metrics *metrics; /* borrowed; NULL: requests are not counted */
    /* Told, on an event thread, when a changed tokens file cannot be used; the tokens known so far stay. May be NULL. */
    void (*on_tokens_fault)(const struct error *fault);
};

struct http_server;
/* Routes and context are borrowed. */
MUST_CHECK enum err_code http_server_open(const struct http_options *options, const struct http_route *routes,
                                          size_t route_count, void *context, struct http_server **out,
                                          struct error *err);
void http_server_close(struct http_server *server); /* waits for requests in progress */
DEFINE_AUTO(struct http_server, http_server_close)
uint16_t http_server_port(const struct http_server *server);

/* --- inside a handler ------------------------------------------------------------------------------------------ */
struct arena *http_arena(struct http_request *request);                 /* lives as long as the request */
const char *http_path(struct http_request *request, const char *name);  /* a part in braces; never NULL if in pattern */
const char *http_query(struct http_request *request, const char *name); /* NULL when absent */
const char *http_header(struct http_request *request, const char *name); /* NULL when absent */
const void *http_body(struct http_request *request, size_t *out_bytes);  /* NUL-terminated */
void *http_state(struct http_request *request);                          /* what begin returned */
const char *http_principal(struct http_request *request);  /* the token's name, for the audit log; "" without */
const char *http_request_id(struct http_request *request); /* X-Request-Id as sent (when sane) or a new UUID */
bool http_has_role(struct http_request *request, enum http_role role);

/* Of the answer, at most 8; the name is borrowed, the value copied. */
void http_set_header(struct http_request *request, const char *name, const char *value);
/* The answer. Copies. */
MUST_CHECK enum err_code http_reply(struct http_request *request, unsigned status, const char *content_type,
                                    const void *body, size_t length, struct error *err);
MUST_CHECK enum err_code http_reply_json(struct http_request *request, unsigned status, const char *json,
                                         struct error *err);
/* A streamed answer: fill is asked for the next bytes (on a pool thread when the route is blocking) until it sets *done;
 * an error cuts the connection, so that nobody takes the answer for whole. done_fn frees the state, always. */
typedef enum err_code http_fill_fn(void *state, struct buf *out, bool *done, struct error *err);
MUST_CHECK enum err_code http_reply_stream(struct http_request *request, unsigned status, const char *content_type,
                                           http_fill_fn *fill, void (*done_fn)(void *state), void *state,
                                           struct error *err);

/* A handler that cannot answer yet calls http_suspend and returns OK; from then on, from any thread, exactly one
 * http_complete(request, ...) with the answer (code != OK: the error shape, with `status` if it is 400 or more). After
 * that call the request must not be touched. A client that went away does not spare the call. */
void http_suspend(struct http_request *request);
void http_complete(struct http_request *request, unsigned status, const char *json, enum err_code code,
                   const struct error *err);
/* Overrides the status that an error would give (413, 415, 422, 429). Set before returning the error or completing. */
void http_set_error_status(struct http_request *request, unsigned status);

#endif
