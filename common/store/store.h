/* Object store: one small interface, two drivers (file:// and s3://). Keys are relative to the store's prefix:
 * "<table_id>/<yyyy-mm-dd>/<partition_id>.parquet"; they are checked (no "..", no empty part, no leading '/', at most
 * 1,024 bytes). A store may be used by several threads at once; an upload or a listing by one. */
#ifndef GRANARY_STORE_STORE_H
#define GRANARY_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/config/config.h"
#include "common/metrics/metrics.h"

struct store;

/* What all stores of a process have in common; where they differ stands in their urls. Texts are borrowed until
 * store_close. A file store takes no notice of it. */
struct store_options {
    const char *ca_file;         /* "" for the system's */
    const char *credentials_dir; /* what `credentials=name` of an url is looked up in; "" for none */
    const char *access_key_id;   /* for urls without `credentials=`; "" for where else they are looked for: see s3.h */
    const char *secret_access_key;
    const char *session_token;
    int64_t part_bytes;         /* of an upload in parts: what is larger than four of them */
    int64_t connections;        /* parts and bulk deletes of one call that are under way at the same time */
    int64_t connect_timeout_us; /* until the connection and its TLS stand */
    int64_t stall_timeout_us;   /* without a byte in either direction */
    int64_t retry_for_us;       /* from the first try of a request to the last */
    int64_t delete_rate;        /* keys a second and table at most; throttling lowers it */
    struct metrics *metrics;    /* NULL for none */
};
void store_options_of(const struct config_store *config, struct metrics *metrics, struct store_options *out);

/* url: "file:///absolute/path" (created when absent), or "s3://bucket/prefix?parameters" (the bucket must be there; the
 * prefix may be empty), with any of
 *   region=eu-west-1               default: AWS_REGION, then us-east-1
 *   endpoint=https://host:port     default: AWS_ENDPOINT_URL_S3, then AWS's of the region
 *   addressing=virtual|path        default: virtual at AWS, path elsewhere
 *   credentials=name               a file of credentials_dir
 *   versions=delete|keep           in a bucket with versions: delete them all (the default), or the current one only
 * options: NULL for the defaults of the settings. Asks nothing of an s3:// store yet. ERR_INVALID: not such an url. */
MUST_CHECK enum err_code store_open(const char *url, const struct store_options *options, struct store **out,
                                    struct error *err);
void store_close(struct store *store);
DEFINE_AUTO(struct store, store_close)
const char *store_url(const struct store *store); /* holds no secret; for logs and `granary files` */

enum store_answer { STORE_NO, STORE_YES, STORE_NOT_TOLD }; /* not told: no right to ask, or no such question */

/* What a probe writes is called so, with a UUID behind it; one that is killed leaves it. */
#define STORE_PROBE_PREFIX "granary-probe/"

/* What the store can do, asked at start by doing it under a key of its own: needs the rights to put, list, get and delete.
 * From then on the store relies on it: before, uploads look twice. */
struct store_probe {
    bool create_if_absent;
    bool bulk_delete;
    bool lists_own_writes;         /* an object is listed as soon as it is written, and no longer once deleted */
    enum store_answer versioned;   /* deleted objects stay as noncurrent versions, unless versions=delete */
    enum store_answer object_lock; /* the bucket may refuse to delete versions before their time */
    uint64_t noncurrent_bytes;     /* of noncurrent versions under the prefix, as far as the probe has looked */
    bool noncurrent_more;          /* there are more than it has looked at */
    int64_t clock_skew_us;         /* store's clock minus ours */
};
MUST_CHECK enum err_code store_probe(struct store *store, struct store_probe *out, struct error *err);
/* "creates if absent, deletes in bulk, lists own writes, no versions, no object lock". Returns text. */
enum { STORE_PROBE_TEXT_BYTES = 192 };
char *store_probe_format(const struct store_probe *probe, char text[STORE_PROBE_TEXT_BYTES]);

struct store_object {
    const char *key; /* in the arena given */
    uint64_t size_bytes;
    int64_t modified_at_us; /* by the store's clock */
    char etag[80];          /* "" where the driver has none; file: sha256 of nothing, so "" */
};

/* --- writing -------------------------------------------------------------------------------------------------- */

/* Create-if-absent, streamed. Nothing is visible under the key before finish has returned OK. deadline_us: of the
 * monotonic clock; past it, finish refuses with ERR_TIMEOUT and nothing is visible.
 * finish: ERR_CONFLICT when the key exists already (with other bytes; equal bytes are success), ERR_UNAVAILABLE when the
 * disk is full or the store cannot be reached. finish and abort both consume the upload. */
struct store_upload;
MUST_CHECK enum err_code store_upload_open(struct store *store, const char *key, int64_t deadline_us,
                                           struct store_upload **out, struct error *err);
MUST_CHECK enum err_code store_upload_write(struct store_upload *upload, const void *data, size_t length,
                                            struct error *err);
struct store_receipt {
    uint64_t size_bytes;
    uint8_t sha256[32]; /* of what was written */
    char etag[80];
};
MUST_CHECK enum err_code store_upload_finish(struct store_upload *upload_take, struct store_receipt *out,
                                             struct error *err);
/* From now on the deadline is what stands there: whoever renews a lease moves it, from any thread, until the upload is over.
 * What is under way then goes by it, too. */
void store_upload_follow_deadline(struct store_upload *upload, const _Atomic int64_t *deadline_us);
void store_upload_abort(struct store_upload *upload_take); /* NULL is fine */
DEFINE_AUTO(struct store_upload, store_upload_abort)

/* --- reading -------------------------------------------------------------------------------------------------- */

/* Exactly [offset, offset + length) into out. ERR_NOT_FOUND: no such key. ERR_CORRUPT: the object is shorter.
 * ERR_DENIED, ERR_UNAVAILABLE: as the store says; the text names bucket, key, the store's code and request id. */
MUST_CHECK enum err_code store_get(struct store *store, const char *key, uint64_t offset, size_t length, void *out,
                                   struct error *err);
/* ERR_NOT_FOUND when absent. */
MUST_CHECK enum err_code store_head(struct store *store, const char *key, struct arena *arena, struct store_object *out,
                                    struct error *err);
/* Up to max objects with key > after under prefix, in byte order of keys; *out_more says whether more follow. `after`
 * may be "". Objects live in `arena`. s3:// asks once for each 1,000, and may return keys that no writer of ours would
 * take, as others have written them. A page that is out of order, or that was there before, is an error. */
MUST_CHECK enum err_code store_list(struct store *store, const char *prefix, const char *after, size_t max,
                                    struct arena *arena, struct store_object **out, size_t *out_count, bool *out_more,
                                    struct error *err);

/* --- deleting ------------------------------------------------------------------------------------------------- */

enum store_deletion { STORE_DELETED, STORE_WAS_ABSENT, STORE_DELETE_FAILED };
struct store_delete_result {
    enum store_deletion outcome;
    struct error error; /* where it failed */
};
/* An answer for each key, as the store gave it: whoever doubts it asks store_head. Any number of keys: s3:// sends 1,000
 * in a request, `connections` requests at a time, at a rate that follows the store's throttling of the first part of the
 * key (the table). Where a store does not tell which keys were absent, they count as deleted. The call as a whole fails
 * only when nothing could be asked (ERR_UNAVAILABLE, ERR_STOPPED). */
MUST_CHECK enum err_code store_delete(struct store *store, const char *const *keys, size_t count,
                                      struct store_delete_result *results, struct error *err);

/* Whether to end the upload of a key that was begun too long ago: who only counts says no. */
typedef bool store_sweep_fn(void *context, const char *key);
/* Ends uploads that were begun more than older_than_us ago by the store's clock and never finished: a killed writer leaves
 * them, no listing shows them, and they are paid for. file:// has none that their key's deletion would not take along.
 * wanted is asked for each of them; the keys may be such as no writer of ours would take. NULL: end all. */
MUST_CHECK enum err_code store_sweep_uploads(struct store *store, int64_t older_than_us, store_sweep_fn *wanted,
                                             void *context, size_t *out_ended, struct error *err);

#endif
