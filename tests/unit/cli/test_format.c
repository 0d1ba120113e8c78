#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/format.h"
#include "common/base/clock.h"

static void counts_have_their_thousands_marked(void **state)
{
    static const struct {
        int64_t count;
        const char *text;
    } cases[] = {
        {0, "0"},          {999, "999"},
        {1000, "1,000"},   {1234567, "1,234,567"},
        {-1234, "-1,234"}, {INT64_MIN, "-9,223,372,036,854,775,808"},
    };
    char text[CLI_FORMAT_BYTES];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(cli_format_count(cases[i].count, text), cases[i].text);
    }
}

static void ages_show_their_two_largest_units(void **state)
{
    static const struct {
        int64_t us;
        const char *text;
    } cases[] = {
        {0, "0s"},
        {CLOCK_SECOND_US - 1, "0s"},
        {59 * CLOCK_SECOND_US, "59s"},
        {CLOCK_MINUTE_US, "1m"},
        {5 * CLOCK_MINUTE_US + 3 * CLOCK_SECOND_US, "5m 3s"},
        {4 * CLOCK_DAY_US + 2 * CLOCK_HOUR_US + CLOCK_MINUTE_US, "4d 2h"},
        {800 * CLOCK_DAY_US, "2y 70d"},
        {-5 * CLOCK_MINUTE_US, "in 5m"},
        {INT64_MIN, "in 292471y 76d"},
    };
    char text[CLI_FORMAT_BYTES];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(cli_format_age(cases[i].us, text), cases[i].text);
    }
}

static void times_lose_their_fraction_and_other_texts_stay(void **state)
{
    char text[CLI_FORMAT_BYTES];
    (void)state;
    assert_string_equal(cli_format_time("2026-11-30T01:02:03.000456Z", text), "2026-11-30 01:02:03");
    assert_string_equal(cli_format_time("2026-11-30T01:02:03+02:00", text), "2026-11-29 23:02:03");
    assert_string_equal(cli_format_time("soon", text), "soon");
}

static void nothing_tame_steers_a_terminal(void **state)
{
    static const struct {
        const char *text;
        const char *tame;
    } cases[] = {
        {"plain \xc3\xa4 \xe6\x97\xa5", "plain \xc3\xa4 \xe6\x97\xa5"},
        {"\x1b[31mred\x07", "?[31mred?"},
        {"two\nlines\t", "two?lines?"},
        {"\xc2\x9b"
         "31m",
         "?31m"}, /* the one-byte form of ESC [ */
        {"bad \xff end", "bad \xef\xbf\xbd end"},
        {"cut \xe6\x97", "cut \xef\xbf\xbd\xef\xbf\xbd"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO(buf_done) struct buf out = {0};
        assert_int_equal(cli_format_tame(cases[i].text, strlen(cases[i].text), &out, NULL), OK);
        assert_string_equal(buf_text(&out), cases[i].tame);
    }
}

static void wide_and_combining_characters_are_measured(void **state)
{
    static const struct {
        const char *text;
        size_t width;
    } cases[] = {
        {"", 0}, {"abc", 3}, {"\xc3\xa4", 1}, {"\xe6\x97\xa5\xe6\x9c\xac", 4}, {"e\xcc\x81", 1}, {"a\xff", 2},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(cli_format_width(cases[i].text, strlen(cases[i].text)), cases[i].width);
    }
}

static void base64_is_decoded(void **state)
{
    static const struct {
        const char *text;
        const char *bytes;
    } cases[] = {{"", ""},        {"Zg==", "f"},          {"Zm8=", "fo"},
                 {"Zm9v", "foo"}, {"Zm9vYmFy", "foobar"}, {"/+8=", "\xff\xef"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO(buf_done) struct buf out = {0};
        assert_int_equal(cli_format_from_base64(cases[i].text, &out, NULL), OK);
        assert_string_equal(buf_text(&out), cases[i].bytes);
    }
    AUTO(buf_done) struct buf out = {0};
    struct error err;
    assert_int_equal(cli_format_from_base64("Zm9v!", &out, &err), ERR_INVALID);
    assert_string_equal(err.text, "expected base64 but found \"!\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_have_their_thousands_marked),
        cmocka_unit_test(ages_show_their_two_largest_units),
        cmocka_unit_test(times_lose_their_fraction_and_other_texts_stay),
        cmocka_unit_test(nothing_tame_steers_a_terminal),
        cmocka_unit_test(wide_and_combining_characters_are_measured),
        cmocka_unit_test(base64_is_decoded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
