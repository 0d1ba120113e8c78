#include "cli/format.h"

#include <inttypes.h>
#include <locale.h>
#include <pthread.h>
#include <string.h>
#include <wchar.h>

#include "common/base/clock.h"
#include "common/base/text.h"

#define YEAR_US (365 * CLOCK_DAY_US)

char *cli_format_count(int64_t count, char text[CLI_FORMAT_BYTES])
{
    char digits[24];
    uint64_t magnitude = count < 0 ? -(uint64_t)count : (uint64_t)count;
    int length = snprintf(digits, sizeof digits, "%" PRIu64, magnitude);
    char *at = text;

    if (count < 0) {
        *at++ = '-';
    }
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) {
            *at++ = ',';
        }
        *at++ = digits[i];
    }
    *at = '\0';
    return text;
}

char *cli_format_age(int64_t age_us, char text[CLI_FORMAT_BYTES])
{
    static const struct {
        int64_t us;
        char name;
    } units[] = {
        {YEAR_US, 'y'}, {CLOCK_DAY_US, 'd'}, {CLOCK_HOUR_US, 'h'}, {CLOCK_MINUTE_US, 'm'}, {CLOCK_SECOND_US, 's'}};
    enum { UNITS = sizeof units / sizeof *units };
    const char *sign = age_us < 0 ? "in " : "";
    int64_t left_us = age_us == INT64_MIN ? INT64_MAX : age_us < 0 ? -age_us : age_us;
    size_t first = 0;

    while (first < UNITS - 1 && left_us < units[first].us) {
        first++;
    }
    long long large = left_us / units[first].us;
    long long small = first + 1 < UNITS ? left_us % units[first].us / units[first + 1].us : 0;
    if (small == 0) {
        (void)snprintf(text, CLI_FORMAT_BYTES, "%s%lld%c", sign, large, units[first].name);
    } else {
        (void)snprintf(text, CLI_FORMAT_BYTES, "%s%lld%c %lld%c", sign, large, units[first].name, small,
                       units[first + 1].name);
    }
    return text;
}

char *cli_format_time(const char *rfc3339, char text[CLI_FORMAT_BYTES])
{
    int64_t us;
    if (clock_parse(rfc3339, strlen(rfc3339), &us, NULL) != OK) {
        (void)snprintf(text, CLI_FORMAT_BYTES, "%s", rfc3339);
        return text;
    }
    struct civil_time civil = clock_civil_from_us(us);
    (void)snprintf(text, CLI_FORMAT_BYTES, "%04d-%02u-%02u %02u:%02u:%02u", (int)civil.year, (unsigned)civil.month,
                   (unsigned)civil.day, (unsigned)civil.hour, (unsigned)civil.minute, (unsigned)civil.second);
    return text;
}

enum err_code cli_format_tame(const char *text, size_t length, struct buf *out, struct error *err)
{
    static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */
    for (size_t i = 0; i < length;) {
        size_t valid = text_utf8_valid_prefix(text + i, length - i);
        for (size_t j = 0; j < valid; j++) {
            unsigned char c = (unsigned char)text[i + j];
            /* U+0080 to U+009F steer terminals too: the second byte behind 0xc2. */
            bool c1 = c >= 0x80 && c < 0xa0 && j > 0 && (unsigned char)text[i + j - 1] == 0xc2;
            if (c1) {
                out->length_bytes--;
            }
            TRY(buf_append_byte(out, c < 0x20 || c == 0x7f || c1 ? '?' : c, err));
        }
        i += valid;
        if (i < length) {
            TRY(buf_append(out, replacement, sizeof replacement - 1, err));
            i++;
        }
    }
    return OK;
}

void cli_put_tame(const char *text, FILE *out)
{
    for (;;) {
        AUTO(buf_done) struct buf line = {0};
        size_t length = strcspn(text, "\n");
        if (cli_format_tame(text, length, &line, NULL) == OK && line.length_bytes > 0) {
            (void)fwrite(line.data, 1, line.length_bytes, out);
        }
        if (text[length] == '\0') {
            return;
        }
        (void)fputc('\n', out);
        text += length + 1;
    }
}

enum err_code cli_format_from_base64(const char *text, struct buf *out, struct error *err)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = 0;
    unsigned count = 0;

    for (const char *at = text; *at != '\0' && *at != '='; at++) {
        const char *digit = strchr(digits, *at);
        if (digit == NULL) {
            return err_set(err, ERR_INVALID, "expected base64 but found \"%.16s\"", at);
        }
        bits = bits << 6 | (uint32_t)(digit - digits);
        count += 6;
        if (count >= 8) {
            count -= 8;
            TRY(buf_append_byte(out, (uint8_t)(bits >> count), err));
        }
    }
    return OK;
}

static pthread_once_t locale_once = PTHREAD_ONCE_INIT;

/* Texts are UTF-8 whatever the user's locale is. */
static void set_locale(void)
{
    (void)setlocale(LC_CTYPE, "C.UTF-8");
}

size_t cli_format_width(const char *text, size_t length)
{
    mbstate_t state = {0};
    size_t width = 0;

    (void)pthread_once(&locale_once, set_locale);
    for (size_t i = 0; i < length;) {
        wchar_t c;
        size_t bytes = mbrtowc(&c, text + i, length - i, &state);
        if (bytes == 0 || bytes > length - i) { /* not UTF-8: a place for each byte */
            state = (mbstate_t){0};
            bytes = 1;
            width++;
        } else {
            int columns = wcwidth(c);
            width += columns < 0 ? 1 : (size_t)columns;
        }
        i += bytes;
    }
    return width;
}
