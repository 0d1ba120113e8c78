#include "common/base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/checked.h"

enum err_code text_parse_i64(const char *text, int64_t min, int64_t max, const char *what, int64_t *out,
                             struct error *err)
{
    char *end = NULL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    bool digits = *text == '-' ? text[1] >= '0' && text[1] <= '9' : *text >= '0' && *text <= '9';
    if (!digits || *end != '\0' || errno != 0 || value < min || value > max) {
        return err_set(err, ERR_INVALID, "expected %s from %lld to %lld but found \"%.64s\"", what, (long long)min,
                       (long long)max, text);
    }
    *out = value;
    return OK;
}

enum err_code text_parse_bytes(const char *text, int64_t *out_bytes, struct error *err)
{
    static const struct {
        const char *name;
        int64_t bytes;
    } units[] = {{"", 1}, {"B", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", INT64_C(1) << 40}};
    int64_t value = 0;
    const char *at = text;
    bool fits = *at >= '0' && *at <= '9';
    for (; fits && *at >= '0' && *at <= '9'; at++) {
        fits = checked_mul_i64(value, 10, &value) && checked_add_i64(value, *at - '0', &value);
    }
    for (size_t i = 0; fits && i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(at, units[i].name) == 0 && checked_mul_i64(value, units[i].bytes, &value)) {
            *out_bytes = value;
            return OK;
        }
    }
    return err_set(err, ERR_INVALID, "expected a size such as \"64MiB\" but found \"%.64s\"", text);
}

char *text_format_bytes(int64_t bytes, char text[TEXT_SIZE_BYTES])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024 && unit + 1 < sizeof units / sizeof units[0]) {
        value /= 1024;
        unit++;
    }
    (void)snprintf(text, TEXT_SIZE_BYTES, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
    return text;
}

/* Length of the sequence at `at`, or 0. Unicode 15, table 3-7. */
static size_t utf8_sequence(const unsigned char *at, size_t left)
{
    unsigned char lead = at[0];
    if (lead < 0x80) {
        return 1;
    }
    size_t length = lead >= 0xc2 && lead <= 0xdf ? 2 : (lead & 0xf0) == 0xe0 ? 3 : lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
    if (length == 0 || length > left) {
        return 0;
    }
    unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (at[1] < low || at[1] > high) {
        return 0;
    }
    for (size_t i = 2; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return length;
}

size_t text_utf8_valid_prefix(const char *text, size_t length)
{
    size_t at = 0;
    while (at < length) {
        uint64_t word;
        while (length - at >= sizeof word) { /* eight ASCII bytes at a time */
            memcpy(&word, text + at, sizeof word);
            if ((word & UINT64_C(0x8080808080808080)) != 0) {
                break;
            }
            at += sizeof word;
        }
        if (at == length) {
            break;
        }
        size_t step = utf8_sequence((const unsigned char *)text + at, length - at);
        if (step == 0) {
            break;
        }
        at += step;
    }
    return at;
}

bool text_is_identifier(const char *text, size_t length)
{
    if (length == 0 || length > 63 || (text[0] >= '0' && text[0] <= '9')) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_')) {
            return false;
        }
    }
    return true;
}

void text_hex_encode(const void *data, size_t length, char *out)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *bytes = data;
    for (size_t i = 0; i < length; i++) {
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 15];
    }
    *out = '\0';
}

bool text_hex_decode(const char *text, size_t text_length, void *out, size_t out_length)
{
    if (text_length != 2 * out_length) {
        return false;
    }
    unsigned char *bytes = out;
    for (size_t i = 0; i < text_length; i++) {
        char c = text[i];
        char lower = (char)(c | 0x20);
        int value = c >= '0' && c <= '9' ? c - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
        if (value < 0) {
            return false;
        }
        bytes[i / 2] = (unsigned char)(i % 2 == 0 ? (unsigned)value << 4 : bytes[i / 2] | (unsigned)value);
    }
    return true;
}

size_t text_distance(const char *a, const char *b)
{
    size_t row[TEXT_DISTANCE_MAX + 1];
    size_t length = strlen(b);
    if (strlen(a) > TEXT_DISTANCE_MAX || length > TEXT_DISTANCE_MAX) {
        return TEXT_DISTANCE_MAX;
    }
    for (size_t j = 0; j <= length; j++) {
        row[j] = j;
    }
    for (size_t i = 0; a[i] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < length; j++) {
            size_t replaced = diagonal + (a[i] != b[j]);
            size_t either = (row[j] < row[j + 1] ? row[j] : row[j + 1]) + 1;
            diagonal = row[j + 1];
            row[j + 1] = replaced < either ? replaced : either;
        }
    }
    return row[length];
}
