#include "cli/output.h"

#include <string.h>

#include "cli/format.h"
#include "common/base/clock.h"
#include "common/base/text.h"

static const struct {
    const char *start;
    const char *end;
} escapes[CLI_COLOUR_COUNT] = {
    [CLI_PLAIN] = {"", ""},
    [CLI_BOLD] = {"\x1b[1m", "\x1b[0m"},
    [CLI_DIM] = {"\x1b[2m", "\x1b[0m"},
    [CLI_GREEN] = {"\x1b[32m", "\x1b[0m"},
    [CLI_YELLOW] = {"\x1b[33m", "\x1b[0m"},
    [CLI_RED] = {"\x1b[31m", "\x1b[0m"},
    [CLI_CYAN] = {"\x1b[36m", "\x1b[0m"},
};

const char *cli_colour_start(const struct cli *cli, enum cli_colour colour)
{
    return cli->colour ? escapes[colour].start : "";
}

const char *cli_colour_end(const struct cli *cli, enum cli_colour colour)
{
    return cli->colour ? escapes[colour].end : "";
}

enum cli_colour cli_colour_of(const char *state)
{
    static const struct {
        const char *part; /* of the state's name; the first that fits counts */
        enum cli_colour colour;
    } colours[] = {
        {"reaping", CLI_RED},   {"inactive", CLI_DIM},   {"abandoned", CLI_DIM},   {"retired", CLI_DIM},
        {"staged", CLI_CYAN},   {"merging", CLI_YELLOW}, {"altering", CLI_YELLOW}, {"pinned", CLI_YELLOW},
        {"parked", CLI_YELLOW}, {"active", CLI_GREEN},   {"failed", CLI_RED},      {"invalid", CLI_RED},
    };
    for (size_t i = 0; i < CLI_LENGTH(colours); i++) {
        if (strstr(state, colours[i].part) != NULL) {
            return colours[i].colour;
        }
    }
    return CLI_PLAIN;
}

struct json *cli_member(struct json *item, const char *path)
{
    char name[64];
    for (const char *dot; item != NULL && (dot = strchr(path, '.')) != NULL; path = dot + 1) {
        (void)snprintf(name, sizeof name, "%.*s", (int)(dot - path), path);
        item = json_find(item, name);
    }
    return json_find(item, path);
}

static enum err_code format_text(const struct json *value, struct buf *out, struct error *err)
{
    size_t length;
    const char *text = json_as_text(value, &length);
    if (text != NULL) {
        return cli_format_tame(text, length, out, err);
    }
    AUTO(buf_done) struct buf json = {0};
    TRY(json_dump(value, JSON_STYLE_COMPACT, &json, err));
    return cli_format_tame((const char *)json.data, json.length_bytes, out, err);
}

static enum err_code format_age(const char *time, struct buf *out, struct error *err)
{
    char text[CLI_FORMAT_BYTES];
    int64_t us;
    if (clock_parse(time, strlen(time), &us, NULL) != OK) {
        return cli_format_tame(time, strlen(time), out, err);
    }
    return buf_append_text(out, cli_format_age(clock_now_us() - us, text), err);
}

enum err_code cli_format_value(struct json *item, const struct cli_column *column, struct buf *out, struct error *err)
{
    char text[CLI_FORMAT_BYTES];
    struct json *value = cli_member(item, column->member);
    enum json_kind kind = value == NULL ? JSON_KIND_NULL : json_kind(value);

    if (kind == JSON_KIND_NULL) {
        return buf_append_byte(out, '-', err);
    }
    switch (column->format) {
    case CLI_COUNT:
        return kind == JSON_KIND_INTEGER ? buf_append_text(out, cli_format_count(json_as_i64(value), text), err)
                                         : format_text(value, out, err);
    case CLI_SIZE:
        return kind == JSON_KIND_INTEGER ? buf_append_text(out, text_format_bytes(json_as_i64(value), text), err)
                                         : format_text(value, out, err);
    case CLI_TIME:
        return kind == JSON_KIND_STRING ? buf_append_text(out, cli_format_time(json_as_text(value, NULL), text), err)
                                        : format_text(value, out, err);
    case CLI_AGE:
        return kind == JSON_KIND_STRING ? format_age(json_as_text(value, NULL), out, err)
                                        : format_text(value, out, err);
    case CLI_TEXT:
    case CLI_STATE: return format_text(value, out, err);
    }
    return OK;
}

enum err_code cli_print_json(const struct json *json, struct error *err)
{
    AUTO(buf_done) struct buf text = {0};
    TRY(json_dump(json, JSON_STYLE_COMPACT, &text, err));
    (void)fwrite(text.data, 1, text.length_bytes, stdout);
    (void)fputc('\n', stdout);
    return OK;
}

enum err_code cli_print_fields(const struct cli *cli, struct json *json, const struct cli_column *columns, size_t count,
                               struct error *err)
{
    size_t widest = 0;
    for (size_t i = 0; i < count; i++) {
        size_t width = strlen(columns[i].title);
        widest = width > widest ? width : widest;
    }
    for (size_t i = 0; i < count; i++) {
        AUTO(buf_done) struct buf value = {0};
        struct json *member = cli_member(json, columns[i].member);
        if (member == NULL || json_kind(member) == JSON_KIND_NULL ||
            (json_kind(member) == JSON_KIND_ARRAY && json_length(member) == 0)) {
            continue;
        }
        TRY(cli_format_value(json, &columns[i], &value, err));
        const char *text = buf_text(&value);
        if (text == NULL) {
            return err_no_memory(err, value.length_bytes);
        }
        enum cli_colour colour = columns[i].format == CLI_STATE ? cli_colour_of(text) : CLI_PLAIN;
        printf("%s%-*s%s  %s%s%s\n", cli_colour_start(cli, CLI_DIM), (int)widest, columns[i].title,
               cli_colour_end(cli, CLI_DIM), cli_colour_start(cli, colour), text, cli_colour_end(cli, colour));
    }
    return OK;
}
