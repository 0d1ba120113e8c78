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

/* RFC 3339: date, 'T' or space, time, up to nine fraction digits (beyond six must be zero), 'Z' or +hh:mm. Also a bare
 * date (midnight UTC). ERR_INVALID names what is wrong. */
MUST_CHECK enum err_code clock_parse(const char *text, size_t length, int64_t *out_us, struct error *err);

/* Durations: "30d", "12h", "5m", "5s", "200ms", "0", or "never" (CLOCK_NEVER). ERR_INVALID otherwise. */
#define CLOCK_NEVER INT64_MAX
MUST_CHECK enum err_code clock_parse_duration(const char *text, int64_t *out_us, struct error *err);
/* The shortest exact form of the above. Returns text. */
char *clock_format_duration(int64_t duration_us, char text[CLOCK_TEXT_BYTES]);

#endif
