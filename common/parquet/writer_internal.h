/* What the files of the writer share. */
#ifndef GRANARY_PARQUET_WRITER_INTERNAL_H
#define GRANARY_PARQUET_WRITER_INTERNAL_H

#include "common/parquet/chunk.h"
#include "common/parquet/writer.h"

#define PARQUET_MAGIC      "PAR1"
#define PARQUET_CREATED_BY "granary version "
enum { PARQUET_MAGIC_BYTES = 4 };

struct parquet_writer {
    const struct schema *schema;
    struct parquet_writer_options options; /* defaults filled in */
    struct parquet_sink sink;
    struct batch *pending; /* rows of the row group in progress */
    struct batch *last;    /* the row appended last, to check the order over calls */
    struct chunk_encoder *encoder;
    struct arena *arena; /* chunks and bounds of finished row groups */
    struct meta_row_group *row_groups;
    size_t row_group_count, row_group_capacity;
    struct buf column_indexes, offset_indexes; /* places in the chunks are within these until the end */
    struct buf blooms;                         /* of the row group in progress */
    struct column_stats *stats;                /* of the file */
    uint64_t row_count, memory_bytes, file_bytes;
};

/* To the sink, counted. */
MUST_CHECK enum err_code parquet_writer_put(struct parquet_writer *writer, const void *data, size_t length,
                                            struct error *err);
/* Rows [first, first + count) may come next: right columns, right order. Remembers the last of them. */
MUST_CHECK enum err_code parquet_writer_admit(struct parquet_writer *writer, const struct batch *batch, uint32_t first,
                                              uint32_t count, struct error *err);
/* A row group of all rows of the batch. raws (may be NULL): for each column its pages in another file, or no data; they are
 * taken over where that is possible, and the values are encoded where it is not. */
MUST_CHECK enum err_code parquet_writer_put_group(struct parquet_writer *writer, const struct batch *rows,
                                                  const struct parquet_bytes *raws, struct error *err);
/* Encodes and puts the row group in progress, if it has rows. */
MUST_CHECK enum err_code parquet_writer_flush(struct parquet_writer *writer, struct error *err);
/* Page index, footer and magic. */
MUST_CHECK enum err_code parquet_writer_put_end(struct parquet_writer *writer, struct error *err);

#endif
