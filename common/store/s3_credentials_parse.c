/* What credentials look like where they come from. Pure. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/json/json.h"
#include "common/store/s3_credentials.h"
#include "common/store/s3_xml.h"

static enum err_code copy(const char *name, const char *value, size_t length, char *out, size_t capacity,
                          struct error *err)
{
    if (length >= capacity) {
        return err_set(err, ERR_DENIED, "expected a %s of less than %zu bytes but found %zu", name, capacity, length);
    }
    memcpy(out, value, length);
    out[length] = '\0';
    return OK;
}

/* A secret never gets into a text. */
static enum err_code check(const struct s3_credentials *credentials, const char *where, struct error *err)
{
    if (credentials->access_key_id[0] == '\0' || credentials->secret_access_key[0] == '\0') {
        return err_set(err, ERR_DENIED, "expected an access key and its secret in %s but found %s", where,
                       credentials->access_key_id[0] != '\0'       ? "no secret"
                       : credentials->secret_access_key[0] != '\0' ? "no access key"
                                                                   : "neither");
    }
    return OK;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

struct span {
    const char *text;
    size_t length;
};

static struct span trim(struct span span)
{
    while (span.length > 0 && isspace((unsigned char)span.text[0])) {
        span.text++;
        span.length--;
    }
    while (span.length > 0 && isspace((unsigned char)span.text[span.length - 1])) {
        span.length--;
    }
    return span;
}

static bool is(struct span span, const char *text)
{
    return span.length == strlen(text) && memcmp(span.text, text, span.length) == 0;
}

static enum err_code take_setting(struct span name, struct span value, struct s3_credentials *out, struct error *err)
{
    if (is(name, "aws_access_key_id")) {
        return copy("access key", value.text, value.length, out->access_key_id, sizeof out->access_key_id, err);
    }
    if (is(name, "aws_secret_access_key")) {
        return copy("secret", value.text, value.length, out->secret_access_key, sizeof out->secret_access_key, err);
    }
    if (is(name, "aws_session_token")) {
        return copy("session token", value.text, value.length, out->session_token, sizeof out->session_token, err);
    }
    return OK; /* region and the like: the url says those */
}

enum err_code store_s3_credentials_parse_file(const char *text, const char *profile, struct s3_credentials *out,
                                              struct error *err)
{
    struct s3_credentials found = {.expires_at_us = CLOCK_NEVER};
    bool ours = true; /* lines before the first section count too: a file may have none */
    for (const char *at = text; *at != '\0';) {
        size_t length = strcspn(at, "\n");
        const struct span line = trim((struct span){at, length});
        at += length + (at[length] == '\n');
        if (line.length == 0 || line.text[0] == '#' || line.text[0] == ';') {
            continue;
        }
        if (line.text[0] == '[' && line.text[line.length - 1] == ']') {
            ours = is(trim((struct span){line.text + 1, line.length - 2}), profile);
            continue;
        }
        const char *equals = memchr(line.text, '=', line.length);
        if (equals == NULL) {
            return err_set(err, ERR_DENIED,
                           "expected lines of name = value in a file of credentials but found another");
        }
        size_t name_length = (size_t)(equals - line.text);
        if (ours) {
            TRY(take_setting(trim((struct span){line.text, name_length}),
                             trim((struct span){equals + 1, line.length - name_length - 1}), &found, err));
        }
    }
    TRY(check(&found, "the file of credentials", err));
    *out = found;
    return OK;
}

/* --- STS ---------------------------------------------------------------------------------------------------------- */

struct sts_parse {
    struct s3_credentials found;
    char code[64];
    char message[256];
};

#define STS "AssumeRoleWithWebIdentityResponse/AssumeRoleWithWebIdentityResult/Credentials/"

static enum err_code on_sts(void *context, const char *path, const char *text, struct error *err)
{
    struct sts_parse *parse = context;
    struct s3_credentials *found = &parse->found;
    size_t length = strlen(text);
    if (strcmp(path, STS "AccessKeyId") == 0) {
        return copy("access key", text, length, found->access_key_id, sizeof found->access_key_id, err);
    }
    if (strcmp(path, STS "SecretAccessKey") == 0) {
        return copy("secret", text, length, found->secret_access_key, sizeof found->secret_access_key, err);
    }
    if (strcmp(path, STS "SessionToken") == 0) {
        return copy("session token", text, length, found->session_token, sizeof found->session_token, err);
    }
    if (strcmp(path, STS "Expiration") == 0) {
        return clock_parse(text, length, &found->expires_at_us, err);
    }
    if (strcmp(path, "ErrorResponse/Error/Code") == 0) {
        (void)snprintf(parse->code, sizeof parse->code, "%s", text);
    } else if (strcmp(path, "ErrorResponse/Error/Message") == 0) {
        (void)snprintf(parse->message, sizeof parse->message, "%s", text);
    }
    return OK;
}

enum err_code store_s3_credentials_parse_sts(const char *text, size_t length, struct s3_credentials *out,
                                             struct error *err)
{
    struct sts_parse parse = {.found = {.expires_at_us = CLOCK_NEVER}};
    TRY(store_s3_xml_parse(text, length, on_sts, &parse, err));
    if (parse.code[0] != '\0') {
        return err_set(err, ERR_DENIED, "could not exchange the web identity token: %s: %s", parse.code, parse.message);
    }
    TRY(check(&parse.found, "the answer of STS", err));
    *out = parse.found;
    return OK;
}

/* --- instance metadata -------------------------------------------------------------------------------------------- */

static enum err_code copy_member(const struct json *json, const char *member, const char *name, char *out,
                                 size_t capacity, struct error *err)
{
    const char *text = "";
    TRY(json_opt_string(json, NULL, member, &text, err));
    return copy(name, text, strlen(text), out, capacity, err);
}

enum err_code store_s3_credentials_parse_imds(const char *text, size_t length, struct s3_credentials *out,
                                              struct error *err)
{
    AUTO(json_free_auto) struct json *json = NULL;
    struct s3_credentials found = {.expires_at_us = CLOCK_NEVER};
    const char *expiration = NULL;
    TRY(json_parse(text, length, NULL, &json, err));
    TRY(copy_member(json, "AccessKeyId", "access key", found.access_key_id, sizeof found.access_key_id, err));
    TRY(copy_member(json, "SecretAccessKey", "secret", found.secret_access_key, sizeof found.secret_access_key, err));
    TRY(copy_member(json, "Token", "session token", found.session_token, sizeof found.session_token, err));
    TRY(json_opt_string(json, NULL, "Expiration", &expiration, err));
    if (expiration != NULL) {
        TRY(clock_parse(expiration, strlen(expiration), &found.expires_at_us, err));
    }
    TRY(check(&found, "the answer of the metadata service", err));
    *out = found;
    return OK;
}
