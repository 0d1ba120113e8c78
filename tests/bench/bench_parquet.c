/* One thread with Parquet files: what a bench asks of it, measured once.
 *   bench_parquet write FILE OUTPUT [LEVEL]     batches in memory, read from FILE, into a file; zstd at 3, or another level
 *   bench_parquet read FILE                     all columns; sums them up, to show what was read
 *   bench_parquet select FILE FROM TO TIMES     service and latency of the rows from FROM to before TO, so often
 *   bench_parquet ndjson|csv FILE OUTPUT        rows of text, already in order, into a file
 *   bench_parquet merge FOLDER OUTPUT INPUT...  partitions into one, within FOLDER
 * Each prints one line of JSON. */
#include "common/ingest/ingest.h"
#include "common/partition/merge.h"
#include "tests/bench/files.h"

static void write_file(struct work *work, char **arguments)
{
    struct error err;
    int input = open_file(arguments[0], O_RDONLY), output = open_file(arguments[1], O_RDWR | O_CREAT | O_TRUNC);
    AUTO(parquet_reader_free_auto) struct parquet_reader *reader = open_reader(&input);
    AUTO(parquet_cursor_free_auto) struct parquet_cursor *cursor = open_cursor(reader, NULL);
    size_t most = (size_t)parquet_reader_rows(reader) / BATCH_ROWS + parquet_reader_row_groups(reader) + 1, count = 0;
    AUTO(free_auto) struct batch **batches = calloc(most, sizeof *batches);
    for (const struct batch *batch; batches != NULL && count < most && (batch = next_rows(cursor)) != NULL; count++) {
        check(batch_new(&log_rows_schema, batch->row_count, &batches[count], &err), &err);
        check(batch_append_range(batches[count], batch, 0, batch->row_count, &err), &err);
    }
    const struct parquet_writer_options options = {.zstd_level =
                                                       arguments[2] != NULL ? (int)strtol(arguments[2], NULL, 10) : 0};
    double begin = cpu_seconds();
    struct parquet_writer *writer = open_writer(&output, &options);
    for (size_t i = 0; i < count; i++) {
        check(parquet_writer_append(writer, batches[i], 0, batches[i]->row_count, &err), &err);
    }
    finish_writer(writer, work);
    work->seconds = cpu_seconds() - begin;
    for (size_t i = 0; i < count; i++) {
        batch_free(batches[i]);
    }
}

static uint64_t valid_count(const struct batch *batch, uint32_t column)
{
    return batch->row_count - batch->columns[column].null_count;
}

static void read_file(struct work *work, char **arguments)
{
    int file = open_file(arguments[0], O_RDONLY);
    double begin = cpu_seconds(), latency = 0, load = 0;
    int64_t bytes = 0, smallest = INT64_MAX;
    uint64_t names = 0, text_bytes = 0;
    AUTO(parquet_reader_free_auto) struct parquet_reader *reader = open_reader(&file);
    AUTO(parquet_cursor_free_auto) struct parquet_cursor *cursor = open_cursor(reader, NULL);
    for (const struct batch *batch; (batch = next_rows(cursor)) != NULL; work->rows += batch->row_count) {
        names += valid_count(batch, 1) + valid_count(batch, 2) + valid_count(batch, 3);
        text_bytes += batch->columns[7].offsets[batch->row_count];
        for (uint32_t i = 0; i < batch->row_count; i++) {
            smallest = batch->columns[0].values.i64[i] < smallest ? batch->columns[0].values.i64[i] : smallest;
            latency += batch->columns[4].values.f64[i];
            load += batch->columns[5].values.f64[i];
            bytes += batch->columns[6].values.i64[i];
        }
    }
    work->seconds = cpu_seconds() - begin;
    work->bytes = size_of(file);
    (void)snprintf(work->more, sizeof work->more,
                   ",\"first\":%" PRId64 ",\"names\":%" PRIu64 ",\"latency\":%.6f,\"load\":%.6f,\"sum\":%" PRId64
                   ",\"text\":%" PRIu64,
                   smallest, names, latency, load, bytes, text_bytes);
}

/* The reader passes by what the bounds of row groups and pages rule out; the rest is looked at row by row. */
static void select_rows(struct work *work, int *file, int64_t from_us, int64_t to_us, double *out_latency)
{
    static const uint32_t columns[] = {0, 3, 4};
    const struct parquet_range range = {.column = 0, .min = from_us, .max = to_us - 1};
    AUTO(parquet_reader_free_auto) struct parquet_reader *reader = open_reader(file);
    const struct parquet_cursor_options options = {
        .columns = columns, .column_count = 3, .ranges = &range, .range_count = 1};
    AUTO(parquet_cursor_free_auto) struct parquet_cursor *cursor = open_cursor(reader, &options);
    work->rows = 0;
    *out_latency = 0;
    for (const struct batch *batch; (batch = next_rows(cursor)) != NULL;) {
        const int64_t *times = batch->columns[0].values.i64;
        for (uint32_t i = 0; i < batch->row_count; i++) {
            if (times[i] >= from_us && times[i] < to_us && !column_is_null(&batch->columns[1], i)) {
                work->rows++;
                *out_latency += batch->columns[2].values.f64[i];
            }
        }
    }
}

static void select_file(struct work *work, char **arguments)
{
    int file = open_file(arguments[0], O_RDONLY);
    int64_t from_us = strtoll(arguments[1], NULL, 10), to_us = strtoll(arguments[2], NULL, 10);
    double begin = cpu_seconds(), latency = 0;
    for (int64_t i = strtoll(arguments[3], NULL, 10); i > 0; i--) {
        select_rows(work, &file, from_us, to_us, &latency);
    }
    work->seconds = cpu_seconds() - begin;
    work->bytes = size_of(file);
    (void)snprintf(work->more, sizeof work->more, ",\"latency\":%.6f", latency);
}

static void take_rows(struct ingest *ingest, struct parquet_writer *writer)
{
    struct error err;
    struct batch *batch = ingest_batch(ingest);
    check(parquet_writer_append(writer, batch, 0, batch->row_count, &err), &err);
    batch_clear(batch);
}

static void decode_file(struct work *work, char **arguments, enum ingest_format format)
{
    const struct ingest_options options = {.format = format};
    static const struct ingest_limits limits = {.max_row_bytes = PIECE_BYTES,
                                                .max_reject_text_bytes = PIECE_BYTES,
                                                .max_decoded_bytes = SIZE_MAX,
                                                .max_depth = 64,
                                                .min_timestamp_us = INT64_MIN,
                                                .max_timestamp_us = INT64_MAX};
    struct error err;
    int input = open_file(arguments[0], O_RDONLY), output = open_file(arguments[1], O_RDWR | O_CREAT | O_TRUNC);
    AUTO(ingest_free_auto) struct ingest *ingest = NULL;
    AUTO(free_auto) char *piece = malloc(PIECE_BYTES);
    size_t rejects = 0;
    double begin = cpu_seconds();
    struct parquet_writer *writer = open_writer(&output, NULL);
    check(ingest_new(&log_rows_schema, &options, &limits, &ingest, &err), &err);
    for (ssize_t length; piece != NULL && (length = read(input, piece, PIECE_BYTES)) > 0;) {
        check(ingest_feed(ingest, piece, (size_t)length, &err), &err);
        take_rows(ingest, writer);
    }
    check(ingest_finish(ingest, &err), &err);
    take_rows(ingest, writer);
    finish_writer(writer, work);
    work->seconds = cpu_seconds() - begin;
    (void)ingest_rejects(ingest, &rejects);
    (void)snprintf(work->more, sizeof work->more, ",\"rejects\":%zu", rejects);
}

static void ndjson(struct work *work, char **arguments)
{
    decode_file(work, arguments, INGEST_NDJSON);
}

static void csv(struct work *work, char **arguments)
{
    decode_file(work, arguments, INGEST_CSV);
}

static void merge(struct work *work, char **arguments)
{
    struct error err;
    AUTO(store_close_auto) struct store *store = open_store(arguments[0]);
    struct partition_reader *readers[MOST_FILES];
    size_t count = 0;
    double begin = cpu_seconds();
    struct partition_writer *writer = open_partition(store, arguments[1]);
    while (arguments[2 + count] != NULL && count < MOST_FILES) {
        count++;
    }
    const struct partition_reader_options options = {.window_bytes =
                                                         partition_merge_window_bytes(count, LOG_ROWS_COLUMNS)};
    for (size_t i = 0; i < count; i++) {
        check(partition_reader_open(store, arguments[2 + i], &options, &readers[i], &err), &err);
    }
    const struct partition_merge_options merged = {.schema = &log_rows_schema, .inputs = readers, .input_count = count};
    check(partition_merge(&merged, writer, NULL, &err), &err);
    finish_partition(writer, work);
    work->seconds = cpu_seconds() - begin;
    for (size_t i = 0; i < count; i++) {
        partition_reader_free(readers[i]);
    }
}

int main(int argc, char **argv)
{
    static const struct command commands[] = {
        {"write", 2, write_file}, {"read", 1, read_file}, {"select", 4, select_file},
        {"ndjson", 2, ndjson},    {"csv", 2, csv},        {"merge", 3, merge},
        {NULL, 0, NULL},
    };
    return run_command(commands, argc, argv);
}
