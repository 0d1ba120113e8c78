/* A table with a column of each type, and its values as text. */
#ifndef GRANARY_TESTS_UNIT_INGEST_FIXTURE_H
#define GRANARY_TESTS_UNIT_INGEST_FIXTURE_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/buf.h"
#include "common/ingest/ingest.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

enum { TS, BOOL, I32, I64, FLOAT, DOUBLE, STRING, BYTES, TIME, DATE, DECIMAL, UUID, JSON, LONG, NEEDED, COLUMNS };

static const struct schema_column fixture_columns[COLUMNS] = {
    [TS] = {.id = 1, .name = "ts", .type = COLUMN_TIMESTAMP},
    [BOOL] = {.id = 2, .name = "b", .type = COLUMN_BOOL, .nullable = true},
    [I32] = {.id = 3, .name = "i32", .type = COLUMN_INT32, .nullable = true},
    [I64] = {.id = 4, .name = "i64", .type = COLUMN_INT64, .nullable = true},
    [FLOAT] = {.id = 5, .name = "f", .type = COLUMN_FLOAT, .nullable = true},
    [DOUBLE] = {.id = 6, .name = "d", .type = COLUMN_DOUBLE, .nullable = true},
    [STRING] = {.id = 7, .name = "s", .type = COLUMN_STRING, .nullable = true},
    [BYTES] = {.id = 8, .name = "by", .type = COLUMN_BYTES, .nullable = true},
    [TIME] = {.id = 9, .name = "t", .type = COLUMN_TIMESTAMP, .nullable = true},
    [DATE] = {.id = 10, .name = "day", .type = COLUMN_DATE, .nullable = true},
    [DECIMAL] = {.id = 11, .name = "dec", .type = COLUMN_DECIMAL, .nullable = true, .precision = 9, .scale = 2},
    [UUID] = {.id = 12, .name = "u", .type = COLUMN_UUID, .nullable = true},
    [JSON] = {.id = 13, .name = "j", .type = COLUMN_JSON, .nullable = true},
    [LONG] = {.id = 14, .name = "a_name_of_more_than_sixteen_bytes", .type = COLUMN_INT64, .nullable = true},
    [NEEDED] = {.id = 15, .name = "needed", .type = COLUMN_BOOL, .nullable = true},
};
static const struct schema fixture_schema = {
    .version = 1, .column_count = COLUMNS, .columns = fixture_columns, .timestamp_column = TS, .sort_key_count = 1};

/* From 2000 to 2099. */
static const struct ingest_limits fixture_limits = {
    .max_row_bytes = 4096,
    .max_reject_text_bytes = 4096,
    .max_decoded_bytes = 1 << 20,
    .max_depth = 8,
    .min_timestamp_us = INT64_C(946684800000000),
    .max_timestamp_us = INT64_C(4102444799999999),
};

__attribute__((unused)) static struct ingest *new_ingest(enum ingest_format format, enum ingest_compression compression,
                                                         const struct ingest_limits *limits)
{
    struct ingest *ingest = NULL;
    struct error err = {0};
    const struct ingest_options options = {.format = format, .compression = compression};
    assert_int_equal(ingest_new(&fixture_schema, &options, limits, &ingest, &err), OK);
    return ingest;
}

/* A value as text; "null" for null. Variable width as it is, with NUL shown as '0x00'. */
__attribute__((unused)) static void value_text(const struct batch *batch, uint32_t column_index, uint32_t row,
                                               char *text, size_t size)
{
    const struct column *column = &batch->columns[column_index];
    char uuid[UUID_TEXT_BYTES];
    uint32_t length = 0;
    const uint8_t *data;
    if (column_is_null(column, row)) {
        (void)snprintf(text, size, "null");
        return;
    }
    switch (column->type) {
    case COLUMN_BOOL: (void)snprintf(text, size, "%d", column->values.u8[row]); break;
    case COLUMN_INT32:
    case COLUMN_DATE: (void)snprintf(text, size, "%d", column->values.i32[row]); break;
    case COLUMN_INT64:
    case COLUMN_TIMESTAMP:
    case COLUMN_DECIMAL: (void)snprintf(text, size, "%" PRId64, column->values.i64[row]); break;
    case COLUMN_FLOAT: (void)snprintf(text, size, "%.9g", (double)column->values.f32[row]); break;
    case COLUMN_DOUBLE: (void)snprintf(text, size, "%.17g", column->values.f64[row]); break;
    case COLUMN_UUID: (void)snprintf(text, size, "%s", uuid_format(&column->values.uuid[row], uuid)); break;
    case COLUMN_STRING:
    case COLUMN_BYTES:
    case COLUMN_JSON:
        data = column_variable(column, row, &length);
        text[0] = '\0';
        for (uint32_t i = 0; i < length && strlen(text) + 8 < size; i++) {
            (void)snprintf(text + strlen(text), 8, data[i] == 0 ? "0x00" : "%c", data[i]);
        }
        break;
    case COLUMN_TYPE_COUNT: fail();
    }
}

/* What came of a body, as text: "ok <i64> <s>" for rows, "<row> <column>: <reason> | <text>" for rejects. */
__attribute__((unused)) static void describe(struct ingest *ingest, struct buf *out)
{
    const struct batch *batch = ingest_batch(ingest);
    char text[256];
    size_t count;
    const struct ingest_reject *rejects = ingest_rejects(ingest, &count);
    buf_clear(out);
    for (uint32_t i = 0; i < batch->row_count; i++) {
        value_text(batch, I64, i, text, sizeof text);
        assert_int_equal(buf_printf(out, NULL, "ok %s ", text), OK);
        value_text(batch, STRING, i, text, sizeof text);
        assert_int_equal(buf_printf(out, NULL, "%s\n", text), OK);
    }
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(buf_printf(out, NULL, "%" PRIu64 " %s: %s | %.*s\n", rejects[i].row,
                                    rejects[i].column == NULL ? "-" : rejects[i].column, rejects[i].reason,
                                    (int)rejects[i].text_bytes, rejects[i].text),
                         OK);
    }
    assert_non_null(buf_text(out));
}

/* Feeds the body in pieces of so many bytes, each in memory of its own so that a step beyond is seen. */
__attribute__((unused)) static enum err_code feed_pieces(struct ingest *ingest, const void *body, size_t length,
                                                         size_t piece, struct error *err)
{
    for (size_t at = 0; at < length; at += piece) {
        size_t bytes = length - at < piece ? length - at : piece;
        AUTO(free_auto) void *copy = malloc(bytes);
        memcpy(copy, (const uint8_t *)body + at, bytes);
        TRY(ingest_feed(ingest, copy, bytes, err));
    }
    return ingest_finish(ingest, err);
}

#endif
