/* A dictionary is tried first: it gives up by itself, early, where values do not repeat. For numbers, what zstd makes of
 * delta-packed, split or plain bytes differs too much between data to be guessed: a sample of the chunk is encoded and
 * compressed both ways. Texts go as DELTA_LENGTH_BYTE_ARRAY: lengths apart from bytes compress better than PLAIN, and
 * both directions are one memcpy. */
#include "common/parquet/chunk_choice.h"

#include "common/parquet/bits.h"
#include "common/parquet/encoding.h"

enum { SAMPLE_VALUES = 2048 };

void parquet_chunk_choice_done(struct chunk_choice *choice)
{
    buf_done(&choice->encoded);
    buf_done(&choice->compressed);
}

int parquet_chunk_code_width(const struct dictionary *dictionary)
{
    int width = bits_width(dictionary->count > 0 ? dictionary->count - 1 : 0);
    return width > 0 ? width : 1;
}

enum err_code parquet_chunk_encode_values(const struct dense *dense, size_t first, size_t count,
                                          enum parquet_encoding encoding, struct buf *out, struct error *err)
{
    const uint8_t *values = dense->width > 0 ? dense->values + first * dense->width : NULL;
    if (encoding == ENCODING_DELTA_LENGTH_BYTE_ARRAY) {
        return parquet_delta_length_encode(dense->data, dense->offsets + first, count, out, err);
    }
    if (encoding == ENCODING_DELTA_BINARY_PACKED) {
        return dense->width == 4 ? parquet_delta_encode_i32((const void *)values, count, out, err)
                                 : parquet_delta_encode_i64((const void *)values, count, out, err);
    }
    if (encoding == ENCODING_BYTE_STREAM_SPLIT) {
        return parquet_split_encode(values, count, dense->width, out, err);
    }
    if (dense->width == 0) {
        return parquet_plain_encode_texts(dense->data, dense->offsets + first, count, out, err);
    }
    if (dense->type == COLUMN_BOOL) {
        return parquet_plain_encode_bools(values, count, out, err);
    }
    return buf_append(out, values, count * dense->width, err);
}

static enum err_code sample_bytes(struct chunk_choice *choice, const struct dense *dense,
                                  enum parquet_encoding encoding, size_t *out, struct error *err)
{
    size_t count = dense->count < SAMPLE_VALUES ? dense->count : SAMPLE_VALUES;
    size_t first = (dense->count - count) / 2;
    buf_clear(&choice->encoded);
    buf_clear(&choice->compressed);
    TRY(parquet_chunk_encode_values(dense, first, count, encoding, &choice->encoded, err));
    TRY(codec_compress(choice->codec, choice->kind, choice->encoded.data, choice->encoded.length_bytes,
                       &choice->compressed, err));
    *out = choice->compressed.length_bytes;
    return OK;
}

static bool is_real(enum column_type type)
{
    return type == COLUMN_FLOAT || type == COLUMN_DOUBLE;
}

/* Numbers of 4 or 8 bytes: PLAIN or the packed alternative; *out_bytes estimates the whole chunk. */
static enum err_code choose_for_numbers(struct chunk_choice *choice, const struct dense *dense,
                                        enum parquet_encoding *out, size_t *out_bytes, struct error *err)
{
    enum parquet_encoding packed = is_real(dense->type) ? ENCODING_BYTE_STREAM_SPLIT : ENCODING_DELTA_BINARY_PACKED;
    size_t plain_bytes = 0, packed_bytes = 0;
    TRY(sample_bytes(choice, dense, ENCODING_PLAIN, &plain_bytes, err));
    TRY(sample_bytes(choice, dense, packed, &packed_bytes, err));
    /* Splitting costs time in both directions: it has to earn it. Packing deltas is faster than compressing more. */
    bool packs = is_real(dense->type) ? packed_bytes * 20 < plain_bytes * 19 : packed_bytes <= plain_bytes;
    size_t sampled = dense->count < SAMPLE_VALUES ? dense->count : SAMPLE_VALUES;
    *out = packs ? packed : ENCODING_PLAIN;
    *out_bytes = (size_t)((double)(packs ? packed_bytes : plain_bytes) * (double)dense->count / (double)sampled);
    return OK;
}

enum err_code parquet_chunk_choose(struct chunk_choice *choice, const struct dense *dense,
                                   struct dictionary *dictionary, enum parquet_encoding *out, struct error *err)
{
    enum parquet_encoding otherwise = dense->width == 0 ? ENCODING_DELTA_LENGTH_BYTE_ARRAY : ENCODING_PLAIN;
    if (dense->count == 0 || dense->type == COLUMN_BOOL) {
        *out = dense->count == 0 ? ENCODING_PLAIN : otherwise;
        return OK;
    }
    bool fits = false;
    TRY(parquet_dictionary_build(dictionary, dense, &fits, err));
    size_t other_bytes = dense->width > 0 ? dense->count * dense->width
                                          : dense->count + dense->offsets[dense->count] - dense->offsets[0];
    size_t worth_bytes = other_bytes / 4 * 3; /* what compression will make of either is not known */
    if (dense->width == 4 || dense->width == 8) {
        TRY(choose_for_numbers(choice, dense, &otherwise, &worth_bytes, err));
    }
    size_t codes_bytes = dense->count * (size_t)parquet_chunk_code_width(dictionary) / 8;
    bool pays = fits && dictionary->plain_bytes + codes_bytes < worth_bytes;
    *out = pays ? ENCODING_RLE_DICTIONARY : otherwise;
    return OK;
}
