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
    batch_free(input->converted);
}

enum err_code partition_merge_input_open(struct merge_input *input, uint32_t batch_rows, struct error *err)
{
    const struct schema *to = input->order->schema;
    struct parquet_reader *file = partition_reader_file(input->reader);
    const struct schema *from = parquet_reader_schema(file);
    AUTO(free_auto) int *map = calloc(to->column_count, sizeof *map);
    AUTO(free_auto) uint32_t *columns = calloc(to->column_count, sizeof *columns);
    size_t count = 0;
    if (map == NULL || columns == NULL) {
        return err_no_memory(err, to->column_count * sizeof *map);
    }
    if (schema_reconcile(from, to, map, err) != OK) {
        return err_wrap(err, "\"%s\"", partition_reader_path(input->reader));
    }
    for (size_t i = 0; i < to->column_count; i++) {
        input->converts |= map[i] < 0 || from->columns[map[i]].type != to->columns[i].type;
        if (map[i] >= 0) {
            columns[count++] = (uint32_t)map[i];
        }
    }
    const struct parquet_cursor_options options = {.columns = columns, .column_count = count, .batch_rows = batch_rows};
    input->last_number = INT64_MIN;
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
    if (input->converts) {
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
