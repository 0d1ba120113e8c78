#include "common/rows/number.h"

#include <inttypes.h>

#include "tests/unit/rows/fixture.h"

/* The bytes of the text that belong to the number; 0: there is none. */
static size_t scan(const char *text, bool is_loose, struct number *out)
{
    const uint8_t *start = (const uint8_t *)text;
    const uint8_t *end = is_loose ? number_scan_loose(start, out) : number_scan(start, out);
    return end == NULL ? 0 : (size_t)(end - start);
}

static void loose_numbers_are_those_that_people_write(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t strict_bytes, loose_bytes;
    } cases[] = {
        {"0", 1, 1},       {"-0", 2, 2},   {"10,", 2, 2},   {"1.5e3;", 5, 5}, {"007", 0, 3},
        {"-007.50", 0, 7}, {"+5", 0, 2},   {".5", 0, 2},    {"-.5", 0, 3},    {"5.", 0, 2},
        {"5.e1", 0, 4},    {".", 0, 0},    {"-", 0, 0},     {"+", 0, 0},      {"+-5", 0, 0},
        {"", 0, 0},        {"e5", 0, 0},   {"1e", 0, 0},    {"1e+", 0, 0},    {"1e-2", 4, 4},
        {"x", 0, 0},       {"0x10", 1, 1}, {"1 000", 1, 1}, {".e1", 0, 0},    {"00", 0, 2},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct number number;
        if (scan(cases[i].text, false, &number) != cases[i].strict_bytes ||
            scan(cases[i].text, true, &number) != cases[i].loose_bytes) {
            fail_msg("%s", cases[i].text);
        }
    }
}

static void scaled_numbers_are_exact_or_rounded_down(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int scale;
        uint64_t limit;
        enum number_fit fit, down_fit;
        int64_t value; /* rounded down */
    } cases[] = {
        {"12.34", 2, INT64_MAX, NUMBER_FITS, NUMBER_FITS, 1234},
        {"12.345", 2, INT64_MAX, NUMBER_NEEDS_ROUNDING, NUMBER_FITS, 1234},
        {"-12.345", 2, INT64_MAX, NUMBER_NEEDS_ROUNDING, NUMBER_FITS, -1235},
        {"-12.340", 2, INT64_MAX, NUMBER_FITS, NUMBER_FITS, -1234},
        {"1e-99999", 0, INT64_MAX, NUMBER_NEEDS_ROUNDING, NUMBER_FITS, 0},
        {"-1e-99999", 0, INT64_MAX, NUMBER_NEEDS_ROUNDING, NUMBER_FITS, -1},
        {"0e99999", 0, INT64_MAX, NUMBER_FITS, NUMBER_FITS, 0},
        {"-0.0", 3, INT64_MAX, NUMBER_FITS, NUMBER_FITS, 0},
        {"999", 0, 999, NUMBER_FITS, NUMBER_FITS, 999},
        {"1000", 0, 999, NUMBER_OUT_OF_RANGE, NUMBER_OUT_OF_RANGE, 0},
        {"-999.5", 0, 999, NUMBER_NEEDS_ROUNDING, NUMBER_OUT_OF_RANGE, 0},
        {"9223372036854775807", 0, INT64_MAX, NUMBER_FITS, NUMBER_FITS, INT64_MAX},
        {"-9223372036854775808", 0, INT64_MAX, NUMBER_FITS, NUMBER_FITS, INT64_MIN},
        {"9223372036854775808", 0, INT64_MAX, NUMBER_OUT_OF_RANGE, NUMBER_OUT_OF_RANGE, 0},
        {"1e19", 0, INT64_MAX, NUMBER_OUT_OF_RANGE, NUMBER_OUT_OF_RANGE, 0},
        {"123456789.000000000000000000001", 0, INT64_MAX, NUMBER_NEEDS_ROUNDING, NUMBER_FITS, 123456789},
        {"-123456789.000000000000000000001", 0, INT64_MAX, NUMBER_NEEDS_ROUNDING, NUMBER_FITS, -123456790},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct number number;
        int64_t exact = 42;
        int64_t down = 42;
        assert_int_equal(scan(cases[i].text, false, &number), strlen(cases[i].text));
        enum number_fit fit = number_to_scaled(&number, cases[i].scale, cases[i].limit, &exact);
        enum number_fit down_fit = number_to_scaled_down(&number, cases[i].scale, cases[i].limit, &down);
        if (fit != cases[i].fit || down_fit != cases[i].down_fit ||
            exact != (fit == NUMBER_FITS ? cases[i].value : 42) ||
            down != (down_fit == NUMBER_FITS ? cases[i].value : 42)) {
            fail_msg("%s: %d %" PRId64 ", %d %" PRId64, cases[i].text, fit, exact, down_fit, down);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loose_numbers_are_those_that_people_write),
        cmocka_unit_test(scaled_numbers_are_exact_or_rounded_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
