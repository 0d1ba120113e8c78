/* Clocks and civil time. Times are int64_t microseconds since 1970-01-01T00:00:00Z, proleptic Gregorian, no leap
 * seconds. The machine's clock is for log lines, ids and time-outs only: ages of catalog rows are judged by the
 * database's clock, ages of objects by the store's. */
#ifndef GRANARY_BASE_CLOCK_H
#define GRANARY_BASE_CLOCK_H

#include <stdint.h>

#include "common/base/error.h"

#define CLOCK_SECOND_US INT64_C(1000000)
#define CLOCK_MINUTE_US (60 * CLOCK_SECOND_US)
#define CLOCK_HOUR_US   (60 * CLOCK_MINUTE_US)
#define CLOCK_DAY_US    (24 * CLOCK_HOUR_US)

int64_t clock_now_us(void);       /* wall clock */
int64_t clock_monotonic_us(void); /* for time-outs; unrelated to the wall clock */
void clock_pause_us(int64_t us);  /* the thread waits that long, signals or not; 0 and less: not at all */

struct civil_time {
    int32_t year;  /* astronomical: 0 is 1 BC */
    uint8_t month; /* 1..12 */
    uint8_t day;   /* 1..31 */
    uint8_t hour, minute, second;
    uint32_t microsecond;
};

int64_t clock_days_from_civil(int64_t year, unsigned month, unsigned day); /* days since 1970-01-01; fields valid */
struct civil_time clock_civil_from_us(int64_t time_us);

enum { CLOCK_TEXT_BYTES = 40 };

/* "2026-11-30T01:02:03.000456Z": six digits always. Returns text. */
char *clock_format(int64_t time_us, char text[CLOCK_TEXT_BYTES]);
/* "2026-11-30" */
char *clock_format_date(int64_t time_us, char text[CLOCK_TEXT_BYTES]);

/* What is wrong with a text or fields that should be a time. */
enum clock_fault {
    CLOCK_FAULT_NONE,
    CLOCK_FAULT_FORM,   /* it does not look like one */
    CLOCK_FAULT_OFFSET, /* it has none, or the name of a zone instead */
    CLOCK_FAULT_DAY,    /* no such day or time of day */
    CLOCK_FAULT_LEAP,   /* a second 60 that is not behind 23:59 UTC */
    CLOCK_FAULT_YEAR,   /* not in 0001 to 9999, once in UTC */
    CLOCK_FAULT_COUNT
};
const char *clock_fault_expected(
    enum clock_fault fault); /* "a day and a time of day that exist": for texts of errors */

/* 0001-01-01T00:00:00Z and 9999-12-31T23:59:59.999999Z */
#define CLOCK_FIRST_US INT64_C(-62135596800000000)
#define CLOCK_LAST_US  INT64_C(253402300799999999)

/* Fields of any value, to be checked. A second 60 (a leap second) becomes the one that follows. *out_us is set only when
 * nothing is wrong. */
enum clock_fault clock_from_civil(const struct civil_time *civil, int64_t offset_us, int64_t *out_us);

/* RFC 3339: date, 'T' or space, time, up to nine fraction digits (rounded down to microseconds), 'Z' or +hh:mm. Also a
 * bare date (midnight UTC). ERR_INVALID names what is wrong. */
MUST_CHECK enum err_code clock_parse(const char *text, size_t length, int64_t *out_us, struct error *err);
/* The same; a time without an offset is UTC. For data, whose formats say so; not for what people type. */
enum clock_fault clock_scan(const char *text, size_t length, int64_t *out_us);

/* The parts of the above that other forms of time share. They return the place behind the part, or NULL.
 * One to nine digits; "Z", "+hh:mm" or "+hhmm". */
const char *clock_scan_fraction(const char *text, const char *end, uint32_t *out_us);
const char *clock_scan_offset(const char *text, const char *end, int64_t *out_us);

/* Durations: "30d", "12h", "5m", "5s", "200ms", "0", or "never" (CLOCK_NEVER). ERR_INVALID otherwise. */
#define CLOCK_NEVER INT64_MAX
MUST_CHECK enum err_code clock_parse_duration(const char *text, int64_t *out_us, struct error *err);
/* The shortest exact form of the above. Returns text. */
char *clock_format_duration(int64_t duration_us, char text[CLOCK_TEXT_BYTES]);

#endif
