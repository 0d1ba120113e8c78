/* Messages between services, as JSON. Each type has one file: struct <-> JSON, both ways, hostile input refused with
 * ERR_INVALID that names the member. Decoded structs live in the arena. */
#ifndef GRANARY_EVENTS_EVENTS_H
#define GRANARY_EVENTS_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/base/error.h"
#include "common/base/uuid.h"
#include "common/rows/stats.h"

/* --- reap.v1, queue "reap": hints that these partitions may be reaped ------------------------------------------- */
#define EVENT_REAP_TYPE "reap.v1"
enum { EVENT_REAP_MAX = 1000 };
struct event_reap_item {
    struct uuid partition_id;
    int64_t deactivated_at_us; /* the claim must find the same */
};
struct event_reap {
    struct uuid table_id;
    struct uuid claim_lock_id; /* nil in a fresh event; on the retry ladder the claim that goes on */
    int64_t claim_token;       /* 0 likewise */
    size_t count;              /* 1..1000 */
    struct event_reap_item *items;
};
MUST_CHECK enum err_code event_reap_encode(const struct event_reap *event, struct buf *out, struct error *err);
MUST_CHECK enum err_code event_reap_decode(const void *data, size_t length, struct arena *arena, struct event_reap *out,
                                           struct error *err);

/* --- rewrite.v1, queue "rewrite.<pool>": one attempt to rewrite inputs into outputs ------------------------------ */
#define EVENT_REWRITE_TYPE "rewrite.v1"
enum { EVENT_REWRITE_MAX_INPUTS = 1000 };
enum { EVENT_REWRITE_MAX_STORAGES = 1000 };
struct event_rewrite_storage { /* one that its rewriter is not configured with */
    int32_t storage_id;
    const char *url;
};
struct event_rewrite_input {
    struct uuid partition_id;
    int32_t storage_id; /* STORAGE_OWN, or one of the event's storages */
    const char *path;
    uint64_t data_bytes;
    uint64_t row_count;
    uint8_t sha256[32];
};
struct event_rewrite {
    struct uuid attempt_id;
    struct uuid table_id;
    int64_t token;            /* fencing token of the attempt's lock */
    int64_t epoch;            /* of the leader that planned it */
    int64_t lease_us;         /* length of a lease; renew well before */
    const char *result_queue; /* "merge.result" */
    const char *schema_json;  /* of the output: schema_parse */
    struct uuid output_id;
    int32_t output_storage_id;
    const char *output_path;
    size_t input_count;
    struct event_rewrite_input *inputs;
    size_t storage_count;
    struct event_rewrite_storage *storages;
};
MUST_CHECK enum err_code event_rewrite_encode(const struct event_rewrite *event, struct buf *out, struct error *err);
MUST_CHECK enum err_code event_rewrite_decode(const void *data, size_t length, struct arena *arena,
                                              struct event_rewrite *out, struct error *err);

/* --- rewrite_result.v1, the queue named in the task ------------------------------------------------------------- */
#define EVENT_REWRITE_RESULT_TYPE "rewrite_result.v1"
struct event_rewrite_result {
    struct uuid attempt_id;
    int64_t token;
    bool ok;
    const char *error_code; /* err_code_name; "" when ok */
    const char *error_text;
    struct uuid bad_partition; /* the input that could not be read; nil when none is to blame */
    struct uuid output_id;
    uint64_t row_count, data_bytes, memory_bytes;
    int64_t min_timestamp_us, max_timestamp_us;
    uint8_t sha256[32];
    const char *etag;
    size_t column_count;
    struct column_stats *columns;
};
MUST_CHECK enum err_code event_rewrite_result_encode(const struct event_rewrite_result *event, struct buf *out,
                                                     struct error *err);
MUST_CHECK enum err_code event_rewrite_result_decode(const void *data, size_t length, struct arena *arena,
                                                     struct event_rewrite_result *out, struct error *err);

/* --- intake.v1, queue "intake": binary. One message holds segments of one table and schema version. -------------
 * "GRI1", table uuid, schema version, segment count; then per segment: batch uuid, body sha256, row counts, and length
 * + bytes of the good rows' batch and of the rejects' batch (either may be empty). Little-endian; XXH3 at the end. */
#define EVENT_INTAKE_TYPE "intake.v1"
enum { EVENT_INTAKE_MAX_SEGMENTS = 4096 };
struct event_intake_segment {
    struct uuid batch_id;
    bool keyed;              /* had an Idempotency-Key */
    uint8_t body_sha256[32]; /* of the request body as sent; zeros when not keyed */
    uint32_t row_count, reject_count;
    const void *rows; /* batch_encode of the table's schema version; borrowed */
    size_t rows_bytes;
    const void *rejects; /* batch_encode of ingest_rejects_schema */
    size_t rejects_bytes;
};
struct event_intake {
    struct uuid table_id;
    int32_t schema_version;
    size_t segment_count; /* 1.. */
    struct event_intake_segment *segments;
};
MUST_CHECK enum err_code event_intake_encode(const struct event_intake *event, struct buf *out, struct error *err);
/* ERR_CORRUPT: the checksum does not hold. */
MUST_CHECK enum err_code event_intake_decode(const void *data, size_t length, struct arena *arena,
                                             struct event_intake *out, struct error *err);

#endif
