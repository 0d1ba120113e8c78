#include "common/rows/timestamp.h"

#include <stdio.h>
#include <string.h>

#include "common/rows/timestamp_pattern.h"

enum { US_DIGITS = 6 };

static const char pattern_prefix[] = "strftime:";

enum err_code timestamp_format_parse(const char *text, struct timestamp_format *out, struct error *err)
{
    static const struct {
        const char *name;
        enum timestamp_kind kind;
        int digits;
    } names[] = {{"rfc3339", TIMESTAMP_RFC3339, 0},
                 {"epoch_s", TIMESTAMP_EPOCH, 0},
                 {"epoch_ms", TIMESTAMP_EPOCH, 3},
                 {"epoch_us", TIMESTAMP_EPOCH, US_DIGITS},
                 {"epoch_ns", TIMESTAMP_EPOCH, 9}};
    if (text == NULL) {
        *out = (struct timestamp_format){.kind = TIMESTAMP_DEFAULT};
        return OK;
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(text, names[i].name) == 0) {
            *out = (struct timestamp_format){.kind = names[i].kind, .digits = names[i].digits};
            return OK;
        }
    }
    if (strncmp(text, pattern_prefix, sizeof pattern_prefix - 1) != 0 || strlen(text) >= TIMESTAMP_MAX_FORMAT_BYTES) {
        return err_set(
            err, ERR_INVALID,
            "expected a format (rfc3339, epoch_s, epoch_ms, epoch_us, epoch_ns, or strftime: and a pattern of "
            "less than %d bytes in all) but found \"%.80s\"",
            TIMESTAMP_MAX_FORMAT_BYTES, text);
    }
    const char *pattern = text + sizeof pattern_prefix - 1;
    TRY(timestamp_pattern_check(pattern, err));
    *out = (struct timestamp_format){.kind = TIMESTAMP_PATTERN, .pattern = pattern};
    return OK;
}

bool timestamp_format_has_time(const struct timestamp_format *format)
{
    return format->kind != TIMESTAMP_PATTERN || timestamp_pattern_has_time(format->pattern);
}

enum clock_fault timestamp_from_number(const struct timestamp_format *format, const struct number *number,
                                       int64_t *out_us)
{
    int64_t time_us;
    enum number_fit fit = NUMBER_FITS;
    switch (format->kind) {
    case TIMESTAMP_DEFAULT: fit = number_to_scaled(number, 0, INT64_MAX, &time_us); break;
    case TIMESTAMP_EPOCH: fit = number_to_scaled_down(number, US_DIGITS - format->digits, INT64_MAX, &time_us); break;
    case TIMESTAMP_RFC3339:
    case TIMESTAMP_PATTERN: return CLOCK_FAULT_FORM;
    }
    if (fit == NUMBER_NEEDS_ROUNDING) {
        return CLOCK_FAULT_FORM;
    }
    if (fit == NUMBER_OUT_OF_RANGE || time_us < CLOCK_FIRST_US || time_us > CLOCK_LAST_US) {
        return CLOCK_FAULT_YEAR;
    }
    *out_us = time_us;
    return CLOCK_FAULT_NONE;
}

enum clock_fault timestamp_parse(const struct timestamp_format *format, const char *text, size_t length,
                                 int64_t *out_us)
{
    struct number number;
    switch (format->kind) {
    case TIMESTAMP_DEFAULT:
    case TIMESTAMP_RFC3339: return clock_scan(text, length, out_us);
    case TIMESTAMP_PATTERN: return timestamp_pattern_parse(format->pattern, text, length, out_us);
    case TIMESTAMP_EPOCH: break;
    }
    if (length == 0 || number_scan((const uint8_t *)text, &number) != (const uint8_t *)text + length) {
        return CLOCK_FAULT_FORM;
    }
    return timestamp_from_number(format, &number, out_us);
}

const char *timestamp_expected(const struct timestamp_format *format, enum clock_fault fault,
                               char text[TIMESTAMP_EXPECTED_BYTES])
{
    static const char *const units[] = {
        [0] = "seconds", [3] = "milliseconds", [US_DIGITS] = "microseconds", [9] = "nanoseconds"};
    if (fault != CLOCK_FAULT_FORM) {
        return clock_fault_expected(fault);
    }
    switch (format->kind) {
    case TIMESTAMP_DEFAULT: return "a time in RFC 3339 or whole microseconds";
    case TIMESTAMP_RFC3339: return "a time in RFC 3339";
    case TIMESTAMP_EPOCH:
        (void)snprintf(text, TIMESTAMP_EXPECTED_BYTES, "a time in %s since 1970", units[format->digits]);
        break;
    case TIMESTAMP_PATTERN:
        (void)snprintf(text, TIMESTAMP_EXPECTED_BYTES, "a time such as the pattern %s says", format->pattern);
        break;
    }
    return text;
}
