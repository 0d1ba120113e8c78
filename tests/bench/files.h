/* What the programs that measure Parquet files share: the answer that they print, files, readers and writers that end the
 * program when something fails. Times are of the processor: what one thread costs, also while others use the machine. */
#ifndef GRANARY_TESTS_BENCH_FILES_H
#define GRANARY_TESTS_BENCH_FILES_H

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/parquet/reader.h"
#include "common/partition/writer.h"
#include "tests/bench/log_rows.h"

enum { BATCH_ROWS = 8192, PIECE_BYTES = 1 << 20, PATH_BYTES = 256, MOST_FILES = 1000 };

struct work {
    uint64_t rows;
    double seconds;
    uint64_t bytes; /* of what was written or read */
    char more[512]; /* other members of the answer */
};

static inline void check(enum err_code code, const struct error *err)
{
    if (code != OK) {
        (void)fprintf(stderr, "%s: %s\n", err_code_name(code), err->text);
        exit(1);
    }
}

static inline double cpu_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static inline enum err_code file_write(void *context, const void *data, size_t length, struct error *err)
{
    if (write(*(const int *)context, data, length) != (ssize_t)length) {
        return err_set(err, ERR_UNAVAILABLE, "could not write %zu bytes", length);
    }
    return OK;
}

static inline enum err_code file_read(void *context, uint64_t offset, size_t length, void *out, struct error *err)
{
    if (pread(*(const int *)context, out, length, (off_t)offset) != (ssize_t)length) {
        return err_set(err, ERR_UNAVAILABLE, "could not read %zu bytes", length);
    }
    return OK;
}

static inline int open_file(const char *path, int flags)
{
    int file = open(path, flags | O_CLOEXEC, 0644);
    if (file < 0) {
        perror(path);
        exit(1);
    }
    return file;
}

static inline uint64_t size_of(int file)
{
    return (uint64_t)lseek(file, 0, SEEK_END);
}

static inline struct parquet_reader *open_reader(int *file)
{
    struct error err;
    struct parquet_reader *reader = NULL;
    const struct parquet_source source = {file, size_of(*file), file_read};
    check(parquet_reader_open(&source, &reader, &err), &err);
    return reader;
}

static inline struct parquet_writer *open_writer(int *file, const struct parquet_writer_options *options)
{
    struct error err;
    struct parquet_writer *writer = NULL;
    const struct parquet_sink sink = {file, file_write};
    check(parquet_writer_new(&log_rows_schema, options, &sink, &writer, &err), &err);
    return writer;
}

static inline void finish_writer(struct parquet_writer *writer, struct work *work)
{
    struct error err;
    AUTO(parquet_summary_done) struct parquet_summary summary = {0};
    check(parquet_writer_finish(writer, &summary, &err), &err);
    work->rows = summary.row_count;
    work->bytes = summary.file_bytes;
    parquet_writer_free(writer);
}

static inline struct parquet_cursor *open_cursor(struct parquet_reader *reader,
                                                 const struct parquet_cursor_options *options)
{
    struct error err;
    struct parquet_cursor *cursor = NULL;
    check(parquet_cursor_open(reader, options, &cursor, &err), &err);
    return cursor;
}

static inline const struct batch *next_rows(struct parquet_cursor *cursor)
{
    struct error err;
    const struct batch *batch = NULL;
    check(parquet_cursor_next(cursor, &batch, &err), &err);
    return batch;
}

static inline struct partition_writer *open_partition(struct store *store, const char *path)
{
    struct error err;
    struct partition_writer *writer = NULL;
    const struct partition_writer_options options = {.path = path, .partition_id = uuid_v7(), .deadline_us = INT64_MAX};
    check(partition_writer_open(store, &log_rows_schema, &options, &writer, &err), &err);
    return writer;
}

static inline void finish_partition(struct partition_writer *writer, struct work *work)
{
    struct error err;
    AUTO(partition_facts_done) struct partition_facts facts = {0};
    check(partition_writer_finish(writer, &facts, &err), &err);
    work->rows += facts.row_count;
    work->bytes += facts.data_bytes;
    partition_writer_free(writer);
}

static inline struct store *open_store(const char *folder)
{
    struct error err;
    struct store *store = NULL;
    char url[PATH_BYTES];
    (void)snprintf(url, sizeof url, "file://%s", folder);
    check(store_open(url, NULL, &store, &err), &err);
    return store;
}

struct command {
    const char *name;
    int arguments;
    void (*run)(struct work *work, char **arguments);
};

/* The command that argv names, its answer printed. The last of `commands` has no name. Returns the exit code. */
static inline int run_command(const struct command *commands, int argc, char **argv)
{
    for (size_t i = 0; commands[i].name != NULL; i++) {
        if (argc > 1 && strcmp(argv[1], commands[i].name) == 0 && argc - 2 >= commands[i].arguments) {
            struct work work = {0};
            struct rusage usage;
            commands[i].run(&work, argv + 2);
            (void)getrusage(RUSAGE_SELF, &usage);
            printf("{\"rows\":%" PRIu64 ",\"seconds\":%.6f,\"bytes\":%" PRIu64 ",\"peak_kib\":%ld%s}\n", work.rows,
                   work.seconds, work.bytes, usage.ru_maxrss, work.more);
            return 0;
        }
    }
    (void)fprintf(stderr, "%s: expected a command and its arguments, as the source says\n", argv[0]);
    return 78;
}

#endif
