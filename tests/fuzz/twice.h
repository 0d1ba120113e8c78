/* Bodies decoded twice, whole and in pieces: what fuzzers of the decoders share. */
#ifndef GRANARY_TESTS_FUZZ_TWICE_H
#define GRANARY_TESTS_FUZZ_TWICE_H

#include <stdlib.h>
#include <string.h>

#include "common/codec/codec.h"
#include "common/ingest/ingest.h"

static const struct schema_column twice_columns[] = {
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
    {.id = 13, .name = "e", .type = COLUMN_TIMESTAMP, .nullable = true, .format = "epoch_s"},
    {.id = 14, .name = "p", .type = COLUMN_TIMESTAMP, .nullable = true, .format = "strftime:%d/%b/%Y:%H:%M:%S %z"},
};
enum { TWICE_COLUMN_COUNT = sizeof twice_columns / sizeof twice_columns[0] };
static const struct schema twice_schema = {
    .version = 1, .column_count = TWICE_COLUMN_COUNT, .columns = twice_columns, .sort_key_count = 1};

static void check(bool is_right)
{
    if (!is_right) {
        abort();
    }
}

/* Each piece lies in memory of its own, so that a read beyond it is found. */
static enum err_code twice_feed(struct ingest *ingest, const uint8_t *data, size_t size, size_t piece)
{
    for (size_t at = 0; at < size; at += piece) {
        size_t length = size - at < piece ? size - at : piece;
        AUTO(free_auto) uint8_t *copy = malloc(length);
        check(copy != NULL);
        memcpy(copy, data + at, length);
        TRY(ingest_feed(ingest, copy, length, NULL));
    }
    return ingest_finish(ingest, NULL);
}

/* One for all: making a compressor takes longer than all else here. */
static struct codec *twice_codec(void)
{
    static struct codec *codec;
    check(codec != NULL || codec_new(1, &codec, NULL) == OK);
    return codec;
}

static void twice_check_same(struct ingest *a, struct ingest *b)
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
    check(batch_encode_with(ingest_batch(a), twice_codec(), &rows, NULL) == OK);
    check(batch_encode_with(ingest_batch(b), twice_codec(), &same, NULL) == OK);
    check(rows.length_bytes == same.length_bytes && memcmp(rows.data, same.data, rows.length_bytes) == 0);
}

/* The whole at once, and in pieces: the same rows and rejects must come out. */
static enum err_code twice_decode(const struct ingest_options *options, const struct ingest_limits *limits,
                                  const uint8_t *data, size_t size, size_t piece, struct ingest **out)
{
    AUTO(ingest_free_auto) struct ingest *whole = NULL;
    AUTO(ingest_free_auto) struct ingest *pieces = NULL;
    TRY(ingest_new(&twice_schema, options, limits, &whole, NULL));
    check(ingest_new(&twice_schema, options, limits, &pieces, NULL) == OK);
    enum err_code code = twice_feed(whole, data, size, size == 0 ? 1 : size);
    check(twice_feed(pieces, data, size, piece) == code);
    if (code == OK) {
        twice_check_same(whole, pieces);
        *out = TAKE(whole);
    }
    return code;
}

#endif
