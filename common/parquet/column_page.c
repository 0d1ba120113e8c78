#include "common/parquet/column_page.h"

#include <inttypes.h>
#include <string.h>

static enum err_code load_dictionary(struct column_reader *reader, const struct page *page, struct error *err)
{
    const struct page_header *header = &page->header;
    if (reader->has_dictionary) {
        return err_set(err, ERR_CORRUPT, "expected one dictionary in a column chunk but found two");
    }
    if (header->encoding != ENCODING_PLAIN && header->encoding != ENCODING_PLAIN_DICTIONARY) {
        return err_set(err, ERR_INVALID, "could not read a dictionary in the encoding %s",
                       parquet_encoding_name(header->encoding));
    }
    TRY(parquet_values_decode(&reader->dictionary, &reader->form, ENCODING_PLAIN, page->values,
                              (size_t)header->value_count, err));
    TRY(parquet_values_detach(&reader->dictionary, err));
    reader->has_dictionary = true;
    return OK;
}

/* In a page of version 1 the levels come first in the values, runs behind their length. */
static enum err_code cut_levels(struct page *page, struct error *err)
{
    uint32_t length = 0;
    size_t left = (size_t)(page->values.end - page->values.at), head = sizeof length;
    if (page->header.definition_encoding == ENCODING_BIT_PACKED) {
        length = ((uint32_t)page->header.value_count + 7) / 8;
        head = 0;
    } else if (page->header.definition_encoding != ENCODING_RLE) {
        return err_set(err, ERR_INVALID, "could not read levels in the encoding %s",
                       parquet_encoding_name(page->header.definition_encoding));
    } else if (left >= head) {
        memcpy(&length, page->values.at, sizeof length);
    }
    if (left < head + (uint64_t)length) {
        return err_set(err, ERR_CORRUPT, "expected levels of %u bytes but the page ends", length);
    }
    page->levels.at = page->values.at + head;
    page->levels.end = page->levels.at + length;
    page->values.at = page->levels.end;
    return OK;
}

static enum err_code load_levels(struct column_reader *reader, struct page *page, size_t *out_dense, struct error *err)
{
    size_t rows = (size_t)page->header.value_count;
    reader->has_nulls = false;
    *out_dense = rows;
    /* A page without rows may have no levels either, not even their length. */
    if (!reader->form.layout.optional || rows == 0) {
        return OK;
    }
    if (page->header.type == PAGE_DATA) {
        TRY(cut_levels(page, err));
    }
    buf_clear(&reader->levels);
    TRY(buf_reserve(&reader->levels, rows + 1, err));
    if (page->header.type == PAGE_DATA && page->header.definition_encoding == ENCODING_BIT_PACKED) {
        *out_dense = parquet_bit_packed_decode_bits(page->levels.at, reader->levels.data, rows);
    } else {
        TRY(parquet_rle_decode_bits(page->levels, reader->levels.data, rows, out_dense, err));
    }
    reader->has_nulls = *out_dense < rows;
    return OK;
}

static enum err_code load_codes(struct column_reader *reader, struct encoded in, size_t count, struct error *err)
{
    uint32_t largest = 0;
    buf_clear(&reader->codes);
    TRY(buf_reserve(&reader->codes, (count + 1) * sizeof(uint32_t), err));
    if (count == 0) {
        return OK;
    }
    if (in.at == in.end || *in.at > 32) {
        return err_set(err, ERR_CORRUPT, "expected the width of dictionary codes, 0 to 32 bits");
    }
    int width = *in.at++;
    uint32_t *codes = (uint32_t *)(void *)reader->codes.data;
    TRY(parquet_rle_decode(in, width, codes, count, err));
    for (size_t i = 0; i < count; i++) {
        largest = codes[i] > largest ? codes[i] : largest;
    }
    if (!reader->has_dictionary || largest >= reader->dictionary.count) {
        return err_set(err, ERR_CORRUPT, "expected dictionary codes below %zu but found %u",
                       reader->has_dictionary ? reader->dictionary.count : 0, largest);
    }
    return OK;
}

/* Value `dense` of the page does not fit: `bad` of `values` says why. */
static enum err_code refuse_value(const struct column_reader *reader, const struct values *values, size_t bad,
                                  size_t dense, struct error *err)
{
    char text[CONVERT_TEXT_BYTES];
    size_t slot = 0;
    for (size_t seen = 0; reader->has_nulls && (reader->levels.data[slot] == 0 || seen < dense); slot++) {
        seen += reader->levels.data[slot];
    }
    slot = reader->has_nulls ? slot : dense;
    return err_set(err, ERR_INVALID, "row %" PRIu64 ": %s", reader->end_row - reader->rows_left + slot + 1,
                   parquet_values_explain(values, &reader->form, bad, text));
}

/* The first value in the page that is not what our type can hold, if any. */
static enum err_code check_values(const struct column_reader *reader, size_t dense_count, struct error *err)
{
    const struct values *values = reader->coded ? &reader->dictionary : &reader->values;
    const uint32_t *codes = (const uint32_t *)(const void *)reader->codes.data;
    for (size_t i = 0; i < dense_count && values->bad_count > 0; i++) {
        size_t index = reader->coded ? codes[i] : i;
        if (values->bad.data[index] != 0) {
            return refuse_value(reader, values, index, i, err);
        }
    }
    return OK;
}

static enum err_code load_data(struct column_reader *reader, struct page *page, struct error *err)
{
    size_t dense;
    int32_t encoding = page->header.encoding;
    TRY(load_levels(reader, page, &dense, err));
    reader->coded = encoding == ENCODING_RLE_DICTIONARY || encoding == ENCODING_PLAIN_DICTIONARY;
    if (reader->coded) {
        TRY(load_codes(reader, page->values, dense, err));
    } else if (dense > 0) {
        TRY(parquet_values_decode(&reader->values, &reader->form, encoding, page->values, dense, err));
    }
    TRY(check_values(reader, dense, err));
    reader->rows_left -= (uint64_t)page->header.value_count;
    reader->page_rows = (uint32_t)page->header.value_count;
    reader->dense_count = dense;
    reader->page_at = 0;
    reader->dense_at = 0;
    return OK;
}

enum err_code parquet_column_page_load(struct column_reader *reader, uint64_t pass_rows, struct error *err)
{
    struct page page;
    for (;;) {
        TRY(parquet_page_next(&reader->pages, pass_rows, &page, err));
        uint64_t rows = page.header.type == PAGE_DICTIONARY ? 0 : (uint64_t)page.header.value_count;
        if (page.passed_rows + rows > reader->rows_left) {
            return err_set(err, ERR_CORRUPT, "expected at most %" PRIu64 " more values but pages have %" PRIu64,
                           reader->rows_left, page.passed_rows + rows);
        }
        if (reader->indexed_rows > 0 && rows + page.passed_rows > 0 &&
            rows + page.passed_rows != reader->indexed_rows) {
            return err_set(err, ERR_CORRUPT,
                           "expected a page of %" PRIu64 " rows, as the index says, but it has %" PRIu64,
                           reader->indexed_rows, rows);
        }
        reader->indexed_rows = rows + page.passed_rows > 0 ? 0 : reader->indexed_rows;
        reader->rows_left -= page.passed_rows;
        pass_rows -= page.passed_rows;
        if (page.header.type != PAGE_DICTIONARY) {
            return load_data(reader, &page, err);
        }
        TRY(load_dictionary(reader, &page, err));
    }
}

enum err_code parquet_column_dictionary_load(struct column_reader *reader, struct error *err)
{
    struct page page;
    TRY(parquet_page_next(&reader->pages, 0, &page, err));
    return page.header.type == PAGE_DICTIONARY ? load_dictionary(reader, &page, err) : OK;
}
