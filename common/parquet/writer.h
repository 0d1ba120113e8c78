/* Parquet writer: batches in, file bytes out, in one pass. Memory is bounded by one row group. Equal rows and options
 * give equal bytes. Rows must come sorted by the schema's sort keys: the footer says so (ERR_INVALID names the row).
 * Layout: docs/partition-format.md. Source: parquet-format 2.11. */
#ifndef GRANARY_PARQUET_WRITER_H
#define GRANARY_PARQUET_WRITER_H

#include "common/parquet/sink.h"
#include "common/rows/batch.h"

struct parquet_writer;

struct parquet_key_value {
    const char *key;
    const char *value;
};

struct parquet_writer_options { /* zero means the default */
    uint32_t row_group_rows;    /* 131072 */
    size_t row_group_bytes;     /* 32 MiB of values in memory */
    size_t page_bytes;          /* 128 KiB before compression */
    size_t dictionary_bytes;    /* 256 KiB */
    int zstd_level;             /* 3; -1 for no compression */
    double bloom_fpp;           /* 0.01, on columns whose schema says bloom */
    const struct parquet_key_value *key_values;
    size_t key_value_count;
};

struct parquet_summary {
    uint64_t row_count;
    uint64_t file_bytes;
    uint64_t memory_bytes;    /* of the values, uncompressed */
    int64_t min_timestamp_us; /* over the table's timestamp column */
    int64_t max_timestamp_us;
    size_t column_count;
    struct column_stats *columns; /* owned; one per schema column */
};
void parquet_summary_done(struct parquet_summary *summary);

/* schema, sink and key values are borrowed until the writer is freed. */
MUST_CHECK enum err_code parquet_writer_new(const struct schema *schema, const struct parquet_writer_options *options,
                                            const struct parquet_sink *sink, struct parquet_writer **out,
                                            struct error *err);
void parquet_writer_free(struct parquet_writer *writer);
DEFINE_AUTO(struct parquet_writer, parquet_writer_free)

/* Rows [first, first + count) of the batch (its schema's columns equal the writer's). After an error the writer is dead. */
MUST_CHECK enum err_code parquet_writer_append(struct parquet_writer *writer, const struct batch *batch, uint32_t first,
                                               uint32_t count, struct error *err);
/* A whole row group of the copier's file: its pages are copied as they stand where they are of the form that the writer gives
 * them, and encoded anew where not; a column that the file lacks is null. Order, bounds, counts and indexes are worked out
 * from the decoded values, never believed. *out_taken is false, and nothing has been written, where that would not do: a row
 * group less than half full or larger than ours, a file that is not ours, or no column to copy. Else errors as of
 * parquet_cursor_next and append. */
struct parquet_copier; /* common/parquet/copier.h */
MUST_CHECK enum err_code parquet_writer_copy_group(struct parquet_writer *writer, struct parquet_copier *copier,
                                                   size_t row_group, bool *out_taken, struct error *err);
/* Last row group and footer. At least one row, else ERR_INVALID. */
MUST_CHECK enum err_code parquet_writer_finish(struct parquet_writer *writer, struct parquet_summary *out,
                                               struct error *err);

#endif
