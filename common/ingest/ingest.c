/* The body: decompressed piece by piece, cut into rows, each of which ends up in the batch or among the rejects. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "common/codec/codec.h"
#include "common/ingest/parquet.h"

enum {
    PIECE_BYTES = 128 << 10, /* of decompressed body: fits the second-level cache together with what it becomes */
    FIRST_ROWS = 256,
    FIRST_REJECTS = 16,
    MARK_BYTES = 3
};

static const uint8_t byte_order_mark[MARK_BYTES] = {0xef, 0xbb, 0xbf};

struct ingest {
    struct ingest_limits limits;
    struct batch *batch;
    struct row_parser parser;
    struct splitter splitter;
    struct csv csv;              /* INGEST_CSV */
    struct parquet_rows parquet; /* INGEST_PARQUET, once it is read */
    struct buf body;             /* INGEST_PARQUET that is fed: all of it */
    struct codec_stream *stream; /* NULL when the body is plain */
    uint8_t *piece;
    size_t decoded_bytes;
    size_t mark_bytes; /* of a byte order mark that were seen; MARK_BYTES + 1: there is none, or it is over */
    uint64_t rows_seen;
    struct ingest_reject *rejects;
    size_t reject_count, reject_capacity;
    struct arena *reject_texts;
    bool is_dead;
};

/* --- rejects ----------------------------------------------------------------------------------------------------- */

static enum err_code reserve_reject(struct ingest *ingest, struct error *err)
{
    if (ingest->reject_count < ingest->reject_capacity) {
        return OK;
    }
    size_t capacity = ingest->reject_capacity == 0 ? FIRST_REJECTS : ingest->reject_capacity * 2;
    struct ingest_reject *rejects = realloc(ingest->rejects, capacity * sizeof *rejects);
    if (rejects == NULL) {
        return err_no_memory(err, capacity * sizeof *rejects);
    }
    ingest->rejects = rejects;
    ingest->reject_capacity = capacity;
    return OK;
}

static enum err_code add_reject(struct ingest *ingest, int column, const char *reason, const uint8_t *text,
                                size_t length, struct error *err)
{
    size_t kept = length < ingest->limits.max_reject_text_bytes ? length : ingest->limits.max_reject_text_bytes;
    TRY(reserve_reject(ingest, err));
    const char *own_reason = arena_strdup(ingest->reject_texts, reason);
    const char *own_text = arena_strndup(ingest->reject_texts, (const char *)text, kept);
    if (own_reason == NULL || own_text == NULL) {
        return err_no_memory(err, kept);
    }
    ingest->rejects[ingest->reject_count++] = (struct ingest_reject){
        .row = ingest->rows_seen,
        .column = column < 0 ? NULL : ingest->parser.schema->columns[column].name,
        .reason = own_reason,
        .text = own_text,
        .text_bytes = kept,
    };
    return OK;
}

static enum err_code take_header(struct ingest *ingest, const uint8_t *text, size_t length, const uint8_t *readable_end,
                                 size_t row_bytes, struct error *err)
{
    if (row_bytes > ingest->limits.max_row_bytes) {
        return err_set(err, ERR_INVALID, "expected a header of at most %zu bytes but found %zu",
                       ingest->limits.max_row_bytes, row_bytes);
    }
    return ingest_csv_header(&ingest->csv, &ingest->parser, text, length, readable_end, err);
}

static enum err_code parse_row(struct ingest *ingest, const uint8_t *text, size_t length, const uint8_t *readable_end,
                               bool *out_good, struct error *err)
{
    return ingest->splitter.format == INGEST_CSV
               ? ingest_csv_parse(&ingest->csv, &ingest->parser, text, length, readable_end, out_good, err)
               : ingest_row_parse(&ingest->parser, text, length, readable_end, out_good, err);
}

static enum err_code take_row(void *context, const uint8_t *text, size_t length, const uint8_t *readable_end,
                              size_t row_bytes, struct error *err)
{
    struct ingest *ingest = context;
    bool is_good = false;
    bool is_line = ingest->splitter.format != INGEST_JSON_ARRAY;
    size_t end_bytes = is_line && length > 0 && length == row_bytes && text[length - 1] == '\r'; /* of CR LF */
    if (ingest->csv.needs_header) {
        return take_header(ingest, text, length - end_bytes, readable_end, row_bytes, err);
    }
    ingest->rows_seen++;
    if (row_bytes > ingest->limits.max_row_bytes) {
        char reason[96];
        (void)snprintf(reason, sizeof reason, "expected a row of at most %zu bytes but found %zu",
                       ingest->limits.max_row_bytes, row_bytes);
        return add_reject(ingest, ROW_NO_COLUMN, reason, text, length, err);
    }
    TRY(parse_row(ingest, text, length - end_bytes, readable_end, &is_good, err));
    return is_good
               ? OK
               : add_reject(ingest, ingest->parser.bad_column, ingest->parser.reason, text, length - end_bytes, err);
}

/* --- life -------------------------------------------------------------------------------------------------------- */

static enum err_code open_stream(struct ingest *ingest, enum ingest_compression compression, struct error *err)
{
    if (compression == INGEST_PLAIN) {
        return OK;
    }
    ingest->piece = malloc(PIECE_BYTES);
    if (ingest->piece == NULL) {
        return err_no_memory(err, PIECE_BYTES);
    }
    return codec_stream_new(compression == INGEST_GZIP ? CODEC_GZIP : CODEC_ZSTD, &ingest->stream, err);
}

enum err_code ingest_new(const struct schema *schema, const struct ingest_options *options,
                         const struct ingest_limits *limits, struct ingest **out, struct error *err)
{
    assert((unsigned)options->format < INGEST_FORMAT_COUNT &&
           (unsigned)options->compression < INGEST_COMPRESSION_COUNT);
    AUTO(ingest_free_auto) struct ingest *ingest = calloc(1, sizeof *ingest);
    if (ingest == NULL) {
        return err_no_memory(err, sizeof *ingest);
    }
    ingest->limits = *limits;
    size_t keep_bytes =
        limits->max_row_bytes > limits->max_reject_text_bytes ? limits->max_row_bytes : limits->max_reject_text_bytes;
    ingest->splitter =
        (struct splitter){.format = options->format, .keep_bytes = keep_bytes, .take = take_row, .context = ingest};
    ingest->reject_texts = arena_new(0);
    if (ingest->reject_texts == NULL) {
        return err_no_memory(err, sizeof *ingest);
    }
    TRY(ingest_row_init(&ingest->parser, schema, &ingest->limits, err));
    if (options->format == INGEST_CSV) {
        TRY(ingest_csv_init(&ingest->csv, &options->csv, schema, err));
        ingest->splitter.delimiter = ingest->csv.delimiter;
        ingest->splitter.quote = ingest->csv.quote;
    }
    TRY(batch_new(schema, FIRST_ROWS, &ingest->batch, err));
    TRY(open_stream(ingest, options->compression, err));
    ingest->parser.batch = ingest->batch;
    *out = TAKE(ingest);
    return OK;
}

void ingest_free(struct ingest *ingest)
{
    if (ingest == NULL) {
        return;
    }
    ingest_row_done(&ingest->parser);
    ingest_split_done(&ingest->splitter);
    ingest_csv_done(&ingest->csv);
    ingest_parquet_done(&ingest->parquet);
    buf_done(&ingest->body);
    codec_stream_free(ingest->stream);
    batch_free(ingest->batch);
    arena_free(ingest->reject_texts);
    free(ingest->rejects);
    free(ingest->piece);
    free(ingest);
}

/* --- Parquet ----------------------------------------------------------------------------------------------------- */

static enum err_code read_memory(void *context, uint64_t offset, size_t length, void *out, struct error *err)
{
    const struct buf *body = context;
    (void)err; /* ranges lie within the size that was told */
    memcpy(out, body->data + offset, length);
    return OK;
}

/* The good rows of the view lie between bad ones. */
static enum err_code take_rows(struct ingest *ingest, struct error *err)
{
    struct parquet_rows *rows = &ingest->parquet;
    const struct parquet_bad *bad = (const struct parquet_bad *)(const void *)rows->bad.data;
    size_t bad_count = rows->bad.length_bytes / sizeof *bad;
    uint64_t rows_before = ingest->rows_seen;
    uint32_t next = 0;
    for (size_t i = 0; i < bad_count; i++) {
        const uint8_t *text;
        size_t length;
        TRY(batch_append_range(ingest->batch, &rows->view, next, bad[i].row - next, err));
        TRY(ingest_parquet_text(rows, bad[i].row, &text, &length, err));
        ingest->rows_seen = rows_before + bad[i].row + 1;
        TRY(add_reject(ingest, bad[i].column, bad[i].reason, text, length, err));
        next = bad[i].row + 1;
    }
    ingest->rows_seen = rows_before + rows->view.row_count;
    return batch_append_range(ingest->batch, &rows->view, next, rows->view.row_count - next, err);
}

static enum err_code read_more(struct ingest *ingest, bool *out_more, struct error *err)
{
    TRY(ingest_parquet_next(&ingest->parquet, err));
    *out_more = ingest->parquet.read != NULL;
    return take_rows(ingest, err);
}

/* A small file can hold very many rows: their memory is bounded too. */
static enum err_code read_body(struct ingest *ingest, struct error *err)
{
    const struct parquet_source source = {
        .context = &ingest->body, .size_bytes = ingest->body.length_bytes, .read = read_memory};
    TRY(ingest_parquet_open(&ingest->parquet, &source, &ingest->parser, err));
    for (bool more = true; more;) {
        TRY(read_more(ingest, &more, err));
        if (batch_memory_bytes(ingest->batch) > ingest->limits.max_decoded_bytes) {
            return err_set(err, ERR_INVALID, "expected rows of at most %zu bytes in the file but found more",
                           ingest->limits.max_decoded_bytes);
        }
    }
    return OK;
}

/* --- feeding ----------------------------------------------------------------------------------------------------- */

/* Swallows a byte order mark, which may come cut into pieces. One that breaks off belongs to the first row after all. */
static enum err_code skip_mark(struct ingest *ingest, const uint8_t **data, size_t *length, struct error *err)
{
    while (ingest->mark_bytes<MARK_BYTES && * length> 0) {
        if (**data != byte_order_mark[ingest->mark_bytes]) {
            size_t begun = ingest->mark_bytes;
            ingest->mark_bytes = MARK_BYTES + 1;
            return ingest_split_feed(&ingest->splitter, byte_order_mark, begun, err);
        }
        ingest->mark_bytes++;
        (*data)++;
        (*length)--;
    }
    return OK;
}

static enum err_code feed_decoded(struct ingest *ingest, const uint8_t *data, size_t length, struct error *err)
{
    if (length > ingest->limits.max_decoded_bytes - ingest->decoded_bytes) {
        return err_set(err, ERR_INVALID, "expected a body of at most %zu bytes, decompressed, but found more",
                       ingest->limits.max_decoded_bytes);
    }
    ingest->decoded_bytes += length;
    if (ingest->splitter.format == INGEST_PARQUET) {
        return buf_append(&ingest->body, data, length, err);
    }
    TRY(skip_mark(ingest, &data, &length, err));
    return ingest_split_feed(&ingest->splitter, data, length, err);
}

static enum err_code feed_compressed(struct ingest *ingest, const void *data, size_t length, struct error *err)
{
    struct codec_input input = {.data = data, .length = length};
    size_t written;
    do {
        written = 0;
        TRY(codec_stream_feed(ingest->stream, &input, ingest->piece, PIECE_BYTES, &written, err));
        TRY(feed_decoded(ingest, ingest->piece, written, err));
    } while (input.length > 0 || written == PIECE_BYTES);
    return OK;
}

static enum err_code check_alive(const struct ingest *ingest, struct error *err)
{
    return ingest->is_dead ? err_set(err, ERR_INVALID, "expected no more of a body that has failed") : OK;
}

enum err_code ingest_feed(struct ingest *ingest, const void *data, size_t length, struct error *err)
{
    TRY(check_alive(ingest, err));
    enum err_code code =
        ingest->stream == NULL ? feed_decoded(ingest, data, length, err) : feed_compressed(ingest, data, length, err);
    ingest->is_dead = code != OK;
    return code;
}

static enum err_code finish(struct ingest *ingest, struct error *err)
{
    if (ingest->stream != NULL) {
        TRY(codec_stream_finish(ingest->stream, err));
    }
    if (ingest->splitter.format == INGEST_PARQUET) {
        return read_body(ingest, err);
    }
    if (ingest->mark_bytes > 0 && ingest->mark_bytes < MARK_BYTES) { /* the body is no more than its beginning */
        TRY(ingest_split_feed(&ingest->splitter, byte_order_mark, ingest->mark_bytes, err));
    }
    return ingest_split_finish(&ingest->splitter, err);
}

enum err_code ingest_finish(struct ingest *ingest, struct error *err)
{
    TRY(check_alive(ingest, err));
    ingest->is_dead = true;
    return finish(ingest, err);
}

enum err_code ingest_new_file(const struct schema *schema, const struct parquet_source *source,
                              const struct ingest_limits *limits, struct ingest **out, struct error *err)
{
    static const struct ingest_options options = {.format = INGEST_PARQUET};
    struct ingest *made = NULL;
    TRY(ingest_new(schema, &options, limits, &made, err));
    AUTO(ingest_free_auto) struct ingest *ingest = made;
    TRY(ingest_parquet_open(&ingest->parquet, source, &ingest->parser, err));
    *out = TAKE(ingest);
    return OK;
}

enum err_code ingest_read(struct ingest *ingest, bool *out_more, struct error *err)
{
    TRY(check_alive(ingest, err));
    enum err_code code = read_more(ingest, out_more, err);
    ingest->is_dead = code != OK;
    return code;
}

/* --- what came out ----------------------------------------------------------------------------------------------- */

struct batch *ingest_batch(struct ingest *ingest)
{
    return ingest->batch;
}

struct batch *ingest_batch_take(struct ingest *ingest)
{
    struct batch *full = ingest->batch;
    if (batch_new(ingest->parser.schema, FIRST_ROWS, &ingest->batch, NULL) != OK) {
        return NULL;
    }
    ingest->parser.batch = ingest->batch;
    return full;
}

const struct ingest_reject *ingest_rejects(const struct ingest *ingest, size_t *out_count)
{
    *out_count = ingest->reject_count;
    return ingest->rejects;
}

void ingest_rejects_clear(struct ingest *ingest)
{
    ingest->reject_count = 0;
    arena_reset(ingest->reject_texts);
}

uint64_t ingest_rows_seen(const struct ingest *ingest)
{
    return ingest->rows_seen;
}
