#include <inttypes.h>

#include "common/parquet/column.h"
#include "common/parquet/reader_internal.h"

enum { DEFAULT_BATCH_ROWS = 8192 };

struct parquet_cursor {
    struct parquet_reader *reader;
    struct schema schema; /* the chosen columns */
    struct schema_column *schema_columns;
    uint32_t *indexes; /* of the chosen columns in the file */
    uint8_t *row_groups;
    uint32_t batch_rows;
    bool round_times;
    struct codec *codec;
    struct column_reader *columns;
    struct batch *batch;
    size_t next_group;
    uint64_t group_rows_left;
    uint64_t group_end_row; /* in the file */
};

static enum err_code choose_columns(struct parquet_cursor *cursor, const struct parquet_cursor_options *options,
                                    struct error *err)
{
    const struct schema *file = &cursor->reader->schema;
    size_t count = options->columns != NULL ? options->column_count : file->column_count;
    if (options->columns == NULL && cursor->reader->unread_count > 0) {
        return parquet_reader_refuse(cursor->reader, 0, err);
    }
    cursor->indexes = calloc(count + 1, sizeof *cursor->indexes);
    cursor->schema_columns = calloc(count + 1, sizeof *cursor->schema_columns);
    cursor->columns = calloc(count + 1, sizeof *cursor->columns);
    if (cursor->indexes == NULL || cursor->schema_columns == NULL || cursor->columns == NULL) {
        return err_no_memory(err, count * sizeof *cursor->columns);
    }
    cursor->schema = (struct schema){.table_id = file->table_id,
                                     .version = file->version,
                                     .column_count = count,
                                     .columns = cursor->schema_columns,
                                     .timestamp_column = UINT32_MAX};
    for (size_t i = 0; i < count; i++) {
        uint32_t index = options->columns != NULL ? options->columns[i] : (uint32_t)i;
        if (index >= file->column_count) {
            return err_set(err, ERR_INVALID, "expected columns below %zu but found %" PRIu32, file->column_count,
                           index);
        }
        cursor->indexes[i] = index;
        cursor->schema_columns[i] = file->columns[index];
        if (index == file->timestamp_column) {
            cursor->schema.timestamp_column = (uint32_t)i;
            cursor->schema.sort_key_count = 1;
            cursor->schema.sort_keys[0] = (struct sort_key){.column = (uint32_t)i};
        }
    }
    return OK;
}

static enum err_code choose_row_groups(struct parquet_cursor *cursor, const struct parquet_cursor_options *options,
                                       struct error *err)
{
    size_t count = cursor->reader->meta.row_group_count;
    cursor->row_groups = malloc(count + 1);
    if (cursor->row_groups == NULL) {
        return err_no_memory(err, count);
    }
    for (size_t i = 0; i < count; i++) {
        cursor->row_groups[i] = options->row_groups == NULL || options->row_groups[i] != 0;
    }
    return OK;
}

enum err_code parquet_cursor_open(struct parquet_reader *reader, const struct parquet_cursor_options *options,
                                  struct parquet_cursor **out, struct error *err)
{
    static const struct parquet_cursor_options everything;
    AUTO(parquet_cursor_free_auto) struct parquet_cursor *cursor = calloc(1, sizeof *cursor);
    options = options != NULL ? options : &everything;
    if (cursor == NULL) {
        return err_no_memory(err, sizeof *cursor);
    }
    cursor->reader = reader;
    cursor->batch_rows = options->batch_rows > 0 ? options->batch_rows : DEFAULT_BATCH_ROWS;
    cursor->round_times = options->round_times;
    cursor->batch_rows = cursor->batch_rows < BATCH_MAX_ROWS ? cursor->batch_rows : BATCH_MAX_ROWS;
    TRY(choose_columns(cursor, options, err));
    TRY(choose_row_groups(cursor, options, err));
    TRY(codec_new(0, &cursor->codec, err));
    TRY(batch_new(&cursor->schema, 0, &cursor->batch, err));
    *out = TAKE(cursor);
    return OK;
}

void parquet_cursor_free(struct parquet_cursor *cursor)
{
    if (cursor == NULL) {
        return;
    }
    for (size_t i = 0; cursor->columns != NULL && i < cursor->schema.column_count; i++) {
        parquet_column_reader_done(&cursor->columns[i]);
    }
    batch_free(cursor->batch);
    codec_free(cursor->codec);
    free(cursor->columns);
    free(cursor->schema_columns);
    free(cursor->indexes);
    free(cursor->row_groups);
    free(cursor);
}

const struct schema *parquet_cursor_schema(const struct parquet_cursor *cursor)
{
    return &cursor->schema;
}

static void start_group(struct parquet_cursor *cursor, const struct meta_row_group *group)
{
    for (size_t i = 0; i < cursor->schema.column_count; i++) {
        struct column_reader *column = &cursor->columns[i];
        const struct column_layout *layout = &cursor->reader->layouts[cursor->indexes[i]];
        const struct meta_chunk *chunk = &group->chunks[layout->chunk];
        uint64_t begin, end;
        column->form = (struct values_form){*layout, cursor->schema.columns[i].type, cursor->round_times};
        column->pages.source = &cursor->reader->source;
        column->pages.codec = cursor->codec;
        column->end_row = cursor->group_end_row;
        (void)parquet_codec_kind(chunk->codec, &column->pages.kind); /* known since the file was opened */
        parquet_reader_chunk_range(cursor->reader, chunk, &begin, &end);
        parquet_column_reader_start(column, begin, end, (uint64_t)group->row_count);
    }
    cursor->group_rows_left = (uint64_t)group->row_count;
}

static enum err_code read_columns(struct parquet_cursor *cursor, uint32_t rows, struct error *err)
{
    for (uint32_t i = 0; i < cursor->schema.column_count; i++) {
        if (parquet_column_reader_read(&cursor->columns[i], cursor->batch, i, rows, err) != OK) {
            return err_wrap(err, "column \"%s\" of row group %zu", cursor->schema.columns[i].name,
                            cursor->next_group - 1);
        }
    }
    return OK;
}

enum err_code parquet_cursor_next(struct parquet_cursor *cursor, const struct batch **out, struct error *err)
{
    while (cursor->group_rows_left == 0) {
        if (cursor->next_group == cursor->reader->meta.row_group_count) {
            *out = NULL;
            return OK;
        }
        size_t index = cursor->next_group++;
        const struct meta_row_group *group = &cursor->reader->meta.row_groups[index];
        cursor->group_end_row += (uint64_t)group->row_count;
        if (cursor->row_groups[index]) {
            start_group(cursor, group);
        }
    }
    uint32_t rows =
        cursor->group_rows_left < cursor->batch_rows ? (uint32_t)cursor->group_rows_left : cursor->batch_rows;
    batch_clear(cursor->batch);
    TRY(batch_reserve(cursor->batch, rows, err));
    TRY(read_columns(cursor, rows, err));
    cursor->batch->row_count = rows;
    cursor->group_rows_left -= rows;
    *out = cursor->batch;
    return OK;
}
