/* Bodies of any bytes, format and compression, fed in two ways: the same rows and rejects must come out. The first byte
 * chooses; the rest is the body. */
#include <stdlib.h>
#include <string.h>

#include "common/ingest/ingest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct schema_column columns[] = {
    {.id = 1, .name = "ts", .type = COLUMN_TIMESTAMP},
    {.id = 2, .name = "b", .type = COLUMN_BOOL, .nullable = true},
    {.id = 3, .name = "i", .type = COLUMN_INT32, .nullable = true},
    {.id = 4, .name = "l", .type = COLUMN_INT64, .nullable = true},
    {.id = 5, .name = "f", .type = COLUMN_FLOAT, .nullable = true},
    {.id = 6, .name = "d", .type = COLUMN_DOUBLE, .nullable = true},
    {.id = 7, .name = "s", .type = COLUMN_STRING, .nullable = true},
    {.id = 8, .name = "y", .type = COLUMN_BYTES, .nullable = true},
    {.id = 9, .name = "day", .type = COLUMN_DATE, .nullable = true},
    {.id = 10, .name = "n", .type = COLUMN_DECIMAL, .nullable = true, .precision = 12, .scale = 3},
    {.id = 11, .name = "u", .type = COLUMN_UUID, .nullable = true},
    {.id = 12, .name = "j", .type = COLUMN_JSON, .nullable = true},
};
enum { COLUMN_COUNT = sizeof columns / sizeof columns[0] };
static const struct schema schema = {
    .version = 1, .column_count = COLUMN_COUNT, .columns = columns, .sort_key_count = 1};

static void check(bool is_right)
{
    if (!is_right) {
        abort();
    }
}

/* Each piece lies in memory of its own, so that a read beyond it is found. */
static enum err_code decode(uint8_t choice, const uint8_t *data, size_t size, size_t piece, struct ingest **out)
{
    struct ingest_limits limits = {
        .max_row_bytes = 512,
        .max_reject_text_bytes = choice & 8 ? 64 : 1024,
        .max_decoded_bytes = 1 << 20,
        .max_depth = 16,
        .min_timestamp_us = INT64_MIN,
        .max_timestamp_us = INT64_MAX,
        .unknown = choice & 16 ? INGEST_UNKNOWN_IGNORE : INGEST_UNKNOWN_REJECT,
    };
    const struct ingest_options options = {
        .format = choice & 1 ? INGEST_JSON_ARRAY : INGEST_NDJSON,
        .compression = choice & 2 ? (choice & 4 ? INGEST_GZIP : INGEST_ZSTD) : INGEST_PLAIN,
    };
    TRY(ingest_new(&schema, &options, &limits, out, NULL));
    for (size_t at = 0; at < size; at += piece) {
        size_t length = size - at < piece ? size - at : piece;
        AUTO(free_auto) uint8_t *copy = malloc(length);
        if (copy == NULL) {
            return ERR_NO_MEMORY;
        }
        memcpy(copy, data + at, length);
        TRY(ingest_feed(*out, copy, length, NULL));
    }
    return ingest_finish(*out, NULL);
}

static void check_same(struct ingest *a, struct ingest *b)
{
    size_t count;
    size_t other;
    const struct ingest_reject *x = ingest_rejects(a, &count);
    const struct ingest_reject *y = ingest_rejects(b, &other);
    AUTO(buf_done) struct buf rows = {0};
    AUTO(buf_done) struct buf same = {0};
    check(count == other && ingest_rows_seen(a) == ingest_rows_seen(b));
    check(ingest_batch(a)->row_count + count == ingest_rows_seen(a));
    for (size_t i = 0; i < count; i++) {
        check(x[i].row == y[i].row && strcmp(x[i].reason, y[i].reason) == 0 && x[i].text_bytes == y[i].text_bytes);
        check(x[i].text_bytes == 0 || memcmp(x[i].text, y[i].text, x[i].text_bytes) == 0);
    }
    check(batch_encode(ingest_batch(a), &rows, NULL) == OK && batch_encode(ingest_batch(b), &same, NULL) == OK);
    check(rows.length_bytes == same.length_bytes && memcmp(rows.data, same.data, rows.length_bytes) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    AUTO(ingest_free_auto) struct ingest *whole = NULL;
    AUTO(ingest_free_auto) struct ingest *pieces = NULL;
    size_t piece = 1 + (data[0] >> 5) * 5;
    enum err_code code = decode(data[0], data + 1, size - 1, size, &whole);
    enum err_code other = decode(data[0], data + 1, size - 1, piece, &pieces);
    check(code == other);
    if (code == OK) {
        check_same(whole, pieces);
    }
    return 0;
}
