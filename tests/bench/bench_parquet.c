/* Write and read speed of partition files on one thread: 5 M rows of a timestamp, three low-cardinality strings, two
 * doubles, an int64 and a text of 40 to 80 bytes (about 150 bytes a row).
 *   bench_parquet FILE [ROWS] */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/parquet/reader.h"
#include "common/parquet/writer.h"

enum { BATCH_ROWS = 8192, COLUMNS = 8, VOCABULARY = 512 };

static const struct schema_column columns[COLUMNS] = {
    {.id = 1, .name = "ts", .type = COLUMN_TIMESTAMP},
    {.id = 2, .name = "host", .type = COLUMN_STRING, .nullable = true},
    {.id = 3, .name = "level", .type = COLUMN_STRING, .nullable = true},
    {.id = 4, .name = "service", .type = COLUMN_STRING, .nullable = true},
    {.id = 5, .name = "latency", .type = COLUMN_DOUBLE, .nullable = true},
    {.id = 6, .name = "load", .type = COLUMN_DOUBLE, .nullable = true},
    {.id = 7, .name = "bytes", .type = COLUMN_INT64, .nullable = true},
    {.id = 8, .name = "message", .type = COLUMN_STRING, .nullable = true},
};
static const struct schema schema = {
    .version = 1, .column_count = COLUMNS, .columns = columns, .timestamp_column = 0, .sort_key_count = 1};

static uint64_t state = 88172645463325252U;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void set_text(struct batch *batch, uint32_t column, const char *prefix, uint64_t number)
{
    char text[32];
    int length = snprintf(text, sizeof text, "%s%llu", prefix, (unsigned long long)number);
    if (batch_set_variable(batch, column, text, (size_t)length, NULL) != OK) {
        abort();
    }
}

static void set_message(struct batch *batch, char words[VOCABULARY][8])
{
    char text[96];
    size_t length = 0, most = 40 + next_random() % 33;
    while (length < most) {
        const char *word = words[next_random() % VOCABULARY];
        length += (size_t)snprintf(text + length, sizeof text - length, "%s ", word);
    }
    if (batch_set_variable(batch, 7, text, length, NULL) != OK) {
        abort();
    }
}

static struct batch *make_batch(int64_t *time_us, char words[VOCABULARY][8])
{
    struct batch *batch = NULL;
    if (batch_new(&schema, BATCH_ROWS, &batch, NULL) != OK) {
        abort();
    }
    for (uint32_t i = 0; i < BATCH_ROWS; i++) {
        *time_us += (int64_t)(next_random() % 20000);
        if (batch_row_begin(batch, NULL) != OK) {
            abort();
        }
        batch_set_i64(batch, 0, *time_us);
        set_text(batch, 1, "host-", next_random() % 200);
        set_text(batch, 2, "level", next_random() % 5);
        set_text(batch, 3, "service-", next_random() % 40);
        batch_set_double(batch, 4, (double)(next_random() % 1000000) / 1000.0);
        batch_set_double(batch, 5, (double)next_random() / 1e19);
        batch_set_i64(batch, 6, (int64_t)(next_random() % 1000000));
        set_message(batch, words);
        if (batch_row_end(batch, NULL) != OK) {
            abort();
        }
    }
    return batch;
}

static enum err_code file_write(void *context, const void *data, size_t length, struct error *err)
{
    if (write(*(const int *)context, data, length) != (ssize_t)length) {
        return err_set(err, ERR_UNAVAILABLE, "could not write %zu bytes", length);
    }
    return OK;
}

static enum err_code file_read(void *context, uint64_t offset, size_t length, void *out, struct error *err)
{
    if (pread(*(const int *)context, out, length, (off_t)offset) != (ssize_t)length) {
        return err_set(err, ERR_UNAVAILABLE, "could not read %zu bytes", length);
    }
    return OK;
}

static void check(enum err_code code, const struct error *err)
{
    if (code != OK) {
        fprintf(stderr, "%s: %s\n", err_code_name(code), err->text);
        exit(1);
    }
}

/* Processor time: what one thread costs, also while others use the machine. */
static int64_t cpu_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * CLOCK_SECOND_US + now.tv_nsec / 1000;
}

static double bench_write(int fd, uint64_t rows, struct parquet_summary *out)
{
    struct error err;
    char words[VOCABULARY][8];
    struct parquet_writer *writer = NULL;
    struct parquet_sink sink = {&fd, file_write};
    int64_t time_us = INT64_C(1700000000000000), spent_us = 0;
    for (size_t i = 0; i < VOCABULARY; i++) {
        snprintf(words[i], sizeof words[i], "%.*s", (int)(2 + next_random() % 6),
                 "abcdefghijklmnopqrstuvwxyz" + next_random() % 19);
    }
    check(parquet_writer_new(&schema, NULL, &sink, &writer, &err), &err);
    for (uint64_t done = 0; done < rows; done += BATCH_ROWS) {
        struct batch *batch = make_batch(&time_us, words);
        int64_t begin_us = cpu_us();
        check(parquet_writer_append(writer, batch, 0, batch->row_count, &err), &err);
        spent_us += cpu_us() - begin_us;
        batch_free(batch);
    }
    int64_t begin_us = cpu_us();
    check(parquet_writer_finish(writer, out, &err), &err);
    spent_us += cpu_us() - begin_us;
    parquet_writer_free(writer);
    return (double)spent_us / 1e6;
}

static double bench_read(int fd, uint64_t *out_rows)
{
    struct error err;
    struct parquet_reader *reader = NULL;
    struct parquet_cursor *cursor = NULL;
    const struct batch *batch = NULL;
    struct parquet_source source = {&fd, (uint64_t)lseek(fd, 0, SEEK_END), file_read};
    int64_t begin_us = cpu_us();
    check(parquet_reader_open(&source, &reader, &err), &err);
    check(parquet_cursor_open(reader, NULL, &cursor, &err), &err);
    *out_rows = 0;
    do {
        check(parquet_cursor_next(cursor, &batch, &err), &err);
        *out_rows += batch != NULL ? batch->row_count : 0;
    } while (batch != NULL);
    parquet_cursor_free(cursor);
    parquet_reader_free(reader);
    return (double)(cpu_us() - begin_us) / 1e6;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: %s FILE [ROWS]\n", argv[0]);
        return 78;
    }
    uint64_t rows = argc > 2 ? strtoull(argv[2], NULL, 10) : 5000000, read_rows;
    int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
    struct parquet_summary summary = {0};
    double write_s = bench_write(fd, rows, &summary), read_s = bench_read(fd, &read_rows);
    printf("parquet_write rows=%llu cpu_seconds=%.2f rows_per_cpu_s=%.0f file_bytes=%llu memory_bytes=%llu\n",
           (unsigned long long)summary.row_count, write_s, (double)summary.row_count / write_s,
           (unsigned long long)summary.file_bytes, (unsigned long long)summary.memory_bytes);
    printf("parquet_read rows=%llu cpu_seconds=%.2f rows_per_cpu_s=%.0f\n", (unsigned long long)read_rows, read_s,
           (double)read_rows / read_s);
    parquet_summary_done(&summary);
    close(fd);
    return 0;
}
