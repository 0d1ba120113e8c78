#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/table_schema.h"
#include "common/json/json.h"

static const struct cli_flag flags[] = {
    {"--column", "C", ""},
    {"--timestamp", "T", ""},
    {"--sort", "S", ""},
    {"--schema", "F", ""},
};

static enum err_code build(const char *const *words, int *out_exit, char **out_text, struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    AUTO(json_free_auto) struct json *schema = NULL;
    struct cli_arguments arguments;
    char *copy[16];
    size_t count = 0;

    for (; words[count] != NULL; count++) {
        copy[count] = arena_strdup(arena, words[count]);
    }
    assert_int_equal(cli_arguments_parse(count, copy, flags, sizeof flags / sizeof *flags, arena, &arguments, err), OK);
    struct cli cli = {.arguments = &arguments, .arena = arena};
    enum err_code code = cli_table_schema(&cli, &schema, err);
    *out_exit = cli.exit_code;
    if (code == OK) {
        assert_int_equal(json_dump_text(schema, JSON_STYLE_COMPACT, out_text, err), OK);
    } else {
        assert_null(schema);
    }
    return code;
}

static void flags_make_the_schema_of_the_api(void **state)
{
    static const char *const words[] = {"--column",    "at:timestamp:notnull:format=strftime:%F %H:%M:%S",
                                        "--column",    "user:string:notnull:bloom",
                                        "--column",    "cost:decimal(12,2)",
                                        "--timestamp", "at",
                                        "--sort",      "at,-user,cost:desc",
                                        NULL};
    AUTO(free_auto) char *text = NULL;
    struct error err;
    int exit_code;
    (void)state;

    assert_int_equal(build(words, &exit_code, &text, &err), OK);
    assert_string_equal(text, "{\"timestamp\":\"at\",\"columns\":[{\"name\":\"at\",\"type\":\"timestamp\","
                              "\"nullable\":false,\"format\":\"strftime:%F %H:%M:%S\"},"
                              "{\"name\":\"user\",\"type\":\"string\",\"nullable\":false,\"bloom\":true},"
                              "{\"name\":\"cost\",\"type\":\"decimal(12,2)\"}],"
                              "\"sort\":[{\"column\":\"at\",\"descending\":false},"
                              "{\"column\":\"user\",\"descending\":true},{\"column\":\"cost\",\"descending\":true}]}");
}

static void wrong_schemas_are_a_matter_of_usage(void **state)
{
    static const struct {
        const char *words[8];
        const char *part; /* of the text */
    } cases[] = {
        {{"--column", "at"}, "expected NAME:TYPE behind --column but found \"at\""},
        {{"--column", "at:timestamp:null", "--timestamp", "at"}, "expected notnull, bloom or format= in"},
        {{"--column", "at:timestamp"}, "but found no --timestamp"},
        {{"--timestamp", "at"}, "but found no --column"},
        {{"--column", "at:timestmp", "--timestamp", "at"}, "but found \"timestmp\""},
        {{"--column", "at:timestamp", "--timestamp", "ts"}, "ts"},
        {{"--column", "at:timestamp", "--schema", "x.json"}, "found both"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO(free_auto) char *text = NULL;
        struct error err = {0};
        int exit_code = 0;

        assert_int_equal(build(cases[i].words, &exit_code, &text, &err), ERR_INVALID);
        assert_int_equal(exit_code, CLI_USAGE);
        assert_non_null(strstr(err.text, cases[i].part));
    }
}

static void a_file_that_is_not_there_is_named(void **state)
{
    static const char *const words[] = {"--schema", "/nowhere/schema.json", NULL};
    AUTO(free_auto) char *text = NULL;
    struct error err = {0};
    int exit_code = 0;
    (void)state;
    assert_int_equal(build(words, &exit_code, &text, &err), ERR_INVALID);
    assert_string_equal(err.text, "could not open \"/nowhere/schema.json\": No such file or directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flags_make_the_schema_of_the_api),
        cmocka_unit_test(wrong_schemas_are_a_matter_of_usage),
        cmocka_unit_test(a_file_that_is_not_there_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
