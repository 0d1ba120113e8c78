/* Decoding the next data page of a column (private to the column reader). */
#ifndef GRANARY_PARQUET_COLUMN_PAGE_H
#define GRANARY_PARQUET_COLUMN_PAGE_H

#include "common/parquet/column.h"

/* Reads up to and including the next data page, dictionary on the way. */
MUST_CHECK enum err_code parquet_column_page_load(struct column_reader *reader, struct error *err);

#endif
