/* What the files of the s3:// driver share. */
#ifndef GRANARY_STORE_S3_H
#define GRANARY_STORE_S3_H

#include <pthread.h>
#include <stdatomic.h>

#include "common/base/buf.h"
#include "common/digest/digest.h"
#include "common/net/net.h"
#include "common/store/internal.h"
#include "common/store/s3_credentials.h"
#include "common/store/s3_rate.h"
#include "common/store/s3_url.h"

enum {
    STORE_S3_MAX_KEY_BYTES = 1024, /* the API's bound */
    S3_KEY_BYTES = 1024 + 512 + 2, /* prefix, slash, key, NUL */
    S3_BULK_KEYS = 1000,           /* of DeleteObjects and of a page of a listing: the API's bounds */
    S3_RATES = 64,
    S3_IDLE_CLIENTS = 64
};

enum s3_conditional {                         /* what is known of If-None-Match */
                      S3_CONDITIONAL_UNKNOWN, /* sent, with a HEAD before it */
                      S3_CONDITIONAL_WORKS,   /* sent: the store alone decides */
                      S3_CONDITIONAL_MISSING  /* not sent: a HEAD is all there is */
};

/* Kinds of requests as S3 is paid for: by what it costs to ask. */
enum s3_billing { S3_BILLED_WRITE, S3_BILLED_READ, S3_BILLED_DELETE, S3_BILLING_COUNT };

struct s3_metrics { /* all NULL without a registry */
    struct metric *requests[S3_BILLING_COUNT];
    struct metric *failures, *retries, *throttled, *delete_rate;
};

struct s3_store {
    struct store base;
    struct store_options options;
    struct arena *arena; /* the url's texts, under `lock` */
    pthread_mutex_t lock;
    struct s3_url url; /* region and host change after a redirect, under `lock` */
    struct net_client *idle[S3_IDLE_CLIENTS];
    size_t idle_count;
    struct s3_rate rates[S3_RATES]; /* of deletes, by a hash of the table */
    bool rate_used[S3_RATES];
    struct s3_credential_source *credentials;
    _Atomic int64_t clock_offset_us; /* the store's clock minus ours, once it has refused ours */
    _Atomic int conditional;         /* enum s3_conditional */
    atomic_bool bulk_missing;        /* DeleteObjects is not implemented */
    atomic_bool versioned;           /* deletes leave markers */
    struct s3_metrics metrics;
};

/* --- one request -------------------------------------------------------------------------------------------------- */

struct s3_answer {
    long status;
    struct buf body;
    uint64_t content_length;
    int64_t last_modified_us; /* 0 where there is none, or it cannot be read */
    int64_t date_us;
    int64_t retry_after_us;
    char etag[80]; /* without its quotes */
    char content_range[80];
    char sha256[DIGEST_SHA256_TEXT_BYTES]; /* of x-amz-meta-granary-sha256; "" for none */
    char checksum[64];                     /* x-amz-checksum-sha256 */
    char request_id[64];
    char region[40];
    char code[64]; /* S3's, of the error document or guessed from a HEAD's status; "" for none */
    char message[256];
};
void store_s3_answer_done(struct s3_answer *answer);

struct s3_request {
    const char *verb; /* for messages: "put", "list" */
    const char *method;
    const char *key; /* as in the bucket, with the prefix; NULL for the bucket */
    const struct net_header *query;
    size_t query_count;
    const struct net_header *headers; /* besides those that every request has */
    size_t header_count;
    const void *body; /* NULL for none */
    size_t body_bytes;
    const char *body_sha256; /* hex; NULL: it is worked out */
    void *out;               /* the body of a 2xx goes there and has exactly out_bytes; NULL: into answer.body */
    size_t out_bytes;
    uint64_t range_end; /* of the range asked for; an object that ends before it is an answer, not a torn one */
    /* Of the monotonic clock; NULL for none but the settings'. It may move while the request is under way, as leases are
     * renewed: each try goes by what it is then. */
    const _Atomic int64_t *deadline_us;
    size_t paced_keys; /* > 0: a bulk delete of so many keys, held to `rate_slot` */
    size_t rate_slot;
    /* Reads the answer of a 2xx. ERR_CORRUPT: it is torn, and the request goes out again. May be called several times. */
    enum err_code (*read)(void *context, const struct s3_answer *answer, struct error *err);
    void *context;
};

/* Signs, sends, and tries again as s3_retry.h says. OK: 2xx, 404, 412 or 416, to be told apart by out->status; anything
 * else is an error in the operator's words: bucket, key, the store's code and message, request id, tries. `out` is to be
 * done with either way. */
MUST_CHECK enum err_code store_s3_send(struct s3_store *store, const struct s3_request *request, struct s3_answer *out,
                                       struct error *err);

/* What a request of that kind is paid for as: PUT, POST and LIST are writes; a bulk delete, though a POST, is a delete. */
enum s3_billing store_s3_billing_of(const struct s3_request *request);

/* The size of the whole object from "bytes 0-9/1234"; UINT64_MAX where it is not told. */
uint64_t store_s3_range_total(const struct s3_answer *answer);

/* "<prefix>/<key>", or the key alone. ERR_INVALID: longer than S3's 1,024 bytes. */
MUST_CHECK enum err_code store_s3_key(const struct s3_store *store, const char *key, char out[S3_KEY_BYTES],
                                      struct error *err);

/* What an answer says. read: fills in code, message, request id and region from the error document in the body, where there
 * is one; behind a status of success also the status that it would have had. guess: the code of a refused HEAD, which has no
 * body; sent_at_us: by the clock that signed the request. */
void store_s3_answer_take(struct s3_answer *answer, const char *header, const char *value);
void store_s3_answer_read(struct s3_answer *answer);
void store_s3_answer_guess(struct s3_answer *answer, const char *method, int64_t sent_at_us);

/* "could not <verb> "s3://bucket/key": <code> (<status>): <message>, request <id>; hint: ..." */
enum err_code store_s3_error_set(struct s3_store *store, const struct s3_request *request,
                                 const struct s3_answer *answer, enum err_code code, struct error *err)
    __attribute__((cold));

/* Clients keep their connections: who takes one gives it back. */
MUST_CHECK enum err_code store_s3_client_take(struct s3_store *store, struct net_client **out, struct error *err);
void store_s3_client_return(struct s3_store *store, struct net_client *client_take);

/* work(context, i) for each i < count, `connections` at a time, on threads of their own. */
void store_s3_parallel(const struct s3_store *store, size_t count, void (*work)(void *context, size_t index),
                       void *context);

/* --- the driver's functions ---------------------------------------------------------------------------------------- */

/* What stands under the whole key now; `out` gets its answer. OK with status 404 when nothing does. */
MUST_CHECK enum err_code store_s3_head(struct s3_store *store, const char *whole_key, struct s3_answer *out,
                                       struct error *err);
/* The key is taken: OK when by these bytes, ERR_CONFLICT when by others, ERR_NOT_FOUND when it is gone again. `found`: a
 * HEAD's answer. Reads the object where its metadata do not say. */
MUST_CHECK enum err_code store_s3_compare(struct s3_store *store, const char *whole_key, uint64_t size_bytes,
                                          const uint8_t sha256[DIGEST_SHA256_BYTES], struct store_receipt *out,
                                          struct error *err);
/* One object in one request, create-if-absent. */
MUST_CHECK enum err_code store_s3_put(struct s3_store *store, const char *whole_key, const void *data, size_t length,
                                      const uint8_t sha256[DIGEST_SHA256_BYTES], const _Atomic int64_t *deadline_us,
                                      struct store_receipt *out, struct error *err);

/* --- listings ---- */

enum s3_listing { S3_OBJECTS, S3_VERSIONS, S3_UPLOADS, S3_LISTING_COUNT };
struct s3_entry {
    const char *key; /* whole, decoded */
    const char *id;  /* of the version or upload; "" for objects */
    uint64_t size_bytes;
    int64_t time_us; /* last modified, or begun */
    char etag[80];
    bool latest; /* S3_VERSIONS: the current one */
};
struct s3_page {
    struct arena *arena; /* the caller's; texts and entries live in it */
    struct s3_entry *entries;
    size_t count;
    bool more;
    const char *next_key, *next_id; /* where versions and uploads go on */
};
/* Up to max (at most 1,000) entries whose whole keys begin with `prefix`, behind `after_key` ("" for the first page) and,
 * of versions and uploads, behind after_id of that key. A page of objects is in order and behind after_key, or fails. */
MUST_CHECK enum err_code store_s3_page(struct s3_store *store, enum s3_listing listing, const char *prefix,
                                       const char *after_key, const char *after_id, size_t max, struct s3_page *page,
                                       struct error *err);

/* --- uploads in parts ---- */

/* An upload in parts, several under way at a time, each on a thread of its own. */
struct s3_multipart;
/* The deadline may move until the upload is closed. */
MUST_CHECK enum err_code store_s3_multipart_begin(struct s3_store *store, const char *whole_key,
                                                  const _Atomic int64_t *deadline_us, struct s3_multipart **out,
                                                  struct error *err);
/* The next part; all but the last have the same size. Waits while `connections` are under way. A failure of an earlier part
 * comes out of a later call. */
MUST_CHECK enum err_code store_s3_multipart_add(struct s3_multipart *multipart, const void *data, size_t length,
                                                struct error *err);
/* Puts the parts together, create-if-absent. */
MUST_CHECK enum err_code store_s3_multipart_finish(struct s3_multipart *multipart, uint64_t size_bytes,
                                                   const uint8_t sha256[DIGEST_SHA256_BYTES], struct store_receipt *out,
                                                   struct error *err);
/* Frees it; parts that were not put together are given back. NULL is fine. */
void store_s3_multipart_close(struct s3_multipart *multipart);
/* Gives back the parts of an upload that nobody will finish. An upload that is gone is fine. */
MUST_CHECK enum err_code store_s3_multipart_abort(struct s3_store *store, const char *whole_key, const char *upload_id,
                                                  struct error *err);

enum err_code store_s3_get(struct store *store, const char *key, uint64_t offset, size_t length, void *out,
                           struct error *err);
enum err_code store_s3_upload_open(struct store *store, const char *key, struct store_upload **out, struct error *err);
enum err_code store_s3_upload_write(struct store_upload *upload, const void *data, size_t length, struct error *err);
enum err_code store_s3_upload_finish(struct store_upload *upload_take, struct store_receipt *out, struct error *err);
void store_s3_upload_abort(struct store_upload *upload_take);
enum err_code store_s3_list(struct store *store, const char *prefix, const char *after, size_t max, struct arena *arena,
                            struct store_object **out, size_t *out_count, bool *out_more, struct error *err);
enum err_code store_s3_delete(struct store *store, const char *const *keys, size_t count,
                              struct store_delete_result *results, struct error *err);
enum err_code store_s3_sweep(struct store *store, int64_t older_than_us, store_sweep_fn *wanted, void *context,
                             size_t *out_ended, struct error *err);
enum err_code store_s3_probe(struct store *store, struct store_probe *out, struct error *err);

#endif
