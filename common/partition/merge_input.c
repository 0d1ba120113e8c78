#include <stdlib.h>
#include <string.h>

#include "common/partition/internal.h"

struct merge_order partition_merge_order(const struct schema *schema)
{
    const struct sort_key *key = &schema->sort_keys[0];
    const struct schema_column *column = &schema->columns[key->column];
    bool number =
        !column->nullable && column_type_width(column->type) == sizeof(int64_t) && column->type != COLUMN_DOUBLE;
    return (struct merge_order){.schema = schema,
                                .has_number = number,
                                .only_number = number && schema->sort_key_count == 1,
                                .descending = key->descending};
}

void partition_merge_input_done(struct merge_input *input)
{
    parquet_cursor_free(input->cursor);
    parquet_projection_done(&input->projection);
    batch_free(input->converted);
}

enum err_code partition_merge_input_open(struct merge_input *input, uint32_t batch_rows, struct error *err)
{
    struct parquet_reader *file = partition_reader_file(input->reader);
    if (parquet_projection_init(file, input->order->schema, &input->projection, err) != OK) {
        return err_wrap(err, "\"%s\"", partition_reader_path(input->reader));
    }
    const struct parquet_cursor_options options = {
        .columns = input->projection.columns, .column_count = input->projection.column_count, .batch_rows = batch_rows};
    input->last_number = INT64_MIN;
    input->group = SIZE_MAX; /* before the first */
    return parquet_cursor_open(file, &options, &input->cursor, err);
}

static enum err_code not_sorted(const struct merge_input *input, struct error *err)
{
    const struct schema *schema = input->order->schema;
    return err_set(err, ERR_INVALID, "expected the rows of \"%s\" sorted by \"%s\" but they are not",
                   partition_reader_path(input->reader), schema->columns[schema->sort_keys[0].column].name);
}

/* By the number where there is one; that ties are in order too is left to the writer of the output. */
static enum err_code check_order(struct merge_input *input, struct error *err)
{
    uint32_t count = input->rows.row_count;
    if (input->numbers == NULL) {
        for (uint32_t i = 1; i < count; i++) {
            if (batch_compare_rows(&input->rows, i - 1, &input->rows, i) > 0) {
                return not_sorted(input, err);
            }
        }
        return OK;
    }
    bool sorted = true;
    int64_t before = input->last_number;
    for (uint32_t i = 0; i < count; i++) {
        int64_t number = merge_number(input->order, input->numbers, i);
        sorted &= before <= number;
        before = number;
    }
    input->last_number = before;
    return sorted ? OK : not_sorted(input, err);
}

/* A batch never has rows of two row groups. */
static void note_group(struct merge_input *input, uint32_t rows)
{
    struct parquet_reader *file = partition_reader_file(input->reader);
    input->starts_group = input->group_rows_left == 0;
    while (input->group_rows_left == 0) { /* a row group may have no rows */
        input->group_rows_left = parquet_reader_row_group_rows(file, ++input->group);
    }
    input->group_rows_left -= rows;
}

enum err_code partition_merge_input_next(struct merge_input *input, struct error *err)
{
    const struct schema *schema = input->order->schema;
    const struct batch *batch = NULL;
    if (parquet_cursor_next(input->cursor, &batch, err) != OK) {
        return err_wrap(err, "\"%s\"", partition_reader_path(input->reader));
    }
    input->at = 0;
    input->rows.row_count = 0;
    if (batch == NULL) {
        return OK;
    }
    note_group(input, batch->row_count);
    if (input->projection.converts) {
        batch_free(TAKE(input->converted));
        TRY(batch_convert(batch, schema, &input->converted, err));
        batch = input->converted;
    }
    input->rows = *batch;
    input->rows.schema = schema; /* its sort keys, not the file's; the columns are the same */
    input->numbers = input->order->has_number ? input->rows.columns[schema->sort_keys[0].column].values.i64 : NULL;
    TRY(check_order(input, err));
    merge_input_seek(input, 0);
    return OK;
}

enum err_code partition_merge_input_skip_group(struct merge_input *input, struct error *err)
{
    parquet_cursor_seek(input->cursor, input->group + 1);
    input->group_rows_left = 0;
    return partition_merge_input_next(input, err);
}

static const uint8_t *plain_value(const struct column *column, uint32_t row, size_t *out_length)
{
    size_t width = column_type_width(column->type);
    uint32_t length = (uint32_t)width;
    const uint8_t *value = width > 0 ? column->values.u8 + row * width : column_variable(column, row, &length);
    *out_length = length;
    return value;
}

bool partition_merge_group_precedes(const struct merge_input *input, const struct merge_input *other)
{
    const struct sort_key *key = &input->order->schema->sort_keys[0];
    int index = input->projection.map[key->column];
    struct column_stats stats;
    size_t length;
    if (other == NULL || index < 0) {
        return other == NULL;
    }
    const struct column *theirs = &other->rows.columns[key->column];
    parquet_reader_stats(partition_reader_file(input->reader), input->group, (size_t)index, &stats);
    if (stats.type != theirs->type || stats.null_count > 0 || !(key->descending ? stats.has_min : stats.has_max)) {
        return false;
    }
    if (column_is_null(theirs, other->at)) {
        return true; /* nulls come last, whatever the direction */
    }
    const uint8_t *value = plain_value(theirs, other->at, &length);
    int order = key->descending ? -column_value_compare(stats.type, stats.min, stats.min_length, value, length)
                                : column_value_compare(stats.type, stats.max, stats.max_length, value, length);
    return order < 0 || (order == 0 && input->order->only_number && input->index < other->index);
}
