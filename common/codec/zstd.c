#include <zstd.h>

#include "common/codec/internal.h"

/* RFC 9659: a decoder of content from the network should not be made to keep more than 8 MiB. */
enum { STREAM_WINDOW_LOG_MAX = 23 };

enum err_code codec_zstd_compress(void **context, int level, struct codec_block in, struct buf *out, struct error *err)
{
    if (*context == NULL && (*context = ZSTD_createCCtx()) == NULL) {
        return err_no_memory(err, 0);
    }
    TRY(buf_reserve(out, ZSTD_compressBound(in.length), err));
    size_t written = ZSTD_compressCCtx(*context, out->data + out->length_bytes, out->capacity_bytes - out->length_bytes,
                                       in.data, in.length, level);
    if (ZSTD_isError(written)) {
        return err_set(err, ERR_NO_MEMORY, "could not compress %zu bytes with zstd: %s", in.length,
                       ZSTD_getErrorName(written));
    }
    out->length_bytes += written;
    return OK;
}

enum err_code codec_zstd_decompress(void **context, struct codec_block in, uint8_t *out, size_t out_length,
                                    struct error *err)
{
    if (*context == NULL && (*context = ZSTD_createDCtx()) == NULL) {
        return err_no_memory(err, 0);
    }
    size_t written = ZSTD_decompressDCtx(*context, out, out_length, in.data, in.length);
    if (ZSTD_isError(written)) {
        return err_set(err, ERR_CORRUPT, "could not decompress %zu bytes with zstd: %s", in.length,
                       ZSTD_getErrorName(written));
    }
    if (written != out_length) {
        return err_set(err, ERR_CORRUPT, "expected %zu bytes from zstd but found %zu", out_length, written);
    }
    return OK;
}

void codec_zstd_compress_free(void *context)
{
    ZSTD_freeCCtx(context);
}

void codec_zstd_decompress_free(void *context)
{
    ZSTD_freeDCtx(context);
}

static enum err_code open_stream(void **context, struct error *err)
{
    ZSTD_DCtx *stream = ZSTD_createDCtx();
    if (stream == NULL) {
        return err_no_memory(err, 0);
    }
    ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, STREAM_WINDOW_LOG_MAX);
    *context = stream;
    return OK;
}

enum err_code codec_zstd_stream_step(void **context, struct codec_input *input, uint8_t *out, size_t capacity,
                                     size_t *out_written, bool *out_at_end, struct error *err)
{
    if (*context == NULL) {
        TRY(open_stream(context, err));
    }
    ZSTD_inBuffer in = {input->data, input->length, 0};
    ZSTD_outBuffer to = {out, capacity, 0};
    size_t left = ZSTD_decompressStream(*context, &to, &in);
    if (ZSTD_isError(left)) {
        return err_set(err, ERR_INVALID, "could not decompress the zstd stream: %s", ZSTD_getErrorName(left));
    }
    input->data = (const uint8_t *)input->data + in.pos;
    input->length -= in.pos;
    *out_written = to.pos;
    *out_at_end = left == 0;
    return OK;
}
