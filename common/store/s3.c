/* The s3:// driver. An object is an object, and its key is the store's prefix and ours. What each file is for:
 *
 *   s3_url          where the bucket is                      s3_sign         signatures (pure)
 *   s3_credentials  who we are, kept fresh                   s3_xml          answers' XML, by Expat
 *   s3_request      one request, tried again as s3_retry (pure) decides; s3_answer reads what
 *                   came back, s3_error says it in words
 *   s3_object       get, head, put, and whether what is there is what we were to write
 *   s3_upload       gathers bytes: one put, or from 64 MiB on s3_multipart
 *   s3_list         pages of keys, versions and unfinished uploads
 *   s3_sweep        ends uploads that nobody will finish
 *   s3_delete       bulk deletes, by version where there are any, at the pace of s3_rate (pure)
 *   s3_probe        what this store can do
 *
 * Nothing is kept about objects: every question goes to the store. What is learned of the store itself (its region, its
 * clock, that it cannot do this or that) stays until it is closed. */
#include "common/store/s3.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"

static enum err_code head(struct store *base, const char *key, struct arena *arena, struct store_object *out,
                          struct error *err)
{
    struct s3_store *store = (struct s3_store *)base;
    AUTO(store_s3_answer_done) struct s3_answer answer = {0};
    char whole[S3_KEY_BYTES];
    TRY(store_s3_key(store, key, whole, err));
    TRY(store_s3_head(store, whole, &answer, err));
    if (answer.status == 404) {
        return err_set(err, ERR_NOT_FOUND, "could not look at \"s3://%s/%s\": no such object", store->url.bucket,
                       whole);
    }
    struct store_object object = {
        .key = arena_strdup(arena, key),
        .size_bytes = answer.content_length,
        .modified_at_us = answer.last_modified_us,
    };
    if (object.key == NULL) {
        return err_no_memory(err, strlen(key));
    }
    memcpy(object.etag, answer.etag, sizeof object.etag);
    *out = object;
    return OK;
}

enum err_code store_s3_key(const struct s3_store *store, const char *key, char out[S3_KEY_BYTES], struct error *err)
{
    const char *prefix = store->url.prefix;
    int length = snprintf(out, S3_KEY_BYTES, "%s%s%s", prefix, *prefix == '\0' ? "" : "/", key);
    if (length < 0 || length > STORE_S3_MAX_KEY_BYTES) {
        return err_set(err, ERR_INVALID, "expected a key of at most %d bytes with its prefix but found %d",
                       STORE_S3_MAX_KEY_BYTES, length);
    }
    return OK;
}

enum s3_billing store_s3_billing_of(const struct s3_request *request)
{
    if (request->paced_keys > 0 || strcmp(request->method, "DELETE") == 0) {
        return S3_BILLED_DELETE;
    }
    bool reads = strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0;
    return reads && request->key != NULL ? S3_BILLED_READ : S3_BILLED_WRITE;
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

static void close_store(struct store *base)
{
    struct s3_store *store = (struct s3_store *)base;
    for (size_t i = 0; i < store->idle_count; i++) {
        net_client_close(store->idle[i]);
    }
    store_s3_credentials_close(store->credentials);
    arena_free(store->arena);
    (void)pthread_mutex_destroy(&store->lock);
    free(store);
}

static const struct store_driver driver = {
    .close = close_store,
    .probe = store_s3_probe,
    .upload_open = store_s3_upload_open,
    .upload_write = store_s3_upload_write,
    .upload_finish = store_s3_upload_finish,
    .upload_abort = store_s3_upload_abort,
    .get = store_s3_get,
    .head = head,
    .list = store_s3_list,
    .delete_keys = store_s3_delete,
    .sweep_uploads = store_s3_sweep,
};

static void free_unopened(struct s3_store **store)
{
    if (*store != NULL) {
        free(TAKE((*store)->base.url));
        close_store(&(*store)->base);
    }
}

static void metrics_init(struct s3_metrics *metrics, struct metrics *registry)
{
    if (registry == NULL) {
        return;
    }
    static const char *const billings[S3_BILLING_COUNT] = {
        [S3_BILLED_WRITE] = "billed=\"write\"",
        [S3_BILLED_READ] = "billed=\"read\"",
        [S3_BILLED_DELETE] = "billed=\"delete\"",
    };
    for (int i = 0; i < S3_BILLING_COUNT; i++) {
        metrics->requests[i] =
            metrics_counter(registry, "granary_store_requests_total", billings[i],
                            "Requests sent to s3:// stores, each try counted, by what they are paid for as.");
    }
    metrics->failures =
        metrics_counter(registry, "granary_store_failures_total", NULL, "Requests to s3:// stores that were given up.");
    metrics->retries =
        metrics_counter(registry, "granary_store_retries_total", NULL, "Requests to s3:// stores that were repeated.");
    metrics->throttled = metrics_counter(registry, "granary_store_throttled_total", NULL,
                                         "Answers of s3:// stores that asked for fewer requests.");
    metrics->delete_rate = metrics_gauge(registry, "granary_store_delete_rate", NULL,
                                         "Keys a second that deletes were last slowed down to; 0 until they were.");
}

enum err_code store_s3_open(const char *url, const struct store_options *options, struct store **out, struct error *err)
{
    AUTO(free_unopened) struct s3_store *store = calloc(1, sizeof *store);
    if (store == NULL) {
        return err_no_memory(err, sizeof *store);
    }
    store->base.driver = &driver;
    (void)pthread_mutex_init(&store->lock, NULL);
    store->options = *options;
    store->arena = arena_new(0);
    store->base.url = strdup(url);
    if (store->arena == NULL || store->base.url == NULL) {
        return err_no_memory(err, strlen(url));
    }
    TRY(store_s3_url_parse(url, store->arena, &store->url, err));
    TRY(store_s3_credentials_open(store->url.credentials, store->url.region, &store->options, &store->credentials,
                                  err));
    metrics_init(&store->metrics, options->metrics);
    for (size_t i = 0; i < S3_RATES; i++) {
        store_s3_rate_init(&store->rates[i], (double)options->delete_rate, clock_monotonic_us());
    }
    *out = &TAKE(store)->base;
    return OK;
}
