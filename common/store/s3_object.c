/* One object: look, read, write if absent. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/fault.h"
#include "common/base/text.h"
#include "common/store/s3.h"

enum { COMPARE_BYTES = 8 << 20 };

/* Whoever is told that a bucket is not there must not take the object for deleted. */
static enum err_code refuse_404(struct s3_store *store, const struct s3_request *request,
                                const struct s3_answer *answer, struct error *err)
{
    bool key_only = strcmp(answer->code, "NoSuchKey") == 0 || answer->code[0] == '\0';
    return store_s3_error_set(store, request, answer, key_only ? ERR_NOT_FOUND : ERR_UNAVAILABLE, err);
}

enum err_code store_s3_head(struct s3_store *store, const char *whole_key, struct s3_answer *out, struct error *err)
{
    const struct s3_request request = {.verb = "look at", .method = "HEAD", .key = whole_key};
    TRY(store_s3_send(store, &request, out, err));
    if (out->status != 200 && out->status != 404) {
        return store_s3_error_set(store, &request, out, ERR_UNAVAILABLE, err);
    }
    return OK;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static enum err_code too_short(const struct s3_store *store, const char *key, uint64_t end, uint64_t size,
                               struct error *err)
{
    return err_set(err, ERR_CORRUPT, "expected at least %llu bytes in \"s3://%s/%s\" but found %llu",
                   (unsigned long long)end, store->url.bucket, key, (unsigned long long)size);
}

/* A server may cut a range at the end of the object, or send all of it. */
static enum err_code check_range(void *context, const struct s3_answer *answer, struct error *err)
{
    uint64_t offset = *(const uint64_t *)context;
    char expected[48];
    (void)snprintf(expected, sizeof expected, "bytes %llu-", (unsigned long long)offset);
    if (answer->status == 206 && strncmp(answer->content_range, expected, strlen(expected)) != 0) {
        return err_set(err, ERR_CORRUPT, "expected \"%s\" but found \"%s\"", expected, answer->content_range);
    }
    return answer->status == 206 || offset == 0
               ? OK
               : err_set(err, ERR_CORRUPT, "expected a range of the object but found the whole");
}

static enum err_code get_range(struct s3_store *store, const char *whole_key, uint64_t offset, size_t length, void *out,
                               struct error *err)
{
    AUTO(store_s3_answer_done) struct s3_answer answer = {0};
    char range[64];
    (void)snprintf(range, sizeof range, "bytes=%llu-%llu", (unsigned long long)offset,
                   (unsigned long long)(offset + length - 1));
    const struct net_header header = {"Range", range};
    const struct s3_request request = {
        .verb = "read",
        .method = "GET",
        .key = whole_key,
        .headers = &header,
        .header_count = 1,
        .out = out,
        .out_bytes = length,
        .range_end = offset + length,
        .read = check_range,
        .context = &offset,
    };
    TRY(store_s3_send(store, &request, &answer, err));
    uint64_t size = store_s3_range_total(&answer);
    if (answer.status == 416 || size < offset + length) {
        return too_short(store, whole_key, offset + length, size == UINT64_MAX ? offset : size, err);
    }
    return answer.status == 404 ? refuse_404(store, &request, &answer, err) : OK;
}

enum err_code store_s3_get(struct store *base, const char *key, uint64_t offset, size_t length, void *out,
                           struct error *err)
{
    struct s3_store *store = (struct s3_store *)base;
    char whole[S3_KEY_BYTES];
    TRY(store_s3_key(store, key, whole, err));
    if (length > 0) {
        return get_range(store, whole, offset, length, out, err);
    }
    AUTO(store_s3_answer_done) struct s3_answer answer = {0}; /* nothing to read, but the key must be there */
    TRY(store_s3_head(store, whole, &answer, err));
    if (answer.status == 404) {
        return err_set(err, ERR_NOT_FOUND, "could not read \"s3://%s/%s\": no such object", store->url.bucket, whole);
    }
    return offset > answer.content_length ? too_short(store, whole, offset, answer.content_length, err) : OK;
}

/* --- what is there ------------------------------------------------------------------------------------------------ */

static enum err_code hash_object(struct s3_store *store, const char *whole_key, uint64_t size_bytes,
                                 uint8_t out[DIGEST_SHA256_BYTES], struct error *err)
{
    AUTO(digest_sha256_stream_free_auto) struct digest_sha256_stream *hash = digest_sha256_stream_new();
    AUTO(free_auto) void *piece = malloc(COMPARE_BYTES);
    if (hash == NULL || piece == NULL) {
        return err_no_memory(err, COMPARE_BYTES);
    }
    for (uint64_t offset = 0; offset < size_bytes;) {
        uint64_t left = size_bytes - offset;
        size_t length = left < COMPARE_BYTES ? (size_t)left : COMPARE_BYTES;
        TRY(get_range(store, whole_key, offset, length, piece, err));
        digest_sha256_stream_update(hash, piece, length);
        offset += length;
    }
    digest_sha256_stream_finish(hash, out);
    return OK;
}

enum err_code store_s3_compare(struct s3_store *store, const char *whole_key, uint64_t size_bytes,
                               const uint8_t sha256[DIGEST_SHA256_BYTES], struct store_receipt *out, struct error *err)
{
    AUTO(store_s3_answer_done) struct s3_answer answer = {0};
    uint8_t found[DIGEST_SHA256_BYTES];
    TRY(store_s3_head(store, whole_key, &answer, err));
    if (answer.status == 404) {
        return err_set(err, ERR_NOT_FOUND, "could not find \"s3://%s/%s\"", store->url.bucket, whole_key);
    }
    bool equal = answer.content_length == size_bytes;
    if (equal && !text_hex_decode(answer.sha256, strlen(answer.sha256), found, sizeof found)) {
        TRY(hash_object(store, whole_key, size_bytes, found, err)); /* of several parts, or not by us */
    }
    if (!equal || memcmp(found, sha256, sizeof found) != 0) {
        return err_set(err, ERR_CONFLICT, "expected no object \"s3://%s/%s\" but found one with other bytes (%llu)",
                       store->url.bucket, whole_key, (unsigned long long)answer.content_length);
    }
    *out = (struct store_receipt){.size_bytes = size_bytes};
    memcpy(out->sha256, sha256, sizeof out->sha256);
    memcpy(out->etag, answer.etag, sizeof out->etag);
    return OK;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

struct put {
    const void *data;
    size_t length;
    const uint8_t *sha256;
    const _Atomic int64_t *deadline_us;
    bool conditional;
};

static enum err_code put_once(struct s3_store *store, const char *whole_key, const struct put *put,
                              struct s3_answer *out, struct error *err)
{
    AUTO(buf_done) struct buf checksum = {0};
    char hex[DIGEST_SHA256_TEXT_BYTES];
    text_hex_encode(put->sha256, DIGEST_SHA256_BYTES, hex);
    TRY(buf_append_base64(&checksum, put->sha256, DIGEST_SHA256_BYTES, err));
    const char *checksum_text = buf_text(&checksum);
    if (checksum_text == NULL) {
        return err_no_memory(err, checksum.length_bytes);
    }
    const struct net_header headers[] = {
        {"Content-Type", "application/octet-stream"},
        {"x-amz-meta-granary-sha256", hex},
        {"x-amz-checksum-sha256", checksum_text},
        {"If-None-Match", "*"},
    };
    const struct s3_request request = {
        .verb = "write",
        .method = "PUT",
        .key = whole_key,
        .headers = headers,
        .header_count = sizeof headers / sizeof *headers - (put->conditional ? 0 : 1),
        .body = put->data == NULL ? "" : put->data,
        .body_bytes = put->length,
        .body_sha256 = hex,
        .deadline_us = put->deadline_us,
    };
    FAULT_POINT("s3.before_put");
    TRY(store_s3_send(store, &request, out, err));
    FAULT_POINT("s3.after_put");
    if (out->status != 412 && (out->status < 200 || out->status >= 300)) {
        return store_s3_error_set(store, &request, out, ERR_UNAVAILABLE, err);
    }
    if (out->checksum[0] != '\0' && strcmp(out->checksum, checksum_text) != 0) {
        return err_set(err, ERR_CORRUPT, "expected the checksum %s of \"s3://%s/%s\" after writing it but found %s",
                       checksum_text, store->url.bucket, whole_key, out->checksum);
    }
    return OK;
}

/* The key is taken, and nobody knows yet by what: it may be this very upload, whose first answer was lost. */
static enum err_code settle_taken(struct s3_store *store, const char *whole_key, const struct put *put,
                                  struct store_receipt *out, struct error *err)
{
    enum err_code code = store_s3_compare(store, whole_key, put->length, put->sha256, out, err);
    if (code == ERR_NOT_FOUND) {
        return err_set(err, ERR_UNAVAILABLE, "could not write \"s3://%s/%s\": it was there, and then was not",
                       store->url.bucket, whole_key);
    }
    return code;
}

static enum err_code put_conditional(struct s3_store *store, const char *whole_key, struct put *put,
                                     struct store_receipt *out, struct s3_answer *answer, struct error *err)
{
    put->conditional = atomic_load(&store->conditional) != S3_CONDITIONAL_MISSING;
    enum err_code code = put_once(store, whole_key, put, answer, err);
    if (code != OK && answer->status == 501 && put->conditional) {
        atomic_store(&store->conditional, S3_CONDITIONAL_MISSING);
        put->conditional = false;
        code = put_once(store, whole_key, put, answer, err);
    }
    TRY(code);
    if (answer->status == 412) {
        atomic_store(&store->conditional, S3_CONDITIONAL_WORKS);
        return settle_taken(store, whole_key, put, out, err);
    }
    *out = (struct store_receipt){.size_bytes = put->length};
    memcpy(out->sha256, put->sha256, sizeof out->sha256);
    memcpy(out->etag, answer->etag, sizeof out->etag);
    return OK;
}

enum err_code store_s3_put(struct s3_store *store, const char *whole_key, const void *data, size_t length,
                           const uint8_t sha256[DIGEST_SHA256_BYTES], const _Atomic int64_t *deadline_us,
                           struct store_receipt *out, struct error *err)
{
    AUTO(store_s3_answer_done) struct s3_answer answer = {0};
    struct put put = {.data = data, .length = length, .sha256 = sha256, .deadline_us = deadline_us};
    if (atomic_load(&store->conditional) != S3_CONDITIONAL_WORKS) {
        enum err_code code = store_s3_compare(store, whole_key, length, sha256, out, err);
        if (code != ERR_NOT_FOUND) {
            return code;
        }
    }
    return put_conditional(store, whole_key, &put, out, &answer, err);
}
