/* Values of other writers' types: what they become, and what is said of those that do not fit. */
#include "tests/unit/parquet/footer.h"

#include <math.h>

#include "common/parquet/convert.h"

static const struct column_layout layouts[CONVERSION_COUNT] = {
    [CONVERSION_I32_TO_I64] = {.physical = PHYSICAL_INT32, .conversion = CONVERSION_I32_TO_I64, .digits = 9},
    [CONVERSION_U32_TO_I64] = {.physical = PHYSICAL_INT32, .conversion = CONVERSION_U32_TO_I64},
    [CONVERSION_U64_TO_I64] = {.physical = PHYSICAL_INT64, .conversion = CONVERSION_U64_TO_I64},
    [CONVERSION_I64_DECIMAL] = {.physical = PHYSICAL_INT64, .conversion = CONVERSION_I64_DECIMAL, .digits = 18},
    [CONVERSION_MILLIS] = {.physical = PHYSICAL_INT64, .conversion = CONVERSION_MILLIS},
    [CONVERSION_MILLIS_I32] = {.physical = PHYSICAL_INT32, .conversion = CONVERSION_MILLIS_I32},
    [CONVERSION_NANOS] = {.physical = PHYSICAL_INT64, .conversion = CONVERSION_NANOS},
};

/* said == NULL: it becomes `becomes`. */
static const struct {
    enum parquet_conversion conversion;
    int64_t value;
    bool rounds;
    int64_t becomes;
    const char *said;
} integers[] = {
    {CONVERSION_I32_TO_I64, -999999999, false, -999999999, NULL},
    {CONVERSION_I32_TO_I64, -1000000000, false, 0, "at most 9 digits but found -1000000000 unscaled"},
    {CONVERSION_U32_TO_I64, (int64_t)UINT32_MAX, false, (int64_t)UINT32_MAX, NULL},
    {CONVERSION_U64_TO_I64, INT64_MAX, false, INT64_MAX, NULL},
    {CONVERSION_U64_TO_I64, -1, false, 0, "at most 63 bits but found 18446744073709551615"},
    {CONVERSION_I64_DECIMAL, 999999999999999999, false, 999999999999999999, NULL},
    {CONVERSION_I64_DECIMAL, 1000000000000000000, false, 0, "at most 18 digits but found 1000000000000000000 unscaled"},
    {CONVERSION_MILLIS, -1, false, -1000, NULL},
    {CONVERSION_MILLIS, INT64_MAX / 1000 + 1, false, 0, "but found 9223372036854776 ms"},
    {CONVERSION_MILLIS, INT64_MIN / 1000 - 1, true, 0, "but found -9223372036854776 ms"},
    {CONVERSION_MILLIS_I32, 86399999, false, 86399999000, NULL},
    {CONVERSION_NANOS, 1000, false, 1, NULL},
    {CONVERSION_NANOS, -1000, false, -1, NULL},
    {CONVERSION_NANOS, 1001, false, 0, "whole microseconds of 64 bits but found 1001 ns"},
    {CONVERSION_NANOS, 1999, true, 1, NULL},
    {CONVERSION_NANOS, -1, true, -1, NULL},
    {CONVERSION_NANOS, -1000, true, -1, NULL},
    {CONVERSION_NANOS, INT64_MIN, true, -9223372036854776, NULL},
};

static void integers_are_widened_scaled_or_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
        char text[CONVERT_TEXT_BYTES];
        int64_t out = 77;
        const struct column_layout *layout = &layouts[integers[i].conversion];
        struct physical_values from = {(const uint8_t *)&integers[i].value, parquet_physical_width(layout), NULL, NULL};
        size_t fits = parquet_convert(layout, &from, integers[i].rounds, &out, 0, 1);
        assert_int_equal(fits, integers[i].said == NULL);
        if (fits == 1) {
            assert_true(out == integers[i].becomes);
        } else if (strstr(parquet_convert_explain(layout, &from, 0, text), integers[i].said) == NULL) {
            fail_msg("case %zu: %s", i, text);
        }
    }
}

static void julian_days_become_microseconds(void **state)
{
    (void)state;
    static const struct {
        int32_t day;
        int64_t nanos;
        bool rounds;
        size_t fits;
        int64_t becomes;
    } cases[] = {
        {2440588, 0, false, 1, 0},
        {2440588, 1000, false, 1, 1},
        {2440588, 1001, false, 0, 0},
        {2440588, 1001, true, 1, 1},
        {2440587, 86399999999999, true, 1, -1},
        {0, 0, false, 1, INT64_C(-210866803200000000)},
        {INT32_MAX, 0, false, 0, 0},                                  /* beyond 64 bits */
        {-105862232, -32509551616000, false, 1, 9089380393200000000}, /* Spark's own wrap-around */
    };
    const struct column_layout layout = {.physical = PHYSICAL_INT96, .conversion = CONVERSION_INT96};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t bytes[12];
        int64_t out = 0;
        memcpy(bytes, &cases[i].nanos, 8);
        memcpy(bytes + 8, &cases[i].day, 4);
        struct physical_values from = {bytes, sizeof bytes, NULL, NULL};
        assert_int_equal(parquet_convert(&layout, &from, cases[i].rounds, &out, 0, 1), cases[i].fits);
        assert_true(cases[i].fits == 0 || out == cases[i].becomes);
    }
}

static void floats_of_16_bits_are_exact(void **state)
{
    (void)state;
    static const struct {
        uint16_t half;
        float becomes;
    } cases[] = {{0x0000, 0.0F},     {0x3c00, 1.0F},     {0xc000, -2.0F},
                 {0x7bff, 65504.0F}, {0x0001, 0x1p-24F}, {0x83ff, -0x1.ff8p-15F},
                 {0x0400, 0x1p-14F}, {0x7c00, INFINITY}, {0xfc00, -INFINITY}};
    const struct column_layout layout = {
        .physical = PHYSICAL_FIXED, .type_length = 2, .conversion = CONVERSION_FLOAT16};
    float out;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct physical_values from = {(const uint8_t *)&cases[i].half, 2, NULL, NULL};
        assert_int_equal(parquet_convert(&layout, &from, false, &out, 0, 1), 1);
        assert_memory_equal(&out, &cases[i].becomes, sizeof out);
    }
    static const uint16_t negative_zero = 0x8000, nan = 0x7e01;
    struct physical_values from = {(const uint8_t *)&negative_zero, 2, NULL, NULL};
    assert_int_equal(parquet_convert(&layout, &from, false, &out, 0, 1), 1);
    assert_true(out == 0 && signbit(out) != 0);
    from.data = (const uint8_t *)&nan;
    assert_int_equal(parquet_convert(&layout, &from, false, &out, 0, 1), 1);
    assert_true(isnan(out));
}

static void decimals_in_bytes_are_taken_up_to_their_digits(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        uint32_t length;
        uint8_t digits;
        int64_t becomes;
        const char *said;
    } cases[] = {
        {"", 0, 5, 0, NULL},
        {"\x7f", 1, 5, 127, NULL},
        {"\x80", 1, 5, -128, NULL},
        {"\x00\xff", 2, 5, 255, NULL},
        {"\x01\x86\x9f", 3, 5, 99999, NULL},
        {"\x01\x86\xa0", 3, 5, 0, "at most 5 digits but found 100000 unscaled"},
        {"\xfe\x79\x60", 3, 5, 0, "but found -100000 unscaled"},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfb", 20, 18, -5, NULL},
        {"\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00", 16, 18, 0,
         "but found 18446744073709551616 unscaled"},
        {"\x01\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", 18, 18, 0,
         "but found a number of 18 bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[CONVERT_TEXT_BYTES];
        int64_t out = 0;
        static const uint32_t start = 0;
        const struct column_layout layout = {
            .physical = PHYSICAL_BYTE_ARRAY, .conversion = CONVERSION_BYTES_TO_DECIMAL, .digits = cases[i].digits};
        struct physical_values from = {(const uint8_t *)cases[i].bytes, 0, &start, &cases[i].length};
        assert_int_equal(parquet_convert(&layout, &from, false, &out, 0, 1), cases[i].said == NULL);
        if (cases[i].said == NULL) {
            assert_true(out == cases[i].becomes);
        } else if (strstr(parquet_convert_explain(&layout, &from, 0, text), cases[i].said) == NULL) {
            fail_msg("case %zu: %s", i, text);
        }
    }
}

/* refusal == NULL: it becomes `type` by `conversion`. */
static const struct {
    struct meta_element element;
    const char *refusal;
    enum column_type type;
    enum parquet_conversion conversion;
} types[] = {
    {{.physical = PHYSICAL_INT32, .converted = CONVERTED_UINT_8}, NULL, COLUMN_INT32, CONVERSION_NONE},
    {{.physical = PHYSICAL_INT32, .converted = CONVERTED_UINT_32}, NULL, COLUMN_INT64, CONVERSION_U32_TO_I64},
    {{.physical = PHYSICAL_INT32, .converted = CONVERTED_INT_8}, NULL, COLUMN_INT32, CONVERSION_NONE},
    {{.physical = PHYSICAL_INT64, .converted = CONVERTED_UINT_64}, NULL, COLUMN_INT64, CONVERSION_U64_TO_I64},
    {{.physical = PHYSICAL_INT64, .converted = CONVERTED_INT_64}, NULL, COLUMN_INT64, CONVERSION_NONE},
    {{.physical = PHYSICAL_INT32, .converted = CONVERTED_TIME_MILLIS}, NULL, COLUMN_INT64, CONVERSION_MILLIS_I32},
    {{.physical = PHYSICAL_INT64, .converted = CONVERTED_TIME_MICROS}, NULL, COLUMN_INT64, CONVERSION_NONE},
    {{.physical = PHYSICAL_INT64, .logical = LOGICAL_TIME, .unit = TIME_UNIT_NANOS},
     NULL,
     COLUMN_INT64,
     CONVERSION_NANOS},
    {{.physical = PHYSICAL_INT32, .logical = LOGICAL_TIME, .unit = TIME_UNIT_NANOS}, "time of day", 0, 0},
    {{.physical = PHYSICAL_INT64, .converted = CONVERTED_TIMESTAMP_MILLIS}, NULL, COLUMN_TIMESTAMP, CONVERSION_MILLIS},
    {{.physical = PHYSICAL_INT32, .converted = CONVERTED_TIMESTAMP_MILLIS}, "timestamp", 0, 0},
    {{.physical = PHYSICAL_INT96, .converted = CONVERTED_NONE}, NULL, COLUMN_TIMESTAMP, CONVERSION_INT96},
    {{.physical = PHYSICAL_INT32, .converted = CONVERTED_DATE}, NULL, COLUMN_DATE, CONVERSION_NONE},
    {{.physical = PHYSICAL_INT64, .converted = CONVERTED_DATE}, "a date", 0, 0},
    {{.physical = PHYSICAL_INT32, .converted = CONVERTED_DECIMAL, .precision = 9, .scale = 9},
     NULL,
     COLUMN_DECIMAL,
     CONVERSION_I32_TO_I64},
    {{.physical = PHYSICAL_INT64, .converted = CONVERTED_DECIMAL, .precision = 18},
     NULL,
     COLUMN_DECIMAL,
     CONVERSION_NONE},
    {{.physical = PHYSICAL_FIXED, .type_length = 16, .converted = CONVERTED_DECIMAL, .precision = 38, .scale = 18},
     NULL,
     COLUMN_DECIMAL,
     CONVERSION_BYTES_TO_DECIMAL},
    {{.physical = PHYSICAL_FIXED, .type_length = 16, .converted = CONVERTED_DECIMAL, .precision = 38, .scale = 19},
     "more than 18 digits after the point",
     0,
     0},
    {{.physical = PHYSICAL_INT32, .converted = CONVERTED_DECIMAL, .precision = 2, .scale = 3}, "contradict", 0, 0},
    {{.physical = PHYSICAL_BYTE_ARRAY, .converted = CONVERTED_ENUM}, NULL, COLUMN_STRING, CONVERSION_NONE},
    {{.physical = PHYSICAL_BYTE_ARRAY, .converted = CONVERTED_JSON}, NULL, COLUMN_JSON, CONVERSION_NONE},
    {{.physical = PHYSICAL_BYTE_ARRAY, .logical = LOGICAL_BSON}, NULL, COLUMN_BYTES, CONVERSION_NONE},
    {{.physical = PHYSICAL_BYTE_ARRAY, .logical = 17}, NULL, COLUMN_BYTES, CONVERSION_NONE}, /* of a later format */
    {{.physical = PHYSICAL_INT32, .logical = LOGICAL_UNKNOWN}, NULL, COLUMN_INT32, CONVERSION_NONE},
    {{.physical = PHYSICAL_FIXED, .type_length = 16, .logical = LOGICAL_UUID}, NULL, COLUMN_UUID, CONVERSION_NONE},
    {{.physical = PHYSICAL_FIXED, .type_length = 12, .logical = LOGICAL_UUID}, "a uuid", 0, 0},
    {{.physical = PHYSICAL_FIXED, .type_length = 2, .logical = LOGICAL_FLOAT16},
     NULL,
     COLUMN_FLOAT,
     CONVERSION_FLOAT16},
    {{.physical = PHYSICAL_FIXED, .type_length = 12, .converted = 21},
     NULL,
     COLUMN_BYTES,
     CONVERSION_NONE}, /* interval */
    {{.physical = PHYSICAL_FIXED, .type_length = 0, .converted = CONVERTED_NONE}, "a fixed length", 0, 0},
    {{.physical = PHYSICAL_INT32, .repetition = REPETITION_REPEATED, .converted = CONVERTED_NONE},
     "nested columns",
     0,
     0},
    {{.physical = -1, .child_count = 1, .converted = CONVERTED_NONE}, "nested columns", 0, 0},
    {{.physical = 9, .converted = CONVERTED_NONE}, "unknown physical type", 0, 0},
};

static void types_of_other_writers_become_the_nearest_of_ours(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct schema_column column = {.id = 1};
        struct column_layout layout = {0};
        const char *refusal = parquet_type_from_element(&types[i].element, &column, &layout);
        if ((refusal == NULL) != (types[i].refusal == NULL) ||
            (refusal != NULL && strstr(refusal, types[i].refusal) == NULL)) {
            fail_msg("case %zu: %s", i, refusal != NULL ? refusal : "taken");
        }
        if (refusal == NULL && (column.type != types[i].type || layout.conversion != types[i].conversion)) {
            fail_msg("case %zu: found type %d by conversion %d", i, (int)column.type, (int)layout.conversion);
        }
    }
}

/* --- in files ----------------------------------------------------------------------------------------------------- */

enum { ROWS = 3000, GROUP_ROWS = 1000 };

static const struct schema_column columns[] = {
    {.id = 1, .name = "ts", .type = COLUMN_TIMESTAMP},
    {.id = 2, .name = "n", .type = COLUMN_INT64, .nullable = true},
    {.id = 3, .name = "b", .type = COLUMN_BYTES, .nullable = true},
};
static const struct schema schema = {
    .version = 1, .column_count = 3, .columns = columns, .timestamp_column = 0, .sort_key_count = 1};

/* Every third value is null; row `bad` holds `value` and `bytes`. Few distinct values make a dictionary. */
static void make_file(uint32_t bad, int64_t value, const char *bytes, size_t length, uint32_t distinct,
                      struct memory_file *out)
{
    AUTO(batch_free_auto) struct batch *batch = NULL;
    AUTO(parquet_summary_done) struct parquet_summary summary = {0};
    const struct parquet_writer_options options = {.row_group_rows = GROUP_ROWS};
    assert_int_equal(batch_new(&schema, ROWS, &batch, NULL), OK);
    for (uint32_t i = 0; i < ROWS; i++) {
        uint8_t small[2] = {0, (uint8_t)(i % distinct)};
        assert_int_equal(batch_row_begin(batch, NULL), OK);
        batch_set_i64(batch, 0, i);
        if (i == bad) {
            batch_set_i64(batch, 1, value);
            assert_int_equal(batch_set_variable(batch, 2, bytes, length, NULL), OK);
        } else if (i % 3 != 0) {
            batch_set_i64(batch, 1, (int64_t)(i % distinct) * 1000);
            assert_int_equal(batch_set_variable(batch, 2, small, sizeof small, NULL), OK);
        }
        assert_int_equal(batch_row_end(batch, NULL), OK);
    }
    assert_int_equal(write_batch(batch, &options, out, &summary, NULL), OK);
}

/* The same file, whose schema says that column `index` is something else. */
static void retype(const struct memory_file *file, size_t index, const struct meta_element *as, struct memory_file *out)
{
    AUTO(parquet_reader_free_auto) struct parquet_reader *reader = NULL;
    struct memory_file copy = *file;
    struct parquet_source source = memory_source(&copy);
    assert_int_equal(parquet_reader_open(&source, &reader, NULL), OK);
    struct meta_element *element = &reader->meta.elements[index + 1];
    element->logical = as->logical;
    element->converted = CONVERTED_NONE;
    element->unit = as->unit;
    element->precision = as->precision;
    element->scale = as->scale;
    element->integer_bits = as->integer_bits;
    replace_footer(file, reader, &reader->meta, out);
}

static enum err_code read_rows(struct memory_file *file, bool rounds, uint64_t *out_rows, struct error *err)
{
    AUTO(parquet_reader_free_auto) struct parquet_reader *reader = NULL;
    AUTO(parquet_cursor_free_auto) struct parquet_cursor *cursor = NULL;
    struct parquet_source source = memory_source(file);
    const struct parquet_cursor_options options = {.batch_rows = 170, .round_times = rounds};
    const struct batch *batch = NULL;
    *out_rows = 0;
    TRY(parquet_reader_open(&source, &reader, err));
    TRY(parquet_cursor_open(reader, &options, &cursor, err));
    do {
        TRY(parquet_cursor_next(cursor, &batch, err));
        *out_rows += batch != NULL ? batch->row_count : 0;
    } while (batch != NULL);
    return OK;
}

static const struct {
    size_t column;
    struct meta_element as;
    int64_t value;
    const char *bytes;
    size_t length;
    const char *said;
} unfit[] = {
    {1, {.logical = LOGICAL_TIMESTAMP, .unit = TIME_UNIT_NANOS}, 1234567, "", 0, "found 1234567 ns"},
    {1, {.logical = LOGICAL_TIMESTAMP, .unit = TIME_UNIT_MILLIS}, INT64_MAX, "", 0, "found 9223372036854775807 ms"},
    {2,
     {.logical = LOGICAL_DECIMAL, .precision = 38, .scale = 2},
     5,
     "\x7f\xff\xff\xff\xff\xff\xff\xff\xff",
     9,
     "at most 18 digits but found 2361183241434822606847 unscaled"},
    {2, {.logical = LOGICAL_DECIMAL, .precision = 3, .scale = 2}, 5, "\x03\xe8", 2, "at most 3 digits but found 1000"},
};

static void a_value_that_does_not_fit_is_named_by_row_and_column(void **state)
{
    (void)state;
    static const uint32_t bad_rows[] = {1, 998, 1001, 2999}, distincts[] = {5, 250};
    for (size_t i = 0; i < sizeof unfit / sizeof *unfit; i++) {
        for (size_t b = 0; b < 8; b++) {
            AUTO(memory_file_done) struct memory_file file = {0}, foreign = {0};
            struct error err = {0};
            char where[120];
            uint64_t rows;
            uint32_t bad = bad_rows[b % 4];
            make_file(bad, unfit[i].value, unfit[i].bytes, unfit[i].length, distincts[b / 4], &file);
            retype(&file, unfit[i].column, &unfit[i].as, &foreign);
            assert_int_equal(read_rows(&foreign, false, &rows, &err), ERR_INVALID);
            snprintf(where, sizeof where, "column \"%s\" of row group %u: row %u: ", columns[unfit[i].column].name,
                     bad / GROUP_ROWS, bad + 1);
            if (strstr(err.text, where) == NULL || strstr(err.text, unfit[i].said) == NULL) {
                fail_msg("case %zu, row %u: %s", i, bad, err.text);
            }
        }
    }
}

static void times_are_rounded_down_for_who_asks(void **state)
{
    (void)state;
    AUTO(memory_file_done) struct memory_file file = {0}, foreign = {0};
    uint64_t rows;
    make_file(1500, -1, "", 0, 100, &file);
    retype(&file, 1, &(struct meta_element){.logical = LOGICAL_TIMESTAMP, .unit = TIME_UNIT_NANOS}, &foreign);
    assert_int_equal(read_rows(&foreign, false, &rows, NULL), ERR_INVALID);
    assert_int_equal(read_rows(&foreign, true, &rows, NULL), OK);
    assert_int_equal(rows, ROWS);
}

static void what_no_row_names_in_a_dictionary_is_not_looked_at(void **state)
{
    (void)state;
    AUTO(memory_file_done) struct memory_file file = {0}, foreign = {0};
    AUTO(parquet_reader_free_auto) struct parquet_reader *reader = NULL;
    AUTO(parquet_cursor_free_auto) struct parquet_cursor *cursor = NULL;
    const struct batch *batch = NULL;
    make_file(2500, 1, "", 0, 5, &file);
    retype(&file, 1, &(struct meta_element){.logical = LOGICAL_TIMESTAMP, .unit = TIME_UNIT_NANOS}, &foreign);
    struct parquet_source source = memory_source(&foreign);
    static const uint8_t groups[] = {1, 1, 0};
    const struct parquet_cursor_options options = {.row_groups = groups};
    assert_int_equal(parquet_reader_open(&source, &reader, NULL), OK);
    assert_int_equal(parquet_cursor_open(reader, &options, &cursor, NULL), OK);
    assert_int_equal(parquet_cursor_next(cursor, &batch, NULL), OK);
    assert_int_equal(batch->schema->columns[1].type, COLUMN_TIMESTAMP);
    assert_true(batch->columns[1].values.i64[4] == 4);
    assert_true(column_is_null(&batch->columns[1], 3));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_widened_scaled_or_refused),
        cmocka_unit_test(julian_days_become_microseconds),
        cmocka_unit_test(floats_of_16_bits_are_exact),
        cmocka_unit_test(decimals_in_bytes_are_taken_up_to_their_digits),
        cmocka_unit_test(types_of_other_writers_become_the_nearest_of_ours),
        cmocka_unit_test(a_value_that_does_not_fit_is_named_by_row_and_column),
        cmocka_unit_test(times_are_rounded_down_for_who_asks),
        cmocka_unit_test(what_no_row_names_in_a_dictionary_is_not_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
