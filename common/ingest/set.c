/* A value that was read, as a number or as text, into its column: what JSON and CSV have in common. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <strings.h>

#include "common/ingest/internal.h"

static const char date_expected[] = "a date such as \"2026-11-30\"";

static bool refuse(struct row_parser *parser, uint32_t column, const char *expected, const uint8_t *shown)
{
    (void)ingest_bad_value(parser, (int)column, expected, shown);
    return false;
}

static bool give_up(struct row_parser *parser, enum err_code code)
{
    (void)ingest_failed(parser, code);
    return false;
}

/* --- numbers ------------------------------------------------------------------------------------------------------ */

static bool set_integer(struct row_parser *parser, uint32_t column, const struct scanned *value, int64_t min,
                        int64_t max, int64_t *out)
{
    enum number_fit fit = number_to_scaled(&value->number, 0, INT64_MAX, out);
    if (fit == NUMBER_NEEDS_ROUNDING) {
        return refuse(parser, column, "an integer", value->shown);
    }
    if (fit == NUMBER_OUT_OF_RANGE || *out < min || *out > max) {
        char expected[80];
        (void)snprintf(expected, sizeof expected, "an integer from %" PRId64 " to %" PRId64, min, max);
        return refuse(parser, column, expected, value->shown);
    }
    return true;
}

static bool set_double(struct row_parser *parser, uint32_t column, const struct scanned *value)
{
    double number;
    enum err_code code = number_to_double(&value->number, value->start, value->end, &number, parser->err);
    if (code != OK) {
        return give_up(parser, code);
    }
    if (isinf(number)) {
        return refuse(parser, column, "a number within the range of a double", value->shown);
    }
    batch_set_double(parser->batch, column, number);
    return true;
}

static bool set_float(struct row_parser *parser, uint32_t column, const struct scanned *value)
{
    float number;
    enum err_code code = number_to_float(&value->number, value->start, value->end, &number, parser->err);
    if (code != OK) {
        return give_up(parser, code);
    }
    if (isinf(number)) {
        return refuse(parser, column, "a number within the range of a float", value->shown);
    }
    batch_set_float(parser->batch, column, number);
    return true;
}

static bool set_decimal(struct row_parser *parser, uint32_t column, const struct scanned *value)
{
    const struct schema_column *definition = &parser->schema->columns[column];
    int64_t unscaled;
    enum number_fit fit =
        number_to_scaled(&value->number, definition->scale, number_power_of_ten(definition->precision) - 1, &unscaled);
    if (fit != NUMBER_FITS) {
        char type[COLUMN_TYPE_TEXT_BYTES];
        char expected[COLUMN_TYPE_TEXT_BYTES + 48];
        (void)snprintf(expected, sizeof expected,
                       fit == NUMBER_NEEDS_ROUNDING ? "a %s without rounding" : "a number within the range of %s",
                       column_type_format(definition, type));
        return refuse(parser, column, expected, value->shown);
    }
    batch_set_i64(parser->batch, column, unscaled);
    return true;
}

/* --- times -------------------------------------------------------------------------------------------------------- */

static bool bad_time(struct row_parser *parser, uint32_t column, enum clock_fault fault, const uint8_t *shown)
{
    char text[TIMESTAMP_EXPECTED_BYTES];
    const char *expected = timestamp_expected(&parser->formats[column], fault, text);
    return refuse(parser, column, expected, shown);
}

static bool set_time(struct row_parser *parser, uint32_t column, int64_t time_us, const uint8_t *shown)
{
    const struct ingest_limits *limits = parser->limits;
    if (UNLIKELY(column == parser->schema->timestamp_column &&
                 (time_us < limits->min_timestamp_us || time_us > limits->max_timestamp_us))) {
        char expected[INGEST_WINDOW_BYTES];
        return refuse(parser, column, ingest_window(limits, expected), shown);
    }
    batch_set_i64(parser->batch, column, time_us);
    return true;
}

const char *ingest_window(const struct ingest_limits *limits, char text[INGEST_WINDOW_BYTES])
{
    char min[CLOCK_TEXT_BYTES];
    char max[CLOCK_TEXT_BYTES];
    (void)snprintf(text, INGEST_WINDOW_BYTES, "a time from %s to %s", clock_format(limits->min_timestamp_us, min),
                   clock_format(limits->max_timestamp_us, max));
    return text;
}

static bool set_time_text(struct row_parser *parser, uint32_t column, const struct scanned *value)
{
    int64_t time_us;
    enum clock_fault fault = timestamp_parse(&parser->formats[column], (const char *)value->start,
                                             (size_t)(value->end - value->start), &time_us);
    return fault == CLOCK_FAULT_NONE ? set_time(parser, column, time_us, value->shown)
                                     : bad_time(parser, column, fault, value->shown);
}

static bool set_time_number(struct row_parser *parser, uint32_t column, const struct scanned *value)
{
    int64_t time_us;
    enum clock_fault fault = timestamp_from_number(&parser->formats[column], &value->number, &time_us);
    return fault == CLOCK_FAULT_NONE ? set_time(parser, column, time_us, value->shown)
                                     : bad_time(parser, column, fault, value->shown);
}

static bool set_date(struct row_parser *parser, uint32_t column, const struct scanned *value)
{
    enum { DATE_BYTES = 10 };
    const struct timestamp_format *format = &parser->formats[column];
    size_t length = (size_t)(value->end - value->start);
    int64_t time_us;
    enum clock_fault fault = format->kind == TIMESTAMP_DEFAULT && length != DATE_BYTES
                                 ? CLOCK_FAULT_FORM
                                 : timestamp_parse(format, (const char *)value->start, length, &time_us);
    if (fault == CLOCK_FAULT_NONE) {
        /* midnights only: the division is exact */
        batch_set_i32(parser->batch, column, (int32_t)(time_us / CLOCK_DAY_US));
        return true;
    }
    return format->kind == TIMESTAMP_DEFAULT ? refuse(parser, column, date_expected, value->shown)
                                             : bad_time(parser, column, fault, value->shown);
}

/* --- other text ---------------------------------------------------------------------------------------------------- */

static bool set_uuid(struct row_parser *parser, uint32_t column, const struct scanned *value)
{
    struct uuid uuid;
    if (uuid_parse((const char *)value->start, (size_t)(value->end - value->start), &uuid, NULL) != OK) {
        return refuse(parser, column, "a UUID", value->shown);
    }
    batch_set_uuid(parser->batch, column, &uuid);
    return true;
}

static bool set_bytes(struct row_parser *parser, uint32_t column, const struct scanned *value)
{
    size_t length = (size_t)(value->end - value->start);
    enum err_code code = batch_reserve_data(parser->batch, column, length, parser->err);
    if (code != OK) {
        return give_up(parser, code);
    }
    if (!ingest_string_decode_base64(value->start, length, batch_data_end(parser->batch, column), &length)) {
        return refuse(parser, column, "bytes in padded base64", value->shown);
    }
    batch_set_written(parser->batch, column, length);
    return true;
}

/* What has no digits: the names that scan answers and most programs write. */
static bool find_special(const struct scanned *value, double *out)
{
    static const struct {
        const char *name;
        double value;
    } specials[] = {{"NaN", NAN},      {"Infinity", INFINITY}, {"-Infinity", -INFINITY}, {"+Infinity", INFINITY},
                    {"inf", INFINITY}, {"-inf", -INFINITY},    {"+inf", INFINITY}};
    size_t length = (size_t)(value->end - value->start);
    for (size_t i = 0; i < sizeof specials / sizeof specials[0]; i++) {
        if (strlen(specials[i].name) == length &&
            strncasecmp(specials[i].name, (const char *)value->start, length) == 0) {
            *out = specials[i].value;
            return true;
        }
    }
    return false;
}

static bool set_special(struct row_parser *parser, uint32_t column, const struct scanned *value, bool is_float)
{
    double number;
    if (!find_special(value, &number)) {
        return refuse(parser, column, "a number", value->shown);
    }
    if (is_float) {
        batch_set_float(parser->batch, column, (float)number);
    } else {
        batch_set_double(parser->batch, column, number);
    }
    return true;
}

/* --- by type ------------------------------------------------------------------------------------------------------ */

static const char *expected_of(const struct row_parser *parser, uint32_t column, char text[TIMESTAMP_EXPECTED_BYTES])
{
    switch (parser->schema->columns[column].type) {
    case COLUMN_BOOL: return "true or false";
    case COLUMN_INT32:
    case COLUMN_INT64: return "an integer";
    case COLUMN_FLOAT:
    case COLUMN_DOUBLE: return "a number";
    case COLUMN_DECIMAL: return "a decimal number";
    case COLUMN_DATE: return date_expected;
    case COLUMN_UUID: return "a UUID";
    case COLUMN_BYTES: return "bytes in base64";
    case COLUMN_STRING: return "a string";
    case COLUMN_JSON: return "a JSON value";
    case COLUMN_TIMESTAMP: return timestamp_expected(&parser->formats[column], CLOCK_FAULT_FORM, text);
    case COLUMN_TYPE_COUNT: break;
    }
    return "a value";
}

const uint8_t *ingest_bad_type(struct row_parser *parser, uint32_t column, const uint8_t *shown)
{
    char text[TIMESTAMP_EXPECTED_BYTES];
    return ingest_bad_value(parser, (int)column, expected_of(parser, column, text), shown);
}

bool ingest_set_number(struct row_parser *parser, uint32_t column, const struct scanned *value)
{
    int64_t integer;
    switch (parser->schema->columns[column].type) {
    case COLUMN_INT32:
        if (!set_integer(parser, column, value, INT32_MIN, INT32_MAX, &integer)) {
            return false;
        }
        batch_set_i32(parser->batch, column, (int32_t)integer);
        return true;
    case COLUMN_INT64:
        if (!set_integer(parser, column, value, INT64_MIN, INT64_MAX, &integer)) {
            return false;
        }
        batch_set_i64(parser->batch, column, integer);
        return true;
    case COLUMN_FLOAT: return set_float(parser, column, value);
    case COLUMN_DOUBLE: return set_double(parser, column, value);
    case COLUMN_DECIMAL: return set_decimal(parser, column, value);
    case COLUMN_TIMESTAMP: return set_time_number(parser, column, value);
    case COLUMN_BOOL:
    case COLUMN_STRING:
    case COLUMN_BYTES:
    case COLUMN_DATE:
    case COLUMN_UUID:
    case COLUMN_JSON:
    case COLUMN_TYPE_COUNT: break;
    }
    (void)ingest_bad_type(parser, column, value->shown);
    return false;
}

bool ingest_set_text(struct row_parser *parser, uint32_t column, const struct scanned *value)
{
    switch (parser->schema->columns[column].type) {
    case COLUMN_TIMESTAMP: return set_time_text(parser, column, value);
    case COLUMN_DATE: return set_date(parser, column, value);
    case COLUMN_UUID: return set_uuid(parser, column, value);
    case COLUMN_BYTES: return set_bytes(parser, column, value);
    case COLUMN_FLOAT: return set_special(parser, column, value, true);
    case COLUMN_DOUBLE: return set_special(parser, column, value, false);
    case COLUMN_BOOL:
    case COLUMN_INT32:
    case COLUMN_INT64:
    case COLUMN_STRING:
    case COLUMN_DECIMAL:
    case COLUMN_JSON:
    case COLUMN_TYPE_COUNT: break;
    }
    (void)ingest_bad_type(parser, column, value->shown);
    return false;
}
