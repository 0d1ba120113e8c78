#include "common/store/s3_url.h"

#include <stdlib.h>
#include <string.h>

#define SCHEME    "s3://"
#define HOST_FORM "expected endpoint=https://host or http://host, with a port where needed, but found \"%.200s\""
enum { MAX_BUCKET = 63, MIN_BUCKET = 3, MAX_PREFIX_BYTES = 512, MAX_REGION = 32 };

static bool only_has(const char *text, size_t length, const char *characters)
{
    return strspn(text, characters) >= length;
}

#define LOWER  "abcdefghijklmnopqrstuvwxyz"
#define UPPER  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

/* Names that are hosts too; underscores and capitals are older than that rule, and only for paths. */
static enum err_code check_bucket(const struct s3_url *url, struct error *err)
{
    size_t length = strlen(url->bucket);
    const char *characters = url->path_style ? LOWER UPPER DIGITS ".-_" : LOWER DIGITS ".-";
    if (length < MIN_BUCKET || length > MAX_BUCKET || !only_has(url->bucket, length, characters) ||
        strchr(".-_", url->bucket[0]) != NULL) {
        return err_set(err, ERR_INVALID,
                       "expected a bucket of %d to %d lower-case letters, digits, '-' and '.' but found \"%.200s\"",
                       MIN_BUCKET, MAX_BUCKET, url->bucket);
    }
    return OK;
}

/* Parts of it are parts of keys, for which store.c has the same rules. */
static enum err_code check_prefix(const char *prefix, struct error *err)
{
    bool good = strlen(prefix) <= MAX_PREFIX_BYTES && only_has(prefix, strlen(prefix), LOWER UPPER DIGITS "/!-_.*'()=");
    for (const char *part = prefix; good && *prefix != '\0'; part++) {
        size_t length = strcspn(part, "/");
        good = length > 0 && part[0] != '.';
        part += length;
        if (*part == '\0') {
            break;
        }
    }
    if (!good) {
        return err_set(
            err, ERR_INVALID,
            "expected a prefix of letters, digits and any of -_.!*'()= between single slashes, no part of which "
            "begins with a dot, but found \"%.200s\"",
            prefix);
    }
    return OK;
}

static enum err_code check_region(const char *region, struct error *err)
{
    size_t length = strlen(region);
    if (length == 0 || length > MAX_REGION || !only_has(region, length, LOWER UPPER DIGITS "-")) {
        return err_set(err, ERR_INVALID, "expected a region such as \"eu-west-1\" but found \"%.100s\"", region);
    }
    return OK;
}

static const char *environment(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value == NULL || *value == '\0' ? otherwise : value;
}

/* "https://host:port/" */
static enum err_code set_endpoint(struct s3_url *url, const char *endpoint, struct arena *arena, struct error *err)
{
    bool tls = strncmp(endpoint, "https://", 8) == 0;
    if (!tls && strncmp(endpoint, "http://", 7) != 0) {
        return err_set(err, ERR_INVALID, HOST_FORM, endpoint);
    }
    const char *host = endpoint + (tls ? 8 : 7);
    size_t length = strcspn(host, "/");
    if (length == 0 || (host[length] == '/' && host[length + 1] != '\0') ||
        !only_has(host, length, LOWER UPPER DIGITS ".-_:[]")) {
        return err_set(err, ERR_INVALID, HOST_FORM, endpoint);
    }
    url->scheme = tls ? "https" : "http";
    url->host = arena_strndup(arena, host, length);
    return url->host == NULL ? err_no_memory(err, length) : OK;
}

enum err_code store_s3_url_set_region(struct s3_url *url, const char *region, struct arena *arena, struct error *err)
{
    TRY(check_region(region, err));
    const char *copy = arena_strdup(arena, region);
    const char *suffix = strncmp(region, "cn-", 3) == 0 ? ".cn" : "";
    const char *host = url->aws ? arena_printf(arena, "s3.%s.amazonaws.com%s", region, suffix) : url->host;
    if (copy == NULL || host == NULL) {
        return err_no_memory(err, strlen(region));
    }
    url->region = copy;
    url->host = host;
    return OK;
}

/* --- parameters --------------------------------------------------------------------------------------------------- */

struct parameters {
    const char *region;
    const char *endpoint;
    const char *addressing;
    const char *credentials;
    const char *versions;
};

static const char **find_parameter(struct parameters *parameters, const char *name, size_t length)
{
    const struct {
        const char *name;
        const char **value;
    } all[] = {
        {"region", &parameters->region},         {"endpoint", &parameters->endpoint},
        {"addressing", &parameters->addressing}, {"credentials", &parameters->credentials},
        {"versions", &parameters->versions},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (strlen(all[i].name) == length && strncmp(all[i].name, name, length) == 0) {
            return all[i].value;
        }
    }
    return NULL;
}

static enum err_code read_parameters(const char *query, struct arena *arena, struct parameters *out, struct error *err)
{
    for (const char *at = query; *at != '\0';) {
        size_t length = strcspn(at, "&");
        size_t name_length = strcspn(at, "=&");
        const char **value = find_parameter(out, at, name_length);
        if (value == NULL || name_length == length || *value != NULL) {
            return err_set(
                err, ERR_INVALID,
                "expected each of region, endpoint, addressing, credentials and versions once at most, with a "
                "value, but found \"%.*s\"",
                (int)(length < 100 ? length : 100), at);
        }
        *value = arena_strndup(arena, at + name_length + 1, length - name_length - 1);
        if (*value == NULL) {
            return err_no_memory(err, length);
        }
        at += length + (at[length] == '&');
    }
    return OK;
}

static enum err_code choose(const char *value, const char *name, const char *yes, const char *no, bool otherwise,
                            bool *out, struct error *err)
{
    if (value != NULL && strcmp(value, yes) != 0 && strcmp(value, no) != 0) {
        return err_set(err, ERR_INVALID, "expected %s=%s or %s=%s but found \"%.100s\"", name, yes, name, no, value);
    }
    *out = value == NULL ? otherwise : strcmp(value, yes) == 0;
    return OK;
}

static enum err_code check_credentials(const char *name, struct error *err)
{
    if (!only_has(name, strlen(name), LOWER UPPER DIGITS "-_.") || name[0] == '.') {
        return err_set(err, ERR_INVALID,
                       "expected credentials=name, of letters, digits, '-', '_' and '.', but found \"%.100s\"", name);
    }
    return OK;
}

static enum err_code apply(const struct parameters *parameters, struct arena *arena, struct s3_url *url,
                           struct error *err)
{
    const char *region = parameters->region != NULL
                             ? parameters->region
                             : environment("AWS_REGION", environment("AWS_DEFAULT_REGION", "us-east-1"));
    const char *endpoint = parameters->endpoint != NULL
                               ? parameters->endpoint
                               : environment("AWS_ENDPOINT_URL_S3", environment("AWS_ENDPOINT_URL", NULL));
    url->aws = endpoint == NULL;
    url->scheme = "https";
    if (endpoint != NULL) {
        TRY(set_endpoint(url, endpoint, arena, err));
    }
    TRY(store_s3_url_set_region(url, region, arena, err));
    /* A dot in a virtual host is not covered by a certificate for *.host. */
    TRY(choose(parameters->addressing, "addressing", "path", "virtual", !url->aws || strchr(url->bucket, '.') != NULL,
               &url->path_style, err));
    TRY(choose(parameters->versions, "versions", "keep", "delete", false, &url->keep_versions, err));
    url->credentials = parameters->credentials == NULL ? "" : parameters->credentials;
    return check_credentials(url->credentials, err);
}

enum err_code store_s3_url_parse(const char *url, struct arena *arena, struct s3_url *out, struct error *err)
{
    struct s3_url parsed = {0};
    struct parameters parameters = {0};
    const char *bucket = url + strlen(SCHEME);
    size_t length = strcspn(bucket, "?");
    size_t bucket_length = strcspn(bucket, "/?");
    const char *prefix = bucket + bucket_length + (bucket[bucket_length] == '/');
    size_t prefix_length = (size_t)(bucket + length - prefix);
    while (prefix_length > 0 && prefix[prefix_length - 1] == '/') {
        prefix_length--;
    }
    parsed.bucket = arena_strndup(arena, bucket, bucket_length);
    parsed.prefix = arena_strndup(arena, prefix, prefix_length);
    if (parsed.bucket == NULL || parsed.prefix == NULL) {
        return err_no_memory(err, length);
    }
    TRY(read_parameters(bucket + length + (bucket[length] == '?'), arena, &parameters, err));
    TRY(apply(&parameters, arena, &parsed, err));
    TRY(check_bucket(&parsed, err));
    TRY(check_prefix(parsed.prefix, err));
    *out = parsed;
    return OK;
}
