#include "common/store/s3_sign.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/digest/digest.h"

#define ALGORITHM "AWS4-HMAC-SHA256"
enum { DATE_ONLY_BYTES = 8, MAX_EXPIRES_S = 604800, QUERY_PAIRS = 6 };

char *store_s3_sign_date(int64_t time_us, char text[STORE_S3_DATE_BYTES])
{
    const struct civil_time time = clock_civil_from_us(time_us);
    (void)snprintf(text, STORE_S3_DATE_BYTES, "%04u%02u%02uT%02u%02u%02uZ", (unsigned)time.year % 10000,
                   time.month % 100U, time.day % 100U, time.hour % 100U, time.minute % 100U, time.second % 100U);
    return text;
}

/* --- path and query ----------------------------------------------------------------------------------------------- */

static enum err_code append_path(const char *path, struct buf *out, struct error *err)
{
    AUTO(buf_done) struct buf part = {0};
    for (const char *at = path; *at != '\0';) {
        size_t length = strcspn(at, "/");
        buf_clear(&part);
        TRY(buf_append(&part, at, length, err));
        const char *text = buf_text(&part);
        if (text == NULL) {
            return err_no_memory(err, length);
        }
        TRY(net_url_escape(text, out, err));
        at += length;
        for (; *at == '/'; at++) {
            TRY(buf_append_byte(out, '/', err));
        }
    }
    return OK;
}

static int compare_pairs(const void *a, const void *b)
{
    const struct net_header *x = a;
    const struct net_header *y = b;
    int order = strcmp(x->name, y->name);
    return order != 0 ? order : strcmp(x->value, y->value);
}

static enum err_code encode(const char *text, struct arena *arena, const char **out, struct error *err)
{
    AUTO(buf_done) struct buf encoded = {0};
    TRY(net_url_escape(text, &encoded, err));
    *out = arena_strndup(arena, encoded.data == NULL ? "" : (const char *)encoded.data, encoded.length_bytes);
    return *out == NULL ? err_no_memory(err, encoded.length_bytes) : OK;
}

/* The order is that of the names as they are sent: '%' sorts before what is not encoded. */
static enum err_code append_query(const struct s3_signing *signing, struct buf *out, struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct net_header pairs[STORE_S3_SIGN_MAX_PAIRS];
    if (arena == NULL) {
        return err_no_memory(err, sizeof pairs);
    }
    for (size_t i = 0; i < signing->query_count; i++) {
        TRY(encode(signing->query[i].name, arena, &pairs[i].name, err));
        TRY(encode(signing->query[i].value, arena, &pairs[i].value, err));
    }
    qsort(pairs, signing->query_count, sizeof *pairs, compare_pairs);
    for (size_t i = 0; i < signing->query_count; i++) {
        TRY(buf_printf(out, err, "%s%s=%s", i == 0 ? "" : "&", pairs[i].name, pairs[i].value));
    }
    return OK;
}

static enum err_code check_counts(const struct s3_signing *signing, size_t more, struct error *err)
{
    if (signing->query_count + more > STORE_S3_SIGN_MAX_PAIRS || signing->header_count > STORE_S3_SIGN_MAX_PAIRS) {
        return err_set(err, ERR_INVALID, "expected at most %d query parameters and headers to sign",
                       STORE_S3_SIGN_MAX_PAIRS);
    }
    return OK;
}

enum err_code store_s3_sign_target(const struct s3_signing *signing, struct buf *out, struct error *err)
{
    TRY(check_counts(signing, 0, err));
    TRY(append_path(signing->path, out, err));
    if (signing->query_count == 0) {
        return OK;
    }
    TRY(buf_append_byte(out, '?', err));
    return append_query(signing, out, err);
}

/* --- headers ------------------------------------------------------------------------------------------------------ */

/* By name, whatever its case; headers of one name stay in their order, as qsort alone would not promise. */
static void sort_headers(const struct s3_signing *signing, const struct net_header **out)
{
    for (size_t i = 0; i < signing->header_count; i++) {
        size_t at = i;
        for (; at > 0 && strcasecmp(out[at - 1]->name, signing->headers[i].name) > 0; at--) {
            out[at] = out[at - 1];
        }
        out[at] = &signing->headers[i];
    }
}

/* Without blanks at the ends, and one for each run of them within. */
static enum err_code append_value(const char *value, struct buf *out, struct error *err)
{
    bool blank = false;
    bool begun = false;
    for (; *value != '\0'; value++) {
        if (isspace((unsigned char)*value)) {
            blank = begun;
            continue;
        }
        if (blank) {
            TRY(buf_append_byte(out, ' ', err));
        }
        TRY(buf_append_byte(out, (uint8_t)*value, err));
        blank = false;
        begun = true;
    }
    return OK;
}

static enum err_code append_lower(const char *name, struct buf *out, struct error *err)
{
    for (; *name != '\0'; name++) {
        TRY(buf_append_byte(out, (uint8_t)tolower((unsigned char)*name), err));
    }
    return OK;
}

static enum err_code append_headers(const struct s3_signing *signing, struct buf *out, struct error *err)
{
    const struct net_header *sorted[STORE_S3_SIGN_MAX_PAIRS];
    sort_headers(signing, sorted);
    for (size_t i = 0; i < signing->header_count; i++) {
        bool repeated = i > 0 && strcasecmp(sorted[i - 1]->name, sorted[i]->name) == 0;
        if (!repeated) {
            TRY(append_lower(sorted[i]->name, out, err));
        }
        TRY(buf_append_byte(out, repeated ? ',' : ':', err));
        TRY(append_value(sorted[i]->value, out, err));
        if (i + 1 == signing->header_count || strcasecmp(sorted[i]->name, sorted[i + 1]->name) != 0) {
            TRY(buf_append_byte(out, '\n', err));
        }
    }
    return OK;
}

static enum err_code append_names(const struct s3_signing *signing, struct buf *out, struct error *err)
{
    const struct net_header *sorted[STORE_S3_SIGN_MAX_PAIRS];
    sort_headers(signing, sorted);
    for (size_t i = 0; i < signing->header_count; i++) {
        if (i > 0 && strcasecmp(sorted[i - 1]->name, sorted[i]->name) == 0) {
            continue;
        }
        if (i > 0) {
            TRY(buf_append_byte(out, ';', err));
        }
        TRY(append_lower(sorted[i]->name, out, err));
    }
    return OK;
}

/* --- signature ---------------------------------------------------------------------------------------------------- */

enum err_code store_s3_sign_canonical(const struct s3_signing *signing, struct buf *out, struct error *err)
{
    TRY(check_counts(signing, 0, err));
    TRY(buf_printf(out, err, "%s\n", signing->method));
    TRY(append_path(signing->path, out, err));
    TRY(buf_append_byte(out, '\n', err));
    TRY(append_query(signing, out, err));
    TRY(buf_append_byte(out, '\n', err));
    TRY(append_headers(signing, out, err));
    TRY(buf_append_byte(out, '\n', err));
    TRY(append_names(signing, out, err));
    return buf_printf(out, err, "\n%s", signing->payload_hash);
}

static void derive(uint8_t key[DIGEST_SHA256_BYTES], const char *text, size_t length)
{
    uint8_t next[DIGEST_SHA256_BYTES];
    digest_hmac_sha256(key, DIGEST_SHA256_BYTES, text, length, next);
    memcpy(key, next, sizeof next);
}

/* The signature in hex. */
static enum err_code sign(const struct s3_signing *signing, char out[DIGEST_SHA256_TEXT_BYTES], struct error *err)
{
    AUTO(buf_done) struct buf canonical = {0};
    AUTO(buf_done) struct buf text = {0};
    AUTO(buf_done) struct buf secret = {0};
    char date[STORE_S3_DATE_BYTES];
    uint8_t hash[DIGEST_SHA256_BYTES];
    uint8_t key[DIGEST_SHA256_BYTES];
    TRY(store_s3_sign_canonical(signing, &canonical, err));
    digest_sha256(canonical.data, canonical.length_bytes, hash);
    text_hex_encode(hash, sizeof hash, out);
    (void)store_s3_sign_date(signing->time_us, date);
    TRY(buf_printf(&text, err, ALGORITHM "\n%s\n%.8s/%s/%s/aws4_request\n%s", date, date, signing->region,
                   signing->service, out));
    TRY(buf_printf(&secret, err, "AWS4%s", signing->secret_access_key));
    digest_hmac_sha256(secret.data, secret.length_bytes, date, DATE_ONLY_BYTES, key);
    derive(key, signing->region, strlen(signing->region));
    derive(key, signing->service, strlen(signing->service));
    derive(key, "aws4_request", strlen("aws4_request"));
    derive(key, (const char *)text.data, text.length_bytes);
    text_hex_encode(key, sizeof key, out);
    explicit_bzero(secret.data, secret.length_bytes);
    return OK;
}

enum err_code store_s3_sign_header(const struct s3_signing *signing, struct buf *out, struct error *err)
{
    char date[STORE_S3_DATE_BYTES];
    char signature[DIGEST_SHA256_TEXT_BYTES];
    TRY(sign(signing, signature, err));
    TRY(buf_printf(out, err, ALGORITHM " Credential=%s/%.8s/%s/%s/aws4_request, SignedHeaders=", signing->access_key_id,
                   store_s3_sign_date(signing->time_us, date), signing->region, signing->service));
    TRY(append_names(signing, out, err));
    return buf_printf(out, err, ", Signature=%s", signature);
}

enum err_code store_s3_sign_query(const struct s3_signing *signing, int64_t expires_s, struct buf *out,
                                  struct error *err)
{
    if (expires_s < 1 || expires_s > MAX_EXPIRES_S) {
        return err_set(err, ERR_INVALID, "expected 1 to %d seconds but found %lld", MAX_EXPIRES_S,
                       (long long)expires_s);
    }
    TRY(check_counts(signing, QUERY_PAIRS, err));
    AUTO(buf_done) struct buf scope = {0};
    AUTO(buf_done) struct buf names = {0};
    struct net_header query[STORE_S3_SIGN_MAX_PAIRS];
    struct s3_signing whole = *signing;
    char date[STORE_S3_DATE_BYTES];
    char seconds[24];
    char signature[DIGEST_SHA256_TEXT_BYTES];
    (void)snprintf(seconds, sizeof seconds, "%lld", (long long)expires_s);
    TRY(buf_printf(&scope, err, "%s/%.8s/%s/%s/aws4_request", signing->access_key_id,
                   store_s3_sign_date(signing->time_us, date), signing->region, signing->service));
    TRY(append_names(signing, &names, err));
    const char *scope_text = buf_text(&scope);
    const char *names_text = buf_text(&names);
    if (scope_text == NULL || names_text == NULL) {
        return err_no_memory(err, 1);
    }
    const struct net_header added[QUERY_PAIRS] = {
        {"X-Amz-Algorithm", ALGORITHM},
        {"X-Amz-Credential", scope_text},
        {"X-Amz-Date", date},
        {"X-Amz-Expires", seconds},
        {"X-Amz-SignedHeaders", names_text},
        {"X-Amz-Security-Token", signing->session_token},
    };
    for (size_t i = 0; i < signing->query_count; i++) {
        query[i] = signing->query[i];
    }
    whole.query = query;
    for (size_t i = 0; i < (*signing->session_token == '\0' ? QUERY_PAIRS - 1 : QUERY_PAIRS); i++) {
        query[whole.query_count++] = added[i];
    }
    TRY(sign(&whole, signature, err));
    TRY(store_s3_sign_target(&whole, out, err));
    return buf_printf(out, err, "&X-Amz-Signature=%s", signature);
}
