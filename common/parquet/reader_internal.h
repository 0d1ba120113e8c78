/* What the reader and its cursors share. */
#ifndef GRANARY_PARQUET_READER_INTERNAL_H
#define GRANARY_PARQUET_READER_INTERNAL_H

#include "common/parquet/meta.h"
#include "common/parquet/reader.h"
#include "common/parquet/types.h"

struct parquet_reader {
    struct parquet_source source;
    struct arena *arena;
    struct buf footer; /* the metadata borrow from it */
    struct meta_file meta;
    struct schema schema; /* its columns are in the arena */
    struct column_layout *layouts;
};

/* Where the pages of a chunk stand: within the file and before the footer, checked when the reader was opened. */
void parquet_reader_chunk_range(const struct meta_chunk *chunk, uint64_t *out_begin, uint64_t *out_end);

#endif
