/* One JSON value into its column. */
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

static const uint8_t *parse_number(struct row_parser *parser, uint32_t column, const uint8_t *p)
{
    struct scanned value = {.start = p, .shown = p};
    value.end = is_number_start(*p) ? number_scan(p, &value.number) : NULL;
    if (UNLIKELY(value.end == NULL)) {
        return ingest_bad_type(parser, column, p);
    }
    return ingest_set_number(parser, column, &value) ? value.end : NULL;
}

/* Text that stands for something else. */
static const uint8_t *parse_text(struct row_parser *parser, uint32_t column, const uint8_t *p)
{
    struct scanned value = {.shown = p};
    size_t length;
    const uint8_t *next = ingest_string_parse(parser, (int)column, p + 1, &value.start, &length);
    if (UNLIKELY(next == NULL)) {
        return NULL;
    }
    value.end = value.start + length;
    if (parser->schema->columns[column].type != COLUMN_DECIMAL) {
        return ingest_set_text(parser, column, &value) ? next : NULL;
    }
    if (length == 0 || number_scan(value.start, &value.number) != value.end) {
        return ingest_bad_type(parser, column, p);
    }
    return ingest_set_number(parser, column, &value) ? next : NULL;
}

static const uint8_t *parse_only_text(struct row_parser *parser, uint32_t column, const uint8_t *p)
{
    return *p == '"' ? parse_text(parser, column, p) : ingest_bad_type(parser, column, p);
}

static const uint8_t *parse_string(struct row_parser *parser, uint32_t column, const uint8_t *p)
{
    return *p == '"' ? ingest_string_parse_into(parser, column, p + 1)
                     : ingest_bad_value(parser, (int)column, "a string", p);
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
    case COLUMN_INT32:
    case COLUMN_INT64: return parse_number(parser, column, p);
    case COLUMN_FLOAT:
    case COLUMN_DOUBLE:
    case COLUMN_TIMESTAMP:
    case COLUMN_DECIMAL: return *p == '"' ? parse_text(parser, column, p) : parse_number(parser, column, p);
    case COLUMN_STRING: return parse_string(parser, column, p);
    case COLUMN_BYTES:
    case COLUMN_DATE:
    case COLUMN_UUID: return parse_only_text(parser, column, p);
    case COLUMN_JSON: return parse_json(parser, column, p);
    case COLUMN_TYPE_COUNT: break;
    }
    return ingest_bad(parser, (int)column, "expected a known column type");
}
