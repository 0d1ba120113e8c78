/* Cuts a body into rows. A row within one piece is handed on where it lies; only one that is cut by the border between
 * two pieces is put together in the carry buffer. */
#include "common/ingest/csv_find.h"
#include "common/ingest/internal.h"

enum {
    PADDING_BYTES = 32 /* readable behind the carried row: a terminator, and room for scans in wide steps */
};

void ingest_split_done(struct splitter *splitter)
{
    buf_done(&splitter->carry);
}

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_blank(const uint8_t *text, size_t length)
{
    size_t i = 0;
    while (i < length && is_space(text[i])) {
        i++;
    }
    return i == length;
}

static enum err_code carry_append(struct splitter *splitter, const uint8_t *data, size_t length, struct error *err)
{
    size_t room = splitter->keep_bytes - splitter->carry.length_bytes;
    splitter->row_bytes += length;
    return buf_append(&splitter->carry, data, length < room ? length : room, err);
}

/* The row that ends here: [start, start + length) of the piece, behind what is carried. */
static enum err_code end_row(struct splitter *splitter, const uint8_t *start, size_t length,
                             const uint8_t *readable_end, struct error *err)
{
    if (splitter->row_bytes == 0) {
        return splitter->take(splitter->context, start, length, readable_end, length, err);
    }
    TRY(carry_append(splitter, start, length, err));
    TRY(buf_reserve(&splitter->carry, PADDING_BYTES, err));
    struct buf *carry = &splitter->carry;
    memset(carry->data + carry->length_bytes, '\n', PADDING_BYTES);
    size_t kept = carry->length_bytes;
    size_t row_bytes = splitter->row_bytes;
    splitter->row_bytes = 0;
    buf_clear(carry);
    return splitter->take(splitter->context, carry->data, kept, carry->data + kept + PADDING_BYTES, row_bytes, err);
}

/* --- lines ------------------------------------------------------------------------------------------------------- */

/* A line of nothing but space is no row. */
static enum err_code end_line(struct splitter *splitter, const uint8_t *start, size_t length,
                              const uint8_t *readable_end, struct error *err)
{
    const struct buf *carry = &splitter->carry;
    bool is_empty = is_blank(start, length) && splitter->row_bytes == carry->length_bytes &&
                    is_blank(carry->data, carry->length_bytes);
    if (is_empty) {
        splitter->row_bytes = 0;
        buf_clear(&splitter->carry);
        return OK;
    }
    return end_row(splitter, start, length, readable_end, err);
}

static enum err_code feed_lines(struct splitter *splitter, const uint8_t *data, size_t length, struct error *err)
{
    const uint8_t *end = data + length;
    while (data < end) {
        const uint8_t *newline = memchr(data, '\n', (size_t)(end - data));
        if (newline == NULL) {
            return carry_append(splitter, data, (size_t)(end - data), err);
        }
        TRY(end_line(splitter, data, (size_t)(newline - data), end, err));
        data = newline + 1;
    }
    return OK;
}

/* --- CSV --------------------------------------------------------------------------------------------------------- */

/* The newline that ends the row that goes on at p, or NULL when it lies in a later piece. A quote opens only where a field
 * begins, so that one inside a field, which is wrong, does not swallow the rows that follow. */
static const uint8_t *find_row_end(struct splitter *splitter, const uint8_t *p, const uint8_t *end)
{
    while (p < end) {
        if (splitter->quoting == SPLIT_QUOTED) {
            const uint8_t *quote = memchr(p, splitter->quote, (size_t)(end - p));
            if (quote == NULL) {
                return NULL;
            }
            splitter->quoting = SPLIT_QUOTE;
            p = quote + 1;
        } else if (*p == splitter->quote && splitter->quoting != SPLIT_PLAIN) {
            splitter->quoting = SPLIT_QUOTED; /* a field begins with it, or it is doubled */
            p++;
        } else {
            const uint8_t *start = p;
            bool high = false;
            p = csv_find(p, end, end, splitter->quote, '\n', &high);
            bool begins = p > start ? p[-1] == splitter->delimiter : splitter->quoting == SPLIT_FIELD_START;
            splitter->quoting = begins ? SPLIT_FIELD_START : SPLIT_PLAIN;
            if (p < end && *p == '\n') {
                return p;
            }
            p += p < end && !begins; /* a quote inside a field */
        }
    }
    return NULL;
}

static enum err_code end_csv_row(struct splitter *splitter, const uint8_t *start, size_t length,
                                 const uint8_t *readable_end, struct error *err)
{
    splitter->quoting = SPLIT_FIELD_START;
    bool is_empty = splitter->row_bytes == 0 && (length == 0 || (length == 1 && *start == '\r'));
    bool is_cut_end = splitter->row_bytes == 1 && length == 0 && splitter->carry.data[0] == '\r';
    if (is_empty || is_cut_end) {
        splitter->row_bytes = 0;
        buf_clear(&splitter->carry);
        return OK;
    }
    return end_row(splitter, start, length, readable_end, err);
}

static enum err_code feed_csv(struct splitter *splitter, const uint8_t *data, size_t length, struct error *err)
{
    const uint8_t *end = data + length;
    while (data < end) {
        const uint8_t *newline = find_row_end(splitter, data, end);
        if (newline == NULL) {
            return carry_append(splitter, data, (size_t)(end - data), err);
        }
        TRY(end_csv_row(splitter, data, (size_t)(newline - data), end, err));
        data = newline + 1;
    }
    return OK;
}

/* --- arrays ------------------------------------------------------------------------------------------------------ */

/* The end of the element that goes on at p: its comma or the bracket that closes the array; NULL when it lies in a later
 * piece. Brackets are counted, not matched: what is wrong inside an element is for the row parser to say. */
static const uint8_t *find_element_end(struct splitter *splitter, const uint8_t *p, const uint8_t *end)
{
    while (p < end) {
        if (splitter->in_escape) {
            splitter->in_escape = false;
            p++;
        } else if (splitter->in_string) {
            bool high = false;
            p = ingest_string_scan(p, end, end, &high);
            if (p < end) {
                splitter->in_string = *p != '"';
                splitter->in_escape = *p == '\\';
                p++;
            }
        } else if (*p == ',' && splitter->depth == 0) {
            return p;
        } else if (*p == ']' && splitter->depth == 0) {
            return p;
        } else {
            splitter->in_string = *p == '"';
            splitter->depth += *p == '{' || *p == '[';
            splitter->depth -= (*p == '}' || *p == ']') && splitter->depth > 0;
            p++;
        }
    }
    return NULL;
}

/* An array of nothing but space has no element; everywhere else an element that is missing is a bad row. */
static enum err_code end_element(struct splitter *splitter, const uint8_t *start, const uint8_t *stop,
                                 const uint8_t *readable_end, struct error *err)
{
    bool is_last = *stop == ']';
    splitter->state = is_last ? SPLIT_AFTER : SPLIT_ROWS;
    bool is_absent = is_last && !splitter->had_comma && splitter->row_bytes == 0 && start == stop;
    splitter->had_comma = true;
    return is_absent ? OK : end_row(splitter, start, (size_t)(stop - start), readable_end, err);
}

static enum err_code expect_open(const uint8_t *p, struct error *err)
{
    return *p == '[' ? OK
                     : err_set(err, ERR_INVALID, "expected an array of rows but the body begins with byte 0x%02x", *p);
}

static enum err_code feed_array(struct splitter *splitter, const uint8_t *p, size_t length, struct error *err)
{
    const uint8_t *end = p + length;
    while (p < end) {
        bool between = splitter->state != SPLIT_ROWS || splitter->row_bytes == 0;
        if (between && is_space(*p)) { /* around elements it belongs to none */
            p++;
        } else if (splitter->state == SPLIT_START) {
            TRY(expect_open(p, err));
            splitter->state = SPLIT_ROWS;
            p++;
        } else if (splitter->state == SPLIT_AFTER) {
            return err_set(err, ERR_INVALID, "expected the body to end with its array but found byte 0x%02x", *p);
        } else {
            const uint8_t *stop = find_element_end(splitter, p, end);
            if (stop == NULL) {
                return carry_append(splitter, p, (size_t)(end - p), err);
            }
            TRY(end_element(splitter, p, stop, end, err));
            p = stop + 1;
        }
    }
    return OK;
}

/* --- all --------------------------------------------------------------------------------------------------------- */

enum err_code ingest_split_feed(struct splitter *splitter, const uint8_t *data, size_t length, struct error *err)
{
    switch (splitter->format) {
    case INGEST_NDJSON: return feed_lines(splitter, data, length, err);
    case INGEST_JSON_ARRAY: return feed_array(splitter, data, length, err);
    case INGEST_CSV: return feed_csv(splitter, data, length, err);
    case INGEST_PARQUET:
    case INGEST_FORMAT_COUNT: break;
    }
    return err_set(err, ERR_INVALID, "expected a format that comes in rows");
}

enum err_code ingest_split_finish(struct splitter *splitter, struct error *err)
{
    if (splitter->format == INGEST_NDJSON) {
        return end_line(splitter, NULL, 0, NULL, err);
    }
    if (splitter->format == INGEST_CSV) {
        return end_csv_row(splitter, NULL, 0, NULL, err);
    }
    switch (splitter->state) {
    case SPLIT_START: return err_set(err, ERR_INVALID, "expected an array of rows but the body is empty");
    case SPLIT_ROWS: return err_set(err, ERR_INVALID, "expected the array of rows to close but the body ended");
    case SPLIT_AFTER: break;
    }
    return OK;
}
