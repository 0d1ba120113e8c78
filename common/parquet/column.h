/* One column of a file, front to back: pages to slots of a batch. */
#ifndef GRANARY_PARQUET_COLUMN_H
#define GRANARY_PARQUET_COLUMN_H

#include "common/parquet/page.h"
#include "common/parquet/values.h"
#include "common/rows/batch.h"

/* What the columns of a cursor may hold together: pages, dictionaries, decoded values and texts of the batch. */
struct column_budget {
    uint64_t used_bytes, most_bytes;
};

struct column_reader {
    struct column_budget *budget; /* borrowed; NULL: none */
    uint64_t held_bytes;          /* of the budget */
    struct values_form form;
    struct page_reader pages;
    struct meta_offset_index places; /* borrowed; no pages: it is read front to back */
    uint64_t begin;                  /* of the chunk, in the file */
    uint64_t rows;                   /* of the chunk */
    uint64_t end_row;                /* in the file: behind the last row of the chunk */
    uint64_t rows_left;              /* of the chunk, in pages not yet read */
    uint64_t indexed_rows;           /* that the page to come has, as the index says; 0: no matter */
    bool has_dictionary;
    struct values dictionary;
    /* the page in progress */
    struct values values;
    struct buf codes;  /* uint32_t; when coded */
    struct buf levels; /* one byte per row; when has_nulls */
    bool coded, has_nulls;
    uint32_t page_rows, page_at;
    size_t dense_count, dense_at;
};

void parquet_column_reader_done(struct column_reader *reader);

/* A column chunk at [begin, end) of the file. */
struct column_chunk {
    uint64_t begin, end, rows;
    struct meta_offset_index places; /* borrowed while it is read; no pages when not known */
};
void parquet_column_reader_start(struct column_reader *reader, const struct column_chunk *chunk);

/* Passes by the next rows, of which there are more. Pages that hold no other rows are not read. */
MUST_CHECK enum err_code parquet_column_reader_skip(struct column_reader *reader, uint64_t rows, struct error *err);

/* Fills slots [0, rows) of the column in an empty batch that has room for them. row_count is left to the caller. */
MUST_CHECK enum err_code parquet_column_reader_read(struct column_reader *reader, struct batch *batch, uint32_t column,
                                                    uint32_t rows, struct error *err);

#endif
