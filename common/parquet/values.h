/* The decoded values of a page or dictionary: dense, in our types. */
#ifndef GRANARY_PARQUET_VALUES_H
#define GRANARY_PARQUET_VALUES_H

#include "common/parquet/encoding.h"
#include "common/parquet/types.h"

enum { PARQUET_VALUES_MAX_BYTES = 1 << 30 };

struct values {
    size_t count;
    size_t width;       /* of ours; 0 for texts */
    struct buf fixed;   /* width > 0 */
    struct spans spans; /* texts; starts and lengths are owned, data are borrowed from the page or `texts` */
    size_t spans_capacity;
    struct buf texts;    /* bytes of texts that the page does not hold as they are, or that must outlive it */
    struct buf physical; /* scratch: before conversion */
};

void parquet_values_done(struct values *values);

/* Decodes `count` non-null values in any encoding but a dictionary's. Texts point into `in`. ERR_INVALID names an
 * encoding that does not belong to the type. */
MUST_CHECK enum err_code parquet_values_decode(struct values *values, const struct column_layout *layout,
                                               enum column_type type, int32_t encoding, struct encoded in, size_t count,
                                               struct error *err);
/* Makes the texts independent of the page, with 16 bytes of slack behind them. */
MUST_CHECK enum err_code parquet_values_detach(struct values *values, struct error *err);

#endif
