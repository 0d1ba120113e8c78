/* What the files of rows share and nobody else sees. */
#ifndef GRANARY_ROWS_INTERNAL_H
#define GRANARY_ROWS_INTERNAL_H

#include <string.h>

#include "common/rows/batch.h"

#define BITMAP_BYTES(rows) (((size_t)(rows) + 7) / 8)

static inline bool bitmap_get(const uint8_t *bits, size_t i)
{
    return bits[i >> 3] >> (i & 7) & 1;
}

static inline void bitmap_set(uint8_t *bits, size_t i, bool value)
{
    uint8_t mask = (uint8_t)(1U << (i & 7));
    bits[i >> 3] = (uint8_t)(value ? bits[i >> 3] | mask : bits[i >> 3] & ~mask);
}

/* Bytes first, then length: the order of strings, bytes and json everywhere in Granary. */
static inline int bytes_compare(const void *a, size_t a_length, const void *b, size_t b_length)
{
    size_t shorter = a_length < b_length ? a_length : b_length;
    int order = shorter == 0 ? 0 : memcmp(a, b, shorter);
    return order != 0 ? order : (a_length > b_length) - (a_length < b_length);
}

/* The first eight bytes as a number that sorts like them; shorter values are filled up with zeros. */
static inline uint64_t bytes_prefix(const uint8_t *data, size_t length)
{
    uint64_t word = 0;
    if (length >= 8) {
        memcpy(&word, data, 8);
        return __builtin_bswap64(word);
    }
    for (size_t i = 0; i < length; i++) {
        word |= (uint64_t)data[i] << (56 - 8 * i);
    }
    return word;
}

#endif
