/* Write and read speed of Parquet files on one thread: 5 M rows of a log.
 *   bench_parquet FILE [ROWS] */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/parquet/reader.h"
#include "common/parquet/writer.h"
#include "tests/bench/log_rows.h"

enum { BATCH_ROWS = 8192 };

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
    struct log_rows source;
    struct parquet_writer *writer = NULL;
    struct parquet_sink sink = {&fd, file_write};
    int64_t spent_us = 0;
    log_rows_init(&source, 0);
    check(parquet_writer_new(&log_rows_schema, NULL, &sink, &writer, &err), &err);
    for (uint64_t done = 0; done < rows; done += BATCH_ROWS) {
        struct batch *batch = log_rows_next(&source, &log_rows_schema, BATCH_ROWS);
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
