/* Runs of rows from many batches into one, column by column: where inputs interleave row by row, the loops below are all
 * that a row costs. */
#include <string.h>

#include "common/partition/internal.h"

static const struct column *column_of(const struct merge_input *inputs, const struct merge_run *run, uint32_t column)
{
    return &inputs[run->input].rows.columns[column];
}

#define GATHER_(type)                                                              \
    {                                                                              \
        type *out = (type *)to;                                                    \
        for (size_t r = 0; r < count; r++) {                                       \
            const type *from = (const type *)bases[runs[r].input] + runs[r].first; \
            if (runs[r].count == 1) {                                              \
                *out++ = *from;                                                    \
                continue;                                                          \
            }                                                                      \
            memcpy(out, from, runs[r].count * sizeof *out);                        \
            out += runs[r].count;                                                  \
        }                                                                          \
        break;                                                                     \
    }

static void gather_fixed(void *to, size_t width, const void *const *bases, const struct merge_run *runs, size_t count)
{
    switch (width) {
    case 1: GATHER_(uint8_t)
    case 4: GATHER_(uint32_t)
    case 8: GATHER_(uint64_t)
    default: GATHER_(struct uuid)
    }
}

static size_t variable_bytes(const struct merge_input *inputs, const struct merge_run *runs, size_t count,
                             uint32_t column)
{
    size_t bytes = 0;
    for (size_t r = 0; r < count; r++) {
        const uint32_t *offsets = column_of(inputs, &runs[r], column)->offsets;
        bytes += offsets[runs[r].first + runs[r].count] - offsets[runs[r].first];
    }
    return bytes;
}

static void gather_variable(struct column *target, uint32_t row, const struct merge_input *inputs,
                            const struct merge_run *runs, size_t count, uint32_t column)
{
    uint32_t *offsets = target->offsets + row;
    for (size_t r = 0; r < count; r++) {
        const struct column *source = column_of(inputs, &runs[r], column);
        const uint32_t *from = source->offsets + runs[r].first;
        uint32_t shift = offsets[0] - from[0];
        size_t bytes = from[runs[r].count] - from[0];
        if (bytes > 0) {
            memcpy(target->data + offsets[0], source->data + from[0], bytes);
        }
        for (uint32_t i = 1; i <= runs[r].count; i++) {
            offsets[i] = from[i] + shift; /* wraps around to the right number */
        }
        offsets += runs[r].count;
    }
}

static bool has_nulls(const struct merge_input *inputs, size_t input_count, uint32_t column)
{
    for (size_t i = 0; i < input_count; i++) {
        if (inputs[i].rows.row_count > 0 && inputs[i].rows.columns[column].valid != NULL) {
            return true;
        }
    }
    return false;
}

static void gather_validity(struct batch *to, uint32_t column, const struct merge_input *inputs,
                            const struct merge_run *runs, size_t count)
{
    uint8_t *valid = batch_need_valid(to, column);
    size_t row = to->row_count;
    uint32_t nulls = 0;
    for (size_t r = 0; r < count; r++) {
        const struct column *source = column_of(inputs, &runs[r], column);
        for (uint32_t i = 0; i < runs[r].count; i++, row++) {
            bool null = column_is_null(source, runs[r].first + i);
            uint8_t mask = (uint8_t)(1U << (row & 7));
            valid[row >> 3] = (uint8_t)(null ? valid[row >> 3] & ~mask : valid[row >> 3] | mask);
            nulls += null;
        }
    }
    to->columns[column].null_count += nulls;
}

enum err_code partition_merge_gather(struct batch *to, const struct merge_input *inputs, size_t input_count,
                                     const struct merge_run *runs, size_t run_count, const void **bases,
                                     struct error *err)
{
    uint32_t columns = (uint32_t)to->schema->column_count;
    uint32_t rows = 0;
    for (size_t r = 0; r < run_count; r++) {
        rows += runs[r].count;
    }
    TRY(batch_reserve(to, rows, err));
    for (uint32_t c = 0; c < columns; c++) {
        if (column_type_is_variable(to->columns[c].type)) {
            TRY(batch_reserve_data(to, c, variable_bytes(inputs, runs, run_count, c), err));
        }
    }
    for (uint32_t c = 0; c < columns; c++) {
        struct column *target = &to->columns[c];
        size_t width = column_type_width(target->type);
        if (target->valid != NULL || has_nulls(inputs, input_count, c)) {
            gather_validity(to, c, inputs, runs, run_count);
        }
        if (width == 0) {
            gather_variable(target, to->row_count, inputs, runs, run_count, c);
            continue;
        }
        for (size_t i = 0; i < input_count; i++) {
            bases[i] = inputs[i].rows.row_count > 0 ? inputs[i].rows.columns[c].values.raw : NULL;
        }
        gather_fixed(target->values.u8 + to->row_count * width, width, bases, runs, run_count);
    }
    to->row_count += rows;
    return OK;
}
