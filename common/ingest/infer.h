/* Schema inference: what a table for some data could look like, with the reason for each choice. A proposal for a person
 * to read and change; nothing depends on it later.
 *
 * A type is proposed when every value has it: bool, int64, double, uuid, date, timestamp (with the format that alone fits
 * all of them), json for what is nested or of several kinds, and string for all else. The timestamp column is the first
 * of type timestamp that is never null, one with a name such as ts, time or date before others; then dates; then integers
 * of such a name that lie in this century when counted from 1970 in one unit (s, ms, us, ns). */
#ifndef GRANARY_INGEST_INFER_H
#define GRANARY_INGEST_INFER_H

#include "common/base/arena.h"
#include "common/ingest/ingest.h"

struct infer_column {
    const char *name; /* an identifier: the name in the data, or made from it; decoders bring the two together again */
    const char *source; /* the name in the data, or "" for a column of a CSV file without header */
    enum column_type type;
    uint8_t precision, scale; /* decimal only */
    bool nullable;            /* all but the timestamp column: a sample cannot know better */
    const char *format;       /* as schema_column.format, NULL for the default */
    const char *why;          /* "all 120 values are integers" */
};

struct infer_proposal {
    struct arena *arena; /* holds the texts and columns */
    uint64_t rows;       /* looked at; of a Parquet file, all it has */
    size_t column_count;
    struct infer_column *columns;
    size_t timestamp_column;
    const char *timestamp_why;
    const char *note; /* what the proposal leaves out: columns that are not read, rows that are broken. NULL: nothing */
};

void infer_proposal_done(struct infer_proposal *proposal);

struct infer_options {
    struct ingest_options ingest;
    const char *timestamp; /* the name of the timestamp column, as in the data or as an identifier; NULL: to be found */
    bool is_whole;         /* the sample is all there is: its last row is not cut */
};

/* From the first bytes of a body (some MB: all of them are looked at); of a Parquet file, all of it. ERR_INVALID: no rows,
 * broken, or no timestamp column; the text says how to name one. */
MUST_CHECK enum err_code infer_sample(const struct infer_options *options, const void *data, size_t length,
                                      struct infer_proposal *out, struct error *err);
/* From what a Parquet file says about itself. */
struct parquet_source; /* common/parquet/sink.h */
MUST_CHECK enum err_code infer_file(const struct infer_options *options, const struct parquet_source *source,
                                    struct infer_proposal *out, struct error *err);

#endif
