#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/base/uuid.h"

static void whole_numbers_are_read_to_their_end_and_within_bounds(void **state)
{
    (void)state;
    int64_t value = 42;
    struct error err = {0};
    assert_int_equal(text_parse_i64("-7", -10, 10, "a number", &value, &err), OK);
    assert_int_equal(value, -7);
    static const char *const bad[] = {"", "-", " 1", "1 ", "1x", "11", "-11", "99999999999999999999", "+1", "0x1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(text_parse_i64(bad[i], -10, 10, "a number", &value, &err), ERR_INVALID);
        assert_int_equal(value, -7);
        assert_non_null(strstr(err.text, "expected a number from -10 to 10"));
    }
}

static void sizes_have_binary_units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t bytes;
    } good[] = {{"0", 0}, {"123", 123}, {"8KiB", 8 << 10}, {"64MiB", 64 << 20}, {"2TiB", INT64_C(2) << 40}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        int64_t bytes = -1;
        assert_int_equal(text_parse_bytes(good[i].text, &bytes, NULL), OK);
        assert_int_equal(bytes, good[i].bytes);
    }
    static const char *const bad[] = {"", "MiB", "1MB", "-1", "1.5MiB", "9999999999TiB"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int64_t bytes = -1;
        assert_int_equal(text_parse_bytes(bad[i], &bytes, NULL), ERR_INVALID);
        assert_int_equal(bytes, -1);
    }
    char text[TEXT_SIZE_BYTES];
    assert_string_equal(text_format_bytes(1023, text), "1023 B");
    assert_string_equal(text_format_bytes(1536, text), "1.5 KiB");
}

static void utf8_is_valid_up_to_its_first_bad_byte(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t valid;
    } cases[] = {
        {"plain ascii, longer than eight", 30},
        {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8c\xbe", 14},
        {"a\xc0\x80", 1},         /* overlong */
        {"a\xed\xa0\x80", 1},     /* a surrogate */
        {"a\xf4\x90\x80\x80", 1}, /* beyond U+10FFFF */
        {"12345678\xff", 8},
        {"a\xe2\x82", 1}, /* cut off */
        {"a\x80", 1},
        {"", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(text_utf8_valid_prefix(cases[i].text, strlen(cases[i].text)), cases[i].valid);
    }
}

static void hex_goes_both_ways_and_refuses_the_rest(void **state)
{
    (void)state;
    const uint8_t bytes[] = {0x00, 0x7f, 0xab, 0xff};
    char text[9];
    uint8_t back[4] = {0};
    text_hex_encode(bytes, sizeof bytes, text);
    assert_string_equal(text, "007fabff");
    assert_true(text_hex_decode("007FabFF", 8, back, sizeof back));
    assert_memory_equal(back, bytes, sizeof bytes);
    assert_false(text_hex_decode("007fab", 6, back, sizeof back));
    assert_false(text_hex_decode("007fabfg", 8, back, sizeof back));
}

static void names_are_identifiers(void **state)
{
    (void)state;
    assert_true(text_is_identifier("_a9", 3));
    assert_false(text_is_identifier("9a", 2));
    assert_false(text_is_identifier("a.b", 3));
    assert_false(text_is_identifier("", 0));
    char longest[65];
    memset(longest, 'a', sizeof longest);
    assert_true(text_is_identifier(longest, 63));
    assert_false(text_is_identifier(longest, 64));
}

static void uuids_are_ordered_by_time_and_read_back(void **state)
{
    (void)state;
    struct uuid last = uuid_v7();
    for (int i = 0; i < 1000; i++) {
        struct uuid next = uuid_v7();
        assert_false(uuid_equal(&last, &next));
        assert_int_equal(next.bytes[6] >> 4, 7);
        assert_int_equal(next.bytes[8] >> 6, 2);
        assert_true(memcmp(last.bytes, next.bytes, 6) <= 0); /* the milliseconds */
        char text[UUID_TEXT_BYTES];
        struct uuid back;
        assert_int_equal(uuid_parse(uuid_format(&next, text), 36, &back, NULL), OK);
        assert_true(uuid_equal(&next, &back));
        last = next;
    }
    struct uuid untouched = last;
    struct error err = {0};
    static const char *const bad[] = {"", "01932b8e-0000-7000-8000-00000000000", "01932b8e-0000-7000-8000-00000000000g",
                                      "01932b8e00007000-8000-000000000000-00"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(uuid_parse(bad[i], strlen(bad[i]), &untouched, &err), ERR_INVALID);
        assert_true(uuid_equal(&untouched, &last));
    }
}

static void errors_are_wrapped_and_cut(void **state)
{
    (void)state;
    struct error err = {0};
    assert_int_equal(err_set(&err, ERR_TIMEOUT, "%d tries", 3), ERR_TIMEOUT);
    assert_int_equal(err_wrap(&err, "could not open \"%s\"", "x"), ERR_TIMEOUT);
    assert_string_equal(err.text, "could not open \"x\": 3 tries");
    err_set(&err, ERR_INVALID, "again: %s", err.text); /* its own text as an argument */
    assert_string_equal(err.text, "again: could not open \"x\": 3 tries");
    char longest[2 * ERROR_TEXT_BYTES];
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    err_set(&err, ERR_INVALID, "%s", longest);
    assert_int_equal(strlen(err.text), ERROR_TEXT_BYTES - 1);
    assert_string_equal(err.text + ERROR_TEXT_BYTES - 4, "...");
    for (enum err_code code = OK; code < ERR_COUNT; code++) {
        assert_string_not_equal(err_code_name(code), "invalid_code");
    }
}

static void the_distance_counts_changed_letters(void **state)
{
    static const struct {
        const char *a, *b;
        size_t distance;
    } cases[] = {
        {"", "", 0},         {"scan", "scan", 0}, {"scan", "scna", 2}, {"ls", "l", 1},
        {"show", "shwo", 2}, {"", "abc", 3},      {"abc", "", 3},      {"table", "cable", 1},
    };
    char endless[500];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(text_distance(cases[i].a, cases[i].b), cases[i].distance);
    }
    memset(endless, 'a', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    assert_true(text_distance(endless, "a") > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers_are_read_to_their_end_and_within_bounds),
        cmocka_unit_test(sizes_have_binary_units),
        cmocka_unit_test(utf8_is_valid_up_to_its_first_bad_byte),
        cmocka_unit_test(hex_goes_both_ways_and_refuses_the_rest),
        cmocka_unit_test(names_are_identifiers),
        cmocka_unit_test(the_distance_counts_changed_letters),
        cmocka_unit_test(uuids_are_ordered_by_time_and_read_back),
        cmocka_unit_test(errors_are_wrapped_and_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
