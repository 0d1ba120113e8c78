/* Fields of CSV. The end of a field is found in wide steps, and whether UTF-8 has to be looked at is noted on the way;
 * numbers and times are read where they lie. */
#include <strings.h>

#include "common/ingest/csv_find.h"
#include "common/ingest/internal.h"

/* --- finding ------------------------------------------------------------------------------------------------------ */

static bool bad_quotes(struct row_parser *parser)
{
    return ingest_bad(parser, ROW_NO_COLUMN, "expected quotes around a whole field, or doubled inside one") != NULL;
}

/* Where the text behind a closing quote ends. */
static bool take_tail(const struct csv *csv, struct row_parser *parser, const uint8_t *p, struct csv_field *out)
{
    if (!csv->is_lenient) {
        return bad_quotes(parser);
    }
    const uint8_t *stop = csv_find(p, parser->end, parser->readable_end, csv->delimiter, csv->delimiter, &out->is_high);
    out->is_mixed = true;
    out->end = stop;
    out->next = stop < parser->end ? stop + 1 : NULL;
    return true;
}

static bool take_quoted(const struct csv *csv, struct row_parser *parser, const uint8_t *p, struct csv_field *out)
{
    const uint8_t *end = parser->end;
    *out = (struct csv_field){.start = p, .is_quoted = true};
    for (;;) {
        p = csv_find(p, end, parser->readable_end, csv->quote, csv->quote, &out->is_high);
        if (p == end) {
            return ingest_bad(parser, ROW_NO_COLUMN, "expected a closing quote but found the end of the row") != NULL;
        }
        if (p + 1 == end || p[1] != csv->quote) {
            break;
        }
        out->is_mixed = true;
        p += 2;
    }
    out->end = p++;
    if (p < end && *p != csv->delimiter) {
        return take_tail(csv, parser, p, out);
    }
    out->next = p < end ? p + 1 : NULL;
    return true;
}

bool ingest_csv_take(const struct csv *csv, struct row_parser *parser, const uint8_t *p, struct csv_field *out)
{
    const uint8_t *end = parser->end;
    if (p < end && *p == csv->quote) {
        return take_quoted(csv, parser, p + 1, out);
    }
    *out = (struct csv_field){.start = p};
    const uint8_t *stop = csv_find(p, end, parser->readable_end, csv->delimiter, csv->quote, &out->is_high);
    while (UNLIKELY(stop < end && *stop == csv->quote)) {
        if (!csv->is_lenient) {
            return bad_quotes(parser);
        }
        stop = csv_find(stop + 1, end, parser->readable_end, csv->delimiter, csv->quote, &out->is_high);
    }
    out->end = stop;
    out->next = stop < end ? stop + 1 : NULL;
    return true;
}

/* The quoted part ends at the first quote that is not doubled; what follows is as it is. */
size_t ingest_csv_unquote(const struct csv *csv, const struct csv_field *field, uint8_t *out)
{
    const uint8_t *p = field->start;
    uint8_t *at = out;
    while (field->is_mixed && p < field->end) {
        const uint8_t *quote = memchr(p, csv->quote, (size_t)(field->end - p));
        size_t plain = (size_t)((quote == NULL ? field->end : quote) - p);
        memcpy(at, p, plain);
        at += plain;
        p += plain;
        if (quote != NULL) {
            bool is_doubled = field->end - quote > 1 && quote[1] == csv->quote;
            p += is_doubled ? 2 : 1;
            if (is_doubled) {
                *at++ = csv->quote;
            } else {
                break;
            }
        }
    }
    memcpy(at, p, (size_t)(field->end - p));
    return (size_t)(at - out) + (size_t)(field->end - p);
}

/* --- setting ------------------------------------------------------------------------------------------------------ */

static bool set_bool(struct row_parser *parser, uint32_t column, const struct scanned *value)
{
    static const struct {
        const char *word;
        bool value;
    } words[] = {{"true", true}, {"false", false}, {"t", true}, {"f", false}, {"1", true}, {"0", false}};
    size_t length = (size_t)(value->end - value->start);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strlen(words[i].word) == length && strncasecmp(words[i].word, (const char *)value->start, length) == 0) {
            batch_set_bool(parser->batch, column, words[i].value);
            return true;
        }
    }
    (void)ingest_bad_type(parser, column, value->shown);
    return false;
}

/* A number if the whole field is one. */
static bool is_number(struct scanned *value)
{
    return value->start < value->end && number_scan_loose(value->start, &value->number) == value->end;
}

static bool set_number(struct row_parser *parser, uint32_t column, struct scanned *value)
{
    if (!is_number(value)) {
        return ingest_set_text(parser, column, value); /* NaN, Infinity, or a reject */
    }
    return ingest_set_number(parser, column, value);
}

/* Text of RFC 3339 has a dash in fifth place, where a number of microseconds has none. */
static bool set_time(struct row_parser *parser, uint32_t column, struct scanned *value)
{
    enum timestamp_kind kind = parser->formats[column].kind;
    bool may_be_number = kind == TIMESTAMP_EPOCH ||
                         (kind == TIMESTAMP_DEFAULT && (value->end - value->start < 5 || value->start[4] != '-'));
    return may_be_number ? set_number(parser, column, value) : ingest_set_text(parser, column, value);
}

static bool set_json(struct row_parser *parser, uint32_t column, const struct scanned *value)
{
    static const char null[] = "null";
    const uint8_t *row_end = parser->end;
    const uint8_t *readable_end = parser->readable_end;
    const uint8_t *field_end = parser->field_end;
    parser->end = value->end;
    parser->readable_end = value->end + 1; /* the value may lie outside the row */
    parser->field_end = NULL;
    const uint8_t *start = row_skip_space(parser, value->start);
    const uint8_t *stop = ingest_skip_value(parser, (int)column, start);
    const uint8_t *behind = stop == NULL ? NULL : row_skip_space(parser, stop);
    if (behind != NULL && behind < value->end) {
        behind = ingest_bad_value(parser, (int)column, "the end of the field", behind);
    }
    parser->end = row_end;
    parser->readable_end = readable_end;
    parser->field_end = field_end;
    if (behind == NULL) {
        return false;
    }
    size_t length = (size_t)(stop - start);
    if (length == sizeof null - 1 && memcmp(start, null, length) == 0) {
        return parser->schema->columns[column].nullable ||
               ingest_bad_value(parser, (int)column, "a value", value->shown);
    }
    enum err_code code = batch_set_variable(parser->batch, column, start, length, parser->err);
    return code == OK || ingest_failed(parser, code) != NULL;
}

static bool set_string(const struct csv *csv, struct row_parser *parser, uint32_t column, const struct csv_field *field)
{
    size_t length = (size_t)(field->end - field->start);
    if (field->is_high && !ingest_string_check_utf8(parser, (int)column, field->start, length)) {
        return false;
    }
    if (!field->is_mixed) {
        return ingest_string_store(parser, column, field->start, length);
    }
    enum err_code code = batch_reserve_data(parser->batch, column, length, parser->err);
    if (code != OK) {
        return ingest_failed(parser, code) != NULL;
    }
    batch_set_written(parser->batch, column, ingest_csv_unquote(csv, field, batch_data_end(parser->batch, column)));
    return true;
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t';
}

/* What the field says, without what is around it. */
static bool find_value(const struct csv *csv, struct row_parser *parser, const struct csv_field *field,
                       struct scanned *out)
{
    *out = (struct scanned){.start = field->start, .end = field->end, .shown = field->start};
    if (UNLIKELY(field->is_mixed)) {
        size_t length = (size_t)(field->end - field->start);
        buf_clear(&parser->unquoted);
        enum err_code code = buf_reserve(&parser->unquoted, length + 1, parser->err);
        if (code != OK) {
            return ingest_failed(parser, code) != NULL;
        }
        out->start = parser->unquoted.data;
        out->end = out->start + ingest_csv_unquote(csv, field, parser->unquoted.data);
        parser->unquoted.data[out->end - out->start] = '\0';
    }
    if (csv->is_lenient) {
        while (out->start < out->end && is_blank(*out->start)) {
            out->start++;
        }
        while (out->start < out->end && is_blank(out->end[-1])) {
            out->end--;
        }
    }
    return true;
}

static bool is_null(const struct csv *csv, const struct csv_field *field)
{
    return !field->is_quoted && (size_t)(field->end - field->start) == csv->null_bytes &&
           memcmp(field->start, csv->null_text, csv->null_bytes) == 0;
}

bool ingest_csv_set(const struct csv *csv, struct row_parser *parser, uint32_t column, const struct csv_field *field)
{
    const struct schema_column *definition = &parser->schema->columns[column];
    struct scanned value;
    parser->field_end = field->end;
    if (is_null(csv, field)) { /* a column that is not set becomes null */
        return definition->nullable || ingest_bad(parser, (int)column, "expected a value but found none") != NULL;
    }
    if (definition->type == COLUMN_STRING) {
        return set_string(csv, parser, column, field);
    }
    if (!find_value(csv, parser, field, &value)) {
        return false;
    }
    if (csv->is_lenient && value.start == value.end && definition->nullable) {
        return true; /* nothing is no value of any of these types */
    }
    switch (definition->type) {
    case COLUMN_BOOL: return set_bool(parser, column, &value);
    case COLUMN_INT32:
    case COLUMN_INT64:
    case COLUMN_FLOAT:
    case COLUMN_DOUBLE:
    case COLUMN_DECIMAL: return set_number(parser, column, &value);
    case COLUMN_TIMESTAMP: return set_time(parser, column, &value);
    case COLUMN_JSON: return set_json(parser, column, &value);
    case COLUMN_BYTES:
    case COLUMN_DATE:
    case COLUMN_UUID: return ingest_set_text(parser, column, &value);
    case COLUMN_STRING:
    case COLUMN_TYPE_COUNT: break;
    }
    (void)ingest_bad_type(parser, column, value.shown);
    return false;
}
