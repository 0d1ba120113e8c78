/* The pages of a column into its reader. Shared with column.c only. */
#ifndef GRANARY_PARQUET_COLUMN_PAGE_H
#define GRANARY_PARQUET_COLUMN_PAGE_H

#include "common/parquet/column.h"

/* The next data page, with any dictionary before it; data pages wholly within the next `pass_rows` rows are passed by. */
MUST_CHECK enum err_code parquet_column_page_load(struct column_reader *reader, uint64_t pass_rows, struct error *err);
/* The dictionary, when the next page is one; else that page is passed by. */
MUST_CHECK enum err_code parquet_column_dictionary_load(struct column_reader *reader, struct error *err);

#endif
