#include "common/base/clock.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/base/checked.h"

static int64_t read_clock(clockid_t id)
{
    struct timespec now;
    (void)clock_gettime(id, &now); /* cannot fail for these ids */
    return (int64_t)now.tv_sec * CLOCK_SECOND_US + now.tv_nsec / 1000;
}

int64_t clock_now_us(void)
{
    return read_clock(CLOCK_REALTIME);
}

int64_t clock_monotonic_us(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

/* Both conversions count in eras of 400 years that begin on 1 March, so that the leap day is the last of its year. */
enum { DAYS_PER_ERA = 146097, EPOCH_SHIFT_DAYS = 719468 };

int64_t clock_days_from_civil(int64_t year, unsigned month, unsigned day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (int64_t)(month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * DAYS_PER_ERA + day_of_era - EPOCH_SHIFT_DAYS;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

struct civil_time clock_civil_from_us(int64_t time_us)
{
    int64_t days = floor_div(time_us, CLOCK_DAY_US);
    int64_t in_day_us = time_us - days * CLOCK_DAY_US;
    days += EPOCH_SHIFT_DAYS;
    int64_t era = floor_div(days, DAYS_PER_ERA);
    int64_t day_of_era = days - era * DAYS_PER_ERA;
    int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t shifted_month = (5 * day_of_year + 2) / 153;
    int64_t month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
    return (struct civil_time){
        .year = (int32_t)(year_of_era + era * 400 + (month <= 2)),
        .month = (uint8_t)month,
        .day = (uint8_t)(day_of_year - (153 * shifted_month + 2) / 5 + 1),
        .hour = (uint8_t)(in_day_us / CLOCK_HOUR_US),
        .minute = (uint8_t)(in_day_us / CLOCK_MINUTE_US % 60),
        .second = (uint8_t)(in_day_us / CLOCK_SECOND_US % 60),
        .microsecond = (uint32_t)(in_day_us % CLOCK_SECOND_US),
    };
}

char *clock_format(int64_t time_us, char text[CLOCK_TEXT_BYTES])
{
    struct civil_time t = clock_civil_from_us(time_us);
    (void)snprintf(text, CLOCK_TEXT_BYTES, "%04d-%02u-%02uT%02u:%02u:%02u.%06uZ", t.year, t.month, t.day, t.hour,
                   t.minute, t.second, t.microsecond);
    return text;
}

char *clock_format_date(int64_t time_us, char text[CLOCK_TEXT_BYTES])
{
    struct civil_time t = clock_civil_from_us(time_us);
    (void)snprintf(text, CLOCK_TEXT_BYTES, "%04d-%02u-%02u", t.year, t.month, t.day);
    return text;
}

struct cursor {
    const char *at;
    const char *end;
};

static bool take_digits(struct cursor *cursor, int count, unsigned *out)
{
    unsigned value = 0;
    if (cursor->end - cursor->at < count) {
        return false;
    }
    for (int i = 0; i < count; i++) {
        unsigned digit = (unsigned)(unsigned char)cursor->at[i] - '0';
        if (digit > 9) {
            return false;
        }
        value = value * 10 + digit;
    }
    cursor->at += count;
    *out = value;
    return true;
}

static bool take_char(struct cursor *cursor, char wanted)
{
    if (cursor->at == cursor->end || *cursor->at != wanted) {
        return false;
    }
    cursor->at++;
    return true;
}

static unsigned days_in_month(unsigned year, unsigned month)
{
    static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && leap ? 29 : days[month - 1];
}

/* Up to nine digits; only zeros may stand beyond microseconds, so that nothing is rounded silently. */
static bool take_fraction(struct cursor *cursor, unsigned *out_us)
{
    unsigned value = 0;
    int digits = 0;
    while (cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9') {
        if (digits < 6) {
            value = value * 10 + (unsigned)(*cursor->at - '0');
        } else if (*cursor->at != '0' || digits >= 9) {
            return false;
        }
        digits++;
        cursor->at++;
    }
    for (int i = digits; i < 6; i++) {
        value *= 10;
    }
    *out_us = value;
    return digits > 0;
}

static bool take_offset(struct cursor *cursor, int64_t *out_us)
{
    if (take_char(cursor, 'Z') || take_char(cursor, 'z')) {
        *out_us = 0;
        return true;
    }
    bool negative = cursor->at < cursor->end && *cursor->at == '-';
    unsigned hours;
    unsigned minutes;
    if (!(take_char(cursor, '+') || take_char(cursor, '-')) || !take_digits(cursor, 2, &hours) ||
        !take_char(cursor, ':') || !take_digits(cursor, 2, &minutes) || hours > 23 || minutes > 59) {
        return false;
    }
    int64_t offset_us = hours * CLOCK_HOUR_US + minutes * CLOCK_MINUTE_US;
    *out_us = negative ? -offset_us : offset_us;
    return true;
}

static bool parse_time(struct cursor *cursor, int64_t *out_us)
{
    unsigned hour;
    unsigned minute;
    unsigned second;
    unsigned fraction_us = 0;
    int64_t offset_us;
    if (!take_digits(cursor, 2, &hour) || !take_char(cursor, ':') || !take_digits(cursor, 2, &minute) ||
        !take_char(cursor, ':') || !take_digits(cursor, 2, &second) || hour > 23 || minute > 59 || second > 59) {
        return false;
    }
    if (take_char(cursor, '.') && !take_fraction(cursor, &fraction_us)) {
        return false;
    }
    if (!take_offset(cursor, &offset_us)) {
        return false;
    }
    *out_us = hour * CLOCK_HOUR_US + minute * CLOCK_MINUTE_US + second * CLOCK_SECOND_US + fraction_us - offset_us;
    return true;
}

enum err_code clock_parse(const char *text, size_t length, int64_t *out_us, struct error *err)
{
    struct cursor cursor = {text, text + length};
    unsigned year;
    unsigned month;
    unsigned day;
    int64_t in_day_us = 0;
    bool good = take_digits(&cursor, 4, &year) && take_char(&cursor, '-') && take_digits(&cursor, 2, &month) &&
                take_char(&cursor, '-') && take_digits(&cursor, 2, &day) && month >= 1 && month <= 12 && day >= 1 &&
                day <= days_in_month(year, month);
    if (good && cursor.at != cursor.end) {
        good = (take_char(&cursor, 'T') || take_char(&cursor, 't') || take_char(&cursor, ' ')) &&
               parse_time(&cursor, &in_day_us) && cursor.at == cursor.end;
    }
    if (!good) {
        return err_set(err, ERR_INVALID, "expected a time such as \"2026-11-30T01:02:03.000456Z\" but found \"%.*s\"",
                       (int)(length > 64 ? 64 : length), text);
    }
    *out_us = clock_days_from_civil(year, month, day) * CLOCK_DAY_US + in_day_us;
    return OK;
}

static const struct {
    const char *name;
    int64_t us;
} duration_units[] = {
    {"d", CLOCK_DAY_US}, {"h", CLOCK_HOUR_US}, {"m", CLOCK_MINUTE_US}, {"s", CLOCK_SECOND_US}, {"ms", 1000}, {"us", 1},
};
enum { DURATION_UNIT_COUNT = sizeof duration_units / sizeof duration_units[0] };

enum err_code clock_parse_duration(const char *text, int64_t *out_us, struct error *err)
{
    if (strcmp(text, "never") == 0) {
        *out_us = CLOCK_NEVER;
        return OK;
    }
    int64_t value = 0;
    const char *at = text;
    bool fits = *at >= '0' && *at <= '9';
    for (; fits && *at >= '0' && *at <= '9'; at++) {
        fits = checked_mul_i64(value, 10, &value) && checked_add_i64(value, *at - '0', &value);
    }
    if (fits && *at == '\0' && value == 0) {
        *out_us = 0;
        return OK;
    }
    for (size_t i = 0; fits && i < DURATION_UNIT_COUNT; i++) {
        if (strcmp(at, duration_units[i].name) == 0 && checked_mul_i64(value, duration_units[i].us, &value) &&
            value < CLOCK_NEVER) {
            *out_us = value;
            return OK;
        }
    }
    return err_set(
        err, ERR_INVALID,
        "expected a duration such as \"30d\", \"12h\", \"5m\", \"5s\", \"200ms\" or \"never\" but found \"%.64s\"",
        text);
}

char *clock_format_duration(int64_t duration_us, char text[CLOCK_TEXT_BYTES])
{
    if (duration_us == CLOCK_NEVER) {
        (void)snprintf(text, CLOCK_TEXT_BYTES, "never");
        return text;
    }
    size_t unit = 0;
    while (duration_us != 0 && duration_us % duration_units[unit].us != 0) {
        unit++;
    }
    (void)snprintf(text, CLOCK_TEXT_BYTES, "%lld%s", (long long)(duration_us / duration_units[unit].us),
                   duration_us == 0 ? "s" : duration_units[unit].name);
    return text;
}
