/* Bit packing, least significant bit first, and the varints around it. Little-endian machines only (as the format). */
#ifndef GRANARY_PARQUET_BITS_H
#define GRANARY_PARQUET_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the hot loops load little-endian words as they are");

enum { BITS_VARINT_MAX_BYTES = 10 };

static inline int bits_width(uint64_t value)
{
    return value == 0 ? 0 : 64 - __builtin_clzll(value);
}

/* Room for (count * width + 7) / 8 bytes, and 8 more. Returns the bytes that count. */
#define DEFINE_BITS_PACK_(name, type)                                                    \
    static inline size_t name(const type *values, size_t count, int width, uint8_t *out) \
    {                                                                                    \
        uint64_t word = 0;                                                               \
        int used = 0;                                                                    \
        uint8_t *at = out;                                                               \
        for (size_t i = 0; width > 0 && i < count; i++) {                                \
            uint64_t value = values[i];                                                  \
            word |= value << used;                                                       \
            used += width;                                                               \
            if (used >= 64) {                                                            \
                memcpy(at, &word, 8);                                                    \
                at += 8;                                                                 \
                used -= 64;                                                              \
                word = used == 0 ? 0 : value >> (width - used);                          \
            }                                                                            \
        }                                                                                \
        memcpy(at, &word, 8);                                                            \
        return (size_t)(at - out) + ((size_t)used + 7) / 8;                              \
    }
DEFINE_BITS_PACK_(bits_pack_u32, uint32_t)
DEFINE_BITS_PACK_(bits_pack_u64, uint64_t)
#undef DEFINE_BITS_PACK_

static inline uint64_t bits_load(const uint8_t *data, size_t length, size_t at)
{
    uint64_t word = 0;
    size_t left = length > at ? length - at : 0;
    if (left >= 8) {
        memcpy(&word, data + at, 8);
    } else {
        for (size_t i = 0; i < left; i++) { /* the last bytes of the input: never read past them */
            word |= (uint64_t)data[at + i] << (8 * i);
        }
    }
    return word;
}

/* Value number `index` of a packed run; bits past the end are zeros. */
static inline uint64_t bits_get(const uint8_t *data, size_t length, size_t index, int width)
{
    size_t bit = index * (size_t)width;
    int shift = (int)(bit & 7);
    uint64_t mask = width == 64 ? ~UINT64_C(0) : (UINT64_C(1) << width) - 1;
    uint64_t word = bits_load(data, length, bit >> 3) >> shift;
    if (width > 64 - shift) {
        word |= bits_load(data, length, (bit >> 3) + 8) << (64 - shift);
    }
    return word & mask;
}

/* Of a packed run, how many values lie so that eight bytes from their first one on are there: bits_take may take them. */
static inline size_t bits_whole_words(size_t length, size_t count, int width)
{
    if (width == 0) {
        return length >= 8 ? count : 0;
    }
    size_t most = length < 8 ? 0 : ((length - 8) * 8 + 7) / (size_t)width + 1;
    return most < count ? most : count;
}

/* bits_get without a look at the end; width up to 57. */
static inline uint64_t bits_take(const uint8_t *data, size_t index, int width, uint64_t mask)
{
    size_t bit = index * (size_t)width;
    uint64_t word;
    memcpy(&word, data + (bit >> 3), sizeof word);
    return word >> (bit & 7) & mask;
}

static inline size_t bits_varint_put(uint8_t out[BITS_VARINT_MAX_BYTES], uint64_t value)
{
    size_t count = 0;
    for (; value >= 0x80; value >>= 7) {
        out[count++] = (uint8_t)(value | 0x80);
    }
    out[count++] = (uint8_t)value;
    return count;
}

/* False when the bytes end early or the number has more than 64 bits; *at moves on. */
static inline bool bits_varint_get(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && *at < end; shift += 7) {
        uint8_t byte = *(*at)++;
        if (shift == 63 && byte > 1) {
            return false;
        }
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = value;
            return true;
        }
    }
    return false;
}

static inline uint64_t bits_zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static inline int64_t bits_unzigzag(uint64_t value)
{
    return (int64_t)(value >> 1 ^ -(value & 1));
}

#endif
