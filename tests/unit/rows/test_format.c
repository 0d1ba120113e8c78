#include "tests/unit/rows/fixture.h"

#include <math.h>
#include <stdlib.h>

#include "common/rows/format.h"

static struct schema one_column_schema(const struct schema_column *column)
{
    return (struct schema){.version = 1, .column_count = 1, .columns = column, .timestamp_column = UINT32_MAX};
}

static void assert_text(const struct batch *batch, enum rows_format format, const char *expected)
{
    AUTO(buf_done) struct buf out = {0};
    assert_int_equal(rows_format_rows(batch, 0, batch->row_count, format, &out, NULL), OK);
    assert_string_equal(buf_text(&out), expected);
}

/* The one value in both forms. */
static void assert_value(const struct batch *batch, const char *json, const char *csv)
{
    char text[256];
    (void)snprintf(text, sizeof text, "{\"v\":%s}\n", json);
    assert_text(batch, ROWS_FORMAT_NDJSON, text);
    (void)snprintf(text, sizeof text, "%s\r\n", csv);
    assert_text(batch, ROWS_FORMAT_CSV, text);
}

static void numbers_and_times_are_exact(void **state)
{
    (void)state;
    static const struct {
        enum column_type type;
        uint8_t scale;
        int64_t value;
        const char *json, *csv;
    } cases[] = {
        {COLUMN_BOOL, 0, 1, "true", "true"},
        {COLUMN_BOOL, 0, 0, "false", "false"},
        {COLUMN_INT32, 0, INT32_MIN, "-2147483648", "-2147483648"},
        {COLUMN_INT64, 0, 0, "0", "0"},
        {COLUMN_INT64, 0, INT64_MAX, "9223372036854775807", "9223372036854775807"},
        {COLUMN_INT64, 0, INT64_MIN, "-9223372036854775808", "-9223372036854775808"},
        {COLUMN_TIMESTAMP, 0, 0, "\"1970-01-01T00:00:00.000000Z\"", "1970-01-01T00:00:00.000000Z"},
        {COLUMN_TIMESTAMP, 0, -1, "\"1969-12-31T23:59:59.999999Z\"", "1969-12-31T23:59:59.999999Z"},
        {COLUMN_DATE, 0, 20000, "\"2024-10-04\"", "2024-10-04"},
        {COLUMN_DATE, 0, INT32_MAX, "\"2147483647\"", "2147483647"},
        {COLUMN_DECIMAL, 0, 123, "\"123\"", "123"},
        {COLUMN_DECIMAL, 2, 12345, "\"123.45\"", "123.45"},
        {COLUMN_DECIMAL, 2, -5, "\"-0.05\"", "-0.05"},
        {COLUMN_DECIMAL, 2, 0, "\"0.00\"", "0.00"},
        {COLUMN_DECIMAL, 18, 1, "\"0.000000000000000001\"", "0.000000000000000001"},
        {COLUMN_DECIMAL, 18, -999999999999999999, "\"-0.999999999999999999\"", "-0.999999999999999999"},
        {COLUMN_DECIMAL, 17, 999999999999999999, "\"9.99999999999999999\"", "9.99999999999999999"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct schema_column column = {
            .id = 1, .name = "v", .type = cases[i].type, .precision = 18, .scale = cases[i].scale};
        const struct schema schema = one_column_schema(&column);
        AUTO(batch_free_auto) struct batch *batch = NULL;
        assert_int_equal(batch_new(&schema, 1, &batch, NULL), OK);
        assert_int_equal(batch_row_begin(batch, NULL), OK);
        switch (column_type_width(cases[i].type)) {
        case 1: batch_set_bool(batch, 0, cases[i].value != 0); break;
        case 4: batch_set_i32(batch, 0, (int32_t)cases[i].value); break;
        default: batch_set_i64(batch, 0, cases[i].value);
        }
        assert_int_equal(batch_row_end(batch, NULL), OK);
        assert_value(batch, cases[i].json, cases[i].csv);
    }
}

static void floats_have_the_fewest_digits_that_read_back_the_same(void **state)
{
    (void)state;
    static const struct {
        enum column_type type;
        double value;
        const char *json, *csv;
    } cases[] = {
        {COLUMN_DOUBLE, 0.1, "0.1", "0.1"},
        {COLUMN_DOUBLE, 1.0 / 3, "0.3333333333333333", "0.3333333333333333"},
        {COLUMN_DOUBLE, 1e300, "1e+300", "1e+300"},
        {COLUMN_DOUBLE, 5e-324, "4.94065645841247e-324", "4.94065645841247e-324"},
        {COLUMN_DOUBLE, -0.0, "-0", "-0"},
        {COLUMN_DOUBLE, 123456789012345680.0, "1.2345678901234568e+17", "1.2345678901234568e+17"},
        {COLUMN_FLOAT, (double)0.1F, "0.1", "0.1"},
        {COLUMN_FLOAT, (double)16777217.0F, "16777216", "16777216"},
        {COLUMN_DOUBLE, (double)NAN, "\"NaN\"", "NaN"},
        {COLUMN_DOUBLE, (double)INFINITY, "\"Infinity\"", "Infinity"},
        {COLUMN_FLOAT, (double)-INFINITY, "\"-Infinity\"", "-Infinity"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct schema_column column = {.id = 1, .name = "v", .type = cases[i].type};
        const struct schema schema = one_column_schema(&column);
        AUTO(batch_free_auto) struct batch *batch = NULL;
        assert_int_equal(batch_new(&schema, 1, &batch, NULL), OK);
        assert_int_equal(batch_row_begin(batch, NULL), OK);
        if (cases[i].type == COLUMN_FLOAT) {
            batch_set_float(batch, 0, (float)cases[i].value);
        } else {
            batch_set_double(batch, 0, cases[i].value);
        }
        assert_int_equal(batch_row_end(batch, NULL), OK);
        assert_value(batch, cases[i].json, cases[i].csv);
    }
}

static void texts_are_quoted_as_each_form_wants(void **state)
{
    (void)state;
    static const struct {
        enum column_type type;
        const char *value, *json, *csv;
    } cases[] = {
        {COLUMN_STRING, "", "\"\"", "\"\""},
        {COLUMN_STRING, "plain", "\"plain\"", "plain"},
        {COLUMN_STRING, "a,b", "\"a,b\"", "\"a,b\""},
        {COLUMN_STRING, "say \"hi\"", "\"say \\\"hi\\\"\"", "\"say \"\"hi\"\"\""},
        {COLUMN_STRING, "\"", "\"\\\"\"", "\"\"\"\""},
        {COLUMN_STRING, "two\r\nlines", "\"two\\r\\nlines\"", "\"two\r\nlines\""},
        {COLUMN_STRING, "gr\xc3\xbc\xc3\x9f", "\"gr\xc3\xbc\xc3\x9f\"", "gr\xc3\xbc\xc3\x9f"},
        {COLUMN_BYTES, "", "\"\"", "\"\""},
        {COLUMN_BYTES, "f", "\"Zg==\"", "Zg=="},
        {COLUMN_BYTES, "fo", "\"Zm8=\"", "Zm8="},
        {COLUMN_BYTES, "foo", "\"Zm9v\"", "Zm9v"},
        {COLUMN_BYTES, "foob", "\"Zm9vYg==\"", "Zm9vYg=="},
        {COLUMN_BYTES, "\xff\xfe\xfb", "\"//77\"", "//77"},
        {COLUMN_JSON, "{\"a\": [1.50]}", "{\"a\": [1.50]}", "\"{\"\"a\"\": [1.50]}\""},
        {COLUMN_JSON, "[1,\r\n2]", "[1,  2]", "\"[1,\r\n2]\""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct schema_column column = {.id = 1, .name = "v", .type = cases[i].type};
        const struct schema schema = one_column_schema(&column);
        AUTO(batch_free_auto) struct batch *batch = NULL;
        assert_int_equal(batch_new(&schema, 1, &batch, NULL), OK);
        assert_int_equal(batch_row_begin(batch, NULL), OK);
        assert_int_equal(batch_set_variable(batch, 0, cases[i].value, strlen(cases[i].value), NULL), OK);
        assert_int_equal(batch_row_end(batch, NULL), OK);
        assert_value(batch, cases[i].json, cases[i].csv);
    }
}

static void rows_have_all_columns_and_nulls(void **state)
{
    (void)state;
    static const struct schema_column columns[] = {
        {.id = 1, .name = "ts", .type = COLUMN_TIMESTAMP},
        {.id = 2, .name = "text", .type = COLUMN_STRING, .nullable = true},
        {.id = 3, .name = "u", .type = COLUMN_UUID, .nullable = true},
    };
    const struct schema schema = {.version = 1, .column_count = 3, .columns = columns, .sort_key_count = 1};
    const struct uuid uuid = {{0xab, 0xcd}};
    AUTO(batch_free_auto) struct batch *batch = NULL;
    AUTO(buf_done) struct buf out = {0};
    assert_int_equal(batch_new(&schema, 2, &batch, NULL), OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(batch_row_begin(batch, NULL), OK);
        batch_set_i64(batch, 0, i);
        if (i == 1) {
            assert_int_equal(batch_set_variable(batch, 1, "x", 1, NULL), OK);
            batch_set_uuid(batch, 2, &uuid);
        }
        assert_int_equal(batch_row_end(batch, NULL), OK);
    }
    assert_int_equal(rows_format_header(&schema, ROWS_FORMAT_NDJSON, &out, NULL), OK);
    assert_int_equal(out.length_bytes, 0);
    assert_int_equal(rows_format_rows(batch, 1, 2, ROWS_FORMAT_NDJSON, &out, NULL), OK);
    assert_string_equal(buf_text(&out), "{\"ts\":\"1970-01-01T00:00:00.000001Z\",\"text\":\"x\","
                                        "\"u\":\"abcd0000-0000-0000-0000-000000000000\"}\n"
                                        "{\"ts\":\"1970-01-01T00:00:00.000002Z\",\"text\":null,\"u\":null}\n");
    buf_clear(&out);
    assert_int_equal(rows_format_header(&schema, ROWS_FORMAT_CSV, &out, NULL), OK);
    assert_int_equal(rows_format_rows(batch, 1, 2, ROWS_FORMAT_CSV, &out, NULL), OK);
    assert_string_equal(buf_text(&out), "ts,text,u\r\n"
                                        "1970-01-01T00:00:00.000001Z,x,abcd0000-0000-0000-0000-000000000000\r\n"
                                        "1970-01-01T00:00:00.000002Z,,\r\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_and_times_are_exact),
        cmocka_unit_test(floats_have_the_fewest_digits_that_read_back_the_same),
        cmocka_unit_test(texts_are_quoted_as_each_form_wants),
        cmocka_unit_test(rows_have_all_columns_and_nulls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
