#include "common/rows/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/quote.h"
#include "common/base/uuid.h"

enum { NUMBER_TEXT_BYTES = 40 };

/* --- values as plain text ----------------------------------------------------------------------------------------- */

/* Returns the length. */
static size_t format_i64(int64_t value, char *text)
{
    char digits[24];
    uint64_t left = value < 0 ? ~(uint64_t)value + 1 : (uint64_t)value;
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (value < 0) {
        digits[--at] = '-';
    }
    memcpy(text, digits + at, sizeof digits - at);
    return sizeof digits - at;
}

static size_t format_decimal(int64_t unscaled, unsigned scale, char *text)
{
    char digits[24];
    size_t sign = unscaled < 0;
    size_t length = format_i64(unscaled, digits) - sign;
    size_t zeros = length > scale ? 0 : scale + 1 - length; /* a digit stands before the point */
    size_t at = 0;
    if (sign) {
        text[at++] = '-';
    }
    for (size_t i = 0; i < zeros + length; i++) {
        if (scale > 0 && i == zeros + length - scale) {
            text[at++] = '.';
        }
        text[at++] = i < zeros ? '0' : digits[sign + i - zeros];
    }
    return at;
}

/* The fewest digits that read back the same. */
static size_t format_double(double value, bool is_float, char *text)
{
    int length = 0;
    int most = is_float ? 9 : 17;
    for (int digits = is_float ? 6 : 15; digits <= most; digits++) {
        length = snprintf(text, NUMBER_TEXT_BYTES, "%.*g", digits, value);
        if (is_float ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value) {
            break;
        }
    }
    return (size_t)length;
}

static const char *special_name(double value)
{
    return isnan(value) ? "NaN" : isinf(value) ? (value < 0 ? "-Infinity" : "Infinity") : NULL;
}

/* --- one value ---------------------------------------------------------------------------------------------------- */

static enum err_code append_quoted(const char *text, size_t length, enum rows_format format, struct buf *out,
                                   struct error *err)
{
    if (format == ROWS_FORMAT_CSV) {
        return buf_append(out, text, length, err);
    }
    TRY(buf_append_byte(out, '"', err));
    TRY(buf_append(out, text, length, err));
    return buf_append_byte(out, '"', err);
}

static enum err_code append_double(double value, bool is_float, enum rows_format format, struct buf *out,
                                   struct error *err)
{
    char text[NUMBER_TEXT_BYTES];
    const char *special = special_name(value);
    if (special != NULL) {
        return append_quoted(special, strlen(special), format, out, err);
    }
    return buf_append(out, text, format_double(value, is_float, text), err);
}

/* Line ends in valid JSON stand between its tokens only, where a space means the same. */
static enum err_code append_json(const uint8_t *data, size_t length, struct buf *out, struct error *err)
{
    TRY(buf_append(out, data, length, err));
    uint8_t *text = out->data + out->length_bytes - length;
    for (size_t i = 0; i < length; i++) {
        text[i] = text[i] == '\n' || text[i] == '\r' ? ' ' : text[i];
    }
    return OK;
}

/* RFC 4180: in quotes where the text would not stand for itself; an empty one too, to tell it from null. */
static enum err_code append_csv_text(const uint8_t *data, size_t length, struct buf *out, struct error *err)
{
    bool plain = length > 0;
    for (size_t i = 0; i < length && plain; i++) {
        plain = data[i] != ',' && data[i] != '"' && data[i] != '\n' && data[i] != '\r';
    }
    if (plain) {
        return buf_append(out, data, length, err);
    }
    TRY(buf_append_byte(out, '"', err));
    for (size_t i = 0; i < length;) {
        const uint8_t *quote = memchr(data + i, '"', length - i);
        size_t run = quote == NULL ? length - i : (size_t)(quote - data) + 1 - i;
        TRY(buf_append(out, data + i, run, err));
        if (quote != NULL) {
            TRY(buf_append_byte(out, '"', err));
        }
        i += run;
    }
    return buf_append_byte(out, '"', err);
}

/* Base64 needs no quotes in CSV, but for the empty value, which null would look like. */
static enum err_code append_bytes(const uint8_t *data, size_t length, enum rows_format format, struct buf *out,
                                  struct error *err)
{
    const char *quote = format == ROWS_FORMAT_CSV && length > 0 ? "" : "\"";
    TRY(buf_append_text(out, quote, err));
    TRY(buf_append_base64(out, data, length, err));
    return buf_append_text(out, quote, err);
}

static enum err_code append_variable(const struct column *column, uint32_t row, enum rows_format format,
                                     struct buf *out, struct error *err)
{
    uint32_t length;
    const uint8_t *data = column_variable(column, row, &length);
    if (column->type == COLUMN_BYTES) {
        return append_bytes(data, length, format, out, err);
    }
    if (format == ROWS_FORMAT_CSV) {
        return append_csv_text(data, length, out, err);
    }
    return column->type == COLUMN_JSON ? append_json(data, length, out, err)
                                       : quote_json((const char *)data, length, out, err);
}

/* Days that no timestamp reaches (years beyond 290,000) have no other form than their number. */
static enum err_code append_date(int32_t days, enum rows_format format, struct buf *out, struct error *err)
{
    char text[CLOCK_TEXT_BYTES];
    if (days > INT64_MAX / CLOCK_DAY_US || days < INT64_MIN / CLOCK_DAY_US) {
        return append_quoted(text, format_i64(days, text), format, out, err);
    }
    (void)clock_format_date(days * CLOCK_DAY_US, text);
    return append_quoted(text, strlen(text), format, out, err);
}

static enum err_code append_value(const struct schema_column *type, const struct column *column, uint32_t row,
                                  enum rows_format format, struct buf *out, struct error *err)
{
    char text[CLOCK_TEXT_BYTES];
    switch (column->type) {
    case COLUMN_BOOL: return buf_append_text(out, column->values.u8[row] != 0 ? "true" : "false", err);
    case COLUMN_INT32: return buf_append(out, text, format_i64(column->values.i32[row], text), err);
    case COLUMN_INT64: return buf_append(out, text, format_i64(column->values.i64[row], text), err);
    case COLUMN_FLOAT: return append_double((double)column->values.f32[row], true, format, out, err);
    case COLUMN_DOUBLE: return append_double(column->values.f64[row], false, format, out, err);
    case COLUMN_TIMESTAMP:
        (void)clock_format(column->values.i64[row], text);
        return append_quoted(text, strlen(text), format, out, err);
    case COLUMN_DATE: return append_date(column->values.i32[row], format, out, err);
    case COLUMN_DECIMAL:
        return append_quoted(text, format_decimal(column->values.i64[row], type->scale, text), format, out, err);
    case COLUMN_UUID:
        return append_quoted(uuid_format(&column->values.uuid[row], text), UUID_TEXT_BYTES - 1, format, out, err);
    case COLUMN_STRING:
    case COLUMN_BYTES:
    case COLUMN_JSON: return append_variable(column, row, format, out, err);
    case COLUMN_TYPE_COUNT: break;
    }
    return err_set(err, ERR_INVALID, "expected a column of a known type but found %d", (int)column->type);
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

enum err_code rows_format_header(const struct schema *schema, enum rows_format format, struct buf *out,
                                 struct error *err)
{
    if (format != ROWS_FORMAT_CSV) {
        return OK;
    }
    for (size_t c = 0; c < schema->column_count; c++) {
        const char *name = schema->columns[c].name;
        if (c > 0) {
            TRY(buf_append_byte(out, ',', err));
        }
        TRY(append_csv_text((const uint8_t *)name, strlen(name), out, err));
    }
    return buf_append_text(out, "\r\n", err);
}

static enum err_code append_csv_row(const struct batch *batch, uint32_t row, struct buf *out, struct error *err)
{
    for (size_t c = 0; c < batch->schema->column_count; c++) {
        if (c > 0) {
            TRY(buf_append_byte(out, ',', err));
        }
        if (!column_is_null(&batch->columns[c], row)) {
            TRY(append_value(&batch->schema->columns[c], &batch->columns[c], row, ROWS_FORMAT_CSV, out, err));
        }
    }
    return buf_append_text(out, "\r\n", err);
}

static enum err_code append_json_row(const struct batch *batch, uint32_t row, const struct buf *names,
                                     const size_t *name_ends, struct buf *out, struct error *err)
{
    size_t at = 0;
    for (size_t c = 0; c < batch->schema->column_count; c++) {
        TRY(buf_append(out, names->data + at, name_ends[c] - at, err));
        at = name_ends[c];
        if (column_is_null(&batch->columns[c], row)) {
            TRY(buf_append(out, "null", 4, err));
        } else {
            TRY(append_value(&batch->schema->columns[c], &batch->columns[c], row, ROWS_FORMAT_NDJSON, out, err));
        }
    }
    return buf_append(out, "}\n", 2, err);
}

/* What stands before each value: {"a": or ,"b": */
static enum err_code quote_names(const struct schema *schema, struct buf *names, size_t *ends, struct error *err)
{
    for (size_t c = 0; c < schema->column_count; c++) {
        TRY(buf_append_byte(names, c == 0 ? '{' : ',', err));
        TRY(quote_json(schema->columns[c].name, strlen(schema->columns[c].name), names, err));
        TRY(buf_append_byte(names, ':', err));
        ends[c] = names->length_bytes;
    }
    return OK;
}

enum err_code rows_format_rows(const struct batch *batch, uint32_t first, uint32_t count, enum rows_format format,
                               struct buf *out, struct error *err)
{
    AUTO(buf_done) struct buf names = {0};
    AUTO(free_auto) size_t *ends = calloc(batch->schema->column_count + 1, sizeof *ends);
    if (ends == NULL) {
        return err_no_memory(err, batch->schema->column_count * sizeof *ends);
    }
    TRY(quote_names(batch->schema, &names, ends, err));
    for (uint32_t row = first; row < first + count; row++) {
        TRY(format == ROWS_FORMAT_CSV ? append_csv_row(batch, row, out, err)
                                      : append_json_row(batch, row, &names, ends, out, err));
    }
    return OK;
}
