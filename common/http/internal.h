/* What the files of this module share.
 *
 * A request belongs to the event thread of its connection, but while the connection is suspended: then to the pool
 * thread that runs its handler, or to whoever will call http_complete. Two parties must be through with a deferred
 * request before it is answered, the handler and http_complete; `parties` counts them, and the last one resumes. */
#ifndef GRANARY_HTTP_INTERNAL_H
#define GRANARY_HTTP_INTERNAL_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>

#include <microhttpd.h>

#include "common/http/http.h"

enum {
    HTTP_MAX_PARTS = 8,   /* braces in a pattern */
    HTTP_MAX_HEADERS = 8, /* set by a handler */
    HTTP_ALLOW_BYTES = 64,
};

/* --- pool.c: threads that may block ------------------------------------------------------------------------------ */
struct http_job {
    struct http_job *next;
    void (*run)(struct http_job *job);
};
struct http_pool;
MUST_CHECK enum err_code http_pool_open(unsigned threads, struct http_pool **out, struct error *err);
void http_pool_close(struct http_pool *pool); /* runs what is queued, then ends the threads */
void http_pool_submit(struct http_pool *pool, struct http_job *job);

/* --- auth.c: the tokens file ------------------------------------------------------------------------------------- */
struct http_tokens;
/* path "": no token is good. */
MUST_CHECK enum err_code http_tokens_open(const char *path, void (*on_fault)(const struct error *fault),
                                          struct http_tokens **out, struct error *err);
void http_tokens_close(struct http_tokens *tokens);
/* The value of an Authorization header, or NULL. ERR_NOT_FOUND: no such token, or none presented. The name is copied into
 * the arena. */
MUST_CHECK enum err_code http_tokens_find(struct http_tokens *tokens, const char *authorization, struct arena *arena,
                                          const char **out_name, unsigned *out_roles, struct error *err);

/* --- route.c ----------------------------------------------------------------------------------------------------- */
struct http_part {
    const char *name; /* in the pattern, not terminated */
    size_t name_length;
    const char *value;
};
struct http_match {
    const struct http_route *route; /* NULL: none has this pattern, or none this method */
    void *context;
    struct http_part parts[HTTP_MAX_PARTS];
    size_t part_count;
    char allow[HTTP_ALLOW_BYTES]; /* the methods of this path; "" when no pattern fits */
};
struct http_table {
    const struct http_route *routes;
    size_t count;
    void *context;
};
MUST_CHECK enum err_code http_match(const struct http_table *tables, size_t table_count, const char *method,
                                    const char *path, struct arena *arena, struct http_match *out, struct error *err);
/* Undoes percent-encoding, in the arena; what is malformed, and %00, stays as it is. NULL when out of memory. */
char *http_unescape(const char *text, size_t length, struct arena *arena);

/* --- meter.c ----------------------------------------------------------------------------------------------------- */
enum { HTTP_STATUS_CLASSES = 5 };
struct http_meter {
    struct metric *answers[HTTP_STATUS_CLASSES]; /* 1xx to 5xx; all NULL: nothing is counted */
    struct metric *in_progress;
    struct metric *duration;
};
void http_meter_init(struct http_meter *meter, struct metrics *metrics);
void http_meter_begin(struct http_meter *meter);
void http_meter_answer(struct http_meter *meter, unsigned status);
void http_meter_end(struct http_meter *meter, int64_t start_us);

/* --- server.c ---------------------------------------------------------------------------------------------------- */
enum { HTTP_TABLES = 2 };

struct http_server {
    struct MHD_Daemon *daemon;
    struct http_tokens *tokens;
    struct http_pool *pool;
    struct http_table tables[HTTP_TABLES];
    char *tls_cert;
    char *tls_key;
    struct http_meter meter;
    uint16_t port;
    atomic_bool closing;   /* new requests are refused */
    atomic_bool refusing;  /* so are those whose body is just complete */
    atomic_size_t open;    /* requests seen and not yet over */
    atomic_size_t running; /* requests whose handler was started and that are not yet over */
    pthread_mutex_t lock;  /* with `over`, for http_server_close */
    pthread_cond_t over;
};

/* --- listen.c ---------------------------------------------------------------------------------------------------- */
MUST_CHECK enum err_code http_listen(const char *address, int *out_socket, uint16_t *out_port, struct error *err);

/* --- request.c --------------------------------------------------------------------------------------------------- */
struct http_request {
    struct http_job job;
    struct http_server *server;
    struct MHD_Connection *connection;
    atomic_uint references; /* the connection, and a streamed answer: it outlives the former by a moment */
    struct arena *arena;
    struct http_match match;
    const char *principal;
    unsigned roles;
    char *request_id;

    enum http_phase {
        HTTP_PHASE_RECEIVING, /* the body goes to the route */
        HTTP_PHASE_DISCARDING, /* the answer is an error that is known already; the rest of the body is read and dropped */
        HTTP_PHASE_ANSWERING, /* the answer is there */
    } phase;
    int64_t start_us;
    size_t received_bytes;
    struct buf body;
    bool begun;   /* begin succeeded: end is owed */
    bool counted; /* in server->running */
    void *state;

    bool suspended; /* http_suspend was called */
    atomic_uint parties;

    unsigned error_status;
    unsigned status;
    struct MHD_Response *response; /* owned; NULL: none yet */
    struct {
        const char *name;
        char *value;
    } headers[HTTP_MAX_HEADERS];
    size_t header_count;
};

enum MHD_Result http_on_request(void *server, struct MHD_Connection *connection, const char *path, const char *method,
                                const char *version, const char *data, size_t *data_bytes, void **request);
void http_on_completed(void *server, struct MHD_Connection *connection, void **request,
                       enum MHD_RequestTerminationCode why);
void http_request_release(struct http_request *request);

/* --- answer.c ---------------------------------------------------------------------------------------------------- */
/* Turns a failure into the answer, unless there is no memory for it: then there is none, and the connection is cut. */
void http_answer_error(struct http_request *request, enum err_code code, const struct error *err);
/* Hands the answer to the connection. */
enum MHD_Result http_answer_queue(struct http_request *request);

#endif
