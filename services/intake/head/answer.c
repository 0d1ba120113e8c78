#include <stdio.h>
#include <string.h>

#include "services/intake/head/request.h"

static void answer(struct request *request, unsigned status, const char *more)
{
    AUTO(buf_done) struct buf json = {0};
    struct error err = {0};
    char id[UUID_TEXT_BYTES];
    enum err_code code =
        buf_printf(&json, &err, "{\"batch_id\":\"%s\",\"rows\":%u,\"rejected\":%u%s",
                   uuid_format(&request->batch_id, id), request->row_count, request->reject_count, more);
    if (code == OK) {
        code = shown_format(&request->shown, &json, &err);
    }
    if (code == OK) {
        code = buf_append_byte(&json, '}', &err);
    }
    const char *text = code == OK ? buf_text(&json) : NULL;
    if (text == NULL) {
        request_fail(request, &err);
        return;
    }
    metric_add(request->tally->rows, request->row_count);
    metric_add(request->tally->rejected, request->reject_count);
    http_complete(request->http, status, text, OK, NULL);
}

void request_accept(struct request *request)
{
    answer(request, 202, ",\"committed\":false");
}

void request_committed(struct request *request, bool duplicate)
{
    answer(request, 200, duplicate ? ",\"committed\":true,\"duplicate\":true" : ",\"committed\":true");
}

void request_not_yet(struct request *request)
{
    answer(request, 504, ",\"committed\":false");
}

void request_other_body(struct request *request)
{
    struct error err;
    err_set(&err, ERR_CONFLICT,
            "this Idempotency-Key came before with another body; hint: a key names one body for ever");
    http_complete(request->http, 422, NULL, ERR_CONFLICT, &err);
}

void request_queue_full(struct request *request)
{
    struct error err;
    err_set(&err, ERR_UNAVAILABLE, "the intake queue is full; hint: try again after the time in Retry-After");
    http_set_header(request->http, "Retry-After", "2");
    http_complete(request->http, 429, NULL, ERR_UNAVAILABLE, &err);
}

void request_fail(struct request *request, const struct error *err)
{
    if (err->code == ERR_UNAVAILABLE || err->code == ERR_TIMEOUT || err->code == ERR_STOPPED) {
        http_set_header(request->http, "Retry-After", "1");
        http_complete(request->http, 503, NULL, ERR_UNAVAILABLE, err);
    } else {
        http_complete(request->http, 0, NULL, err->code, err);
    }
}
