/* What zstd makes of codes, delta-packed, split or plain bytes differs too much between data to be guessed: a sample of the
 * chunk is encoded and compressed each way, and the smallest wins. A dictionary is built first: that gives up by itself, early,
 * where values do not repeat, and then it is not measured. Texts otherwise go as DELTA_LENGTH_BYTE_ARRAY: lengths apart from
 * bytes compress better than PLAIN, and both directions are one memcpy. */
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

static enum err_code compressed_bytes(struct chunk_choice *choice, size_t *out, struct error *err)
{
    buf_clear(&choice->compressed);
    TRY(codec_compress(choice->codec, choice->kind, choice->encoded.data, choice->encoded.length_bytes,
                       &choice->compressed, err));
    *out = choice->compressed.length_bytes;
    return OK;
}

/* Values from the middle of the chunk. */
static size_t sample(const struct dense *dense, size_t *out_first)
{
    size_t count = dense->count < SAMPLE_VALUES ? dense->count : SAMPLE_VALUES;
    *out_first = (dense->count - count) / 2;
    return count;
}

/* What the whole chunk would take, by its sample. */
static size_t whole_bytes(const struct dense *dense, size_t sample_bytes)
{
    size_t first;
    return (size_t)((double)sample_bytes * (double)dense->count / (double)sample(dense, &first));
}

static enum err_code measure(struct chunk_choice *choice, const struct dense *dense, enum parquet_encoding encoding,
                             size_t *out, struct error *err)
{
    size_t first, count = sample(dense, &first);
    buf_clear(&choice->encoded);
    TRY(parquet_chunk_encode_values(dense, first, count, encoding, &choice->encoded, err));
    TRY(compressed_bytes(choice, out, err));
    *out = whole_bytes(dense, *out);
    return OK;
}

static enum err_code measure_dictionary(struct chunk_choice *choice, const struct dense *dense,
                                        const struct dictionary *dictionary, size_t *out, struct error *err)
{
    size_t first, count = sample(dense, &first), entries_bytes = 0, codes_bytes = 0;
    buf_clear(&choice->encoded);
    TRY(parquet_dictionary_encode(dictionary, dense, &choice->encoded, err));
    TRY(compressed_bytes(choice, &entries_bytes, err));
    buf_clear(&choice->encoded);
    TRY(parquet_rle_encode(parquet_dictionary_codes(dictionary) + first, count, parquet_chunk_code_width(dictionary),
                           &choice->encoded, err));
    TRY(compressed_bytes(choice, &codes_bytes, err));
    *out = entries_bytes + whole_bytes(dense, codes_bytes);
    return OK;
}

static bool is_real(enum column_type type)
{
    return type == COLUMN_FLOAT || type == COLUMN_DOUBLE;
}

/* The best that is no dictionary, and what the chunk would take in it. */
static enum err_code choose_otherwise(struct chunk_choice *choice, const struct dense *dense,
                                      enum parquet_encoding *out, size_t *out_bytes, struct error *err)
{
    if (dense->width != 4 && dense->width != 8) {
        *out = dense->width == 0 ? ENCODING_DELTA_LENGTH_BYTE_ARRAY : ENCODING_PLAIN;
        return measure(choice, dense, *out, out_bytes, err);
    }
    enum parquet_encoding packed = is_real(dense->type) ? ENCODING_BYTE_STREAM_SPLIT : ENCODING_DELTA_BINARY_PACKED;
    size_t plain_bytes = 0, packed_bytes = 0;
    TRY(measure(choice, dense, ENCODING_PLAIN, &plain_bytes, err));
    TRY(measure(choice, dense, packed, &packed_bytes, err));
    /* Splitting costs time in both directions: it has to earn it. Packing deltas is faster than compressing more. */
    bool packs = is_real(dense->type) ? packed_bytes * 20 < plain_bytes * 19 : packed_bytes <= plain_bytes;
    *out = packs ? packed : ENCODING_PLAIN;
    *out_bytes = packs ? packed_bytes : plain_bytes;
    return OK;
}

enum err_code parquet_chunk_choose(struct chunk_choice *choice, const struct dense *dense,
                                   struct dictionary *dictionary, enum parquet_encoding *out, struct error *err)
{
    *out = ENCODING_PLAIN;
    if (dense->count == 0 || dense->type == COLUMN_BOOL) {
        return OK;
    }
    bool fits = false;
    size_t other_bytes = 0, dictionary_bytes = 0;
    TRY(parquet_dictionary_build(dictionary, dense, &fits, err));
    TRY(choose_otherwise(choice, dense, out, &other_bytes, err));
    if (fits) {
        TRY(measure_dictionary(choice, dense, dictionary, &dictionary_bytes, err));
        /* Codes of texts are read several times as fast as texts: that is worth a little. */
        bool pays = dense->width == 0 ? dictionary_bytes * 20 <= other_bytes * 21 : dictionary_bytes < other_bytes;
        *out = pays ? ENCODING_RLE_DICTIONARY : *out;
    }
    return OK;
}
