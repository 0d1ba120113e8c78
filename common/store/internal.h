/* What a driver is. A driver's own struct begins with the struct of this page, and casts back from it. Keys that reach a
 * driver have been checked. */
#ifndef GRANARY_STORE_INTERNAL_H
#define GRANARY_STORE_INTERNAL_H

#include <stdatomic.h>

#include "common/store/store.h"

struct store_driver {
    void (*close)(struct store *store);
    /* out: zeroed. Takes note of what it finds. */
    enum err_code (*probe)(struct store *store, struct store_probe *out, struct error *err);

    enum err_code (*upload_open)(struct store *store, const char *key, struct store_upload **out, struct error *err);
    enum err_code (*upload_write)(struct store_upload *upload, const void *data, size_t length, struct error *err);
    enum err_code (*upload_finish)(struct store_upload *upload_take, struct store_receipt *out, struct error *err);
    void (*upload_abort)(struct store_upload *upload_take); /* not NULL */

    enum err_code (*get)(struct store *store, const char *key, uint64_t offset, size_t length, void *out,
                         struct error *err);
    enum err_code (*head)(struct store *store, const char *key, struct arena *arena, struct store_object *out,
                          struct error *err);
    enum err_code (*list)(struct store *store, const char *prefix, const char *after, size_t max, struct arena *arena,
                          struct store_object **out, size_t *out_count, bool *out_more, struct error *err);
    enum err_code (*delete_keys)(struct store *store, const char *const *keys, size_t count,
                                 struct store_delete_result *results, struct error *err);
    enum err_code (*sweep_uploads)(struct store *store, int64_t older_than_us, store_sweep_fn *wanted, void *context,
                                   size_t *out_ended, struct error *err);
};

struct store {
    const struct store_driver *driver;
    char *url; /* owned; freed by store_close after the driver's close */
};

struct store_upload {
    const struct store_driver *driver;
    const _Atomic int64_t *deadline_us; /* its own below, or what it follows */
    _Atomic int64_t own_deadline_us;
};

/* The drivers. `url` has the driver's scheme. */
MUST_CHECK enum err_code store_file_open(const char *url, struct store **out, struct error *err);
MUST_CHECK enum err_code store_s3_open(const char *url, const struct store_options *options, struct store **out,
                                       struct error *err);

/* create_if_absent, lists_own_writes and clock_skew_us, by the store's own functions. */
MUST_CHECK enum err_code store_probe_by_doing(struct store *store, struct store_probe *out, struct error *err);
MUST_CHECK enum err_code store_is_listed(struct store *store, const char *key, bool *out, struct error *err);

/* ERR_TIMEOUT when the upload's deadline has passed: asked right before the object becomes visible. */
MUST_CHECK enum err_code store_upload_check_deadline(const struct store_upload *upload, const char *key,
                                                     struct error *err);

#endif
