/* A cursor reads a column chunk page by page, a small header and then a body, and goes round all its columns so. Each of these
 * sequences meets a window of its own: what is left of the window answers, and where it ends it moves on. Reads as large
 * as a window pass by. */
#include "common/partition/reader.h"

#include <stdlib.h>
#include <string.h>

enum {
    TAIL_BYTES = 64 * 1024,
    WINDOW_BYTES = 64 * 1024,
    SMALLEST_WINDOW_BYTES = 4 * 1024,
    ALL_WINDOWS_BYTES = 8 * 1024 * 1024
};

struct window {
    uint64_t at;
    size_t length; /* 0: holds nothing that is still wanted */
    uint64_t used; /* when it answered last, by the reader's count of reads */
    uint8_t *data; /* NULL until first used */
};

struct partition_reader {
    struct store *store;
    char *path;
    uint64_t size_bytes;
    struct window tail; /* the footer; of a small file everything */
    size_t window_bytes, window_count;
    struct window *windows; /* NULL while the footer is read */
    uint64_t reads;
    struct parquet_reader *file;
};

void partition_reader_free(struct partition_reader *reader)
{
    if (reader == NULL) {
        return;
    }
    parquet_reader_free(reader->file);
    for (size_t i = 0; reader->windows != NULL && i < reader->window_count; i++) {
        free(reader->windows[i].data);
    }
    free(reader->windows);
    free(reader->tail.data);
    free(reader->path);
    free(reader);
}

static bool holds(const struct window *window, uint64_t offset)
{
    return offset >= window->at && offset - window->at < window->length;
}

/* The one that holds the offset, or the one to fill: an empty one, else the one that has not answered for longest. */
static struct window *choose_window(struct partition_reader *reader, uint64_t offset)
{
    if (holds(&reader->tail, offset)) {
        return &reader->tail;
    }
    struct window *best = &reader->windows[0];
    for (size_t i = 0; i < reader->window_count; i++) {
        struct window *window = &reader->windows[i];
        if (holds(window, offset)) {
            return window;
        }
        bool better = best->length == 0 ? false : window->length == 0 || window->used < best->used;
        best = better ? window : best;
    }
    return best;
}

static enum err_code fill(struct partition_reader *reader, struct window *window, uint64_t offset, size_t length,
                          struct error *err)
{
    uint64_t left = reader->size_bytes - offset;
    length = left < length ? (size_t)left : length;
    if (window->data == NULL) {
        window->data = malloc(length > reader->window_bytes ? length : reader->window_bytes);
    }
    if (window->data == NULL) {
        return err_no_memory(err, length);
    }
    window->length = 0;
    TRY(store_get(reader->store, reader->path, offset, length, window->data, err));
    window->at = offset;
    window->length = length;
    return OK;
}

static size_t take(struct window *window, uint64_t offset, size_t length, void *out)
{
    size_t skip = (size_t)(offset - window->at);
    size_t here = window->length - skip < length ? window->length - skip : length;
    memcpy(out, window->data + skip, here);
    return here;
}

static enum err_code read_range(void *context, uint64_t offset, size_t length, void *out, struct error *err)
{
    struct partition_reader *reader = context;
    reader->reads++;
    while (length > 0) {
        bool in_tail = holds(&reader->tail, offset);
        struct window *window = in_tail || reader->windows == NULL ? &reader->tail : choose_window(reader, offset);
        if (!holds(window, offset)) {
            if (length >= reader->window_bytes || window == &reader->tail) {
                return store_get(reader->store, reader->path, offset, length, out, err);
            }
            TRY(fill(reader, window, offset, reader->window_bytes, err));
        }
        size_t taken = take(window, offset, length, out);
        window->used = reader->reads;
        offset += taken;
        length -= taken;
        out = (uint8_t *)out + taken;
        if (!in_tail && offset == window->at + window->length) {
            window->length = 0;
        }
    }
    return OK;
}

static enum err_code find_size(struct partition_reader *reader, struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct store_object object;
    if (arena == NULL) {
        return err_no_memory(err, sizeof object);
    }
    TRY(store_head(reader->store, reader->path, arena, &object, err));
    reader->size_bytes = object.size_bytes;
    return OK;
}

static enum err_code open_footer(struct partition_reader *reader, struct error *err)
{
    uint64_t tail_bytes = reader->size_bytes < TAIL_BYTES ? reader->size_bytes : TAIL_BYTES;
    if (tail_bytes > 0) {
        TRY(fill(reader, &reader->tail, reader->size_bytes - tail_bytes, (size_t)tail_bytes, err));
    }
    const struct parquet_source source = {.context = reader, .size_bytes = reader->size_bytes, .read = read_range};
    if (parquet_reader_open(&source, &reader->file, err) != OK) {
        return err_wrap(err, "\"%s\"", reader->path);
    }
    return OK;
}

static enum err_code open_windows(struct partition_reader *reader, struct error *err)
{
    if (reader->tail.length == reader->size_bytes) {
        return OK; /* it is all here */
    }
    free(TAKE(reader->tail.data));
    reader->tail.length = 0;
    reader->window_count = parquet_reader_schema(reader->file)->column_count;
    if (reader->window_bytes * reader->window_count > ALL_WINDOWS_BYTES) {
        reader->window_bytes = ALL_WINDOWS_BYTES / reader->window_count;
    }
    if (reader->window_bytes < SMALLEST_WINDOW_BYTES) {
        reader->window_bytes = SMALLEST_WINDOW_BYTES;
    }
    reader->windows = calloc(reader->window_count, sizeof *reader->windows);
    return reader->windows != NULL ? OK : err_no_memory(err, reader->window_count * sizeof *reader->windows);
}

enum err_code partition_reader_open(struct store *store, const char *path,
                                    const struct partition_reader_options *options, struct partition_reader **out,
                                    struct error *err)
{
    static const struct partition_reader_options none;
    options = options == NULL ? &none : options;
    AUTO(partition_reader_free_auto) struct partition_reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL) {
        return err_no_memory(err, sizeof *reader);
    }
    reader->store = store;
    reader->size_bytes = options->size_bytes;
    reader->window_bytes = options->window_bytes == 0 ? WINDOW_BYTES : options->window_bytes;
    reader->path = strdup(path);
    if (reader->path == NULL) {
        return err_no_memory(err, strlen(path));
    }
    if (reader->size_bytes == 0) {
        TRY(find_size(reader, err));
    }
    TRY(open_footer(reader, err));
    TRY(open_windows(reader, err));
    *out = TAKE(reader);
    return OK;
}

struct parquet_reader *partition_reader_file(struct partition_reader *reader)
{
    return reader->file;
}

const char *partition_reader_path(const struct partition_reader *reader)
{
    return reader->path;
}

uint64_t partition_reader_size_bytes(const struct partition_reader *reader)
{
    return reader->size_bytes;
}
