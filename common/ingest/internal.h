/* The inside of the decoders.
 *
 *   ingest.c   the body: decompression, limits, batch, rejects
 *   split.c    bytes of the body into rows, whole and in one piece
 *   names.c    names in the data, and columns
 *   row.c      one row of JSON: the object and its members
 *   value.c    one JSON value
 *   set.c      a number or text into its column
 *   string.c   strings: the end, escapes, UTF-8, base64
 *   skip.c     JSON values that are not read but must be well-formed
 *   csv.c      one row of CSV: the header, the fields
 *   csv_field.c  one field into its column
 *
 * A parser function takes the place where its part begins and returns the place behind it, or NULL when the row is bad
 * (ingest_bad has then been called) or memory has run out (parser->code is then set). */
#ifndef GRANARY_INGEST_INTERNAL_H
#define GRANARY_INGEST_INTERNAL_H

#include <string.h>

#include "common/ingest/ingest.h"
#include "common/rows/number.h"
#include "common/rows/timestamp.h"

#define UNLIKELY(condition) __builtin_expect((condition), 0)

/* A key as it stands in the text, with its closing quote: `path"`. */
struct row_key {
    uint8_t text[64]; /* names have at most 63 bytes; filled up with zeros */
    uint32_t length;
    uint32_t mask; /* of the first 16 bytes that count */
};

enum { ROW_NO_COLUMN = -1, ROW_REASON_BYTES = 320 };

struct row_parser {
    const struct schema *schema;
    struct batch *batch; /* borrowed from the ingest */
    const struct ingest_limits *limits;
    struct row_key *keys; /* by column */
    uint16_t *predicted;  /* by position in the row: the column that stood there last time */
    uint32_t *seen;       /* by column: the number of the row that had it */
    uint32_t row_stamp;
    uint32_t *required; /* columns that must not be null */
    size_t required_count;
    struct timestamp_format *formats; /* by column */
    struct buf scratch;               /* a string without its escapes */
    struct buf unquoted;              /* a CSV field without its quotes; JSON in it has strings of its own */

    /* The row at hand. *end can be read and is none of the characters that a value goes on with: '\n', ',' or ']'.
     * Bytes from there up to readable_end can be read too, but mean nothing. */
    const uint8_t *end;
    const uint8_t *readable_end;
    const uint8_t *field_end; /* CSV: where the field at hand ends, for reasons; NULL: tokens of JSON tell */

    /* What went wrong. */
    enum err_code code;
    struct error *err;
    int bad_column;
    char reason[ROW_REASON_BYTES];
};

/* --- row.c ------------------------------------------------------------------------------------------------------- */

MUST_CHECK enum err_code ingest_row_init(struct row_parser *parser, const struct schema *schema,
                                         const struct ingest_limits *limits, struct error *err);
void ingest_row_done(struct row_parser *parser);
/* One row into the batch. *out_good false: a reject, with bad_column and reason set, and the batch as before. */
MUST_CHECK enum err_code ingest_row_parse(struct row_parser *parser, const uint8_t *text, size_t length,
                                          const uint8_t *readable_end, bool *out_good, struct error *err);
/* Marks the row as a reject; the column may be ROW_NO_COLUMN. Returns NULL. */
const uint8_t *ingest_bad(struct row_parser *parser, int column, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));
/* "expected X but found <the value at p>". */
const uint8_t *ingest_bad_value(struct row_parser *parser, int column, const char *expected, const uint8_t *p)
    __attribute__((cold));
/* Out of memory or another failure that is not the row's. Returns NULL. */
const uint8_t *ingest_failed(struct row_parser *parser, enum err_code code) __attribute__((cold));

static inline const uint8_t *row_skip_space(const struct row_parser *parser, const uint8_t *p)
{
    while (UNLIKELY(*p <= ' ') && p < parser->end && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n')) {
        p++;
    }
    return p;
}

/* --- value.c ----------------------------------------------------------------------------------------------------- */

const uint8_t *ingest_value_parse(struct row_parser *parser, uint32_t column, const uint8_t *p);

/* --- set.c ------------------------------------------------------------------------------------------------------- */

struct scanned {
    const uint8_t *start, *end; /* the number or text; *end can be read and belongs to no number */
    const uint8_t *shown;       /* where the value begins in the row, for reasons */
    struct number number;       /* of a number */
};
/* False as NULL elsewhere: the row is bad, or memory has run out. The type decides what a number or a text can be. */
bool ingest_set_number(struct row_parser *parser, uint32_t column, const struct scanned *value);
bool ingest_set_text(struct row_parser *parser, uint32_t column, const struct scanned *value);
/* "expected <what the column takes> but found <the value at shown>". */
const uint8_t *ingest_bad_type(struct row_parser *parser, uint32_t column, const uint8_t *shown) __attribute__((cold));
/* "a time from ... to ...": what the limits let in. Returns text. */
enum { INGEST_WINDOW_BYTES = 2 * CLOCK_TEXT_BYTES + 24 };
const char *ingest_window(const struct ingest_limits *limits, char text[INGEST_WINDOW_BYTES]);

/* --- string.c ---------------------------------------------------------------------------------------------------- */

/* The first quote, backslash or control character from p on, or `end` or a little behind it. *out_high is set when a byte
 * before it is not ASCII. */
const uint8_t *ingest_string_scan(const uint8_t *p, const uint8_t *end, const uint8_t *readable_end, bool *out_high);
/* The string that begins behind its opening quote at p, without escapes and as UTF-8: borrowed from the row or from the
 * scratch buffer. Returns the place behind the closing quote. */
const uint8_t *ingest_string_parse(struct row_parser *parser, int column, const uint8_t *p, const uint8_t **out_text,
                                   size_t *out_length);
/* Bytes of the row as they are into a column. False when out of memory. */
bool ingest_string_store(struct row_parser *parser, uint32_t column, const uint8_t *text, size_t length);
/* The same straight into a column. */
const uint8_t *ingest_string_parse_into(struct row_parser *parser, uint32_t column, const uint8_t *p);
/* Fails the row unless the bytes are UTF-8. */
bool ingest_string_check_utf8(struct row_parser *parser, int column, const uint8_t *text, size_t length);
/* RFC 4648 section 4, padded. False when it is not; `out` has room for length / 4 * 3 bytes. */
bool ingest_string_decode_base64(const uint8_t *text, size_t length, uint8_t *out, size_t *out_length);

/* --- skip.c ------------------------------------------------------------------------------------------------------ */

/* Any well-formed JSON value. */
const uint8_t *ingest_skip_value(struct row_parser *parser, int column, const uint8_t *p);

/* --- names.c ----------------------------------------------------------------------------------------------------- */

/* The column that a name in the data means, or ROW_NO_COLUMN: the one of that name, else the one of the identifier that
 * ingest_name_identifier makes of it. */
int ingest_name_find(const struct schema *schema, const char *name, size_t length);
/* An identifier: runs of all but letters, digits and _ become one _, or nothing at the ends. Returns text. */
enum { INGEST_NAME_BYTES = 64 };
char *ingest_name_identifier(const char *name, size_t length, char text[INGEST_NAME_BYTES]);
/* What to say behind an error about a name in a header: "", or that its lines end in a way that is not known. */
const char *ingest_name_hint(const char *name, size_t length);

/* --- csv.c ------------------------------------------------------------------------------------------------------- */

struct csv {
    uint8_t delimiter, quote;
    bool is_lenient;
    bool needs_header; /* it has not come yet */
    char *null_text;   /* owned */
    size_t null_bytes;
    int *columns; /* by place in a row: the column, or ROW_NO_COLUMN; there are field_count */
    size_t field_count;
};
MUST_CHECK enum err_code ingest_csv_init(struct csv *csv, const struct ingest_csv *options, const struct schema *schema,
                                         struct error *err);
void ingest_csv_done(struct csv *csv);
/* The first row. ERR_INVALID: its columns cannot be those of the table. */
MUST_CHECK enum err_code ingest_csv_header(struct csv *csv, struct row_parser *parser, const uint8_t *text,
                                           size_t length, const uint8_t *readable_end, struct error *err);
/* As ingest_row_parse. */
MUST_CHECK enum err_code ingest_csv_parse(const struct csv *csv, struct row_parser *parser, const uint8_t *text,
                                          size_t length, const uint8_t *readable_end, bool *out_good,
                                          struct error *err);

/* --- csv_field.c ------------------------------------------------------------------------------------------------- */

struct csv_field {
    const uint8_t *start, *end; /* without the quotes around it; what is doubled inside is still double */
    const uint8_t *next;        /* behind the delimiter; NULL: it was the last */
    bool is_quoted, is_high;    /* high: not all of it is ASCII */
    bool is_mixed;              /* it holds doubled quotes, or text follows the closing one: ingest_csv_unquote */
};
/* The field that begins at p. False: the row is bad, and says so. */
bool ingest_csv_take(const struct csv *csv, struct row_parser *parser, const uint8_t *p, struct csv_field *out);
/* A mixed field as it was meant; `out` has room for as many bytes. Returns its length. */
size_t ingest_csv_unquote(const struct csv *csv, const struct csv_field *field, uint8_t *out);
/* A field into its column. False: the row is bad, or memory has run out. */
bool ingest_csv_set(const struct csv *csv, struct row_parser *parser, uint32_t column, const struct csv_field *field);

/* --- split.c ----------------------------------------------------------------------------------------------------- */

/* Cuts a body into rows. Keeps no more of a row than keep_bytes. */
enum split_state { SPLIT_START, SPLIT_ROWS, SPLIT_AFTER };
enum split_quoting { SPLIT_FIELD_START, SPLIT_PLAIN, SPLIT_QUOTED, SPLIT_QUOTE };
struct splitter {
    enum ingest_format format;
    enum split_state state;
    size_t keep_bytes;
    struct buf carry; /* the beginning of a row whose rest has not come yet, at most keep_bytes of it */
    size_t row_bytes; /* of the row in progress that came in earlier pieces, kept or not */
    uint32_t depth;   /* in an array: of brackets inside the element */
    bool in_string, in_escape;
    bool had_comma;
    uint8_t delimiter, quote;   /* CSV */
    enum split_quoting quoting; /* CSV: of the row in progress */
    /* A whole row; *(text + length) and all up to readable_end can be read, unless row_bytes > length: then it was cut. */
    enum err_code (*take)(void *context, const uint8_t *text, size_t length, const uint8_t *readable_end,
                          size_t row_bytes, struct error *err);
    void *context;
};
MUST_CHECK enum err_code ingest_split_feed(struct splitter *splitter, const uint8_t *data, size_t length,
                                           struct error *err);
MUST_CHECK enum err_code ingest_split_finish(struct splitter *splitter, struct error *err);
void ingest_split_done(struct splitter *splitter);

#endif
