#include "common/parquet/column_page.h"

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
    TRY(parquet_values_decode(&reader->dictionary, &reader->layout, reader->type, ENCODING_PLAIN, page->values,
                              (size_t)header->value_count, err));
    TRY(parquet_values_detach(&reader->dictionary, err));
    reader->has_dictionary = true;
    return OK;
}

/* In a page of version 1 the levels come first in the values, behind their length. */
static enum err_code cut_levels(struct page *page, struct error *err)
{
    uint32_t length = 0;
    if (page->header.definition_encoding != ENCODING_RLE) {
        return err_set(err, ERR_INVALID, "could not read levels in the encoding %s",
                       parquet_encoding_name(page->header.definition_encoding));
    }
    if (page->values.end - page->values.at >= (ptrdiff_t)sizeof length) {
        memcpy(&length, page->values.at, sizeof length);
    }
    if ((uint64_t)(page->values.end - page->values.at) < sizeof length + (uint64_t)length) {
        return err_set(err, ERR_CORRUPT, "expected levels of %u bytes but the page ends", length);
    }
    page->levels.at = page->values.at + sizeof length;
    page->levels.end = page->levels.at + length;
    page->values.at = page->levels.end;
    return OK;
}

static enum err_code load_levels(struct column_reader *reader, struct page *page, size_t *out_dense, struct error *err)
{
    size_t rows = (size_t)page->header.value_count;
    reader->has_nulls = false;
    *out_dense = rows;
    if (!reader->layout.optional) {
        return OK;
    }
    if (page->header.type == PAGE_DATA) {
        TRY(cut_levels(page, err));
    }
    buf_clear(&reader->levels);
    TRY(buf_reserve(&reader->levels, rows + 1, err));
    TRY(parquet_rle_decode_bits(page->levels, reader->levels.data, rows, out_dense, err));
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

static enum err_code load_data(struct column_reader *reader, struct page *page, struct error *err)
{
    size_t dense;
    int32_t encoding = page->header.encoding;
    if ((uint64_t)page->header.value_count > reader->rows_left) {
        return err_set(err, ERR_CORRUPT, "expected at most %llu more values but a page has %d",
                       (unsigned long long)reader->rows_left, page->header.value_count);
    }
    TRY(load_levels(reader, page, &dense, err));
    reader->coded = encoding == ENCODING_RLE_DICTIONARY || encoding == ENCODING_PLAIN_DICTIONARY;
    if (reader->coded) {
        TRY(load_codes(reader, page->values, dense, err));
    } else if (dense > 0) {
        TRY(parquet_values_decode(&reader->values, &reader->layout, reader->type, encoding, page->values, dense, err));
    }
    reader->rows_left -= (uint64_t)page->header.value_count;
    reader->page_rows = (uint32_t)page->header.value_count;
    reader->dense_count = dense;
    reader->page_at = 0;
    reader->dense_at = 0;
    return OK;
}

enum err_code parquet_column_page_load(struct column_reader *reader, struct error *err)
{
    struct page page;
    for (;;) {
        TRY(parquet_page_next(&reader->pages, &page, err));
        if (page.header.type != PAGE_DICTIONARY) {
            return load_data(reader, &page, err);
        }
        TRY(load_dictionary(reader, &page, err));
    }
}
