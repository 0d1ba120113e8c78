/* Bodies are decoded on the event thread, piece by piece, so that a request costs its columns and not its text. What a body
 * refused as a whole has left behind goes with its request: nothing is enqueued before it has been read to its end. */
#include "services/intake/head/head.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "services/intake/decoder.h"
#include "services/intake/head/asker.h"
#include "services/intake/head/coalescer.h"
#include "services/intake/head/codecs.h"
#include "services/intake/head/request.h"
#include "services/intake/plan.h"

#define DEFAULT_WAIT_US (30 * CLOCK_SECOND_US)
#define LONGEST_WAIT_US (10 * CLOCK_MINUTE_US)

struct head {
    const struct intake_config *config;
    struct intake_tables *tables;
    struct catalog *catalog;        /* the asker's */
    pthread_mutex_t publisher_lock; /* between readiness and the close */
    struct bus_publisher *publisher;
    struct coalescer *coalescer;
    struct asker *asker;
    struct codecs codecs;
    atomic_uint decoding;
    atomic_llong in_flight_bytes;
    struct request_tally tally;
    struct metric *bytes, *messages, *segments, *queue_full;
    struct metric *seconds;
    struct http_route route;
};

/* --- a request as it comes ---------------------------------------------------------------------------------------- */

static void request_free(struct request *request)
{
    if (request == NULL) {
        return;
    }
    shown_done(&request->shown);
    ingest_free(request->ingest);
    digest_sha256_stream_free(request->sha256);
    buf_done(&request->rows);
    buf_done(&request->rejects);
    intake_table_release(request->table);
    free(request);
}
DEFINE_AUTO(struct request, request_free)

static enum err_code read_wait(struct request *request, struct error *err)
{
    const char *wait = http_query(request->http, "wait");
    const char *timeout = http_query(request->http, "timeout");
    int64_t timeout_us = DEFAULT_WAIT_US;
    if (wait != NULL && strcmp(wait, "committed") != 0) {
        return err_set(err, ERR_INVALID, "expected wait=committed but found wait=\"%.64s\"", wait);
    }
    if (timeout != NULL) {
        TRY(clock_parse_duration(timeout, &timeout_us, err));
    }
    if (timeout_us > LONGEST_WAIT_US) {
        return err_set(err, ERR_INVALID, "expected a timeout of at most 10m but found \"%.64s\"", timeout);
    }
    request->wait_committed = wait != NULL;
    request->deadline_us = clock_monotonic_us() + timeout_us;
    return OK;
}

static enum err_code read_key(struct request *request, struct error *err)
{
    const char *key = http_header(request->http, "Idempotency-Key");
    if (key == NULL) {
        return OK;
    }
    TRY(intake_plan_key(key, err));
    request->keyed = true;
    request->batch_id = digest_uuid_v5(&request->table->table_id, key, strlen(key));
    request->sha256 = digest_sha256_stream_new();
    return request->sha256 != NULL ? OK : err_no_memory(err, 256);
}

static enum err_code open_decoder(struct head *head, struct request *request, struct error *err)
{
    struct ingest_options options;
    struct ingest_limits limits;
    TRY(decoder_read_options(request->http, &options, err));
    decoder_limits(head->config, request->table, intake_tables_now_us(head->tables), &limits);
    limits.max_decoded_bytes = (size_t)head->config->max_decoded_bytes;
    return ingest_new(request->table->schema, &options, &limits, &request->ingest, err);
}

static enum err_code begin(void *context, struct http_request *http, void **out_state, struct error *err)
{
    struct head *head = context;
    if (atomic_load(&head->in_flight_bytes) > head->config->max_in_flight_bytes) {
        http_set_header(http, "Retry-After", "1");
        return err_set(err, ERR_UNAVAILABLE, "too many bytes are being taken in; hint: try again in a second");
    }
    AUTO(request_free_auto) struct request *request = calloc(1, sizeof *request);
    if (request == NULL) {
        return err_no_memory(err, sizeof *request);
    }
    request->tally = &head->tally;
    request->http = http;
    request->shown.most = REQUEST_SHOWN_REJECTS;
    request->arrived_us = clock_monotonic_us();
    enum err_code code = intake_tables_find(head->tables, http_path(http, "table"), &request->table, err);
    if (code == ERR_UNAVAILABLE || code == ERR_TIMEOUT) {
        http_set_header(http, "Retry-After", "1");
        return err_set(err, ERR_UNAVAILABLE, "the catalog cannot be asked for the table now; hint: try again");
    }
    TRY(code);
    TRY(read_wait(request, err));
    TRY(read_key(request, err));
    TRY(open_decoder(head, request, err));
    atomic_fetch_add(&head->decoding, 1);
    *out_state = TAKE(request);
    return OK;
}

static enum err_code body(void *context, void *state, const void *data, size_t length, struct error *err)
{
    struct head *head = context;
    struct request *request = state;
    request->fed_bytes += length;
    atomic_fetch_add(&head->in_flight_bytes, (long long)length);
    if (request->sha256 != NULL) {
        digest_sha256_stream_update(request->sha256, data, length);
    }
    return ingest_feed(request->ingest, data, length, err);
}

/* What has been read is no longer waited for, and its columns are no longer needed. */
static void stop_decoding(struct head *head, struct request *request)
{
    if (request->ingest != NULL) {
        ingest_free(TAKE(request->ingest));
        atomic_fetch_sub(&head->decoding, 1);
        coalescer_wake(head->coalescer);
    }
}

static void end(void *context, void *state)
{
    struct head *head = context;
    struct request *request = state;
    stop_decoding(head, request);
    atomic_fetch_sub(&head->in_flight_bytes, (long long)request->fed_bytes);
    metric_observe_us(head->seconds, clock_monotonic_us() - request->arrived_us);
    request_free(request);
}

/* --- a request that has been read ---------------------------------------------------------------------------------- */

static enum err_code encode_rejects(const struct head *head, struct request *request, struct codec *codec,
                                    struct error *err)
{
    size_t count;
    AUTO(batch_free_auto) struct batch *batch = NULL;
    const struct ingest_reject *rejects = ingest_rejects(request->ingest, &count);
    request->reject_count = (uint32_t)count;
    if (count == 0) {
        return OK;
    }
    if (!request->keyed) {
        request->batch_id =
            uuid_v7(); /* named beside each reject, so that it cannot be the id of the message to come */
    }
    TRY(shown_add(&request->shown, rejects, count, err));
    TRY(ingest_rejects_batch(rejects, count, request->table->rejects_schema, intake_tables_now_us(head->tables),
                             &request->batch_id, &batch, err));
    return batch_encode_with(batch, codec, &request->rejects, err);
}

static enum err_code encode_all(const struct head *head, struct request *request, struct codec *codec,
                                struct error *err)
{
    const struct batch *batch = ingest_batch(request->ingest);
    request->row_count = batch->row_count;
    if (batch->row_count != 0) {
        TRY(batch_encode_with(batch, codec, &request->rows, err));
    }
    return encode_rejects(head, request, codec, err);
}

static enum err_code encode(struct head *head, struct request *request, struct error *err)
{
    struct codec *codec;
    TRY(codecs_take(&head->codecs, &codec, err));
    enum err_code code = encode_all(head, request, codec, err);
    codecs_give(&head->codecs, codec);
    TRY(code);
    if (request->rows.length_bytes + request->rejects.length_bytes > INTAKE_MAX_SEGMENT_BYTES) {
        http_set_error_status(request->http, 413);
        return err_set(
            err, ERR_INVALID,
            "the rows take %zu bytes encoded, more than the %d of one request; hint: send fewer rows in each "
            "request, or all of them in one load: POST /v1/tables/{table}/load",
            request->rows.length_bytes + request->rejects.length_bytes, INTAKE_MAX_SEGMENT_BYTES);
    }
    if (request_row_total(request) > INTAKE_MAX_ROWS) {
        http_set_error_status(request->http, 413);
        return err_set(err, ERR_INVALID, "expected at most %d rows in a request but found %zu", INTAKE_MAX_ROWS,
                       request_row_total(request));
    }
    return OK;
}

static enum err_code handle(void *context, struct http_request *http, struct error *err)
{
    struct head *head = context;
    struct request *request = http_state(http);
    TRY(ingest_finish(request->ingest, err));
    TRY(encode(head, request, err));
    if (request->sha256 != NULL) {
        digest_sha256_stream_finish(request->sha256, request->body_sha256);
    }
    metric_add(head->bytes, (int64_t)request->fed_bytes);
    if (request_row_total(request) == 0) {
        return err_set(err, ERR_INVALID, "expected at least one row but the body has none");
    }
    stop_decoding(head, request);
    http_suspend(http);
    if (request->keyed) {
        asker_check(head->asker, request);
    } else {
        coalescer_submit(head->coalescer, request);
    }
    return OK;
}

static struct http_route make_route(const struct intake_config *config)
{
    return (struct http_route){
        .method = "POST",
        .pattern = "/v1/tables/{table}/rows",
        .role = HTTP_ROLE_WRITE,
        .max_body_bytes = (size_t)config->max_body_bytes,
        .handler = handle,
        .begin = begin,
        .body = body,
        .end = end,
    };
}

const struct http_route *head_route(const struct head *head)
{
    return &head->route;
}

/* --- opening and closing -------------------------------------------------------------------------------------------- */

static void go(void *context, struct request *request)
{
    coalescer_submit(((struct head *)context)->coalescer, request);
}

static void register_metrics(struct head *head, struct metrics *metrics)
{
    static const char rows[] = "granary_intake_rows_total";
    static const char help[] = "Rows answered for, by result.";
    head->tally.rows = metrics_counter(metrics, rows, "result=\"accepted\"", help);
    head->tally.rejected = metrics_counter(metrics, rows, "result=\"rejected\"", help);
    head->bytes = metrics_counter(metrics, "granary_intake_body_bytes_total", NULL, "Bytes of request bodies as sent.");
    head->messages = metrics_counter(metrics, "granary_intake_messages_total", NULL, "Messages published.");
    head->segments = metrics_counter(metrics, "granary_intake_segments_total", NULL,
                                     "Requests in published messages: segments over messages is how many share one.");
    head->queue_full = metrics_counter(metrics, "granary_intake_queue_full_total", NULL,
                                       "Requests answered with 429 because the queue was full.");
    head->seconds = metrics_histogram(metrics, "granary_intake_request_seconds", NULL,
                                      "Time from the first byte of a request to its answer.");
}

static enum err_code open_parts(struct head *head, const struct bus_options *bus, struct error *err)
{
    const struct intake_config *config = head->config;
    const struct catalog_options catalog = {
        .url = config->catalog.url,
        .password = config->catalog.password,
        .application_name = "granary-intake-head",
        .connect_timeout_us = 2 * CLOCK_SECOND_US,
    };
    TRY(catalog_open(&catalog, &head->catalog, err));
    TRY(bus_publisher_open(bus, 128 << 20, &head->publisher, err));
    const struct asker_options asker = {.catalog = head->catalog, .go = go, .context = head};
    TRY(asker_open(&asker, &head->asker, err));
    const struct coalescer_options coalescer = {
        .publisher = head->publisher,
        .tables = head->tables,
        .asker = head->asker,
        .decoding = &head->decoding,
        .linger_us = config->linger_us,
        .messages = head->messages,
        .segments = head->segments,
        .queue_full = head->queue_full,
    };
    return coalescer_open(&coalescer, &head->coalescer, err);
}

enum err_code head_open(const struct intake_config *config, const struct bus_options *bus, struct intake_tables *tables,
                        struct metrics *metrics, struct head **out, struct error *err)
{
    AUTO(head_close_auto) struct head *head = calloc(1, sizeof *head);
    if (head == NULL) {
        return err_no_memory(err, sizeof *head);
    }
    head->config = config;
    head->tables = tables;
    head->route = make_route(config);
    pthread_mutex_init(&head->publisher_lock, NULL);
    codecs_init(&head->codecs);
    register_metrics(head, metrics);
    TRY(open_parts(head, bus, err));
    *out = TAKE(head);
    return OK;
}

/* The order matters: nothing new is published, then the broker's answers are all in, then nobody waits any more. */
void head_stop(struct head *head)
{
    coalescer_stop(head->coalescer);
    pthread_mutex_lock(&head->publisher_lock);
    struct bus_publisher *publisher = TAKE(head->publisher);
    pthread_mutex_unlock(&head->publisher_lock);
    bus_publisher_close(publisher);
    asker_stop(head->asker);
}

void head_close(struct head *head)
{
    if (head != NULL) {
        head_stop(head);
        coalescer_close(head->coalescer);
        asker_close(head->asker);
        catalog_close(head->catalog);
        codecs_done(&head->codecs);
        pthread_mutex_destroy(&head->publisher_lock);
        free(head);
    }
}

enum err_code head_check(struct head *head, struct error *err)
{
    pthread_mutex_lock(&head->publisher_lock);
    enum err_code code = head->publisher == NULL                     ? err_set(err, ERR_STOPPED, "shutting down")
                         : bus_publisher_ready(head->publisher, err) ? OK
                                                                     : ERR_UNAVAILABLE;
    pthread_mutex_unlock(&head->publisher_lock);
    return code;
}
