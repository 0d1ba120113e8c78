/* The encodings of values inside pages: dense (non-null) values to bytes and back. Pure; decoders never read past their
 * input and answer ERR_CORRUPT when it contradicts itself. Source: Encodings.md of parquet-format 2.11. */
#ifndef GRANARY_PARQUET_ENCODING_H
#define GRANARY_PARQUET_ENCODING_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"

/* A part of a page that a decoder eats from the front. */
struct encoded {
    const uint8_t *at;
    const uint8_t *end;
};

/* Texts of a page: value i is data[starts[i] .. starts[i] + lengths[i]). */
struct spans {
    const uint8_t *data;
    uint32_t *starts;
    uint32_t *lengths;
};

/* --- RLE and bit-packing hybrid: dictionary codes and levels ----------------------------------------------------- */

MUST_CHECK enum err_code parquet_rle_encode(const uint32_t *values, size_t count, int width, struct buf *out,
                                            struct error *err);
/* The validity bits [first, first + count) as definition levels of width 1: one packed run. */
MUST_CHECK enum err_code parquet_rle_encode_bits(const uint8_t *bits, size_t first, size_t count, struct buf *out,
                                                 struct error *err);
/* width 0..32 */
MUST_CHECK enum err_code parquet_rle_decode(struct encoded in, int width, uint32_t *out, size_t count,
                                            struct error *err);
/* Width 1, one byte per value; *out_ones counts them. */
MUST_CHECK enum err_code parquet_rle_decode_bits(struct encoded in, uint8_t *out, size_t count, size_t *out_ones,
                                                 struct error *err);
/* The levels of long ago (BIT_PACKED) of width 1: first value in the most significant bit, no runs. `in` holds
 * (count + 7) / 8 bytes. Returns the ones. */
size_t parquet_bit_packed_decode_bits(const uint8_t *in, uint8_t *out, size_t count);

/* --- DELTA_BINARY_PACKED ----------------------------------------------------------------------------------------- */

MUST_CHECK enum err_code parquet_delta_encode_i32(const int32_t *values, size_t count, struct buf *out,
                                                  struct error *err);
MUST_CHECK enum err_code parquet_delta_encode_i64(const int64_t *values, size_t count, struct buf *out,
                                                  struct error *err);
/* Exactly `count` values must follow; `in` moves past them. */
MUST_CHECK enum err_code parquet_delta_decode_i32(struct encoded *in, int32_t *out, size_t count, struct error *err);
MUST_CHECK enum err_code parquet_delta_decode_i64(struct encoded *in, int64_t *out, size_t count, struct error *err);

/* --- texts ------------------------------------------------------------------------------------------------------- */

/* PLAIN: each with its length in front. Value i is data[offsets[i] .. offsets[i + 1]). */
MUST_CHECK enum err_code parquet_plain_encode_texts(const uint8_t *data, const uint32_t *offsets, size_t count,
                                                    struct buf *out, struct error *err);
MUST_CHECK enum err_code parquet_plain_decode_texts(struct encoded in, struct spans *out, size_t count,
                                                    struct error *err);
MUST_CHECK enum err_code parquet_delta_length_encode(const uint8_t *data, const uint32_t *offsets, size_t count,
                                                     struct buf *out, struct error *err);
MUST_CHECK enum err_code parquet_delta_length_decode(struct encoded in, struct spans *out, size_t count,
                                                     struct error *err);
/* Texts are rebuilt in `storage` (cleared first); more than 256 MiB of them are ERR_INVALID. */
MUST_CHECK enum err_code parquet_delta_byte_array_decode(struct encoded in, struct spans *out, size_t count,
                                                         struct buf *storage, struct error *err);

/* --- fixed width ------------------------------------------------------------------------------------------------- */

MUST_CHECK enum err_code parquet_plain_encode_bools(const uint8_t *values, size_t count, struct buf *out,
                                                    struct error *err);
MUST_CHECK enum err_code parquet_plain_decode_bools(struct encoded in, uint8_t *out, size_t count, struct error *err);
MUST_CHECK enum err_code parquet_plain_decode_fixed(struct encoded in, void *out, size_t count, size_t width,
                                                    struct error *err);
/* BYTE_STREAM_SPLIT: first bytes of all values, then second bytes, ... */
MUST_CHECK enum err_code parquet_split_encode(const void *values, size_t count, size_t width, struct buf *out,
                                              struct error *err);
MUST_CHECK enum err_code parquet_split_decode(struct encoded in, void *out, size_t count, size_t width,
                                              struct error *err);

#endif
