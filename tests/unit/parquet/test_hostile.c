/* Files that somebody broke on purpose: every cut and many flips must end in an error or in rows, never in a crash. */
#include "tests/unit/parquet/footer.h"

#include "common/digest/digest.h"

/* The source copies exactly the file, so that the sanitizer sees any read past its end. */
static enum err_code read_all(struct memory_file *file, uint64_t *out_rows, struct error *err)
{
    AUTO(parquet_reader_free_auto) struct parquet_reader *reader = NULL;
    AUTO(parquet_cursor_free_auto) struct parquet_cursor *cursor = NULL;
    struct parquet_source source = memory_source(file);
    const struct batch *batch = NULL;
    *out_rows = 0;
    TRY(parquet_reader_open(&source, &reader, err));
    for (size_t g = 0; g < parquet_reader_row_groups(reader); g++) {
        for (size_t c = 0; c < parquet_reader_schema(reader)->column_count; c++) {
            struct column_stats stats;
            parquet_reader_stats(reader, g, c, &stats);
        }
    }
    TRY(parquet_cursor_open(reader, NULL, &cursor, err));
    do {
        TRY(parquet_cursor_next(cursor, &batch, err));
        *out_rows += batch != NULL ? batch->row_count : 0;
    } while (batch != NULL && *out_rows < 100000);
    return OK;
}

static void make_file(struct memory_file *out, int zstd_level)
{
    static const struct shape shape = {40, 20, 5, 12};
    AUTO(batch_free_auto) struct batch *batch = random_batch(&shape, 11);
    AUTO(parquet_summary_done) struct parquet_summary summary = {0};
    struct parquet_writer_options options = {.zstd_level = zstd_level, .row_group_rows = 25};
    assert_int_equal(write_batch(batch, &options, out, &summary, NULL), OK);
}

static void a_file_cut_off_anywhere_is_refused(void **state)
{
    (void)state;
    AUTO(memory_file_done) struct memory_file file = {0};
    make_file(&file, 3);
    size_t length = file.bytes.length_bytes;
    for (size_t cut = 0; cut < length; cut++) {
        uint64_t rows;
        struct error err = {0};
        AUTO(memory_file_done) struct memory_file part = {0};
        assert_int_equal(buf_append(&part.bytes, file.bytes.data, cut, NULL), OK);
        assert_int_equal(read_all(&part, &rows, &err), ERR_CORRUPT);
        assert_true(err.text[0] != '\0');
    }
}

static bool may_be_said(enum err_code code)
{
    return code == OK || code == ERR_CORRUPT || code == ERR_INVALID || code == ERR_NO_MEMORY;
}

static void a_flipped_byte_gives_an_error_or_rows(void **state)
{
    (void)state;
    static const uint8_t flips[] = {0x01, 0x80, 0xff};
    for (int level = -1; level <= 3; level += 4) {
        AUTO(memory_file_done) struct memory_file file = {0};
        make_file(&file, level);
        size_t refused = 0;
        for (size_t at = 0; at < file.bytes.length_bytes; at++) {
            for (size_t f = 0; f < 3; f++) {
                uint64_t rows;
                file.bytes.data[at] ^= flips[f];
                enum err_code code = read_all(&file, &rows, NULL);
                assert_true(may_be_said(code));
                refused += code != OK;
                file.bytes.data[at] ^= flips[f];
            }
        }
        assert_true(refused > file.bytes.length_bytes); /* the checksums see to that */
    }
}

/* Makes the checksum of a page right again. False when the new header would have another length. */
static bool mend_checksum(uint8_t *at, const struct page_header *header, size_t header_bytes)
{
    AUTO(buf_done) struct buf encoded = {0};
    struct page_header mended = *header;
    mended.crc = (int32_t)digest_crc32(0, at + header_bytes, (size_t)header->compressed_bytes);
    assert_int_equal(parquet_page_header_encode(&mended, &encoded, NULL), OK);
    if (encoded.length_bytes != header_bytes) {
        return false;
    }
    memcpy(at, encoded.data, header_bytes);
    return true;
}

/* Flips bytes in every page of the chunk; leaves pages whose checksum could not be mended as they were. */
static void break_chunk(struct memory_file *file, const struct parquet_reader *reader, size_t column, uint64_t *random)
{
    uint64_t at, end;
    parquet_reader_chunk_range(reader, &reader->meta.row_groups[0].chunks[column], &at, &end);
    while (at < end) {
        struct page_header header;
        size_t used;
        bool cut_off;
        uint8_t *page = file->bytes.data + at;
        assert_int_equal(parquet_page_header_decode(page, (size_t)(end - at), &header, &used, &cut_off, NULL), OK);
        size_t length = (size_t)header.compressed_bytes;
        AUTO(free_auto) uint8_t *before = malloc(used + length);
        memcpy(before, page, used + length);
        for (uint64_t flips = random_next(random) % 4; flips > 0 && length > 0; flips--) {
            page[used + random_next(random) % length] = (uint8_t)random_next(random);
        }
        if (!mend_checksum(page, &header, used)) {
            memcpy(page, before, used + length);
        }
        at += used + length;
    }
}

static void broken_pages_with_right_checksums_do_no_harm(void **state)
{
    (void)state;
    uint64_t random = 4711;
    size_t refused = 0;
    AUTO(memory_file_done) struct memory_file file = {0};
    make_file(&file, -1);
    for (int round = 0; round < 4000; round++) {
        AUTO(parquet_reader_free_auto) struct parquet_reader *reader = NULL;
        AUTO(memory_file_done) struct memory_file broken = {0};
        uint64_t rows;
        assert_int_equal(buf_append(&broken.bytes, file.bytes.data, file.bytes.length_bytes, NULL), OK);
        struct parquet_source source = memory_source(&broken);
        assert_int_equal(parquet_reader_open(&source, &reader, NULL), OK);
        for (size_t c = 0; c < EVERY_TYPE_COLUMNS; c++) {
            break_chunk(&broken, reader, c, &random);
        }
        enum err_code code = read_all(&broken, &rows, NULL);
        assert_true(may_be_said(code));
        refused += code != OK;
    }
    assert_true(refused > 1000);
}

/* --- numbers that no file has --------------------------------------------------------------------------------------- */

static void numbers_of_the_footer_that_cannot_be_are_corrupt(void **state)
{
    (void)state;
    static const int64_t numbers[] = {-1, INT64_MIN, INT64_MAX, INT32_MAX, (int64_t)UINT32_MAX + 1};
    AUTO(memory_file_done) struct memory_file file = {0};
    AUTO(parquet_reader_free_auto) struct parquet_reader *reader = NULL;
    make_file(&file, 3);
    struct parquet_source source = memory_source(&file);
    assert_int_equal(parquet_reader_open(&source, &reader, NULL), OK);
    struct meta_row_group *group = &reader->meta.row_groups[0];
    struct meta_chunk *chunk = &group->chunks[6];
    int64_t *const places[] = {&reader->meta.row_count,  &group->row_count,        &chunk->value_count,
                               &chunk->compressed_bytes, &chunk->data_page_offset, &chunk->dictionary_page_offset};
    for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
        for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++) {
            AUTO(memory_file_done) struct memory_file broken = {0};
            struct error err = {0};
            uint64_t rows;
            int64_t before = *places[p];
            *places[p] = numbers[n];
            replace_footer(&file, reader, &reader->meta, &broken);
            *places[p] = before;
            enum err_code code = read_all(&broken, &rows, &err);
            if (code != ERR_CORRUPT && (p < 5 || numbers[n] < 0)) { /* a dictionary behind the data is not looked for */
                fail_msg("place %zu, number %lld: %s", p, (long long)numbers[n], err.text);
            }
        }
    }
}

static void numbers_of_an_index_that_cannot_be_pass_by_nothing(void **state)
{
    (void)state;
    static const int64_t numbers[] = {-1, 0, 1, INT64_MIN, INT64_MAX, 1000};
    AUTO(memory_file_done) struct memory_file file = {0};
    AUTO(parquet_reader_free_auto) struct parquet_reader *reader = NULL;
    make_file(&file, 3);
    struct parquet_source source = memory_source(&file);
    assert_int_equal(parquet_reader_open(&source, &reader, NULL), OK);
    struct meta_chunk *chunk = &reader->meta.row_groups[0].chunks[0];
    int64_t *const places[] = {&chunk->offset_index_offset, &chunk->column_index_offset, &chunk->bloom_offset};
    for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
        for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++) {
            AUTO(memory_file_done) struct memory_file broken = {0};
            AUTO(parquet_reader_free_auto) struct parquet_reader *again = NULL;
            AUTO(parquet_cursor_free_auto) struct parquet_cursor *cursor = NULL;
            const struct batch *batch = NULL;
            const struct parquet_range all = {.column = 0, .min = INT64_MIN, .max = INT64_MAX};
            const struct parquet_cursor_options options = {.ranges = &all, .range_count = 1};
            int64_t before = *places[p];
            *places[p] = numbers[n];
            replace_footer(&file, reader, &reader->meta, &broken);
            *places[p] = before;
            struct parquet_source broken_source = memory_source(&broken);
            assert_int_equal(parquet_reader_open(&broken_source, &again, NULL), OK);
            assert_int_equal(parquet_cursor_open(again, &options, &cursor, NULL), OK);
            assert_int_equal(parquet_cursor_next(cursor, &batch, NULL), OK);
            assert_int_equal(batch->row_count, 25);
        }
    }
}

/* Puts another header in front of the first page of a chunk; the bytes of the page stay. */
static enum err_code read_with_header(const struct memory_file *file, const struct parquet_reader *reader,
                                      const struct page_header *header, size_t used, uint64_t at, struct error *err)
{
    AUTO(memory_file_done) struct memory_file broken = {0};
    AUTO(buf_done) struct buf encoded = {0};
    uint64_t rows;
    struct meta_file meta = reader->meta;
    AUTO(free_auto) struct meta_chunk *chunks = calloc(EVERY_TYPE_COLUMNS, sizeof *chunks);
    struct meta_row_group group = reader->meta.row_groups[0];
    memcpy(chunks, group.chunks, EVERY_TYPE_COLUMNS * sizeof *chunks);
    group.chunks = chunks;
    assert_int_equal(parquet_page_header_encode(header, &encoded, NULL), OK);
    int64_t shift = (int64_t)encoded.length_bytes - (int64_t)used;
    for (size_t c = 0; c < EVERY_TYPE_COLUMNS;
         c++) { /* every chunk is the one that is broken: the others are behind it */
        chunks[c] = reader->meta.row_groups[0].chunks[0];
        chunks[c].physical = reader->meta.row_groups[0].chunks[c].physical;
        chunks[c].compressed_bytes += shift;
    }
    meta.row_groups = &group;
    meta.row_group_count = 1;
    meta.row_count = group.row_count;
    assert_int_equal(buf_append(&broken.bytes, file->bytes.data, at, NULL), OK);
    assert_int_equal(buf_append(&broken.bytes, encoded.data, encoded.length_bytes, NULL), OK);
    assert_int_equal(buf_append(&broken.bytes, file->bytes.data + at + used, reader->footer_at - at - used, NULL), OK);
    struct memory_file whole = {0};
    struct parquet_reader shifted = {.footer_at = broken.bytes.length_bytes};
    replace_footer(&broken, &shifted, &meta, &whole);
    enum err_code code = read_all(&whole, &rows, err);
    memory_file_done(&whole);
    return code;
}

static void numbers_of_a_page_that_cannot_be_are_corrupt(void **state)
{
    (void)state;
    static const int32_t numbers[] = {-1, INT32_MIN, INT32_MAX, 1 << 28};
    AUTO(memory_file_done) struct memory_file file = {0};
    AUTO(parquet_reader_free_auto) struct parquet_reader *reader = NULL;
    struct page_header header;
    uint64_t at, end;
    size_t used;
    bool more;
    make_file(&file, 3);
    struct parquet_source source = memory_source(&file);
    assert_int_equal(parquet_reader_open(&source, &reader, NULL), OK);
    parquet_reader_chunk_range(reader, &reader->meta.row_groups[0].chunks[0], &at, &end);
    assert_int_equal(parquet_page_header_decode(file.bytes.data + at, (size_t)(end - at), &header, &used, &more, NULL),
                     OK);
    int32_t *const places[] = {&header.uncompressed_bytes, &header.compressed_bytes, &header.value_count};
    for (size_t p = 0; p < 3; p++) {
        for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++) {
            struct error err = {0};
            int32_t before = *places[p];
            *places[p] = numbers[n];
            enum err_code code = read_with_header(&file, reader, &header, used, at, &err);
            *places[p] = before;
            if (code != ERR_CORRUPT || strstr(err.text, "at byte") == NULL) {
                fail_msg("place %zu, number %d: %s", p, numbers[n], err.text);
            }
        }
    }
}

static void columns_together_take_no_more_memory_than_they_may(void **state)
{
    (void)state;
    AUTO(memory_file_done) struct memory_file file = {0};
    AUTO(parquet_reader_free_auto) struct parquet_reader *reader = NULL;
    AUTO(parquet_cursor_free_auto) struct parquet_cursor *cursor = NULL;
    const struct parquet_cursor_options options = {.memory_bytes = 4096};
    const struct batch *batch = NULL;
    struct error err = {0};
    make_file(&file, 3);
    struct parquet_source source = memory_source(&file);
    assert_int_equal(parquet_reader_open(&source, &reader, NULL), OK);
    assert_int_equal(parquet_cursor_open(reader, &options, &cursor, NULL), OK);
    assert_int_equal(parquet_cursor_next(cursor, &batch, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, "at most 4096 bytes"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_cut_off_anywhere_is_refused),
        cmocka_unit_test(a_flipped_byte_gives_an_error_or_rows),
        cmocka_unit_test(broken_pages_with_right_checksums_do_no_harm),
        cmocka_unit_test(numbers_of_the_footer_that_cannot_be_are_corrupt),
        cmocka_unit_test(numbers_of_an_index_that_cannot_be_pass_by_nothing),
        cmocka_unit_test(numbers_of_a_page_that_cannot_be_are_corrupt),
        cmocka_unit_test(columns_together_take_no_more_memory_than_they_may),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
