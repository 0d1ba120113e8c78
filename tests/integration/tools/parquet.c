/* Reads a Parquet file for tests: parquet [--readable] FILE. One line {"NAME": "TYPE", ...} for the columns, then the rows as
 * NDJSON. Ends with 1 and the error on the standard error; with --readable, columns that are not read are left out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/quote.h"
#include "common/parquet/reader.h"
#include "common/rows/format.h"

static enum err_code read_file(void *context, uint64_t offset, size_t length, void *out, struct error *err)
{
    FILE *file = context;
    if (fseek(file, (long)offset, SEEK_SET) != 0 || fread(out, 1, length, file) != length) {
        return err_set(err, ERR_UNAVAILABLE, "could not read %zu bytes", length);
    }
    return OK;
}

static enum err_code print(struct buf *text, struct error *err)
{
    if (fwrite(text->data, 1, text->length_bytes, stdout) != text->length_bytes) {
        return err_set(err, ERR_UNAVAILABLE, "could not write to standard output");
    }
    buf_clear(text);
    return OK;
}

static enum err_code print_schema(const struct schema *schema, struct buf *text, struct error *err)
{
    char type[COLUMN_TYPE_TEXT_BYTES];
    TRY(buf_append_byte(text, '{', err));
    for (size_t i = 0; i < schema->column_count; i++) {
        const struct schema_column *column = &schema->columns[i];
        TRY(i > 0 ? buf_append_byte(text, ',', err) : OK);
        TRY(quote_json(column->name, strlen(column->name), text, err));
        TRY(buf_append_text(text, ":", err));
        column_type_format(column, type);
        TRY(quote_json(type, strlen(type), text, err));
    }
    TRY(buf_append_text(text, "}\n", err));
    return print(text, err);
}

static enum err_code print_rows(struct parquet_cursor *cursor, struct buf *text, struct error *err)
{
    const struct batch *batch = NULL;
    TRY(print_schema(parquet_cursor_schema(cursor), text, err));
    do {
        TRY(parquet_cursor_next(cursor, &batch, err));
        if (batch != NULL && batch->schema->column_count > 0) {
            TRY(rows_format_rows(batch, 0, batch->row_count, ROWS_FORMAT_NDJSON, text, err));
            TRY(print(text, err));
        }
    } while (batch != NULL);
    return OK;
}

/* All columns; or as many as can be read. */
static enum err_code run(FILE *file, bool readable, struct error *err)
{
    AUTO(parquet_reader_free_auto) struct parquet_reader *reader = NULL;
    AUTO(parquet_cursor_free_auto) struct parquet_cursor *cursor = NULL;
    AUTO(buf_done) struct buf text = {0};
    AUTO(free_auto) uint32_t *columns = NULL;
    fseek(file, 0, SEEK_END);
    const struct parquet_source source = {.context = file, .size_bytes = (uint64_t)ftell(file), .read = read_file};
    TRY(parquet_reader_open(&source, &reader, err));
    size_t count = parquet_reader_schema(reader)->column_count;
    columns = calloc(count + 1, sizeof *columns);
    for (uint32_t i = 0; i < count; i++) {
        columns[i] = i;
    }
    const struct parquet_cursor_options options = {.columns = readable ? columns : NULL, .column_count = count};
    TRY(parquet_cursor_open(reader, &options, &cursor, err));
    return print_rows(cursor, &text, err);
}

int main(int argc, char **argv)
{
    struct error err = {0};
    bool readable = argc == 3 && strcmp(argv[1], "--readable") == 0;
    FILE *file = argc == 2 || readable ? fopen(argv[argc - 1], "rb") : NULL;
    if (file == NULL) {
        fprintf(stderr, "usage: parquet [--readable] FILE\n");
        return 1;
    }
    enum err_code code = run(file, readable, &err);
    fclose(file);
    if (code != OK) {
        fprintf(stderr, "%s: %s\n", err_code_name(code), err.text);
    }
    return code == OK ? 0 : 1;
}
