/* Rows that cannot be rows of the table. Whole columns are looked at first, in ways that cost next to nothing; only a column
 * in which something is wrong is looked at value by value. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "common/base/text.h"
#include "common/ingest/parquet.h"

enum err_code ingest_parquet_refuse(struct parquet_rows *rows, uint32_t row, uint32_t column, struct error *err,
                                    const char *format, ...)
{
    char reason[ROW_REASON_BYTES];
    va_list arguments;
    if (rows->is_bad[row] != 0) {
        return OK;
    }
    va_start(arguments, format);
    (void)vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    const struct parquet_bad bad = {.row = row, .column = (int)column, .reason = arena_strdup(rows->reasons, reason)};
    if (bad.reason == NULL) {
        return err_no_memory(err, sizeof reason);
    }
    rows->is_bad[row] = 1;
    return buf_append(&rows->bad, &bad, sizeof bad, err);
}

static enum err_code check_nulls(struct parquet_rows *rows, uint32_t c, struct error *err)
{
    const struct column *column = &rows->view.columns[c];
    for (uint32_t i = 0; i < rows->view.row_count; i++) {
        if (column_is_null(column, i)) {
            TRY(ingest_parquet_refuse(rows, i, c, err, "expected a value but found none"));
        }
    }
    return OK;
}

static enum err_code check_times(struct parquet_rows *rows, uint32_t c, struct error *err)
{
    const struct column *column = &rows->view.columns[c];
    const struct ingest_limits *limits = rows->parser->limits;
    bool is_key = c == rows->parser->schema->timestamp_column;
    int64_t min = is_key && limits->min_timestamp_us > CLOCK_FIRST_US ? limits->min_timestamp_us : CLOCK_FIRST_US;
    int64_t max = is_key && limits->max_timestamp_us < CLOCK_LAST_US ? limits->max_timestamp_us : CLOCK_LAST_US;
    for (uint32_t i = 0; i < rows->view.row_count; i++) {
        int64_t value = column->values.i64[i];
        if (UNLIKELY((value < min || value > max) && !column_is_null(column, i))) {
            char window[INGEST_WINDOW_BYTES];
            char text[CLOCK_TEXT_BYTES];
            bool has_year = value >= CLOCK_FIRST_US && value <= CLOCK_LAST_US;
            if (has_year) {
                (void)clock_format(value, text);
            } else {
                (void)snprintf(text, sizeof text, "%" PRId64 " us", value);
            }
            TRY(ingest_parquet_refuse(rows, i, c, err, "expected %s but found %s",
                                      has_year ? ingest_window(limits, window) : clock_fault_expected(CLOCK_FAULT_YEAR),
                                      text));
        }
    }
    return OK;
}

static enum err_code check_dates(struct parquet_rows *rows, uint32_t c, struct error *err)
{
    const struct column *column = &rows->view.columns[c];
    for (uint32_t i = 0; i < rows->view.row_count; i++) {
        int32_t value = column->values.i32[i];
        if (UNLIKELY((value < FIRST_DAY || value > LAST_DAY) && !column_is_null(column, i))) {
            TRY(ingest_parquet_refuse(rows, i, c, err,
                                      "expected a date in the years 0001 to 9999 but found day %" PRId32, value));
        }
    }
    return OK;
}

/* Text that is UTF-8 as a whole and has no character that crosses from one value into the next. */
static bool is_utf8_throughout(const struct column *column, uint32_t count)
{
    const uint8_t *first = column->data + column->offsets[0];
    size_t length = column->offsets[count] - column->offsets[0];
    if (text_utf8_valid_prefix((const char *)first, length) != length) {
        return false;
    }
    for (uint32_t i = 1; i < count; i++) {
        uint32_t at = column->offsets[i];
        if (at < column->offsets[count] && (column->data[at] & 0xc0) == 0x80) {
            return false;
        }
    }
    return true;
}

static enum err_code check_text(struct parquet_rows *rows, uint32_t c, struct error *err)
{
    const struct column *column = &rows->view.columns[c];
    if (is_utf8_throughout(column, rows->view.row_count)) {
        return OK;
    }
    for (uint32_t i = 0; i < rows->view.row_count; i++) {
        uint32_t length;
        const uint8_t *text = column_variable(column, i, &length);
        size_t valid = text_utf8_valid_prefix((const char *)text, length);
        if (valid < length) {
            TRY(ingest_parquet_refuse(rows, i, c, err, "expected UTF-8 but found byte 0x%02x at byte %zu of a text",
                                      text[valid], valid + 1));
        }
    }
    return OK;
}

/* The value lies in a buffer with a NUL behind it, since the parser of JSON wants to look there. */
static enum err_code check_json_value(struct parquet_rows *rows, uint32_t c, uint32_t row, struct error *err)
{
    struct row_parser *parser = rows->parser;
    uint32_t length;
    const uint8_t *text = column_variable(&rows->view.columns[c], row, &length);
    buf_clear(&rows->text);
    TRY(buf_append(&rows->text, text, length, err));
    TRY(buf_append_byte(&rows->text, '\0', err));
    parser->end = rows->text.data + length;
    parser->readable_end = parser->end + 1;
    parser->code = OK;
    parser->err = err;
    const uint8_t *p = ingest_skip_value(parser, (int)c, row_skip_space(parser, rows->text.data));
    if (p != NULL && (p = row_skip_space(parser, p)) < parser->end) {
        p = ingest_bad_value(parser, (int)c, "the end of the value", p);
    }
    TRY(parser->code);
    return p != NULL ? OK : ingest_parquet_refuse(rows, row, c, err, "%s", parser->reason);
}

static enum err_code check_json(struct parquet_rows *rows, uint32_t c, struct error *err)
{
    for (uint32_t i = 0; i < rows->view.row_count; i++) {
        if (!column_is_null(&rows->view.columns[c], i)) {
            TRY(check_json_value(rows, c, i, err));
        }
    }
    return OK;
}

enum err_code ingest_parquet_check(struct parquet_rows *rows, struct error *err)
{
    const struct schema *schema = rows->parser->schema;
    for (uint32_t c = 0; c < schema->column_count; c++) {
        if (rows->columns[c].conversion == CONVERT_ABSENT) {
            continue;
        }
        if (!schema->columns[c].nullable && rows->view.columns[c].null_count > 0) {
            TRY(check_nulls(rows, c, err));
        }
        switch (schema->columns[c].type) {
        case COLUMN_TIMESTAMP: TRY(check_times(rows, c, err)); break;
        case COLUMN_DATE: TRY(check_dates(rows, c, err)); break;
        case COLUMN_STRING: TRY(check_text(rows, c, err)); break;
        case COLUMN_JSON: TRY(check_json(rows, c, err)); break;
        case COLUMN_BOOL:
        case COLUMN_INT32:
        case COLUMN_INT64:
        case COLUMN_FLOAT:
        case COLUMN_DOUBLE:
        case COLUMN_BYTES:
        case COLUMN_DECIMAL:
        case COLUMN_UUID:
        case COLUMN_TYPE_COUNT: break;
        }
    }
    return OK;
}
