/* Object store: one small interface, two drivers (file:// now, s3:// later). Keys are relative to the store's prefix:
 * "<table_id>/<yyyy-mm-dd>/<partition_id>.parquet"; they are checked (no "..", no empty part, no leading '/', at most
 * 1,024 bytes). A store may be used by several threads at once; an upload or a listing by one. */
#ifndef GRANARY_STORE_STORE_H
#define GRANARY_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/error.h"

struct store;

/* url: "file:///absolute/path" (created when absent). ERR_INVALID for a scheme or path that is not one. */
MUST_CHECK enum err_code store_open(const char *url, struct store **out, struct error *err);
void store_close(struct store *store);
DEFINE_AUTO(struct store, store_close)
const char *store_url(const struct store *store); /* without credentials; for logs and `granary files` */

/* What the store can do, asked at start by doing it under a key of its own. */
struct store_probe {
    bool create_if_absent;
    bool bulk_delete;
    bool versioned;
    int64_t clock_skew_us; /* store's clock minus ours */
};
MUST_CHECK enum err_code store_probe(struct store *store, struct store_probe *out, struct error *err);

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
void store_upload_set_deadline(struct store_upload *upload, int64_t deadline_us); /* after a lease was renewed */
void store_upload_abort(struct store_upload *upload_take);                        /* NULL is fine */
DEFINE_AUTO(struct store_upload, store_upload_abort)

/* --- reading -------------------------------------------------------------------------------------------------- */

/* Exactly [offset, offset + length) into out. ERR_NOT_FOUND: no such key. ERR_CORRUPT: the object is shorter. */
MUST_CHECK enum err_code store_get(struct store *store, const char *key, uint64_t offset, size_t length, void *out,
                                   struct error *err);
/* ERR_NOT_FOUND when absent. */
MUST_CHECK enum err_code store_head(struct store *store, const char *key, struct arena *arena, struct store_object *out,
                                    struct error *err);
/* Up to max objects with key > after under prefix, in byte order of keys; *out_more says whether more follow. `after`
 * may be "". Objects live in `arena`. */
MUST_CHECK enum err_code store_list(struct store *store, const char *prefix, const char *after, size_t max,
                                    struct arena *arena, struct store_object **out, size_t *out_count, bool *out_more,
                                    struct error *err);

/* --- deleting ------------------------------------------------------------------------------------------------- */

enum store_deletion { STORE_DELETED, STORE_WAS_ABSENT, STORE_DELETE_FAILED };
struct store_delete_result {
    enum store_deletion outcome;
    struct error error; /* where it failed */
};
/* An answer for each key. The call as a whole fails only when nothing could be asked (ERR_UNAVAILABLE, ERR_STOPPED). */
MUST_CHECK enum err_code store_delete(struct store *store, const char *const *keys, size_t count,
                                      struct store_delete_result *results, struct error *err);

#endif
