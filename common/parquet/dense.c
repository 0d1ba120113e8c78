#include "common/parquet/dense.h"

#include <string.h>

/* Writes every slot and moves on only past the ones that are not null: no branch to mispredict. */
#define DEFINE_COMPACT_(name, type)                                                        \
    static size_t name(const uint8_t *valid, const type *values, uint32_t rows, type *out) \
    {                                                                                      \
        size_t count = 0;                                                                  \
        for (uint32_t i = 0; i < rows; i++) {                                              \
            out[count] = values[i];                                                        \
            count += valid[i >> 3] >> (i & 7) & 1;                                         \
        }                                                                                  \
        return count;                                                                      \
    }
DEFINE_COMPACT_(compact_u8, uint8_t)
DEFINE_COMPACT_(compact_u32, uint32_t)
DEFINE_COMPACT_(compact_u64, uint64_t)
DEFINE_COMPACT_(compact_u128, struct uuid)
#undef DEFINE_COMPACT_

static size_t compact(const struct column *column, size_t width, uint32_t rows, void *out)
{
    const void *values = width > 0 ? column->values.raw : column->offsets;
    switch (width) {
    case 1: return compact_u8(column->valid, values, rows, out);
    case 8: return compact_u64(column->valid, values, rows, out);
    case 16: return compact_u128(column->valid, values, rows, out);
    default: return compact_u32(column->valid, values, rows, out); /* numbers of 4 bytes, or offsets */
    }
}

enum err_code parquet_dense_from_column(const struct column *column, uint32_t rows, struct buf *scratch,
                                        struct dense *out, struct error *err)
{
    size_t width = column_type_width(column->type);
    struct dense dense = {.type = column->type, .width = width, .count = rows, .data = column->data};
    dense.values = width > 0 ? column->values.raw : NULL;
    dense.offsets = column->offsets;
    if (column->null_count > 0) {
        buf_clear(scratch);
        TRY(buf_reserve(scratch, ((size_t)rows + 1) * (width > 0 ? width : sizeof(uint32_t)), err));
        dense.count = compact(column, width, rows, scratch->data);
        if (width > 0) {
            dense.values = scratch->data;
        } else { /* null slots are empty ranges: the bytes themselves have no gaps */
            uint32_t *offsets = (uint32_t *)(void *)scratch->data;
            offsets[dense.count] = column->offsets[rows];
            dense.offsets = offsets;
        }
    }
    *out = dense;
    return OK;
}
