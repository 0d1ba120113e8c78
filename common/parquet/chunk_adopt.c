/* What costs time in a chunk is choosing encodings and compressing. Its statistics, page index and bloom filter are cheap
 * once the values are there, so that nothing that a footer claims is carried from file to file: a wrong bound or a flipped
 * bit in an index ends here. */
#include <string.h>

#include "common/parquet/chunk_internal.h"

/* The pages of a chunk, one by one. */
struct walk {
    struct chunk_encoder *encoder;
    struct chunk_job *job;
    struct parquet_bytes raw;
    size_t at;
    uint32_t row;
};

struct raw_page {
    struct page_header header;
    size_t header_bytes, bytes; /* with the header */
};

/* Is there another page, with the very header that we would have written? *out_ours says so. */
static enum err_code next_page(struct walk *walk, struct raw_page *out, bool *out_ours, struct error *err)
{
    struct buf *again = &walk->encoder->payload;
    struct raw_page page;
    bool cut_off;
    const uint8_t *from = walk->raw.data + walk->at;
    size_t left = walk->raw.length - walk->at;
    *out_ours = false;
    if (parquet_page_header_decode(from, left, &page.header, &page.header_bytes, &cut_off, err) != OK ||
        !page.header.has_crc || page.header.compressed_bytes < 0 ||
        (size_t)page.header.compressed_bytes > left - page.header_bytes) {
        return OK;
    }
    buf_clear(again);
    TRY(parquet_page_header_encode(&page.header, again, err));
    page.bytes = page.header_bytes + (size_t)page.header.compressed_bytes;
    *out_ours = again->length_bytes == page.header_bytes && memcmp(again->data, from, page.header_bytes) == 0;
    *out = page;
    return OK;
}

static bool is_our_dictionary(const struct walk *walk, const struct page_header *header)
{
    return header->type == PAGE_DICTIONARY && walk->at == 0 && header->encoding == ENCODING_PLAIN &&
           header->value_count >= 0 && header->uncompressed_bytes >= 0 &&
           (size_t)header->uncompressed_bytes <= walk->encoder->options.dictionary_bytes;
}

static bool is_our_encoding(const struct walk *walk, int32_t encoding)
{
    size_t width = column_type_width(walk->job->column->type);
    bool has_dictionary = walk->encoder->chunk.meta.dictionary_page_offset > 0;
    bool first = walk->row == 0;
    if (!first) {
        return encoding == (int32_t)walk->job->encoding;
    }
    if (has_dictionary || encoding == ENCODING_RLE_DICTIONARY) {
        return has_dictionary && encoding == ENCODING_RLE_DICTIONARY;
    }
    return encoding == ENCODING_PLAIN || (encoding == ENCODING_DELTA_LENGTH_BYTE_ARRAY && width == 0) ||
           ((encoding == ENCODING_DELTA_BINARY_PACKED || encoding == ENCODING_BYTE_STREAM_SPLIT) &&
            (width == 4 || width == 8));
}

/* Within the bounds that readers of our files count on. */
static bool is_our_data_page(const struct walk *walk, const struct page_header *header)
{
    return header->type == PAGE_DATA && header->value_count > 0 && header->value_count <= PAGE_MAX_ROWS &&
           (uint32_t)header->value_count <= walk->job->rows - walk->row && header->uncompressed_bytes >= 0 &&
           ((size_t)header->uncompressed_bytes <= 2 * walk->encoder->options.page_bytes || header->value_count == 1) &&
           is_our_encoding(walk, header->encoding);
}

/* *out_ours: all pages are, and hold the rows of the job, no more and no fewer. */
static enum err_code walk_pages(struct walk *walk, bool *out_ours, struct error *err)
{
    struct meta_chunk *meta = &walk->encoder->chunk.meta;
    while (walk->row < walk->job->rows) {
        struct raw_page page;
        struct page_entry *entry = NULL;
        TRY(next_page(walk, &page, out_ours, err));
        if (*out_ours && is_our_dictionary(walk, &page.header)) {
            meta->dictionary_page_offset = walk->job->file_offset;
            walk->job->distinct = (size_t)page.header.value_count;
        } else if (*out_ours && is_our_data_page(walk, &page.header)) {
            uint32_t rows = (uint32_t)page.header.value_count;
            meta->data_page_offset =
                walk->row == 0 ? walk->job->file_offset + (int64_t)walk->at : meta->data_page_offset;
            walk->job->encoding = (enum parquet_encoding)page.header.encoding;
            TRY(parquet_chunk_note_page(walk->encoder, walk->job, walk->at, walk->row, rows, &entry, err));
            entry->bytes = (int32_t)page.bytes;
            walk->row += rows;
        } else {
            *out_ours = false;
            return OK;
        }
        meta->uncompressed_bytes += (int64_t)page.header_bytes + page.header.uncompressed_bytes;
        walk->at += page.bytes;
    }
    *out_ours = walk->at == walk->raw.length;
    return OK;
}

enum err_code parquet_chunk_adopt(struct chunk_encoder *encoder, const struct schema_column *column,
                                  const struct column *values, uint32_t rows, struct parquet_bytes raw,
                                  int64_t file_offset, const struct chunk **out, struct error *err)
{
    struct chunk_job job = {.column = column, .values = values, .rows = rows, .file_offset = file_offset};
    struct walk walk = {.encoder = encoder, .job = &job, .raw = raw};
    bool ours = false;
    *out = NULL;
    parquet_chunk_begin(encoder, &job);
    if (column->bloom) {
        TRY(parquet_chunk_gather(encoder, &job, err));
    }
    TRY(walk_pages(&walk, &ours, err));
    if (!ours) {
        return OK;
    }
    TRY(parquet_chunk_end(encoder, &job, raw, err));
    *out = &encoder->chunk;
    return OK;
}
