#include "common/parquet/chunk.h"

#include <string.h>

#include "common/digest/digest.h"
#include "common/parquet/bits.h"
#include "common/parquet/bloom.h"
#include "common/parquet/chunk_internal.h"
#include "common/parquet/encoding.h"

enum err_code parquet_chunk_encoder_new(const struct chunk_options *options, struct chunk_encoder **out,
                                        struct error *err)
{
    AUTO(parquet_chunk_encoder_free_auto) struct chunk_encoder *encoder = calloc(1, sizeof *encoder);
    if (encoder == NULL) {
        return err_no_memory(err, sizeof *encoder);
    }
    encoder->options = *options;
    encoder->kind = options->zstd_level < 0 ? CODEC_NONE : CODEC_ZSTD;
    TRY(codec_new(options->zstd_level < 0 ? 0 : options->zstd_level, &encoder->codec, err));
    TRY(parquet_dictionary_new(options->dictionary_bytes, &encoder->dictionary, err));
    encoder->choice.codec = encoder->codec;
    encoder->choice.kind = encoder->kind;
    *out = TAKE(encoder);
    return OK;
}

void parquet_chunk_encoder_free(struct chunk_encoder *encoder)
{
    if (encoder == NULL) {
        return;
    }
    codec_free(encoder->codec);
    parquet_chunk_choice_done(&encoder->choice);
    parquet_dictionary_free(encoder->dictionary);
    buf_done(&encoder->dense_scratch);
    buf_done(&encoder->payload);
    buf_done(&encoder->compressed);
    buf_done(&encoder->bytes);
    buf_done(&encoder->chunk.bloom);
    free(encoder->chunk.pages);
    free(encoder);
}

/* Rows of the next page: as many as fill page_bytes, and at least one. */
static uint32_t page_rows(const struct chunk_encoder *encoder, const struct chunk_job *job, uint32_t first)
{
    uint32_t left = job->rows - first, most = left < PAGE_MAX_ROWS ? left : PAGE_MAX_ROWS;
    size_t page_bytes = encoder->options.page_bytes;
    if (job->encoding == ENCODING_RLE_DICTIONARY || job->encoding == ENCODING_DELTA_BINARY_PACKED) {
        return most; /* a few bits each */
    }
    if (job->dense.width > 0) {
        size_t fit = page_bytes / job->dense.width;
        return fit < 1 ? 1 : fit < most ? (uint32_t)fit : most;
    }
    const uint32_t *offsets = job->values->offsets + first;
    uint32_t low = 1, high = most; /* `low` rows fit, or are taken anyway */
    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;
        if ((size_t)(offsets[middle] - offsets[0]) + middle <= page_bytes) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

static uint32_t count_valid(const uint8_t *valid, uint32_t first, uint32_t rows)
{
    uint32_t count = 0;
    for (uint32_t i = first; i < first + rows; i++) {
        count += valid[i >> 3] >> (i & 7) & 1;
    }
    return count;
}

/* Definition levels of a page of data: length, then runs. */
static enum err_code put_levels(struct buf *payload, const struct column *values, uint32_t first, uint32_t rows,
                                uint32_t valid_count, struct error *err)
{
    size_t begin = payload->length_bytes;
    uint32_t length = 0;
    TRY(buf_append(payload, &length, sizeof length, err));
    if (valid_count == rows || valid_count == 0) {
        uint8_t head[BITS_VARINT_MAX_BYTES + 1];
        size_t used = bits_varint_put(head, (uint64_t)rows << 1);
        head[used++] = valid_count > 0;
        TRY(buf_append(payload, head, used, err));
    } else {
        TRY(parquet_rle_encode_bits(values->valid, first, rows, payload, err));
    }
    length = (uint32_t)(payload->length_bytes - begin - sizeof length);
    memcpy(payload->data + begin, &length, sizeof length);
    return OK;
}

/* Compresses the payload and appends header and page to the chunk. */
static enum err_code put_page(struct chunk_encoder *encoder, struct page_header *header, struct error *err)
{
    struct chunk *chunk = &encoder->chunk;
    const struct buf *body = &encoder->payload;
    if (encoder->payload.length_bytes > INT32_MAX / 2) {
        return err_set(err, ERR_INVALID, "expected a page of at most %d bytes but found %zu", INT32_MAX / 2,
                       encoder->payload.length_bytes);
    }
    if (encoder->kind != CODEC_NONE) {
        buf_clear(&encoder->compressed);
        TRY(codec_compress(encoder->codec, encoder->kind, encoder->payload.data, encoder->payload.length_bytes,
                           &encoder->compressed, err));
        body = &encoder->compressed;
    }
    header->uncompressed_bytes = (int32_t)encoder->payload.length_bytes;
    header->compressed_bytes = (int32_t)body->length_bytes;
    header->crc = (int32_t)digest_crc32(0, body->data, body->length_bytes);
    size_t begin = encoder->bytes.length_bytes;
    TRY(parquet_page_header_encode(header, &encoder->bytes, err));
    chunk->meta.uncompressed_bytes += (int64_t)(encoder->bytes.length_bytes - begin + encoder->payload.length_bytes);
    return buf_append(&encoder->bytes, body->data, body->length_bytes, err);
}

static enum err_code put_dictionary(struct chunk_encoder *encoder, const struct chunk_job *job, struct error *err)
{
    struct meta_chunk *meta = &encoder->chunk.meta;
    struct page_header header = {.type = PAGE_DICTIONARY, .encoding = ENCODING_PLAIN};
    header.value_count = (int32_t)encoder->dictionary->count;
    buf_clear(&encoder->payload);
    TRY(parquet_dictionary_encode(encoder->dictionary, &job->dense, &encoder->payload, err));
    TRY(put_page(encoder, &header, err));
    meta->dictionary_page_offset = job->file_offset;
    return OK;
}

static enum err_code put_values(struct chunk_encoder *encoder, const struct chunk_job *job, size_t first, size_t count,
                                struct error *err)
{
    if (job->encoding != ENCODING_RLE_DICTIONARY) {
        return parquet_chunk_encode_values(&job->dense, first, count, job->encoding, &encoder->payload, err);
    }
    int width = parquet_chunk_code_width(encoder->dictionary);
    TRY(buf_append_byte(&encoder->payload, (uint8_t)width, err));
    return parquet_rle_encode(parquet_dictionary_codes(encoder->dictionary) + first, count, width, &encoder->payload,
                              err);
}

static enum err_code page_entry_new(struct chunk_encoder *encoder, struct page_entry **out, struct error *err)
{
    struct chunk *chunk = &encoder->chunk;
    if (chunk->page_count == encoder->page_capacity) {
        size_t capacity = encoder->page_capacity > 0 ? 2 * encoder->page_capacity : 16;
        struct page_entry *pages = realloc(chunk->pages, capacity * sizeof *pages);
        if (pages == NULL) {
            return err_no_memory(err, capacity * sizeof *pages);
        }
        chunk->pages = pages;
        encoder->page_capacity = capacity;
    }
    *out = &chunk->pages[chunk->page_count++];
    return OK;
}

enum err_code parquet_chunk_note_page(struct chunk_encoder *encoder, const struct chunk_job *job, size_t at,
                                      uint32_t first, uint32_t rows, struct page_entry **out, struct error *err)
{
    TRY(page_entry_new(encoder, out, err));
    **out = (struct page_entry){.offset = job->file_offset + (int64_t)at, .first_row = first, .rows = rows};
    column_stats_init(&(*out)->stats, job->column);
    column_stats_update(&(*out)->stats, job->values, first, rows);
    column_stats_merge(&encoder->chunk.stats, &(*out)->stats);
    return OK;
}

static enum err_code put_data_page(struct chunk_encoder *encoder, const struct chunk_job *job, uint32_t first,
                                   uint32_t rows, size_t dense_first, uint32_t dense_count, struct error *err)
{
    struct page_entry *page = NULL;
    struct page_header header = {.type = PAGE_DATA, .encoding = job->encoding, .value_count = (int32_t)rows};
    TRY(parquet_chunk_note_page(encoder, job, encoder->bytes.length_bytes, first, rows, &page, err));
    buf_clear(&encoder->payload);
    if (job->column->nullable) {
        TRY(put_levels(&encoder->payload, job->values, first, rows, dense_count, err));
    }
    TRY(put_values(encoder, job, dense_first, dense_count, err));
    TRY(put_page(encoder, &header, err));
    page->bytes = (int32_t)(job->file_offset + (int64_t)encoder->bytes.length_bytes - page->offset);
    return OK;
}

static enum err_code put_data_pages(struct chunk_encoder *encoder, const struct chunk_job *job, struct error *err)
{
    struct meta_chunk *meta = &encoder->chunk.meta;
    size_t dense_first = 0;
    meta->data_page_offset = job->file_offset + (int64_t)encoder->bytes.length_bytes;
    for (uint32_t first = 0; first < job->rows;) {
        uint32_t rows = page_rows(encoder, job, first);
        uint32_t valid = job->values->null_count > 0 ? count_valid(job->values->valid, first, rows) : rows;
        TRY(put_data_page(encoder, job, first, rows, dense_first, valid, err));
        dense_first += valid;
        first += rows;
    }
    return OK;
}

/* Sized by the distinct values that the column is said to have, or that a dictionary has told; what it holds does not depend
 * on who goes in twice. */
static enum err_code put_bloom(struct chunk_encoder *encoder, const struct chunk_job *job, struct error *err)
{
    size_t count = job->first_values != NULL ? job->distinct : job->dense.count;
    const struct schema_column *column = job->column;
    size_t bytes = parquet_bloom_bytes(column->bloom_distinct > 0 ? (size_t)column->bloom_distinct : job->distinct,
                                       column->bloom_fpp > 0 ? column->bloom_fpp : encoder->options.bloom_fpp);
    AUTO(free_auto) uint8_t *filter = calloc(1, bytes);
    if (filter == NULL) {
        return err_no_memory(err, bytes);
    }
    for (size_t i = 0; i < count; i++) {
        size_t length;
        size_t index = job->first_values != NULL ? job->first_values[i] : i;
        const uint8_t *value = parquet_dense_value(&job->dense, index, &length);
        parquet_bloom_insert(filter, bytes, digest_xxh64(value, length, 0));
    }
    return parquet_bloom_encode(filter, bytes, &encoder->chunk.bloom, err);
}

static void note_encoding(struct meta_chunk *meta, enum parquet_page_type type, enum parquet_encoding encoding,
                          size_t pages)
{
    meta->encodings |= 1U << encoding;
    meta->encoding_stats[meta->encoding_stats_count++] = (struct meta_encoding_stats){type, encoding, (int32_t)pages};
}

void parquet_chunk_begin(struct chunk_encoder *encoder, const struct chunk_job *job)
{
    struct meta_element element;
    struct chunk *chunk = &encoder->chunk;
    parquet_type_to_element(job->column, &element);
    buf_clear(&encoder->bytes);
    buf_clear(&chunk->bloom);
    chunk->page_count = 0;
    chunk->meta = (struct meta_chunk){
        .physical = element.physical,
        .codec = encoder->kind == CODEC_NONE ? PARQUET_CODEC_UNCOMPRESSED : PARQUET_CODEC_ZSTD,
        .value_count = job->rows,
    };
    column_stats_init(&chunk->stats, job->column);
}

enum err_code parquet_chunk_gather(struct chunk_encoder *encoder, struct chunk_job *job, struct error *err)
{
    TRY(parquet_dense_from_column(job->values, job->rows, &encoder->dense_scratch, &job->dense, err));
    job->distinct = job->dense.count;
    return OK;
}

enum err_code parquet_chunk_end(struct chunk_encoder *encoder, const struct chunk_job *job, struct parquet_bytes data,
                                struct error *err)
{
    struct meta_chunk *meta = &encoder->chunk.meta;
    if (meta->dictionary_page_offset > 0) {
        note_encoding(meta, PAGE_DICTIONARY, ENCODING_PLAIN, 1);
    }
    note_encoding(meta, PAGE_DATA, job->encoding, encoder->chunk.page_count);
    meta->encodings |= job->column->nullable ? 1U << ENCODING_RLE : 0;
    meta->compressed_bytes = (int64_t)data.length;
    encoder->chunk.data = data;
    return job->column->bloom && job->column->type != COLUMN_BOOL ? put_bloom(encoder, job, err) : OK;
}

enum err_code parquet_chunk_encode(struct chunk_encoder *encoder, const struct schema_column *column,
                                   const struct column *values, uint32_t rows, int64_t file_offset,
                                   const struct chunk **out, struct error *err)
{
    struct chunk_job job = {.column = column, .values = values, .rows = rows, .file_offset = file_offset};
    if (values->null_count > 0 && !column->nullable) {
        return err_set(err, ERR_INVALID, "expected no nulls in column \"%s\" but found %u", column->name,
                       values->null_count);
    }
    parquet_chunk_begin(encoder, &job);
    TRY(parquet_chunk_gather(encoder, &job, err));
    TRY(parquet_chunk_choose(&encoder->choice, &job.dense, encoder->dictionary, &job.encoding, err));
    if (job.encoding == ENCODING_RLE_DICTIONARY) {
        job.first_values = encoder->dictionary->first_values;
        job.distinct = encoder->dictionary->count;
        TRY(put_dictionary(encoder, &job, err));
    }
    TRY(put_data_pages(encoder, &job, err));
    if (encoder->bytes.length_bytes > UINT32_MAX) {
        return err_set(err, ERR_INVALID, "expected at most 4 GiB of column \"%s\" in a row group", column->name);
    }
    const struct parquet_bytes data = {encoder->bytes.data, (uint32_t)encoder->bytes.length_bytes};
    TRY(parquet_chunk_end(encoder, &job, data, err));
    *out = &encoder->chunk;
    return OK;
}
