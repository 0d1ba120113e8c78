#include <inttypes.h>

#include "common/parquet/column.h"
#include "common/parquet/page_index.h"
#include "common/parquet/prune.h"

enum { DEFAULT_BATCH_ROWS = 8192, DEFAULT_MEMORY_BYTES = 1 << 30 };

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
    struct column_budget budget;
    struct batch *batch;
    size_t next_group;
    uint64_t group_end_row;         /* in the file */
    struct pruner *pruner;          /* NULL: every row */
    struct arena *places;           /* where pages stand, of the row group in progress */
    struct row_range whole;         /* of a row group */
    const struct row_range *ranges; /* that are left of it; the first one in progress */
    size_t range_count;
    uint64_t row; /* the next one, in the row group */
    struct parquet_skipped skipped;
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
    cursor->budget.most_bytes = options->memory_bytes > 0 ? options->memory_bytes : DEFAULT_MEMORY_BYTES;
    cursor->round_times = options->round_times;
    cursor->batch_rows = cursor->batch_rows < BATCH_MAX_ROWS ? cursor->batch_rows : BATCH_MAX_ROWS;
    TRY(choose_columns(cursor, options, err));
    TRY(choose_row_groups(cursor, options, err));
    if (options->predicate != NULL || options->range_count > 0) {
        TRY(parquet_pruner_new(reader, options, &cursor->pruner, err));
    }
    cursor->places = arena_new(0);
    if (cursor->places == NULL) {
        return err_no_memory(err, 0);
    }
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
    parquet_pruner_free(cursor->pruner);
    arena_free(cursor->places);
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

/* `jumps`: some pages will not be wanted. */
static enum err_code start_column(struct parquet_cursor *cursor, size_t row_group, size_t i, bool jumps,
                                  struct error *err)
{
    const struct parquet_reader *file = cursor->reader;
    const struct meta_row_group *group = &file->meta.row_groups[row_group];
    struct column_reader *column = &cursor->columns[i];
    const struct column_layout *layout = &file->layouts[cursor->indexes[i]];
    struct column_chunk chunk = {.rows = (uint64_t)group->row_count};
    column->form = (struct values_form){*layout, cursor->schema.columns[i].type, cursor->round_times};
    column->pages.source = &file->source;
    column->pages.codec = cursor->codec;
    column->budget = &cursor->budget;
    column->end_row = cursor->group_end_row;
    (void)parquet_codec_kind(group->chunks[layout->chunk].codec,
                             &column->pages.kind); /* known since the file was opened */
    parquet_reader_chunk_range(file, &group->chunks[layout->chunk], &chunk.begin, &chunk.end);
    if (jumps) {
        TRY(parquet_page_index_places(file, row_group, cursor->indexes[i], cursor->places, &chunk.places, err));
    }
    parquet_column_reader_start(column, &chunk);
    return OK;
}

/* Leaves no ranges where none of its rows is wanted. */
static enum err_code start_group(struct parquet_cursor *cursor, size_t index, struct error *err)
{
    uint64_t rows = (uint64_t)cursor->reader->meta.row_groups[index].row_count, kept = 0;
    cursor->group_end_row += rows;
    if (!cursor->row_groups[index] || rows == 0) {
        return OK;
    }
    cursor->whole = (struct row_range){0, rows};
    cursor->ranges = &cursor->whole;
    cursor->range_count = 1;
    if (cursor->pruner != NULL) {
        TRY(parquet_pruner_rows(cursor->pruner, index, &cursor->ranges, &cursor->range_count, err));
    }
    for (size_t i = 0; i < cursor->range_count; i++) {
        kept += cursor->ranges[i].end - cursor->ranges[i].first;
    }
    cursor->skipped.rows += rows - kept;
    cursor->skipped.row_groups += kept == 0;
    cursor->row = 0;
    arena_reset(cursor->places);
    for (size_t i = 0; i < cursor->schema.column_count && kept > 0; i++) {
        TRY(start_column(cursor, index, i, kept < rows, err));
    }
    return OK;
}

static enum err_code wrap_column(const struct parquet_cursor *cursor, uint32_t column, struct error *err)
{
    return err_wrap(err, "column \"%s\" of row group %zu", cursor->schema.columns[column].name, cursor->next_group - 1);
}

static enum err_code skip_rows(struct parquet_cursor *cursor, uint64_t rows, struct error *err)
{
    for (uint32_t i = 0; i < cursor->schema.column_count && rows > 0; i++) {
        if (parquet_column_reader_skip(&cursor->columns[i], rows, err) != OK) {
            return wrap_column(cursor, i, err);
        }
    }
    return OK;
}

static enum err_code read_rows(struct parquet_cursor *cursor, uint32_t rows, struct error *err)
{
    batch_clear(cursor->batch);
    TRY(batch_reserve(cursor->batch, rows, err));
    for (uint32_t i = 0; i < cursor->schema.column_count; i++) {
        if (parquet_column_reader_read(&cursor->columns[i], cursor->batch, i, rows, err) != OK) {
            return wrap_column(cursor, i, err);
        }
    }
    cursor->batch->row_count = rows;
    return OK;
}

enum err_code parquet_cursor_next(struct parquet_cursor *cursor, const struct batch **out, struct error *err)
{
    while (cursor->range_count == 0) {
        if (cursor->next_group == cursor->reader->meta.row_group_count) {
            *out = NULL;
            return OK;
        }
        TRY(start_group(cursor, cursor->next_group++, err));
    }
    const struct row_range *range = cursor->ranges;
    if (cursor->row < range->first) {
        TRY(skip_rows(cursor, range->first - cursor->row, err));
        cursor->row = range->first;
    }
    uint64_t left = range->end - cursor->row;
    uint32_t rows = left < cursor->batch_rows ? (uint32_t)left : cursor->batch_rows;
    TRY(read_rows(cursor, rows, err));
    cursor->row += rows;
    if (cursor->row == range->end) {
        cursor->ranges++;
        cursor->range_count--;
    }
    *out = cursor->batch;
    return OK;
}

struct parquet_skipped parquet_cursor_skipped(const struct parquet_cursor *cursor)
{
    return cursor->skipped;
}

void parquet_cursor_seek(struct parquet_cursor *cursor, size_t row_group)
{
    cursor->range_count = 0;
    cursor->group_end_row = 0;
    cursor->next_group = row_group;
    for (size_t i = 0; i < row_group; i++) {
        cursor->group_end_row += (uint64_t)cursor->reader->meta.row_groups[i].row_count;
    }
}
