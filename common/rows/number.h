/* Numbers written in decimal digits, as in JSON and predicates: scanned once, then made an integer, a decimal or a
 * double, exactly or not at all. Independent of the locale. */
#ifndef GRANARY_ROWS_NUMBER_H
#define GRANARY_ROWS_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

/* mantissa * 10^exponent, exactly so unless it was cut: more than 19 digits count. */
struct number {
    uint64_t mantissa;
    int32_t exponent;
    bool is_negative;
    bool is_cut;
};

enum number_fit { NUMBER_FITS, NUMBER_NEEDS_ROUNDING, NUMBER_OUT_OF_RANGE };

/* A number in the grammar of JSON (RFC 8259 section 6) that begins at `text`; the place behind it, or NULL when there is
 * none. It is read up to the first byte that cannot belong to it: there must be one. */
const uint8_t *number_scan(const uint8_t *text, struct number *out);

/* The same, also with a plus sign, leading zeros, or no digit on one side of the point: +007, .5, 5. */
const uint8_t *number_scan_loose(const uint8_t *text, struct number *out);

/* value * 10^scale as an integer with a magnitude of at most `limit` (one more when negative and limit is INT64_MAX). */
enum number_fit number_to_scaled(const struct number *number, int scale, uint64_t limit, int64_t *out);
/* The same, but what is behind the last place is dropped towards the smaller number: it never needs rounding. */
enum number_fit number_to_scaled_down(const struct number *number, int scale, uint64_t limit, int64_t *out);

uint64_t number_power_of_ten(unsigned exponent); /* at most 19 */

/* The nearest double or float, infinite where it is out of range; [text, end) is what was scanned. ERR_NO_MEMORY. */
MUST_CHECK enum err_code number_to_double(const struct number *number, const uint8_t *text, const uint8_t *end,
                                          double *out, struct error *err);
MUST_CHECK enum err_code number_to_float(const struct number *number, const uint8_t *text, const uint8_t *end,
                                         float *out, struct error *err);

#endif
