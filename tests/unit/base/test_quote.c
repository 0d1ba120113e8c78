#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/quote.h"

#define CASE(input, output)                  \
    {                                        \
        (input), sizeof(input) - 1, (output) \
    }

static const struct {
    const char *input;
    size_t length;
    const char *output;
} cases[] = {
    CASE("", "\"\""),
    CASE("plain", "\"plain\""),
    CASE("a\"b\\c", "\"a\\\"b\\\\c\""),
    CASE("\n\r\t\x01\x1f\x7f", "\"\\n\\r\\t\\u0001\\u001f\\u007f\""),
    CASE("zero\0inside", "\"zero\\u0000inside\""),
    CASE("gr\xc3\xbc\xc3\x9f\xf0\x9f\x8c\xbe", "\"gr\xc3\xbc\xc3\x9f\xf0\x9f\x8c\xbe\""),
    CASE("\xff", "\"\\ufffd\""),
    CASE("a\xc3", "\"a\\ufffd\""),
    CASE("\xed\xa0\x80z", "\"\\ufffd\\ufffd\\ufffdz\""), /* a surrogate */
};

static void every_text_becomes_valid_json(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO(buf_done) struct buf out = {0};
        assert_int_equal(quote_json(cases[i].input, cases[i].length, &out, NULL), OK);
        assert_string_equal(buf_text(&out), cases[i].output);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_text_becomes_valid_json)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
