/* Files for benches, and what they cost at the least.
 *   bench_files generate FILE ROWS         rows of a log (log_rows.h)
 *   bench_files split FILE FOLDER N HOW    into N partitions: "overlapping" deals the rows out in turn, "disjoint" cuts
 *   bench_files limit FILE OUTPUT          what the pages of the file cost zstd alone, and moving it to OUTPUT
 * Each prints one line of JSON. */
#include "common/digest/digest.h"
#include "common/parquet/page.h"
#include "tests/bench/files.h"

static void generate(struct work *work, char **arguments)
{
    struct error err;
    struct log_rows rows;
    int file = open_file(arguments[0], O_RDWR | O_CREAT | O_TRUNC);
    uint64_t count = strtoull(arguments[1], NULL, 10);
    struct parquet_writer *writer = open_writer(&file, NULL);
    log_rows_init(&rows, 0);
    for (uint64_t done = 0; done < count; done += BATCH_ROWS) {
        uint32_t more = count - done < BATCH_ROWS ? (uint32_t)(count - done) : BATCH_ROWS;
        AUTO(batch_free_auto) struct batch *batch = log_rows_next(&rows, &log_rows_schema, more);
        check(parquet_writer_append(writer, batch, 0, batch->row_count, &err), &err);
    }
    finish_writer(writer, work);
}

/* Row by row in turn, or the first file first. */
static void split_rows(struct parquet_cursor *cursor, struct partition_writer **writers, size_t count, uint64_t rows,
                       bool overlapping)
{
    struct error err;
    uint64_t row = 0;
    for (const struct batch *batch; (batch = next_rows(cursor)) != NULL;) {
        for (uint32_t i = 0, run; i < batch->row_count; i += run, row += run) {
            uint64_t file = overlapping ? row % count : row * count / rows;
            uint64_t end = overlapping ? row + 1 : ((file + 1) * rows + count - 1) / count;
            run = end - row < batch->row_count - i ? (uint32_t)(end - row) : batch->row_count - i;
            check(partition_writer_append(writers[file], batch, i, run, &err), &err);
        }
    }
}

static void split(struct work *work, char **arguments)
{
    struct partition_writer *writers[MOST_FILES];
    AUTO(store_close_auto) struct store *store = open_store(arguments[1]);
    size_t count = strtoull(arguments[2], NULL, 10);
    int file = open_file(arguments[0], O_RDONLY);
    AUTO(parquet_reader_free_auto) struct parquet_reader *reader = open_reader(&file);
    AUTO(parquet_cursor_free_auto) struct parquet_cursor *cursor = open_cursor(reader, NULL);
    for (size_t i = 0; i < count && i < MOST_FILES; i++) {
        char path[PATH_BYTES];
        (void)snprintf(path, sizeof path, "%s-%03zu.parquet", arguments[3], i);
        writers[i] = open_partition(store, path);
    }
    split_rows(cursor, writers, count, parquet_reader_rows(reader), strcmp(arguments[3], "overlapping") == 0);
    for (size_t i = 0; i < count; i++) {
        finish_partition(writers[i], work);
    }
}

/* --- limits ------------------------------------------------------------------------------------------------------- */

struct limits {
    double read, compress;
    uint64_t page_bytes;
    struct codec *codec;
    struct buf scratch;
};

/* Reading, checking and decompressing pages; compressing them again. */
static void measure_pages(struct limits *limits, struct page_reader *pages, int64_t values)
{
    struct error err;
    for (int64_t done = 0; done < values;) {
        struct page page;
        double begin = cpu_seconds();
        check(parquet_page_next(pages, 0, &page, &err), &err);
        double read = cpu_seconds();
        size_t length = (size_t)(page.values.end - page.values.at);
        buf_clear(&limits->scratch);
        check(codec_compress(limits->codec, pages->kind, page.values.at, length, &limits->scratch, &err), &err);
        limits->compress += cpu_seconds() - read;
        limits->read += read - begin;
        limits->page_bytes += length;
        done += page.header.type == PAGE_DICTIONARY ? 0 : page.header.value_count;
    }
}

/* From the page cache into another file, and the SHA-256 that every object gets. */
static double move_file(int *from, uint64_t bytes, const char *path)
{
    struct error err;
    int to = open_file(path, O_RDWR | O_CREAT | O_TRUNC);
    AUTO(digest_sha256_stream_free_auto) struct digest_sha256_stream *digest = digest_sha256_stream_new();
    AUTO(free_auto) uint8_t *piece = malloc(PIECE_BYTES);
    uint8_t sha256[DIGEST_SHA256_BYTES];
    double begin = cpu_seconds();
    for (uint64_t at = 0; digest != NULL && piece != NULL && at < bytes; at += PIECE_BYTES) {
        size_t length = bytes - at < PIECE_BYTES ? (size_t)(bytes - at) : PIECE_BYTES;
        check(file_read(from, at, length, piece, &err), &err);
        digest_sha256_stream_update(digest, piece, length);
        check(file_write(&to, piece, length, &err), &err);
    }
    digest_sha256_stream_finish(digest, sha256);
    return cpu_seconds() - begin;
}

static void limit(struct work *work, char **arguments)
{
    struct error err;
    int file = open_file(arguments[0], O_RDONLY);
    const struct parquet_source source = {&file, size_of(file), file_read};
    struct meta_file meta;
    struct limits limits = {0};
    uint32_t footer_bytes;
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    check(file_read(&file, source.size_bytes - 8, sizeof footer_bytes, &footer_bytes, &err), &err);
    AUTO(free_auto) uint8_t *footer = calloc(1, footer_bytes);
    check(file_read(&file, source.size_bytes - 8 - footer_bytes, footer_bytes, footer, &err), &err);
    check(parquet_meta_decode(footer, footer_bytes, arena, &meta, &err), &err);
    check(codec_new(CODEC_ZSTD_LEVEL_DEFAULT, &limits.codec, &err), &err);
    struct page_reader pages = {.source = &source, .codec = limits.codec, .kind = CODEC_ZSTD};
    for (size_t g = 0; g < meta.row_group_count; g++) {
        for (size_t i = 0; i < meta.row_groups[g].chunk_count; i++) {
            const struct meta_chunk *chunk = &meta.row_groups[g].chunks[i];
            int64_t begin = chunk->dictionary_page_offset > 0 ? chunk->dictionary_page_offset : chunk->data_page_offset;
            parquet_page_reader_start(&pages, (uint64_t)begin, (uint64_t)(begin + chunk->compressed_bytes));
            measure_pages(&limits, &pages, chunk->value_count);
        }
        work->rows += (uint64_t)meta.row_groups[g].row_count;
    }
    parquet_page_reader_done(&pages);
    codec_free(limits.codec);
    buf_done(&limits.scratch);
    work->bytes = source.size_bytes;
    (void)snprintf(work->more, sizeof work->more,
                   ",\"pages\":%" PRIu64 ",\"read\":%.6f,\"compress\":%.6f,\"move\":%.6f", limits.page_bytes,
                   limits.read, limits.compress, move_file(&file, source.size_bytes, arguments[1]));
}

int main(int argc, char **argv)
{
    static const struct command commands[] = {
        {"generate", 2, generate}, {"split", 4, split}, {"limit", 2, limit}, {NULL, 0, NULL}};
    return run_command(commands, argc, argv);
}
