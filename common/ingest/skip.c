#include "common/ingest/internal.h"

/* How deep the stack of this thread may go, whatever the limits say. */
enum { DEEPEST = 1000 };

static const uint8_t *skip_string(struct row_parser *parser, int column, const uint8_t *p)
{
    const uint8_t *text;
    size_t length;
    return ingest_string_parse(parser, column, p, &text, &length);
}

static const uint8_t *skip_word(struct row_parser *parser, int column, const uint8_t *p)
{
    static const struct {
        const char *text;
        size_t length;
    } words[] = {{"true", 4}, {"false", 5}, {"null", 4}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if ((size_t)(parser->end - p) >= words[i].length && memcmp(p, words[i].text, words[i].length) == 0) {
            return p + words[i].length;
        }
    }
    return ingest_bad_value(parser, column, "a JSON value", p);
}

static const uint8_t *skip_nested(struct row_parser *parser, int column, const uint8_t *p, uint32_t depth);

/* "name" : behind which a value follows. */
static const uint8_t *skip_name(struct row_parser *parser, int column, const uint8_t *p)
{
    if (*p != '"' || p >= parser->end) {
        return ingest_bad_value(parser, column, "a name in quotes", p);
    }
    p = skip_string(parser, column, p + 1);
    if (p == NULL) {
        return NULL;
    }
    p = row_skip_space(parser, p);
    return *p == ':' && p < parser->end ? row_skip_space(parser, p + 1) : ingest_bad_value(parser, column, "\":\"", p);
}

static const uint8_t *skip_container(struct row_parser *parser, int column, const uint8_t *p, uint32_t depth)
{
    bool is_object = *p == '{';
    uint8_t close = is_object ? '}' : ']';
    uint32_t deepest = parser->limits->max_depth < DEEPEST ? parser->limits->max_depth : DEEPEST;
    if (depth >= deepest) {
        return ingest_bad(parser, column, "expected at most %u levels of nesting", deepest);
    }
    p = row_skip_space(parser, p + 1);
    if (*p == close && p < parser->end) {
        return p + 1;
    }
    for (;;) {
        p = is_object ? skip_name(parser, column, p) : p;
        p = p == NULL ? NULL : skip_nested(parser, column, p, depth + 1);
        if (p == NULL) {
            return NULL;
        }
        p = row_skip_space(parser, p);
        if (p < parser->end && *p == close) {
            return p + 1;
        }
        if (p >= parser->end || *p != ',') {
            return ingest_bad_value(parser, column, is_object ? "\",\" or \"}\"" : "\",\" or \"]\"", p);
        }
        p = row_skip_space(parser, p + 1);
    }
}

static const uint8_t *skip_nested(struct row_parser *parser, int column, const uint8_t *p, uint32_t depth)
{
    if (p >= parser->end) {
        return ingest_bad_value(parser, column, "a JSON value", p);
    }
    if (*p == '"') {
        return skip_string(parser, column, p + 1);
    }
    if (*p == '{' || *p == '[') {
        return skip_container(parser, column, p, depth);
    }
    if (*p == '-' || (*p >= '0' && *p <= '9')) {
        struct number number;
        const uint8_t *end = number_scan(p, &number);
        return end != NULL ? end : ingest_bad_value(parser, column, "a JSON number", p);
    }
    return skip_word(parser, column, p);
}

const uint8_t *ingest_skip_value(struct row_parser *parser, int column, const uint8_t *p)
{
    return skip_nested(parser, column, p, 0);
}
