#include "common/rows/predicate_literal.h"

#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/rows/number.h"

enum { SHOWN_BYTES = 64 };

static enum err_code wrong(const struct schema_column *column, const struct literal_text *from, const char *expected,
                           struct error *err)
{
    char type[COLUMN_TYPE_TEXT_BYTES];
    const char *quote = from->is_quoted ? "'" : "";
    return err_set(err, ERR_INVALID, "expected %s for column \"%s\" of type %s but found %s%.*s%s", expected,
                   column->name, column_type_format(column, type), quote,
                   (int)(from->length < SHOWN_BYTES ? from->length : SHOWN_BYTES), from->text, quote);
}

/* The whole text as a number. */
static bool scan_number(const struct literal_text *from, struct number *out, const uint8_t **out_end)
{
    const uint8_t *text = (const uint8_t *)from->text;
    if (from->length == 0) {
        return false;
    }
    *out_end = number_scan(text, out);
    return *out_end == text + from->length;
}

static bool is_word(const struct literal_text *from, const char *word)
{
    return !from->is_quoted && from->length == strlen(word) && strncasecmp(from->text, word, from->length) == 0;
}

static enum err_code parse_bool(const struct schema_column *column, const struct literal_text *from,
                                struct literal *out, struct error *err)
{
    bool is_true = is_word(from, "true");
    if (!is_true && !is_word(from, "false")) {
        return wrong(column, from, "true or false", err);
    }
    out->integer = is_true;
    return OK;
}

static enum err_code parse_integer(const struct schema_column *column, const struct literal_text *from,
                                   struct literal *out, struct error *err)
{
    struct number number;
    const uint8_t *end;
    if (from->is_quoted || !scan_number(from, &number, &end) ||
        number_to_scaled(&number, 0, INT64_MAX, &out->integer) != NUMBER_FITS) {
        return wrong(column, from, "an integer of at most 64 bits", err);
    }
    return OK;
}

/* Rows hold microseconds: what lies between two of them would have to be rounded, and then means another row. */
static bool is_between_microseconds(const struct literal_text *from)
{
    enum { MICROSECOND_DIGITS = 6 };
    const char *point = memchr(from->text, '.', from->length);
    const char *end = from->text + from->length;
    const char *at = point == NULL ? end : point + 1;
    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        if (at - point > MICROSECOND_DIGITS && *at != '0') {
            return true;
        }
    }
    return false;
}

static enum err_code parse_time(const struct schema_column *column, const struct literal_text *from,
                                struct literal *out, struct error *err)
{
    if (!from->is_quoted) {
        return parse_integer(column, from, out, err);
    }
    enum clock_fault fault = clock_scan(from->text, from->length, &out->integer);
    const char *expected = fault == CLOCK_FAULT_FORM ? "a time such as '2026-11-30T01:02:03Z' or whole microseconds"
                                                     : clock_fault_expected(fault);
    if (fault == CLOCK_FAULT_NONE && is_between_microseconds(from)) {
        return wrong(column, from, "a time in whole microseconds", err);
    }
    return fault == CLOCK_FAULT_NONE ? OK : wrong(column, from, expected, err);
}

static enum err_code parse_date(const struct schema_column *column, const struct literal_text *from,
                                struct literal *out, struct error *err)
{
    enum { DATE_BYTES = 10 };
    int64_t time_us;
    if (!from->is_quoted || from->length != DATE_BYTES ||
        clock_scan(from->text, from->length, &time_us) != CLOCK_FAULT_NONE) {
        return wrong(column, from, "a date such as '2026-11-30'", err);
    }
    out->integer = time_us / CLOCK_DAY_US;
    return OK;
}

/* Beyond the column's precision is well: such a literal just matches nothing, or everything. */
static enum err_code parse_decimal(const struct schema_column *column, const struct literal_text *from,
                                   struct literal *out, struct error *err)
{
    struct number number;
    const uint8_t *end;
    if (!scan_number(from, &number, &end) ||
        number_to_scaled(&number, column->scale, INT64_MAX, &out->integer) != NUMBER_FITS) {
        return wrong(column, from, "a number that needs no rounding", err);
    }
    return OK;
}

static enum err_code parse_real(const struct schema_column *column, const struct literal_text *from,
                                struct literal *out, struct error *err)
{
    struct number number;
    const uint8_t *end;
    if (from->is_quoted || !scan_number(from, &number, &end)) {
        return wrong(column, from, "a number", err);
    }
    if (column->type == COLUMN_FLOAT) {
        float value;
        TRY(number_to_float(&number, (const uint8_t *)from->text, end, &value, err));
        out->real = (double)value;
        return OK;
    }
    return number_to_double(&number, (const uint8_t *)from->text, end, &out->real, err);
}

static enum err_code parse_uuid(const struct schema_column *column, const struct literal_text *from,
                                struct arena *arena, struct literal *out, struct error *err)
{
    struct uuid *uuid = arena_alloc(arena, sizeof *uuid);
    if (uuid == NULL) {
        return err_no_memory(err, sizeof *uuid);
    }
    if (!from->is_quoted || uuid_parse(from->text, from->length, uuid, NULL) != OK) {
        return wrong(column, from, "a UUID in quotes", err);
    }
    out->bytes = uuid->bytes;
    out->length = sizeof uuid->bytes;
    return OK;
}

static enum err_code parse_bytes(const struct schema_column *column, const struct literal_text *from,
                                 struct arena *arena, struct literal *out, struct error *err)
{
    size_t length = from->length / 2;
    uint8_t *bytes = arena_alloc(arena, length + 1);
    if (bytes == NULL) {
        return err_no_memory(err, length);
    }
    if (!from->is_quoted || !text_hex_decode(from->text, from->length, bytes, length)) {
        return wrong(column, from, "bytes in hex, in quotes,", err);
    }
    out->bytes = bytes;
    out->length = length;
    return OK;
}

static enum err_code parse_text(const struct schema_column *column, const struct literal_text *from,
                                struct literal *out, struct error *err)
{
    if (!from->is_quoted) {
        return wrong(column, from, "a text in quotes", err);
    }
    out->bytes = (const uint8_t *)from->text;
    out->length = from->length;
    return OK;
}

enum err_code predicate_literal_parse(const struct schema_column *column, const struct literal_text *from,
                                      struct arena *arena, struct literal *out, struct error *err)
{
    switch (column->type) {
    case COLUMN_BOOL: return parse_bool(column, from, out, err);
    case COLUMN_INT32:
    case COLUMN_INT64: return parse_integer(column, from, out, err);
    case COLUMN_FLOAT:
    case COLUMN_DOUBLE: return parse_real(column, from, out, err);
    case COLUMN_TIMESTAMP: return parse_time(column, from, out, err);
    case COLUMN_DATE: return parse_date(column, from, out, err);
    case COLUMN_DECIMAL: return parse_decimal(column, from, out, err);
    case COLUMN_UUID: return parse_uuid(column, from, arena, out, err);
    case COLUMN_BYTES: return parse_bytes(column, from, arena, out, err);
    case COLUMN_STRING:
    case COLUMN_JSON: return parse_text(column, from, out, err);
    case COLUMN_TYPE_COUNT: break;
    }
    return wrong(column, from, "a known type", err);
}
