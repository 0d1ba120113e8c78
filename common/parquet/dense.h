/* The values of one column of a row group without its nulls: what encoders see. */
#ifndef GRANARY_PARQUET_DENSE_H
#define GRANARY_PARQUET_DENSE_H

#include "common/rows/batch.h"

struct dense {
    enum column_type type;
    size_t width; /* bytes per value; 0 for variable width */
    size_t count;
    const uint8_t *values;   /* fixed width */
    const uint8_t *data;     /* variable width: value i is data[offsets[i] .. offsets[i + 1]) */
    const uint32_t *offsets; /* count + 1 */
};

/* Borrows from the column, or from `scratch` where nulls had to be left out. */
MUST_CHECK enum err_code parquet_dense_from_column(const struct column *column, uint32_t rows, struct buf *scratch,
                                                   struct dense *out, struct error *err);

/* Plain bytes of value i. */
static inline const uint8_t *parquet_dense_value(const struct dense *dense, size_t i, size_t *out_length)
{
    if (dense->width > 0) {
        *out_length = dense->width;
        return dense->values + i * dense->width;
    }
    *out_length = dense->offsets[i + 1] - dense->offsets[i];
    return dense->data + dense->offsets[i];
}

#endif
