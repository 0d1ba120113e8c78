#include "common/parquet/convert.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/checked.h"
#include "common/base/clock.h"

enum { JULIAN_DAY_OF_1970 = 2440588, INT96_BYTES = 12, DECIMAL_TEXT_BYTES = 48 };

__extension__ typedef __int128 wide_integer; /* bytes of a decimal, as far as they fit 16 */

static int64_t power_of_ten(unsigned digits)
{
    int64_t power = 1;
    for (; digits > 0; digits--) {
        power *= 10;
    }
    return power;
}

/* --- one loop for each conversion: up to the first value that does not fit ---------------------------------------- */

static size_t from_i32(const int32_t *from, int64_t limit, int64_t *out, size_t i, size_t count)
{
    for (; i < count && from[i] < limit && from[i] > -limit; i++) {
        out[i] = from[i];
    }
    return i;
}

static size_t from_u32(const uint32_t *from, int64_t *out, size_t i, size_t count)
{
    for (; i < count; i++) {
        out[i] = from[i];
    }
    return i;
}

static size_t from_u64(const uint64_t *from, int64_t *out, size_t i, size_t count)
{
    for (; i < count && from[i] <= INT64_MAX; i++) {
        out[i] = (int64_t)from[i];
    }
    return i;
}

static size_t from_i64_decimal(const int64_t *from, int64_t limit, int64_t *out, size_t i, size_t count)
{
    for (; i < count && from[i] < limit && from[i] > -limit; i++) {
        out[i] = from[i];
    }
    return i;
}

static size_t from_millis(const int64_t *from, int64_t *out, size_t i, size_t count)
{
    while (i < count && checked_mul_i64(from[i], 1000, &out[i])) {
        i++;
    }
    return i;
}

static size_t from_millis_i32(const int32_t *from, int64_t *out, size_t i, size_t count)
{
    for (; i < count; i++) {
        out[i] = (int64_t)from[i] * 1000;
    }
    return i;
}

/* Rounds down, towards the past. */
static int64_t micros_of(int64_t nanos)
{
    return nanos / 1000 - (nanos % 1000 < 0);
}

static size_t from_nanos(const int64_t *from, bool round, int64_t *out, size_t i, size_t count)
{
    for (; i < count && (round || from[i] % 1000 == 0); i++) {
        out[i] = micros_of(from[i]);
    }
    return i;
}

struct int96 {
    int64_t nanos;
    int32_t julian_day;
};

static struct int96 load_int96(const uint8_t *from)
{
    struct int96 value;
    memcpy(&value.nanos, from, sizeof value.nanos);
    memcpy(&value.julian_day, from + sizeof value.nanos, sizeof value.julian_day);
    return value;
}

/* A negative number of nanoseconds is no time of day: Spark writes it where its own sum has wrapped around 64 bits (far
 * future), and reads it back by wrapping around again. */
static bool micros_of_int96(struct int96 value, int64_t *out)
{
    int64_t day = (int64_t)value.julian_day - JULIAN_DAY_OF_1970, in_day = micros_of(value.nanos), day_us;
    if (checked_mul_i64(day, CLOCK_DAY_US, &day_us) && checked_add_i64(day_us, in_day, out)) {
        return true;
    }
    *out = (int64_t)((uint64_t)day * (uint64_t)CLOCK_DAY_US + (uint64_t)in_day);
    return value.nanos < 0;
}

static size_t from_int96(const uint8_t *from, bool round, int64_t *out, size_t i, size_t count)
{
    for (; i < count; i++) {
        struct int96 value = load_int96(from + i * INT96_BYTES);
        if ((!round && value.nanos % 1000 != 0) || !micros_of_int96(value, &out[i])) {
            break;
        }
    }
    return i;
}

/* Exact: every binary16 is a float. */
static float float_of_half(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 0x1f, fraction = half & 0x3ff, bits;
    float value;
    if (exponent == 0) { /* zero, or below the normal ones: fraction * 2^-24 */
        value = (float)fraction * 0x1p-24F;
        memcpy(&bits, &value, sizeof bits);
    } else {
        uint32_t wide = exponent == 0x1f ? 0xff : exponent + 127 - 15;
        bits = wide << 23 | fraction << 13;
    }
    bits |= sign;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static size_t from_halves(const uint8_t *from, float *out, size_t i, size_t count)
{
    for (; i < count; i++) {
        uint16_t half;
        memcpy(&half, from + 2 * i, sizeof half);
        out[i] = float_of_half(half);
    }
    return i;
}

static const uint8_t *span_of(const struct physical_values *from, size_t i, size_t *out_length)
{
    *out_length = from->width > 0 ? from->width : from->lengths[i];
    return from->data + (from->width > 0 ? i * from->width : from->starts[i]);
}

/* Big-endian two's complement; false beyond 128 bits. No bytes are zero. */
static bool load_decimal(const uint8_t *bytes, size_t length, wide_integer *out)
{
    uint8_t sign = length > 0 && (bytes[0] & 0x80) != 0 ? 0xff : 0;
    __extension__ unsigned __int128 value = sign != 0 ? ~(unsigned __int128)0 : 0;
    for (; length > sizeof value && bytes[0] == sign && (bytes[1] & 0x80) == (sign & 0x80); length--) {
        bytes++; /* as many signs as you like */
    }
    for (size_t i = 0; i < length && length <= sizeof value; i++) {
        value = value << 8 | bytes[i];
    }
    *out = (wide_integer)value;
    return length <= sizeof value;
}

static size_t from_bytes_decimal(const struct physical_values *from, int64_t limit, int64_t *out, size_t i,
                                 size_t count)
{
    for (; i < count; i++) {
        size_t length;
        wide_integer value;
        const uint8_t *bytes = span_of(from, i, &length);
        if (!load_decimal(bytes, length, &value) || value >= limit || value <= -limit) {
            break;
        }
        out[i] = (int64_t)value;
    }
    return i;
}

size_t parquet_convert(const struct column_layout *layout, const struct physical_values *from, bool round_times,
                       void *out, size_t first, size_t count)
{
    const void *data = from->data;
    switch (layout->conversion) {
    case CONVERSION_I32_TO_I64: return from_i32(data, power_of_ten(layout->digits), out, first, count);
    case CONVERSION_U32_TO_I64: return from_u32(data, out, first, count);
    case CONVERSION_U64_TO_I64: return from_u64(data, out, first, count);
    case CONVERSION_I64_DECIMAL: return from_i64_decimal(data, power_of_ten(layout->digits), out, first, count);
    case CONVERSION_MILLIS: return from_millis(data, out, first, count);
    case CONVERSION_MILLIS_I32: return from_millis_i32(data, out, first, count);
    case CONVERSION_NANOS: return from_nanos(data, round_times, out, first, count);
    case CONVERSION_INT96: return from_int96(data, round_times, out, first, count);
    case CONVERSION_FLOAT16: return from_halves(data, out, first, count);
    case CONVERSION_BYTES_TO_DECIMAL: return from_bytes_decimal(from, power_of_ten(layout->digits), out, first, count);
    case CONVERSION_NONE:
    case CONVERSION_COUNT: break;
    }
    return count;
}

/* --- what went wrong ---------------------------------------------------------------------------------------------- */

static void format_decimal(const uint8_t *bytes, size_t length, char text[DECIMAL_TEXT_BYTES])
{
    wide_integer value;
    if (!load_decimal(bytes, length, &value)) {
        snprintf(text, DECIMAL_TEXT_BYTES, "a number of %zu bytes", length);
        return;
    }
    char digits[DECIMAL_TEXT_BYTES];
    bool negative = value < 0;
    size_t at = sizeof digits;
    digits[--at] = '\0';
    do {
        int digit = (int)(value % 10);
        digits[--at] = (char)('0' + (negative ? -digit : digit));
        value /= 10;
    } while (value != 0);
    snprintf(text, DECIMAL_TEXT_BYTES, "%s%s", negative ? "-" : "", digits + at);
}

char *parquet_convert_explain(const struct column_layout *layout, const struct physical_values *from, size_t i,
                              char text[CONVERT_TEXT_BYTES])
{
    static const char time_wanted[] = "a time in whole microseconds of 64 bits";
    char decimal[DECIMAL_TEXT_BYTES];
    size_t length;
    const uint8_t *bytes = span_of(from, i, &length);
    int64_t number = 0;
    memcpy(&number, bytes, length < sizeof number ? length : sizeof number);
    switch (layout->conversion) {
    case CONVERSION_U64_TO_I64:
        snprintf(text, CONVERT_TEXT_BYTES, "expected a number of at most 63 bits but found %" PRIu64, (uint64_t)number);
        return text;
    case CONVERSION_I32_TO_I64:
    case CONVERSION_I64_DECIMAL:
        number = length < sizeof number ? (int32_t)number : number;
        snprintf(text, CONVERT_TEXT_BYTES, "expected a decimal of at most %d digits but found %" PRId64 " unscaled",
                 layout->digits, number);
        return text;
    case CONVERSION_BYTES_TO_DECIMAL:
        format_decimal(bytes, length, decimal);
        snprintf(text, CONVERT_TEXT_BYTES, "expected a decimal of at most %d digits but found %s unscaled",
                 layout->digits, decimal);
        return text;
    case CONVERSION_INT96:
        snprintf(text, CONVERT_TEXT_BYTES, "expected %s but found %" PRId64 " ns of Julian day %" PRId32, time_wanted,
                 load_int96(bytes).nanos, load_int96(bytes).julian_day);
        return text;
    case CONVERSION_MILLIS:
    case CONVERSION_NANOS:
        snprintf(text, CONVERT_TEXT_BYTES, "expected %s but found %" PRId64 " %s", time_wanted, number,
                 layout->conversion == CONVERSION_NANOS ? "ns" : "ms");
        return text;
    case CONVERSION_NONE:
    case CONVERSION_U32_TO_I64:
    case CONVERSION_MILLIS_I32:
    case CONVERSION_FLOAT16:
    case CONVERSION_COUNT: break;
    }
    snprintf(text, CONVERT_TEXT_BYTES, "expected another value"); /* these always fit */
    return text;
}
