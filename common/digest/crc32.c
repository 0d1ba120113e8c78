/* A message is a polynomial; 128 bits of it further ahead can be replaced by what they leave when divided by the CRC's, so
 * that long messages become short ones without looking at a byte. Four strands go side by side, because one multiplication
 * waits for the one before it. What is left at last is divided by multiplying with the inverse (Barrett).
 * Source: "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction", Intel 2009; its constants for the
 * reflected CRC-32 (x^n mod P, bits in reverse). */
#include "common/digest/crc32.h"

#ifdef __x86_64__
#include <immintrin.h>
#include <stdbool.h>

enum { STRANDS = 4, SHORTEST_BYTES = 256 };

#define POWER_544  INT64_C(0x154442bd4) /* 4 strands and 32 bits ahead */
#define POWER_480  INT64_C(0x1c6e41596)
#define POWER_160  INT64_C(0x1751997d0) /* one strand and 32 bits ahead */
#define POWER_96   INT64_C(0x0ccaa009e)
#define POWER_64   INT64_C(0x163cd6124)
#define POLYNOMIAL INT64_C(0x1db710641)
#define INVERSE    INT64_C(0x1f7011641)

#define WITH_CARRYLESS __attribute__((target("pclmul,sse4.1")))

WITH_CARRYLESS static inline __m128i load(const uint8_t *at)
{
    return _mm_loadu_si128((const __m128i *)(const void *)at);
}

/* What `ahead` leaves in the place of `next`. */
WITH_CARRYLESS static inline __m128i fold(__m128i ahead, __m128i powers, __m128i next)
{
    __m128i low = _mm_clmulepi64_si128(ahead, powers, 0x00), high = _mm_clmulepi64_si128(ahead, powers, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

WITH_CARRYLESS static uint32_t reduce(__m128i rest)
{
    const __m128i powers = _mm_set_epi64x(POWER_96, POWER_160), last = _mm_set_epi64x(0, POWER_64);
    const __m128i barrett = _mm_set_epi64x(INVERSE, POLYNOMIAL), low_word = _mm_set_epi32(0, 0, 0, -1);
    rest = _mm_xor_si128(_mm_srli_si128(rest, 8), _mm_clmulepi64_si128(rest, powers, 0x10)); /* to 96 bits */
    rest = _mm_xor_si128(_mm_srli_si128(rest, 4),
                         _mm_clmulepi64_si128(_mm_and_si128(rest, low_word), last, 0x00)); /* to 64 */
    __m128i quotient = _mm_and_si128(_mm_clmulepi64_si128(_mm_and_si128(rest, low_word), barrett, 0x10), low_word);
    return (uint32_t)_mm_extract_epi32(_mm_xor_si128(rest, _mm_clmulepi64_si128(quotient, barrett, 0x00)), 1);
}

WITH_CARRYLESS static uint32_t fold_all(uint32_t state, const uint8_t *at, size_t blocks)
{
    const __m128i far = _mm_set_epi64x(POWER_480, POWER_544), near = _mm_set_epi64x(POWER_96, POWER_160);
    __m128i strands[STRANDS];
    for (size_t i = 0; i < STRANDS; i++) {
        strands[i] = load(at + 16 * i);
    }
    strands[0] = _mm_xor_si128(strands[0], _mm_cvtsi32_si128((int)state));
    for (at += 16 * STRANDS, blocks -= STRANDS; blocks >= STRANDS; at += 16 * STRANDS, blocks -= STRANDS) {
        for (size_t i = 0; i < STRANDS; i++) {
            strands[i] = fold(strands[i], far, load(at + 16 * i));
        }
    }
    __m128i rest = strands[0];
    for (size_t i = 1; i < STRANDS; i++) {
        rest = fold(rest, near, strands[i]);
    }
    for (; blocks > 0; at += 16, blocks--) {
        rest = fold(rest, near, load(at));
    }
    return reduce(rest);
}

size_t digest_crc32_fold(uint32_t *crc, const void *data, size_t length)
{
    if (length < SHORTEST_BYTES || !__builtin_cpu_supports("pclmul") || !__builtin_cpu_supports("sse4.1")) {
        return 0;
    }
    *crc = ~fold_all(~*crc, data, length / 16);
    return length / 16 * 16;
}

#else

size_t digest_crc32_fold(uint32_t *crc, const void *data, size_t length)
{
    (void)crc, (void)data, (void)length;
    return 0;
}

#endif
