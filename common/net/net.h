/* HTTP client: the one home of libcurl. Reuses connections; retries what can heal (connect errors, 429, 502, 503, 504)
 * with full jitter until the deadline, when the request says that it may be repeated. */
#ifndef GRANARY_NET_NET_H
#define GRANARY_NET_NET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/error.h"

struct net_client; /* one thread at a time */

struct net_client_options {
    const char *ca_file;        /* NULL or "" for the system's */
    const char *bearer_token;   /* NULL for none; sent as Authorization: Bearer */
    int64_t connect_timeout_us; /* 0: 5 s */
    int64_t stall_timeout_us;   /* ERR_TIMEOUT after so long without a byte, rounded up to seconds; 0: never */
    const char *user_agent;
};
MUST_CHECK enum err_code net_client_open(const struct net_client_options *options, struct net_client **out,
                                         struct error *err);
void net_client_close(struct net_client *client);
DEFINE_AUTO(struct net_client, net_client_close)

struct net_header {
    const char *name;
    const char *value;
};
struct net_request {
    const char *method;
    const char *url;
    const struct net_header *headers;
    size_t header_count;
    const void *body; /* NULL for none */
    size_t body_bytes;
    /* A body as it comes, instead of `body`: asked for up to `capacity` bytes until it gives none. Once it has been asked the
     * request is not repeated. An error of its own ends the exchange and is its error, unless an answer came before. */
    enum err_code (*on_body)(void *context, void *out, size_t capacity, size_t *out_length, struct error *err);
    /* Of the monotonic clock; NULL for none. It may move while the exchange is under way, which ends within a second of it. */
    const _Atomic int64_t *deadline_us;
    int64_t timeout_us;      /* for the whole exchange; 0: 60 s; CLOCK_NEVER for as long as it takes */
    int64_t retry_for_us;    /* 0: one try */
    size_t max_answer_bytes; /* 0: 64 MiB */
    /* Streamed answer: called with each piece when status is 2xx; otherwise the body is kept in the answer. */
    enum err_code (*on_data)(void *context, const void *data, size_t length, struct error *err);
    /* Each header of the answer, once it has come whole, before net_send returns. Redirects are answers: not followed. */
    void (*on_header)(void *context, const char *name, const char *value);
    void *context; /* of on_body, on_data and on_header */
};
struct net_answer {
    long status;
    struct buf body;
    char retry_after[32];
    char content_type[96];
};
void net_answer_done(struct net_answer *answer);

/* OK whatever the status is, once a whole answer came. ERR_UNAVAILABLE: could not connect or the answer was cut off;
 * ERR_TIMEOUT; ERR_DENIED: certificate not trusted. */
MUST_CHECK enum err_code net_send(struct net_client *client, const struct net_request *request, struct net_answer *out,
                                  struct error *err);

/* Percent-encodes everything but unreserved characters, appended to out. */
MUST_CHECK enum err_code net_url_escape(const char *text, struct buf *out, struct error *err);

/* An HTTP date ("Sun, 06 Nov 1994 08:49:37 GMT", RFC 9110 section 5.6.7) in microseconds since the epoch; 0 when it is none. */
int64_t net_parse_date(const char *text);

#endif
