#include "cli/table_schema.h"

#include <errno.h>
#include <string.h>

#include "cli/file.h"
#include "common/base/buf.h"
#include "common/rows/schema.h"

enum { LONGEST_SCHEMA_BYTES = 1 << 20 };

/* One word of a list, and what stands behind its mark: the rest, or NULL at the end. */
static const char *cut(const char *text, char mark, size_t *out_length)
{
    const char *end = strchr(text, mark);
    *out_length = end == NULL ? strlen(text) : (size_t)(end - text);
    return end == NULL ? NULL : end + 1;
}

static bool is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

/* name:type[:notnull][:bloom][:format=...]; a format may hold colons itself and goes to the end. */
static enum err_code parse_column(struct cli *cli, const char *text, struct json **out, struct error *err)
{
    AUTO(json_free_auto) struct json *column = json_new_object();
    size_t length;
    const char *type = cut(text, ':', &length);

    if (column == NULL) {
        return err_no_memory(err, 0);
    }
    if (type == NULL) {
        return cli_usage(cli, err,
                         "expected NAME:TYPE behind --column but found \"%.64s\"; hint: --column at:timestamp", text);
    }
    TRY(json_set(column, "name", json_new_string(text, length), err));
    static const char format[] = "format=";
    const char *rest = cut(type, ':', &length);
    TRY(json_set(column, "type", json_new_string(type, length), err));
    while (rest != NULL) {
        const char *word = rest;
        rest = cut(word, ':', &length);
        if (strncmp(word, format, sizeof format - 1) == 0) {
            TRY(json_set_string(column, "format", word + sizeof format - 1, err));
            rest = NULL;
        } else if (is_word(word, length, "notnull")) {
            TRY(json_set_bool(column, "nullable", false, err));
        } else if (is_word(word, length, "bloom")) {
            TRY(json_set_bool(column, "bloom", true, err));
        } else {
            return cli_usage(cli, err, "expected notnull, bloom or format= in \"%.64s\" but found \"%.*s\"", text,
                             (int)length, word);
        }
    }
    *out = TAKE(column);
    return OK;
}

/* "a,-b,c:desc" */
static enum err_code parse_sort(const char *text, struct json **out, struct error *err)
{
    static const char descending[] = ":desc";
    AUTO(json_free_auto) struct json *sort = json_new_array();

    if (sort == NULL) {
        return err_no_memory(err, 0);
    }
    for (const char *rest = text; rest != NULL;) {
        AUTO(json_free_auto) struct json *key = json_new_object();
        const char *word = rest;
        size_t length;
        size_t ending = sizeof descending - 1;

        rest = cut(word, ',', &length);
        bool down = *word == '-';
        if (down) {
            word++;
            length--;
        } else if (length > ending && memcmp(word + length - ending, descending, ending) == 0) {
            down = true;
            length -= ending;
        }
        if (key == NULL) {
            return err_no_memory(err, 0);
        }
        TRY(json_set(key, "column", json_new_string(word, length), err));
        TRY(json_set_bool(key, "descending", down, err));
        TRY(json_append(sort, TAKE(key), err));
    }
    *out = TAKE(sort);
    return OK;
}

static enum err_code build(struct cli *cli, struct json **out, struct error *err)
{
    const char *timestamp = cli_flag_value(cli->arguments, "--timestamp");
    const char *sort_text = cli_flag_value(cli->arguments, "--sort");
    AUTO(json_free_auto) struct json *schema = json_new_object();
    AUTO(json_free_auto) struct json *columns = json_new_array();
    AUTO(json_free_auto) struct json *sort = NULL;
    const char *text;

    if (schema == NULL || columns == NULL) {
        return err_no_memory(err, 0);
    }
    for (size_t position = 0; (text = cli_flag_next(cli->arguments, "--column", &position)) != NULL;) {
        struct json *column = NULL;
        TRY(parse_column(cli, text, &column, err));
        TRY(json_append(columns, column, err));
    }
    if (json_length(columns) == 0 || timestamp == NULL) {
        return cli_usage(cli, err,
                         "expected --column and --timestamp, or --schema, but found %s; hint: granary table "
                         "create demo.events --column at:timestamp --column user:string --timestamp at",
                         timestamp == NULL ? "no --timestamp" : "no --column");
    }
    TRY(json_set_string(schema, "timestamp", timestamp, err));
    TRY(json_set(schema, "columns", TAKE(columns), err));
    if (sort_text != NULL) {
        TRY(parse_sort(sort_text, &sort, err));
        TRY(json_set(schema, "sort", TAKE(sort), err));
    }
    *out = TAKE(schema);
    return OK;
}

static enum err_code load(struct cli *cli, const char *path, struct json **out, struct error *err)
{
    AUTO(buf_done) struct buf text = {0};

    if (cli_flag_given(cli->arguments, "--column")) {
        return cli_usage(cli, err, "expected --schema or --column but found both");
    }
    TRY(cli_file_read(path, LONGEST_SCHEMA_BYTES, &text, err));
    if (json_parse((const char *)text.data, text.length_bytes, NULL, out, err) != OK) {
        return err_wrap(err, "could not read the schema in \"%.256s\"", path);
    }
    return OK;
}

enum err_code cli_table_schema(struct cli *cli, struct json **out, struct error *err)
{
    const char *path = cli_flag_value(cli->arguments, "--schema");
    AUTO(json_free_auto) struct json *json = NULL;
    AUTO(schema_free_auto) struct schema *checked = NULL;
    AUTO(buf_done) struct buf text = {0};
    const struct uuid nobody = {{0}};

    TRY(path != NULL ? load(cli, path, &json, err) : build(cli, &json, err));
    TRY(json_dump(json, JSON_STYLE_COMPACT, &text, err));
    if (schema_parse((const char *)text.data, text.length_bytes, &nobody, &checked, err) != OK) {
        return cli_usage(cli, err, "%s", err->text);
    }
    *out = TAKE(json);
    return OK;
}
