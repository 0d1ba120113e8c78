/* Between the copier and the writer. */
#ifndef GRANARY_PARQUET_COPIER_INTERNAL_H
#define GRANARY_PARQUET_COPIER_INTERNAL_H

#include "common/parquet/copier.h"
#include "common/parquet/reader_internal.h"

struct parquet_copier {
    struct parquet_reader *reader; /* borrowed */
    const struct parquet_projection *projection;
    struct parquet_reader view;    /* the same file, read from the piece where that has it */
    struct parquet_cursor *cursor; /* over the view; NULL until first used */
    struct batch *converted;       /* where the projection converts */
    uint64_t begin, end;           /* the piece: so much of the file is in memory */
    struct buf bytes;
};

/* Reads the row group in one piece; *out_has is false where its columns lie too far apart or hold more than most_bytes. */
MUST_CHECK enum err_code parquet_copier_load(struct parquet_copier *copier, size_t row_group, uint64_t most_bytes,
                                             bool *out_has, struct error *err);
/* The pages of a column of the file, in the piece. */
struct parquet_bytes parquet_copier_raw(const struct parquet_copier *copier, size_t row_group, int column);
/* All rows of the row group, under the projection's schema, out of the piece. Borrowed until the next call. */
MUST_CHECK enum err_code parquet_copier_decode(struct parquet_copier *copier, size_t row_group, struct batch *out,
                                               struct error *err);

#endif
