/* Three schemas meet here: the file's, the one that is read (the table's newest, cut down to what is returned or asked by
 * the predicate), and the one returned. Rows go from one to the next without a copy wherever the columns are the same ones
 * and all rows are wanted. */
#include "common/scan/scan.h"

#include <stdlib.h>
#include <string.h>

#include "common/scan/internal.h"

enum { DEFAULT_BATCH_ROWS = 8192 };

struct scan {
    const struct predicate *predicate;
    int64_t min_timestamp_us, max_timestamp_us;
    uint64_t rows_left; /* of the limit */
    uint32_t batch_rows;
    struct scan_list list;
    size_t next; /* partition */

    struct schema reading, returned; /* put together by hand, not indexed */
    struct schema_column *reading_columns, *returned_columns;
    uint32_t *returned_from; /* index in reading of each returned column */

    struct partition_reader *reader; /* of the partition in progress; NULL between two */
    struct parquet_cursor *cursor;
    bool converts, checks_time; /* in this partition */
    struct batch *converted;    /* owned */
    uint8_t *selected;          /* batch_rows each */
    uint32_t *rows;
    struct column *view_columns; /* borrowed from the rows read, in the order returned */
    struct batch view;
    struct batch *chosen; /* copies, where some rows are left out */
    struct scan_counts counts;
};

static void close_partition(struct scan *scan)
{
    if (scan->cursor != NULL) {
        struct parquet_skipped skipped = parquet_cursor_skipped(scan->cursor);
        scan->counts.row_groups_skipped += skipped.row_groups;
        scan->counts.rows_skipped += skipped.rows;
    }
    parquet_cursor_free(TAKE(scan->cursor));
    partition_reader_free(TAKE(scan->reader));
}

void scan_free(struct scan *scan)
{
    if (scan == NULL) {
        return;
    }
    close_partition(scan);
    scan_list_done(&scan->list);
    batch_free(scan->converted);
    batch_free(scan->chosen);
    free(scan->reading_columns);
    free(scan->returned_columns);
    free(scan->returned_from);
    free(scan->selected);
    free(scan->rows);
    free(scan->view_columns);
    free(scan);
}

const struct schema *scan_schema(const struct scan *scan)
{
    return &scan->returned;
}

struct scan_counts scan_counts(const struct scan *scan)
{
    return scan->counts;
}

/* --- schemas ------------------------------------------------------------------------------------------------------ */

/* needed[i]: column i of the table is read; place[i]: where in the schema that is read. */
static void choose_reading(struct scan *scan, const struct schema *schema, const bool *needed, uint32_t *place)
{
    scan->reading = (struct schema){.table_id = schema->table_id,
                                    .version = schema->version,
                                    .columns = scan->reading_columns,
                                    .sort_key_count = 1};
    for (uint32_t i = 0; i < schema->column_count; i++) {
        if (needed[i]) {
            place[i] = (uint32_t)scan->reading.column_count++;
            scan->reading_columns[place[i]] = schema->columns[i];
        }
    }
    scan->reading.timestamp_column = place[schema->timestamp_column];
    scan->reading.sort_keys[0].column = scan->reading.timestamp_column;
}

static enum err_code choose_returned(struct scan *scan, const struct scan_options *options, bool *needed,
                                     struct error *err)
{
    const struct schema *schema = options->schema;
    size_t count = options->columns != NULL ? options->column_count : schema->column_count;
    if (count == 0) {
        return err_set(err, ERR_INVALID, "expected at least one column to scan");
    }
    scan->returned_columns = calloc(count + 1, sizeof *scan->returned_columns);
    scan->returned_from = calloc(count + 1, sizeof *scan->returned_from);
    scan->view_columns = calloc(count + 1, sizeof *scan->view_columns);
    if (scan->returned_columns == NULL || scan->returned_from == NULL || scan->view_columns == NULL) {
        return err_no_memory(err, count * sizeof *scan->returned_columns);
    }
    scan->returned = (struct schema){.table_id = schema->table_id,
                                     .version = schema->version,
                                     .column_count = count,
                                     .columns = scan->returned_columns,
                                     .timestamp_column = UINT32_MAX};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t column = options->columns != NULL ? options->columns[i] : i;
        if (column >= schema->column_count) {
            return err_set(err, ERR_INVALID, "expected columns below %zu but found %u", schema->column_count, column);
        }
        scan->returned_columns[i] = schema->columns[column];
        scan->returned_from[i] = column; /* in the table, for now */
        needed[column] = true;
        if (column == schema->timestamp_column) {
            scan->returned.timestamp_column = i;
            scan->returned.sort_key_count = 1;
            scan->returned.sort_keys[0].column = i;
        }
    }
    return OK;
}

static enum err_code choose_columns(struct scan *scan, const struct scan_options *options, struct error *err)
{
    const struct schema *schema = options->schema;
    AUTO(free_auto) bool *needed = calloc(schema->column_count, sizeof *needed);
    AUTO(free_auto) uint32_t *place = calloc(schema->column_count, sizeof *place);
    scan->reading_columns = calloc(schema->column_count, sizeof *scan->reading_columns);
    if (needed == NULL || place == NULL || scan->reading_columns == NULL) {
        return err_no_memory(err, schema->column_count * sizeof *scan->reading_columns);
    }
    if (options->predicate != NULL) {
        predicate_columns(options->predicate, needed);
    }
    needed[schema->timestamp_column] = true;
    TRY(choose_returned(scan, options, needed, err));
    choose_reading(scan, schema, needed, place);
    for (size_t i = 0; i < scan->returned.column_count; i++) {
        scan->returned_from[i] = place[scan->returned_from[i]];
    }
    return OK;
}

enum err_code scan_open(const struct scan_options *options, struct scan **out, struct error *err)
{
    AUTO(scan_free_auto) struct scan *scan = calloc(1, sizeof *scan);
    if (scan == NULL) {
        return err_no_memory(err, sizeof *scan);
    }
    scan->predicate = options->predicate;
    scan->min_timestamp_us = options->min_timestamp_us;
    scan->max_timestamp_us = options->max_timestamp_us;
    scan->rows_left = options->limit == 0 ? UINT64_MAX : options->limit;
    scan->batch_rows = options->batch_rows == 0 ? DEFAULT_BATCH_ROWS : options->batch_rows;
    scan->selected = malloc(scan->batch_rows);
    scan->rows = malloc(scan->batch_rows * sizeof *scan->rows);
    if (scan->selected == NULL || scan->rows == NULL) {
        return err_no_memory(err, scan->batch_rows * sizeof *scan->rows);
    }
    TRY(choose_columns(scan, options, err));
    TRY(batch_new(&scan->returned, 0, &scan->chosen, err));
    TRY(scan_list_load(options, &scan->list, &scan->counts, err));
    *out = TAKE(scan);
    return OK;
}

/* --- partitions --------------------------------------------------------------------------------------------------- */

static enum err_code open_cursor(struct scan *scan, struct error *err)
{
    struct parquet_reader *file = partition_reader_file(scan->reader);
    const struct schema *from = parquet_reader_schema(file);
    size_t width = scan->reading.column_count;
    AUTO(free_auto) int *map = calloc(width, sizeof *map);
    AUTO(free_auto) uint32_t *columns = calloc(width, sizeof *columns);
    size_t count = 0;
    if (map == NULL || columns == NULL) {
        return err_no_memory(err, width * sizeof *map);
    }
    TRY(schema_reconcile(from, &scan->reading, map, err));
    scan->converts = false;
    for (size_t i = 0; i < width; i++) {
        scan->converts |= map[i] < 0 || from->columns[map[i]].type != scan->reading.columns[i].type;
        if (map[i] >= 0) {
            columns[count++] = (uint32_t)map[i];
        }
    }
    const struct parquet_range time = {.column = (uint32_t)map[scan->reading.timestamp_column],
                                       .min = scan->min_timestamp_us,
                                       .max = scan->max_timestamp_us};
    const struct parquet_cursor_options options = {.columns = columns,
                                                   .column_count = count,
                                                   .batch_rows = scan->batch_rows,
                                                   .predicate = scan->predicate,
                                                   .ranges = &time,
                                                   .range_count = scan->checks_time ? 1 : 0};
    return parquet_cursor_open(file, &options, &scan->cursor, err);
}

/* An object that is gone was live when the list was made: it has been merged or has decayed since, and its grace is over. */
static enum err_code explain(enum err_code code, const struct scan_partition *partition, struct error *err)
{
    if (code == ERR_NOT_FOUND) {
        return err_set(err, ERR_UNAVAILABLE, "could not read \"%s\": the table has changed while reading; try again",
                       partition->path);
    }
    return code == OK ? OK : err_wrap(err, "could not read \"%s\"", partition->path);
}

static enum err_code open_partition(struct scan *scan, const struct scan_partition *partition, struct error *err)
{
    const struct partition_reader_options options = {.size_bytes = partition->size_bytes};
    scan->checks_time =
        partition->min_timestamp_us < scan->min_timestamp_us || partition->max_timestamp_us > scan->max_timestamp_us;
    enum err_code code = partition_reader_open(partition->store, partition->path, &options, &scan->reader, err);
    if (code == OK) {
        code = open_cursor(scan, err);
    }
    return explain(code, partition, err);
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

/* *out is NULL at the end of the partition; its schema is the one that is read. */
static enum err_code read_rows(struct scan *scan, struct batch *out, struct error *err)
{
    const struct batch *batch = NULL;
    TRY(parquet_cursor_next(scan->cursor, &batch, err));
    out->row_count = 0;
    if (batch == NULL) {
        return OK;
    }
    if (scan->converts) {
        batch_free(TAKE(scan->converted));
        TRY(batch_convert(batch, &scan->reading, &scan->converted, err));
        batch = scan->converted;
    }
    *out = *batch;
    out->schema = &scan->reading;
    return OK;
}

static enum err_code select_rows(struct scan *scan, const struct batch *batch, uint32_t *out_count, struct error *err)
{
    const int64_t *times = batch->columns[scan->reading.timestamp_column].values.i64;
    uint32_t count = 0;
    memset(scan->selected, 1, batch->row_count);
    if (scan->predicate != NULL) {
        TRY(predicate_evaluate(scan->predicate, batch, scan->selected, err));
    }
    for (uint32_t i = 0; i < batch->row_count; i++) {
        bool in_time = !scan->checks_time || (times[i] >= scan->min_timestamp_us && times[i] <= scan->max_timestamp_us);
        if (in_time && scan->selected[i] != 0) {
            scan->rows[count++] = i;
        }
    }
    *out_count = count < scan->rows_left ? count : (uint32_t)scan->rows_left;
    return OK;
}

/* The rows of one batch that are wanted; *out NULL where none is. */
static enum err_code return_rows(struct scan *scan, const struct batch *batch, const struct batch **out,
                                 struct error *err)
{
    uint32_t count = 0;
    TRY(select_rows(scan, batch, &count, err));
    scan->counts.rows_read += batch->row_count;
    scan->counts.rows_returned += count;
    scan->rows_left -= count;
    for (size_t i = 0; i < scan->returned.column_count; i++) {
        scan->view_columns[i] = batch->columns[scan->returned_from[i]];
    }
    scan->view = (struct batch){.schema = &scan->returned,
                                .row_count = batch->row_count,
                                .row_capacity = batch->row_count,
                                .columns = scan->view_columns};
    *out = count > 0 ? &scan->view : NULL;
    if (count > 0 && count < batch->row_count) {
        batch_clear(scan->chosen);
        TRY(batch_append_rows(scan->chosen, &scan->view, scan->rows, count, err));
        *out = scan->chosen;
    }
    return OK;
}

enum err_code scan_next(struct scan *scan, const struct batch **out, struct error *err)
{
    const struct batch *found = NULL;
    while (found == NULL && scan->rows_left > 0) {
        struct batch batch = {0};
        if (scan->cursor == NULL) {
            if (scan->next == scan->list.count) {
                break;
            }
            TRY(open_partition(scan, &scan->list.partitions[scan->next], err));
        }
        enum err_code code = read_rows(scan, &batch, err);
        TRY(explain(code, &scan->list.partitions[scan->next], err));
        if (batch.row_count == 0) {
            close_partition(scan);
            scan->next++;
            continue;
        }
        TRY(return_rows(scan, &batch, &found, err));
    }
    *out = found;
    return OK;
}
