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

void clock_pause_us(int64_t us)
{
    struct timespec left = {.tv_sec = us / CLOCK_SECOND_US, .tv_nsec = us % CLOCK_SECOND_US * 1000};
    while (us > 0 && nanosleep(&left, &left) != 0) {
    }
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

/* --- RFC 3339 ---------------------------------------------------------------------------------------------------- */

enum { DATE_BYTES = 10, TIME_BYTES = 8, MICROSECOND_DIGITS = 6, MOST_FRACTION_DIGITS = 9 };

static unsigned days_in_month(unsigned year, unsigned month)
{
    static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && leap ? 29 : days[month - 1];
}

enum clock_fault clock_from_civil(const struct civil_time *civil, int64_t offset_us, int64_t *out_us)
{
    if (civil->year < 1 || civil->year > 9999) {
        return CLOCK_FAULT_YEAR;
    }
    if (civil->month < 1 || civil->month > 12 || civil->day < 1 ||
        civil->day > days_in_month((unsigned)civil->year, civil->month) || civil->hour > 23 || civil->minute > 59 ||
        civil->second > 60) {
        return CLOCK_FAULT_DAY;
    }
    int64_t second_us = clock_days_from_civil(civil->year, civil->month, civil->day) * CLOCK_DAY_US +
                        civil->hour * CLOCK_HOUR_US + civil->minute * CLOCK_MINUTE_US +
                        civil->second * CLOCK_SECOND_US - offset_us;
    if (civil->second == 60 && second_us % CLOCK_DAY_US != 0) {
        return CLOCK_FAULT_LEAP;
    }
    if (second_us < CLOCK_FIRST_US || second_us > CLOCK_LAST_US) {
        return CLOCK_FAULT_YEAR;
    }
    *out_us = second_us + civil->microsecond;
    return CLOCK_FAULT_NONE;
}

/* Digits become numbers without a branch for each: what is no digit sets *bad. */
static inline unsigned two_digits(const char *p, unsigned *bad)
{
    unsigned high = (unsigned)(unsigned char)p[0] - '0';
    unsigned low = (unsigned)(unsigned char)p[1] - '0';
    *bad |= (unsigned)(high > 9) | (unsigned)(low > 9);
    return high * 10 + low;
}

static inline bool scan_date(const char *p, struct civil_time *out)
{
    unsigned bad = (unsigned)(p[4] != '-') | (unsigned)(p[7] != '-');
    out->year = (int32_t)(two_digits(p, &bad) * 100 + two_digits(p + 2, &bad));
    out->month = (uint8_t)two_digits(p + 5, &bad);
    out->day = (uint8_t)two_digits(p + 8, &bad);
    return bad == 0;
}

static inline bool scan_time(const char *p, struct civil_time *out)
{
    unsigned bad = (unsigned)(p[2] != ':') | (unsigned)(p[5] != ':');
    out->hour = (uint8_t)two_digits(p, &bad);
    out->minute = (uint8_t)two_digits(p + 3, &bad);
    out->second = (uint8_t)two_digits(p + 6, &bad);
    return bad == 0;
}

const char *clock_scan_fraction(const char *text, const char *end, uint32_t *out_us)
{
    uint32_t value = 0;
    const char *at = text;
    for (; at < end && (unsigned char)(*at - '0') <= 9; at++) {
        value = at - text < MICROSECOND_DIGITS ? value * 10 + (uint32_t)(*at - '0') : value;
    }
    for (ptrdiff_t i = at - text; i < MICROSECOND_DIGITS; i++) {
        value *= 10;
    }
    *out_us = value;
    return at > text && at - text <= MOST_FRACTION_DIGITS ? at : NULL;
}

const char *clock_scan_offset(const char *text, const char *end, int64_t *out_us)
{
    unsigned bad = 0;
    if (text < end && (*text == 'Z' || *text == 'z')) {
        *out_us = 0;
        return text + 1;
    }
    if (end - text < 5 || (*text != '+' && *text != '-')) {
        return NULL;
    }
    const char *minute = text[3] == ':' ? text + 4 : text + 3;
    if (end - minute < 2) {
        return NULL;
    }
    unsigned hours = two_digits(text + 1, &bad);
    unsigned minutes = two_digits(minute, &bad);
    if (bad != 0 || hours > 23 || minutes > 59) {
        return NULL;
    }
    int64_t offset_us = hours * CLOCK_HOUR_US + minutes * CLOCK_MINUTE_US;
    *out_us = *text == '-' ? -offset_us : offset_us;
    return minute + 2;
}

static bool is_letter(char c)
{
    return (unsigned char)((c | 0x20) - 'a') < 26;
}

/* What follows the seconds. */
static enum clock_fault scan_rest(const char *at, const char *end, bool needs_offset, struct civil_time *civil,
                                  int64_t *out_offset_us)
{
    if (at < end && *at == '.') {
        at = clock_scan_fraction(at + 1, end, &civil->microsecond);
        if (at == NULL) {
            return CLOCK_FAULT_FORM;
        }
    }
    if (at == end) {
        return needs_offset ? CLOCK_FAULT_OFFSET : CLOCK_FAULT_NONE;
    }
    const char *after = clock_scan_offset(at, end, out_offset_us);
    if (after == end) {
        return after - at == 5 ? CLOCK_FAULT_FORM : CLOCK_FAULT_NONE; /* +0100 is not RFC 3339 */
    }
    at += *at == ' ';
    return at < end && is_letter(*at) ? CLOCK_FAULT_OFFSET : CLOCK_FAULT_FORM;
}

static enum clock_fault scan(const char *text, size_t length, bool needs_offset, int64_t *out_us)
{
    struct civil_time civil = {0};
    int64_t offset_us = 0;
    if (length < DATE_BYTES || !scan_date(text, &civil)) {
        return CLOCK_FAULT_FORM;
    }
    if (length > DATE_BYTES) {
        const char *time = text + DATE_BYTES + 1;
        if (length < DATE_BYTES + 1 + TIME_BYTES || ((time[-1] | 0x20) != 't' && time[-1] != ' ') ||
            !scan_time(time, &civil)) {
            return CLOCK_FAULT_FORM;
        }
        enum clock_fault fault = scan_rest(time + TIME_BYTES, text + length, needs_offset, &civil, &offset_us);
        if (fault != CLOCK_FAULT_NONE) {
            return fault;
        }
    }
    return clock_from_civil(&civil, offset_us, out_us);
}

enum clock_fault clock_scan(const char *text, size_t length, int64_t *out_us)
{
    return scan(text, length, false, out_us);
}

const char *clock_fault_expected(enum clock_fault fault)
{
    switch (fault) {
    case CLOCK_FAULT_NONE:
    case CLOCK_FAULT_FORM: break;
    case CLOCK_FAULT_OFFSET:
        return "an offset such as Z or +01:00 (zone names mean different things to different people)";
    case CLOCK_FAULT_DAY: return "a day and a time of day that exist";
    case CLOCK_FAULT_LEAP: return "second 60 only behind 23:59 UTC";
    case CLOCK_FAULT_YEAR: return "a time in the years 0001 to 9999";
    case CLOCK_FAULT_COUNT: break;
    }
    return "a time such as \"2026-11-30T01:02:03.000456Z\"";
}

enum err_code clock_parse(const char *text, size_t length, int64_t *out_us, struct error *err)
{
    enum clock_fault fault = scan(text, length, true, out_us);
    return fault == CLOCK_FAULT_NONE ? OK
                                     : err_set(err, ERR_INVALID, "expected %s but found \"%.*s\"",
                                               clock_fault_expected(fault), (int)(length > 64 ? 64 : length), text);
}

/* --- durations --------------------------------------------------------------------------------------------------- */

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
