/* Building batches. Memory of all columns grows together, by rows; the bytes of variable columns grow on their own.
 *
 * The bitmap of a column is allocated with its values but shown as `valid` only once there is a null, so that marking a
 * null cannot fail and readers can take the quick way while there is none. */
#include "common/rows/batch.h"

#include <string.h>

#include "common/base/checked.h"
#include "common/rows/internal.h"

enum { SMALLEST_ROW_CAPACITY = 16, SMALLEST_DATA_BYTES = 256 };

size_t column_type_width(enum column_type type)
{
    switch (type) {
    case COLUMN_BOOL: return 1;
    case COLUMN_INT32:
    case COLUMN_FLOAT:
    case COLUMN_DATE: return 4;
    case COLUMN_INT64:
    case COLUMN_DOUBLE:
    case COLUMN_TIMESTAMP:
    case COLUMN_DECIMAL: return 8;
    case COLUMN_UUID: return 16;
    case COLUMN_STRING:
    case COLUMN_BYTES:
    case COLUMN_JSON:
    case COLUMN_TYPE_COUNT: break;
    }
    return 0;
}

bool column_type_is_variable(enum column_type type)
{
    return column_type_width(type) == 0;
}

static bool grow(void **memory, size_t bytes)
{
    void *grown = realloc(*memory, bytes == 0 ? 1 : bytes);
    if (grown != NULL) {
        *memory = grown;
    }
    return grown != NULL;
}

static bool grow_data(struct column *column, size_t bytes)
{
    bool grown = grow((void **)&column->data, bytes);
    if (grown) {
        column->data_capacity_bytes = bytes;
    }
    return grown;
}

/* Variable columns get some bytes too, so that `data` is never NULL: not even nothing may be added to a NULL pointer.
 * On failure some of the memory is larger than it needs to be, and row_capacity does not say so yet: harmless. */
static enum err_code set_capacity(struct batch *batch, uint32_t rows, struct error *err)
{
    for (size_t i = 0; i < batch->schema->column_count; i++) {
        struct column *column = &batch->columns[i];
        size_t width = column_type_width(column->type);
        bool grown = grow((void **)&batch->bitmaps[i], BITMAP_BYTES(rows));
        if (column->valid != NULL) {
            column->valid = batch->bitmaps[i];
        }
        if (width == 0) {
            grown = grown && grow((void **)&column->offsets, ((size_t)rows + 1) * sizeof *column->offsets) &&
                    (column->data != NULL || grow_data(column, SMALLEST_DATA_BYTES));
        } else {
            grown = grown && grow(&column->values.raw, rows * width);
        }
        if (!grown) {
            return err_no_memory(err, rows * (width + sizeof *column->offsets));
        }
        if (width == 0) {
            column->offsets[0] = 0;
        }
    }
    batch->row_capacity = rows;
    return OK;
}

enum err_code batch_new(const struct schema *schema, uint32_t row_capacity, struct batch **out, struct error *err)
{
    AUTO(batch_free_auto) struct batch *batch = calloc(1, sizeof *batch);
    if (batch == NULL) {
        return err_no_memory(err, sizeof *batch);
    }
    size_t count = schema->column_count;
    batch->schema = schema;
    batch->columns = calloc(count, sizeof *batch->columns);
    batch->row_state = calloc(count, sizeof *batch->row_state);
    batch->bitmaps = calloc(count, sizeof *batch->bitmaps);
    if (batch->columns == NULL || batch->row_state == NULL || batch->bitmaps == NULL) {
        return err_no_memory(err, count * sizeof *batch->columns);
    }
    for (size_t i = 0; i < count; i++) {
        batch->columns[i].type = schema->columns[i].type;
    }
    if (row_capacity > BATCH_MAX_ROWS) {
        row_capacity = BATCH_MAX_ROWS;
    }
    TRY(set_capacity(batch, row_capacity, err));
    *out = TAKE(batch);
    return OK;
}

void batch_free(struct batch *batch)
{
    if (batch == NULL) {
        return;
    }
    for (size_t i = 0; batch->columns != NULL && i < batch->schema->column_count; i++) {
        free(batch->columns[i].values.raw);
        free(batch->columns[i].offsets);
        free(batch->columns[i].data);
        if (batch->bitmaps != NULL) {
            free(batch->bitmaps[i]);
        }
    }
    free(batch->columns);
    free(batch->row_state);
    free(batch->bitmaps);
    free(batch);
}

void batch_clear(struct batch *batch)
{
    batch->row_count = 0;
    batch_row_abandon(batch);
    for (size_t i = 0; i < batch->schema->column_count; i++) {
        batch->columns[i].null_count = 0;
        batch->columns[i].valid = NULL;
    }
}

enum err_code batch_reserve(struct batch *batch, uint32_t more_rows, struct error *err)
{
    if (batch->row_capacity - batch->row_count >= more_rows) {
        return OK;
    }
    if (more_rows > BATCH_MAX_ROWS - batch->row_count) {
        return err_set(err, ERR_NO_MEMORY, "expected at most %d rows in a batch but found %llu", BATCH_MAX_ROWS,
                       (unsigned long long)batch->row_count + more_rows);
    }
    uint32_t rows = batch->row_capacity < SMALLEST_ROW_CAPACITY ? SMALLEST_ROW_CAPACITY : batch->row_capacity;
    while (rows < batch->row_count + more_rows) {
        rows *= 2;
    }
    return set_capacity(batch, rows < BATCH_MAX_ROWS ? rows : BATCH_MAX_ROWS, err);
}

enum err_code batch_reserve_data(struct batch *batch, uint32_t column_index, size_t more_bytes, struct error *err)
{
    struct column *column = &batch->columns[column_index];
    size_t used = column->offsets[batch->row_count];
    if (column->data_capacity_bytes - used >= more_bytes) {
        return OK;
    }
    size_t needed;
    if (!checked_add_size(used, more_bytes, &needed) || needed > UINT32_MAX) {
        return err_set(err, ERR_NO_MEMORY, "expected at most 4 GiB in column \"%s\" of a batch",
                       batch->schema->columns[column_index].name);
    }
    size_t capacity = column->data_capacity_bytes * 2;
    if (capacity < needed) {
        capacity = needed;
    }
    return grow_data(column, capacity) ? OK : err_no_memory(err, capacity);
}

uint8_t *batch_need_valid(struct batch *batch, uint32_t column_index)
{
    struct column *column = &batch->columns[column_index];
    if (column->valid == NULL) {
        column->valid = batch->bitmaps[column_index];
        memset(column->valid, 0xff, BITMAP_BYTES(batch->row_count));
    }
    return column->valid;
}

enum err_code batch_row_begin(struct batch *batch, struct error *err)
{
    return batch->row_count < batch->row_capacity ? OK : batch_reserve(batch, 1, err);
}

static void end_null(struct batch *batch, uint32_t column_index)
{
    struct column *column = &batch->columns[column_index];
    uint32_t row = batch->row_count;
    bitmap_set(batch_need_valid(batch, column_index), row, false);
    column->null_count++;
    size_t width = column_type_width(column->type);
    if (width == 0) {
        column->offsets[row + 1] = column->offsets[row];
    } else {
        memset(column->values.u8 + row * width, 0, width);
    }
}

enum err_code batch_row_end(struct batch *batch, struct error *err)
{
    const struct schema *schema = batch->schema;
    for (size_t i = 0; i < schema->column_count; i++) {
        if (batch->row_state[i] == 0 && !schema->columns[i].nullable) {
            return err_set(err, ERR_INVALID, "expected a value in column \"%s\" but found null",
                           schema->columns[i].name);
        }
    }
    for (uint32_t i = 0; i < schema->column_count; i++) {
        if (batch->row_state[i] == 0) {
            end_null(batch, i);
        } else if (batch->columns[i].valid != NULL) {
            bitmap_set(batch->columns[i].valid, batch->row_count, true);
        }
    }
    batch->row_count++;
    batch_row_abandon(batch);
    return OK;
}

void batch_row_abandon(struct batch *batch)
{
    memset(batch->row_state, 0, batch->schema->column_count);
}

enum err_code batch_set_variable(struct batch *batch, uint32_t column_index, const void *data, size_t length_bytes,
                                 struct error *err)
{
    struct column *column = &batch->columns[column_index];
    uint32_t start = column->offsets[batch->row_count];
    if (column->data_capacity_bytes - start < length_bytes) {
        TRY(batch_reserve_data(batch, column_index, length_bytes, err));
    }
    if (length_bytes != 0) {
        memcpy(column->data + start, data, length_bytes);
    }
    column->offsets[batch->row_count + 1] = start + (uint32_t)length_bytes;
    batch->row_state[column_index] = 1;
    return OK;
}

size_t batch_memory_bytes(const struct batch *batch)
{
    size_t bytes = 0;
    for (size_t i = 0; i < batch->schema->column_count; i++) {
        const struct column *column = &batch->columns[i];
        size_t width = column_type_width(column->type);
        bytes += column->valid == NULL ? 0 : BITMAP_BYTES(batch->row_count);
        bytes += width != 0
                     ? batch->row_count * width
                     : ((size_t)batch->row_count + 1) * sizeof *column->offsets + column->offsets[batch->row_count];
    }
    return bytes;
}
