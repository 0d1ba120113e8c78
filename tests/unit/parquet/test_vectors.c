/* Files of other writers, from the place that VECTORS_DIR names. Expected values: the CSV files beside them, and for the
 * others what their READMEs say and another reader finds. */
#include "tests/unit/parquet/support.h"

#include <inttypes.h>

static const char *vectors_dir(void)
{
    const char *dir = getenv("VECTORS_DIR");
    return dir != NULL ? dir : "../shared/vectors";
}

static bool load(const char *name, struct buf *out)
{
    char path[512], piece[4096];
    snprintf(path, sizeof path, "%s/parquet-testing/%s", vectors_dir(), name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return false;
    }
    for (size_t length; (length = fread(piece, 1, sizeof piece, file)) > 0;) {
        assert_int_equal(buf_append(out, piece, length, NULL), OK);
    }
    fclose(file);
    return true;
}

static void need(const char *name, struct buf *out)
{
    if (!load(name, out)) {
        print_message("no test vectors: \"%s\" is not in \"%s\"; hint: set VECTORS_DIR\n", name, vectors_dir());
        skip();
    }
}

static void format_cell(const struct column *column, uint32_t row, char *out, size_t out_bytes)
{
    uint32_t length;
    if (column_is_null(column, row)) {
        out[0] = '\0';
    } else if (column->type == COLUMN_INT32) {
        snprintf(out, out_bytes, "%" PRId32, column->values.i32[row]);
    } else if (column->type == COLUMN_INT64) {
        snprintf(out, out_bytes, "%" PRId64, column->values.i64[row]);
    } else {
        const uint8_t *text = column_variable(column, row, &length);
        snprintf(out, out_bytes, "%.*s", (int)length, (const char *)text);
    }
}

/* One cell of a CSV line, quotes taken off; moves on past the comma or the end of the line. */
static void next_cell(const char **at, char *out)
{
    bool quoted = **at == '"';
    *at += quoted;
    while (**at != '\0' && (quoted ? **at != '"' : **at != ',' && **at != '\n')) {
        *out++ = *(*at)++;
    }
    *out = '\0';
    *at += quoted;
    *at += **at != '\0';
}

static void compare_with_csv(const char *parquet_name, const char *csv_name)
{
    AUTO(buf_done) struct buf csv = {0};
    AUTO(memory_file_done) struct memory_file file = {0};
    AUTO(parquet_reader_free_auto) struct parquet_reader *reader = NULL;
    AUTO(parquet_cursor_free_auto) struct parquet_cursor *cursor = NULL;
    need(parquet_name, &file.bytes);
    need(csv_name, &csv);
    struct parquet_source source = memory_source(&file);
    const struct batch *batch = NULL;
    const char *at = buf_text(&csv);
    char expected[256], got[256];
    assert_int_equal(parquet_reader_open(&source, &reader, NULL), OK);
    assert_int_equal(parquet_cursor_open(reader, NULL, &cursor, NULL), OK);
    at = strchr(at, '\n') + 1;
    for (assert_int_equal(parquet_cursor_next(cursor, &batch, NULL), OK); batch != NULL;
         assert_int_equal(parquet_cursor_next(cursor, &batch, NULL), OK)) {
        for (uint32_t row = 0; row < batch->row_count; row++) {
            for (size_t c = 0; c < batch->schema->column_count; c++) {
                next_cell(&at, expected);
                format_cell(&batch->columns[c], row, got, sizeof got);
                assert_string_equal(got, expected);
            }
        }
    }
    assert_int_equal(*at, '\0');
}

static void delta_files_equal_their_csv(void **state)
{
    (void)state;
    compare_with_csv("data/delta_binary_packed.parquet", "data/delta_binary_packed_expect.csv");
    compare_with_csv("data/delta_byte_array.parquet", "data/delta_byte_array_expect.csv");
    compare_with_csv("data/delta_encoding_required_column.parquet", "data/delta_encoding_required_column_expect.csv");
}

/* Sum of a column: of the numbers (decimals unscaled), or of the lengths of texts. */
static double column_sum(const struct column *column, uint32_t rows)
{
    double sum = 0;
    uint32_t length;
    for (uint32_t i = 0; i < rows; i++) {
        if (column_is_null(column, i)) {
            continue;
        }
        switch (column->type) {
        case COLUMN_BOOL: sum += column->values.u8[i]; break;
        case COLUMN_INT32:
        case COLUMN_DATE: sum += column->values.i32[i]; break;
        case COLUMN_INT64:
        case COLUMN_TIMESTAMP:
        case COLUMN_DECIMAL: sum += (double)column->values.i64[i]; break;
        case COLUMN_FLOAT: sum += (double)column->values.f32[i]; break;
        case COLUMN_DOUBLE: sum += column->values.f64[i]; break;
        case COLUMN_STRING:
        case COLUMN_BYTES:
        case COLUMN_JSON:
            column_variable(column, i, &length);
            sum += length;
            break;
        case COLUMN_UUID:
        case COLUMN_TYPE_COUNT: break;
        }
    }
    return sum;
}

static const struct {
    const char *name, *column;
    uint64_t rows;
    double sum;
} sums[] = {
    {"data/alltypes_plain.parquet", "id", 8, 28},
    {"data/alltypes_plain.parquet", "double_col", 8, 40.4},
    {"data/alltypes_plain.parquet", "timestamp_col", 8, 9877248240000000},
    {"data/alltypes_plain.snappy.parquet", "bigint_col", 2, 10},
    {"data/alltypes_dictionary.parquet", "bool_col", 2, 1},
    {"data/alltypes_dictionary.parquet", "date_string_col", 2, 16},
    {"data/byte_stream_split.zstd.parquet", "f32", 300, 8.258872919715941},
    {"data/byte_stream_split.zstd.parquet", "f64", 300, -41.22919022747558},
    {"data/datapage_v1-snappy-compressed-checksum.parquet", "a", 5120, 43118090240},
    {"data/datapage_v1-uncompressed-checksum.parquet", "b", 5120, 129016125440},
    {"data/rle-dict-snappy-checksum.parquet", "binary_field", 1000, 36000},
    {"data/plain-dict-uncompressed-checksum.parquet", "binary_field", 1000, 36000},
    {"data/byte_array_decimal.parquet", "value", 24, 30000},
    {"data/int32_decimal.parquet", "value", 24, 30000},
    {"data/int64_decimal.parquet", "value", 24, 30000},
    {"data/fixed_length_decimal_legacy.parquet", "value", 24, 30000},
    {"data/lz4_raw_compressed.parquet", "v11", 4, 99.525},
    {"data/delta_length_byte_array.parquet", "FRUIT", 1000, 23537},
    {"data/data_index_bloom_encoding_with_length.parquet", "String", 14, 76},
    {"data/sort_columns.parquet", "a", 6, 6},
    {"data/page_v2_empty_compressed.parquet", "integer_column", 10, 0},
    {"data/column_chunk_key_value_metadata.parquet", "column1", 0, 0},
    {"data/binary.parquet", "foo", 12, 12},
};

static void flat_files_of_other_writers_have_the_expected_sums(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        AUTO(memory_file_done) struct memory_file file = {0};
        AUTO(parquet_reader_free_auto) struct parquet_reader *reader = NULL;
        AUTO(parquet_cursor_free_auto) struct parquet_cursor *cursor = NULL;
        struct error err = {0};
        double sum = 0;
        uint64_t rows = 0;
        need(sums[i].name, &file.bytes);
        struct parquet_source source = memory_source(&file);
        if (parquet_reader_open(&source, &reader, &err) != OK) {
            fail_msg("%s: %s", sums[i].name, err.text);
        }
        int column = schema_find(parquet_reader_schema(reader), sums[i].column, strlen(sums[i].column));
        assert_true(column >= 0);
        struct parquet_cursor_options options = {.columns = (uint32_t[]){(uint32_t)column}, .column_count = 1};
        assert_int_equal(parquet_cursor_open(reader, &options, &cursor, NULL), OK);
        for (const struct batch *batch = NULL;; rows += batch->row_count) {
            if (parquet_cursor_next(cursor, &batch, &err) != OK) {
                fail_msg("%s: %s", sums[i].name, err.text);
            }
            if (batch == NULL) {
                break;
            }
            sum += column_sum(&batch->columns[0], batch->row_count);
        }
        assert_int_equal(rows, sums[i].rows);
        if (sum < sums[i].sum - 1e-6 || sum > sums[i].sum + 1e-6) {
            fail_msg("%s: expected the sum %f but found %f", sums[i].name, sums[i].sum, sum);
        }
    }
}

static const struct {
    const char *name;
    enum err_code code;
    const char *said;
} refused[] = {
    {"bad_data/ARROW-GH-41317.parquet", ERR_INVALID, "nested"},
    {"bad_data/ARROW-GH-41321.parquet", ERR_INVALID, "nested"},
    {"bad_data/ARROW-GH-45185.parquet", ERR_INVALID, "nested"},
    {"bad_data/ARROW-RS-GH-6229-LEVELS.parquet", ERR_INVALID, "nested"},
    {"bad_data/ARROW-RS-GH-6229-DICTHEADER.parquet", ERR_CORRUPT, "column \"name\""},
    {"data/datapage_v1-corrupt-checksum.parquet", ERR_CORRUPT, "checksum"},
    {"data/rle-dict-uncompressed-corrupt-checksum.parquet", ERR_CORRUPT, "checksum"},
    {"data/nullable.impala.parquet", ERR_INVALID, "column \"int_array\": nested"},
};

static void what_is_broken_or_not_read_is_refused_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        AUTO(memory_file_done) struct memory_file file = {0};
        AUTO(parquet_reader_free_auto) struct parquet_reader *reader = NULL;
        AUTO(parquet_cursor_free_auto) struct parquet_cursor *cursor = NULL;
        struct error err = {0};
        need(refused[i].name, &file.bytes);
        struct parquet_source source = memory_source(&file);
        const struct batch *batch = NULL;
        enum err_code code = parquet_reader_open(&source, &reader, &err);
        code = code == OK ? parquet_cursor_open(reader, NULL, &cursor, &err) : code;
        do {
            code = code == OK ? parquet_cursor_next(cursor, &batch, &err) : code;
        } while (code == OK && batch != NULL);
        assert_int_equal(code, refused[i].code);
        if (strstr(err.text, refused[i].said) == NULL) {
            fail_msg("%s: %s", refused[i].name, err.text);
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(delta_files_equal_their_csv),
        cmocka_unit_test(flat_files_of_other_writers_have_the_expected_sums),
        cmocka_unit_test(what_is_broken_or_not_read_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
