/* Statistics and page index: from our column_stats to the bytes of the format and back. */
#ifndef GRANARY_PARQUET_STATS_H
#define GRANARY_PARQUET_STATS_H

#include "common/parquet/meta.h"
#include "common/parquet/types.h"
#include "common/rows/batch.h"

/* One data page, as the page index knows it. */
struct page_entry {
    int64_t offset;    /* of its header, in the file */
    int32_t bytes;     /* header and payload */
    int64_t first_row; /* in the row group */
    uint32_t rows;
    struct column_stats stats;
};

/* Bounds in their written form, in the arena. Zeros get the sign that keeps the bound a bound. */
MUST_CHECK enum err_code parquet_stats_encode(const struct column_stats *stats, struct arena *arena,
                                              struct meta_statistics *out, struct error *err);
/* Fills the bounds of `out` (one that column_stats_init made) with what can be trusted; see stats_decode.c for the rules.
 * Bounds in `statistics` other than the legacy ones hold only where the file says that they are in the type's order. A null
 * count that is not known becomes 1 where the column may have nulls. */
void parquet_stats_decode(const struct meta_statistics *statistics, const struct meta_file *meta,
                          const struct column_layout *layout, struct column_stats *out);
/* The same for a pair of bounds of a column index. */
void parquet_stats_decode_bounds(const struct parquet_bytes *min, const struct parquet_bytes *max,
                                 const struct column_layout *layout, struct column_stats *out);
/* Does the file say that the bounds of this column are in the order of its type? */
bool parquet_stats_are_ordered(const struct meta_file *meta, const struct column_layout *layout);

/* Can every page be described? No where a page has values but no bounds (only NaN, or a maximum that cannot be cut), nor where
 * one of a date or timestamp has only nulls: its bounds would have to be empty, which hyparquet takes for a number and fails. */
bool parquet_column_index_possible(const struct page_entry *pages, size_t count);
MUST_CHECK enum err_code parquet_column_index_encode(const struct page_entry *pages, size_t count, struct arena *arena,
                                                     struct buf *out, struct error *err);
MUST_CHECK enum err_code parquet_offset_index_encode(const struct page_entry *pages, size_t count, struct buf *out,
                                                     struct error *err);

#endif
