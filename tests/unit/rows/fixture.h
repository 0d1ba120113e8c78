/* Schemas and rows that the tests of rows share. */
#ifndef GRANARY_TESTS_UNIT_ROWS_FIXTURE_H
#define GRANARY_TESTS_UNIT_ROWS_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/rows/batch.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* ts, then one nullable column of each type, in the order of the enum. */
__attribute__((unused)) static struct schema *every_type_schema(void)
{
    static const char *const names[] = {"b", "i32", "i64", "f", "d", "s", "by", "ts2", "day", "dec", "u", "j"};
    struct schema_column columns[COLUMN_TYPE_COUNT + 1] = {{.id = 1, .name = "ts", .type = COLUMN_TIMESTAMP}};
    for (int i = 0; i < COLUMN_TYPE_COUNT; i++) {
        columns[i + 1] = (struct schema_column){
            .id = (uint32_t)i + 2, .name = names[i], .type = (enum column_type)i, .nullable = true};
        if (i == COLUMN_DECIMAL) {
            columns[i + 1].precision = 12;
            columns[i + 1].scale = 2;
        }
    }
    struct schema from = {.version = 3, .column_count = COUNT(columns), .columns = columns, .sort_key_count = 1};
    struct schema *schema = NULL;
    struct error err = {0};
    assert_int_equal(schema_new(&from, &schema, &err), OK);
    return schema;
}

/* Row n: ts = n * 7 mod 50, and a value in every column, but null where (n + column) % 5 == 0. */
__attribute__((unused)) static void append_numbered(struct batch *batch, uint32_t n)
{
    struct error err = {0};
    assert_int_equal(batch_row_begin(batch, &err), OK);
    batch_set_i64(batch, 0, (int64_t)(n * 7 % 50));
    for (uint32_t c = 1; c < batch->schema->column_count; c++) {
        char text[32];
        struct uuid uuid = {{(uint8_t)n, (uint8_t)c}};
        if ((n + c) % 5 == 0) {
            batch_set_null(batch, c);
            continue;
        }
        switch (batch->columns[c].type) {
        case COLUMN_BOOL: batch_set_bool(batch, c, n % 2 == 0); break;
        case COLUMN_INT32:
        case COLUMN_DATE: batch_set_i32(batch, c, (int32_t)n - 10); break;
        case COLUMN_INT64:
        case COLUMN_TIMESTAMP:
        case COLUMN_DECIMAL: batch_set_i64(batch, c, ((int64_t)n - 10) * 1000000007); break;
        case COLUMN_FLOAT: batch_set_float(batch, c, (float)n / 4); break;
        case COLUMN_DOUBLE: batch_set_double(batch, c, (double)n / 3); break;
        case COLUMN_UUID: batch_set_uuid(batch, c, &uuid); break;
        case COLUMN_STRING:
        case COLUMN_BYTES:
        case COLUMN_JSON:
            (void)snprintf(text, sizeof text, "%.*s%u", (int)(n % 13), "\"abcdefghijkl", n);
            assert_int_equal(batch_set_variable(batch, c, text, strlen(text), &err), OK);
            break;
        case COLUMN_TYPE_COUNT: fail();
        }
    }
    assert_int_equal(batch_row_end(batch, &err), OK);
}

__attribute__((unused)) static struct batch *numbered_batch(const struct schema *schema, uint32_t rows)
{
    struct batch *batch = NULL;
    struct error err = {0};
    assert_int_equal(batch_new(schema, 0, &batch, &err), OK);
    for (uint32_t n = 0; n < rows; n++) {
        append_numbered(batch, n);
    }
    return batch;
}

__attribute__((unused)) static void assert_rows_equal(const struct batch *x, uint32_t a, const struct batch *y,
                                                      uint32_t b)
{
    for (size_t c = 0; c < x->schema->column_count; c++) {
        const struct column *p = &x->columns[c];
        const struct column *q = &y->columns[c];
        size_t width = column_type_width(p->type);
        assert_int_equal(p->type, q->type);
        assert_int_equal(column_is_null(p, a), column_is_null(q, b));
        if (width != 0) {
            assert_memory_equal(p->values.u8 + a * width, q->values.u8 + b * width, width);
            continue;
        }
        uint32_t length = 0;
        uint32_t other = 0;
        const uint8_t *data = column_variable(p, a, &length);
        const uint8_t *same = column_variable(q, b, &other);
        assert_int_equal(length, other);
        if (length != 0) {
            assert_memory_equal(data, same, length);
        }
    }
}

#endif
