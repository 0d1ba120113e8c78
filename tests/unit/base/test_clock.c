#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/clock.h"

static void times_that_parse(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *formatted;
    } cases[] = {
        {"1970-01-01", "1970-01-01T00:00:00.000000Z"},
        {"2026-11-30T01:02:03Z", "2026-11-30T01:02:03.000000Z"},
        {"2026-11-30 01:02:03.5+01:30", "2026-11-29T23:32:03.500000Z"},
        {"0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000Z"},
        {"9999-12-31T23:59:59.999999000Z", "9999-12-31T23:59:59.999999Z"},
        {"2000-02-29T12:00:00-23:59", "2000-03-01T11:59:00.000000Z"},
        {"1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999Z"},
        {"2026-01-01t00:00:00.123456789z", "2026-01-01T00:00:00.123456Z"},
        {"1969-12-31T23:59:59.9999999Z", "1969-12-31T23:59:59.999999Z"},
        {"2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000000Z"},
        {"2016-12-31T23:59:60.25Z", "2017-01-01T00:00:00.250000Z"},
        {"2017-01-01T08:59:60+09:00", "2017-01-01T00:00:00.000000Z"},
        {"2026-01-01T00:00:00.5-00:00", "2026-01-01T00:00:00.500000Z"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error err = {0};
        int64_t us;
        char text[CLOCK_TEXT_BYTES];
        assert_int_equal(clock_parse(cases[i].text, strlen(cases[i].text), &us, &err), OK);
        assert_string_equal(clock_format(us, text), cases[i].formatted);
    }
}

static void times_that_do_not(void **state)
{
    (void)state;
    static const char form[] = "expected a time such as \"2026-11-30T01:02:03.000456Z\" but found \"";
    static const char offset[] = "expected an offset such as Z or +01:00 ";
    static const char day[] = "expected a day and a time of day that exist but found \"";
    static const char leap[] = "expected second 60 only behind 23:59 UTC but found \"";
    static const char year[] = "expected a time in the years 0001 to 9999 but found \"";
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {"", form},
        {"2026", form},
        {"x026-01-01", form},
        {"2026-01-01T00:00:00.Z", form},
        {"2026-01-01T00:00:00.1234567890Z", form},
        {"2026-01-01T00:00:00Zx", offset},
        {"2026-01-01T00:00:00+0100", form},
        {"2026-01-01T00:00:00+24:00", form},
        {"2026-01-01T00:00:00+1", form},
        {"2026-01-01T00:00:00+1:", form},
        {"2026-01-01T00:00Z", form},
        {"2026-1-1", form},
        {"2026-01-01T", form},
        {"2026-01-01T00:00:00", offset},
        {"2026-01-01 00:00:00 CET", offset},
        {"2026-01-01 00:00:00 Europe/Berlin", offset},
        {"2026-01-01T00:00:00EST", offset},
        {"2026-13-01", day},
        {"2026-00-01", day},
        {"2026-01-00", day},
        {"2026-02-29", day},
        {"1900-02-29", day},
        {"2026-04-31", day},
        {"2026-01-01T24:00:00Z", day},
        {"2026-01-01T00:60:00Z", day},
        {"2026-01-01T00:00:61Z", day},
        {"2026-01-01T00:00:60Z", leap},
        {"2016-12-31T23:59:60+01:00", leap},
        {"2016-12-31T22:59:60Z", leap},
        {"0000-12-31", year},
        {"0001-01-01T00:00:00+00:01", year},
        {"9999-12-31T23:59:60Z", year},
        {"9999-12-31T23:59:59-00:01", year},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error err = {0};
        int64_t us = 42;
        assert_int_equal(clock_parse(cases[i].text, strlen(cases[i].text), &us, &err), ERR_INVALID);
        assert_int_equal(us, 42);
        assert_non_null(strstr(err.text, cases[i].text));
        if (strncmp(err.text, cases[i].reason, strlen(cases[i].reason)) != 0) {
            fail_msg("%s", err.text);
        }
    }
}

static void data_may_leave_the_offset_out(void **state)
{
    (void)state;
    static const char *const cases[] = {"2026-11-30T01:02:03.5", "2026-11-30 01:02:03.5", "2026-11-30 01:02:03.5Z"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t us = 0;
        assert_int_equal(clock_scan(cases[i], strlen(cases[i]), &us), CLOCK_FAULT_NONE);
        assert_int_equal(us, INT64_C(1796000523500000));
    }
    int64_t us = 42;
    assert_int_equal(clock_scan("2026-11-30 01:02:03 PST", 23, &us), CLOCK_FAULT_OFFSET);
    assert_int_equal(us, 42);
}

static void durations_round_trip(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t us;
        const char *formatted;
    } cases[] = {{"30d", 30 * CLOCK_DAY_US, "30d"},    {"24h", CLOCK_DAY_US, "1d"},
                 {"90s", 90 * CLOCK_SECOND_US, "90s"}, {"0", 0, "0s"},
                 {"200ms", 200000, "200ms"},           {"never", CLOCK_NEVER, "never"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error err = {0};
        int64_t us;
        char text[CLOCK_TEXT_BYTES];
        assert_int_equal(clock_parse_duration(cases[i].text, &us, &err), OK);
        assert_int_equal(us, cases[i].us);
        assert_string_equal(clock_format_duration(us, text), cases[i].formatted);
    }
    static const char *const bad[] = {"", "d", "1", "-1d", "1.5h", "1w", "99999999999999999d", "Never"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int64_t us = 42;
        assert_int_equal(clock_parse_duration(bad[i], &us, NULL), ERR_INVALID);
        assert_int_equal(us, 42);
    }
}

static void a_pause_is_not_over_before_its_time(void **state)
{
    (void)state;
    int64_t start_us = clock_monotonic_us();
    clock_pause_us(-CLOCK_SECOND_US);
    clock_pause_us(0);
    clock_pause_us(2000);
    assert_true(clock_monotonic_us() - start_us >= 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pause_is_not_over_before_its_time),
        cmocka_unit_test(times_that_parse),
        cmocka_unit_test(times_that_do_not),
        cmocka_unit_test(data_may_leave_the_offset_out),
        cmocka_unit_test(durations_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
