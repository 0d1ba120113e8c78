/* One value into its column. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "common/base/clock.h"
#include "common/ingest/internal.h"

static bool is_number_start(uint8_t c)
{
    return c == '-' || (uint8_t)(c - '0') <= 9;
}

static const uint8_t *parse_word(struct row_parser *parser, const uint8_t *p, const char *word, size_t length)
{
    return (size_t)(parser->end - p) >= length && memcmp(p, word, length) == 0 ? p + length : NULL;
}

static const uint8_t *parse_bool(struct row_parser *parser, uint32_t column, const uint8_t *p)
{
    const uint8_t *next = parse_word(parser, p, "true", 4);
    bool value = next != NULL;
    if (next == NULL) {
        next = parse_word(parser, p, "false", 5);
    }
    if (next == NULL) {
        return ingest_bad_value(parser, (int)column, "true or false", p);
    }
    batch_set_bool(parser->batch, column, value);
    return next;
}

/* An integer from `min` to `max`, written in any way that is one: 3, 3.0, 30e-1. */
static const uint8_t *parse_integer(struct row_parser *parser, uint32_t column, const uint8_t *p, int64_t min,
                                    int64_t max, int64_t *out)
{
    struct number number;
    const uint8_t *next = is_number_start(*p) ? number_scan(p, &number) : NULL;
    if (next == NULL) {
        return ingest_bad_value(parser, (int)column, "an integer", p);
    }
    enum number_fit fit = number_to_scaled(&number, 0, INT64_MAX, out);
    if (fit == NUMBER_NEEDS_ROUNDING) {
        return ingest_bad_value(parser, (int)column, "an integer", p);
    }
    if (fit == NUMBER_OUT_OF_RANGE || *out < min || *out > max) {
        char expected[80];
        (void)snprintf(expected, sizeof expected, "an integer from %" PRId64 " to %" PRId64, min, max);
        return ingest_bad_value(parser, (int)column, expected, p);
    }
    return next;
}

static const uint8_t *parse_int32(struct row_parser *parser, uint32_t column, const uint8_t *p)
{
    int64_t value;
    p = parse_integer(parser, column, p, INT32_MIN, INT32_MAX, &value);
    if (p != NULL) {
        batch_set_i32(parser->batch, column, (int32_t)value);
    }
    return p;
}

static const uint8_t *parse_int64(struct row_parser *parser, uint32_t column, const uint8_t *p)
{
    int64_t value;
    p = parse_integer(parser, column, p, INT64_MIN, INT64_MAX, &value);
    if (p != NULL) {
        batch_set_i64(parser->batch, column, value);
    }
    return p;
}

static const uint8_t *parse_double(struct row_parser *parser, uint32_t column, const uint8_t *p)
{
    struct number number;
    double value;
    const uint8_t *next = is_number_start(*p) ? number_scan(p, &number) : NULL;
    if (next == NULL) {
        return ingest_bad_value(parser, (int)column, "a number", p);
    }
    enum err_code code = number_to_double(&number, p, next, &value, parser->err);
    if (code != OK) {
        return ingest_failed(parser, code);
    }
    if (isinf(value)) {
        return ingest_bad_value(parser, (int)column, "a number within the range of a double", p);
    }
    batch_set_double(parser->batch, column, value);
    return next;
}

static const uint8_t *parse_float(struct row_parser *parser, uint32_t column, const uint8_t *p)
{
    struct number number;
    float value;
    const uint8_t *next = is_number_start(*p) ? number_scan(p, &number) : NULL;
    if (next == NULL) {
        return ingest_bad_value(parser, (int)column, "a number", p);
    }
    enum err_code code = number_to_float(&number, p, next, &value, parser->err);
    if (code != OK) {
        return ingest_failed(parser, code);
    }
    if (isinf(value)) {
        return ingest_bad_value(parser, (int)column, "a number within the range of a float", p);
    }
    batch_set_float(parser->batch, column, value);
    return next;
}

static const uint8_t *set_timestamp(struct row_parser *parser, uint32_t column, const uint8_t *p, int64_t time_us,
                                    const uint8_t *next)
{
    const struct ingest_limits *limits = parser->limits;
    if (column == parser->schema->timestamp_column &&
        (time_us < limits->min_timestamp_us || time_us > limits->max_timestamp_us)) {
        char min[CLOCK_TEXT_BYTES];
        char max[CLOCK_TEXT_BYTES];
        char expected[2 * CLOCK_TEXT_BYTES + 24];
        (void)snprintf(expected, sizeof expected, "a time from %s to %s", clock_format(limits->min_timestamp_us, min),
                       clock_format(limits->max_timestamp_us, max));
        return ingest_bad_value(parser, (int)column, expected, p);
    }
    batch_set_i64(parser->batch, column, time_us);
    return next;
}

static const uint8_t *parse_timestamp(struct row_parser *parser, uint32_t column, const uint8_t *p)
{
    static const char expected[] = "a time in RFC 3339 or whole microseconds";
    int64_t time_us;
    if (*p == '"') {
        const uint8_t *text;
        size_t length;
        const uint8_t *next = ingest_string_parse(parser, (int)column, p + 1, &text, &length);
        if (next == NULL) {
            return NULL;
        }
        if (clock_parse((const char *)text, length, &time_us, NULL) != OK) {
            return ingest_bad_value(parser, (int)column, expected, p);
        }
        return set_timestamp(parser, column, p, time_us, next);
    }
    if (!is_number_start(*p)) {
        return ingest_bad_value(parser, (int)column, expected, p);
    }
    const uint8_t *next = parse_integer(parser, column, p, INT64_MIN, INT64_MAX, &time_us);
    return next == NULL ? NULL : set_timestamp(parser, column, p, time_us, next);
}

static const uint8_t *parse_date(struct row_parser *parser, uint32_t column, const uint8_t *p)
{
    enum { DATE_BYTES = 10 };
    const uint8_t *text;
    size_t length;
    int64_t time_us;
    if (*p != '"') {
        return ingest_bad_value(parser, (int)column, "a date such as \"2026-11-30\"", p);
    }
    const uint8_t *next = ingest_string_parse(parser, (int)column, p + 1, &text, &length);
    if (next == NULL) {
        return NULL;
    }
    if (length != DATE_BYTES || clock_parse((const char *)text, length, &time_us, NULL) != OK) {
        return ingest_bad_value(parser, (int)column, "a date such as \"2026-11-30\"", p);
    }
    batch_set_i32(parser->batch, column, (int32_t)(time_us / CLOCK_DAY_US));
    return next;
}

static uint64_t power_of_ten(unsigned exponent)
{
    uint64_t power = 1;
    while (exponent-- > 0) {
        power *= 10;
    }
    return power;
}

static const uint8_t *set_decimal(struct row_parser *parser, uint32_t column, const uint8_t *p,
                                  const struct number *number, const uint8_t *next)
{
    const struct schema_column *definition = &parser->schema->columns[column];
    int64_t value;
    enum number_fit fit = number_to_scaled(number, definition->scale, power_of_ten(definition->precision) - 1, &value);
    if (fit != NUMBER_FITS) {
        char type[COLUMN_TYPE_TEXT_BYTES];
        char expected[COLUMN_TYPE_TEXT_BYTES + 48];
        (void)snprintf(expected, sizeof expected,
                       fit == NUMBER_NEEDS_ROUNDING ? "a %s without rounding" : "a number within the range of %s",
                       column_type_format(definition, type));
        return ingest_bad_value(parser, (int)column, expected, p);
    }
    batch_set_i64(parser->batch, column, value);
    return next;
}

static const uint8_t *parse_decimal(struct row_parser *parser, uint32_t column, const uint8_t *p)
{
    struct number number;
    if (*p != '"') {
        const uint8_t *next = is_number_start(*p) ? number_scan(p, &number) : NULL;
        return next == NULL ? ingest_bad_value(parser, (int)column, "a decimal number", p)
                            : set_decimal(parser, column, p, &number, next);
    }
    const uint8_t *text;
    size_t length;
    const uint8_t *next = ingest_string_parse(parser, (int)column, p + 1, &text, &length);
    if (next == NULL) {
        return NULL;
    }
    /* The scan stops at the closing quote; a text with escapes has none and is no number. */
    const uint8_t *end = text == p + 1 && length > 0 && is_number_start(*text) ? number_scan(text, &number) : NULL;
    return end != text + length || end == NULL ? ingest_bad_value(parser, (int)column, "a decimal number", p)
                                               : set_decimal(parser, column, p, &number, next);
}

static const uint8_t *parse_uuid(struct row_parser *parser, uint32_t column, const uint8_t *p)
{
    const uint8_t *text;
    size_t length;
    struct uuid uuid;
    if (*p != '"') {
        return ingest_bad_value(parser, (int)column, "a UUID", p);
    }
    const uint8_t *next = ingest_string_parse(parser, (int)column, p + 1, &text, &length);
    if (next == NULL) {
        return NULL;
    }
    if (uuid_parse((const char *)text, length, &uuid, NULL) != OK) {
        return ingest_bad_value(parser, (int)column, "a UUID", p);
    }
    batch_set_uuid(parser->batch, column, &uuid);
    return next;
}

static const uint8_t *parse_string(struct row_parser *parser, uint32_t column, const uint8_t *p)
{
    return *p == '"' ? ingest_string_parse_into(parser, column, p + 1)
                     : ingest_bad_value(parser, (int)column, "a string", p);
}

static const uint8_t *parse_bytes(struct row_parser *parser, uint32_t column, const uint8_t *p)
{
    const uint8_t *text;
    size_t length;
    if (*p != '"') {
        return ingest_bad_value(parser, (int)column, "bytes in base64", p);
    }
    const uint8_t *next = ingest_string_parse(parser, (int)column, p + 1, &text, &length);
    if (next == NULL) {
        return NULL;
    }
    enum err_code code = batch_reserve_data(parser->batch, column, length, parser->err);
    if (code != OK) {
        return ingest_failed(parser, code);
    }
    if (!ingest_string_decode_base64(text, length, batch_data_end(parser->batch, column), &length)) {
        return ingest_bad_value(parser, (int)column, "bytes in padded base64", p);
    }
    batch_set_written(parser->batch, column, length);
    return next;
}

static const uint8_t *parse_json(struct row_parser *parser, uint32_t column, const uint8_t *p)
{
    const uint8_t *next = ingest_skip_value(parser, (int)column, p);
    if (next == NULL) {
        return NULL;
    }
    enum err_code code = batch_set_variable(parser->batch, column, p, (size_t)(next - p), parser->err);
    return code == OK ? next : ingest_failed(parser, code);
}

const uint8_t *ingest_value_parse(struct row_parser *parser, uint32_t column, const uint8_t *p)
{
    const struct schema_column *definition = &parser->schema->columns[column];
    if (UNLIKELY(*p == 'n')) {
        const uint8_t *next = parse_word(parser, p, "null", 4);
        if (next == NULL || !definition->nullable) {
            return ingest_bad_value(parser, (int)column, "a value", p);
        }
        return next; /* a column that is not set becomes null */
    }
    if (p >= parser->end) {
        return ingest_bad_value(parser, (int)column, "a value", p);
    }
    switch (definition->type) {
    case COLUMN_BOOL: return parse_bool(parser, column, p);
    case COLUMN_INT32: return parse_int32(parser, column, p);
    case COLUMN_INT64: return parse_int64(parser, column, p);
    case COLUMN_FLOAT: return parse_float(parser, column, p);
    case COLUMN_DOUBLE: return parse_double(parser, column, p);
    case COLUMN_STRING: return parse_string(parser, column, p);
    case COLUMN_BYTES: return parse_bytes(parser, column, p);
    case COLUMN_TIMESTAMP: return parse_timestamp(parser, column, p);
    case COLUMN_DATE: return parse_date(parser, column, p);
    case COLUMN_DECIMAL: return parse_decimal(parser, column, p);
    case COLUMN_UUID: return parse_uuid(parser, column, p);
    case COLUMN_JSON: return parse_json(parser, column, p);
    case COLUMN_TYPE_COUNT: break;
    }
    return ingest_bad(parser, (int)column, "expected a known column type");
}
