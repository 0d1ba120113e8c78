/* One column of a file, front to back: pages to slots of a batch. */
#ifndef GRANARY_PARQUET_COLUMN_H
#define GRANARY_PARQUET_COLUMN_H

#include "common/parquet/page.h"
#include "common/parquet/values.h"
#include "common/rows/batch.h"

struct column_reader {
    struct values_form form;
    struct page_reader pages;
    uint64_t end_row;   /* in the file: behind the last row of the chunk */
    uint64_t rows_left; /* of the chunk, in pages not yet read */
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

/* Begins a column chunk of `rows` rows at [begin, end) of the file. */
void parquet_column_reader_start(struct column_reader *reader, uint64_t begin, uint64_t end, uint64_t rows);

/* Fills slots [0, rows) of the column in an empty batch that has room for them. row_count is left to the caller. */
MUST_CHECK enum err_code parquet_column_reader_read(struct column_reader *reader, struct batch *batch, uint32_t column,
                                                    uint32_t rows, struct error *err);

#endif
