#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/cli.h"

static void every_command_says_what_it_does_and_how(void **state)
{
    (void)state;
    for (size_t i = 0; i < cli_group_count; i++) {
        for (size_t j = 0; j < cli_groups[i]->count; j++) {
            const struct cli_command *command = &cli_groups[i]->commands[j];
            assert_non_null(command->run);
            assert_int_equal(command->summary[strlen(command->summary) - 1], '.');
            assert_non_null(strstr(command->examples, command->name));
            assert_int_equal(command->examples[strlen(command->examples) - 1], '\n');
            assert_true(command->min_positions <= command->max_positions);
            assert_true(command->min_positions == 0 || *command->usage != '\0');
        }
    }
}

static void a_name_leads_to_its_command_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < cli_group_count; i++) {
        for (size_t j = 0; j < cli_groups[i]->count; j++) {
            const struct cli_command *command = &cli_groups[i]->commands[j];
            char first[64];
            const char *space = strchr(command->name, ' ');
            size_t length = space == NULL ? strlen(command->name) : (size_t)(space - command->name);
            size_t used = 0;

            snprintf(first, sizeof first, "%.*s", (int)length, command->name);
            const char *const words[] = {first, space == NULL ? "x" : space + 1, "y"};
            assert_ptr_equal(cli_command_find(3, words, &used), command);
            assert_int_equal(used, space == NULL ? 1 : 2);
        }
    }
}

static void what_is_no_command_gets_the_nearest_one(void **state)
{
    static const struct {
        const char *words[2];
        size_t count;
        const char *nearest;
    } cases[] = {
        {{"scna", "t"}, 2, "scan"},  {{"tabel", "show"}, 2, "table show"},   {{"hold", "ad"}, 2, "hold add"},
        {{"explian"}, 1, "explain"}, {{"dead", "replya"}, 2, "dead replay"}, {{"xyzzyplugh"}, 1, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t used = 77;
        const char *nearest = cli_command_nearest(cases[i].count, cases[i].words);

        assert_null(cli_command_find(cases[i].count, cases[i].words, &used));
        assert_int_equal(used, 77);
        if (cases[i].nearest == NULL) {
            assert_null(nearest);
        } else {
            assert_non_null(nearest);
            assert_string_equal(nearest, cases[i].nearest);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_says_what_it_does_and_how),
        cmocka_unit_test(a_name_leads_to_its_command_alone),
        cmocka_unit_test(what_is_no_command_gets_the_nearest_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
