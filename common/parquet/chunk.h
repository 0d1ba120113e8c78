/* One column of one row group, encoded or taken over: dictionary page, data pages, statistics, page entries, bloom filter. */
#ifndef GRANARY_PARQUET_CHUNK_H
#define GRANARY_PARQUET_CHUNK_H

#include "common/parquet/stats.h"

struct chunk_options {
    size_t page_bytes; /* before compression */
    size_t dictionary_bytes;
    int zstd_level; /* -1: no compression */
    double bloom_fpp;
};

struct chunk {                 /* what the last parquet_chunk_encode made; valid until the next */
    struct parquet_bytes data; /* the pages as they stand in the file */
    struct buf bloom;          /* header and filter; empty when the column has none */
    struct meta_chunk meta;    /* without bloom and index places, and without statistics */
    struct column_stats stats;
    struct page_entry *pages;
    size_t page_count;
};

struct chunk_encoder;

MUST_CHECK enum err_code parquet_chunk_encoder_new(const struct chunk_options *options, struct chunk_encoder **out,
                                                   struct error *err);
void parquet_chunk_encoder_free(struct chunk_encoder *encoder);
DEFINE_AUTO(struct chunk_encoder, parquet_chunk_encoder_free)

/* All rows (at least one) of the column; `file_offset` is where its bytes will stand. *out is borrowed. ERR_INVALID
 * where a column that is not nullable has nulls. */
MUST_CHECK enum err_code parquet_chunk_encode(struct chunk_encoder *encoder, const struct schema_column *column,
                                              const struct column *values, uint32_t rows, int64_t file_offset,
                                              const struct chunk **out, struct error *err);

/* Takes over a chunk that stands encoded in another file: `raw` are its pages, `values` what they were decoded to. Everything
 * about them is worked out from the values; the pages themselves are copied, when they are as parquet_chunk_encode writes
 * them (header for header, with checksums, codec, encodings and sizes). Whoever decoded them has checked the checksums.
 * *out borrows from raw, and is NULL where they are not: encode the values. */
MUST_CHECK enum err_code parquet_chunk_adopt(struct chunk_encoder *encoder, const struct schema_column *column,
                                             const struct column *values, uint32_t rows, struct parquet_bytes raw,
                                             int64_t file_offset, const struct chunk **out, struct error *err);

#endif
