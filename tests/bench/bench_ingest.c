/* NDJSON into batches, and batches onto the wire, back and in order: MB/s and rows/s of one core, on rows such as the walk
 * of a file system gives. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/ingest/ingest.h"

enum { ROWS = 400000, ROUNDS = 7, PIECE_BYTES = 1 << 20, BATCH_ROUNDS = 50 };

static const struct schema_column columns[] = {
    {.id = 1, .name = "ts", .type = COLUMN_TIMESTAMP},
    {.id = 2, .name = "path", .type = COLUMN_STRING, .nullable = true},
    {.id = 3, .name = "size", .type = COLUMN_INT64, .nullable = true},
    {.id = 4, .name = "owner", .type = COLUMN_STRING, .nullable = true},
    {.id = 5, .name = "mode", .type = COLUMN_INT32, .nullable = true},
    {.id = 6, .name = "score", .type = COLUMN_DOUBLE, .nullable = true},
};

static const struct ingest_options ndjson = {.format = INGEST_NDJSON};
static const struct ingest_limits limits = {.max_row_bytes = 1 << 20,
                                            .max_reject_text_bytes = 1 << 20,
                                            .max_decoded_bytes = SIZE_MAX,
                                            .max_depth = 64,
                                            .min_timestamp_us = INT64_MIN,
                                            .max_timestamp_us = INT64_MAX};

static void fail(const struct error *err)
{
    (void)fprintf(stderr, "bench_ingest: %s\n", err->text);
    exit(1);
}

static void generate(struct buf *body, bool with_score)
{
    struct error err;
    uint64_t random = 88172645463325252U;
    for (int i = 0; i < ROWS; i++) {
        char time[CLOCK_TEXT_BYTES];
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (void)clock_format(INT64_C(1704067200000000) + (int64_t)(random % (UINT64_C(86400) * 365 * 1000000)), time);
        if (buf_printf(body, &err,
                       "{\"ts\":\"%s\",\"path\":\"/usr/share/doc/package-%d/file%" PRIu64 ".txt\",\"size\":%" PRIu64
                       ",\"owner\":\"%s\",\"mode\":%d",
                       time, i / 40, random % 1000, random % 100000, random % 5 == 0 ? "daemon" : "root",
                       33188) != OK ||
            (with_score && buf_printf(body, &err, ",\"score\":%.17g", (double)(random >> 11) * 0x1p-53) != OK) ||
            buf_append_text(body, "}\n", &err) != OK) {
            fail(&err);
        }
    }
}

/* Of this process: what a core gives, whatever else runs. */
static int64_t cpu_us(void)
{
    struct timespec used;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * CLOCK_SECOND_US + used.tv_nsec / 1000;
}

static int64_t decode(const struct schema *schema, const struct buf *body)
{
    AUTO(ingest_free_auto) struct ingest *ingest = NULL;
    struct error err;
    int64_t start_us = cpu_us();
    if (ingest_new(schema, &ndjson, &limits, &ingest, &err) != OK) {
        fail(&err);
    }
    for (size_t at = 0; at < body->length_bytes; at += PIECE_BYTES) {
        size_t left = body->length_bytes - at;
        if (ingest_feed(ingest, body->data + at, left < PIECE_BYTES ? left : PIECE_BYTES, &err) != OK) {
            fail(&err);
        }
        batch_clear(ingest_batch(ingest)); /* as the intake does: a batch for each body */
    }
    if (ingest_finish(ingest, &err) != OK) {
        fail(&err);
    }
    size_t rejects;
    (void)ingest_rejects(ingest, &rejects);
    if (ingest_rows_seen(ingest) != ROWS || rejects != 0) {
        (void)fprintf(stderr, "bench_ingest: %zu rejects of %" PRIu64 " rows\n", rejects, ingest_rows_seen(ingest));
        exit(1);
    }
    return cpu_us() - start_us;
}

static void run(const char *name, bool with_score)
{
    AUTO(buf_done) struct buf body = {0};
    struct schema schema = {.version = 1, .column_count = 6, .columns = columns, .sort_key_count = 1};
    AUTO(schema_free_auto) struct schema *built = NULL;
    struct error err;
    int64_t best_us = INT64_MAX;
    generate(&body, with_score);
    if (schema_new(&schema, &built, &err) != OK) {
        fail(&err);
    }
    for (int round = 0; round < ROUNDS; round++) {
        int64_t took_us = decode(built, &body);
        best_us = took_us < best_us ? took_us : best_us;
    }
    printf("bench %s mb_per_s=%.0f rows_per_s=%.0f bytes_per_row=%.1f\n", name,
           (double)body.length_bytes / (double)best_us, ROWS * 1e6 / (double)best_us, (double)body.length_bytes / ROWS);
}

/* One body of about PIECE_BYTES, as the intake's head and writer handle it. */
static void run_batch(void)
{
    AUTO(buf_done) struct buf body = {0};
    AUTO(buf_done) struct buf wire = {0};
    AUTO(ingest_free_auto) struct ingest *ingest = NULL;
    AUTO(batch_free_auto) struct batch *back = NULL;
    AUTO(batch_free_auto) struct batch *sorted = NULL;
    struct schema schema = {.version = 1, .column_count = 6, .columns = columns, .sort_key_count = 1};
    struct error err;
    size_t used;
    generate(&body, false);
    if (ingest_new(&schema, &ndjson, &limits, &ingest, &err) != OK ||
        ingest_feed(ingest, body.data, PIECE_BYTES, &err) != OK) {
        fail(&err);
    }
    const struct batch *batch = ingest_batch(ingest);
    AUTO(free_auto) uint32_t *order = calloc(batch->row_count, sizeof *order);
    int64_t start_us = cpu_us();
    for (int i = 0; i < BATCH_ROUNDS; i++) {
        buf_clear(&wire);
        if (batch_encode(batch, &wire, &err) != OK) {
            fail(&err);
        }
    }
    int64_t encoded_us = cpu_us();
    for (int i = 0; i < BATCH_ROUNDS; i++) {
        batch_free(TAKE(back));
        if (batch_decode(wire.data, wire.length_bytes, &schema, SIZE_MAX, &back, &used, &err) != OK) {
            fail(&err);
        }
    }
    int64_t decoded_us = cpu_us();
    for (int i = 0; i < BATCH_ROUNDS; i++) {
        batch_free(TAKE(sorted));
        if (batch_new(&schema, batch->row_count, &sorted, &err) != OK || batch_sort_order(back, order, &err) != OK ||
            batch_append_rows(sorted, back, order, batch->row_count, &err) != OK) {
            fail(&err);
        }
    }
    int64_t sorted_us = cpu_us();
    double rows = (double)batch->row_count * BATCH_ROUNDS * 1e6;
    printf("bench batch rows=%u bytes=%zu wire_bytes=%zu encode_rows_per_s=%.0f decode_rows_per_s=%.0f "
           "sort_rows_per_s=%.0f\n",
           batch->row_count, batch_memory_bytes(batch), wire.length_bytes, rows / (double)(encoded_us - start_us),
           rows / (double)(decoded_us - encoded_us), rows / (double)(sorted_us - decoded_us));
}

int main(void)
{
    run("ingest_decode", false);
    run("ingest_decode_doubles", true);
    run_batch();
    return 0;
}
