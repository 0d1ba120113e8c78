/* One request for rows on its way through the head: read and decoded on the event thread, then owned by whoever it was
 * handed to (asker, coalescer, the broker's answer), until exactly one answer is given. */
#ifndef GRANARY_INTAKE_HEAD_REQUEST_H
#define GRANARY_INTAKE_HEAD_REQUEST_H

#include "common/base/buf.h"
#include "common/digest/digest.h"
#include "common/http/http.h"
#include "common/ingest/ingest.h"
#include "common/metrics/metrics.h"
#include "services/intake/shown.h"
#include "services/intake/tables.h"

enum { REQUEST_SHOWN_REJECTS = 10 };

/* What requests brought, once they are answered. */
struct request_tally {
    struct metric *rows, *rejected;
};

struct request {
    const struct request_tally *tally; /* of all requests */
    struct http_request *http;
    struct request *next; /* in the list of whoever has it */
    const struct intake_table *table;

    struct ingest *ingest; /* while the body comes */
    struct digest_sha256_stream *sha256;
    size_t fed_bytes;

    struct uuid batch_id; /* of its own when keyed or when there are rejects, else of the message it travels in */
    bool keyed;
    uint8_t body_sha256[DIGEST_SHA256_BYTES];
    uint32_t row_count, reject_count;
    struct buf rows, rejects; /* encoded */
    struct shown shown;

    bool wait_committed;
    int64_t deadline_us; /* monotonic, of the wait */
    int64_t arrived_us;  /* monotonic */
};

static inline size_t request_row_total(const struct request *request) /* good and bad */
{
    return (size_t)request->row_count + request->reject_count;
}

/* The answers. Each consumes the request's turn: after it the request must not be touched. */
void request_accept(struct request *request);                    /* 202 */
void request_committed(struct request *request, bool duplicate); /* 200 */
void request_not_yet(struct request *request);                   /* 504: accepted, not committed in time */
void request_other_body(struct request *request);                /* 422: the key came with another body */
void request_queue_full(struct request *request);                /* 429 */
void request_fail(struct request *request, const struct error *err);

#endif
