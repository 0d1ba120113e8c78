#include "cli/client.h"

#include <string.h>

#include "common/base/clock.h"

#define STREAM_TIMEOUT_US (7 * CLOCK_DAY_US) /* a long scan is no fault; a dead peer ends in an error of the socket */
enum { PAGE_ITEMS = 1000, QUOTED_ANSWER_BYTES = 200 };

enum err_code cli_path(struct buf *path, const char *before, const char *name, const char *after, struct error *err)
{
    buf_clear(path);
    TRY(buf_append_text(path, before, err));
    if (name != NULL) {
        TRY(net_url_escape(name, path, err));
    }
    return buf_append_text(path, after, err);
}

enum err_code cli_path_add(struct buf *path, const char *parameter, const char *value, struct error *err)
{
    if (value == NULL) {
        return OK;
    }
    bool first = path->length_bytes == 0 || memchr(path->data, '?', path->length_bytes) == NULL;
    TRY(buf_printf(path, err, "%c%s=", first ? '?' : '&', parameter));
    return net_url_escape(value, path, err);
}

enum err_code cli_connect(const struct cli *cli, struct net_client **out, struct error *err)
{
    const struct net_client_options options = {
        .ca_file = cli->config.ca_file,
        .bearer_token = cli->config.token,
        .user_agent = "granary/" GRANARY_VERSION,
    };
    return net_client_open(&options, out, err);
}

static enum err_code code_named(const char *name)
{
    for (enum err_code code = ERR_NO_MEMORY; code < ERR_COUNT; code++) {
        if (strcmp(err_code_name(code), name) == 0) {
            return code;
        }
    }
    return ERR_INVALID;
}

/* An answer that is not ours: a proxy's page, or another service's. */
static enum err_code strange_answer(const char *who, const struct net_answer *answer, struct error *err)
{
    size_t length = answer->body.length_bytes < QUOTED_ANSWER_BYTES ? answer->body.length_bytes : QUOTED_ANSWER_BYTES;
    return err_set(err, answer->status >= 500 ? ERR_UNAVAILABLE : ERR_INVALID,
                   "%s answered %ld: \"%.*s\"; hint: is that the address of %s?", who, answer->status, (int)length,
                   length == 0 ? "" : (const char *)answer->body.data, who);
}

enum err_code cli_refusal(struct cli *cli, const char *who, const struct net_answer *answer, struct error *err)
{
    AUTO(json_free_auto) struct json *json = NULL;
    const char *message = NULL;

    if (cli->command->guarded && answer->status == 409) {
        cli->exit_code = CLI_REFUSED;
    }
    if (json_parse((const char *)answer->body.data, answer->body.length_bytes, NULL, &json, NULL) == OK) {
        message = json_as_text(json_find(json_find(json, "error"), "message"), NULL);
    }
    if (message == NULL) {
        return strange_answer(who, answer, err);
    }
    const char *code = json_as_text(json_find(json_find(json, "error"), "code"), NULL);
    const char *hint = json_as_text(json_find(json_find(json, "error"), "hint"), NULL);
    if (hint == NULL && answer->status == 401) {
        hint = "set GRANARY_TOKEN_FILE or --token-file";
    }
    bool hinted = hint != NULL && *hint != '\0';
    return err_set(err, code_named(code == NULL ? "" : code), "%s%s%s", message, hinted ? "; hint: " : "",
                   hinted ? hint : "");
}

static enum err_code whole_url(struct cli *cli, struct buf *path, struct buf *url, struct error *err)
{
    const char *base = cli->config.url;
    size_t length = strlen(base);

    if (length == 0) {
        cli->exit_code = CLI_BAD_CONFIG;
        return err_set(err, ERR_INVALID,
                       "expected the address of the admin service but found nothing; hint: set "
                       "GRANARY_URL, or --url http://host:port");
    }
    while (length > 0 && base[length - 1] == '/') {
        length--;
    }
    TRY(buf_append(url, base, length, err));
    TRY(buf_append(url, path->data, path->length_bytes, err));
    return buf_text(url) == NULL ? err_no_memory(err, url->length_bytes) : OK;
}

static enum err_code send_request(struct cli *cli, struct buf *path, struct net_request *request,
                                  struct net_answer *out, struct error *err)
{
    AUTO(buf_done) struct buf url = {0};
    AUTO(net_answer_done) struct net_answer answer = {0};

    TRY(whole_url(cli, path, &url, err));
    request->url = buf_text(&url);
    if (cli->client == NULL) {
        TRY(cli_connect(cli, &cli->client, err));
    }
    TRY(net_send(cli->client, request, &answer, err));
    if (answer.status < 200 || answer.status >= 300) {
        return cli_refusal(cli, "admin", &answer, err);
    }
    *out = answer;
    answer.body = (struct buf){0};
    return OK;
}

/* The document, dumped into `text`, which must live until the request is sent; NULL: none. */
static enum err_code put_body(struct net_request *request, const struct json *body, struct buf *text, struct error *err)
{
    static const struct net_header json_type[] = {{"Content-Type", "application/json"}};
    if (body != NULL) {
        TRY(json_dump(body, JSON_STYLE_COMPACT, text, err));
        request->body = text->data;
        request->body_bytes = text->length_bytes;
        request->headers = json_type;
        request->header_count = 1;
    }
    return OK;
}

enum err_code cli_call(struct cli *cli, const char *method, struct buf *path, const struct json *body,
                       struct json **out, struct error *err)
{
    static const struct json_limits limits = {.max_bytes = 64 << 20, .max_depth = 64};
    AUTO(net_answer_done) struct net_answer answer = {0};
    AUTO(buf_done) struct buf text = {0};
    bool reads = strcmp(method, "GET") == 0;
    struct net_request request = {
        .method = method,
        .timeout_us = cli->config.timeout_us,
        .retry_for_us = reads ? cli->config.timeout_us / 4 : 0, /* only what can be asked twice */
    };
    TRY(put_body(&request, body, &text, err));
    TRY(send_request(cli, path, &request, &answer, err));
    if (json_parse((const char *)answer.body.data, answer.body.length_bytes, &limits, out, err) != OK) {
        return err_wrap(err, "could not read the answer of the admin service");
    }
    return OK;
}

enum err_code cli_get(struct cli *cli, struct buf *path, struct json **out, struct error *err)
{
    return cli_call(cli, "GET", path, NULL, out, err);
}

enum err_code cli_each(struct cli *cli, struct buf *path, int64_t limit, cli_item_fn *on_item, void *context,
                       struct error *err)
{
    size_t base_bytes = path->length_bytes;
    AUTO(json_free_auto) struct json *page = NULL;

    for (int64_t left = limit == 0 ? INT64_MAX : limit;;) {
        char count[24];
        (void)snprintf(count, sizeof count, "%lld", (long long)(left < PAGE_ITEMS ? left : PAGE_ITEMS));
        const char *next = json_as_text(json_find(page, "next"), NULL);
        path->length_bytes = base_bytes;
        TRY(cli_path_add(path, "limit", count, err));
        TRY(cli_path_add(path, "after", next, err));

        AUTO(json_free_auto) struct json *previous = TAKE(page);
        TRY(cli_get(cli, path, &page, err));
        struct json *items;
        TRY(json_get_array(page, NULL, "items", &items, err));
        for (size_t i = 0; i < json_length(items) && left > 0; i++, left--) {
            TRY(on_item(context, json_at(items, i), err));
        }
        const char *more = json_as_text(json_find(page, "next"), NULL);
        if (more == NULL || left == 0 || json_length(items) == 0) {
            return OK;
        }
    }
}

static enum err_code write_out(void *context, const void *data, size_t length, struct error *err)
{
    struct cli *cli = context;
    if (fwrite(data, 1, length, stdout) != length) {
        return cli_output_failed(cli, err);
    }
    return OK;
}

enum err_code cli_stream(struct cli *cli, struct buf *path, struct error *err)
{
    AUTO(net_answer_done) struct net_answer answer = {0};
    struct net_request request = {
        .method = "GET",
        .timeout_us = STREAM_TIMEOUT_US,
        .retry_for_us = cli->config.timeout_us / 4,
        .on_data = write_out,
        .context = cli,
    };
    return send_request(cli, path, &request, &answer, err);
}

/* --- NDJSON -------------------------------------------------------------------------------------------------------- */

struct lines {
    struct buf rest; /* of a line that is not whole yet */
    cli_item_fn *on_line;
    void *context;
};

static void lines_done(struct lines *lines)
{
    buf_done(&lines->rest);
}

static enum err_code take_line(struct lines *lines, struct error *err)
{
    AUTO(json_free_auto) struct json *line = NULL;
    TRY(json_parse((const char *)lines->rest.data, lines->rest.length_bytes, NULL, &line, err));
    buf_clear(&lines->rest);
    return lines->on_line(lines->context, line, err);
}

static enum err_code take_lines(void *context, const void *data, size_t length, struct error *err)
{
    struct lines *lines = context;
    const char *text = data;
    while (length > 0) {
        const char *end = memchr(text, '\n', length);
        size_t part = end == NULL ? length : (size_t)(end - text);
        TRY(buf_append(&lines->rest, text, part, err));
        if (end == NULL) {
            return OK;
        }
        TRY(take_line(lines, err));
        text += part + 1;
        length -= part + 1;
    }
    return OK;
}

enum err_code cli_lines(struct cli *cli, const char *method, struct buf *path, const struct json *body,
                        cli_item_fn *on_line, void *context, struct error *err)
{
    AUTO(lines_done) struct lines lines = {.on_line = on_line, .context = context};
    AUTO(net_answer_done) struct net_answer answer = {0};
    AUTO(buf_done) struct buf text = {0};
    struct net_request request = {
        .method = method, .timeout_us = STREAM_TIMEOUT_US, .on_data = take_lines, .context = &lines};
    TRY(put_body(&request, body, &text, err));
    return send_request(cli, path, &request, &answer, err);
}

enum err_code cli_fetch(struct cli *cli, struct buf *path, struct buf *out, struct error *err)
{
    AUTO(net_answer_done) struct net_answer answer = {0};
    struct net_request request = {.method = "GET", .timeout_us = STREAM_TIMEOUT_US};

    TRY(send_request(cli, path, &request, &answer, err));
    return buf_append(out, answer.body.data, answer.body.length_bytes, err);
}
