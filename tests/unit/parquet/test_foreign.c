/* What other writers do and ours never does, in files made by hand. */
#include "tests/unit/parquet/foreign.h"

#include "common/parquet/encoding.h"

#define BYTES(text) .bytes = (text), .length = sizeof(text) - 1
#define RLE_LEVELS  .level_encoding = ENCODING_RLE
#define REQUIRED_I32                                                  \
    {                                                                 \
        .physical = PHYSICAL_INT32, .repetition = REPETITION_REQUIRED \
    }
#define OPTIONAL_I32                                                  \
    {                                                                 \
        .physical = PHYSICAL_INT32, .repetition = REPETITION_OPTIONAL \
    }
#define ONE_TWO "\1\0\0\0\2\0\0\0"

static void assert_reads(const struct foreign_column *column, int64_t rows, const char *expected)
{
    AUTO(memory_file_done) struct memory_file file = {0};
    struct error err = {0};
    char found[1024];
    make_foreign(column, 1, rows, &file);
    if (read_first(&file, found, sizeof found, &err) != OK) {
        fail_msg("%s: %s", column->name, err.text);
    }
    if (strcmp(found, expected) != 0) {
        fail_msg("%s: expected %s but found %s", column->name, expected, found);
    }
}

/* --- what is not read --------------------------------------------------------------------------------------------- */

static void what_is_not_read_is_refused_by_column_and_feature(void **state)
{
    (void)state;
    static const struct {
        struct foreign_column bad;
        const char *why;
    } cases[] = {
        {{.codec = PARQUET_CODEC_BROTLI}, "pages compressed with brotli"},
        {{.codec = PARQUET_CODEC_LZO}, "pages compressed with lzo"},
        {{.codec = 99}, "pages compressed with an unknown codec"},
        {{.external = true}, "it is in another file"},
        {{.encrypted = true}, "it is encrypted"},
        {{.element = {.repetition = REPETITION_REPEATED},
          .pages = {{.values = 2, BYTES("\2\0\0\0\4\0\2\0\0\0\4\1" ONE_TWO), RLE_LEVELS}}},
         "nested columns"},
    };
    const struct foreign_page page = {.values = 2, BYTES(ONE_TWO), RLE_LEVELS};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO(memory_file_done) struct memory_file file = {0};
        AUTO(parquet_reader_free_auto) struct parquet_reader *reader = NULL;
        struct foreign_column columns[2] = {{.name = "good", .element = REQUIRED_I32, .pages = {page}, .page_count = 1},
                                            cases[i].bad};
        struct parquet_cursor *cursor = NULL;
        struct error err = {0};
        char found[64];
        columns[1].name = "bad";
        columns[1].element.physical = PHYSICAL_INT32;
        columns[1].pages[0] = cases[i].bad.pages[0].values > 0 ? cases[i].bad.pages[0] : page;
        columns[1].page_count = 1;
        make_foreign(columns, 2, 2, &file);
        struct parquet_source source = memory_source(&file);
        assert_int_equal(parquet_reader_open(&source, &reader, &err), OK);
        assert_int_equal(parquet_cursor_open(reader, NULL, &cursor, &err), ERR_INVALID);
        if (strstr(err.text, "could not read column \"bad\"") == NULL || strstr(err.text, cases[i].why) == NULL) {
            fail_msg("%s: %s", cases[i].why, err.text);
        }
        assert_null(cursor);
        assert_int_equal(read_first(&file, found, sizeof found, &err), OK);
        assert_string_equal(found, "1 2");
    }
}

static void an_encrypted_footer_is_named(void **state)
{
    (void)state;
    AUTO(memory_file_done) struct memory_file file = {0};
    struct parquet_reader *reader = NULL;
    struct error err = {0};
    const struct foreign_column column = {
        .name = "a", .element = REQUIRED_I32, .pages = {{.values = 2, BYTES(ONE_TWO), RLE_LEVELS}}, .page_count = 1};
    make_foreign(&column, 1, 2, &file);
    memcpy(file.bytes.data + file.bytes.length_bytes - 4, "PARE", 4);
    struct parquet_source source = memory_source(&file);
    assert_int_equal(parquet_reader_open(&source, &reader, &err), ERR_INVALID);
    assert_string_equal(err.text, "could not read the file: its footer is encrypted");
}

/* --- oddities ----------------------------------------------------------------------------------------------------- */

static void pages_without_rows_are_nothing(void **state)
{
    (void)state;
    static const int32_t codecs[] = {PARQUET_CODEC_UNCOMPRESSED, PARQUET_CODEC_SNAPPY, PARQUET_CODEC_GZIP,
                                     PARQUET_CODEC_ZSTD, PARQUET_CODEC_LZ4_RAW};
    struct foreign_column column = {
        .name = "empty pages",
        .element = OPTIONAL_I32,
        .pages = {{BYTES(""), RLE_LEVELS},
                  {.values = 2, BYTES("\2\0\0\0\3\1\1\0\0\0"), RLE_LEVELS}, /* levels 1, 0 */
                  {BYTES("\0\0\0\0"), RLE_LEVELS},
                  {.type = PAGE_DATA_V2},
                  {.type = PAGE_DATA_V2, .values = 2, .level_bytes = 2, BYTES("\4\1\2\0\0\0\3\0\0\0")},
                  {.type = PAGE_DATA_V2, .values = 1, .level_bytes = 2, BYTES("\2\0")}, /* only a null */
                  {BYTES(""), .encoding = ENCODING_RLE_DICTIONARY, RLE_LEVELS}},
        .page_count = 7};
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        column.codec = codecs[i];
        assert_reads(&column, 5, "1 null 2 3 null");
    }
}

static void dictionaries_are_found_wherever_their_place_is_said(void **state)
{
    (void)state;
    static const enum foreign_dictionary places[] = {DICTIONARY_SAID, DICTIONARY_ZERO, DICTIONARY_LEFT_OUT};
    static const int32_t encodings[] = {ENCODING_RLE_DICTIONARY, ENCODING_PLAIN_DICTIONARY};
    struct foreign_column column = {.name = "dictionary",
                                    .element = REQUIRED_I32,
                                    .pages = {{.type = PAGE_DICTIONARY, .values = 2, BYTES(ONE_TWO)},
                                              {.type = PAGE_INDEX, BYTES("of no use to anybody")},
                                              {.values = 3, BYTES("\1\3\6"), RLE_LEVELS}, /* codes 0, 1, 1 */
                                              {.values = 1, BYTES("\2\0\0\0"), RLE_LEVELS}},
                                    .page_count = 4};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        for (size_t e = 0; e < sizeof encodings / sizeof *encodings; e++) {
            column.dictionary = places[i];
            column.pages[0].encoding = encodings[e] == ENCODING_PLAIN_DICTIONARY ? encodings[e] : ENCODING_PLAIN;
            column.pages[2].encoding = encodings[e];
            assert_reads(&column, 4, "1 2 2 2");
        }
    }
}

static void bytes_behind_the_values_of_a_page_are_let_be(void **state)
{
    (void)state;
    static const struct foreign_page pages[] = {
        {.values = 2, BYTES(ONE_TWO "trailing"), RLE_LEVELS},
        {.values = 2, BYTES("\x80\1\4\2\2\2\0\0\0\0trailing"), .encoding = ENCODING_DELTA_BINARY_PACKED, RLE_LEVELS},
        {.type = PAGE_DATA_V2, .values = 2, BYTES(ONE_TWO "trailing")},
    };
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        const struct foreign_column column = {.name = "trailing",
                                              .element = REQUIRED_I32,
                                              .codec = PARQUET_CODEC_GZIP,
                                              .pages = {pages[i]},
                                              .page_count = 1};
        assert_reads(&column, 2, "1 2");
    }
}

static void a_page_may_be_gzip_of_several_members(void **state)
{
    (void)state;
    struct foreign_column column = {.name = "members",
                                    .element = REQUIRED_I32,
                                    .codec = PARQUET_CODEC_GZIP,
                                    .pages = {{.values = 4, BYTES(ONE_TWO "\3\0\0\0\4\0\0\0"), RLE_LEVELS},
                                              {.type = PAGE_DATA_V2, .values = 2, BYTES(ONE_TWO)}},
                                    .page_count = 2};
    for (size_t members = 1; members <= 5; members++) {
        column.pages[0].members = members;
        column.pages[1].members = members;
        assert_reads(&column, 6, "1 2 3 4 1 2");
    }
}

static void levels_of_long_ago_are_read(void **state)
{
    (void)state;
    const struct foreign_column column = {.name = "bit-packed levels",
                                          .element = OPTIONAL_I32,
                                          .pages = {{.values = 3,
                                                     BYTES("\xa0" ONE_TWO), /* 1, 0, 1 from the highest bit on */
                                                     .level_encoding = ENCODING_BIT_PACKED}},
                                          .page_count = 1};
    assert_reads(&column, 3, "1 null 2");
}

/* --- streams of bytes --------------------------------------------------------------------------------------------- */

enum { MOST_VALUES = 40, MOST_WIDTH = 17 };

static uint64_t digest_of(const struct meta_element *element, int32_t encoding, const void *bytes, size_t length,
                          int32_t count)
{
    AUTO(memory_file_done) struct memory_file file = {0};
    AUTO(parquet_reader_free_auto) struct parquet_reader *reader = NULL;
    AUTO(parquet_cursor_free_auto) struct parquet_cursor *cursor = NULL;
    const struct foreign_column column = {
        .name = "streams",
        .element = *element,
        .pages = {{.values = count, .bytes = bytes, .length = length, .encoding = encoding, RLE_LEVELS}},
        .page_count = 1};
    const struct batch *batch = NULL;
    struct error err = {0};
    uint64_t digest = 0;
    make_foreign(&column, 1, count, &file);
    struct parquet_source source = memory_source(&file);
    if (parquet_reader_open(&source, &reader, &err) != OK || parquet_cursor_open(reader, NULL, &cursor, &err) != OK ||
        parquet_cursor_next(cursor, &batch, &err) != OK) {
        fail_msg("physical type %d of %d bytes: %s", element->physical, element->type_length, err.text);
    }
    assert_int_equal(batch->row_count, count);
    for (uint32_t i = 0; i < batch->row_count; i++) {
        digest = digest_row(batch, i, digest);
    }
    return digest;
}

static void streams_of_bytes_are_joined_for_every_width(void **state)
{
    (void)state;
    static const struct {
        struct meta_element element;
        size_t width;
    } types[] = {
        {{.physical = PHYSICAL_INT32}, 4},
        {{.physical = PHYSICAL_INT64}, 8},
        {{.physical = PHYSICAL_FLOAT}, 4},
        {{.physical = PHYSICAL_DOUBLE}, 8},
        {{.physical = PHYSICAL_FIXED, .type_length = 1}, 1},
        {{.physical = PHYSICAL_FIXED, .type_length = 2}, 2},
        {{.physical = PHYSICAL_FIXED, .type_length = 3}, 3},
        {{.physical = PHYSICAL_FIXED, .type_length = 4}, 4},
        {{.physical = PHYSICAL_FIXED, .type_length = 8}, 8},
        {{.physical = PHYSICAL_FIXED, .type_length = 12}, 12},
        {{.physical = PHYSICAL_FIXED, .type_length = 16}, 16},
        {{.physical = PHYSICAL_FIXED, .type_length = MOST_WIDTH}, MOST_WIDTH},
    };
    static const int32_t counts[] = {1, 15, 16, 17, 32, MOST_VALUES};
    uint8_t plain[MOST_VALUES * MOST_WIDTH], split[MOST_VALUES * MOST_WIDTH];
    uint64_t random = 7;
    for (size_t i = 0; i < sizeof plain; i++) {
        plain[i] = (uint8_t)random_next(&random);
    }
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            size_t count = (size_t)counts[c], width = types[t].width;
            for (size_t i = 0; i < count * width; i++) {
                split[i % width * count + i / width] = plain[i];
            }
            uint64_t expected = digest_of(&types[t].element, ENCODING_PLAIN, plain, count * width, counts[c]);
            assert_true(expected ==
                        digest_of(&types[t].element, ENCODING_BYTE_STREAM_SPLIT, split, count * width, counts[c]));
        }
    }
}

static void runs_of_bools_and_texts_with_prefixes_equal_plain_ones(void **state)
{
    (void)state;
    static const struct meta_element bools = {.physical = PHYSICAL_BOOLEAN}, texts = {.physical = PHYSICAL_BYTE_ARRAY},
                                     fixed = {.physical = PHYSICAL_FIXED, .type_length = 3};
    static const char bits[] = "\x8d\x01", runs[] = "\3\0\0\0\5\x8d\x01";
    static const char plain_texts[] = "\3\0\0\0abc\3\0\0\0abd\3\0\0\0xyz", plain_fixed[] = "abcabdxyz";
    static const int32_t prefixes[] = {0, 2, 0};
    static const uint32_t suffixes[] = {0, 3, 4, 7};
    AUTO(buf_done) struct buf packed = {0};
    assert_true(digest_of(&bools, ENCODING_PLAIN, bits, 2, 10) == digest_of(&bools, ENCODING_RLE, runs, 7, 10));
    assert_int_equal(parquet_delta_encode_i32(prefixes, 3, &packed, NULL), OK);
    assert_int_equal(parquet_delta_length_encode((const uint8_t *)"abcdxyz", suffixes, 3, &packed, NULL), OK);
    assert_true(digest_of(&texts, ENCODING_PLAIN, plain_texts, sizeof plain_texts - 1, 3) ==
                digest_of(&texts, ENCODING_DELTA_BYTE_ARRAY, packed.data, packed.length_bytes, 3));
    assert_true(digest_of(&fixed, ENCODING_PLAIN, plain_fixed, sizeof plain_fixed - 1, 3) ==
                digest_of(&fixed, ENCODING_DELTA_BYTE_ARRAY, packed.data, packed.length_bytes, 3));
}

static void encodings_of_other_types_are_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        struct meta_element element;
        int32_t encoding;
        const char *error;
    } cases[] = {
        {{.physical = PHYSICAL_INT96},
         ENCODING_BYTE_STREAM_SPLIT,
         "values of this type in the encoding BYTE_STREAM_SPLIT"},
        {{.physical = PHYSICAL_BOOLEAN}, ENCODING_BYTE_STREAM_SPLIT, "bools in the encoding BYTE_STREAM_SPLIT"},
        {{.physical = PHYSICAL_DOUBLE}, ENCODING_DELTA_BINARY_PACKED, "in the encoding DELTA_BINARY_PACKED"},
        {{.physical = PHYSICAL_INT32}, ENCODING_DELTA_BYTE_ARRAY, "in the encoding DELTA_BYTE_ARRAY"},
        {{.physical = PHYSICAL_BYTE_ARRAY}, ENCODING_BYTE_STREAM_SPLIT, "texts in the encoding BYTE_STREAM_SPLIT"},
        {{.physical = PHYSICAL_INT64}, 77, "in the encoding unknown (77)"},
    };
    static const uint8_t zeros[64];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO(memory_file_done) struct memory_file file = {0};
        const struct foreign_column column = {
            .name = "odd",
            .element = cases[i].element,
            .pages = {{.values = 2, .bytes = zeros, .length = sizeof zeros, .encoding = cases[i].encoding, RLE_LEVELS}},
            .page_count = 1};
        struct error err = {0};
        char found[64];
        make_foreign(&column, 1, 2, &file);
        assert_int_equal(read_first(&file, found, sizeof found, &err), ERR_INVALID);
        if (strstr(err.text, cases[i].error) == NULL || strstr(err.text, "column \"odd\" of row group 0") == NULL) {
            fail_msg("%s: %s", cases[i].error, err.text);
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_read_is_refused_by_column_and_feature),
        cmocka_unit_test(an_encrypted_footer_is_named),
        cmocka_unit_test(pages_without_rows_are_nothing),
        cmocka_unit_test(dictionaries_are_found_wherever_their_place_is_said),
        cmocka_unit_test(bytes_behind_the_values_of_a_page_are_let_be),
        cmocka_unit_test(a_page_may_be_gzip_of_several_members),
        cmocka_unit_test(levels_of_long_ago_are_read),
        cmocka_unit_test(streams_of_bytes_are_joined_for_every_width),
        cmocka_unit_test(runs_of_bools_and_texts_with_prefixes_equal_plain_ones),
        cmocka_unit_test(encodings_of_other_types_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
