#include "services/intake/load/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/codec/codec.h"

enum { PIECE_BYTES = 128 << 10 };

struct spool {
    int file;
    uint64_t size_bytes;
    int64_t most_bytes;
    atomic_llong *total_bytes;
    struct codec_stream *stream; /* NULL: plain */
    uint8_t *piece;              /* decompressed */
};

static enum err_code open_file(const char *folder, int *out, struct error *err)
{
    *out = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (*out < 0) {
        return err_set(err, ERR_UNAVAILABLE, "could not make a file in \"%.256s\": %s; hint: GRANARY_WRITER_LOAD_SPOOL",
                       folder, strerror(errno));
    }
    return OK;
}

enum err_code spool_open(const struct spool_options *options, struct spool **out, struct error *err)
{
    AUTO(spool_close_auto) struct spool *spool = calloc(1, sizeof *spool);
    if (spool == NULL) {
        return err_no_memory(err, sizeof *spool);
    }
    spool->file = -1;
    spool->most_bytes = options->most_bytes;
    spool->total_bytes = options->total_bytes;
    if (options->compression != INGEST_PLAIN) {
        spool->piece = malloc(PIECE_BYTES);
        if (spool->piece == NULL) {
            return err_no_memory(err, PIECE_BYTES);
        }
        TRY(codec_stream_new(options->compression == INGEST_GZIP ? CODEC_GZIP : CODEC_ZSTD, &spool->stream, err));
    }
    TRY(open_file(options->folder, &spool->file, err));
    *out = TAKE(spool);
    return OK;
}

void spool_close(struct spool *spool)
{
    if (spool == NULL) {
        return;
    }
    if (spool->file >= 0) {
        (void)close(spool->file);
    }
    (void)atomic_fetch_sub(spool->total_bytes, (long long)spool->size_bytes);
    codec_stream_free(spool->stream);
    free(spool->piece);
    free(spool);
}

static enum err_code write_plain(struct spool *spool, const uint8_t *data, size_t length, struct error *err)
{
    spool->size_bytes += length;
    if (atomic_fetch_add(spool->total_bytes, (long long)length) + (long long)length > spool->most_bytes) {
        return err_set(
            err, ERR_UNAVAILABLE,
            "expected at most %lld bytes of Parquet on their way but found more; hint: smaller files, fewer at "
            "once, or GRANARY_WRITER_LOAD_SPOOL_MAX",
            (long long)spool->most_bytes);
    }
    while (length > 0) {
        ssize_t written = write(spool->file, data, length);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written < 0) {
            return err_set(err, ERR_UNAVAILABLE, "could not write to the spool: %s; hint: GRANARY_WRITER_LOAD_SPOOL",
                           strerror(errno));
        }
        data += written;
        length -= (size_t)written;
    }
    return OK;
}

enum err_code spool_write(struct spool *spool, const void *data, size_t length, struct error *err)
{
    if (spool->stream == NULL) {
        return write_plain(spool, data, length, err);
    }
    struct codec_input input = {.data = data, .length = length};
    size_t written;
    do {
        written = 0;
        TRY(codec_stream_feed(spool->stream, &input, spool->piece, PIECE_BYTES, &written, err));
        TRY(write_plain(spool, spool->piece, written, err));
    } while (input.length > 0 || written == PIECE_BYTES);
    return OK;
}

static enum err_code read_file(void *context, uint64_t offset, size_t length, void *out, struct error *err)
{
    const struct spool *spool = context;
    uint8_t *to = out;
    while (length > 0) {
        ssize_t got = pread(spool->file, to, length, (off_t)offset);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return err_set(err, ERR_UNAVAILABLE, "could not read the spool: %s",
                           got == 0 ? "it is shorter than it was" : strerror(errno));
        }
        to += got;
        offset += (uint64_t)got;
        length -= (size_t)got;
    }
    return OK;
}

enum err_code spool_finish(struct spool *spool, struct parquet_source *out, struct error *err)
{
    if (spool->stream != NULL) {
        TRY(codec_stream_finish(spool->stream, err));
    }
    *out = (struct parquet_source){.context = spool, .size_bytes = spool->size_bytes, .read = read_file};
    return OK;
}
