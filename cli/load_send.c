/* Each thread has a connection of its own and takes the next body when it is free. A body is sent again under the same key
 * until it is answered: intake lands it once. The first failure stops all. */
#include <string.h>
#include <time.h>

#include "cli/load.h"
#include "common/base/clock.h"

#define EXCHANGE_TIMEOUT_US (2 * CLOCK_MINUTE_US)
#define COMMIT_WAIT         "30s"

struct load_sender {
    struct cli *cli;
    const struct load_options *options; /* borrowed */
    struct buf url_memory;
    const char *url;       /* in it: buf_text writes, and the threads only read */
    pthread_mutex_t mutex; /* of everything below */
    pthread_cond_t change;
    struct load_body *first, **last; /* waiting; never more than there are threads */
    size_t waiting, busy;
    bool ending, failed;
    struct error err; /* of the first failure */
    struct load_counts counts;
    size_t thread_count;
    pthread_t threads[];
};

/* --- one body ------------------------------------------------------------------------------------------------------ */
static void copy_text(const struct json *json, const char *member, char *out, size_t capacity)
{
    const char *text = json_as_text(json_find(json, member), NULL);
    (void)snprintf(out, capacity, "%s", text == NULL ? "" : text);
}

static void count_answer(struct load_sender *sender, const struct load_body *body, const struct json *answer)
{
    struct load_counts *counts = &sender->counts;
    const struct json *rejects = json_find(answer, "rejects");

    counts->bytes += (int64_t)body->data.length_bytes;
    counts->bodies++;
    if (json_as_bool(json_find(answer, "duplicate"))) {
        counts->known_bodies++;
        return;
    }
    counts->rows += json_as_i64(json_find(answer, "rows"));
    counts->rejected += json_as_i64(json_find(answer, "rejected"));
    for (size_t i = 0; i < json_length(rejects) && counts->shown < LOAD_SHOWN_REJECTS; i++) {
        struct load_reject *reject = &counts->rejects[counts->shown++];
        const struct json *from = json_at(rejects, i);
        reject->row = body->rows_before + json_as_i64(json_find(from, "row"));
        copy_text(from, "column", reject->column, sizeof reject->column);
        copy_text(from, "reason", reject->reason, sizeof reject->reason);
    }
}

static enum err_code judge(struct load_sender *sender, const struct load_body *body, const struct net_answer *answer,
                           struct error *err)
{
    AUTO(json_free_auto) struct json *json = NULL;

    (void)pthread_mutex_lock(&sender->mutex);
    enum err_code code = OK;
    if (answer->status < 200 || answer->status >= 300) {
        code = cli_refusal(sender->cli, "intake", answer, err);
    } else {
        code = json_parse((const char *)answer->body.data, answer->body.length_bytes, NULL, &json, err);
    }
    if (code == OK) {
        count_answer(sender, body, json);
    }
    (void)pthread_mutex_unlock(&sender->mutex);
    return code;
}

static enum err_code send_body(struct load_sender *sender, struct net_client *client, const struct load_body *body,
                               struct error *err)
{
    char key[256];
    const struct net_header headers[] = {{"Content-Type", "application/x-ndjson"}, {"Idempotency-Key", key}};
    const int64_t begun_us = clock_monotonic_us();
    const struct load_options *options = sender->options;

    (void)snprintf(key, sizeof key, "%s-%lld", options->key, (long long)body->offset);
    for (;;) {
        AUTO(net_answer_done) struct net_answer answer = {0};
        int64_t left_us = options->retry_for_us - (clock_monotonic_us() - begun_us);
        const struct net_request request = {
            .method = "POST",
            .url = sender->url,
            .headers = headers,
            .header_count = sizeof headers / sizeof *headers,
            .body = body->data.data,
            .body_bytes = body->data.length_bytes,
            .timeout_us = EXCHANGE_TIMEOUT_US,
            .retry_for_us = left_us > 0 ? left_us : 0,
        };
        enum err_code code = net_send(client, &request, &answer, err);
        if (code == ERR_TIMEOUT && left_us > 0) {
            continue; /* net repeats what was refused; no answer at all is ours to repeat */
        }
        TRY(code);
        return judge(sender, body, &answer, err);
    }
}

/* --- threads ------------------------------------------------------------------------------------------------------- */
static void fail(struct load_sender *sender, const struct error *err)
{
    if (!sender->failed) {
        sender->failed = true;
        sender->err = *err;
    }
}

/* NULL: there will be no more. */
static struct load_body *take_next(struct load_sender *sender)
{
    struct load_body *body = NULL;
    (void)pthread_mutex_lock(&sender->mutex);
    while (sender->first == NULL && !sender->ending && !sender->failed) {
        (void)pthread_cond_wait(&sender->change, &sender->mutex);
    }
    if (sender->first != NULL && !sender->failed) {
        body = sender->first;
        sender->first = body->next;
        sender->last = sender->first == NULL ? &sender->first : sender->last;
        sender->waiting--;
        sender->busy++;
        (void)pthread_cond_broadcast(&sender->change);
    }
    (void)pthread_mutex_unlock(&sender->mutex);
    return body;
}

static void give_back(struct load_sender *sender, enum err_code code, const struct error *err)
{
    (void)pthread_mutex_lock(&sender->mutex);
    sender->busy--;
    if (code != OK) {
        fail(sender, err);
    }
    (void)pthread_cond_broadcast(&sender->change);
    (void)pthread_mutex_unlock(&sender->mutex);
}

static void *work(void *context)
{
    struct load_sender *sender = context;
    AUTO(net_client_close_auto) struct net_client *client = NULL;
    struct error err = {0};
    enum err_code opened = cli_connect(sender->cli, &client, &err);

    for (struct load_body *body; (body = take_next(sender)) != NULL; load_body_free(body)) {
        enum err_code code = opened == OK ? send_body(sender, client, body, &err) : opened;
        give_back(sender, code, &err);
    }
    return NULL;
}

static struct timespec deadline_in(int64_t wait_us)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    int64_t ns = at.tv_nsec + wait_us % CLOCK_SECOND_US * 1000;
    at.tv_sec += wait_us / CLOCK_SECOND_US + ns / 1000000000;
    at.tv_nsec = ns % 1000000000;
    return at;
}

/* --- for the cutting thread ---------------------------------------------------------------------------------------- */
enum err_code load_sender_offer(struct load_sender *sender, struct load_body **body, int64_t wait_us)
{
    struct timespec deadline = deadline_in(wait_us);
    enum err_code code = OK;
    int waited = 0;

    (void)pthread_mutex_lock(&sender->mutex);
    while (sender->waiting >= sender->thread_count && !sender->failed && waited == 0) {
        waited = pthread_cond_timedwait(&sender->change, &sender->mutex, &deadline);
    }
    if (sender->failed) {
        code = ERR_STOPPED;
    } else if (sender->waiting >= sender->thread_count) {
        code = ERR_TIMEOUT;
    } else {
        (*body)->next = NULL;
        *sender->last = *body;
        sender->last = &(*body)->next;
        *body = NULL;
        sender->waiting++;
        (void)pthread_cond_broadcast(&sender->change);
    }
    (void)pthread_mutex_unlock(&sender->mutex);
    return code;
}

enum err_code load_sender_finish(struct load_sender *sender, int64_t wait_us, struct error *err)
{
    struct timespec deadline = deadline_in(wait_us);
    enum err_code code = OK;
    int waited = 0;

    (void)pthread_mutex_lock(&sender->mutex);
    sender->ending = true;
    (void)pthread_cond_broadcast(&sender->change);
    while ((sender->busy > 0 || (sender->waiting > 0 && !sender->failed)) && waited == 0) {
        waited = pthread_cond_timedwait(&sender->change, &sender->mutex, &deadline);
    }
    if (waited != 0) {
        code = ERR_TIMEOUT;
    } else if (sender->failed) {
        code = err_set(err, sender->err.code, "%s", sender->err.text);
    }
    (void)pthread_mutex_unlock(&sender->mutex);
    return code;
}

void load_sender_counts(struct load_sender *sender, struct load_counts *out)
{
    (void)pthread_mutex_lock(&sender->mutex);
    *out = sender->counts;
    (void)pthread_mutex_unlock(&sender->mutex);
}

/* --- life ---------------------------------------------------------------------------------------------------------- */
void load_sender_free(struct load_sender *sender)
{
    if (sender == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&sender->mutex);
    sender->ending = true;
    fail(sender, &(struct error){.code = ERR_STOPPED, .text = "stopped"});
    (void)pthread_cond_broadcast(&sender->change);
    (void)pthread_mutex_unlock(&sender->mutex);
    for (size_t i = 0; i < sender->thread_count; i++) {
        (void)pthread_join(sender->threads[i], NULL);
    }
    for (struct load_body *body = sender->first; body != NULL;) {
        struct load_body *next = body->next;
        load_body_free(body);
        body = next;
    }
    buf_done(&sender->url_memory);
    (void)pthread_cond_destroy(&sender->change);
    (void)pthread_mutex_destroy(&sender->mutex);
    free(sender);
}

static enum err_code build_url(struct cli *cli, const struct load_options *options, struct buf *url,
                               const char **out_text, struct error *err)
{
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
    TRY(net_url_escape(options->table, url, err));
    TRY(buf_append_text(url, options->wait_committed ? "/rows?wait=committed&timeout=" COMMIT_WAIT : "/rows", err));
    *out_text = buf_text(url);
    return *out_text == NULL ? err_no_memory(err, url->length_bytes) : OK;
}

enum err_code load_sender_start(struct cli *cli, const struct load_options *options, struct load_sender **out,
                                struct error *err)
{
    pthread_condattr_t attributes;
    struct load_sender *made = calloc(1, sizeof *made + options->threads * sizeof made->threads[0]);

    if (made == NULL) {
        return err_no_memory(err, sizeof *made);
    }
    made->cli = cli;
    made->options = options;
    made->last = &made->first;
    (void)pthread_mutex_init(&made->mutex, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&made->change, &attributes);
    (void)pthread_condattr_destroy(&attributes);

    AUTO(load_sender_free_auto) struct load_sender *sender = made;
    TRY(build_url(cli, options, &sender->url_memory, &sender->url, err));
    for (size_t i = 0; i < options->threads; i++) {
        int failure = pthread_create(&sender->threads[i], NULL, work, sender);
        if (failure != 0) {
            return err_set(err, ERR_NO_MEMORY, "could not start a thread: %s", strerror(failure));
        }
        sender->thread_count++;
    }
    *out = TAKE(sender);
    return OK;
}
