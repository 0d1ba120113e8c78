#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/output.h"

static const struct cli_column columns[] = {
    {"NAME", "name", CLI_TEXT},
    {"LOCK", "lock.kind", CLI_TEXT},
    {"ROWS", "rows", CLI_COUNT},
    {"STATE", "state", CLI_STATE},
};

/* What is printed while it stands in for standard output. */
struct capture {
    FILE *before;
    char *text;
    size_t length;
};

static void capture_begin(struct capture *capture)
{
    fflush(stdout);
    capture->before = stdout;
    stdout = open_memstream(&capture->text, &capture->length);
    assert_non_null(stdout);
}

static void capture_end(struct capture *capture)
{
    fclose(stdout);
    stdout = capture->before;
}

static struct json *parse(const char *text)
{
    struct json *json = NULL;
    assert_int_equal(json_parse(text, strlen(text), NULL, &json, NULL), OK);
    return json;
}

static void print(bool colour, const char *array_text, const char *expected)
{
    AUTO(json_free_auto) struct json *array = parse(array_text);
    const struct cli cli = {.colour = colour};
    struct capture capture;
    struct error err;

    capture_begin(&capture);
    enum err_code code = cli_print_array(&cli, array, columns, CLI_LENGTH(columns), "nothing", &err);
    capture_end(&capture);
    assert_int_equal(code, OK);
    assert_string_equal(capture.text, expected);
    free(capture.text);
}

static void columns_are_aligned_by_what_is_seen(void **state)
{
    (void)state;
    print(false,
          "[{\"name\":\"a\",\"lock\":{\"kind\":\"merge\"},\"rows\":1234,\"state\":\"active\"},"
          "{\"name\":\"\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\",\"lock\":null,\"rows\":5,\"state\":\"parked\"}]",
          "NAME    LOCK    ROWS  STATE\n"
          "a       merge  1,234  active\n"
          "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e  -          5  parked\n");
}

static void an_empty_table_is_said_to_be_empty(void **state)
{
    (void)state;
    print(false, "[]", "nothing\n");
}

static void states_are_coloured_only_where_colours_are_wanted(void **state)
{
    (void)state;
    print(true, "[{\"name\":\"a\",\"state\":\"decay_reaping\"}]",
          "\x1b[1mNAME\x1b[0m  \x1b[1mLOCK\x1b[0m  \x1b[1mROWS\x1b[0m  \x1b[1mSTATE\x1b[0m\n"
          "a     -        -  \x1b[31mdecay_reaping\x1b[0m\n");
}

static void what_others_sent_cannot_steer_the_terminal(void **state)
{
    (void)state;
    print(false, "[{\"name\":\"\\u001b[2J\",\"state\":\"x\\ny\"}]",
          "NAME  LOCK  ROWS  STATE\n"
          "?[2J  -        -  x?y\n");
}

static void long_lists_go_on_with_the_first_widths(void **state)
{
    AUTO(cli_grid_free_auto) struct cli_grid *grid = NULL;
    AUTO(json_free_auto) struct json *row = parse("{\"name\":\"abcdef\",\"rows\":1,\"state\":\"active\"}");
    const struct cli cli = {0};
    struct capture capture;
    size_t lines = 0;
    (void)state;

    capture_begin(&capture);
    enum err_code code = cli_grid_new(&cli, columns, CLI_LENGTH(columns), &grid, NULL);
    for (int i = 0; code == OK && i < 2500; i++) {
        code = cli_grid_add(grid, row, NULL);
    }
    if (code == OK) {
        cli_grid_print(grid, NULL);
    }
    capture_end(&capture);
    assert_int_equal(code, OK);
    for (const char *at = capture.text; (at = strchr(at, '\n')) != NULL; at++) {
        lines++;
    }
    assert_int_equal(lines, 2501);
    free(capture.text);
}

static void fields_leave_out_what_is_absent_or_empty(void **state)
{
    AUTO(json_free_auto) struct json *json = parse("{\"name\":\"x\",\"lock\":null,\"rows\":[],\"state\":\"active\"}");
    const struct cli cli = {0};
    struct capture capture;
    (void)state;

    capture_begin(&capture);
    enum err_code code = cli_print_fields(&cli, json, columns, CLI_LENGTH(columns), NULL);
    capture_end(&capture);
    assert_int_equal(code, OK);
    assert_string_equal(capture.text, "NAME   x\nSTATE  active\n");
    free(capture.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_aligned_by_what_is_seen),
        cmocka_unit_test(an_empty_table_is_said_to_be_empty),
        cmocka_unit_test(states_are_coloured_only_where_colours_are_wanted),
        cmocka_unit_test(what_others_sent_cannot_steer_the_terminal),
        cmocka_unit_test(long_lists_go_on_with_the_first_widths),
        cmocka_unit_test(fields_leave_out_what_is_absent_or_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
