#include <string.h>

#include "common/codec/internal.h"

struct codec_stream {
    enum codec_kind kind;
    void *context; /* made on first use */
    bool at_end;   /* between two members or frames */
    bool begun;
};

enum err_code codec_stream_new(enum codec_kind kind, struct codec_stream **out, struct error *err)
{
    if (kind != CODEC_NONE && kind != CODEC_GZIP && kind != CODEC_ZSTD) {
        return err_set(err, ERR_INVALID, "expected a stream of none, gzip or zstd but found \"%s\"",
                       codec_kind_name(kind));
    }
    struct codec_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) {
        return err_no_memory(err, sizeof *stream);
    }
    stream->kind = kind;
    *out = stream;
    return OK;
}

void codec_stream_free(struct codec_stream *stream)
{
    if (stream == NULL) {
        return;
    }
    if (stream->kind == CODEC_GZIP) {
        codec_gzip_decompress_free(stream->context);
    } else {
        codec_zstd_decompress_free(stream->context);
    }
    free(stream);
}

static size_t copy_step(struct codec_input *input, uint8_t *out, size_t capacity)
{
    size_t bytes = input->length < capacity ? input->length : capacity;
    memcpy(out, input->data, bytes);
    input->data = (const uint8_t *)input->data + bytes;
    input->length -= bytes;
    return bytes;
}

static enum err_code step(struct codec_stream *stream, struct codec_input *input, uint8_t *out, size_t capacity,
                          size_t *out_written, struct error *err)
{
    if (stream->kind == CODEC_GZIP) {
        return codec_gzip_stream_step(&stream->context, input, out, capacity, out_written, &stream->at_end, err);
    }
    return codec_zstd_stream_step(&stream->context, input, out, capacity, out_written, &stream->at_end, err);
}

enum err_code codec_stream_feed(struct codec_stream *stream, struct codec_input *input, void *out, size_t capacity,
                                size_t *out_written, struct error *err)
{
    size_t total = 0;
    /* Between members nothing is pending: only new bytes may begin the next one. */
    while (total < capacity && (input->length > 0 || (stream->begun && !stream->at_end))) {
        size_t written = 0, before = input->length;
        uint8_t *to = (uint8_t *)out + total;
        if (stream->kind == CODEC_NONE) {
            if (before == 0) {
                break;
            }
            written = copy_step(input, to, capacity - total);
        } else {
            TRY(step(stream, input, to, capacity - total, &written, err));
        }
        stream->begun = true;
        total += written;
        if (written == 0 && input->length == before) {
            break; /* it waits for the next piece */
        }
    }
    *out_written = total;
    return OK;
}

enum err_code codec_stream_finish(const struct codec_stream *stream, struct error *err)
{
    if (stream->kind != CODEC_NONE && !stream->at_end) {
        return err_set(err, ERR_INVALID, "expected the end of the %s stream but the data are cut off",
                       codec_kind_name(stream->kind));
    }
    return OK;
}
