/* Numbers. One scan checks the grammar and gathers up to 19 digits that count, which fit 64 bits. From there:
 *
 * - Integers and decimals are exact or refused; nothing is ever rounded on the way in.
 * - Doubles are the nearest ones. If the digits fit 53 bits and the power of ten is one that a double holds exactly, one
 *   multiplication or division rounds once and is right (Clinger). Where long double has 64 bits of mantissa, the same is
 *   done there for 64 bits and powers up to 10^27, and the result taken unless it lies so near the middle between two
 *   doubles that the first rounding could have carried it over. All else goes to strtod, in the C locale. */
#include "common/rows/number.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"

enum { MOST_DIGITS = 19, EXPONENT_LIMIT = 100000, SMALL_TEXT_BYTES = 128 };

static inline bool is_digit(uint8_t c)
{
    return (uint8_t)(c - '0') <= 9;
}

struct digits {
    uint64_t mantissa;
    int32_t count;   /* that count: from the first that is not zero */
    int32_t dropped; /* beyond MOST_DIGITS */
    bool is_cut;
};

static inline const uint8_t *gather_digits(const uint8_t *p, struct digits *digits)
{
    for (; is_digit(*p); p++) {
        if (__builtin_expect(digits->count >= MOST_DIGITS, 0)) {
            digits->dropped++;
            digits->is_cut = digits->is_cut || *p != '0';
            continue;
        }
        digits->mantissa = digits->mantissa * 10 + (uint64_t)(*p - '0');
        digits->count += digits->mantissa != 0;
    }
    return p;
}

static const uint8_t *scan_exponent(const uint8_t *p, int32_t *out)
{
    bool is_negative = *p == '-';
    int32_t value = 0;
    p += *p == '-' || *p == '+';
    if (!is_digit(*p)) {
        return NULL;
    }
    for (; is_digit(*p); p++) {
        value = value < EXPONENT_LIMIT ? value * 10 + (*p - '0') : value;
    }
    *out = is_negative ? -value : value;
    return p;
}

/* Loose: see number_scan_loose. Inlined into both, so that each has only what is its own. */
__attribute__((always_inline)) static inline const uint8_t *scan(const uint8_t *p, bool is_loose, struct number *out)
{
    struct digits digits = {0};
    int32_t exponent = 0;
    bool is_negative = *p == '-';
    p += is_negative || (is_loose && *p == '+');
    if (!is_loose && (!is_digit(*p) || (*p == '0' && is_digit(p[1])))) {
        return NULL;
    }
    const uint8_t *whole = p;
    p = gather_digits(p, &digits);
    bool has_digits = p > whole;
    int32_t dropped = digits.dropped;
    if (*p == '.') {
        const uint8_t *fraction = p + 1;
        p = gather_digits(fraction, &digits);
        if (p == fraction && (!is_loose || !has_digits)) {
            return NULL;
        }
        has_digits = true;
        exponent = (int32_t)(fraction - p) + (digits.dropped - dropped);
    }
    if (!has_digits) {
        return NULL;
    }
    exponent += dropped;
    if ((*p | 0x20) == 'e') {
        int32_t written;
        p = scan_exponent(p + 1, &written);
        if (p == NULL) {
            return NULL;
        }
        exponent += written;
    }
    *out = (struct number){
        .mantissa = digits.mantissa, .exponent = exponent, .is_negative = is_negative, .is_cut = digits.is_cut};
    return p;
}

const uint8_t *number_scan(const uint8_t *p, struct number *out)
{
    return scan(p, false, out);
}

const uint8_t *number_scan_loose(const uint8_t *p, struct number *out)
{
    return scan(p, true, out);
}

/* *out_rest: something was dropped. False when it grows beyond the limit. */
static bool shift_magnitude(const struct number *number, int32_t shift, uint64_t limit, uint64_t *out, bool *out_rest)
{
    uint64_t magnitude = number->mantissa;
    *out_rest = number->is_cut;
    for (; shift < 0 && magnitude != 0; shift++) {
        *out_rest = *out_rest || magnitude % 10 != 0;
        magnitude /= 10;
    }
    for (; shift > 0 && magnitude != 0; shift--) {
        if (magnitude > limit / 10) {
            return false;
        }
        magnitude *= 10;
    }
    *out = magnitude;
    return true;
}

enum number_fit number_to_scaled(const struct number *number, int scale, uint64_t limit, int64_t *out)
{
    int32_t shift = number->exponent + scale;
    uint64_t most = limit + (number->is_negative && limit == INT64_MAX);
    uint64_t magnitude;
    bool has_rest;
    if (!shift_magnitude(number, shift, limit, &magnitude, &has_rest)) {
        return NUMBER_OUT_OF_RANGE;
    }
    if (has_rest && shift < 0) {
        return NUMBER_NEEDS_ROUNDING;
    }
    if (has_rest || magnitude > most) {
        return NUMBER_OUT_OF_RANGE;
    }
    *out = number->is_negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return NUMBER_FITS;
}

enum number_fit number_to_scaled_down(const struct number *number, int scale, uint64_t limit, int64_t *out)
{
    uint64_t most = limit + (number->is_negative && limit == INT64_MAX);
    uint64_t magnitude;
    bool has_rest;
    if (!shift_magnitude(number, number->exponent + scale, limit, &magnitude, &has_rest)) {
        return NUMBER_OUT_OF_RANGE;
    }
    magnitude += number->is_negative && has_rest; /* cannot wrap: a rest comes with less than 20 digits */
    if (magnitude > most) {
        return NUMBER_OUT_OF_RANGE;
    }
    *out = number->is_negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return NUMBER_FITS;
}

uint64_t number_power_of_ten(unsigned exponent)
{
    uint64_t power = 1;
    while (exponent-- > 0) {
        power *= 10;
    }
    return power;
}

/* --- doubles ----------------------------------------------------------------------------------------------------- */

enum { EXACT_DOUBLE_POWER = 22, EXACT_LONG_POWER = 27 };

static bool nearest_by_double(const struct number *number, double *out)
{
    static const double powers[EXACT_DOUBLE_POWER + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                          1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                          1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (number->mantissa >> 53 != 0 || number->exponent < -EXACT_DOUBLE_POWER ||
        number->exponent > EXACT_DOUBLE_POWER) {
        return false;
    }
    double value = (double)number->mantissa;
    *out = number->exponent < 0 ? value / powers[-number->exponent] : value * powers[number->exponent];
    return true;
}

#if LDBL_MANT_DIG == 64
static bool nearest_by_long_double(const struct number *number, double *out)
{
    static const long double powers[EXACT_LONG_POWER + 1] = {
        1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L,
        1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};
    if (number->exponent < -EXACT_LONG_POWER || number->exponent > EXACT_LONG_POWER) {
        return false;
    }
    long double value = (long double)number->mantissa;
    value = number->exponent < 0 ? value / powers[-number->exponent] : value * powers[number->exponent];
    uint64_t mantissa;
    memcpy(&mantissa, &value, sizeof mantissa); /* the low eight of ten bytes */
    uint64_t beyond = mantissa & 0x7ff;         /* the bits that a double has no room for */
    if (beyond >= 0x3ff && beyond <= 0x401) {
        return false;
    }
    *out = (double)value;
    return true;
}
#else
static bool nearest_by_long_double(const struct number *number, double *out)
{
    (void)number;
    (void)out;
    return false;
}
#endif

/* A copy with a NUL behind it, in the buffer when it fits, else in *out_owned. */
static const char *terminate(const uint8_t *text, const uint8_t *end, char small[SMALL_TEXT_BYTES], char **out_owned)
{
    size_t length = (size_t)(end - text);
    char *copy = length < SMALL_TEXT_BYTES ? small : (*out_owned = malloc(length + 1));
    if (copy != NULL) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

/* The slow way. The C locale is a constant of the C library: asking for it costs nothing. */
static enum err_code convert(const uint8_t *text, const uint8_t *end, double *out_double, float *out_float,
                             struct error *err)
{
    AUTO(free_auto) char *owned = NULL;
    char small[SMALL_TEXT_BYTES];
    const char *copy = terminate(text, end, small, &owned);
    locale_t locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (copy == NULL || locale == (locale_t)0) {
        return err_no_memory(err, (size_t)(end - text));
    }
    if (out_double != NULL) {
        *out_double = strtod_l(copy, NULL, locale);
    } else {
        *out_float = strtof_l(copy, NULL, locale);
    }
    freelocale(locale);
    return OK;
}

enum err_code number_to_double(const struct number *number, const uint8_t *text, const uint8_t *end, double *out,
                               struct error *err)
{
    double value;
    if (!number->is_cut && (nearest_by_double(number, &value) || nearest_by_long_double(number, &value))) {
        *out = number->is_negative ? -value : value;
        return OK;
    }
    return convert(text, end, out, NULL, err);
}

/* Through the nearest double, unless that lies in the middle between two floats or below the normal ones. */
enum err_code number_to_float(const struct number *number, const uint8_t *text, const uint8_t *end, float *out,
                              struct error *err)
{
    double value;
    uint64_t bits;
    TRY(number_to_double(number, text, end, &value, err));
    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x1fffffff) == 0x10000000 || (value != 0 && fabs(value) < (double)FLT_MIN)) {
        return convert(text, end, NULL, out, err);
    }
    *out = (float)value;
    return OK;
}
