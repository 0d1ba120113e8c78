/* One exchange. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/base/clock.h"
#include "common/net/internal.h"

#define DEFAULT_TIMEOUT_US INT64_C(60000000)
enum { DEFAULT_ANSWER_BYTES = 64 << 20, PIECE_BYTES = 256 << 10 };

struct exchange {
    const struct net_request *request;
    CURL *curl;
    struct net_answer answer;
    bool streamed;
    enum err_code code; /* why take_data or give_body stopped the transfer */
    struct error err;
};

static void exchange_done(struct exchange *exchange)
{
    net_answer_done(&exchange->answer);
}

static void free_list(struct curl_slist **list)
{
    curl_slist_free_all(*list);
}

static enum err_code take_piece(struct exchange *exchange, const char *data, size_t length)
{
    const struct net_request *request = exchange->request;
    long status = 0;
    (void)curl_easy_getinfo(exchange->curl, CURLINFO_RESPONSE_CODE, &status);
    if (request->on_data != NULL && status >= 200 && status < 300) {
        exchange->streamed = true;
        return request->on_data(request->context, data, length, &exchange->err);
    }
    size_t most = request->max_answer_bytes == 0 ? DEFAULT_ANSWER_BYTES : request->max_answer_bytes;
    if (length > most - exchange->answer.body.length_bytes) {
        return err_set(&exchange->err, ERR_NO_MEMORY, "expected an answer of at most %zu bytes but found more", most);
    }
    return buf_append(&exchange->answer.body, data, length, &exchange->err);
}

static size_t take_data(char *data, size_t size, size_t count, void *context)
{
    struct exchange *exchange = context;
    exchange->code = take_piece(exchange, data, size * count);
    return exchange->code == OK ? size * count : CURL_WRITEFUNC_ERROR;
}

static size_t give_body(char *out, size_t size, size_t count, void *context)
{
    struct exchange *exchange = context;
    size_t length = 0;
    exchange->streamed = true;
    exchange->code = exchange->request->on_body(exchange->request->context, out, size * count, &length, &exchange->err);
    return exchange->code == OK ? length : CURL_READFUNC_ABORT;
}

/* Called with each piece, and once a second when there is none. */
static int check_deadline(void *context, curl_off_t to_come, curl_off_t come, curl_off_t to_go, curl_off_t gone)
{
    struct exchange *exchange = context;
    const struct net_request *request = exchange->request;
    (void)to_come;
    (void)come;
    (void)to_go;
    (void)gone;
    if (clock_monotonic_us() < atomic_load(request->deadline_us)) {
        return 0;
    }
    exchange->code = err_set(&exchange->err, ERR_TIMEOUT, "could not %s \"%.256s\" before its deadline",
                             request->method, request->url);
    return 1;
}

static enum err_code add_header(struct curl_slist **list, const char *line, struct error *err)
{
    struct curl_slist *longer = curl_slist_append(*list, line);
    if (longer == NULL) {
        return err_no_memory(err, strlen(line));
    }
    *list = longer;
    return OK;
}

static enum err_code build_headers(const struct net_client *client, const struct net_request *request,
                                   struct curl_slist **out, struct error *err)
{
    AUTO(buf_done) struct buf line = {0};
    if (client->authorization != NULL) {
        TRY(add_header(out, client->authorization, err));
    }
    for (size_t i = 0; i < request->header_count; i++) {
        const struct net_header *header = &request->headers[i];
        if (strpbrk(header->name, "\r\n:") != NULL || strpbrk(header->value, "\r\n") != NULL) {
            return err_set(err, ERR_INVALID, "expected a header on one line but found \"%.64s\"", header->name);
        }
        buf_clear(&line);
        /* "Name;" is how libcurl writes a header without a value. */
        TRY(buf_printf(&line, err, *header->value == '\0' ? "%s;" : "%s: %s", header->name, header->value));
        const char *text = buf_text(&line);
        if (text == NULL) {
            return err_no_memory(err, 1);
        }
        TRY(add_header(out, text, err));
    }
    return OK;
}

#define SET(option, value)                                                                 \
    do {                                                                                   \
        CURLcode set_ = curl_easy_setopt(curl, (option), (value));                         \
        if (set_ != CURLE_OK) {                                                            \
            return err_set(err, set_ == CURLE_OUT_OF_MEMORY ? ERR_NO_MEMORY : ERR_INVALID, \
                           "could not prepare the request: %s", curl_easy_strerror(set_)); \
        }                                                                                  \
    } while (0)

/* 0, for libcurl, is for ever. */
static long to_ms(int64_t us)
{
    int64_t ms = us == CLOCK_NEVER ? 0 : (us + 999) / 1000;
    return ms > LONG_MAX / 1000 ? LONG_MAX / 1000 : (long)ms;
}

static enum err_code set_method(CURL *curl, const struct net_request *request, struct exchange *exchange,
                                struct error *err)
{
    if (request->on_body != NULL) { /* chunked, since nobody knows how long it is */
        SET(CURLOPT_UPLOAD, 1L);
        SET(CURLOPT_READFUNCTION, give_body);
        SET(CURLOPT_READDATA, exchange);
    } else if (request->body != NULL || strcmp(request->method, "POST") == 0) {
        SET(CURLOPT_POST, 1L);
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_bytes);
        SET(CURLOPT_POSTFIELDS, request->body == NULL ? "" : request->body); /* not copied */
    } else if (strcmp(request->method, "HEAD") == 0) {
        SET(CURLOPT_NOBODY, 1L);
        return OK;
    }
    SET(CURLOPT_CUSTOMREQUEST, request->method);
    return OK;
}

static enum err_code prepare(struct net_client *client, const struct net_request *request,
                             const struct curl_slist *headers, struct exchange *exchange, struct error *err)
{
    CURL *curl = client->curl;
    curl_easy_reset(curl); /* options only: connections stay */
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_URL, request->url);
    SET(CURLOPT_PATH_AS_IS, 1L); /* as whoever signed it meant it */
    SET(CURLOPT_USERAGENT, client->user_agent);
    SET(CURLOPT_HTTPHEADER, headers);
    /* The defaults make four times the system calls. libcurl refuses a size while it still has the buffers of a transfer that
     * ended before it was connected (no such host): then the former size, or the default, does as well. */
    (void)curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, (long)PIECE_BYTES);
    (void)curl_easy_setopt(curl, CURLOPT_UPLOAD_BUFFERSIZE, (long)PIECE_BYTES);
    SET(CURLOPT_CONNECTTIMEOUT_MS, to_ms(client->connect_timeout_us));
    SET(CURLOPT_TIMEOUT_MS, to_ms(request->timeout_us == 0 ? DEFAULT_TIMEOUT_US : request->timeout_us));
    if (client->stall_timeout_us > 0) {
        SET(CURLOPT_LOW_SPEED_LIMIT, 1L);
        SET(CURLOPT_LOW_SPEED_TIME, (to_ms(client->stall_timeout_us) + 999) / 1000);
    }
    if (request->deadline_us != NULL) {
        SET(CURLOPT_NOPROGRESS, 0L);
        SET(CURLOPT_XFERINFOFUNCTION, check_deadline);
        SET(CURLOPT_XFERINFODATA, exchange);
    }
    SET(CURLOPT_WRITEFUNCTION, take_data);
    SET(CURLOPT_WRITEDATA, exchange);
    if (client->ca_file != NULL) {
        SET(CURLOPT_CAINFO, client->ca_file);
    }
    return set_method(curl, request, exchange, err);
}

static enum err_code fail(CURLcode result, const struct net_request *request, const char *detail, struct error *err)
{
    enum err_code code = ERR_UNAVAILABLE;
    if (result == CURLE_OPERATION_TIMEDOUT) {
        code = ERR_TIMEOUT;
    } else if (result == CURLE_PEER_FAILED_VERIFICATION || result == CURLE_SSL_CACERT_BADFILE ||
               result == CURLE_SSL_ISSUER_ERROR) {
        code = ERR_DENIED;
    } else if (result == CURLE_OUT_OF_MEMORY) {
        code = ERR_NO_MEMORY;
    } else if (result == CURLE_URL_MALFORMAT || result == CURLE_UNSUPPORTED_PROTOCOL) {
        code = ERR_INVALID;
    }
    return err_set(err, code, "could not %s \"%.256s\": %s", request->method, request->url,
                   *detail != '\0' ? detail : curl_easy_strerror(result));
}

static void copy_header(CURL *curl, const char *name, char *out, size_t capacity)
{
    struct curl_header *header;
    if (curl_easy_header(curl, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK) {
        (void)snprintf(out, capacity, "%s", header->value);
    }
}

static void tell_headers(CURL *curl, const struct net_request *request)
{
    struct curl_header *header = NULL;
    while (request->on_header != NULL && (header = curl_easy_nextheader(curl, CURLH_HEADER, -1, header)) != NULL) {
        request->on_header(request->context, header->name, header->value);
    }
}

enum err_code net_try(struct net_client *client, const struct net_request *request, struct net_answer *out,
                      bool *out_streamed, struct error *err)
{
    AUTO(exchange_done) struct exchange exchange = {.request = request, .curl = client->curl};
    AUTO(free_list) struct curl_slist *headers = NULL;
    char detail[CURL_ERROR_SIZE] = "";
    TRY(build_headers(client, request, &headers, err));
    TRY(prepare(client, request, headers, &exchange, err));
    (void)curl_easy_setopt(client->curl, CURLOPT_ERRORBUFFER, detail);
    CURLcode result = curl_easy_perform(client->curl);
    (void)curl_easy_setopt(client->curl, CURLOPT_ERRORBUFFER, NULL);
    *out_streamed = exchange.streamed;
    if (exchange.code != OK) {
        return err_set(err, exchange.code, "%s", exchange.err.text);
    }
    if (result != CURLE_OK) {
        return fail(result, request, detail, err);
    }
    (void)curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &exchange.answer.status);
    copy_header(client->curl, "Retry-After", exchange.answer.retry_after, sizeof exchange.answer.retry_after);
    copy_header(client->curl, "Content-Type", exchange.answer.content_type, sizeof exchange.answer.content_type);
    tell_headers(client->curl, request);
    *out = exchange.answer;
    exchange.answer.body = (struct buf){0};
    return OK;
}
