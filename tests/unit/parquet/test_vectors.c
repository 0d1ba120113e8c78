/* Files of other writers, from the place that VECTORS_DIR names. Expected values: the CSV files beside some of them, and of all
 * a digest: tests/integration/test_parquet_files.py compares the values that it stands for with those that other readers
 * find. */
#include "tests/unit/parquet/vectors.h"

#include <dirent.h>
#include <inttypes.h>

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

/* Every file that is not broken: rows, a digest of the values of its readable columns, and a column that is not read. */
static const struct {
    const char *name;
    uint64_t rows, digest;
    const char *unread, *why;
} files[] = {
    {"data/alltypes_dictionary.parquet", 2, UINT64_C(0xbb3c7913c059b85b), NULL, NULL},
    {"data/alltypes_plain.parquet", 8, UINT64_C(0xfed16fac233ad57), NULL, NULL},
    {"data/alltypes_plain.snappy.parquet", 2, UINT64_C(0x56c89c7591708d04), NULL, NULL},
    {"data/binary.parquet", 12, UINT64_C(0x53e0fcb501703ffb), NULL, NULL},
    {"data/byte_array_decimal.parquet", 24, UINT64_C(0xed7f26554986f5d0), NULL, NULL},
    {"data/byte_stream_split.zstd.parquet", 300, UINT64_C(0x188d19c21763bfe1), NULL, NULL},
    {"data/byte_stream_split_extended.gzip.parquet", 200, UINT64_C(0xa0848955f1a0bf77), NULL, NULL},
    {"data/column_chunk_key_value_metadata.parquet", 0, 0, NULL, NULL},
    {"data/data_index_bloom_encoding_stats.parquet", 14, UINT64_C(0x17caa938b28f9ef2), NULL, NULL},
    {"data/data_index_bloom_encoding_with_length.parquet", 14, UINT64_C(0x17caa938b28f9ef2), NULL, NULL},
    {"data/datapage_v1-snappy-compressed-checksum.parquet", 5120, UINT64_C(0x9524bb2d77ff7192), NULL, NULL},
    {"data/datapage_v1-uncompressed-checksum.parquet", 5120, UINT64_C(0x9524bb2d77ff7192), NULL, NULL},
    {"data/datapage_v2.snappy.parquet", 5, UINT64_C(0x6b25e0e4bad63c47), "e", "nested columns"},
    {"data/delta_binary_packed.parquet", 200, UINT64_C(0x56349ea4aaed7a03), NULL, NULL},
    {"data/delta_byte_array.parquet", 1000, UINT64_C(0xf7c89abb1a75fc02), NULL, NULL},
    {"data/delta_encoding_required_column.parquet", 100, UINT64_C(0x6573973bf88f79b8), NULL, NULL},
    {"data/delta_length_byte_array.parquet", 1000, UINT64_C(0xea2908f033d0e465), NULL, NULL},
    {"data/fixed_length_decimal.parquet", 24, UINT64_C(0xed7f26554986f5d0), NULL, NULL},
    {"data/fixed_length_decimal_legacy.parquet", 24, UINT64_C(0xed7f26554986f5d0), NULL, NULL},
    {"data/float16_nonzeros_and_nans.parquet", 8, UINT64_C(0xc0cddca1d76527fd), NULL, NULL},
    {"data/float16_zeros_and_nans.parquet", 3, UINT64_C(0xa79ac87fa60fea95), NULL, NULL},
    {"data/floating_orders_nan_count.parquet", 50, UINT64_C(0xf0a7c57febd093f1), NULL, NULL},
    {"data/hadoop_lz4_compressed.parquet", 4, UINT64_C(0xb0fc25e02c91fa36), NULL, NULL},
    {"data/hadoop_lz4_compressed_larger.parquet", 10000, UINT64_C(0x8052f770b043aba4), NULL, NULL},
    {"data/int32_decimal.parquet", 24, UINT64_C(0xed7f26554986f5d0), NULL, NULL},
    {"data/int64_decimal.parquet", 24, UINT64_C(0xed7f26554986f5d0), NULL, NULL},
    {"data/int96_from_spark.parquet", 6, UINT64_C(0xc091eb0af7e67ecb), NULL, NULL},
    {"data/lz4_raw_compressed.parquet", 4, UINT64_C(0xb0fc25e02c91fa36), NULL, NULL},
    {"data/nation.dict-malformed.parquet", 25, UINT64_C(0x8dcbdb6d9a638ef7), NULL, NULL},
    {"data/non_hadoop_lz4_compressed.parquet", 4, UINT64_C(0xb0fc25e02c91fa36), NULL, NULL},
    {"data/nonnullable.impala.parquet", 1, UINT64_C(0xf2b48c6959ac244e), "Int_Array", "nested columns"},
    {"data/nullable.impala.parquet", 7, UINT64_C(0xb9238aae18ad16c0), "int_array", "nested columns"},
    {"data/nulls.snappy.parquet", 8, 0, "b_struct", "nested columns"},
    {"data/page_v2_empty_compressed.parquet", 10, UINT64_C(0xadf011acd460), NULL, NULL},
    {"data/plain-dict-uncompressed-checksum.parquet", 1000, UINT64_C(0xfc8639660943c6b9), NULL, NULL},
    {"data/rle-dict-snappy-checksum.parquet", 1000, UINT64_C(0xd019dfb0f860c1ea), NULL, NULL},
    {"data/single_nan.parquet", 1, UINT64_C(0x7), NULL, NULL},
    {"data/sort_columns.parquet", 6, UINT64_C(0x32bd41fe2af94526), NULL, NULL},
};

/* Reads all columns that can be read, then asks for the others. */
static enum err_code read_everything(const struct parquet_source *source, uint64_t *out_rows, uint64_t *out_digest,
                                     struct error *err)
{
    AUTO(parquet_reader_free_auto) struct parquet_reader *reader = NULL;
    AUTO(parquet_cursor_free_auto) struct parquet_cursor *cursor = NULL;
    const struct batch *batch = NULL;
    uint32_t columns[SCHEMA_MAX_COLUMNS];
    *out_rows = 0;
    *out_digest = 0;
    TRY(parquet_reader_open(source, &reader, err));
    for (uint32_t i = 0; i < SCHEMA_MAX_COLUMNS; i++) {
        columns[i] = i;
    }
    const struct parquet_cursor_options options = {.columns = columns,
                                                   .column_count = parquet_reader_schema(reader)->column_count};
    TRY(parquet_cursor_open(reader, &options, &cursor, err));
    do {
        TRY(parquet_cursor_next(cursor, &batch, err));
        for (uint32_t i = 0; batch != NULL && i < batch->row_count; i++, ++*out_rows) {
            *out_digest = digest_row(batch, i, *out_digest);
        }
    } while (batch != NULL);
    for (size_t i = 0; i < parquet_reader_unread_count(reader); i++) {
        const char *name = parquet_reader_unread_name(reader, i);
        TRY(parquet_reader_find(reader, name, strlen(name), &columns[0], err));
    }
    return OK;
}

static void every_value_of_other_writers_is_the_expected_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        AUTO(memory_file_done) struct memory_file file = {0};
        struct error err = {0};
        uint64_t rows, digest;
        need(files[i].name, &file.bytes);
        struct parquet_source source = memory_source(&file);
        enum err_code code = read_everything(&source, &rows, &digest, &err);
        if (rows != files[i].rows || digest != files[i].digest ||
            code != (files[i].unread == NULL ? OK : ERR_INVALID)) {
            fail_msg("%s: found %" PRIu64 " rows with digest %#" PRIx64 "; %s", files[i].name, rows, digest, err.text);
        }
        if (files[i].unread != NULL) {
            assert_non_null(strstr(err.text, files[i].unread));
            assert_non_null(strstr(err.text, files[i].why));
        }
    }
}

static const struct {
    const char *name;
    const char *where, *what;
} broken[] = {
    {"bad_data/ARROW-GH-41317.parquet", "column \"timestamp_us_no_tz\" of row group 0",
     "expected another page but the column chunk ends at byte 3015"},
    {"bad_data/ARROW-GH-41321.parquet", "column \"int64\" of row group 0", "expected 3 more values but the runs end"},
    {"bad_data/ARROW-GH-45185.parquet", "column \"x\" of row group 0",
     "expected the first repetition level to be 0 but found 1"},
    {"bad_data/ARROW-RS-GH-6229-LEVELS.parquet", "column \"outer\" of row group 0",
     "repetition levels: expected 20 more values but the runs end"},
    {"bad_data/ARROW-RS-GH-6229-DICTHEADER.parquet", "column \"name\"",
     "expected pages within 291 bytes but they begin at 129 and end at 451"},
    {"data/datapage_v1-corrupt-checksum.parquet", "column \"a\" of row group 0",
     "checksum bbce3b9d of the page at byte 32"},
    {"data/rle-dict-uncompressed-corrupt-checksum.parquet", "column \"long_field\" of row group 0",
     "checksum 6522df6a of the page at byte 23"},
};

static void what_is_broken_is_corrupt_and_it_is_said_what_and_where(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        AUTO(memory_file_done) struct memory_file file = {0};
        struct error err = {0};
        uint64_t rows, digest;
        need(broken[i].name, &file.bytes);
        struct parquet_source source = memory_source(&file);
        assert_int_equal(read_everything(&source, &rows, &digest, &err), ERR_CORRUPT);
        if (strstr(err.text, broken[i].where) == NULL || strstr(err.text, broken[i].what) == NULL) {
            fail_msg("%s: %s", broken[i].name, err.text);
        }
    }
}

static bool is_listed(const char *name)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (strcmp(files[i].name, name) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        if (strcmp(broken[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static void no_file_is_left_out(void **state)
{
    (void)state;
    static const char *const folders[] = {"data", "bad_data"};
    for (size_t i = 0; i < 2; i++) {
        char path[512], name[512];
        snprintf(path, sizeof path, "%s/parquet-testing/%s", vectors_dir(), folders[i]);
        DIR *folder = opendir(path);
        if (folder == NULL) {
            print_message("no test vectors in \"%s\"; hint: set VECTORS_DIR\n", path);
            skip();
        }
        for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
            const char *dot = strrchr(entry->d_name, '.');
            snprintf(name, sizeof name, "%s/%s", folders[i], entry->d_name);
            if (dot != NULL && strcmp(dot, ".parquet") == 0 && !is_listed(name)) {
                fail_msg("expected \"%s\" in the tables above", name);
            }
        }
        closedir(folder);
    }
}

/* What int96_from_spark.md says: the last one is beyond what Julian days and nanoseconds add up to without wrapping. */
static void times_of_spark_beyond_its_own_range_are_unwrapped(void **state)
{
    (void)state;
    static const int64_t times[] = {1704141296123456,   1704070800000000, 253402225200000000, 1735599600000000, 0,
                                    9089380393200000000};
    AUTO(memory_file_done) struct memory_file file = {0};
    AUTO(parquet_reader_free_auto) struct parquet_reader *reader = NULL;
    AUTO(parquet_cursor_free_auto) struct parquet_cursor *cursor = NULL;
    const struct batch *batch = NULL;
    need("data/int96_from_spark.parquet", &file.bytes);
    struct parquet_source source = memory_source(&file);
    assert_int_equal(parquet_reader_open(&source, &reader, NULL), OK);
    assert_int_equal(parquet_cursor_open(reader, NULL, &cursor, NULL), OK);
    assert_int_equal(parquet_cursor_next(cursor, &batch, NULL), OK);
    assert_int_equal(batch->row_count, 6);
    assert_memory_equal(batch->columns[0].values.i64, times, sizeof times);
    assert_true(column_is_null(&batch->columns[0], 4));
}

/* Both values are within the bounds of the only row group. */
static void bloom_filters_of_other_writers_are_asked(void **state)
{
    (void)state;
    static const char *const names[] = {"data/data_index_bloom_encoding_stats.parquet",
                                        "data/data_index_bloom_encoding_with_length.parquet"};
    static const struct {
        const char *text;
        size_t skipped;
    } questions[] = {{"String = 'dog'", 0}, {"String = 'cat'", 1}};
    for (size_t i = 0; i < 4; i++) {
        AUTO(memory_file_done) struct memory_file file = {0};
        AUTO(parquet_reader_free_auto) struct parquet_reader *reader = NULL;
        AUTO(parquet_cursor_free_auto) struct parquet_cursor *cursor = NULL;
        AUTO(predicate_free_auto) struct predicate *predicate = NULL;
        const struct batch *batch = NULL;
        const char *text = questions[i / 2].text;
        need(names[i % 2], &file.bytes);
        struct parquet_source source = memory_source(&file);
        assert_int_equal(parquet_reader_open(&source, &reader, NULL), OK);
        assert_int_equal(predicate_parse(text, strlen(text), parquet_reader_schema(reader), &predicate, NULL), OK);
        const struct parquet_cursor_options options = {.predicate = predicate};
        assert_int_equal(parquet_cursor_open(reader, &options, &cursor, NULL), OK);
        assert_int_equal(parquet_cursor_next(cursor, &batch, NULL), OK);
        assert_int_equal(parquet_cursor_skipped(cursor).row_groups, questions[i / 2].skipped);
        assert_int_equal(batch == NULL, questions[i / 2].skipped);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(delta_files_equal_their_csv),
        cmocka_unit_test(every_value_of_other_writers_is_the_expected_one),
        cmocka_unit_test(what_is_broken_is_corrupt_and_it_is_said_what_and_where),
        cmocka_unit_test(no_file_is_left_out),
        cmocka_unit_test(bloom_filters_of_other_writers_are_asked),
        cmocka_unit_test(times_of_spark_beyond_its_own_range_are_unwrapped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
