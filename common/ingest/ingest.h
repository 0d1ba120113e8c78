/* Decoders: bytes of a request body or a file in, columnar batches and rejects out. Streaming: feed any pieces; a row may be
 * cut anywhere. Memory is bounded by the batch and by limits.max_row_bytes; only a Parquet body that is fed, not read from
 * a file, is kept whole until it ends.
 *
 * A bad row is a reject (row number, column, reason, its text word for word) and never stops the others. A body that is
 * broken as a whole (bad compression, an array that never closes, a header or a file whose columns cannot be those of the
 * table) is an error, and then nothing of it counts. docs/formats.md lists what is taken, by type and format. */
#ifndef GRANARY_INGEST_INGEST_H
#define GRANARY_INGEST_INGEST_H

#include "common/base/arena.h"
#include "common/rows/batch.h"

enum ingest_format { INGEST_NDJSON, INGEST_JSON_ARRAY, INGEST_CSV, INGEST_PARQUET, INGEST_FORMAT_COUNT };
enum ingest_compression { INGEST_PLAIN, INGEST_GZIP, INGEST_ZSTD, INGEST_COMPRESSION_COUNT };
enum ingest_unknown { INGEST_UNKNOWN_REJECT, INGEST_UNKNOWN_IGNORE };

/* RFC 4180 with commas, double quotes and a header, when all is zero. */
struct ingest_csv {
    char delimiter;     /* 0: ','. ASCII, no letter, digit, line end, quote, '+', '-', '.' or '_' */
    char quote;         /* 0: '"'; the same bounds */
    bool has_no_header; /* fields are the table's columns in order */
    bool is_lenient;    /* short rows end in nulls, fields beyond the header are ignored, space around what is no text
                              too, quotes may stand inside a field */
    const char *null_text; /* a field without quotes that is null; NULL: the empty one. Borrowed */
};

struct ingest_options {
    enum ingest_format format;
    enum ingest_compression compression;
    struct ingest_csv csv;
};

struct ingest_limits {
    size_t max_row_bytes; /* a longer row is a reject; its text is still kept whole up to max_reject_text_bytes */
    size_t max_reject_text_bytes;
    size_t max_decoded_bytes; /* after decompression; more is ERR_INVALID (a bomb) */
    uint32_t max_depth;       /* of nesting inside a json column */
    int64_t min_timestamp_us; /* window for the table's timestamp column, both ends included */
    int64_t max_timestamp_us;
    enum ingest_unknown unknown;
};

struct ingest_reject {
    uint64_t row;       /* 1.. in the body, counting every row; the header of CSV is none */
    const char *column; /* borrowed from the schema, or NULL when the row as a whole is bad */
    const char *reason; /* constant or arena text, lower case: "expected an integer but found \"x\"" */
    const char *text;   /* the row's bytes as sent (of Parquet: as JSON); not NUL-terminated; may be any bytes */
    size_t text_bytes;
};

struct ingest;

/* Rows go to ingest_batch(), rejects to ingest_rejects(). The schema is borrowed. ERR_INVALID: options that contradict
 * each other. */
MUST_CHECK enum err_code ingest_new(const struct schema *schema, const struct ingest_options *options,
                                    const struct ingest_limits *limits, struct ingest **out, struct error *err);
void ingest_free(struct ingest *ingest);
DEFINE_AUTO(struct ingest, ingest_free)

/* Any piece of the body. ERR_INVALID: bad compression, a bomb, a broken array; the decoder is then dead. */
MUST_CHECK enum err_code ingest_feed(struct ingest *ingest, const void *data, size_t length, struct error *err);
/* The body is over: a last line without newline counts; a cut-off gzip or zstd stream or array is ERR_INVALID. A Parquet
 * body becomes rows only here, at most max_decoded_bytes of them. */
MUST_CHECK enum err_code ingest_finish(struct ingest *ingest, struct error *err);

/* A Parquet file that is read from where it lies, in memory bounded by its pages; max_decoded_bytes does not bound it. The
 * source is copied, its context borrowed. There is no feeding and no finishing: each ingest_read puts some thousand rows
 * more into the batch and the rejects, for the caller to take away; *out_more is false once there are none left. */
struct parquet_source; /* common/parquet/sink.h */
MUST_CHECK enum err_code ingest_new_file(const struct schema *schema, const struct parquet_source *source,
                                         const struct ingest_limits *limits, struct ingest **out, struct error *err);
MUST_CHECK enum err_code ingest_read(struct ingest *ingest, bool *out_more, struct error *err);

struct batch *ingest_batch(struct ingest *ingest); /* borrowed; good rows so far */
/* Owned by the caller; a new empty one takes its place. NULL when out of memory, and then nothing is taken. */
struct batch *ingest_batch_take(struct ingest *ingest);
const struct ingest_reject *ingest_rejects(const struct ingest *ingest, size_t *out_count); /* borrowed */
void ingest_rejects_clear(struct ingest *ingest);
uint64_t ingest_rows_seen(const struct ingest *ingest); /* good and bad */

/* The companion table `name$rejects`: its fixed columns, ids and order.
 * received_at timestamp (its timestamp column), batch_id uuid, row int64, column string null, reason string, text bytes */
MUST_CHECK enum err_code ingest_rejects_schema(const struct uuid *rejects_table_id, struct schema **out,
                                               struct error *err);
MUST_CHECK enum err_code ingest_rejects_batch(const struct ingest_reject *rejects, size_t count,
                                              const struct schema *rejects_schema, int64_t received_at_us,
                                              const struct uuid *batch_id, struct batch **out, struct error *err);

#endif
