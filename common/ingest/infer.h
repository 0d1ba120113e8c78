/* Schema inference: what a table for some data could look like, with the reason for each choice. A proposal for a person
 * to read and change; nothing depends on it later. */
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
    uint64_t rows;       /* looked at */
    size_t column_count;
    struct infer_column *columns;
    size_t timestamp_column;
    const char *timestamp_why;
};

void infer_proposal_done(struct infer_proposal *proposal);

struct infer_options {
    struct ingest_options ingest;
    const char
        *timestamp; /* the name of the timestamp column, as it is in the data or as an identifier; NULL: to be found.
                              Integers in it are taken as the time since the epoch in the unit their size tells */
    bool is_whole;  /* the sample is all there is: its last row is not cut */
};

/* From the first bytes of a body (some MB: all of them are looked at). ERR_INVALID: no rows, broken, or no timestamp column;
 * the text says how to name one. */
MUST_CHECK enum err_code infer_sample(const struct infer_options *options, const void *data, size_t length,
                                      struct infer_proposal *out, struct error *err);
/* From the schema of a Parquet file. */
MUST_CHECK enum err_code infer_file(const struct infer_options *options, const struct parquet_source *source,
                                    struct infer_proposal *out, struct error *err);

#endif
