#include "common/parquet/page.h"

#include <inttypes.h>
#include <string.h>

#include "common/digest/digest.h"

enum { HEADER_GUESS_BYTES = 256 }; /* a header without statistics takes 20 to 40 */

void parquet_page_reader_done(struct page_reader *reader)
{
    buf_done(&reader->raw);
    buf_done(&reader->payload);
}

void parquet_page_reader_start(struct page_reader *reader, uint64_t begin, uint64_t end)
{
    reader->at = begin;
    reader->end = end;
}

static enum err_code read_bytes(struct page_reader *reader, uint64_t offset, size_t length, struct buf *out,
                                struct error *err)
{
    buf_clear(out);
    TRY(buf_reserve(out, length + PAGE_SLACK_BYTES, err)); /* never a null pointer */
    if (length > 0) {
        TRY(reader->source->read(reader->source->context, offset, length, out->data, err));
    }
    out->length_bytes = length;
    return OK;
}

/* Headers have no length in front: a guess is read, and a larger one while the bytes end inside the header. */
static enum err_code read_header(struct page_reader *reader, struct page_header *out, size_t *out_used,
                                 struct error *err)
{
    for (size_t guess = HEADER_GUESS_BYTES;; guess *= 16) {
        uint64_t left = reader->end - reader->at;
        size_t length = left < guess ? (size_t)left : guess;
        bool cut_off = false;
        TRY(read_bytes(reader, reader->at, length, &reader->raw, err));
        enum err_code code = parquet_page_header_decode(reader->raw.data, length, out, out_used, &cut_off, err);
        if (code != OK && (!cut_off || length == left || guess >= PAGE_HEADER_MAX_BYTES)) {
            return err_wrap(err, "page header at byte %" PRIu64, reader->at);
        }
        if (code == OK) {
            return OK;
        }
    }
}

static enum err_code check_header(const struct page_reader *reader, const struct page_header *header, uint64_t at,
                                  struct error *err)
{
    bool is_v2 = header->type == PAGE_DATA_V2;
    if (header->compressed_bytes < 0 || (uint64_t)header->compressed_bytes > reader->end - at) {
        return err_set(err, ERR_CORRUPT,
                       "expected a page of %" PRId32 " bytes at byte %" PRIu64 " but %" PRIu64 " are left",
                       header->compressed_bytes, at, reader->end - at);
    }
    if (header->uncompressed_bytes < 0 || header->uncompressed_bytes > PAGE_MAX_BYTES || header->value_count < 0 ||
        header->value_count > PAGE_MAX_VALUES) {
        return err_set(err, ERR_CORRUPT,
                       "expected a page of at most %d bytes and %d values at byte %" PRIu64 " but found %" PRId32
                       " and %" PRId32,
                       PAGE_MAX_BYTES, PAGE_MAX_VALUES, at, header->uncompressed_bytes, header->value_count);
    }
    int64_t levels = is_v2 ? (int64_t)header->definition_bytes + header->repetition_bytes : 0;
    if (is_v2 && (header->definition_bytes < 0 || header->repetition_bytes < 0 || levels > header->compressed_bytes ||
                  levels > header->uncompressed_bytes)) {
        return err_set(err, ERR_CORRUPT,
                       "expected levels within the page at byte %" PRIu64 " but they take %" PRId64 " bytes", at,
                       levels);
    }
    return OK;
}

static enum err_code check_crc(const struct page_reader *reader, const struct page_header *header, uint64_t at,
                               struct error *err)
{
#ifdef PARQUET_FUZZ_NO_CRC /* a fuzzer could not get past it */
    (void)reader, (void)header, (void)at, (void)err;
    return OK;
#else
    uint32_t found = header->has_crc ? digest_crc32(0, reader->raw.data, reader->raw.length_bytes) : 0;
    if (header->has_crc && found != (uint32_t)header->crc) {
        return err_set(err, ERR_CORRUPT,
                       "expected checksum %08" PRIx32 " of the page at byte %" PRIu64 " but found %08" PRIx32,
                       (uint32_t)header->crc, at, found);
    }
    return OK;
#endif
}

static enum err_code unpack(struct page_reader *reader, struct page *page, struct error *err)
{
    const struct page_header *header = &page->header;
    const struct buf *raw = &reader->raw;
    size_t levels =
        header->type == PAGE_DATA_V2 ? (size_t)header->definition_bytes + (size_t)header->repetition_bytes : 0;
    size_t length = (size_t)header->uncompressed_bytes - levels;
    bool plain = reader->kind == CODEC_NONE || (header->type == PAGE_DATA_V2 && !header->compressed);
    page->repetitions = (struct encoded){raw->data, raw->data + (levels > 0 ? header->repetition_bytes : 0)};
    page->levels.at = raw->data + (levels > 0 ? header->repetition_bytes : 0);
    page->levels.end = raw->data + levels;
    if (plain || length == 0) { /* a page of nothing may have no compressed form either */
        if (plain && raw->length_bytes - levels != length) {
            return err_set(err, ERR_CORRUPT, "expected %zu bytes in a page but found %zu", length,
                           raw->length_bytes - levels);
        }
        page->values.at = raw->data + levels;
        page->values.end = page->values.at + length;
        return OK;
    }
    if (length > codec_most_bytes(reader->kind, raw->length_bytes - levels)) {
        return err_set(err, ERR_CORRUPT, "expected a page of %zu bytes but %zu never decompress to as many with %s",
                       length, raw->length_bytes - levels, codec_kind_name(reader->kind));
    }
    buf_clear(&reader->payload);
    TRY(buf_reserve(&reader->payload, length + PAGE_SLACK_BYTES, err));
    TRY(codec_decompress(reader->codec, reader->kind, raw->data + levels, raw->length_bytes - levels,
                         reader->payload.data, length, err));
    page->values.at = reader->payload.data;
    page->values.end = page->values.at + length;
    return OK;
}

static bool is_data(const struct page_header *header)
{
    return header->has_body && (header->type == PAGE_DATA || header->type == PAGE_DATA_V2);
}

static bool is_wanted(const struct page_header *header, uint64_t pass_rows)
{
    return is_data(header) ? header->value_count == 0 || (uint64_t)header->value_count > pass_rows
                           : header->has_body && header->type == PAGE_DICTIONARY;
}

enum err_code parquet_page_next(struct page_reader *reader, uint64_t pass_rows, struct page *out, struct error *err)
{
    struct page page;
    uint64_t passed = 0;
    for (bool wanted = false; !wanted;) {
        size_t used;
        if (reader->at >= reader->end) {
            return err_set(err, ERR_CORRUPT, "expected another page but the column chunk ends at byte %" PRIu64,
                           reader->end);
        }
        TRY(read_header(reader, &page.header, &used, err));
        uint64_t at = reader->at + used;
        TRY(check_header(reader, &page.header, at, err));
        wanted = is_wanted(&page.header, pass_rows - passed);
        if (wanted) {
            TRY(read_bytes(reader, at, (size_t)page.header.compressed_bytes, &reader->raw, err));
            TRY(check_crc(reader, &page.header, at, err));
            enum err_code code = unpack(reader, &page, err);
            if (code != OK) {
                return err_wrap(err, "page at byte %" PRIu64, at);
            }
        } else if (is_data(&page.header)) {
            passed += (uint64_t)page.header.value_count;
        }
        reader->at = at + (uint64_t)page.header.compressed_bytes;
    }
    page.passed_rows = passed;
    *out = page;
    return OK;
}
