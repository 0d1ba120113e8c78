/* One row: an object whose members are columns.
 *
 * Who writes rows writes the same members in the same order again and again. So the column that stood at a position in
 * the last row is tried first, by comparing the text with the name and its quote as a whole; only when that fails is the
 * name cut out and looked up. */
#include <stdarg.h>
#include <stdio.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "common/base/text.h"
#include "common/ingest/internal.h"

enum { QUOTED_BYTES = 40 };

static enum err_code alloc_tables(struct row_parser *parser, size_t columns, struct error *err)
{
    parser->keys = calloc(columns, sizeof *parser->keys);
    parser->predicted = calloc(columns, sizeof *parser->predicted);
    parser->seen = calloc(columns, sizeof *parser->seen);
    parser->required = calloc(columns, sizeof *parser->required);
    parser->formats = calloc(columns, sizeof *parser->formats);
    return parser->keys != NULL && parser->predicted != NULL && parser->seen != NULL && parser->required != NULL &&
                   parser->formats != NULL
               ? OK
               : err_no_memory(err, columns * sizeof *parser->keys);
}

enum err_code ingest_row_init(struct row_parser *parser, const struct schema *schema,
                              const struct ingest_limits *limits, struct error *err)
{
    *parser = (struct row_parser){.schema = schema, .limits = limits};
    TRY(alloc_tables(parser, schema->column_count, err));
    for (size_t i = 0; i < schema->column_count; i++) {
        struct row_key *key = &parser->keys[i];
        size_t length = strlen(schema->columns[i].name);
        memcpy(key->text, schema->columns[i].name, length);
        key->text[length] = '"';
        key->length = (uint32_t)length + 1;
        key->mask = key->length >= 16 ? 0xffff : (1U << key->length) - 1;
        parser->predicted[i] = (uint16_t)i;
        TRY(timestamp_format_parse(schema->columns[i].format, &parser->formats[i], err));
        if (!schema->columns[i].nullable) {
            parser->required[parser->required_count++] = (uint32_t)i;
        }
    }
    return OK;
}

void ingest_row_done(struct row_parser *parser)
{
    free(parser->keys);
    free(parser->predicted);
    free(parser->seen);
    free(parser->required);
    free(parser->formats);
    buf_done(&parser->scratch);
    buf_done(&parser->unquoted);
    *parser = (struct row_parser){0};
}

/* --- what goes wrong --------------------------------------------------------------------------------------------- */

const uint8_t *ingest_bad(struct row_parser *parser, int column, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(parser->reason, sizeof parser->reason, format, arguments);
    va_end(arguments);
    parser->bad_column = column;
    return NULL;
}

const uint8_t *ingest_failed(struct row_parser *parser, enum err_code code)
{
    parser->code = code;
    return NULL;
}

static bool is_delimiter(uint8_t c)
{
    return c <= ' ' || strchr(",:]}[{\"", c) != NULL;
}

/* The end of the token at p: of a string behind its closing quote, of all else before the next delimiter. */
static const uint8_t *token_end(const uint8_t *p, const uint8_t *end)
{
    const uint8_t *at = p + 1;
    if (*p != '"') {
        while (at < end && !is_delimiter(*p) && !is_delimiter(*at)) {
            at++;
        }
        return at;
    }
    while (at < end && *at != '"') {
        at += *at == '\\' ? 2 : 1;
    }
    return at < end ? at + 1 : end;
}

/* A reason is text: what it quotes is cut at a whole character, before anything that is none. */
const uint8_t *ingest_bad_value(struct row_parser *parser, int column, const char *expected, const uint8_t *p)
{
    const char *quote = parser->field_end != NULL ? "\"" : ""; /* strings of JSON have their own */
    if (parser->field_end == NULL && p >= parser->end) {
        return ingest_bad(parser, column, "expected %s but found the end of the row", expected);
    }
    if (parser->field_end == NULL && (*p == '{' || *p == '[')) {
        return ingest_bad(parser, column, "expected %s but found an %s", expected, *p == '{' ? "object" : "array");
    }
    size_t length = (size_t)((parser->field_end != NULL ? parser->field_end : token_end(p, parser->end)) - p);
    size_t shown = length < QUOTED_BYTES ? length : QUOTED_BYTES;
    size_t valid = text_utf8_valid_prefix((const char *)p, shown);
    for (size_t i = 0; i < valid; i++) {
        if (p[i] < ' ' || p[i] == 0x7f) {
            valid = i;
        }
    }
    if (valid == 0 && length > 0) {
        return ingest_bad(parser, column, "expected %s but found byte 0x%02x", expected, *p);
    }
    return ingest_bad(parser, column, "expected %s but found %s%.*s%s%s", expected, quote, (int)valid, (const char *)p,
                      valid < length ? "..." : "", quote);
}

/* --- members ----------------------------------------------------------------------------------------------------- */

static inline bool key_stands_at(const struct row_parser *parser, const struct row_key *key, const uint8_t *p)
{
#ifdef __SSE2__
    if (parser->readable_end - p >= 16) {
        __m128i text = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i name = _mm_loadu_si128((const __m128i *)(const void *)key->text);
        uint32_t equal = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(text, name));
        if ((equal & key->mask) != key->mask) {
            return false;
        }
        if (key->length <= 16) {
            return true;
        }
    }
#endif
    return parser->end - p >= key->length && memcmp(p, key->text, key->length) == 0;
}

/* The name that begins behind its quote at p, at position `position` of the row. */
static const uint8_t *parse_name(struct row_parser *parser, const uint8_t *p, size_t position, int *out_column)
{
    bool is_predicted = position < parser->schema->column_count;
    if (is_predicted) {
        uint16_t column = parser->predicted[position];
        const struct row_key *key = &parser->keys[column];
        if (key_stands_at(parser, key, p)) {
            *out_column = column;
            return p + key->length;
        }
    }
    const uint8_t *name;
    size_t length;
    const uint8_t *next = ingest_string_parse(parser, ROW_NO_COLUMN, p, &name, &length);
    if (next == NULL) {
        return NULL;
    }
    *out_column = ingest_name_find(parser->schema, (const char *)name, length);
    if (is_predicted && *out_column >= 0) {
        parser->predicted[position] = (uint16_t)*out_column;
    }
    if (*out_column < 0 && parser->limits->unknown == INGEST_UNKNOWN_REJECT) {
        return ingest_bad_value(parser, ROW_NO_COLUMN, "a column of the table", p - 1);
    }
    return next;
}

static const uint8_t *parse_member(struct row_parser *parser, const uint8_t *p, size_t position)
{
    int column = ROW_NO_COLUMN;
    if (UNLIKELY(*p != '"' || p >= parser->end)) {
        return ingest_bad_value(parser, ROW_NO_COLUMN, "a column name in quotes", p);
    }
    p = parse_name(parser, p + 1, position, &column);
    if (UNLIKELY(p == NULL)) {
        return NULL;
    }
    p = row_skip_space(parser, p);
    if (UNLIKELY(*p != ':' || p >= parser->end)) {
        return ingest_bad_value(parser, column, "\":\"", p);
    }
    p = row_skip_space(parser, p + 1);
    if (column < 0) {
        return ingest_skip_value(parser, ROW_NO_COLUMN, p);
    }
    if (UNLIKELY(parser->seen[column] == parser->row_stamp)) {
        return ingest_bad(parser, column, "expected each column once but found it twice");
    }
    parser->seen[column] = parser->row_stamp;
    return ingest_value_parse(parser, (uint32_t)column, p);
}

static const uint8_t *parse_members(struct row_parser *parser, const uint8_t *p)
{
    p = row_skip_space(parser, p);
    if (*p == '}' && p < parser->end) {
        return p + 1;
    }
    for (size_t position = 0;; position++) {
        p = parse_member(parser, p, position);
        if (UNLIKELY(p == NULL)) {
            return NULL;
        }
        p = row_skip_space(parser, p);
        if (UNLIKELY(p >= parser->end || (*p != ',' && *p != '}'))) {
            return ingest_bad_value(parser, ROW_NO_COLUMN, "\",\" or \"}\"", p);
        }
        if (*p == '}') {
            return p + 1;
        }
        p = row_skip_space(parser, p + 1);
    }
}

static bool has_all_required(struct row_parser *parser)
{
    for (size_t i = 0; i < parser->required_count; i++) {
        if (UNLIKELY(parser->seen[parser->required[i]] != parser->row_stamp)) {
            (void)ingest_bad(parser, (int)parser->required[i], "expected a value but found none");
            return false;
        }
    }
    return true;
}

/* Stamps tell the rows apart without clearing anything in between. */
static void next_stamp(struct row_parser *parser)
{
    if (++parser->row_stamp == 0) {
        memset(parser->seen, 0, parser->schema->column_count * sizeof *parser->seen);
        parser->row_stamp = 1;
    }
}

enum err_code ingest_row_parse(struct row_parser *parser, const uint8_t *text, size_t length,
                               const uint8_t *readable_end, bool *out_good, struct error *err)
{
    parser->end = text + length;
    parser->readable_end = readable_end;
    parser->code = OK;
    parser->err = err;
    next_stamp(parser);
    TRY(batch_row_begin(parser->batch, err));
    const uint8_t *p = row_skip_space(parser, text);
    if (p < parser->end && *p == '{') {
        p = parse_members(parser, p + 1);
    } else {
        p = ingest_bad_value(parser, ROW_NO_COLUMN, "an object", p);
    }
    if (p != NULL && (p = row_skip_space(parser, p)) < parser->end) {
        p = ingest_bad_value(parser, ROW_NO_COLUMN, "the end of the row", p);
    }
    if (parser->code != OK) {
        batch_row_abandon(parser->batch);
        return parser->code;
    }
    *out_good = p != NULL && has_all_required(parser);
    if (!*out_good) {
        batch_row_abandon(parser->batch);
        return OK;
    }
    return batch_row_end(parser->batch, err);
}
