#include "common/store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/uuid.h"
#include "common/store/internal.h"

enum { KEY_MAX_BYTES = 1024 };

/* --- keys --------------------------------------------------------------------------------------------------------- */

/* Parts that begin with a dot are refused whole: they cover "." and "..", and leave drivers a name space for temporaries
 * that no key can enter. */
static const char *part_fault(const char *part, size_t length)
{
    if (length == 0) {
        return "no empty part";
    }
    return part[0] == '.' ? "no part that begins with a dot" : NULL;
}

static enum err_code check_parts(const char *key, bool open_ended, struct error *err)
{
    size_t length = strlen(key);
    const char *fault = length > KEY_MAX_BYTES ? "at most 1024 bytes" : NULL;
    for (const char *part = key; fault == NULL; part = strchr(part, '/') + 1) {
        size_t part_length = strcspn(part, "/");
        bool last = part[part_length] == '\0';
        fault = last && open_ended && part_length == 0 ? NULL : part_fault(part, part_length);
        if (last) {
            break;
        }
    }
    if (fault != NULL) {
        return err_set(err, ERR_INVALID, "expected an object key with %s but found \"%.200s\"", fault, key);
    }
    return OK;
}

static enum err_code check_key(const char *key, struct error *err)
{
    return check_parts(key, false, err);
}

/* --- stores ------------------------------------------------------------------------------------------------------- */

void store_options_of(const struct config_store *config, struct metrics *metrics, struct store_options *out)
{
    *out = (struct store_options){
        .ca_file = config->ca_file,
        .credentials_dir = config->credentials_dir,
        .access_key_id = config->access_key_id,
        .secret_access_key = config->secret_access_key,
        .session_token = config->session_token,
        .part_bytes = config->part_bytes,
        .connections = config->connections,
        .connect_timeout_us = config->connect_timeout_us,
        .stall_timeout_us = config->stall_timeout_us,
        .retry_for_us = config->retry_for_us,
        .delete_rate = config->delete_rate,
        .metrics = metrics,
    };
}

/* Those of CONFIG_STORE_OPTIONS. */
static const struct store_options default_options = {
    .ca_file = "",
    .credentials_dir = "",
    .access_key_id = "",
    .secret_access_key = "",
    .session_token = "",
    .part_bytes = 16 << 20,
    .connections = 4,
    .connect_timeout_us = 5 * CLOCK_SECOND_US,
    .stall_timeout_us = 30 * CLOCK_SECOND_US,
    .retry_for_us = CLOCK_MINUTE_US,
    .delete_rate = 3000,
};

enum err_code store_open(const char *url, const struct store_options *options, struct store **out, struct error *err)
{
    if (strncmp(url, "file://", 7) == 0) {
        return store_file_open(url, out, err);
    }
    if (strncmp(url, "s3://", 5) == 0) {
        return store_s3_open(url, options == NULL ? &default_options : options, out, err);
    }
    return err_set(err, ERR_INVALID,
                   "expected a store url that begins with \"file://\" or \"s3://\" but found \"%.*s\"",
                   (int)strcspn(url, ":"), url);
}

void store_close(struct store *store)
{
    if (store != NULL) {
        free(TAKE(store->url));
        store->driver->close(store);
    }
}

const char *store_url(const struct store *store)
{
    return store->url;
}

/* --- objects ------------------------------------------------------------------------------------------------------ */

enum err_code store_upload_open(struct store *store, const char *key, int64_t deadline_us, struct store_upload **out,
                                struct error *err)
{
    struct store_upload *upload = NULL;
    TRY(check_key(key, err));
    TRY(store->driver->upload_open(store, key, &upload, err));
    upload->driver = store->driver;
    atomic_store(&upload->own_deadline_us, deadline_us);
    upload->deadline_us = &upload->own_deadline_us;
    *out = upload;
    return OK;
}

enum err_code store_upload_write(struct store_upload *upload, const void *data, size_t length, struct error *err)
{
    return upload->driver->upload_write(upload, data, length, err);
}

enum err_code store_upload_finish(struct store_upload *upload_take, struct store_receipt *out, struct error *err)
{
    return upload_take->driver->upload_finish(upload_take, out, err);
}

void store_upload_follow_deadline(struct store_upload *upload, const _Atomic int64_t *deadline_us)
{
    upload->deadline_us = deadline_us;
}

void store_upload_abort(struct store_upload *upload_take)
{
    if (upload_take != NULL) {
        upload_take->driver->upload_abort(upload_take);
    }
}

enum err_code store_upload_check_deadline(const struct store_upload *upload, const char *key, struct error *err)
{
    int64_t late_us = clock_monotonic_us() - atomic_load(upload->deadline_us);
    if (late_us >= 0) {
        return err_set(err, ERR_TIMEOUT, "could not finish the upload of \"%s\": its deadline passed %lld ms ago", key,
                       (long long)(late_us / 1000));
    }
    return OK;
}

enum err_code store_get(struct store *store, const char *key, uint64_t offset, size_t length, void *out,
                        struct error *err)
{
    TRY(check_key(key, err));
    return store->driver->get(store, key, offset, length, out, err);
}

enum err_code store_head(struct store *store, const char *key, struct arena *arena, struct store_object *out,
                         struct error *err)
{
    TRY(check_key(key, err));
    return store->driver->head(store, key, arena, out, err);
}

enum err_code store_list(struct store *store, const char *prefix, const char *after, size_t max, struct arena *arena,
                         struct store_object **out, size_t *out_count, bool *out_more, struct error *err)
{
    TRY(check_parts(prefix, true, err));
    return store->driver->list(store, prefix, after, max, arena, out, out_count, out_more, err);
}

/* A key that is none fails alone, like every other failure; the driver sees the others. */
enum err_code store_delete(struct store *store, const char *const *keys, size_t count,
                           struct store_delete_result *results, struct error *err)
{
    AUTO(free_auto) const char **good = calloc(count + 1, sizeof *good);
    AUTO(free_auto) struct store_delete_result *answers = calloc(count + 1, sizeof *answers);
    if (good == NULL || answers == NULL) {
        return err_no_memory(err, count * sizeof *answers);
    }
    size_t good_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (check_key(keys[i], NULL) == OK) {
            good[good_count++] = keys[i];
        }
    }
    TRY(store->driver->delete_keys(store, good, good_count, answers, err));
    size_t next = 0;
    for (size_t i = 0; i < count; i++) {
        if (next < good_count && good[next] == keys[i]) {
            results[i] = answers[next++];
        } else {
            results[i].outcome = STORE_DELETE_FAILED;
            (void)check_key(keys[i], &results[i].error);
        }
    }
    return OK;
}

static bool want_all(void *context, const char *key)
{
    (void)context;
    (void)key;
    return true;
}

enum err_code store_sweep_uploads(struct store *store, int64_t older_than_us, store_sweep_fn *wanted, void *context,
                                  size_t *out_ended, struct error *err)
{
    return store->driver->sweep_uploads(store, older_than_us, wanted == NULL ? want_all : wanted, context, out_ended,
                                        err);
}
