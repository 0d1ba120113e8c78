/* Times of any text in any format. The first byte chooses a format, or that a pattern stands before the first newline. What is
 * taken must be what the C library makes of it, and must come back from its RFC 3339. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/cleanup.h"
#include "common/rows/timestamp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whose parts the C library reads as we do. */
static const char *const formats[] = {
    NULL,
    "rfc3339",
    "epoch_s",
    "epoch_ms",
    "epoch_us",
    "epoch_ns",
    "strftime:%Y-%m-%d %H:%M:%S",
    "strftime:%d/%b/%Y:%H:%M:%S %z",
    "strftime:%m/%d/%y %I:%M %p",
    "strftime:%Y%m%d%H%M%S",
    "strftime:%e %B %Y",
    "strftime:%Y.%j %T",
};
enum { FORMAT_COUNT = sizeof formats / sizeof formats[0] };

static void check(bool is_right)
{
    if (!is_right) {
        abort();
    }
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static void check_pattern(const char *pattern, const char *text, int64_t time_us)
{
    struct tm parts = {0};
    check(strptime(text, pattern, &parts) != NULL);
    int64_t offset_s = parts.tm_gmtoff;
    check(timegm(&parts) - offset_s == floor_div(time_us, CLOCK_SECOND_US));
}

static void check_epoch(int digits, const char *text, size_t length, int64_t time_us)
{
    enum { LONGEST = 18 };
    int64_t per_us = 1;
    int64_t us_per = 1;
    if (length > LONGEST || strspn(text, "-0123456789") != length) {
        return;
    }
    for (int i = digits; i > 6; i--) {
        per_us *= 10;
    }
    for (int i = digits; i < 6; i++) {
        us_per *= 10;
    }
    check(time_us == floor_div(strtoll(text, NULL, 10), per_us) * us_per);
}

static void check_round_trip(int64_t time_us)
{
    char text[CLOCK_TEXT_BYTES];
    int64_t again;
    check(time_us >= CLOCK_FIRST_US && time_us <= CLOCK_LAST_US);
    (void)clock_format(time_us, text);
    check(clock_parse(text, strlen(text), &again, NULL) == OK && again == time_us);
}

static void parse(const struct timestamp_format *format, const char *text, size_t length, bool is_known)
{
    const int64_t untouched = 42;
    int64_t time_us = untouched;
    char expected[TIMESTAMP_EXPECTED_BYTES];
    enum clock_fault fault = timestamp_parse(format, text, length, &time_us);
    if (fault != CLOCK_FAULT_NONE) {
        check(time_us == untouched && strlen(timestamp_expected(format, fault, expected)) > 0);
        return;
    }
    check_round_trip(time_us);
    if (is_known && format->kind == TIMESTAMP_PATTERN && strlen(text) == length) {
        check_pattern(format->pattern, text, time_us);
    } else if (format->kind == TIMESTAMP_EPOCH) {
        check_epoch(format->digits, text, length, time_us);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct timestamp_format format;
    if (size < 1) {
        return 0;
    }
    AUTO(free_auto) char *text = malloc(size); /* no byte more than the text and a NUL is its parser's to read */
    check(text != NULL);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    char *newline = strchr(text, '\n');
    if (data[0] < 128 || newline == NULL) {
        check(timestamp_format_parse(formats[data[0] % FORMAT_COUNT], &format, NULL) == OK);
        parse(&format, text, size - 1, true);
        return 0;
    }
    *newline = '\0';
    if (timestamp_format_parse(text, &format, NULL) == OK) {
        parse(&format, newline + 1, size - 2 - (size_t)(newline - text), false);
    }
    return 0;
}
