/* The page index of a column chunk, as far as it can be used: an index that is absent, broken, or at odds with the footer is
 * one without pages, because the pages themselves can still be read. */
#ifndef GRANARY_PARQUET_PAGE_INDEX_H
#define GRANARY_PARQUET_PAGE_INDEX_H

#include "common/parquet/reader_internal.h"

/* Where the data pages of a column of the schema stand: in order, within the chunk, from row 0 on. */
MUST_CHECK enum err_code parquet_page_index_places(const struct parquet_reader *reader, size_t row_group, size_t column,
                                                   struct arena *arena, struct meta_offset_index *out,
                                                   struct error *err);
/* What `pages` pages hold. Whether bounds can be trusted is for parquet_stats_decode_bounds to say. */
MUST_CHECK enum err_code parquet_page_index_bounds(const struct parquet_reader *reader, size_t row_group, size_t column,
                                                   size_t pages, struct arena *arena, struct meta_column_index *out,
                                                   struct error *err);

#endif
