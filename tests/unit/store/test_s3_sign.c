/* The vectors of awslabs/aws-c-auth, from the place that VECTORS_DIR names. Those that normalise paths do not apply where
 * that changes something: S3 takes paths as they are. */
#include <assert.h>
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/digest/digest.h"
#include "common/json/json.h"
#include "common/store/s3_sign.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *vectors_dir(void)
{
    const char *dir = getenv("VECTORS_DIR");
    return dir == NULL ? "../shared/vectors" : dir;
}

/* --- a case ------------------------------------------------------------------------------------------------------- */

struct vector {
    struct arena *arena;
    struct json *context;
    struct s3_signing signing;
    struct net_header query[16], headers[16];
    size_t header_count;
    char hash[DIGEST_SHA256_TEXT_BYTES];
    char date[STORE_S3_DATE_BYTES];
    bool normalize, sign_body;
    int64_t expires_s;
};

static void vector_done(struct vector *vector)
{
    json_free(vector->context);
    arena_free(vector->arena);
}

/* NULL: absent. Without the newline that some end in. */
static char *read_text(struct arena *arena, const char *name, const char *file)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/sigv4/%s/%s", vectors_dir(), name, file);
    FILE *in = fopen(path, "re");
    if (in == NULL) {
        return NULL;
    }
    char text[16384];
    size_t length = fread(text, 1, sizeof text, in);
    (void)fclose(in);
    return arena_strndup(arena, text, length);
}

static void trim_end(char *text)
{
    size_t length = strlen(text);
    while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == '\r')) {
        text[--length] = '\0';
    }
}

static void decode(char *text)
{
    char *out = text;
    for (; *text != '\0'; text++) {
        unsigned byte = 0;
        if (*text == '%' && sscanf(text + 1, "%2x", &byte) == 1) {
            *out++ = (char)byte;
            text += 2;
        } else {
            *out++ = *text;
        }
    }
    *out = '\0';
}

static void parse_query(struct vector *vector, char *query)
{
    size_t count = 0;
    char *state = NULL;
    for (char *pair = strtok_r(query, "&", &state); pair != NULL; pair = strtok_r(NULL, "&", &state)) {
        char *value = strchr(pair, '=');
        if (value == NULL) {
            value = pair + strlen(pair);
        } else {
            *value++ = '\0';
        }
        decode(pair);
        decode(value);
        vector->query[count++] = (struct net_header){pair, value};
    }
    vector->signing.query = vector->query;
    vector->signing.query_count = count;
}

/* "GET /path?query HTTP/1.1": the path may hold blanks. */
static void parse_line(struct vector *vector, char *line)
{
    char *target = strchr(line, ' ') + 1;
    target[-1] = '\0';
    *strstr(target, " HTTP/1.1") = '\0';
    char *query = strchr(target, '?');
    if (query != NULL) {
        *query++ = '\0';
        parse_query(vector, query);
    }
    decode(target);
    vector->signing.method = line;
    vector->signing.path = target;
}

static void parse_request(struct vector *vector, char *text)
{
    char *body = strstr(text, "\n\n");
    if (body != NULL) {
        *body = '\0';
        body += 2;
    }
    digest_sha256(body == NULL ? "" : body, body == NULL ? 0 : strlen(body), (uint8_t *)vector->hash);
    uint8_t hash[DIGEST_SHA256_BYTES];
    memcpy(hash, vector->hash, sizeof hash);
    text_hex_encode(hash, sizeof hash, vector->hash);
    char *at = text + strspn(text, "\n");
    char *end = strchr(at, '\n');
    char *next = end == NULL ? at + strlen(at) : end + 1;
    if (end != NULL) {
        *end = '\0';
    }
    parse_line(vector, at);
    while (*next != '\0') {
        at = next;
        for (end = strchr(at, '\n'); end != NULL && (end[1] == ' ' || end[1] == '\t'); end = strchr(end + 1, '\n')) {
        }
        next = end == NULL ? at + strlen(at) : end + 1;
        if (end != NULL) {
            *end = '\0';
        }
        char *colon = strchr(at, ':');
        *colon = '\0';
        vector->headers[vector->header_count++] = (struct net_header){at, colon + 1};
    }
    vector->signing.headers = vector->headers;
}

static void parse_context(struct vector *vector, const char *text)
{
    struct json *credentials = NULL;
    const char *timestamp = NULL;
    bool omit = false;
    struct s3_signing *signing = &vector->signing;
    assert_int_equal(json_parse(text, strlen(text), NULL, &vector->context, NULL), OK);
    assert_int_equal(json_get_object(vector->context, NULL, "credentials", &credentials, NULL), OK);
    assert_int_equal(json_get_string(credentials, NULL, "access_key_id", &signing->access_key_id, NULL), OK);
    assert_int_equal(json_get_string(credentials, NULL, "secret_access_key", &signing->secret_access_key, NULL), OK);
    signing->session_token = "";
    assert_int_equal(json_opt_bool(vector->context, NULL, "omit_session_token", &omit, NULL), OK);
    if (!omit) {
        assert_int_equal(json_opt_string(credentials, NULL, "token", &signing->session_token, NULL), OK);
    }
    assert_int_equal(json_get_string(vector->context, NULL, "region", &signing->region, NULL), OK);
    assert_int_equal(json_get_string(vector->context, NULL, "service", &signing->service, NULL), OK);
    assert_int_equal(json_get_bool(vector->context, NULL, "normalize", &vector->normalize, NULL), OK);
    assert_int_equal(json_get_bool(vector->context, NULL, "sign_body", &vector->sign_body, NULL), OK);
    assert_int_equal(json_get_i64(vector->context, NULL, "expiration_in_seconds", 1, 604800, &vector->expires_s, NULL),
                     OK);
    assert_int_equal(json_get_string(vector->context, NULL, "timestamp", &timestamp, NULL), OK);
    assert_int_equal(clock_parse(timestamp, strlen(timestamp), &signing->time_us, NULL), OK);
}

/* A path that normalising would change. */
static bool is_normal(const char *path)
{
    return strstr(path, "//") == NULL && strstr(path, "/.") == NULL;
}

static void load(struct vector *vector, const char *name)
{
    vector->arena = arena_new(0);
    assert_non_null(vector->arena);
    char *context = read_text(vector->arena, name, "context.json");
    char *request = read_text(vector->arena, name, "request.txt");
    assert_non_null(context);
    assert_non_null(request);
    parse_context(vector, context);
    parse_request(vector, request);
    vector->signing.payload_hash = vector->hash;
    vector->signing.header_count = vector->header_count;
}

/* --- against it --------------------------------------------------------------------------------------------------- */

static void assert_file(struct vector *vector, const char *name, const char *file, const char *found)
{
    char *expected = read_text(vector->arena, name, file);
    assert_non_null(expected);
    trim_end(expected);
    if (strcmp(expected, found) != 0) {
        print_message("%s/%s\n", name, file);
    }
    assert_string_equal(found, expected);
}

static void check_header(struct vector *vector, const char *name)
{
    AUTO(buf_done) struct buf canonical = {0};
    AUTO(buf_done) struct buf authorization = {0};
    struct s3_signing signing = vector->signing;
    struct net_header headers[COUNT(vector->headers) + 3];
    memcpy(headers, vector->headers, sizeof vector->headers);
    signing.headers = headers;
    headers[signing.header_count++] =
        (struct net_header){"X-Amz-Date", store_s3_sign_date(signing.time_us, vector->date)};
    if (vector->sign_body) {
        headers[signing.header_count++] = (struct net_header){"X-Amz-Content-Sha256", vector->hash};
    }
    if (*signing.session_token != '\0') {
        headers[signing.header_count++] = (struct net_header){"X-Amz-Security-Token", signing.session_token};
    }
    assert_int_equal(store_s3_sign_canonical(&signing, &canonical, NULL), OK);
    assert_file(vector, name, "header-canonical-request.txt", buf_text(&canonical));
    assert_int_equal(store_s3_sign_header(&signing, &authorization, NULL), OK);
    assert_file(vector, name, "header-signature.txt", strstr(buf_text(&authorization), "Signature=") + 10);
}

static void check_query(struct vector *vector, const char *name)
{
    AUTO(buf_done) struct buf target = {0};
    assert_int_equal(store_s3_sign_query(&vector->signing, vector->expires_s, &target, NULL), OK);
    assert_file(vector, name, "query-signature.txt", strstr(buf_text(&target), "X-Amz-Signature=") + 16);
}

static void every_vector_that_applies_comes_out_as_it_says(void **state)
{
    (void)state;
    char path[512];
    unsigned applied = 0;
    unsigned other = 0;
    (void)snprintf(path, sizeof path, "%s/sigv4", vectors_dir());
    DIR *folder = opendir(path);
    if (folder == NULL) {
        print_message("no test vectors: \"sigv4\" is not in \"%s\"; hint: set VECTORS_DIR\n", vectors_dir());
        skip();
    }
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (entry->d_name[0] == '.' || entry->d_type == DT_REG) {
            continue;
        }
        AUTO(vector_done) struct vector vector = {0};
        load(&vector, entry->d_name);
        if (vector.normalize && !is_normal(vector.signing.path)) {
            other++;
            continue;
        }
        check_header(&vector, entry->d_name);
        check_query(&vector, entry->d_name);
        applied++;
    }
    (void)closedir(folder);
    print_message("%u vectors applied, %u are about normalised paths\n", applied, other);
    assert_int_equal(applied, 32);
    assert_int_equal(other, 6);
}

/* --- what S3 does besides ------------------------------------------------------------------------------------------ */

static const struct s3_signing plain = {
    .method = "GET",
    .path = "/",
    .payload_hash = STORE_S3_UNSIGNED,
    .region = "eu-west-1",
    .service = "s3",
    .access_key_id = "id",
    .secret_access_key = "secret",
    .session_token = "",
    .time_us = 0,
};

static void paths_and_queries_are_encoded_once_and_sorted_as_encoded(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        struct net_header query[3];
        size_t count;
        const char *target;
    } cases[] = {
        {"/b/a b+c%d&e=f//g/./h/..", {{0}}, 0, "/b/a%20b%2Bc%25d%26e%3Df//g/./h/.."},
        {"/b/\xc3\xa4~-_.", {{0}}, 0, "/b/%C3%A4~-_."},
        {"/b", {{"uploads", ""}}, 1, "/b?uploads="},
        {"/b", {{"b", "2"}, {"a", "/+ "}, {"a", "%"}}, 3, "/b?a=%25&a=%2F%2B%20&b=2"},
        {"/b", {{"a-", "1"}, {"a", "2"}, {"a\xc3\xa4", "3"}}, 3, "/b?a=2&a%C3%A4=3&a-=1"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(buf_done) struct buf target = {0};
        struct s3_signing signing = plain;
        signing.path = cases[i].path;
        signing.query = cases[i].query;
        signing.query_count = cases[i].count;
        assert_int_equal(store_s3_sign_target(&signing, &target, NULL), OK);
        assert_string_equal(buf_text(&target), cases[i].target);
    }
}

static void a_signed_link_carries_all_that_it_needs(void **state)
{
    (void)state;
    AUTO(buf_done) struct buf target = {0};
    const struct net_header host = {"Host", "h"};
    struct s3_signing signing = plain;
    struct error err = {0};
    signing.path = "/b/k";
    signing.headers = &host;
    signing.header_count = 1;
    signing.session_token = "to/ken";
    assert_int_equal(store_s3_sign_query(&signing, 60, &target, NULL), OK);
    assert_non_null(strstr(buf_text(&target),
                           "/b/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=id%2F19700101%2F"
                           "eu-west-1%2Fs3%2Faws4_request&X-Amz-Date=19700101T000000Z&X-Amz-Expires=60"
                           "&X-Amz-Security-Token=to%2Fken&X-Amz-SignedHeaders=host&X-Amz-Signature="));
    static const int64_t bad[] = {0, -1, 604801};
    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_int_equal(store_s3_sign_query(&signing, bad[i], &target, &err), ERR_INVALID);
        assert_non_null(strstr(err.text, "expected 1 to 604800 seconds"));
    }
}

static void too_much_to_sign_is_refused(void **state)
{
    (void)state;
    AUTO(buf_done) struct buf out = {0};
    struct net_header many[STORE_S3_SIGN_MAX_PAIRS + 1];
    struct s3_signing signing = plain;
    for (size_t i = 0; i < COUNT(many); i++) {
        many[i] = (struct net_header){"a", "b"};
    }
    signing.headers = many;
    signing.header_count = COUNT(many);
    assert_int_equal(store_s3_sign_header(&signing, &out, NULL), ERR_INVALID);
    assert_int_equal(out.length_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_vector_that_applies_comes_out_as_it_says),
        cmocka_unit_test(paths_and_queries_are_encoded_once_and_sorted_as_encoded),
        cmocka_unit_test(a_signed_link_carries_all_that_it_needs),
        cmocka_unit_test(too_much_to_sign_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
