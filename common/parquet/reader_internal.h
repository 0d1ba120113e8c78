/* What the reader and its cursors share. */
#ifndef GRANARY_PARQUET_READER_INTERNAL_H
#define GRANARY_PARQUET_READER_INTERNAL_H

#include "common/parquet/meta.h"
#include "common/parquet/reader.h"
#include "common/parquet/types.h"

/* A column that the schema does not list, and why. */
struct unread_column {
    const char *name;
    const char *why;
    const struct meta_element *element; /* with all that is under it behind it */
    size_t first_chunk, chunk_count;    /* of its leaves, in each row group */
};

struct parquet_reader {
    struct parquet_source source;
    struct arena *arena;
    struct buf footer; /* the metadata borrow from it */
    uint64_t footer_at;
    uint32_t chunk_slack_bytes; /* chunks may end so much later than they say */
    struct meta_file meta;
    struct schema schema;          /* its columns are in the arena */
    struct column_layout *layouts; /* of the schema's columns */
    struct unread_column *unread;
    size_t unread_count;
};

/* Schema, layouts and unread columns, from the metadata; row groups have a chunk for each leaf afterwards. */
MUST_CHECK enum err_code parquet_reader_fill_schema(struct parquet_reader *reader, struct error *err);

/* The error for who asks for an unread column: it is broken, or why it is not read. */
MUST_CHECK enum err_code parquet_reader_refuse(const struct parquet_reader *reader, size_t i, struct error *err);

/* ERR_CORRUPT where the pages of a chunk do not stand within the file before the footer; else where they stand. */
MUST_CHECK enum err_code parquet_reader_check_place(const struct parquet_reader *reader, const struct meta_chunk *chunk,
                                                    uint64_t *out_begin, uint64_t *out_end, struct error *err);

/* The same of a column of the schema, checked when the reader was opened. */
void parquet_reader_chunk_range(const struct parquet_reader *reader, const struct meta_chunk *chunk,
                                uint64_t *out_begin, uint64_t *out_end);

#endif
