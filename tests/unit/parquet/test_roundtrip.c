#include "tests/unit/parquet/support.h"

static const struct shape shapes[] = {
    {1, 0, 0, 10},   /* one row */
    {1, 100, 0, 10}, /* only nulls */
    {1000, 100, 0, 10},  {7, 50, 3, 5},          {3000, 0, 0, 40}, {3000, 10, 0, 40}, {5000, 50, 5, 20},
    {5000, 95, 300, 20}, {20000, 1, 100000, 60}, {40000, 3, 1, 8}, {9000, 0, 0, 0}, /* only empty texts */
    {60, 20, 0, 60000},                                                             /* texts longer than a page */
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static const struct parquet_writer_options all_options[] = {
    {0},
    {.row_group_rows = 1000, .page_bytes = 512, .dictionary_bytes = 1024},
    {.row_group_rows = 4096, .row_group_bytes = 100000, .page_bytes = 4096, .zstd_level = -1},
    {.row_group_rows = 1 << 20, .page_bytes = 1 << 20, .dictionary_bytes = 1 << 20, .zstd_level = 1},
};
enum { OPTIONS = sizeof all_options / sizeof *all_options };

static void rows_of_every_type_come_back_as_they_went(void **state)
{
    (void)state;
    static const uint32_t batch_rows[] = {0, 1000, 77, 65536};
    for (size_t s = 0; s < SHAPES; s++) {
        AUTO(batch_free_auto) struct batch *batch = random_batch(&shapes[s], s);
        for (size_t o = 0; o < OPTIONS; o++) {
            AUTO(memory_file_done) struct memory_file file = {0};
            AUTO(parquet_summary_done) struct parquet_summary summary = {0};
            struct error err = {0};
            if (write_batch(batch, &all_options[o], &file, &summary, &err) != OK) {
                fail_msg("%s", err.text);
            }
            assert_int_equal(summary.row_count, batch->row_count);
            assert_int_equal(summary.file_bytes, file.bytes.length_bytes);
            assert_int_equal(summary.min_timestamp_us, batch->columns[0].values.i64[0]);
            assert_int_equal(summary.max_timestamp_us, batch->columns[0].values.i64[batch->row_count - 1]);
            assert_file_holds(&file, batch, batch_rows[(s + o) % 4]);
        }
    }
}

static void equal_rows_give_equal_bytes_however_they_come(void **state)
{
    (void)state;
    AUTO(batch_free_auto) struct batch *batch = random_batch(&shapes[5], 9);
    AUTO(memory_file_done) struct memory_file whole = {0}, pieces = {0};
    AUTO(parquet_summary_done) struct parquet_summary a = {0}, b = {0};
    AUTO(parquet_writer_free_auto) struct parquet_writer *writer = NULL;
    struct parquet_sink sink = memory_sink(&pieces);
    struct parquet_writer_options options = {.row_group_rows = 700};
    assert_int_equal(write_batch(batch, &options, &whole, &a, NULL), OK);
    assert_int_equal(parquet_writer_new(&every_type, &options, &sink, &writer, NULL), OK);
    for (uint32_t done = 0; done < batch->row_count; done += 13) {
        uint32_t left = batch->row_count - done;
        assert_int_equal(parquet_writer_append(writer, batch, done, left < 13 ? left : 13, NULL), OK);
    }
    assert_int_equal(parquet_writer_finish(writer, &b, NULL), OK);
    assert_int_equal(whole.bytes.length_bytes, pieces.bytes.length_bytes);
    assert_memory_equal(whole.bytes.data, pieces.bytes.data, whole.bytes.length_bytes);
}

static void a_cursor_reads_the_columns_and_row_groups_it_is_asked_for(void **state)
{
    (void)state;
    AUTO(batch_free_auto) struct batch *batch = random_batch(&shapes[5], 3);
    AUTO(memory_file_done) struct memory_file file = {0};
    AUTO(parquet_summary_done) struct parquet_summary summary = {0};
    AUTO(parquet_reader_free_auto) struct parquet_reader *reader = NULL;
    AUTO(parquet_cursor_free_auto) struct parquet_cursor *cursor = NULL;
    struct parquet_writer_options options = {.row_group_rows = 1000};
    static const uint32_t wanted[] = {12, 0};
    static const uint8_t groups[] = {0, 1, 0};
    struct parquet_cursor_options cursor_options = {.columns = wanted, .column_count = 2, .row_groups = groups};
    assert_int_equal(write_batch(batch, &options, &file, &summary, NULL), OK);
    struct parquet_source source = memory_source(&file);
    assert_int_equal(parquet_reader_open(&source, &reader, NULL), OK);
    assert_int_equal(parquet_reader_row_groups(reader), 3);
    assert_int_equal(parquet_reader_row_group_rows(reader, 2), 1000);
    assert_int_equal(parquet_cursor_open(reader, &cursor_options, &cursor, NULL), OK);
    assert_int_equal(parquet_cursor_schema(cursor)->column_count, 2);
    assert_string_equal(parquet_cursor_schema(cursor)->columns[0].name, "low");
    assert_int_equal(parquet_cursor_schema(cursor)->timestamp_column, 1);
    const struct batch *got = NULL;
    assert_int_equal(parquet_cursor_next(cursor, &got, NULL), OK);
    assert_int_equal(got->row_count, 1000);
    for (uint32_t i = 0; i < 1000; i++) {
        assert_true(equal_slots(&got->columns[0], i, &batch->columns[12], 1000 + i));
        assert_true(equal_slots(&got->columns[1], i, &batch->columns[0], 1000 + i));
    }
    assert_int_equal(parquet_cursor_next(cursor, &got, NULL), OK);
    assert_null(got);
}

static void the_footer_gives_back_schema_statistics_and_key_values(void **state)
{
    (void)state;
    AUTO(batch_free_auto) struct batch *batch = random_batch(&shapes[5], 4);
    AUTO(memory_file_done) struct memory_file file = {0};
    AUTO(parquet_summary_done) struct parquet_summary summary = {0};
    AUTO(parquet_reader_free_auto) struct parquet_reader *reader = NULL;
    static const struct parquet_key_value pairs[] = {
        {"granary.table_id", "0190d1f0-0000-7000-8000-000000000001"}, {"granary.schema_version", "7"}, {"note", ""}};
    struct parquet_writer_options options = {.key_values = pairs, .key_value_count = 3};
    assert_int_equal(write_batch(batch, &options, &file, &summary, NULL), OK);
    struct parquet_source source = memory_source(&file);
    assert_int_equal(parquet_reader_open(&source, &reader, NULL), OK);
    const struct schema *schema = parquet_reader_schema(reader);
    assert_int_equal(schema->version, 7);
    assert_int_equal(schema->table_id.bytes[15], 1);
    assert_int_equal(schema->timestamp_column, 0);
    assert_string_equal(parquet_reader_key_value(reader, "note"), "");
    assert_null(parquet_reader_key_value(reader, "absent"));
    assert_int_equal(schema->column_count, EVERY_TYPE_COLUMNS);
    for (size_t i = 0; i < EVERY_TYPE_COLUMNS; i++) {
        struct column_stats got;
        const struct schema_column *column = &schema->columns[i], *ours = &every_type_columns[i];
        assert_string_equal(column->name, ours->name);
        assert_int_equal(column->id, ours->id);
        assert_int_equal(column->type, ours->type);
        assert_int_equal(column->nullable, ours->nullable);
        assert_int_equal(column->precision, ours->precision);
        assert_int_equal(column->scale, ours->scale);
        parquet_reader_stats(reader, 0, i, &got);
        assert_int_equal(got.null_count, summary.columns[i].null_count);
        assert_int_equal(got.null_count, batch->columns[i].null_count);
        assert_true(got.has_min && got.has_max);
        assert_int_equal(got.min_length, summary.columns[i].min_length);
        assert_memory_equal(got.min, summary.columns[i].min, got.min_length);
        assert_memory_equal(got.max, summary.columns[i].max, got.max_length);
    }
}

static void zeros_and_nan_keep_bounds_true(void **state)
{
    (void)state;
    AUTO(batch_free_auto) struct batch *batch = NULL;
    AUTO(memory_file_done) struct memory_file file = {0};
    AUTO(parquet_summary_done) struct parquet_summary summary = {0};
    AUTO(parquet_reader_free_auto) struct parquet_reader *reader = NULL;
    struct column_stats stats;
    double bound;
    static const double values[] = {0.0, __builtin_nan(""), -0.0};
    assert_int_equal(batch_new(&every_type, 3, &batch, NULL), OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(batch_row_begin(batch, NULL), OK);
        batch_set_i64(batch, 0, i);
        batch_set_double(batch, 5, values[i]);
        batch_set_float(batch, 4, __builtin_nanf(""));
        assert_int_equal(batch_set_variable(batch, 12, "x", 1, NULL), OK);
        assert_int_equal(batch_row_end(batch, NULL), OK);
    }
    assert_int_equal(write_batch(batch, NULL, &file, &summary, NULL), OK);
    assert_file_holds(&file, batch, 0);
    struct parquet_source source = memory_source(&file);
    assert_int_equal(parquet_reader_open(&source, &reader, NULL), OK);
    parquet_reader_stats(reader, 0, 5, &stats);
    memcpy(&bound, stats.min, sizeof bound);
    assert_true(stats.has_min && bound == 0 && __builtin_signbit(bound) != 0);
    memcpy(&bound, stats.max, sizeof bound);
    assert_true(stats.has_max && bound == 0 && __builtin_signbit(bound) == 0);
    parquet_reader_stats(reader, 0, 4, &stats);
    assert_false(stats.has_min || stats.has_max);
}

static void rows_out_of_order_are_refused_by_number(void **state)
{
    (void)state;
    AUTO(batch_free_auto) struct batch *batch = random_batch(&shapes[4], 5);
    batch->columns[0].values.i64[1500] = 5;
    for (uint32_t split = 1500; split <= 1501; split++) { /* within a call, and between two */
        AUTO(memory_file_done) struct memory_file file = {0};
        AUTO(parquet_writer_free_auto) struct parquet_writer *writer = NULL;
        struct parquet_sink sink = memory_sink(&file);
        struct parquet_writer_options options = {.row_group_rows = 600};
        struct error err = {0};
        assert_int_equal(parquet_writer_new(&every_type, &options, &sink, &writer, NULL), OK);
        enum err_code code = parquet_writer_append(writer, batch, 0, split, &err);
        if (split == 1500) {
            assert_int_equal(code, OK);
            code = parquet_writer_append(writer, batch, 1500, 10, &err);
        }
        assert_int_equal(code, ERR_INVALID);
        assert_non_null(strstr(err.text, "sorted by \"ts\" but row 1501"));
    }
}

/* The common order has a quick way; any other goes through the comparison of rows. */
static void every_sort_key_is_held_to(void **state)
{
    (void)state;
    static const struct {
        uint32_t column;
        bool descending;
        enum err_code code;
    } cases[] = {{0, false, OK}, {0, true, ERR_INVALID}, {12, false, ERR_INVALID}, {12, true, ERR_INVALID}};
    AUTO(batch_free_auto) struct batch *batch = random_batch(&shapes[5], 8);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO(memory_file_done) struct memory_file file = {0};
        AUTO(parquet_summary_done) struct parquet_summary summary = {0};
        struct schema schema = every_type;
        struct error err = {0};
        schema.sort_keys[0] = (struct sort_key){cases[i].column, cases[i].descending};
        schema.sort_keys[1] = (struct sort_key){0, false};
        schema.sort_key_count = cases[i].column == 0 ? 1 : 2;
        batch->schema = &schema;
        assert_int_equal(write_batch(batch, NULL, &file, &summary, &err), cases[i].code);
        if (cases[i].code == OK) {
            assert_file_holds(&file, batch, 0);
        } else {
            assert_non_null(strstr(err.text, "sorts before the one ahead"));
        }
    }
    batch->schema = &every_type;
}

static void a_null_where_none_is_allowed_is_refused(void **state)
{
    (void)state;
    AUTO(batch_free_auto) struct batch *batch = random_batch(&shapes[5], 8);
    AUTO(memory_file_done) struct memory_file file = {0};
    AUTO(parquet_summary_done) struct parquet_summary summary = {0};
    struct schema_column columns[EVERY_TYPE_COLUMNS];
    struct schema schema = every_type;
    struct error err = {0};
    memcpy(columns, every_type_columns, sizeof columns);
    columns[5].nullable = false;
    schema.columns = columns;
    batch->schema = &schema;
    assert_int_equal(write_batch(batch, NULL, &file, &summary, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, "expected no nulls in column \"d\""));
    batch->schema = &every_type;
}

static void a_file_without_rows_is_refused(void **state)
{
    (void)state;
    AUTO(memory_file_done) struct memory_file file = {0};
    AUTO(parquet_writer_free_auto) struct parquet_writer *writer = NULL;
    struct parquet_sink sink = memory_sink(&file);
    struct parquet_summary summary = {.row_count = 42};
    struct error err = {0};
    assert_int_equal(parquet_writer_new(&every_type, NULL, &sink, &writer, NULL), OK);
    assert_int_equal(parquet_writer_finish(writer, &summary, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, "at least one row"));
    assert_int_equal(summary.row_count, 42);
}

static enum err_code failing_write(void *context, const void *data, size_t length, struct error *err)
{
    size_t *left = context;
    (void)data;
    if (length > *left) {
        return err_set(err, ERR_UNAVAILABLE, "could not write: no space left");
    }
    *left -= length;
    return OK;
}

static void an_error_of_the_sink_comes_through(void **state)
{
    (void)state;
    AUTO(batch_free_auto) struct batch *batch = random_batch(&shapes[3], 6);
    AUTO(memory_file_done) struct memory_file whole = {0};
    AUTO(parquet_summary_done) struct parquet_summary written = {0};
    assert_int_equal(write_batch(batch, NULL, &whole, &written, NULL), OK);
    for (size_t room = 0; room < whole.bytes.length_bytes; room += 50) {
        AUTO(parquet_writer_free_auto) struct parquet_writer *writer = NULL;
        struct parquet_summary summary = {0};
        size_t left = room;
        struct parquet_sink sink = {&left, failing_write};
        struct error err = {0};
        enum err_code code = parquet_writer_new(&every_type, NULL, &sink, &writer, &err);
        code = code != OK ? code : parquet_writer_append(writer, batch, 0, batch->row_count, &err);
        code = code != OK ? code : parquet_writer_finish(writer, &summary, &err);
        assert_int_equal(code, ERR_UNAVAILABLE);
        assert_non_null(strstr(err.text, "no space left"));
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_every_type_come_back_as_they_went),
        cmocka_unit_test(equal_rows_give_equal_bytes_however_they_come),
        cmocka_unit_test(a_cursor_reads_the_columns_and_row_groups_it_is_asked_for),
        cmocka_unit_test(the_footer_gives_back_schema_statistics_and_key_values),
        cmocka_unit_test(zeros_and_nan_keep_bounds_true),
        cmocka_unit_test(rows_out_of_order_are_refused_by_number),
        cmocka_unit_test(every_sort_key_is_held_to),
        cmocka_unit_test(a_null_where_none_is_allowed_is_refused),
        cmocka_unit_test(a_file_without_rows_is_refused),
        cmocka_unit_test(an_error_of_the_sink_comes_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
