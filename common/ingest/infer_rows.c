/* The sample: cut into rows as the decoders do, but read without a schema. */
#include <stdio.h>

#include "common/codec/codec.h"
#include "common/ingest/infer_internal.h"

enum { PIECE_BYTES = 256 << 10, MARK_BYTES = 3, FIRST_COLUMNS = 16 };

static const uint8_t byte_order_mark[MARK_BYTES] = {0xef, 0xbb, 0xbf};

static const struct ingest_limits limits = {
    .max_row_bytes = 64 << 20,
    .max_reject_text_bytes = 64 << 20,
    .max_decoded_bytes = SIZE_MAX,
    .max_depth = 64,
};

struct sampler {
    struct infer_tallies *tallies;
    const struct infer_options *options;
    struct splitter splitter;
    struct row_parser parser; /* without a schema: strings and skipping need none */
    struct csv csv;
    size_t data_bytes; /* handed to the splitter so far */
    struct buf value;  /* an unquoted field */
};

/* --- columns ------------------------------------------------------------------------------------------------------ */

static enum err_code add_column(struct infer_tallies *tallies, const char *name, size_t length, struct error *err)
{
    char identifier[INGEST_NAME_BYTES];
    (void)ingest_name_identifier(name, length, identifier);
    if (tallies->count == SCHEMA_MAX_COLUMNS) {
        return err_set(err, ERR_INVALID, "expected at most %d columns but found more", SCHEMA_MAX_COLUMNS);
    }
    for (size_t i = 0; i < tallies->count; i++) {
        if (strcmp(tallies->items[i].name, identifier) == 0) {
            return err_set(err, ERR_INVALID,
                           "expected names that make different columns but \"%.*s\" and \"%s\" are both %s",
                           (int)(length < INGEST_NAME_BYTES ? length : INGEST_NAME_BYTES), name,
                           tallies->items[i].source, identifier);
        }
    }
    if (tallies->count == tallies->capacity) {
        size_t capacity = tallies->capacity == 0 ? FIRST_COLUMNS : tallies->capacity * 2;
        struct infer_tally *grown = realloc(tallies->items, capacity * sizeof *grown);
        if (grown == NULL) {
            return err_no_memory(err, capacity * sizeof *grown);
        }
        tallies->items = grown;
        tallies->capacity = capacity;
    }
    struct infer_tally *tally = &tallies->items[tallies->count];
    infer_tally_init(tally, &tallies->formats);
    tally->source = arena_strndup(tallies->arena, name, length);
    tally->name = arena_strdup(tallies->arena, identifier);
    if (tally->source == NULL || tally->name == NULL) {
        return err_no_memory(err, length);
    }
    tallies->count++;
    return OK;
}

static bool has_name(const struct infer_tally *tally, const uint8_t *name, size_t length)
{
    return strlen(tally->source) == length && memcmp(tally->source, name, length) == 0;
}

/* The column of a member; rows mostly have the same members in the same order. */
static enum err_code find_column(struct infer_tallies *tallies, const uint8_t *name, size_t length, size_t position,
                                 struct infer_tally **out, struct error *err)
{
    size_t found = position;
    if (position >= tallies->count || !has_name(&tallies->items[position], name, length)) {
        for (found = 0; found < tallies->count && !has_name(&tallies->items[found], name, length); found++) {
        }
    }
    if (found == tallies->count) {
        TRY(add_column(tallies, (const char *)name, length, err));
    }
    *out = &tallies->items[found];
    return OK;
}

/* --- JSON --------------------------------------------------------------------------------------------------------- */

static enum infer_kind kind_of(const uint8_t *p, const uint8_t *end)
{
    switch (*p) {
    case 'n': return INFER_NULL;
    case 't':
    case 'f': return INFER_BOOL;
    case '"': return INFER_TEXT;
    case '{':
    case '[': return INFER_NESTED;
    default: break;
    }
    for (; p < end; p++) {
        if (*p == '.' || *p == 'e' || *p == 'E') {
            return INFER_REAL;
        }
    }
    return INFER_INTEGER;
}

/* One member, from its name on. NULL: the row is bad, or *out_code says what failed. */
static const uint8_t *take_member(struct sampler *sampler, const uint8_t *p, size_t position, enum err_code *out_code,
                                  struct error *err)
{
    struct row_parser *parser = &sampler->parser;
    struct infer_tally *tally = NULL;
    const uint8_t *text;
    size_t length;
    if (p >= parser->end || *p != '"' ||
        (p = ingest_string_parse(parser, ROW_NO_COLUMN, p + 1, &text, &length)) == NULL) {
        return NULL;
    }
    *out_code = find_column(sampler->tallies, text, length, position, &tally, err);
    p = row_skip_space(parser, p);
    if (*out_code != OK || p >= parser->end || *p != ':') {
        return NULL;
    }
    p = row_skip_space(parser, p + 1);
    const uint8_t *next = ingest_skip_value(parser, ROW_NO_COLUMN, p);
    if (next == NULL || tally->last_row == sampler->tallies->rows + 1) {
        return NULL;
    }
    tally->last_row = sampler->tallies->rows + 1;
    enum infer_kind kind = kind_of(p, next);
    text = p;
    length = (size_t)(next - p);
    if (kind == INFER_TEXT) {
        (void)ingest_string_parse(parser, ROW_NO_COLUMN, p + 1, &text, &length);
    }
    infer_tally_add(tally, kind, false, text, length);
    return row_skip_space(parser, next);
}

static enum err_code take_object(struct sampler *sampler, bool *out_good, struct error *err, const uint8_t *p)
{
    struct row_parser *parser = &sampler->parser;
    enum err_code code = OK;
    *out_good = false;
    p = row_skip_space(parser, p);
    if (p >= parser->end || *p != '{') {
        (void)ingest_bad_value(parser, ROW_NO_COLUMN, "an object", p);
        return OK;
    }
    p = row_skip_space(parser, p + 1);
    for (size_t position = 0; p < parser->end && *p != '}'; position++) {
        p = take_member(sampler, p, position, &code, err);
        if (p == NULL || p >= parser->end || (*p != ',' && *p != '}')) {
            return code;
        }
        p = *p == ',' ? row_skip_space(parser, p + 1) : p;
    }
    *out_good = p < parser->end && row_skip_space(parser, p + 1) == parser->end;
    return OK;
}

/* --- CSV ---------------------------------------------------------------------------------------------------------- */

static enum err_code take_name(struct sampler *sampler, const uint8_t *text, size_t length, struct error *err)
{
    char made[INGEST_NAME_BYTES];
    if (!sampler->options->ingest.csv.has_no_header) {
        return add_column(sampler->tallies, (const char *)text, length, err);
    }
    (void)snprintf(made, sizeof made, "column_%zu", sampler->tallies->count + 1);
    TRY(add_column(sampler->tallies, made, strlen(made), err));
    sampler->tallies->items[sampler->tallies->count - 1].source = "";
    return OK;
}

static enum err_code take_field(struct sampler *sampler, const struct csv_field *field, size_t position,
                                struct error *err)
{
    struct csv *csv = &sampler->csv;
    size_t length = (size_t)(field->end - field->start);
    buf_clear(&sampler->value);
    TRY(buf_reserve(&sampler->value, length + 1, err));
    length = ingest_csv_unquote(csv, field, sampler->value.data);
    sampler->value.data[length] = '\0';
    if (csv->needs_header) {
        return take_name(sampler, sampler->value.data, length, err);
    }
    if (position >= sampler->tallies->count) {
        return OK;
    }
    bool is_null = !field->is_quoted && length == csv->null_bytes && memcmp(field->start, csv->null_text, length) == 0;
    infer_tally_add(&sampler->tallies->items[position], is_null ? INFER_NULL : INFER_TEXT, true, sampler->value.data,
                    length);
    return OK;
}

static enum err_code take_fields(struct sampler *sampler, bool *out_good, struct error *err, const uint8_t *p)
{
    size_t count = 0;
    *out_good = true;
    while (p != NULL && *out_good) {
        struct csv_field field;
        *out_good = ingest_csv_take(&sampler->csv, &sampler->parser, p, &field);
        if (*out_good) {
            TRY(take_field(sampler, &field, count++, err));
        }
        p = field.next;
    }
    if (*out_good && count != sampler->tallies->count && !sampler->csv.is_lenient) {
        (void)ingest_bad(&sampler->parser, ROW_NO_COLUMN, "expected %zu fields but found %zu", sampler->tallies->count,
                         count);
        *out_good = false;
    }
    return OK;
}

static enum err_code take_csv(struct sampler *sampler, bool *out_good, struct error *err, const uint8_t *p)
{
    bool is_header = sampler->csv.needs_header;
    if (is_header) {
        TRY(take_fields(sampler, out_good, err, p));
        if (!*out_good) {
            return err_set(err, ERR_INVALID, "could not read the header: %s", sampler->parser.reason);
        }
        sampler->csv.needs_header = false;
        return sampler->options->ingest.csv.has_no_header ? take_fields(sampler, out_good, err, p) : OK;
    }
    return take_fields(sampler, out_good, err, p);
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

static enum err_code take_row(void *context, const uint8_t *text, size_t length, const uint8_t *readable_end,
                              size_t row_bytes, struct error *err)
{
    struct sampler *sampler = context;
    struct infer_tallies *tallies = sampler->tallies;
    struct row_parser *parser = &sampler->parser;
    bool is_csv = sampler->splitter.format == INGEST_CSV;
    bool is_header = sampler->csv.needs_header && !sampler->options->ingest.csv.has_no_header;
    bool is_good;
    if (sampler->splitter.format != INGEST_JSON_ARRAY && length == row_bytes && length > 0 &&
        text[length - 1] == '\r') {
        length--;
    }
    parser->end = text + length;
    parser->readable_end = readable_end;
    parser->code = OK;
    parser->err = err;
    (void)ingest_bad(parser, ROW_NO_COLUMN, "expected members of the form \"name\": value, each once");
    TRY(is_csv ? take_csv(sampler, &is_good, err, text) : take_object(sampler, &is_good, err, text));
    TRY(parser->code);
    tallies->rows += is_good && !is_header;
    if (!is_good && tallies->bad_rows++ == 0) {
        memcpy(tallies->first_reason, parser->reason, sizeof tallies->first_reason);
    }
    return OK;
}

static enum err_code feed(struct sampler *sampler, const uint8_t *data, size_t length, struct error *err)
{
    bool has_mark = sampler->data_bytes == 0 && length >= MARK_BYTES && memcmp(data, byte_order_mark, MARK_BYTES) == 0;
    size_t skipped = has_mark ? MARK_BYTES : 0;
    sampler->data_bytes += length;
    return ingest_split_feed(&sampler->splitter, data + skipped, length - skipped, err);
}

static enum err_code feed_compressed(struct sampler *sampler, const void *data, size_t length, struct error *err)
{
    AUTO(free_auto) uint8_t *piece = malloc(PIECE_BYTES);
    AUTO(codec_stream_free_auto) struct codec_stream *stream = NULL;
    struct codec_input input = {.data = data, .length = length};
    size_t written;
    if (piece == NULL) {
        return err_no_memory(err, PIECE_BYTES);
    }
    TRY(codec_stream_new(sampler->options->ingest.compression == INGEST_GZIP ? CODEC_GZIP : CODEC_ZSTD, &stream, err));
    do {
        written = 0;
        TRY(codec_stream_feed(stream, &input, piece, PIECE_BYTES, &written, err));
        TRY(feed(sampler, piece, written, err));
    } while (input.length > 0 || written == PIECE_BYTES);
    return sampler->options->is_whole ? codec_stream_finish(stream, err) : OK;
}

static void sampler_done(struct sampler *sampler)
{
    ingest_split_done(&sampler->splitter);
    ingest_csv_done(&sampler->csv);
    buf_done(&sampler->parser.scratch);
    buf_done(&sampler->parser.unquoted);
    buf_done(&sampler->value);
}

enum err_code infer_tallies_gather(struct infer_tallies *tallies, const struct infer_options *options, const void *data,
                                   size_t length, struct error *err)
{
    struct ingest_csv csv = options->ingest.csv;
    AUTO(sampler_done)
    struct sampler sampler = {
        .tallies = tallies,
        .options = options,
        .splitter = {.format = options->ingest.format, .keep_bytes = limits.max_row_bytes, .take = take_row},
        .parser = {.limits = &limits},
    };
    infer_formats_init(&tallies->formats);
    csv.has_no_header = false; /* columns are made of the first row either way */
    TRY(ingest_csv_init(&sampler.csv, &csv, NULL, err));
    sampler.csv.needs_header = options->ingest.format == INGEST_CSV;
    sampler.splitter.context = &sampler;
    sampler.splitter.delimiter = sampler.csv.delimiter;
    sampler.splitter.quote = sampler.csv.quote;
    TRY(options->ingest.compression == INGEST_PLAIN ? feed(&sampler, data, length, err)
                                                    : feed_compressed(&sampler, data, length, err));
    return options->is_whole ? ingest_split_finish(&sampler.splitter, err) : OK;
}
