/* Bounds of one column over some rows: what the footer, the catalog and the pruning of scans share. */
#ifndef GRANARY_ROWS_STATS_H
#define GRANARY_ROWS_STATS_H

#include "common/rows/schema.h"

struct column;

/* Values in `min`/`max` as the type's plain bytes (little-endian fixed width, decimal as int64, strings as they are, cut
 * to 64 bytes: min cut is still a lower bound, max is then raised to stay an upper bound, or absent). NaN is never a
 * bound; has_min and has_max are false when all values are null or NaN. */
enum { COLUMN_STATS_VALUE_BYTES = 64 };
struct column_stats {
    uint32_t column_id;
    enum column_type type;
    uint64_t null_count;
    bool has_min, has_max;
    bool open_min, open_max; /* there are values that no bound covers: has_min, has_max stay false for good */
    uint8_t min_length, max_length;
    uint8_t min[COLUMN_STATS_VALUE_BYTES];
    uint8_t max[COLUMN_STATS_VALUE_BYTES];
};

/* Order of two plain values of one type: numbers by value, all else bytewise. Lengths matter for the latter only. */
int column_value_compare(enum column_type type, const void *a, size_t a_length, const void *b, size_t b_length);

void column_stats_init(struct column_stats *stats, const struct schema_column *column);
/* Takes in rows [first, first + count) of the column. */
void column_stats_update(struct column_stats *stats, const struct column *column, uint32_t first, uint32_t count);
void column_stats_merge(struct column_stats *into, const struct column_stats *from);

#endif
