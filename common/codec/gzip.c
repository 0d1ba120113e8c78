#define ZLIB_CONST /* next_in points to const bytes */
#include <stdlib.h>
#include <zlib.h>

#include "common/codec/internal.h"

enum {
    GZIP_LEVEL = 6,
    GZIP_WINDOW_BITS = 15 + 16,        /* zlib: 16 asks for a gzip header */
    GZIP_OR_ZLIB_WINDOW_BITS = 15 + 32 /* zlib: 32 detects either */
};

static const char *zlib_text(const z_stream *stream, int code)
{
    return stream->msg != NULL ? stream->msg : zError(code);
}

enum err_code codec_gzip_compress(void **context, struct codec_block in, struct buf *out, struct error *err)
{
    if (*context == NULL) {
        AUTO(free_auto) z_stream *stream = calloc(1, sizeof *stream);
        if (stream == NULL ||
            deflateInit2(stream, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW_BITS, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
            return err_no_memory(err, sizeof *stream);
        }
        *context = TAKE(stream);
    }
    z_stream *stream = *context;
    deflateReset(stream);
    size_t bound = deflateBound(stream, in.length);
    TRY(buf_reserve(out, bound, err));
    stream->next_in = in.data;
    stream->avail_in = (uInt)in.length;
    stream->next_out = out->data + out->length_bytes;
    stream->avail_out = (uInt)bound;
    int code = deflate(stream, Z_FINISH);
    if (code != Z_STREAM_END) {
        return err_set(err, ERR_NO_MEMORY, "could not compress %zu bytes with gzip: %s", in.length,
                       zlib_text(stream, code));
    }
    out->length_bytes += stream->total_out;
    return OK;
}

static enum err_code open_inflate(void **context, struct error *err)
{
    AUTO(free_auto) z_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL || inflateInit2(stream, GZIP_OR_ZLIB_WINDOW_BITS) != Z_OK) {
        return err_no_memory(err, sizeof *stream);
    }
    *context = TAKE(stream);
    return OK;
}

enum err_code codec_gzip_decompress(void **context, struct codec_block in, uint8_t *out, size_t out_length,
                                    struct error *err)
{
    if (*context == NULL) {
        TRY(open_inflate(context, err));
    }
    uint8_t nowhere; /* zlib refuses a null pointer even for no bytes */
    z_stream *stream = *context;
    stream->next_in = in.data;
    stream->avail_in = (uInt)in.length;
    stream->next_out = out_length > 0 ? out : &nowhere;
    stream->avail_out = (uInt)out_length;
    do { /* once for each member */
        inflateReset(stream);
        int code = inflate(stream, Z_FINISH);
        if (code != Z_STREAM_END) {
            return err_set(err, ERR_CORRUPT, "could not decompress %zu bytes with gzip: %s", in.length,
                           zlib_text(stream, code));
        }
    } while (stream->avail_in > 0);
    if (stream->avail_out > 0) {
        return err_set(err, ERR_CORRUPT, "expected %zu bytes from gzip but found %zu", out_length,
                       out_length - stream->avail_out);
    }
    return OK;
}

void codec_gzip_compress_free(void *context)
{
    if (context != NULL) {
        deflateEnd(context);
        free(context);
    }
}

void codec_gzip_decompress_free(void *context)
{
    if (context != NULL) {
        inflateEnd(context);
        free(context);
    }
}

enum err_code codec_gzip_stream_step(void **context, struct codec_input *input, uint8_t *out, size_t capacity,
                                     size_t *out_written, bool *out_at_end, struct error *err)
{
    if (*context == NULL) {
        TRY(open_inflate(context, err));
    }
    z_stream *stream = *context;
    uInt take = input->length > UINT32_MAX ? UINT32_MAX : (uInt)input->length;
    uInt room = capacity > UINT32_MAX ? UINT32_MAX : (uInt)capacity;
    stream->next_in = input->data;
    stream->avail_in = take;
    stream->next_out = out;
    stream->avail_out = room;
    int code = inflate(stream, Z_NO_FLUSH);
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
        return err_set(err, ERR_INVALID, "could not decompress the gzip stream: %s", zlib_text(stream, code));
    }
    input->data = (const uint8_t *)input->data + (take - stream->avail_in);
    input->length -= take - stream->avail_in;
    *out_written = room - stream->avail_out;
    *out_at_end = code == Z_STREAM_END;
    if (code == Z_STREAM_END) {
        inflateReset(stream); /* another member may follow */
    }
    return OK;
}
