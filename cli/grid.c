/* Tables: rows wait until the widths of the first thousand are known; later rows are printed with those widths. */
#include <string.h>

#include "cli/format.h"
#include "cli/output.h"
#include "common/base/text.h"

enum { ROWS_THAT_COUNT = 1000, WIDEST_COLUMN = 200 };

struct grid_row {
    struct grid_row *next;
    const char *cells[]; /* in the arena */
};

struct cli_grid {
    const struct cli *cli;
    const struct cli_column *columns;
    size_t column_count;
    struct arena *arena; /* of the rows that wait */
    struct grid_row *first, **last;
    size_t waiting;
    size_t *widths;
    bool begun; /* the heading stands */
};

void cli_grid_free(struct cli_grid *grid)
{
    if (grid != NULL) {
        arena_free(grid->arena);
        free(grid->widths);
        free(grid);
    }
}

enum err_code cli_grid_new(const struct cli *cli, const struct cli_column *columns, size_t count, struct cli_grid **out,
                           struct error *err)
{
    AUTO(cli_grid_free_auto) struct cli_grid *grid = calloc(1, sizeof *grid);
    if (grid == NULL) {
        return err_no_memory(err, sizeof *grid);
    }
    *grid = (struct cli_grid){.cli = cli, .columns = columns, .column_count = count};
    grid->arena = arena_new(0);
    grid->widths = calloc(count, sizeof *grid->widths);
    grid->last = &grid->first;
    if (grid->arena == NULL || grid->widths == NULL) {
        return err_no_memory(err, count * sizeof *grid->widths);
    }
    for (size_t i = 0; i < count; i++) {
        grid->widths[i] = strlen(columns[i].title);
    }
    *out = TAKE(grid);
    return OK;
}

static void put_cell(const struct cli_grid *grid, size_t column, const char *text, enum cli_colour colour)
{
    enum cli_format format = grid->columns[column].format;
    bool right = format == CLI_COUNT || format == CLI_SIZE;
    bool last = column + 1 == grid->column_count;
    size_t width = cli_format_width(text, strlen(text));
    int padding = width < grid->widths[column] ? (int)(grid->widths[column] - width) : 0;

    printf("%*s%s%s%s%*s", right ? padding : 0, "", cli_colour_start(grid->cli, colour), text,
           cli_colour_end(grid->cli, colour), right || last ? 0 : padding, "");
    (void)fputs(last ? "\n" : "  ", stdout);
}

static void print_waiting(struct cli_grid *grid)
{
    if (!grid->begun) {
        for (size_t i = 0; i < grid->column_count; i++) {
            put_cell(grid, i, grid->columns[i].title, CLI_BOLD);
        }
        grid->begun = true;
    }
    for (const struct grid_row *row = grid->first; row != NULL; row = row->next) {
        for (size_t i = 0; i < grid->column_count; i++) {
            bool state = grid->columns[i].format == CLI_STATE;
            put_cell(grid, i, row->cells[i], state ? cli_colour_of(row->cells[i]) : CLI_PLAIN);
        }
    }
    arena_reset(grid->arena);
    grid->first = NULL;
    grid->last = &grid->first;
    grid->waiting = 0;
}

static void widen(struct cli_grid *grid, size_t column, const char *text)
{
    size_t width = cli_format_width(text, strlen(text));
    width = width < WIDEST_COLUMN ? width : WIDEST_COLUMN;
    if (!grid->begun && width > grid->widths[column]) {
        grid->widths[column] = width;
    }
}

enum err_code cli_grid_add(void *context, struct json *item, struct error *err)
{
    struct cli_grid *grid = context;
    size_t bytes = sizeof(struct grid_row) + grid->column_count * sizeof(const char *);
    struct grid_row *row = arena_zalloc(grid->arena, 1, bytes);
    AUTO(buf_done) struct buf text = {0};

    if (row == NULL) {
        return err_no_memory(err, bytes);
    }
    for (size_t i = 0; i < grid->column_count; i++) {
        buf_clear(&text);
        TRY(cli_format_value(item, &grid->columns[i], &text, err));
        row->cells[i] = arena_strndup(grid->arena, (const char *)text.data, text.length_bytes);
        if (row->cells[i] == NULL) {
            return err_no_memory(err, text.length_bytes);
        }
        widen(grid, i, row->cells[i]);
    }
    *grid->last = row;
    grid->last = &row->next;
    if (++grid->waiting == ROWS_THAT_COUNT) {
        print_waiting(grid);
    }
    return OK;
}

void cli_grid_print(struct cli_grid *grid, const char *empty)
{
    if (!grid->begun && grid->waiting == 0 && empty != NULL) {
        printf("%s\n", empty);
        return;
    }
    print_waiting(grid);
}

static enum err_code print_line(void *context, struct json *item, struct error *err)
{
    (void)context;
    return cli_print_json(item, err);
}

enum err_code cli_list(struct cli *cli, struct buf *path, const struct cli_column *columns, size_t count,
                       const char *empty, struct error *err)
{
    const char *text = cli_flag_value(cli->arguments, "--limit");
    int64_t limit = 0;
    if (text != NULL && text_parse_i64(text, 1, INT64_MAX, "--limit", &limit, err) != OK) {
        return cli_usage(cli, err, "%s", err->text);
    }
    if (cli->json) {
        return cli_each(cli, path, limit, print_line, NULL, err);
    }
    AUTO(cli_grid_free_auto) struct cli_grid *grid = NULL;
    TRY(cli_grid_new(cli, columns, count, &grid, err));
    TRY(cli_each(cli, path, limit, cli_grid_add, grid, err));
    cli_grid_print(grid, empty);
    return OK;
}

enum err_code cli_print_array(const struct cli *cli, struct json *array, const struct cli_column *columns, size_t count,
                              const char *empty, struct error *err)
{
    AUTO(cli_grid_free_auto) struct cli_grid *grid = NULL;
    TRY(cli_grid_new(cli, columns, count, &grid, err));
    for (size_t i = 0; i < json_length(array); i++) {
        TRY(cli_grid_add(grid, json_at(array, i), err));
    }
    cli_grid_print(grid, empty);
    return OK;
}
