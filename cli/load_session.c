/* A load is a session at intake: begun, fed with files, committed. Begin and commit are asked again until they are answered, as
 * the key makes that harmless. A body that breaks off fails the load as a whole: nothing of it will ever be seen. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/file.h"
#include "cli/load.h"
#include "common/base/clock.h"

#define TRY_FOR_US  (2 * CLOCK_SECOND_US) /* then the progress is shown */
#define EXCHANGE_US CLOCK_MINUTE_US
#define COMMIT_TIMEOUT_US \
    (12 * CLOCK_HOUR_US)                   /* it writes what is still in memory, and waits for a catalog that is away */
#define BODY_TIMEOUT_US (7 * CLOCK_DAY_US) /* a large file is no fault; a dead peer ends in an error of the socket */

void load_session_done(struct load_session *session)
{
    net_client_close(session->client);
}

/* --- asking -------------------------------------------------------------------------------------------------------- */
static enum err_code build_url(const struct load_session *session, const char *after, struct buf *url,
                               struct error *err)
{
    struct cli *cli = session->cli;
    const char *base = cli->config.intake_url;
    size_t length = strlen(base);

    if (length == 0) {
        cli->exit_code = CLI_BAD_CONFIG;
        return err_set(err, ERR_INVALID,
                       "expected the address of intake but found nothing; hint: set GRANARY_INTAKE_URL, "
                       "or --intake-url http://host:port");
    }
    while (length > 0 && base[length - 1] == '/') {
        length--;
    }
    TRY(buf_append(url, base, length, err));
    TRY(buf_append_text(url, "/v1/tables/", err));
    TRY(net_url_escape(session->table, url, err));
    TRY(buf_append_text(url, "/loads", err));
    if (*session->id != '\0') {
        TRY(buf_printf(url, err, "/%s", session->id));
    }
    return buf_append_text(url, after, err);
}

static enum err_code judge(const struct load_session *session, const struct net_answer *answer, struct json **out,
                           struct error *err)
{
    static const struct json_limits limits = {.max_bytes = 64 << 20, .max_depth = 16};
    if (answer->status < 200 || answer->status >= 300) {
        return cli_refusal(session->cli, "intake", answer, err);
    }
    return json_parse((const char *)answer->body.data, answer->body.length_bytes, &limits, out, err);
}

static bool may_heal(enum err_code code, const struct net_answer *answer)
{
    return code == ERR_UNAVAILABLE || code == ERR_TIMEOUT ||
           (code == OK && (answer->status == 429 || (answer->status >= 502 && answer->status <= 504)));
}

/* Until there is an answer that no waiting can better, or the time is over. */
static enum err_code ask(struct load_session *session, struct net_request *request, struct json **out,
                         struct error *err)
{
    const int64_t begun_us = clock_monotonic_us();
    for (;;) {
        AUTO(net_answer_done) struct net_answer answer = {0};
        int64_t left_us = session->retry_for_us - (clock_monotonic_us() - begun_us);
        request->retry_for_us = left_us < TRY_FOR_US ? left_us : TRY_FOR_US;
        enum err_code code = net_send(session->client, request, &answer, err);
        load_progress_show(session->progress);
        if (left_us > 0 && may_heal(code, &answer)) {
            continue;
        }
        TRY(code);
        return judge(session, &answer, out, err);
    }
}

/* One that is asked once. */
static enum err_code ask_once(struct load_session *session, const char *method, struct json **out, struct error *err)
{
    AUTO(buf_done) struct buf url = {0};
    AUTO(net_answer_done) struct net_answer answer = {0};
    TRY(build_url(session, "", &url, err));
    const struct net_request request = {.method = method, .url = buf_text(&url), .timeout_us = EXCHANGE_US};
    if (request.url == NULL) {
        return err_no_memory(err, url.length_bytes);
    }
    TRY(net_send(session->client, &request, &answer, err));
    return judge(session, &answer, out, err);
}

/* --- begin --------------------------------------------------------------------------------------------------------- */
enum err_code load_session_begin(struct load_session *session, struct json **out, struct error *err)
{
    AUTO(buf_done) struct buf url = {0};
    AUTO(json_free_auto) struct json *answer = NULL;
    const struct net_header headers[] = {{"Idempotency-Key", session->key}};

    *session->id = '\0';
    if (session->client == NULL) {
        TRY(cli_connect(session->cli, &session->client, err));
    }
    TRY(build_url(session, "", &url, err));
    TRY(cli_path_add(&url, "dry_run", session->dry_run ? "1" : NULL, err));
    TRY(cli_path_add(&url, "max_rejects", session->max_rejects, err));
    struct net_request request = {.method = "POST",
                                  .url = buf_text(&url),
                                  .headers = headers,
                                  .header_count = session->key != NULL,
                                  .timeout_us = EXCHANGE_US};
    if (request.url == NULL) {
        return err_no_memory(err, url.length_bytes);
    }
    TRY(ask(session, &request, &answer, err));
    const char *id = json_as_text(json_find(answer, "load_id"), NULL);
    if (id == NULL || strlen(id) >= sizeof session->id) {
        return err_set(err, ERR_INVALID, "expected a load_id in the answer of intake but found none");
    }
    (void)snprintf(session->id, sizeof session->id, "%s", id);
    *out = TAKE(answer);
    return OK;
}

/* --- rows ---------------------------------------------------------------------------------------------------------- */
struct upload {
    struct load_session *session;
    int file;
};

static enum err_code read_more(void *context, void *out, size_t capacity, size_t *out_length, struct error *err)
{
    struct upload *upload = context;
    struct load_progress *progress = upload->session->progress;
    ssize_t got;
    do {
        got = read(upload->file, out, capacity);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return err_set(err, ERR_INVALID, "could not read the input: %s", strerror(errno));
    }
    progress->bytes += got;
    load_progress_show(progress);
    *out_length = (size_t)got;
    return OK;
}

static enum err_code add_csv(struct load_session *session, const struct load_input *input, struct buf *url,
                             struct error *err)
{
    struct ingest_csv csv;
    TRY(load_csv_given(session->cli, input, &csv, err));
    const char delimiter[] = {csv.delimiter, '\0'};
    const char quote[] = {csv.quote, '\0'};
    TRY(cli_path_add(url, "delimiter", csv.delimiter != '\0' ? delimiter : NULL, err));
    TRY(cli_path_add(url, "quote", csv.quote != '\0' ? quote : NULL, err));
    TRY(cli_path_add(url, "null", csv.null_text, err));
    TRY(cli_path_add(url, "header", csv.has_no_header ? "0" : NULL, err));
    return cli_path_add(url, "lenient", csv.is_lenient ? "1" : NULL, err);
}

static enum err_code exchange_body(struct load_session *session, const struct load_input *input, struct json **out,
                                   struct error *err)
{
    static const char *const types[INGEST_FORMAT_COUNT] = {[INGEST_NDJSON] = "application/x-ndjson",
                                                           [INGEST_JSON_ARRAY] = "application/json",
                                                           [INGEST_CSV] = "text/csv",
                                                           [INGEST_PARQUET] = "application/vnd.apache.parquet"};
    static const char *const encodings[INGEST_COMPRESSION_COUNT] = {
        [INGEST_PLAIN] = "identity", [INGEST_GZIP] = "gzip", [INGEST_ZSTD] = "zstd"};
    AUTO(cli_file_close) int file = -1;
    AUTO(buf_done) struct buf url = {0};
    AUTO(net_answer_done) struct net_answer answer = {0};
    const struct net_header headers[] = {{"Content-Type", types[input->format]},
                                         {"Content-Encoding", encodings[input->compression]}};
    TRY(cli_file_open(input->path, &file, err));
    TRY(build_url(session, "/rows", &url, err));
    if (input->format == INGEST_CSV) {
        TRY(add_csv(session, input, &url, err));
    }
    struct upload upload = {.session = session, .file = file};
    const struct net_request request = {.method = "POST",
                                        .url = buf_text(&url),
                                        .headers = headers,
                                        .header_count = sizeof headers / sizeof *headers,
                                        .on_body = read_more,
                                        .context = &upload,
                                        .timeout_us = BODY_TIMEOUT_US};
    if (request.url == NULL) {
        return err_no_memory(err, url.length_bytes);
    }
    TRY(net_send(session->client, &request, &answer, err));
    return judge(session, &answer, out, err);
}

/* Whoever sends a large body may find the connection closed before the answer has reached him: intake is asked for it. */
static void find_reason(struct load_session *session, struct error *err)
{
    AUTO(json_free_auto) struct json *shown = NULL;
    if (ask_once(session, "GET", &shown, NULL) == OK) {
        const char *failure = json_as_text(json_find(shown, "failure"), NULL);
        if (failure != NULL) {
            err_set(err, ERR_INVALID, "%s", failure);
        }
    }
}

enum err_code load_session_send(struct load_session *session, const struct load_input *input, struct json **out,
                                struct error *err)
{
    enum err_code code = exchange_body(session, input, out, err);
    if (code == ERR_UNAVAILABLE || code == ERR_TIMEOUT) {
        find_reason(session, err);
    }
    return code == OK ? OK : err_wrap(err, "%.256s", input->path);
}

/* --- the end ------------------------------------------------------------------------------------------------------- */
/* The process that had the load is gone, or its answer was lost for good: the key tells what has become of it. */
static enum err_code find_outcome(struct load_session *session, struct json **out, struct error *err)
{
    AUTO(json_free_auto) struct json *answer = NULL;
    const struct error reason = *err;
    TRY(load_session_begin(session, &answer, err));
    if (json_as_bool(json_find(answer, "duplicate"))) {
        *out = TAKE(answer);
        return OK;
    }
    load_session_abort(session);
    return err_set(err, reason.code, "%s", reason.text);
}

enum err_code load_session_commit(struct load_session *session, struct json **out, struct error *err)
{
    AUTO(buf_done) struct buf url = {0};
    TRY(build_url(session, "/commit", &url, err));
    struct net_request request = {.method = "POST", .url = buf_text(&url), .timeout_us = COMMIT_TIMEOUT_US};
    if (request.url == NULL) {
        return err_no_memory(err, url.length_bytes);
    }
    enum err_code code = ask(session, &request, out, err);
    bool lost = code == ERR_UNAVAILABLE || code == ERR_TIMEOUT || code == ERR_NOT_FOUND;
    return lost && session->key != NULL ? find_outcome(session, out, err) : code;
}

void load_session_abort(struct load_session *session)
{
    AUTO(json_free_auto) struct json *answer = NULL;
    if (session->client != NULL && *session->id != '\0') {
        enum err_code code = ask_once(session, "DELETE", &answer, NULL);
        (void)code;
    }
}
