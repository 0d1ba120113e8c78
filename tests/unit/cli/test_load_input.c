#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/load.h"

static char folder[96];
static struct cli_arguments arguments;
static struct cli cli = {.arguments = &arguments};

static int setup(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    (void)snprintf(folder, sizeof folder, "%.60s/granary-load-XXXXXX", base == NULL ? P_tmpdir : base);
    cli.arena = arena_new(0);
    return mkdtemp(folder) == NULL || cli.arena == NULL ? -1 : 0;
}

static const char *path_of(const char *name)
{
    return arena_printf(cli.arena, "%s/%s", folder, name);
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static const struct {
    const char *name, *text;
    enum ingest_format format;
    enum ingest_compression compression;
    char delimiter;
} files[] = {
    {"a.ndjson", "{}\n", INGEST_NDJSON, INGEST_PLAIN, 0},    {"b.JSONL", "{}\n", INGEST_NDJSON, INGEST_PLAIN, 0},
    {"c.json", " [{}]", INGEST_JSON_ARRAY, INGEST_PLAIN, 0}, {"d.json", "\n {}\n{}", INGEST_NDJSON, INGEST_PLAIN, 0},
    {"e.json.gz", "{", INGEST_JSON_ARRAY, INGEST_GZIP, 0},   {"f.csv.zst", "", INGEST_CSV, INGEST_ZSTD, 0},
    {"g.tsv", "", INGEST_CSV, INGEST_PLAIN, '\t'},           {"h.parquet", "", INGEST_PARQUET, INGEST_PLAIN, 0},
};
enum { FILE_COUNT = sizeof files / sizeof files[0] };

static void the_suffix_tells_what_a_file_is_and_json_is_looked_into(void **state)
{
    (void)state;
    struct error err;
    struct load_input input;
    for (size_t i = 0; i < FILE_COUNT; i++) {
        write_file(files[i].name, files[i].text);
        assert_int_equal(load_input_describe(&cli, path_of(files[i].name), &input, NULL), OK);
        assert_int_equal(input.format, files[i].format);
        assert_int_equal(input.compression, files[i].compression);
        assert_int_equal(input.delimiter, files[i].delimiter);
        assert_int_equal(input.size_bytes, strlen(files[i].text));
    }
    assert_int_equal(load_input_describe(&cli, "-", &input, NULL), OK);
    assert_int_equal(input.format, INGEST_NDJSON);
    write_file("readme.txt", "");
    assert_int_equal(load_input_describe(&cli, path_of("readme.txt"), &input, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, "readme.txt"));
    assert_int_equal(load_input_describe(&cli, path_of("none.csv"), &input, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, "could not open"));
}

static void a_folder_holds_its_files_in_order_and_the_same_files_have_the_same_key(void **state)
{
    (void)state;
    AUTO(load_inputs_done) struct load_inputs inputs = {0};
    AUTO(load_inputs_done) struct load_inputs matched = {0};
    AUTO(load_inputs_done) struct load_inputs piped = {0};
    const char *keys[5];
    assert_int_equal(mkdir(path_of("deep"), 0700), 0);
    write_file("deep/z.csv", "a\n");
    write_file(".hidden.csv", "a\n");
    assert_int_equal(load_inputs_add(&cli, folder, &inputs, NULL), OK);
    assert_int_equal(inputs.count, FILE_COUNT + 1);
    for (size_t i = 0; i < FILE_COUNT; i++) {
        assert_string_equal(inputs.items[i < 4 ? i : i + 1].path, path_of(files[i].name));
    }
    assert_string_equal(inputs.items[4].path, path_of("deep/z.csv"));

    assert_int_equal(load_inputs_add(&cli, path_of("*.json"), &matched, NULL), OK);
    assert_int_equal(matched.count, 2);
    assert_int_equal(load_inputs_add(&cli, "-", &piped, NULL), OK);
    assert_int_equal(load_inputs_key(&cli, &inputs, &keys[0], NULL), OK);
    assert_int_equal(load_inputs_key(&cli, &inputs, &keys[1], NULL), OK);
    assert_int_equal(load_inputs_key(&cli, &matched, &keys[2], NULL), OK);
    assert_int_equal(load_inputs_key(&cli, &piped, &keys[3], NULL), OK);
    assert_int_equal(load_inputs_key(&cli, &piped, &keys[4], NULL), OK);
    assert_string_equal(keys[0], keys[1]);
    assert_string_not_equal(keys[0], keys[2]);
    assert_string_not_equal(keys[3], keys[4]);
}

static int teardown(void **state)
{
    (void)state;
    static const char *const others[] = {"deep/z.csv", ".hidden.csv", "readme.txt"};
    for (size_t i = 0; i < FILE_COUNT; i++) {
        (void)unlink(path_of(files[i].name));
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        (void)unlink(path_of(others[i]));
    }
    (void)rmdir(path_of("deep"));
    int result = rmdir(folder);
    arena_free(cli.arena);
    return result;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_suffix_tells_what_a_file_is_and_json_is_looked_into),
        cmocka_unit_test(a_folder_holds_its_files_in_order_and_the_same_files_have_the_same_key),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
