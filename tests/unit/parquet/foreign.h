/* Small files as other writers make them, field by field: what our own writer never writes. One row group, flat columns. */
#ifndef GRANARY_TESTS_PARQUET_FOREIGN_H
#define GRANARY_TESTS_PARQUET_FOREIGN_H

#include <inttypes.h>

#include "tests/unit/parquet/support.h"

#include "common/parquet/meta.h"
#include "common/parquet/thrift.h"
#include "common/parquet/types.h"

enum { FOREIGN_MAX_COLUMNS = 4, FOREIGN_MAX_PAGES = 8 };

struct foreign_page {
    enum parquet_page_type type;
    int32_t values;
    int32_t encoding;
    int32_t level_encoding; /* version 1 */
    const void *bytes;      /* levels and values, not yet compressed */
    size_t length;
    size_t level_bytes; /* version 2: of these; never compressed */
    size_t members;     /* as so many blocks, one behind the other; 0: one */
};

enum foreign_dictionary { DICTIONARY_SAID, DICTIONARY_ZERO, DICTIONARY_LEFT_OUT };

struct foreign_column {
    const char *name;
    struct meta_element element; /* physical, type_length, repetition */
    int32_t codec;
    bool external, encrypted;
    enum foreign_dictionary dictionary; /* where its place is said, if the first page is one */
    struct foreign_page pages[FOREIGN_MAX_PAGES];
    size_t page_count;
};

struct foreign_place {
    int64_t begin, first_data, end;
};

static void put_block(const struct foreign_page *page, int32_t codec, struct buf *out)
{
    AUTO(codec_free_auto) struct codec *own = NULL;
    enum codec_kind kind;
    size_t members = page->members > 0 ? page->members : 1, at = page->level_bytes;
    assert_int_equal(buf_append(out, page->bytes, page->level_bytes, NULL), OK);
    if (parquet_codec_kind(codec, &kind) != NULL) {
        kind = CODEC_NONE; /* nobody will look */
    }
    assert_int_equal(codec_new(0, &own, NULL), OK);
    for (size_t i = 0; i < members && page->length > page->level_bytes; i++) {
        size_t end = i + 1 == members ? page->length : at + (page->length - page->level_bytes) / members;
        assert_int_equal(codec_compress(own, kind, (const uint8_t *)page->bytes + at, end - at, out, NULL), OK);
        at = end;
    }
}

static void put_header(const struct foreign_page *page, const struct buf *block, struct buf *out)
{
    static const int16_t bodies[] = {[PAGE_DATA] = 5, [PAGE_INDEX] = 6, [PAGE_DICTIONARY] = 7, [PAGE_DATA_V2] = 8};
    struct thrift_out header = parquet_thrift_out(out, NULL);
    parquet_thrift_put_i32(&header, 1, (int32_t)page->type);
    parquet_thrift_put_i32(&header, 2, (int32_t)page->length);
    parquet_thrift_put_i32(&header, 3, (int32_t)block->length_bytes);
    parquet_thrift_put_struct(&header, bodies[page->type]);
    if (page->type == PAGE_DATA_V2) {
        parquet_thrift_put_i32(&header, 1, page->values);
        parquet_thrift_put_i32(&header, 2, 0);
        parquet_thrift_put_i32(&header, 3, page->values);
        parquet_thrift_put_i32(&header, 4, page->encoding);
        parquet_thrift_put_i32(&header, 5, (int32_t)page->level_bytes);
        parquet_thrift_put_i32(&header, 6, 0);
    } else if (page->type != PAGE_INDEX) {
        parquet_thrift_put_i32(&header, 1, page->values);
        parquet_thrift_put_i32(&header, 2, page->encoding);
    }
    if (page->type == PAGE_DATA) {
        parquet_thrift_put_i32(&header, 3, page->level_encoding);
        parquet_thrift_put_i32(&header, 4, page->level_encoding);
    }
    parquet_thrift_end_struct(&header);
    assert_int_equal(parquet_thrift_out_end(&header), OK);
}

static struct foreign_place put_pages(const struct foreign_column *column, struct buf *out)
{
    struct foreign_place place = {.begin = (int64_t)out->length_bytes, .first_data = (int64_t)out->length_bytes};
    for (size_t i = 0; i < column->page_count; i++) {
        AUTO(buf_done) struct buf block = {0};
        put_block(&column->pages[i], column->codec, &block);
        put_header(&column->pages[i], &block, out);
        assert_int_equal(buf_append(out, block.data, block.length_bytes, NULL), OK);
        if (i == 0 && column->pages[i].type == PAGE_DICTIONARY) {
            place.first_data = (int64_t)out->length_bytes;
        }
    }
    place.end = (int64_t)out->length_bytes;
    return place;
}

static void put_schema(struct thrift_out *out, const struct foreign_column *columns, size_t count)
{
    parquet_thrift_put_list(out, 2, THRIFT_STRUCT, count + 1);
    parquet_thrift_element_struct(out);
    parquet_thrift_put_text(out, 4, "root");
    parquet_thrift_put_i32(out, 5, (int32_t)count);
    parquet_thrift_end_struct(out);
    for (size_t i = 0; i < count; i++) {
        const struct meta_element *element = &columns[i].element;
        parquet_thrift_element_struct(out);
        parquet_thrift_put_i32(out, 1, element->physical);
        parquet_thrift_put_i32(out, 2, element->type_length);
        parquet_thrift_put_i32(out, 3, element->repetition);
        parquet_thrift_put_text(out, 4, columns[i].name);
        parquet_thrift_end_struct(out);
    }
}

static void put_chunk(struct thrift_out *out, const struct foreign_column *column, const struct foreign_place *place,
                      int64_t rows)
{
    bool says_place = column->dictionary == DICTIONARY_SAID && place->first_data != place->begin;
    parquet_thrift_element_struct(out);
    if (column->external) {
        parquet_thrift_put_text(out, 1, "elsewhere.parquet");
    }
    parquet_thrift_put_i64(out, 2, place->begin);
    if (column->encrypted) {
        parquet_thrift_put_struct(out, 8);
        parquet_thrift_put_struct(out, 1); /* with the key of the footer */
        parquet_thrift_end_struct(out);
        parquet_thrift_end_struct(out);
        parquet_thrift_put_text(out, 9, "secret");
        parquet_thrift_end_struct(out);
        return;
    }
    parquet_thrift_put_struct(out, 3);
    parquet_thrift_put_i32(out, 1, column->element.physical);
    parquet_thrift_put_i32(out, 4, column->codec);
    parquet_thrift_put_i64(out, 5, rows);
    parquet_thrift_put_i64(out, 6, place->end - place->begin);
    parquet_thrift_put_i64(out, 7, place->end - place->begin);
    parquet_thrift_put_i64(out, 9, says_place ? place->first_data : place->begin);
    if (column->dictionary != DICTIONARY_LEFT_OUT) {
        parquet_thrift_put_i64(out, 11, says_place ? place->begin : 0);
    }
    parquet_thrift_end_struct(out);
    parquet_thrift_end_struct(out);
}

static void make_foreign(const struct foreign_column *columns, size_t count, int64_t rows, struct memory_file *out)
{
    AUTO(buf_done) struct buf footer = {0};
    struct foreign_place places[FOREIGN_MAX_COLUMNS];
    assert_int_equal(buf_append(&out->bytes, "PAR1", 4, NULL), OK);
    for (size_t i = 0; i < count; i++) {
        places[i] = put_pages(&columns[i], &out->bytes);
    }
    struct thrift_out meta = parquet_thrift_out(&footer, NULL);
    parquet_thrift_put_i32(&meta, 1, 1);
    put_schema(&meta, columns, count);
    parquet_thrift_put_i64(&meta, 3, rows);
    parquet_thrift_put_list(&meta, 4, THRIFT_STRUCT, 1);
    parquet_thrift_element_struct(&meta);
    parquet_thrift_put_list(&meta, 1, THRIFT_STRUCT, count);
    for (size_t i = 0; i < count; i++) {
        put_chunk(&meta, &columns[i], &places[i], rows);
    }
    parquet_thrift_put_i64(&meta, 3, rows);
    parquet_thrift_end_struct(&meta);
    assert_int_equal(parquet_thrift_out_end(&meta), OK);
    uint32_t length = (uint32_t)footer.length_bytes;
    assert_int_equal(buf_append(&out->bytes, footer.data, footer.length_bytes, NULL), OK);
    assert_int_equal(buf_append(&out->bytes, &length, sizeof length, NULL), OK);
    assert_int_equal(buf_append(&out->bytes, "PAR1", 4, NULL), OK);
}

/* The values of the first column, one behind the other; "null" for null. */
static enum err_code read_first(struct memory_file *file, char *out, size_t out_bytes, struct error *err)
{
    AUTO(parquet_reader_free_auto) struct parquet_reader *reader = NULL;
    AUTO(parquet_cursor_free_auto) struct parquet_cursor *cursor = NULL;
    static const uint32_t first[] = {0};
    const struct parquet_cursor_options options = {.columns = first, .column_count = 1, .batch_rows = 3};
    struct parquet_source source = memory_source(file);
    const struct batch *batch = NULL;
    size_t used = 0;
    *out = '\0';
    TRY(parquet_reader_open(&source, &reader, err));
    TRY(parquet_cursor_open(reader, &options, &cursor, err));
    for (;;) {
        TRY(parquet_cursor_next(cursor, &batch, err));
        if (batch == NULL) {
            return OK;
        }
        const struct column *column = &batch->columns[0];
        for (uint32_t i = 0; i < batch->row_count; i++) {
            const char *gap = used > 0 ? " " : "";
            if (column_is_null(column, i)) {
                used += (size_t)snprintf(out + used, out_bytes - used, "%snull", gap);
            } else {
                assert_int_equal(column->type, COLUMN_INT32);
                used += (size_t)snprintf(out + used, out_bytes - used, "%s%" PRId32, gap, column->values.i32[i]);
            }
            assert_true(used < out_bytes);
        }
    }
}

#endif
