/* Physical values that are not ours as they stand: widened, scaled, or checked to fit. Pure. */
#ifndef GRANARY_PARQUET_CONVERT_H
#define GRANARY_PARQUET_CONVERT_H

#include "common/parquet/types.h"

/* Where physical values stand: one behind the other, each `width` bytes, or spans of bytes where width is 0. */
struct physical_values {
    const uint8_t *data;
    size_t width;
    const uint32_t *starts, *lengths; /* width 0 */
};

/* Converts values [first, count) as the layout says; out[i] (4 or 8 bytes each, by our type) belongs to value i. Returns the
 * index of the first that does not fit, or count. A time finer than a microsecond fits only when it is to be rounded down. */
size_t parquet_convert(const struct column_layout *layout, const struct physical_values *from, bool round_times,
                       void *out, size_t first, size_t count);

/* What value i is and what was expected instead, for the text of an error. Returns text. */
enum { CONVERT_TEXT_BYTES = 160 };
char *parquet_convert_explain(const struct column_layout *layout, const struct physical_values *from, size_t i,
                              char text[CONVERT_TEXT_BYTES]);

#endif
