/* What encoding a chunk and taking one over share. */
#ifndef GRANARY_PARQUET_CHUNK_INTERNAL_H
#define GRANARY_PARQUET_CHUNK_INTERNAL_H

#include "common/parquet/chunk.h"
#include "common/parquet/chunk_choice.h"

/* Bounds what a reader must look at for one row, and what it must decode at once, where values take few bits. */
enum { PAGE_MAX_ROWS = 16384 };

struct chunk_encoder {
    struct chunk_options options;
    struct codec *codec;
    enum codec_kind kind;
    struct chunk_choice choice;
    struct dictionary *dictionary;
    struct buf dense_scratch;
    struct buf payload, compressed; /* of the page in progress */
    struct buf bytes;               /* of the chunk in progress */
    size_t page_capacity;
    struct chunk chunk;
};

/* The chunk in progress. */
struct chunk_job {
    const struct schema_column *column;
    const struct column *values;
    uint32_t rows;
    int64_t file_offset;
    struct dense dense;
    enum parquet_encoding encoding;
    size_t distinct;              /* values, at the most */
    const uint32_t *first_values; /* of the dense ones, that bring each distinct one; NULL: not known */
};

void parquet_chunk_begin(struct chunk_encoder *encoder, const struct chunk_job *job);
/* The entry of a page of rows [first, first + rows) that will stand `at` bytes into the chunk, and the rows' statistics. */
MUST_CHECK enum err_code parquet_chunk_note_page(struct chunk_encoder *encoder, const struct chunk_job *job, size_t at,
                                                 uint32_t first, uint32_t rows, struct page_entry **out,
                                                 struct error *err);
/* Fills in the job's dense values. */
MUST_CHECK enum err_code parquet_chunk_gather(struct chunk_encoder *encoder, struct chunk_job *job, struct error *err);
/* The chunk is complete, and these are its pages: its encodings, sizes and, where the column asks for one, its bloom filter. */
MUST_CHECK enum err_code parquet_chunk_end(struct chunk_encoder *encoder, const struct chunk_job *job,
                                           struct parquet_bytes data, struct error *err);

#endif
