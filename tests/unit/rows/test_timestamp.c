#include "common/rows/timestamp.h"

#include <inttypes.h>

#include "tests/unit/rows/fixture.h"

/* What a time should be, written in RFC 3339. */
static int64_t time_of(const char *text)
{
    int64_t us = 0;
    assert_int_equal(clock_parse(text, strlen(text), &us, NULL), OK);
    return us;
}

static enum clock_fault parse(const char *format_text, const char *text, int64_t *out_us)
{
    struct timestamp_format format;
    struct error err = {0};
    if (timestamp_format_parse(format_text, &format, &err) != OK) {
        fail_msg("%s", err.text);
    }
    return timestamp_parse(&format, text, strlen(text), out_us);
}

static void each_format_reads_what_it_says(void **state)
{
    (void)state;
    static const struct {
        const char *format, *text, *expected;
    } cases[] = {
        {NULL, "2026-11-30T01:02:03.123456789+01:00", "2026-11-30T00:02:03.123456Z"},
        {NULL, "2026-11-30 01:02:03.5", "2026-11-30T01:02:03.5Z"},
        {NULL, "2026-11-30", "2026-11-30"},
        {"rfc3339", "2026-11-30T01:02:03Z", "2026-11-30T01:02:03Z"},
        {"epoch_s", "1709204400", "2024-02-29T11:00:00Z"},
        {"epoch_s", "1709204400.1234567", "2024-02-29T11:00:00.123456Z"},
        {"epoch_s", "-0.0000001", "1969-12-31T23:59:59.999999Z"},
        {"epoch_s", "-62135596800", "0001-01-01T00:00:00Z"},
        {"epoch_s", "253402300799.9999999", "9999-12-31T23:59:59.999999Z"},
        {"epoch_s", "1.7092044e9", "2024-02-29T11:00:00Z"},
        {"epoch_ms", "1709204400001", "2024-02-29T11:00:00.001Z"},
        {"epoch_ms", "1709204400001.5", "2024-02-29T11:00:00.0015Z"},
        {"epoch_us", "1709204400000001", "2024-02-29T11:00:00.000001Z"},
        {"epoch_ns", "1709204400000000999", "2024-02-29T11:00:00Z"},
        {"epoch_ns", "-1", "1969-12-31T23:59:59.999999Z"},
        {"strftime:%Y-%m-%d %H:%M:%S", "2026-11-30 01:02:03", "2026-11-30T01:02:03Z"},
        {"strftime:%F %T.%f", "2026-11-30 01:02:03.5", "2026-11-30T01:02:03.5Z"},
        {"strftime:%FT%T%z", "2026-11-30T01:02:03+0130", "2026-11-29T23:32:03Z"},
        {"strftime:%FT%T%z", "2026-11-30T01:02:03-01:30", "2026-11-30T02:32:03Z"},
        {"strftime:%FT%T%z", "2026-11-30T01:02:03Z", "2026-11-30T01:02:03Z"},
        {"strftime:%F %T %Z", "2026-11-30 01:02:03 utc", "2026-11-30T01:02:03Z"},
        {"strftime:%F %T %Z", "2026-11-30 01:02:03 GMT", "2026-11-30T01:02:03Z"},
        {"strftime:%m/%d/%y %H:%M", "1/8/90 0:00", "1990-01-08"},
        {"strftime:%D", "01/08/68", "2068-01-08"},
        {"strftime:%D", "01/08/69", "1969-01-08"},
        {"strftime:%Y%m%d%H%M%S", "20240131235959", "2024-01-31T23:59:59Z"},
        {"strftime:%d/%b/%Y:%H:%M:%S %z", "10/oct/2000:13:55:36 -0700", "2000-10-10T20:55:36Z"},
        {"strftime:%e %B %Y, %I:%M %p", " 3 february 2024, 12:05 AM", "2024-02-03T00:05:00Z"},
        {"strftime:%B %e %Y %I %p", "May 13 2024 12 pm", "2024-05-13T12:00:00Z"},
        {"strftime:%b %d %Y", "Sep 9 2024", "2024-09-09"},
        {"strftime:%Y.%j", "2024.366", "2024-12-31"},
        {"strftime:%Y%j", "2024001", "2024-01-01"},
        {"strftime:%s", "-1", "1969-12-31T23:59:59Z"},
        {"strftime:%s.%f", "1709204400.25", "2024-02-29T11:00:00.25Z"},
        {"strftime:%d%t%m%n%Y%%", "1 \t2\n2024%", "2024-02-01"},
        {"strftime:%F %T", "2016-12-31 23:59:60", "2017-01-01"},
        {"strftime:[%Y]%m-%d", "[2024]2-3", "2024-02-03"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t us = 42;
        enum clock_fault fault = parse(cases[i].format, cases[i].text, &us);
        if (fault != CLOCK_FAULT_NONE || us != time_of(cases[i].expected)) {
            char text[CLOCK_TEXT_BYTES];
            fail_msg("%s of \"%s\": fault %d, %s", cases[i].format, cases[i].text, fault, clock_format(us, text));
        }
    }
}

static void what_a_format_does_not_say_is_a_fault(void **state)
{
    (void)state;
    static const struct {
        const char *format, *text;
        enum clock_fault fault;
    } cases[] = {
        {NULL, "1709204400", CLOCK_FAULT_FORM},
        {NULL, "", CLOCK_FAULT_FORM},
        {NULL, "2026-11-30 01:02:03 Europe/Berlin", CLOCK_FAULT_OFFSET},
        {"epoch_s", "", CLOCK_FAULT_FORM},
        {"epoch_s", "x", CLOCK_FAULT_FORM},
        {"epoch_s", "1x", CLOCK_FAULT_FORM},
        {"epoch_s", "2026-11-30T01:02:03Z", CLOCK_FAULT_FORM},
        {"epoch_s", "253402300800", CLOCK_FAULT_YEAR},
        {"epoch_s", "-62135596800.0000001", CLOCK_FAULT_YEAR},
        {"epoch_s", "1709204400000", CLOCK_FAULT_YEAR},
        {"epoch_s", "1e400", CLOCK_FAULT_YEAR},
        {"epoch_ns", "1e30", CLOCK_FAULT_YEAR},
        {"strftime:%F", "2026-11-30x", CLOCK_FAULT_FORM},
        {"strftime:%F", "2026-11-", CLOCK_FAULT_FORM},
        {"strftime:%F", "26-11-30", CLOCK_FAULT_FORM},
        {"strftime:%F", "", CLOCK_FAULT_FORM},
        {"strftime:%F", "2026-02-29", CLOCK_FAULT_DAY},
        {"strftime:%F", "2026-13-01", CLOCK_FAULT_DAY},
        {"strftime:%F", "0000-01-01", CLOCK_FAULT_YEAR},
        {"strftime:%F %H", "2026-01-01 24", CLOCK_FAULT_DAY},
        {"strftime:%F %I %p", "2026-01-01 13 PM", CLOCK_FAULT_FORM},
        {"strftime:%F %I %p", "2026-01-01 0 AM", CLOCK_FAULT_FORM},
        {"strftime:%Y%m%d", "2024111", CLOCK_FAULT_FORM},
        {"strftime:%Y.%j", "2023.366", CLOCK_FAULT_DAY},
        {"strftime:%Y.%j", "2023.0", CLOCK_FAULT_DAY},
        {"strftime:%Y.%j", "0000.1", CLOCK_FAULT_YEAR},
        {"strftime:%b %d %Y", "Sept 9 2024", CLOCK_FAULT_FORM},
        {"strftime:%B %d %Y", "Sep 9 2024", CLOCK_FAULT_FORM},
        {"strftime:%F %T %Z", "2026-11-30 01:02:03 CET", CLOCK_FAULT_OFFSET},
        {"strftime:%F %T %z", "2026-11-30 01:02:03 +25:00", CLOCK_FAULT_OFFSET},
        {"strftime:%F %T", "2016-12-31 22:59:60", CLOCK_FAULT_LEAP},
        {"strftime:%F %T.%f", "2016-12-31 22:59:59.", CLOCK_FAULT_FORM},
        {"strftime:%F %T.%f", "2016-12-31 22:59:59.1234567890", CLOCK_FAULT_FORM},
        {"strftime:%s", "253402300800", CLOCK_FAULT_YEAR},
        {"strftime:%s", "-", CLOCK_FAULT_FORM},
        {"strftime:%d%t%m %Y", "1 2  2024", CLOCK_FAULT_FORM},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t us = 42;
        enum clock_fault fault = parse(cases[i].format, cases[i].text, &us);
        if (fault != cases[i].fault || us != 42) {
            fail_msg("%s of \"%s\": fault %d, %" PRId64, cases[i].format, cases[i].text, fault, us);
        }
    }
}

static void formats_that_could_not_name_a_moment_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *format, *error;
    } cases[] = {
        {"", "expected a format (rfc3339, epoch_s"},
        {"%Y", "expected a format (rfc3339, epoch_s"},
        {"strftime:", "pattern \"\": expected a year with either month and day or day of the year (%j)"},
        {"strftime:%Y-%m", "pattern \"%Y-%m\": expected a year with either"},
        {"strftime:%m-%d", "pattern \"%m-%d\": expected a year with either"},
        {"strftime:%F %j", "pattern \"%F %j\": expected a year with either"},
        {"strftime:%F %y", "pattern \"%F %y\": expected each part of a time once but \"%y\" names one again"},
        {"strftime:%D%F", "pattern \"%D%F\": expected each part of a time once"},
        {"strftime:%F %I", "pattern \"%F %I\": expected hours as %H, or as %I with %p"},
        {"strftime:%F %H %p", "pattern \"%F %H %p\": expected hours as %H, or as %I with %p"},
        {"strftime:%F %M", "pattern \"%F %M\": expected no part of a time of day without the larger ones"},
        {"strftime:%F %H.%f", "pattern \"%F %H.%f\": expected no part of a time of day without the larger ones"},
        {"strftime:%F %z", "pattern \"%F %z\": expected no part of a time of day without the larger ones"},
        {"strftime:%F %T%f%Y", "pattern \"%F %T%f%Y\": expected no number right behind \"%f\""},
        {"strftime:%F %T%f0", "pattern \"%F %T%f0\": expected no number right behind \"%f\""},
        {"strftime:%s %F", "pattern \"%s %F\": expected nothing but %f beside %s"},
        {"strftime:%Y-%G", "pattern \"%Y-%G\": expected one of %Y %m %d"},
        {"strftime:%F %", "pattern \"%F %\": expected one of %Y %m %d"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct timestamp_format format = {.digits = 42};
        struct error err = {0};
        assert_int_equal(timestamp_format_parse(cases[i].format, &format, &err), ERR_INVALID);
        assert_int_equal(format.digits, 42);
        if (strncmp(err.text, cases[i].error, strlen(cases[i].error)) != 0) {
            fail_msg("%s: %s", cases[i].format, err.text);
        }
    }
}

static void expectations_name_the_format_or_the_fault(void **state)
{
    (void)state;
    static const struct {
        const char *format;
        enum clock_fault fault;
        const char *expected;
    } cases[] = {
        {NULL, CLOCK_FAULT_FORM, "a time in RFC 3339 or whole microseconds"},
        {"rfc3339", CLOCK_FAULT_FORM, "a time in RFC 3339"},
        {"epoch_ms", CLOCK_FAULT_FORM, "a time in milliseconds since 1970"},
        {"strftime:%F", CLOCK_FAULT_FORM, "a time such as the pattern %F says"},
        {"strftime:%F", CLOCK_FAULT_DAY, "a day and a time of day that exist"},
        {NULL, CLOCK_FAULT_YEAR, "a time in the years 0001 to 9999"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct timestamp_format format;
        char text[TIMESTAMP_EXPECTED_BYTES];
        assert_int_equal(timestamp_format_parse(cases[i].format, &format, NULL), OK);
        assert_string_equal(timestamp_expected(&format, cases[i].fault, text), cases[i].expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_format_reads_what_it_says),
        cmocka_unit_test(what_a_format_does_not_say_is_a_fault),
        cmocka_unit_test(formats_that_could_not_name_a_moment_are_refused),
        cmocka_unit_test(expectations_name_the_format_or_the_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
