/* The scan that rows and fields of CSV are found with, sixteen bytes at a time. */
#ifndef GRANARY_INGEST_CSV_FIND_H
#define GRANARY_INGEST_CSV_FIND_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { CSV_STEP_BYTES = 16 };

/* The first `a` or `b` from p on, or `end`. *out_high is set when a byte before it is not ASCII. Bytes up to readable_end
 * can be read. */
static inline const uint8_t *csv_find(const uint8_t *p, const uint8_t *end, const uint8_t *readable_end, uint8_t a,
                                      uint8_t b, bool *out_high)
{
    uint32_t high = 0;
#ifdef __SSE2__
    const __m128i first = _mm_set1_epi8((char)a);
    const __m128i second = _mm_set1_epi8((char)b);
    while (p < end && readable_end - p >= CSV_STEP_BYTES) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i either = _mm_or_si128(_mm_cmpeq_epi8(bytes, first), _mm_cmpeq_epi8(bytes, second));
        uint32_t stops = (uint32_t)_mm_movemask_epi8(either);
        uint32_t signs = (uint32_t)_mm_movemask_epi8(bytes);
        uint32_t left =
            end - p < CSV_STEP_BYTES ? (1U << (end - p)) - 1 : 0xffff; /* of these bytes, those of the row */
        stops = (stops & left) | (left + 1);
        high |= signs & (stops - 1) & ~stops;
        p += __builtin_ctz(stops);
        if ((stops & left) != 0 || left != 0xffff) {
            *out_high = *out_high || high != 0;
            return p;
        }
    }
#endif
    while (p < end && *p != a && *p != b) {
        high |= *p++ >> 7;
    }
    *out_high = *out_high || high != 0;
    return p;
}

#endif
