/* Rows from one batch into another: ranges, chosen rows, other schemas. All memory is reserved before the first column
 * is touched, so that a failure leaves the target as it was. */
#include "common/rows/internal.h"

/* Copies `count` bits between any positions; the target's bits behind them are undefined afterwards. */
static void copy_bits(uint8_t *to, size_t to_bit, const uint8_t *from, size_t from_bit, size_t count)
{
    if (to_bit % 8 == 0 && from_bit % 8 == 0) {
        memcpy(to + to_bit / 8, from + from_bit / 8, BITMAP_BYTES(count));
        return;
    }
    for (size_t i = 0; i < count; i++) {
        bitmap_set(to, to_bit + i, bitmap_get(from, from_bit + i));
    }
}

static uint32_t count_zero_bits(const uint8_t *bits, size_t first, size_t count)
{
    uint32_t zeros = 0;
    for (size_t i = first; i < first + count; i++) {
        zeros += !bitmap_get(bits, i);
    }
    return zeros;
}

static void set_bits(uint8_t *bits, size_t first, size_t count)
{
    size_t i = first;
    for (; i < first + count && i % 8 != 0; i++) {
        bitmap_set(bits, i, true);
    }
    size_t left = first + count - i;
    memset(bits + i / 8, 0xff, BITMAP_BYTES(left));
}

static void append_validity(struct batch *to, uint32_t column_index, const struct column *source, uint32_t first,
                            uint32_t count)
{
    struct column *target = &to->columns[column_index];
    uint32_t nulls = source->valid == NULL ? 0 : count_zero_bits(source->valid, first, count);
    if (nulls != 0) {
        copy_bits(batch_need_valid(to, column_index), to->row_count, source->valid, first, count);
        target->null_count += nulls;
    } else if (target->valid != NULL) {
        set_bits(target->valid, to->row_count, count);
    }
}

static void append_values(struct batch *to, uint32_t column_index, const struct column *source, uint32_t first,
                          uint32_t count)
{
    struct column *target = &to->columns[column_index];
    size_t width = column_type_width(source->type);
    if (width != 0) {
        memcpy(target->values.u8 + to->row_count * width, source->values.u8 + first * width, count * width);
        return;
    }
    uint32_t *offsets = target->offsets + to->row_count;
    uint32_t shift = offsets[0] - source->offsets[first];
    size_t bytes = source->offsets[first + count] - source->offsets[first];
    if (bytes != 0) {
        memcpy(target->data + offsets[0], source->data + source->offsets[first], bytes);
    }
    for (uint32_t i = 1; i <= count; i++) {
        offsets[i] = source->offsets[first + i] + shift; /* wraps around to the right number */
    }
}

enum err_code batch_append_range(struct batch *to, const struct batch *from, uint32_t first, uint32_t count,
                                 struct error *err)
{
    if (count == 0) {
        return OK;
    }
    uint32_t columns = (uint32_t)to->schema->column_count;
    TRY(batch_reserve(to, count, err));
    for (uint32_t c = 0; c < columns; c++) {
        const uint32_t *offsets = from->columns[c].offsets;
        if (offsets != NULL) {
            TRY(batch_reserve_data(to, c, offsets[first + count] - offsets[first], err));
        }
    }
    for (uint32_t c = 0; c < columns; c++) {
        append_validity(to, c, &from->columns[c], first, count);
        append_values(to, c, &from->columns[c], first, count);
    }
    to->row_count += count;
    return OK;
}

#define GATHER_(type)                                               \
    {                                                               \
        type *restrict out = (type *)target->values.raw + at;       \
        const type *restrict in = (const type *)source->values.raw; \
        for (uint32_t i = 0; i < count; i++) {                      \
            out[i] = in[rows[i]];                                   \
        }                                                           \
        break;                                                      \
    }

static void gather_fixed(struct column *target, uint32_t at, const struct column *source, const uint32_t *rows,
                         uint32_t count)
{
    switch (column_type_width(source->type)) {
    case 1: GATHER_(uint8_t)
    case 4: GATHER_(uint32_t)
    case 8: GATHER_(uint64_t)
    default: GATHER_(struct uuid)
    }
}

static void gather_variable(struct column *target, uint32_t at, const struct column *source, const uint32_t *rows,
                            uint32_t count)
{
    uint32_t *offsets = target->offsets + at;
    uint8_t *data = target->data;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t length;
        const uint8_t *value = column_variable(source, rows[i], &length);
        if (length != 0) {
            memcpy(data + offsets[i], value, length);
        }
        offsets[i + 1] = offsets[i] + length;
    }
}

static void gather_validity(struct batch *to, uint32_t column_index, const struct column *source, const uint32_t *rows,
                            uint32_t count)
{
    struct column *target = &to->columns[column_index];
    if (source->valid == NULL) {
        if (target->valid != NULL) {
            set_bits(target->valid, to->row_count, count);
        }
        return;
    }
    uint32_t nulls = 0;
    for (uint32_t i = 0; i < count; i++) {
        nulls += !bitmap_get(source->valid, rows[i]);
    }
    if (nulls == 0 && target->valid == NULL) {
        return;
    }
    uint8_t *valid = batch_need_valid(to, column_index);
    for (uint32_t i = 0; i < count; i++) {
        bitmap_set(valid, to->row_count + i, bitmap_get(source->valid, rows[i]));
    }
    target->null_count += nulls;
}

enum err_code batch_append_rows(struct batch *to, const struct batch *from, const uint32_t *rows, uint32_t count,
                                struct error *err)
{
    uint32_t columns = (uint32_t)to->schema->column_count;
    TRY(batch_reserve(to, count, err));
    for (uint32_t c = 0; c < columns; c++) {
        const uint32_t *offsets = from->columns[c].offsets;
        size_t bytes = 0;
        for (uint32_t i = 0; offsets != NULL && i < count; i++) {
            bytes += offsets[rows[i] + 1] - offsets[rows[i]];
        }
        if (offsets != NULL) {
            TRY(batch_reserve_data(to, c, bytes, err));
        }
    }
    for (uint32_t c = 0; c < columns; c++) {
        gather_validity(to, c, &from->columns[c], rows, count);
        if (from->columns[c].offsets != NULL) {
            gather_variable(&to->columns[c], to->row_count, &from->columns[c], rows, count);
        } else {
            gather_fixed(&to->columns[c], to->row_count, &from->columns[c], rows, count);
        }
    }
    to->row_count += count;
    return OK;
}

static void fill_null(struct batch *to, uint32_t column_index, uint32_t count)
{
    struct column *target = &to->columns[column_index];
    size_t width = column_type_width(target->type);
    if (count == 0) {
        return;
    }
    memset(batch_need_valid(to, column_index), 0, BITMAP_BYTES(count));
    target->null_count = count;
    if (width != 0) {
        memset(target->values.raw, 0, count * width);
    } else {
        memset(target->offsets, 0, ((size_t)count + 1) * sizeof *target->offsets);
    }
}

static void convert_values(struct batch *to, uint32_t column_index, const struct column *source, uint32_t count)
{
    struct column *target = &to->columns[column_index];
    if (source->type == target->type) {
        append_values(to, column_index, source, 0, count);
    } else if (target->type == COLUMN_INT64) {
        for (uint32_t i = 0; i < count; i++) {
            target->values.i64[i] = source->values.i32[i];
        }
    } else {
        for (uint32_t i = 0; i < count; i++) {
            target->values.f64[i] = (double)source->values.f32[i];
        }
    }
}

enum err_code batch_convert(const struct batch *from, const struct schema *to, struct batch **out, struct error *err)
{
    AUTO(free_auto) int *map = calloc(to->column_count, sizeof *map);
    AUTO(batch_free_auto) struct batch *batch = NULL;
    uint32_t count = from->row_count;
    if (map == NULL) {
        return err_no_memory(err, to->column_count * sizeof *map);
    }
    TRY(schema_reconcile(from->schema, to, map, err));
    TRY(batch_new(to, count, &batch, err));
    for (uint32_t c = 0; c < to->column_count; c++) {
        if (map[c] < 0) {
            fill_null(batch, c, count);
            continue;
        }
        const struct column *source = &from->columns[map[c]];
        if (source->offsets != NULL) {
            TRY(batch_reserve_data(batch, c, source->offsets[count], err));
        }
        append_validity(batch, c, source, 0, count);
        convert_values(batch, c, source, count);
    }
    batch->row_count = count;
    *out = TAKE(batch);
    return OK;
}
