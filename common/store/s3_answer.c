/* What an answer says: its headers, and the error document where it has one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/clock.h"
#include "common/store/s3.h"
#include "common/store/s3_xml.h"

#define SKEW_US (10 * CLOCK_MINUTE_US) /* AWS takes 15 minutes; less is no reason to doubt a refusal */

void store_s3_answer_done(struct s3_answer *answer)
{
    buf_done(&answer->body);
}

/* --- headers ------------------------------------------------------------------------------------------------------ */

void store_s3_answer_take(struct s3_answer *answer, const char *name, const char *value)
{
    const struct {
        const char *name;
        char *out;
        size_t capacity;
    } texts[] = {
        {"Content-Range", answer->content_range, sizeof answer->content_range},
        {"x-amz-meta-granary-sha256", answer->sha256, sizeof answer->sha256},
        {"x-amz-checksum-sha256", answer->checksum, sizeof answer->checksum},
        {"x-amz-request-id", answer->request_id, sizeof answer->request_id},
        {"x-amz-bucket-region", answer->region, sizeof answer->region},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (strcasecmp(name, texts[i].name) == 0) {
            (void)snprintf(texts[i].out, texts[i].capacity, "%s", value);
            return;
        }
    }
    if (strcasecmp(name, "ETag") == 0) {
        size_t length = strlen(value);
        bool quoted = length >= 2 && value[0] == '"' && value[length - 1] == '"';
        (void)snprintf(answer->etag, sizeof answer->etag, "%.*s", (int)(quoted ? length - 2 : length),
                       value + (quoted ? 1 : 0));
    } else if (strcasecmp(name, "Content-Length") == 0) {
        answer->content_length = strtoull(value, NULL, 10);
    } else if (strcasecmp(name, "Last-Modified") == 0) {
        answer->last_modified_us = net_parse_date(value);
    } else if (strcasecmp(name, "Date") == 0) {
        answer->date_us = net_parse_date(value);
    }
}

uint64_t store_s3_range_total(const struct s3_answer *answer)
{
    const char *slash = strchr(answer->content_range, '/');
    return slash == NULL || slash[1] < '0' || slash[1] > '9' ? UINT64_MAX : strtoull(slash + 1, NULL, 10);
}

/* --- errors ------------------------------------------------------------------------------------------------------- */

struct field {
    const char *path;
    char *out;
    size_t capacity;
};

static enum err_code on_element(void *context, const char *path, const char *text, struct error *err)
{
    struct s3_answer *answer = context;
    const struct field fields[] = {
        {"Error/Code", answer->code, sizeof answer->code},
        {"Error/Message", answer->message, sizeof answer->message},
        {"Error/RequestId", answer->request_id, sizeof answer->request_id},
        {"Error/Region", answer->region, sizeof answer->region},
    };
    (void)err;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (strcmp(path, fields[i].path) == 0 && *text != '\0') {
            (void)snprintf(fields[i].out, fields[i].capacity, "%s", text);
        }
    }
    return OK;
}

/* A status of success is sent before the work that takes long is done; then the body says how it ended. This is the status
 * that its code has elsewhere. What is not known can heal, as far as anybody knows. */
static long status_of(const char *code)
{
    static const struct {
        const char *code;
        long status;
    } known[] = {
        {"PreconditionFailed", 412}, {"NoSuchUpload", 404},     {"NoSuchBucket", 404},     {"NoSuchKey", 404},
        {"AccessDenied", 403},       {"InvalidPart", 400},      {"MalformedXML", 400},     {"InvalidArgument", 400},
        {"InvalidRequest", 400},     {"InvalidPartOrder", 400}, {"EntityTooSmall", 400},   {"EntityTooLarge", 400},
        {"ExpiredToken", 400},       {"NotImplemented", 501},   {"MethodNotAllowed", 405},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(code, known[i].code) == 0) {
            return known[i].status;
        }
    }
    return 500;
}

void store_s3_answer_read(struct s3_answer *answer)
{
    if (answer->body.length_bytes != 0) {
        (void)!store_s3_xml_parse((const char *)answer->body.data, answer->body.length_bytes, on_element, answer, NULL);
    }
    if (answer->status >= 200 && answer->status < 300 && answer->code[0] != '\0') {
        answer->status = status_of(answer->code);
    }
}

/* A refused HEAD has no body to say why. An old token gives a 400; and a clock that is far off is the likely reason for
 * what is otherwise a plain 403. */
void store_s3_answer_guess(struct s3_answer *answer, const char *method, int64_t sent_at_us)
{
    if (answer->code[0] != '\0' || strcmp(method, "HEAD") != 0) {
        return;
    }
    int64_t skew_us = answer->date_us - sent_at_us;
    if (answer->status == 400) {
        (void)snprintf(answer->code, sizeof answer->code, "ExpiredToken");
    } else if (answer->status == 403 && answer->date_us != 0 && (skew_us > SKEW_US || skew_us < -SKEW_US)) {
        (void)snprintf(answer->code, sizeof answer->code, "RequestTimeTooSkewed");
    }
}
