/* Files in memory and rows of every type, for the tests of the partition file. */
#ifndef GRANARY_TESTS_PARQUET_SUPPORT_H
#define GRANARY_TESTS_PARQUET_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/digest/digest.h"
#include "common/parquet/reader.h"
#include "common/parquet/writer.h"

enum { EVERY_TYPE_COLUMNS = 14 };

static const struct schema_column every_type_columns[EVERY_TYPE_COLUMNS] = {
    {.id = 1, .name = "ts", .type = COLUMN_TIMESTAMP},
    {.id = 2, .name = "b", .type = COLUMN_BOOL, .nullable = true},
    {.id = 3, .name = "i32", .type = COLUMN_INT32, .nullable = true},
    {.id = 4, .name = "i64", .type = COLUMN_INT64, .nullable = true, .bloom = true},
    {.id = 5, .name = "f", .type = COLUMN_FLOAT, .nullable = true},
    {.id = 6, .name = "d", .type = COLUMN_DOUBLE, .nullable = true},
    {.id = 7, .name = "s", .type = COLUMN_STRING, .nullable = true, .bloom = true},
    {.id = 8, .name = "y", .type = COLUMN_BYTES, .nullable = true},
    {.id = 9, .name = "day", .type = COLUMN_DATE, .nullable = true},
    {.id = 10, .name = "dec", .type = COLUMN_DECIMAL, .nullable = true, .precision = 18, .scale = 4},
    {.id = 11, .name = "u", .type = COLUMN_UUID, .nullable = true, .bloom = true},
    {.id = 12, .name = "j", .type = COLUMN_JSON, .nullable = true},
    {.id = 13, .name = "low", .type = COLUMN_STRING},
    {.id = 21, .name = "t2", .type = COLUMN_TIMESTAMP, .nullable = true},
};

static const struct schema every_type = {.version = 7,
                                         .column_count = EVERY_TYPE_COLUMNS,
                                         .columns = every_type_columns,
                                         .timestamp_column = 0,
                                         .sort_key_count = 1};

__attribute__((unused)) static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

struct memory_file {
    struct buf bytes;
};

__attribute__((unused)) static void memory_file_done(struct memory_file *file)
{
    buf_done(&file->bytes);
}

static enum err_code memory_write(void *context, const void *data, size_t length, struct error *err)
{
    return buf_append(&((struct memory_file *)context)->bytes, data, length, err);
}

static enum err_code memory_read(void *context, uint64_t offset, size_t length, void *out, struct error *err)
{
    const struct memory_file *file = context;
    (void)err;
    assert_true(offset <= file->bytes.length_bytes && length <= file->bytes.length_bytes - offset);
    memcpy(out, file->bytes.data + offset, length);
    return OK;
}

__attribute__((unused)) static struct parquet_sink memory_sink(struct memory_file *file)
{
    return (struct parquet_sink){file, memory_write};
}

__attribute__((unused)) static struct parquet_source memory_source(struct memory_file *file)
{
    return (struct parquet_source){file, file->bytes.length_bytes, memory_read};
}

/* What the columns look like: chance of a null in percent, and how many different values there are (0: any). */
struct shape {
    uint32_t rows;
    uint32_t null_percent;
    uint32_t distinct;
    uint32_t text_bytes;
};

static void random_text(uint64_t *state, const struct shape *shape, char *out, size_t *out_length)
{
    uint64_t own = shape->distinct > 0 ? random_next(state) % shape->distinct + 1 : random_next(state);
    uint64_t local = own * 2654435761U + 1;
    *out_length = shape->text_bytes > 0 ? random_next(&local) % shape->text_bytes : 0;
    for (size_t i = 0; i < *out_length; i++) {
        out[i] = (char)('a' + random_next(&local) % 26);
    }
}

static int64_t random_number(uint64_t *state, const struct shape *shape)
{
    uint64_t value = random_next(state);
    return (int64_t)(shape->distinct > 0 ? value % shape->distinct : value >> value % 64);
}

static bool random_null(uint64_t *state, const struct shape *shape)
{
    return random_next(state) % 100 < shape->null_percent;
}

static void set_random_row(struct batch *batch, uint64_t *state, const struct shape *shape, int64_t time_us)
{
    static char text[65536];
    size_t length;
    struct uuid uuid = {{0}};
    uint64_t word = random_next(state) % (shape->distinct > 0 ? shape->distinct : UINT64_MAX);
    memcpy(uuid.bytes + 4, &word, sizeof word);
    batch_set_i64(batch, 0, time_us);
    if (!random_null(state, shape))
        batch_set_bool(batch, 1, random_next(state) & 1);
    if (!random_null(state, shape))
        batch_set_i32(batch, 2, (int32_t)random_number(state, shape));
    if (!random_null(state, shape))
        batch_set_i64(batch, 3, random_number(state, shape));
    if (!random_null(state, shape))
        batch_set_float(batch, 4, (float)random_number(state, shape) / 8);
    if (!random_null(state, shape))
        batch_set_double(batch, 5, (double)random_number(state, shape) / 1000);
    for (uint32_t column = 6; column <= 7; column++) {
        random_text(state, shape, text, &length);
        if (!random_null(state, shape))
            assert_int_equal(batch_set_variable(batch, column, text, length, NULL), OK);
    }
    if (!random_null(state, shape))
        batch_set_i32(batch, 8, (int32_t)(random_number(state, shape) % 100000));
    if (!random_null(state, shape))
        batch_set_i64(batch, 9, random_number(state, shape) % INT64_C(1000000000000000000));
    if (!random_null(state, shape))
        batch_set_uuid(batch, 10, &uuid);
    length = (size_t)snprintf(text, sizeof text, "{\"n\": %lld}", (long long)random_number(state, shape));
    if (!random_null(state, shape))
        assert_int_equal(batch_set_variable(batch, 11, text, length, NULL), OK);
    length = (size_t)snprintf(text, sizeof text, "low%llu", (unsigned long long)(random_next(state) % 9));
    assert_int_equal(batch_set_variable(batch, 12, text, length, NULL), OK);
    if (!random_null(state, shape))
        batch_set_i64(batch, 13, random_number(state, shape) % INT64_C(1000000000000000));
}

__attribute__((unused)) static struct batch *random_batch(const struct shape *shape, uint64_t seed)
{
    struct batch *batch = NULL;
    uint64_t state = seed * 2 + 88172645463325252U;
    int64_t time_us = INT64_C(1700000000000000);
    assert_int_equal(batch_new(&every_type, shape->rows, &batch, NULL), OK);
    for (uint32_t i = 0; i < shape->rows; i++) {
        time_us += (int64_t)(random_next(&state) % 5000000);
        assert_int_equal(batch_row_begin(batch, NULL), OK);
        set_random_row(batch, &state, shape, time_us);
        assert_int_equal(batch_row_end(batch, NULL), OK);
    }
    return batch;
}

__attribute__((unused)) static enum err_code write_batch(const struct batch *batch,
                                                         const struct parquet_writer_options *options,
                                                         struct memory_file *file, struct parquet_summary *out,
                                                         struct error *err)
{
    AUTO(parquet_writer_free_auto) struct parquet_writer *writer = NULL;
    struct parquet_sink sink = memory_sink(file);
    TRY(parquet_writer_new(batch->schema, options, &sink, &writer, err));
    TRY(parquet_writer_append(writer, batch, 0, batch->row_count, err));
    return parquet_writer_finish(writer, out, err);
}

/* Goes on with `seed` over the values of a row. */
__attribute__((unused)) static uint64_t digest_row(const struct batch *batch, uint32_t row, uint64_t seed)
{
    for (size_t c = 0; c < batch->schema->column_count; c++) {
        const struct column *column = &batch->columns[c];
        uint32_t length = (uint32_t)column_type_width(column->type);
        const uint8_t *value = length > 0 ? column->values.u8 + (size_t)row * length : NULL;
        value = value != NULL ? value : column_variable(column, row, &length);
        seed = column_is_null(column, row) ? seed * 31 + 7 : digest_xxh64(value, length, seed);
    }
    return seed;
}

/* Slot b of y holds what slot a of x holds. */
__attribute__((unused)) static bool equal_slots(const struct column *x, uint32_t a, const struct column *y, uint32_t b)
{
    size_t width = column_type_width(x->type);
    if (x->type != y->type || column_is_null(x, a) != column_is_null(y, b)) {
        return false;
    }
    if (width > 0) {
        return memcmp(x->values.u8 + a * width, y->values.u8 + b * width, width) == 0;
    }
    uint32_t x_length, y_length;
    const uint8_t *p = column_variable(x, a, &x_length), *q = column_variable(y, b, &y_length);
    return x_length == y_length && (x_length == 0 || memcmp(p, q, x_length) == 0);
}

/* Reads everything; each batch is also checked for what batch.h promises. */
__attribute__((unused)) static void assert_file_holds(struct memory_file *file, const struct batch *expected,
                                                      uint32_t batch_rows)
{
    AUTO(parquet_reader_free_auto) struct parquet_reader *reader = NULL;
    AUTO(parquet_cursor_free_auto) struct parquet_cursor *cursor = NULL;
    struct parquet_source source = memory_source(file);
    struct parquet_cursor_options options = {.batch_rows = batch_rows};
    struct error err = {0};
    if (parquet_reader_open(&source, &reader, &err) != OK ||
        parquet_cursor_open(reader, &options, &cursor, &err) != OK) {
        fail_msg("%s", err.text);
    }
    uint32_t done = 0;
    for (const struct batch *batch = NULL;; done += batch->row_count) {
        if (parquet_cursor_next(cursor, &batch, &err) != OK) {
            fail_msg("%s", err.text);
        }
        if (batch == NULL) {
            break;
        }
        assert_true(batch->row_count > 0 && batch->row_count <= (batch_rows > 0 ? batch_rows : 8192));
        assert_true(done + batch->row_count <= expected->row_count);
        for (size_t c = 0; c < batch->schema->column_count; c++) {
            uint32_t nulls = 0;
            for (uint32_t i = 0; i < batch->row_count; i++) {
                nulls += column_is_null(&batch->columns[c], i);
                if (!equal_slots(&batch->columns[c], i, &expected->columns[c], done + i)) {
                    fail_msg("column %s differs in row %u", batch->schema->columns[c].name, done + i);
                }
            }
            assert_int_equal(nulls, batch->columns[c].null_count);
            assert_true((batch->columns[c].valid == NULL) == (nulls == 0));
        }
    }
    assert_int_equal(done, expected->row_count);
}

#endif
