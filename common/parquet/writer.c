/* Rows are gathered until a row group is full, then encoded column by column and handed to the sink: knowing the whole
 * chunk lets the encoder choose well, and memory stays at one row group and one encoded chunk. What the footer needs of
 * each row group (places, bounds, page index) is kept until the end. */
#include "common/parquet/writer.h"

#include <inttypes.h>
#include <string.h>

#include "common/parquet/writer_internal.h"

enum {
    DEFAULT_ROW_GROUP_ROWS = 131072,
    DEFAULT_ROW_GROUP_BYTES = 32 << 20,
    DEFAULT_PAGE_BYTES = 128 << 10,
    DEFAULT_DICTIONARY_BYTES = 256 << 10
};

static void fill_defaults(struct parquet_writer_options *options)
{
    options->row_group_rows = options->row_group_rows > 0 ? options->row_group_rows : DEFAULT_ROW_GROUP_ROWS;
    options->row_group_bytes = options->row_group_bytes > 0 ? options->row_group_bytes : DEFAULT_ROW_GROUP_BYTES;
    options->page_bytes = options->page_bytes > 0 ? options->page_bytes : DEFAULT_PAGE_BYTES;
    options->dictionary_bytes = options->dictionary_bytes > 0 ? options->dictionary_bytes : DEFAULT_DICTIONARY_BYTES;
    options->zstd_level = options->zstd_level != 0 ? options->zstd_level : CODEC_ZSTD_LEVEL_DEFAULT;
    options->bloom_fpp = options->bloom_fpp > 0 && options->bloom_fpp < 1 ? options->bloom_fpp : 0.01;
}

enum err_code parquet_writer_put(struct parquet_writer *writer, const void *data, size_t length, struct error *err)
{
    if (length > 0) {
        TRY(writer->sink.write(writer->sink.context, data, length, err));
        writer->file_bytes += length;
    }
    return OK;
}

static enum err_code make_parts(struct parquet_writer *writer, struct error *err)
{
    const struct parquet_writer_options *options = &writer->options;
    const struct chunk_options chunk_options = {options->page_bytes, options->dictionary_bytes, options->zstd_level,
                                                options->bloom_fpp};
    size_t columns = writer->schema->column_count;
    TRY(batch_new(writer->schema, 0, &writer->pending, err));
    TRY(batch_new(writer->schema, 1, &writer->last, err));
    TRY(parquet_chunk_encoder_new(&chunk_options, &writer->encoder, err));
    writer->arena = arena_new(0);
    writer->stats = calloc(columns, sizeof *writer->stats);
    if (writer->arena == NULL || writer->stats == NULL) {
        return err_no_memory(err, columns * sizeof *writer->stats);
    }
    for (size_t i = 0; i < columns; i++) {
        column_stats_init(&writer->stats[i], &writer->schema->columns[i]);
    }
    return OK;
}

enum err_code parquet_writer_new(const struct schema *schema, const struct parquet_writer_options *options,
                                 const struct parquet_sink *sink, struct parquet_writer **out, struct error *err)
{
    AUTO(parquet_writer_free_auto) struct parquet_writer *writer = calloc(1, sizeof *writer);
    if (writer == NULL) {
        return err_no_memory(err, sizeof *writer);
    }
    writer->schema = schema;
    writer->options = options != NULL ? *options : (struct parquet_writer_options){0};
    writer->sink = *sink;
    fill_defaults(&writer->options);
    if (writer->options.row_group_rows > BATCH_MAX_ROWS) {
        return err_set(err, ERR_INVALID, "expected row groups of at most %d rows but found %" PRIu32, BATCH_MAX_ROWS,
                       writer->options.row_group_rows);
    }
    TRY(make_parts(writer, err));
    TRY(parquet_writer_put(writer, PARQUET_MAGIC, PARQUET_MAGIC_BYTES, err));
    *out = TAKE(writer);
    return OK;
}

void parquet_writer_free(struct parquet_writer *writer)
{
    if (writer == NULL) {
        return;
    }
    batch_free(writer->pending);
    batch_free(writer->last);
    parquet_chunk_encoder_free(writer->encoder);
    arena_free(writer->arena);
    buf_done(&writer->column_indexes);
    buf_done(&writer->offset_indexes);
    buf_done(&writer->blooms);
    free(writer->row_groups);
    free(writer->stats);
    free(writer);
}

/* --- rows ------------------------------------------------------------------------------------------------------- */

/* Row number `row` (within the call, from 0) must not sort before the one in front of it. The usual order, an ascending
 * timestamp first, is settled by one comparison of numbers in all but the ties. */
static enum err_code check_order(const struct parquet_writer *writer, const struct batch *batch, uint32_t first,
                                 uint32_t count, struct error *err)
{
    const struct sort_key *key = &writer->schema->sort_keys[0];
    const struct column *column = &batch->columns[key->column];
    bool quick = column_type_width(column->type) == 8 && column->type != COLUMN_DOUBLE && !key->descending &&
                 column->null_count == 0;
    uint32_t bad = UINT32_MAX;
    if (writer->last->row_count > 0 && batch_compare_rows(writer->last, 0, batch, first) > 0) {
        bad = first;
    }
    for (uint32_t i = first + 1; i < first + count && bad == UINT32_MAX; i++) {
        if (quick && column->values.i64[i - 1] < column->values.i64[i]) {
            continue;
        }
        if (batch_compare_rows(batch, i - 1, batch, i) > 0) {
            bad = i;
        }
    }
    if (bad != UINT32_MAX) {
        return err_set(err, ERR_INVALID,
                       "expected rows sorted by \"%s\" but row %" PRIu64 " sorts before the one ahead",
                       writer->schema->columns[key->column].name,
                       writer->row_count + writer->pending->row_count + (bad - first) + 1);
    }
    return OK;
}

static enum err_code check_columns(const struct parquet_writer *writer, const struct batch *batch, struct error *err)
{
    const struct schema *ours = writer->schema, *theirs = batch->schema;
    if (ours == theirs) {
        return OK;
    }
    if (ours->column_count != theirs->column_count) {
        return err_set(err, ERR_INVALID, "expected %zu columns but found %zu", ours->column_count,
                       theirs->column_count);
    }
    for (size_t i = 0; i < ours->column_count; i++) {
        if (ours->columns[i].type != theirs->columns[i].type || ours->columns[i].id != theirs->columns[i].id) {
            return err_set(err, ERR_INVALID, "expected the column \"%s\" in place %zu but found \"%s\"",
                           ours->columns[i].name, i + 1, theirs->columns[i].name);
        }
    }
    return OK;
}

static size_t range_bytes(const struct batch *batch, uint32_t first, uint32_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < batch->schema->column_count; i++) {
        const struct column *column = &batch->columns[i];
        size_t width = column_type_width(column->type);
        bytes += width > 0 ? width * count
                           : sizeof(uint32_t) * count + (column->offsets[first + count] - column->offsets[first]);
    }
    return bytes;
}

/* How many of the rows go into the row group in progress; 0 when it is full. A single row always fits an empty one. */
static uint32_t rows_that_fit(const struct parquet_writer *writer, const struct batch *batch, uint32_t first,
                              uint32_t count)
{
    uint32_t room = writer->options.row_group_rows - writer->pending->row_count;
    uint32_t fit = count < room ? count : room;
    size_t used = batch_memory_bytes(writer->pending), most = writer->options.row_group_bytes;
    size_t left = used < most ? most - used : 0;
    while (fit > 0 && range_bytes(batch, first, fit) > left) {
        fit /= 2;
    }
    return fit == 0 && writer->pending->row_count == 0 ? 1 : fit;
}

enum err_code parquet_writer_admit(struct parquet_writer *writer, const struct batch *batch, uint32_t first,
                                   uint32_t count, struct error *err)
{
    TRY(check_columns(writer, batch, err));
    TRY(check_order(writer, batch, first, count, err));
    batch_clear(writer->last);
    return batch_append_range(writer->last, batch, first + count - 1, 1, err);
}

enum err_code parquet_writer_append(struct parquet_writer *writer, const struct batch *batch, uint32_t first,
                                    uint32_t count, struct error *err)
{
    if (count == 0) {
        return OK;
    }
    TRY(parquet_writer_admit(writer, batch, first, count, err));
    while (count > 0) {
        uint32_t fit = rows_that_fit(writer, batch, first, count);
        if (fit == 0) {
            TRY(parquet_writer_flush(writer, err));
            continue;
        }
        TRY(batch_append_range(writer->pending, batch, first, fit, err));
        first += fit;
        count -= fit;
        if (writer->pending->row_count == writer->options.row_group_rows) {
            TRY(parquet_writer_flush(writer, err));
        }
    }
    return OK;
}

static int64_t timestamp_bound(const uint8_t *bytes)
{
    int64_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

enum err_code parquet_writer_finish(struct parquet_writer *writer, struct parquet_summary *out, struct error *err)
{
    if (writer->row_count + writer->pending->row_count == 0) {
        return err_set(err, ERR_INVALID, "expected at least one row in a partition file but found none");
    }
    TRY(parquet_writer_flush(writer, err));
    TRY(parquet_writer_put_end(writer, err));
    const struct column_stats *timestamp = &writer->stats[writer->schema->timestamp_column];
    *out = (struct parquet_summary){.row_count = writer->row_count,
                                    .file_bytes = writer->file_bytes,
                                    .memory_bytes = writer->memory_bytes,
                                    .min_timestamp_us = timestamp_bound(timestamp->min),
                                    .max_timestamp_us = timestamp_bound(timestamp->max),
                                    .column_count = writer->schema->column_count,
                                    .columns = TAKE(writer->stats)};
    return OK;
}

void parquet_summary_done(struct parquet_summary *summary)
{
    free(summary->columns);
    *summary = (struct parquet_summary){0};
}
