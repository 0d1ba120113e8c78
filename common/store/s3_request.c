/* One request of S3: signed, sent, and sent again while that can help. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/store/s3.h"
#include "common/store/s3_retry.h"
#include "common/store/s3_sign.h"

enum {
    MAX_ANSWER_BYTES = 16 << 20,
    MAX_FORGOTTEN_BYTES = 1 << 20,
    EXTRA_HEADERS = 6,
    MAX_HEADERS = 16,
    MAX_ASKED_S = 3600
};

/* --- clients ------------------------------------------------------------------------------------------------------ */

enum err_code store_s3_client_take(struct s3_store *store, struct net_client **out, struct error *err)
{
    struct net_client *client = NULL;
    (void)pthread_mutex_lock(&store->lock);
    if (store->idle_count > 0) {
        client = store->idle[--store->idle_count];
    }
    (void)pthread_mutex_unlock(&store->lock);
    if (client == NULL) {
        const struct net_client_options options = {
            .ca_file = store->options.ca_file,
            .connect_timeout_us = store->options.connect_timeout_us,
            .stall_timeout_us = store->options.stall_timeout_us,
        };
        TRY(net_client_open(&options, &client, err));
    }
    *out = client;
    return OK;
}

void store_s3_client_return(struct s3_store *store, struct net_client *client_take)
{
    (void)pthread_mutex_lock(&store->lock);
    if (store->idle_count < S3_IDLE_CLIENTS) {
        store->idle[store->idle_count++] = TAKE(client_take);
    }
    (void)pthread_mutex_unlock(&store->lock);
    net_client_close(client_take);
}

/* One try of a request. */
struct attempt {
    struct s3_store *store;
    const struct s3_request *request;
    struct s3_url url;
    struct s3_answer *answer;
    size_t received;  /* into request->out */
    size_t forgotten; /* beyond it */
};

static enum err_code take_data(void *context, const void *data, size_t length, struct error *err)
{
    struct attempt *attempt = context;
    const struct s3_request *request = attempt->request;
    size_t room = request->out_bytes - attempt->received;
    size_t taken = length < room ? length : room;
    memcpy((char *)request->out + attempt->received, data, taken);
    attempt->received += taken;
    /* A little too much is read and forgotten, so that the connection can be used again; it may as well never end. */
    attempt->forgotten += length - taken;
    return attempt->forgotten <= MAX_FORGOTTEN_BYTES
               ? OK
               : err_set(err, ERR_UNAVAILABLE, "expected %zu bytes but found more than %zu", request->out_bytes,
                         request->out_bytes + MAX_FORGOTTEN_BYTES);
}

static void take_header(void *context, const char *name, const char *value)
{
    store_s3_answer_take(((struct attempt *)context)->answer, name, value);
}

/* --- one try ------------------------------------------------------------------------------------------------------ */

static enum err_code build_names(struct attempt *attempt, struct buf *host, struct buf *path, struct error *err)
{
    const struct s3_url *url = &attempt->url;
    const char *key = attempt->request->key == NULL ? "" : attempt->request->key;
    if (url->path_style) {
        TRY(buf_append_text(host, url->host, err));
        return buf_printf(path, err, "/%s%s%s", url->bucket, *key == '\0' ? "" : "/", key);
    }
    TRY(buf_printf(host, err, "%s.%s", url->bucket, url->host));
    return buf_printf(path, err, "/%s", key);
}

static void hash_body(const struct s3_request *request, char out[DIGEST_SHA256_TEXT_BYTES])
{
    uint8_t hash[DIGEST_SHA256_BYTES];
    if (request->body_sha256 != NULL) {
        (void)snprintf(out, DIGEST_SHA256_TEXT_BYTES, "%s", request->body_sha256);
        return;
    }
    digest_sha256(request->body == NULL ? "" : request->body, request->body_bytes, hash);
    text_hex_encode(hash, sizeof hash, out);
}

/* Until its deadline; CLOCK_NEVER where it has none. */
static int64_t left_us(const struct s3_request *request)
{
    return request->deadline_us == NULL ? CLOCK_NEVER : atomic_load(request->deadline_us) - clock_monotonic_us();
}

static enum err_code exchange(struct attempt *attempt, const struct net_request *message, struct error *err)
{
    AUTO(net_answer_done) struct net_answer raw = {0};
    struct s3_answer *answer = attempt->answer;
    struct net_client *client = NULL;
    TRY(store_s3_client_take(attempt->store, &client, err));
    enum err_code code = net_send(client, message, &raw, err);
    store_s3_client_return(attempt->store, client);
    TRY(code);
    long asked_s = strtol(raw.retry_after, NULL, 10); /* a date reads as 0: jitter decides */
    answer->retry_after_us = (asked_s < 0 || asked_s > MAX_ASKED_S ? MAX_ASKED_S : asked_s) * CLOCK_SECOND_US;
    answer->status = raw.status;
    answer->body = raw.body;
    raw.body = (struct buf){0};
    return OK;
}

/* `now_us`: by the store's clock, as far as it is known. */
static enum err_code send_signed(struct attempt *attempt, const struct s3_credentials *credentials, int64_t now_us,
                                 struct error *err)
{
    const struct s3_request *request = attempt->request;
    AUTO(buf_done) struct buf host = {0};
    AUTO(buf_done) struct buf path = {0};
    AUTO(buf_done) struct buf url = {0};
    AUTO(buf_done) struct buf authorization = {0};
    struct net_header headers[MAX_HEADERS + EXTRA_HEADERS];
    char date[STORE_S3_DATE_BYTES];
    char hash[DIGEST_SHA256_TEXT_BYTES];
    size_t count = 0;
    TRY(build_names(attempt, &host, &path, err));
    hash_body(request, hash);
    const char *host_text = buf_text(&host);
    const char *path_text = buf_text(&path);
    if (host_text == NULL || path_text == NULL) {
        return err_no_memory(err, host.length_bytes + path.length_bytes);
    }
    headers[count++] = (struct net_header){"Host", host_text};
    headers[count++] = (struct net_header){"X-Amz-Date", store_s3_sign_date(now_us, date)};
    headers[count++] = (struct net_header){"X-Amz-Content-Sha256", hash};
    if (credentials->session_token[0] != '\0') {
        headers[count++] = (struct net_header){"X-Amz-Security-Token", credentials->session_token};
    }
    for (size_t i = 0; i < request->header_count && i < MAX_HEADERS; i++) {
        headers[count++] = request->headers[i];
    }
    const struct s3_signing signing = {
        .method = request->method,
        .path = path_text,
        .query = request->query,
        .query_count = request->query_count,
        .headers = headers,
        .header_count = count,
        .payload_hash = hash,
        .region = attempt->url.region,
        .service = "s3",
        .access_key_id = credentials->access_key_id,
        .secret_access_key = credentials->secret_access_key,
        .session_token = "",
        .time_us = now_us,
    };
    TRY(store_s3_sign_header(&signing, &authorization, err));
    TRY(buf_printf(&url, err, "%s://%s", attempt->url.scheme, host_text));
    TRY(store_s3_sign_target(&signing, &url, err));
    const char *authorization_text = buf_text(&authorization);
    const char *url_text = buf_text(&url);
    if (authorization_text == NULL || url_text == NULL) {
        return err_no_memory(err, url.length_bytes);
    }
    headers[count++] = (struct net_header){"Authorization", authorization_text};
    const struct net_request message = {
        .method = request->method,
        .url = url_text,
        .headers = headers,
        .header_count = count,
        .body = request->body,
        .body_bytes = request->body_bytes,
        .deadline_us = request->deadline_us,
        .timeout_us = CLOCK_NEVER,
        .max_answer_bytes = MAX_ANSWER_BYTES,
        .on_data = request->out == NULL ? NULL : take_data,
        .on_header = take_header,
        .context = attempt,
    };
    return exchange(attempt, &message, err);
}

/* --- the loop ----------------------------------------------------------------------------------------------------- */

struct loop {
    struct s3_store *store;
    const struct s3_request *request;
    struct s3_outcome outcome;
    int64_t started_us;
    int64_t sent_at_us; /* by the clock that the last try was signed by */
    uint32_t tries;
};

static void wait_for_rate(struct loop *loop)
{
    struct s3_store *store = loop->store;
    if (loop->request->paced_keys == 0) {
        return;
    }
    (void)pthread_mutex_lock(&store->lock);
    int64_t wait_us = store_s3_rate_take(&store->rates[loop->request->rate_slot], (double)loop->request->paced_keys,
                                         clock_monotonic_us());
    (void)pthread_mutex_unlock(&store->lock);
    clock_pause_us(wait_us);
}

static void slow_down(struct loop *loop)
{
    struct s3_store *store = loop->store;
    if (loop->request->paced_keys == 0) {
        return;
    }
    (void)pthread_mutex_lock(&store->lock);
    struct s3_rate *rate = &store->rates[loop->request->rate_slot];
    store_s3_rate_cut(rate, (double)loop->request->paced_keys, clock_monotonic_us());
    double now = rate->now;
    (void)pthread_mutex_unlock(&store->lock);
    if (store->metrics.delete_rate != NULL) {
        metric_set(store->metrics.delete_rate, now);
    }
}

static void count_metric(struct metric *metric)
{
    if (metric != NULL) {
        metric_add(metric, 1);
    }
}

/* Fills in what the decision rests on. The text of `err` says what was wrong where there is no answer. */
static void examine(struct loop *loop, const struct attempt *attempt, struct error *err)
{
    struct s3_answer *answer = attempt->answer;
    const struct s3_request *request = loop->request;
    struct s3_outcome *outcome = &loop->outcome;
    outcome->torn = false;
    if (outcome->transport == OK) {
        store_s3_answer_read(answer);
        store_s3_answer_guess(answer, request->method, loop->sent_at_us);
        bool success = answer->status >= 200 && answer->status < 300;
        bool ends_before = store_s3_range_total(answer) < request->range_end;
        bool fits = attempt->received == request->out_bytes && attempt->forgotten == 0;
        if (success && request->out != NULL && !ends_before && !fits) {
            outcome->torn = true;
            (void)err_set(err, ERR_CORRUPT, "expected %zu bytes but found %s%zu", request->out_bytes,
                          attempt->forgotten > 0 ? "more than " : "", attempt->received);
        } else if (success && request->read != NULL) {
            outcome->torn = request->read(request->context, answer, err) != OK;
        }
    }
    outcome->status = answer->status;
    outcome->code = answer->code;
    outcome->asked_pause_us = answer->retry_after_us;
}

static enum err_code try_once(struct loop *loop, struct attempt *attempt, bool refused, struct error *err)
{
    struct s3_credentials credentials;
    struct s3_store *store = loop->store;
    enum err_code code = store_s3_credentials_get(store->credentials, refused, &credentials, err);
    if (code == OK) {
        wait_for_rate(loop);
        (void)pthread_mutex_lock(&store->lock);
        attempt->url = store->url;
        (void)pthread_mutex_unlock(&store->lock);
        loop->sent_at_us = clock_now_us() + atomic_load(&store->clock_offset_us);
        code = send_signed(attempt, &credentials, loop->sent_at_us, err);
    }
    explicit_bzero(&credentials, sizeof credentials);
    return code;
}

/* Another region signs otherwise; with AWS it also lives elsewhere. An answer that names none, or the one we are in, cannot
 * be followed. */
static enum err_code follow(struct loop *loop, const struct s3_answer *answer, struct error *err)
{
    struct s3_store *store = loop->store;
    (void)pthread_mutex_lock(&store->lock);
    bool known = answer->region[0] != '\0' && strcmp(answer->region, store->url.region) != 0;
    enum err_code code = known ? store_s3_url_set_region(&store->url, answer->region, store->arena, err) : ERR_INVALID;
    (void)pthread_mutex_unlock(&store->lock);
    loop->outcome.redirects++;
    return code == OK ? OK : store_s3_error_set(store, loop->request, answer, ERR_INVALID, err);
}

static enum err_code give_up(struct loop *loop, const struct s3_answer *answer, enum err_code code, struct error *err)
{
    count_metric(loop->store->metrics.failures);
    if (loop->outcome.transport != OK || loop->outcome.torn) {
        const struct error reason = *err;
        (void)err_set(err, code, "could not %s \"s3://%s/%.300s\": %.300s", loop->request->verb,
                      loop->store->url.bucket,
                      loop->request->key == NULL ? loop->store->url.prefix : loop->request->key, reason.text);
    } else {
        (void)store_s3_error_set(loop->store, loop->request, answer, code, err);
    }
    if (loop->tries > 1) {
        return err_wrap(err, "%u tries in %lld ms, last", loop->tries, (long long)(loop->outcome.spent_us / 1000));
    }
    return code;
}

static uint64_t random_number(void)
{
    uint64_t number = 0;
    (void)!getrandom(&number, sizeof number, 0); /* a short read only makes it less random */
    return number;
}

/* What the verdict asks for. OK: go on to the next try. */
static enum err_code obey(struct loop *loop, const struct s3_decision *decision, const struct s3_answer *answer,
                          bool *out_refused, struct error *err)
{
    switch (decision->verdict) {
    case S3_RETRY:
        count_metric(loop->store->metrics.retries);
        clock_pause_us(decision->pause_us);
        return OK;
    case S3_REFRESH: loop->outcome.refreshed = *out_refused = true; return OK;
    case S3_SKEW:
        loop->outcome.skewed = true;
        if (answer->date_us != 0) {
            atomic_store(&loop->store->clock_offset_us, answer->date_us - clock_now_us());
        }
        return OK;
    case S3_REDIRECT: return follow(loop, answer, err);
    case S3_DONE:
    case S3_FAIL:
    case S3_VERDICT_COUNT: break;
    }
    return give_up(loop, answer, decision->code, err);
}

/* As long as the settings say, and not beyond the deadline as it is now. */
static void take_time(struct loop *loop)
{
    struct s3_outcome *outcome = &loop->outcome;
    const int64_t most_us = loop->store->options.retry_for_us;
    const int64_t time_left_us = left_us(loop->request);
    outcome->spent_us = clock_monotonic_us() - loop->started_us;
    outcome->retry_for_us = time_left_us < most_us - outcome->spent_us ? outcome->spent_us + time_left_us : most_us;
}

enum err_code store_s3_send(struct s3_store *store, const struct s3_request *request, struct s3_answer *out,
                            struct error *err)
{
    struct loop loop = {.store = store, .request = request, .started_us = clock_monotonic_us()};
    struct error reason = {0};
    bool refused = false;
    for (;;) {
        store_s3_answer_done(out);
        *out = (struct s3_answer){0};
        struct attempt attempt = {.store = store, .request = request, .answer = out};
        if (left_us(request) <= 0) {
            return err_set(err, ERR_TIMEOUT, "could not %s \"s3://%s/%.300s\" before its deadline%s%.300s",
                           request->verb, store->url.bucket, request->key, loop.tries == 0 ? "" : ": ", reason.text);
        }
        loop.tries++;
        count_metric(store->metrics.requests[store_s3_billing_of(request)]);
        loop.outcome.transport = try_once(&loop, &attempt, refused, &reason);
        refused = false;
        take_time(&loop);
        examine(&loop, &attempt, &reason);
        if (loop.outcome.transport == OK && store_s3_retry_is_throttled(out->status, out->code)) {
            count_metric(store->metrics.throttled);
            slow_down(&loop);
        }
        const struct s3_decision decision = store_s3_retry_decide(&loop.outcome, loop.tries, random_number());
        if (decision.verdict == S3_DONE) {
            return OK;
        }
        enum err_code code = obey(&loop, &decision, out, &refused, &reason);
        if (code != OK) {
            return err_set(err, code, "%s", reason.text);
        }
    }
}
