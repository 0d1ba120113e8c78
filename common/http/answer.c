#include <stdlib.h>
#include <string.h>

#include "common/base/quote.h"
#include "common/http/internal.h"

static const char json_type[] = "application/json";
enum { STREAM_BLOCK_BYTES = 64 * 1024 };

static void take_response(struct http_request *request, unsigned status, struct MHD_Response *response_take)
{
    if (request->response != NULL) {
        MHD_destroy_response(request->response);
    }
    request->response = response_take;
    request->status = status;
}

static enum err_code check_type(struct MHD_Response *response, const char *content_type, struct error *err)
{
    if (content_type != NULL &&
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type) != MHD_YES) {
        MHD_destroy_response(response);
        return err_set(err, ERR_INVALID, "could not set content type \"%.64s\"", content_type);
    }
    return OK;
}

enum err_code http_reply(struct http_request *request, unsigned status, const char *content_type, const void *body,
                         size_t length, struct error *err)
{
    void *bytes; /* the library asks for a writable pointer, though it only reads what it must copy */
    memcpy(&bytes, &body, sizeof bytes);
    struct MHD_Response *response = MHD_create_response_from_buffer(length, bytes, MHD_RESPMEM_MUST_COPY);
    if (response == NULL) {
        return err_no_memory(err, length);
    }
    TRY(check_type(response, content_type, err));
    take_response(request, status, response);
    return OK;
}

enum err_code http_reply_json(struct http_request *request, unsigned status, const char *json, struct error *err)
{
    return http_reply(request, status, json_type, json, strlen(json), err);
}

/* --- errors ------------------------------------------------------------------------------------------------------ */

static unsigned status_of(enum err_code code)
{
    switch (code) {
    case ERR_INVALID: return MHD_HTTP_BAD_REQUEST;
    case ERR_NOT_FOUND: return MHD_HTTP_NOT_FOUND;
    case ERR_CONFLICT: return MHD_HTTP_CONFLICT;
    case ERR_DENIED: return MHD_HTTP_FORBIDDEN;
    case ERR_UNAVAILABLE:
    case ERR_STOPPED: return MHD_HTTP_SERVICE_UNAVAILABLE;
    case ERR_TIMEOUT: return MHD_HTTP_GATEWAY_TIMEOUT;
    case OK:
    case ERR_NO_MEMORY:
    case ERR_CORRUPT:
    case ERR_UNKNOWN:
    case ERR_COUNT: break;
    }
    return MHD_HTTP_INTERNAL_SERVER_ERROR;
}

static enum err_code format_error(enum err_code code, const char *text, struct buf *out)
{
    static const char mark[] = "; hint: ";
    const char *hint = strstr(text, mark);
    size_t message_length = hint == NULL ? strlen(text) : (size_t)(hint - text);
    TRY(buf_printf(out, NULL, "{\"error\":{\"code\":\"%s\",\"message\":", err_code_name(code)));
    TRY(quote_json(text, message_length, out, NULL));
    if (hint != NULL) {
        hint += sizeof mark - 1;
        TRY(buf_append_text(out, ",\"hint\":", NULL));
        TRY(quote_json(hint, strlen(hint), out, NULL));
    }
    return buf_append_text(out, "}}", NULL);
}

void http_answer_error(struct http_request *request, enum err_code code, const struct error *err)
{
    AUTO(buf_done) struct buf body = {0};
    unsigned status = request->error_status != 0 ? request->error_status : status_of(code);
    take_response(request, 0, NULL); /* what a failed handler may have begun to say */
    if (format_error(code, err == NULL ? "" : err->text, &body) != OK ||
        http_reply(request, status, json_type, body.data, body.length_bytes, NULL) != OK) {
        take_response(request, 0, NULL);
    }
}

/* --- streams ----------------------------------------------------------------------------------------------------- */

/* `ready` holds what fill gave and the connection has not yet taken. A blocking stream is filled on the pool while the
 * connection is suspended, so that event thread and pool thread never touch it at once. */
struct stream {
    struct http_job job;
    struct http_request *request; /* one reference */
    http_fill_fn *fill;
    void (*done_fn)(void *state);
    void *state;
    struct buf ready;
    size_t taken_bytes;
    bool last;
    bool failed;
};

static void free_stream(void *context)
{
    struct stream *stream = context;
    if (stream->done_fn != NULL) {
        stream->done_fn(stream->state);
    }
    buf_done(&stream->ready);
    http_request_release(stream->request);
    free(stream);
}

static void fill(struct stream *stream)
{
    buf_clear(&stream->ready);
    stream->taken_bytes = 0;
    while (stream->ready.length_bytes == 0 && !stream->last && !stream->failed) {
        stream->failed = stream->fill(stream->state, &stream->ready, &stream->last, NULL) != OK;
    }
}

static void fill_on_pool(struct http_job *job)
{
    struct stream *stream = (struct stream *)job; /* its first member */
    struct MHD_Connection *connection = stream->request->connection;
    fill(stream);
    MHD_resume_connection(connection);
}

static ssize_t read_stream(void *context, uint64_t position, char *out, size_t max)
{
    struct stream *stream = context;
    (void)position;
    if (stream->taken_bytes == stream->ready.length_bytes && !stream->last && !stream->failed) {
        if (stream->request->match.route->blocking) {
            MHD_suspend_connection(stream->request->connection);
            http_pool_submit(stream->request->server->pool, &stream->job);
            return 0;
        }
        fill(stream);
    }
    if (stream->failed) { /* also drops what came with the failure: the answer is worthless */
        return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    size_t left = stream->ready.length_bytes - stream->taken_bytes;
    if (left == 0) {
        return MHD_CONTENT_READER_END_OF_STREAM;
    }
    size_t length = left < max ? left : max;
    memcpy(out, stream->ready.data + stream->taken_bytes, length);
    stream->taken_bytes += length;
    return (ssize_t)length;
}

enum err_code http_reply_stream(struct http_request *request, unsigned status, const char *content_type,
                                http_fill_fn *fill_fn, void (*done_fn)(void *state), void *state, struct error *err)
{
    struct stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) {
        if (done_fn != NULL) {
            done_fn(state);
        }
        return err_no_memory(err, sizeof *stream);
    }
    (void)atomic_fetch_add(&request->references, 1);
    *stream = (struct stream){
        .job.run = fill_on_pool, .request = request, .fill = fill_fn, .done_fn = done_fn, .state = state};
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK_BYTES, read_stream, stream, free_stream);
    if (response == NULL) {
        free_stream(stream);
        return err_no_memory(err, STREAM_BLOCK_BYTES);
    }
    TRY(check_type(response, content_type, err));
    take_response(request, status, response);
    return OK;
}

/* --- handing over ------------------------------------------------------------------------------------------------ */

static bool add_headers(struct http_request *request)
{
    for (size_t i = 0; i < request->header_count; i++) {
        if (MHD_add_response_header(request->response, request->headers[i].name, request->headers[i].value) !=
            MHD_YES) {
            return false;
        }
    }
    bool wanted = request->request_id != NULL || http_header(request, "X-Request-Id") != NULL;
    return !wanted || MHD_add_response_header(request->response, "X-Request-Id", http_request_id(request)) == MHD_YES;
}

enum MHD_Result http_answer_queue(struct http_request *request)
{
    if (request->response != NULL && !add_headers(request)) {
        struct error err;
        (void)err_set(&err, ERR_CORRUPT, "could not set the headers of the answer");
        http_answer_error(request, err.code, &err);
    }
    if (request->response == NULL) {
        return MHD_NO; /* cuts the connection */
    }
    http_meter_answer(&request->server->meter, request->status);
    enum MHD_Result result = MHD_queue_response(request->connection, request->status, request->response);
    MHD_destroy_response(request->response); /* the connection has a reference of its own */
    request->response = NULL;
    return result;
}
