/* Rows of a Parquet file. Columns meet by name, or by field id where the file was written for this very table; what cannot
 * be read exactly is refused before the first row. */
#include "common/ingest/parquet.h"

#include "common/rows/format.h"

/* --- which is which ----------------------------------------------------------------------------------------------- */

struct mapping {
    struct parquet_rows *rows;
    uint32_t *chosen; /* columns of the file */
    size_t chosen_count;
    bool by_id;
};

static enum err_code map_column(struct mapping *mapping, uint32_t from, struct error *err)
{
    struct parquet_rows *rows = mapping->rows;
    const struct schema *schema = rows->parser->schema;
    const struct schema_column *source = &parquet_reader_schema(rows->reader)->columns[from];
    int column = mapping->by_id ? schema_find_id(schema, source->id)
                                : ingest_name_find(schema, source->name, strlen(source->name));
    if (column < 0) {
        return rows->parser->limits->unknown == INGEST_UNKNOWN_IGNORE
                   ? OK
                   : err_set(err, ERR_INVALID, "expected the file to have columns of the table only but found \"%s\"",
                             source->name);
    }
    struct parquet_column *target = &rows->columns[column];
    if (target->from != ROW_NO_COLUMN) {
        return err_set(err, ERR_INVALID, "expected one column for \"%s\" in the file but found two",
                       schema->columns[column].name);
    }
    if (!ingest_parquet_conversion(source, &schema->columns[column], &rows->parser->formats[column],
                                   &target->conversion)) {
        char wanted[COLUMN_TYPE_TEXT_BYTES];
        char found[COLUMN_TYPE_TEXT_BYTES];
        return err_set(err, ERR_INVALID, "expected column \"%s\" to be readable as %s but found %s",
                       schema->columns[column].name, column_type_format(&schema->columns[column], wanted),
                       column_type_format(source, found));
    }
    target->from = (int)mapping->chosen_count;
    mapping->chosen[mapping->chosen_count++] = from;
    return OK;
}

/* Columns that the reader does not read matter only where the table has them, or where none may be unknown. */
static enum err_code check_unread(const struct parquet_rows *rows, struct error *err)
{
    for (size_t i = 0; i < parquet_reader_unread_count(rows->reader); i++) {
        const char *name = parquet_reader_unread_name(rows->reader, i);
        uint32_t column;
        if (rows->parser->limits->unknown == INGEST_UNKNOWN_REJECT ||
            ingest_name_find(rows->parser->schema, name, strlen(name)) >= 0) {
            TRY(parquet_reader_find(rows->reader, name, strlen(name), &column, err));
        }
    }
    return OK;
}

static enum err_code check_required(const struct parquet_rows *rows, struct error *err)
{
    const struct row_parser *parser = rows->parser;
    for (size_t i = 0; i < parser->required_count; i++) {
        if (rows->columns[parser->required[i]].from == ROW_NO_COLUMN) {
            return err_set(err, ERR_INVALID, "expected column \"%s\", which must not be null, but the file lacks it",
                           parser->schema->columns[parser->required[i]].name);
        }
    }
    return OK;
}

static enum err_code open_cursor(struct parquet_rows *rows, struct error *err)
{
    const struct schema *file = parquet_reader_schema(rows->reader);
    AUTO(free_auto) uint32_t *chosen = calloc(file->column_count + 1, sizeof *chosen);
    struct mapping mapping = {.rows = rows,
                              .chosen = chosen,
                              .by_id = uuid_equal(&file->table_id, &rows->parser->schema->table_id) &&
                                       !uuid_is_nil(&file->table_id)};
    if (chosen == NULL) {
        return err_no_memory(err, file->column_count * sizeof *chosen);
    }
    TRY(check_unread(rows, err));
    for (uint32_t i = 0; i < file->column_count; i++) {
        TRY(map_column(&mapping, i, err));
    }
    TRY(check_required(rows, err));
    const struct parquet_cursor_options options = {
        .columns = chosen, .column_count = mapping.chosen_count, .round_times = true};
    return parquet_cursor_open(rows->reader, &options, &rows->cursor, err);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

enum err_code ingest_parquet_open(struct parquet_rows *rows, const struct parquet_source *source,
                                  struct row_parser *parser, struct error *err)
{
    size_t count = parser->schema->column_count;
    *rows = (struct parquet_rows){.parser = parser, .view = {.schema = parser->schema}};
    rows->columns = calloc(count, sizeof *rows->columns);
    rows->view.columns = calloc(count, sizeof *rows->view.columns);
    rows->reasons = arena_new(0);
    if (rows->columns == NULL || rows->view.columns == NULL || rows->reasons == NULL) {
        return err_no_memory(err, count * sizeof *rows->columns);
    }
    for (size_t i = 0; i < count; i++) {
        rows->columns[i].from = ROW_NO_COLUMN;
        rows->columns[i].conversion = CONVERT_ABSENT;
    }
    TRY(parquet_reader_open(source, &rows->reader, err));
    return open_cursor(rows, err);
}

void ingest_parquet_done(struct parquet_rows *rows)
{
    for (size_t i = 0; rows->columns != NULL && i < rows->view.schema->column_count; i++) {
        buf_done(&rows->columns[i].values);
    }
    parquet_cursor_free(rows->cursor);
    parquet_reader_free(rows->reader);
    free(rows->columns);
    free(rows->view.columns);
    free(rows->is_bad);
    arena_free(rows->reasons);
    buf_done(&rows->bad);
    buf_done(&rows->nulls);
    buf_done(&rows->text);
    *rows = (struct parquet_rows){0};
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

static enum err_code clear_bad(struct parquet_rows *rows, uint32_t count, struct error *err)
{
    buf_clear(&rows->bad);
    arena_reset(rows->reasons);
    if (count >= rows->row_capacity) {
        uint8_t *grown = realloc(rows->is_bad, (size_t)count + 1);
        if (grown == NULL) {
            return err_no_memory(err, count);
        }
        rows->is_bad = grown;
        rows->row_capacity = count + 1;
    }
    memset(rows->is_bad, 0, count);
    return OK;
}

static int compare_rows(const void *a, const void *b)
{
    const struct parquet_bad *x = a;
    const struct parquet_bad *y = b;
    return (x->row > y->row) - (x->row < y->row);
}

enum err_code ingest_parquet_next(struct parquet_rows *rows, struct error *err)
{
    TRY(parquet_cursor_next(rows->cursor, &rows->read, err));
    TRY(clear_bad(rows, rows->read == NULL ? 0 : rows->read->row_count, err));
    if (rows->read == NULL) {
        rows->view.row_count = 0;
        return OK;
    }
    TRY(ingest_parquet_convert(rows, err));
    TRY(ingest_parquet_check(rows, err));
    if (rows->bad.length_bytes > 0) {
        qsort(rows->bad.data, rows->bad.length_bytes / sizeof(struct parquet_bad), sizeof(struct parquet_bad),
              compare_rows);
    }
    return OK;
}

enum err_code ingest_parquet_text(struct parquet_rows *rows, uint32_t row, const uint8_t **out, size_t *out_length,
                                  struct error *err)
{
    buf_clear(&rows->text);
    TRY(rows_format_rows(rows->read, row, 1, ROWS_FORMAT_NDJSON, &rows->text, err));
    *out = rows->text.data;
    *out_length = rows->text.length_bytes - 1; /* without its newline */
    return OK;
}
