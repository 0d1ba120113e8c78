/* What commands print: lists as aligned tables, single things as fields, or the API's JSON word for word. Both are
 * described by the same columns. */
#ifndef GRANARY_CLI_OUTPUT_H
#define GRANARY_CLI_OUTPUT_H

#include "cli/client.h"

enum cli_format {
    CLI_TEXT,
    CLI_COUNT, /* right-aligned, with thousands marked */
    CLI_SIZE,  /* bytes, right-aligned */
    CLI_TIME,
    CLI_AGE,   /* of a time: how long ago, by this machine's clock */
    CLI_STATE, /* coloured by what it means */
};
struct cli_column {
    const char *title;
    const char *member; /* "rows", or "lock.kind" of an object inside */
    enum cli_format format;
};

/* --- tables -------------------------------------------------------------------------------------------------------- */
struct cli_grid;
/* Columns are borrowed. Rows are aligned by the first thousand of them, so that long lists need little memory. */
MUST_CHECK enum err_code cli_grid_new(const struct cli *cli, const struct cli_column *columns, size_t count,
                                      struct cli_grid **out, struct error *err);
void cli_grid_free(struct cli_grid *grid); /* prints nothing */
DEFINE_AUTO(struct cli_grid, cli_grid_free)
/* A row from a JSON object; a cli_item_fn. */
MUST_CHECK enum err_code cli_grid_add(void *grid, struct json *item, struct error *err);
/* Prints what is left. Without any row: `empty`, unless NULL. */
void cli_grid_print(struct cli_grid *grid, const char *empty);

/* A whole list command: asks for the list at `path` and prints it as a table, or as NDJSON. --limit is obeyed. */
MUST_CHECK enum err_code cli_list(struct cli *cli, struct buf *path, const struct cli_column *columns, size_t count,
                                  const char *empty, struct error *err);
/* An array inside an answer, as a table. */
MUST_CHECK enum err_code cli_print_array(const struct cli *cli, struct json *array, const struct cli_column *columns,
                                         size_t count, const char *empty, struct error *err);

/* --- single things ------------------------------------------------------------------------------------------------- */
/* "title   value" lines. Members that are absent, null or an empty list are left out. */
MUST_CHECK enum err_code cli_print_fields(const struct cli *cli, struct json *json, const struct cli_column *columns,
                                          size_t count, struct error *err);
MUST_CHECK enum err_code cli_print_json(const struct json *json, struct error *err); /* one line */
/* One column's value as it is shown, tame, without colour, appended. */
MUST_CHECK enum err_code cli_format_value(struct json *item, const struct cli_column *column, struct buf *out,
                                          struct error *err);
/* The member named by a dotted path; NULL where there is none. */
struct json *cli_member(struct json *item, const char *path);

enum cli_colour { CLI_PLAIN, CLI_BOLD, CLI_DIM, CLI_GREEN, CLI_YELLOW, CLI_RED, CLI_CYAN, CLI_COLOUR_COUNT };
/* The escape sequences that begin and end a colour; "" where there is none to be. */
const char *cli_colour_start(const struct cli *cli, enum cli_colour colour);
const char *cli_colour_end(const struct cli *cli, enum cli_colour colour);
/* What a state, outcome or word of that kind looks like. */
enum cli_colour cli_colour_of(const char *state);

#define CLI_LENGTH(array) (sizeof(array) / sizeof *(array))

#endif
