/* One row of CSV (RFC 4180). Its fields are found and set in one pass; what is wrong with a row is looked into only once it
 * is known to be bad. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "common/ingest/internal.h"

/* --- options ------------------------------------------------------------------------------------------------------ */

/* A sign between or around fields must not be taken for a part of one. */
static bool is_sign(char c)
{
    return c != '\0' && (unsigned char)c < 0x80 && !isalnum((unsigned char)c) && strchr("\r\n+-._", c) == NULL;
}

static enum err_code check_signs(const struct csv *csv, struct error *err)
{
    if (!is_sign((char)csv->delimiter) || !is_sign((char)csv->quote) || csv->delimiter == csv->quote) {
        return err_set(
            err, ERR_INVALID,
            "expected delimiter and quote of CSV to differ, and to be ASCII and neither letter, digit, line end, "
            "'+', '-', '.' nor '_', but found 0x%02x and 0x%02x",
            csv->delimiter, csv->quote);
    }
    return OK;
}

static enum err_code take_columns_in_order(struct csv *csv, size_t count, struct error *err)
{
    csv->columns = calloc(count, sizeof *csv->columns);
    if (csv->columns == NULL) {
        return err_no_memory(err, count * sizeof *csv->columns);
    }
    for (size_t i = 0; i < count; i++) {
        csv->columns[i] = (int)i;
    }
    csv->field_count = count;
    return OK;
}

enum err_code ingest_csv_init(struct csv *csv, const struct ingest_csv *options, const struct schema *schema,
                              struct error *err)
{
    const char *null_text = options->null_text == NULL ? "" : options->null_text;
    *csv = (struct csv){
        .delimiter = options->delimiter == '\0' ? ',' : (uint8_t)options->delimiter,
        .quote = options->quote == '\0' ? '"' : (uint8_t)options->quote,
        .is_lenient = options->is_lenient,
        .needs_header = !options->has_no_header,
        .null_bytes = strlen(null_text),
    };
    TRY(check_signs(csv, err));
    csv->null_text = strdup(null_text);
    if (csv->null_text == NULL) {
        return err_no_memory(err, csv->null_bytes);
    }
    return options->has_no_header ? take_columns_in_order(csv, schema->column_count, err) : OK;
}

void ingest_csv_done(struct csv *csv)
{
    free(csv->null_text);
    free(csv->columns);
    *csv = (struct csv){0};
}

/* --- the header --------------------------------------------------------------------------------------------------- */

static enum err_code add_header_field(struct csv *csv, struct row_parser *parser, const uint8_t *name, size_t length,
                                      struct error *err)
{
    int column = ingest_name_find(parser->schema, (const char *)name, length);
    size_t shown = length < INGEST_NAME_BYTES ? length : INGEST_NAME_BYTES;
    if (column == ROW_NO_COLUMN && parser->limits->unknown == INGEST_UNKNOWN_REJECT) {
        const char *hint = ingest_name_hint((const char *)name, length);
        shown = *hint != '\0' ? strcspn((const char *)name, "\r") : shown;
        return err_set(err, ERR_INVALID, "expected the header to name columns of the table but found \"%.*s\"%s",
                       (int)(shown < INGEST_NAME_BYTES ? shown : INGEST_NAME_BYTES), (const char *)name, hint);
    }
    for (size_t i = 0; column != ROW_NO_COLUMN && i < csv->field_count; i++) {
        if (csv->columns[i] == column) {
            return err_set(err, ERR_INVALID, "expected the header to name each column once but found \"%.*s\" twice",
                           (int)shown, (const char *)name);
        }
    }
    if ((csv->field_count & (csv->field_count - 1)) == 0) { /* a power of two is full */
        int *grown = realloc(csv->columns, (csv->field_count + 1) * 2 * sizeof *grown);
        if (grown == NULL) {
            return err_no_memory(err, csv->field_count * 2 * sizeof *grown);
        }
        csv->columns = grown;
    }
    csv->columns[csv->field_count++] = column;
    return OK;
}

static enum err_code check_required(const struct csv *csv, const struct row_parser *parser, struct error *err)
{
    for (size_t i = 0; i < parser->required_count; i++) {
        bool is_there = false;
        for (size_t j = 0; j < csv->field_count && !is_there; j++) {
            is_there = csv->columns[j] == (int)parser->required[i];
        }
        if (!is_there) {
            return err_set(err, ERR_INVALID,
                           "expected the header to name \"%s\", which must not be null; hint: does the "
                           "file have a header?",
                           parser->schema->columns[parser->required[i]].name);
        }
    }
    return OK;
}

static void begin(struct row_parser *parser, const uint8_t *text, size_t length, const uint8_t *readable_end,
                  struct error *err)
{
    parser->end = text + length;
    parser->readable_end = readable_end;
    parser->code = OK;
    parser->err = err;
}

enum err_code ingest_csv_header(struct csv *csv, struct row_parser *parser, const uint8_t *text, size_t length,
                                const uint8_t *readable_end, struct error *err)
{
    AUTO(free_auto) uint8_t *name = malloc(length + 1);
    if (name == NULL) {
        return err_no_memory(err, length);
    }
    begin(parser, text, length, readable_end, err);
    for (const uint8_t *p = text; p != NULL;) {
        struct csv_field field;
        if (!ingest_csv_take(csv, parser, p, &field)) {
            return err_set(err, ERR_INVALID, "could not read the header: %s", parser->reason);
        }
        TRY(add_header_field(csv, parser, name, ingest_csv_unquote(csv, &field, name), err));
        p = field.next;
    }
    TRY(check_required(csv, parser, err));
    csv->needs_header = false;
    return OK;
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

/* Of a row that is bad already: more or fewer fields than there should be explain what else looks wrong in it. */
static void explain(const struct csv *csv, struct row_parser *parser, const uint8_t *text)
{
    char reason[ROW_REASON_BYTES];
    int column = parser->bad_column;
    const uint8_t *p = text;
    size_t count = 0;
    bool is_readable = true;
    memcpy(reason, parser->reason, sizeof reason);
    for (struct csv_field field; p != NULL && is_readable; p = field.next) {
        is_readable = ingest_csv_take(csv, parser, p, &field);
        count++;
    }
    parser->bad_column = column;
    memcpy(parser->reason, reason, sizeof reason);
    if (is_readable && !csv->is_lenient && count != csv->field_count) {
        (void)ingest_bad(parser, ROW_NO_COLUMN, "expected %zu fields but found %zu", csv->field_count, count);
    }
}

/* Columns whose fields a short row lacks are null. */
static bool end_short_row(const struct csv *csv, struct row_parser *parser, size_t count)
{
    for (size_t i = count; i < csv->field_count; i++) {
        int column = csv->columns[i];
        if (!csv->is_lenient || (column >= 0 && !parser->schema->columns[column].nullable)) {
            (void)ingest_bad(parser, csv->is_lenient ? column : ROW_NO_COLUMN, "expected %zu fields but found %zu",
                             csv->field_count, count);
            return false;
        }
    }
    return true;
}

static bool parse_fields(const struct csv *csv, struct row_parser *parser, const uint8_t *p)
{
    struct csv_field field;
    for (size_t i = 0; p != NULL; i++, p = field.next) {
        if (UNLIKELY(i == csv->field_count)) {
            return csv->is_lenient ||
                   ingest_bad(parser, ROW_NO_COLUMN, "expected %zu fields but found more", csv->field_count) != NULL;
        }
        if (UNLIKELY(!ingest_csv_take(csv, parser, p, &field))) {
            return false;
        }
        int column = csv->columns[i];
        if (column >= 0 && UNLIKELY(!ingest_csv_set(csv, parser, (uint32_t)column, &field))) {
            return false;
        }
        if (field.next == NULL && UNLIKELY(i + 1 < csv->field_count)) {
            return end_short_row(csv, parser, i + 1);
        }
    }
    return true;
}

enum err_code ingest_csv_parse(const struct csv *csv, struct row_parser *parser, const uint8_t *text, size_t length,
                               const uint8_t *readable_end, bool *out_good, struct error *err)
{
    begin(parser, text, length, readable_end, err);
    TRY(batch_row_begin(parser->batch, err));
    *out_good = parse_fields(csv, parser, text);
    if (*out_good) {
        return batch_row_end(parser->batch, err);
    }
    batch_row_abandon(parser->batch);
    TRY(parser->code);
    explain(csv, parser, text);
    return OK;
}
