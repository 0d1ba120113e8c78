/* Credentials from the network: STS for a web identity, the metadata service for an instance's role. Each request gets a
 * client of its own: there are a few of them in an hour. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/net/net.h"
#include "common/store/s3_credentials.h"

#define IMDS            "http://169.254.169.254"
#define IMDS_ROLES      "/latest/meta-data/iam/security-credentials/"
#define ASK_TIMEOUT_US  (5 * CLOCK_SECOND_US)
#define CONNECT_TIME_US (2 * CLOCK_SECOND_US) /* nobody answers there outside of AWS */
enum { MAX_ANSWER_BYTES = 64 << 10, MAX_TOKEN_FILE_BYTES = 16 << 10 };

static const char *environment(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value == NULL || *value == '\0' ? otherwise : value;
}

/* --- STS ---------------------------------------------------------------------------------------------------------- */

static enum err_code read_token(const char *path, struct buf *out, struct error *err)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return err_set(err, ERR_DENIED, "could not open AWS_WEB_IDENTITY_TOKEN_FILE \"%.300s\"", path);
    }
    enum err_code code = buf_reserve(out, MAX_TOKEN_FILE_BYTES, err);
    if (code == OK) {
        out->length_bytes = fread(out->data, 1, MAX_TOKEN_FILE_BYTES, file);
    }
    (void)fclose(file);
    while (out->length_bytes > 0 &&
           (out->data[out->length_bytes - 1] == '\n' || out->data[out->length_bytes - 1] == '\r')) {
        out->length_bytes--;
    }
    return code;
}

static enum err_code append_parameter(struct buf *out, const char *name, const char *value, struct error *err)
{
    TRY(buf_printf(out, err, "%s%s=", out->length_bytes == 0 ? "" : "&", name));
    return net_url_escape(value, out, err);
}

static enum err_code build_sts(struct buf *out, struct error *err)
{
    AUTO(buf_done) struct buf token = {0};
    const char *role = environment("AWS_ROLE_ARN", "");
    if (*role == '\0') {
        return err_set(err, ERR_DENIED, "expected AWS_ROLE_ARN beside AWS_WEB_IDENTITY_TOKEN_FILE but found none");
    }
    TRY(read_token(environment("AWS_WEB_IDENTITY_TOKEN_FILE", ""), &token, err));
    const char *token_text = buf_text(&token);
    if (token_text == NULL) {
        return err_no_memory(err, token.length_bytes);
    }
    TRY(append_parameter(out, "Action", "AssumeRoleWithWebIdentity", err));
    TRY(append_parameter(out, "Version", "2011-06-15", err));
    TRY(append_parameter(out, "RoleArn", role, err));
    TRY(append_parameter(out, "RoleSessionName", environment("AWS_ROLE_SESSION_NAME", "granary"), err));
    return append_parameter(out, "WebIdentityToken", token_text, err);
}

enum err_code store_s3_credentials_ask_sts(const char *region, const struct store_options *options,
                                           struct s3_credentials *out, struct error *err)
{
    AUTO(net_client_close_auto) struct net_client *client = NULL;
    AUTO(net_answer_done) struct net_answer answer = {0};
    AUTO(buf_done) struct buf body = {0};
    char url[256];
    const char *endpoint = environment("AWS_ENDPOINT_URL_STS", NULL);
    (void)snprintf(url, sizeof url, endpoint == NULL ? "https://sts.%.64s.amazonaws.com/" : "%.240s",
                   endpoint == NULL ? region : endpoint);
    const struct net_client_options client_options = {.ca_file = options->ca_file,
                                                      .connect_timeout_us = options->connect_timeout_us};
    const struct net_header type = {"Content-Type", "application/x-www-form-urlencoded"};
    TRY(build_sts(&body, err));
    const struct net_request request = {
        .method = "POST",
        .url = url,
        .headers = &type,
        .header_count = 1,
        .body = body.data,
        .body_bytes = body.length_bytes,
        .timeout_us = ASK_TIMEOUT_US,
        .retry_for_us = ASK_TIMEOUT_US,
        .max_answer_bytes = MAX_ANSWER_BYTES,
    };
    TRY(net_client_open(&client_options, &client, err));
    TRY(net_send(client, &request, &answer, err));
    if (answer.status >= 500 || answer.status == 429) {
        return err_set(err, ERR_UNAVAILABLE, "could not exchange the web identity token: \"%s\" says %ld", url,
                       answer.status);
    }
    return store_s3_credentials_parse_sts((const char *)answer.body.data, answer.body.length_bytes, out, err);
}

/* --- instance metadata -------------------------------------------------------------------------------------------- */

static enum err_code ask(struct net_client *client, const char *method, const char *path,
                         const struct net_header *header, struct buf *out, struct error *err)
{
    AUTO(net_answer_done) struct net_answer answer = {0};
    char url[512];
    (void)snprintf(url, sizeof url, "%.200s%.300s", environment("AWS_EC2_METADATA_SERVICE_ENDPOINT", IMDS), path);
    const struct net_request request = {
        .method = method,
        .url = url,
        .headers = header,
        .header_count = 1,
        .timeout_us = ASK_TIMEOUT_US,
        .max_answer_bytes = MAX_ANSWER_BYTES,
    };
    TRY(net_send(client, &request, &answer, err));
    if (answer.status != 200) {
        return err_set(err, answer.status >= 500 || answer.status == 429 ? ERR_UNAVAILABLE : ERR_DENIED,
                       "could not get credentials of this instance: \"%s\" says %ld", url, answer.status);
    }
    *out = answer.body;
    answer.body = (struct buf){0};
    return OK;
}

static enum err_code ask_role(struct net_client *client, struct s3_credentials *out, struct error *err)
{
    AUTO(buf_done) struct buf token = {0};
    AUTO(buf_done) struct buf role = {0};
    AUTO(buf_done) struct buf document = {0};
    const struct net_header life = {"X-aws-ec2-metadata-token-ttl-seconds", "300"};
    char path[256];
    TRY(ask(client, "PUT", "/latest/api/token", &life, &token, err));
    const char *token_text = buf_text(&token);
    if (token_text == NULL) {
        return err_no_memory(err, token.length_bytes);
    }
    const struct net_header session = {"X-aws-ec2-metadata-token", token_text};
    TRY(ask(client, "GET", IMDS_ROLES, &session, &role, err));
    const char *role_text = buf_text(&role);
    if (role_text == NULL) {
        return err_no_memory(err, role.length_bytes);
    }
    (void)snprintf(path, sizeof path, IMDS_ROLES "%.*s", (int)strcspn(role_text, "\r\n"), role_text);
    TRY(ask(client, "GET", path, &session, &document, err));
    return store_s3_credentials_parse_imds((const char *)document.data, document.length_bytes, out, err);
}

enum err_code store_s3_credentials_ask_imds(const struct store_options *options, struct s3_credentials *out,
                                            struct error *err)
{
    AUTO(net_client_close_auto) struct net_client *client = NULL;
    const struct net_client_options client_options = {.ca_file = options->ca_file,
                                                      .connect_timeout_us = CONNECT_TIME_US};
    TRY(net_client_open(&client_options, &client, err));
    return ask_role(client, out, err);
}
