/* Reads a Parquet file for tests: parquet FILE [COLUMN...]. One line {"NAME": "TYPE", ...} for the columns, then the rows as
 * NDJSON. Ends with 1 and the error on the standard error. */
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
    for (size_t i = 0; i < schema->column_count; i++) {
        const struct schema_column *column = &schema->columns[i];
        TRY(buf_append_byte(text, i == 0 ? '{' : ',', err));
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
        if (batch != NULL) {
            TRY(rows_format_rows(batch, 0, batch->row_count, ROWS_FORMAT_NDJSON, text, err));
            TRY(print(text, err));
        }
    } while (batch != NULL);
    return OK;
}

static enum err_code run(FILE *file, char **names, size_t count, struct error *err)
{
    AUTO(parquet_reader_free_auto) struct parquet_reader *reader = NULL;
    AUTO(parquet_cursor_free_auto) struct parquet_cursor *cursor = NULL;
    AUTO(buf_done) struct buf text = {0};
    AUTO(free_auto) uint32_t *columns = calloc(count + 1, sizeof *columns);
    fseek(file, 0, SEEK_END);
    const struct parquet_source source = {.context = file, .size_bytes = (uint64_t)ftell(file), .read = read_file};
    TRY(parquet_reader_open(&source, &reader, err));
    for (size_t i = 0; i < count; i++) {
        TRY(parquet_reader_find(reader, names[i], strlen(names[i]), &columns[i], err));
    }
    const struct parquet_cursor_options options = {.columns = count > 0 ? columns : NULL, .column_count = count};
    TRY(parquet_cursor_open(reader, &options, &cursor, err));
    return print_rows(cursor, &text, err);
}

int main(int argc, char **argv)
{
    struct error err = {0};
    FILE *file = argc < 2 ? NULL : fopen(argv[1], "rb");
    if (file == NULL) {
        fprintf(stderr, "usage: parquet FILE [COLUMN...]\n");
        return 1;
    }
    enum err_code code = run(file, argv + 2, (size_t)argc - 2, &err);
    fclose(file);
    if (code != OK) {
        fprintf(stderr, "%s: %s\n", err_code_name(code), err.text);
    }
    return code == OK ? 0 : 1;
}
