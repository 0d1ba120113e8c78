#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/arguments.h"

static const struct cli_flag flags[] = {
    {"--from", "TIME", "first timestamp"},
    {"--set", "NAME=VALUE", "a setting"},
    {"--wait", NULL, "until committed"},
};
enum { FLAGS = sizeof flags / sizeof *flags };

static enum err_code parse(struct arena *arena, size_t count, const char *const *words, struct cli_arguments *out,
                           struct error *err)
{
    char *copy[16];
    for (size_t i = 0; i < count; i++) {
        copy[i] = arena_strdup(arena, words[i]);
        assert_non_null(copy[i]);
    }
    return cli_arguments_parse(count, copy, flags, FLAGS, arena, out, err);
}

static void flags_and_positions_come_in_any_order(void **state)
{
    static const char *const words[] = {"--from", "-7d",   "table", "--set=a=b", "-",
                                        "--wait", "--set", "c=d",   "--",        "--x"};
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct cli_arguments arguments;
    struct error err;
    size_t position = 0;
    (void)state;

    assert_int_equal(parse(arena, sizeof words / sizeof *words, words, &arguments, &err), OK);
    assert_int_equal(arguments.position_count, 3);
    assert_string_equal(arguments.positions[0], "table");
    assert_string_equal(arguments.positions[1], "-");
    assert_string_equal(arguments.positions[2], "--x");
    assert_string_equal(cli_flag_value(&arguments, "--from"), "-7d");
    assert_true(cli_flag_given(&arguments, "--wait"));
    assert_string_equal(cli_flag_next(&arguments, "--set", &position), "a=b");
    assert_string_equal(cli_flag_next(&arguments, "--set", &position), "c=d");
    assert_null(cli_flag_next(&arguments, "--set", &position));
}

static void the_last_of_a_repeated_flag_counts(void **state)
{
    static const char *const words[] = {"--from", "a", "--from=b"};
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct cli_arguments arguments;
    struct error err;
    (void)state;

    assert_int_equal(parse(arena, 3, words, &arguments, &err), OK);
    assert_string_equal(cli_flag_value(&arguments, "--from"), "b");
    assert_null(cli_flag_value(&arguments, "--wait"));
}

static void global_flags_are_known_everywhere(void **state)
{
    static const char *const words[] = {"--output", "json", "-h"};
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct cli_arguments arguments;
    struct error err;
    (void)state;

    assert_int_equal(parse(arena, 3, words, &arguments, &err), OK);
    assert_string_equal(cli_flag_value(&arguments, "--output"), "json");
    assert_true(cli_flag_given(&arguments, "--help"));
}

static void wrong_flags_are_refused_and_outputs_stay(void **state)
{
    static const struct {
        const char *words[2];
        size_t count;
        const char *text;
    } cases[] = {
        {{"--form", "x"}, 2, "expected a flag of this command but found \"--form\"; hint: did you mean --from?"},
        {{"--outputs"}, 1, "expected a flag of this command but found \"--outputs\"; hint: did you mean --output?"},
        {{"--nothing-like-it"}, 1, "expected a flag of this command but found \"--nothing-like-it\""},
        {{"-x"}, 1, "expected a flag of this command but found \"-x\""},
        {{"--from"}, 1, "expected TIME behind --from but found nothing"},
        {{"--wait=yes"}, 1, "expected --wait without a value but found \"--wait=yes\""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO(arena_free_auto) struct arena *arena = arena_new(0);
        struct cli_arguments arguments = {.position_count = 77};
        struct error err = {0};

        assert_int_equal(parse(arena, cases[i].count, cases[i].words, &arguments, &err), ERR_INVALID);
        assert_string_equal(err.text, cases[i].text);
        assert_int_equal(arguments.position_count, 77);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flags_and_positions_come_in_any_order),
        cmocka_unit_test(the_last_of_a_repeated_flag_counts),
        cmocka_unit_test(global_flags_are_known_everywhere),
        cmocka_unit_test(wrong_flags_are_refused_and_outputs_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
