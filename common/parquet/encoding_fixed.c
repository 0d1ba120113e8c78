#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include <string.h>

#include "common/parquet/bits.h"
#include "common/parquet/encoding.h"

enum err_code parquet_plain_encode_bools(const uint8_t *values, size_t count, struct buf *out, struct error *err)
{
    size_t bytes = (count + 7) / 8;
    TRY(buf_reserve(out, bytes + 1, err)); /* never a null pointer */
    uint8_t *to = out->data + out->length_bytes;
    memset(to, 0, bytes);
    for (size_t i = 0; i < count; i++) {
        to[i >> 3] |= (uint8_t)(values[i] << (i & 7));
    }
    out->length_bytes += bytes;
    return OK;
}

static enum err_code check_bytes(struct encoded in, size_t needed, size_t count, struct error *err)
{
    if ((size_t)(in.end - in.at) < needed) {
        return err_set(err, ERR_CORRUPT, "expected %zu values in %zu bytes but found only %td bytes", count, needed,
                       in.end - in.at);
    }
    return OK;
}

enum err_code parquet_plain_decode_bools(struct encoded in, uint8_t *out, size_t count, struct error *err)
{
    TRY(check_bytes(in, (count + 7) / 8, count, err));
    for (size_t i = 0; i < count; i++) {
        out[i] = in.at[i >> 3] >> (i & 7) & 1;
    }
    return OK;
}

enum err_code parquet_plain_decode_fixed(struct encoded in, void *out, size_t count, size_t width, struct error *err)
{
    TRY(check_bytes(in, count * width, count, err));
    if (count > 0) {
        memcpy(out, in.at, count * width);
    }
    return OK;
}

enum err_code parquet_split_encode(const void *values, size_t count, size_t width, struct buf *out, struct error *err)
{
    TRY(buf_reserve(out, count * width + 1, err)); /* never a null pointer */
    const uint8_t *from = values;
    uint8_t *to = out->data + out->length_bytes;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < width; k++) {
            to[k * count + i] = from[i * width + k];
        }
    }
    out->length_bytes += count * width;
    return OK;
}

#ifdef __SSE2__
/* Sixteen values at a time: bytes of one value meet by interleaving two streams, then four, then eight. Returns the values
 * done. */
static size_t join_8(const uint8_t *in, uint8_t *out, size_t count)
{
    size_t done = 0;
    for (; done + 16 <= count; done += 16) {
        __m128i bytes[8], pairs[8], fours[8];
        for (size_t k = 0; k < 8; k++) {
            bytes[k] = _mm_loadu_si128((const __m128i *)(const void *)(in + k * count + done));
        }
        for (size_t k = 0; k < 4; k++) {
            pairs[k] = _mm_unpacklo_epi8(bytes[2 * k], bytes[2 * k + 1]);
            pairs[k + 4] = _mm_unpackhi_epi8(bytes[2 * k], bytes[2 * k + 1]);
        }
        for (size_t k = 0; k < 4; k++) { /* pairs 2 * k, 2 * k + 1: values 0..7 for k < 2, else 8..15 */
            fours[2 * k] = _mm_unpacklo_epi16(pairs[2 * k], pairs[2 * k + 1]);
            fours[2 * k + 1] = _mm_unpackhi_epi16(pairs[2 * k], pairs[2 * k + 1]);
        }
        __m128i *to = (__m128i *)(void *)(out + done * 8);
        for (size_t half = 0; half < 2; half++) {
            for (size_t k = 0; k < 2; k++) {
                __m128i low = fours[4 * half + k], high = fours[4 * half + k + 2];
                _mm_storeu_si128(to++, _mm_unpacklo_epi32(low, high));
                _mm_storeu_si128(to++, _mm_unpackhi_epi32(low, high));
            }
        }
    }
    return done;
}

static size_t join_4(const uint8_t *in, uint8_t *out, size_t count)
{
    size_t done = 0;
    for (; done + 16 <= count; done += 16) {
        __m128i bytes[4];
        for (size_t k = 0; k < 4; k++) {
            bytes[k] = _mm_loadu_si128((const __m128i *)(const void *)(in + k * count + done));
        }
        __m128i low_01 = _mm_unpacklo_epi8(bytes[0], bytes[1]), high_01 = _mm_unpackhi_epi8(bytes[0], bytes[1]);
        __m128i low_23 = _mm_unpacklo_epi8(bytes[2], bytes[3]), high_23 = _mm_unpackhi_epi8(bytes[2], bytes[3]);
        __m128i *to = (__m128i *)(void *)(out + done * 4);
        _mm_storeu_si128(to, _mm_unpacklo_epi16(low_01, low_23));
        _mm_storeu_si128(to + 1, _mm_unpackhi_epi16(low_01, low_23));
        _mm_storeu_si128(to + 2, _mm_unpacklo_epi16(high_01, high_23));
        _mm_storeu_si128(to + 3, _mm_unpackhi_epi16(high_01, high_23));
    }
    return done;
}
#endif

enum err_code parquet_split_decode(struct encoded in, void *out, size_t count, size_t width, struct error *err)
{
    size_t done = 0;
    TRY(check_bytes(in, count * width, count, err));
#ifdef __SSE2__
    done = width == 8 ? join_8(in.at, out, count) : width == 4 ? join_4(in.at, out, count) : 0;
#endif
    for (size_t k = 0; k < width; k++) {
        const uint8_t *stream = in.at + k * count;
        uint8_t *to = (uint8_t *)out + k;
        for (size_t i = done; i < count; i++) {
            to[i * width] = stream[i];
        }
    }
    return OK;
}
