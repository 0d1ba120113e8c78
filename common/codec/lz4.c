#include <lz4.h>

#include "common/codec/internal.h"

enum err_code codec_lz4_compress(struct codec_block in, struct buf *out, struct error *err)
{
    int bound = LZ4_compressBound((int)in.length);
    if (bound <= 0) {
        return err_set(err, ERR_INVALID, "expected a block of at most %d bytes for lz4 but found %zu",
                       LZ4_MAX_INPUT_SIZE, in.length);
    }
    TRY(buf_reserve(out, (size_t)bound, err));
    int written =
        LZ4_compress_default((const char *)in.data, (char *)out->data + out->length_bytes, (int)in.length, bound);
    if (written <= 0) {
        return err_set(err, ERR_NO_MEMORY, "could not compress %zu bytes with lz4", in.length);
    }
    out->length_bytes += (size_t)written;
    return OK;
}

enum err_code codec_lz4_decompress(struct codec_block in, uint8_t *out, size_t out_length, struct error *err)
{
    char nowhere; /* an empty block still has a token to read */
    char *to = out_length > 0 ? (char *)out : &nowhere;
    int written = LZ4_decompress_safe((const char *)in.data, to, (int)in.length, (int)out_length);
    if (written < 0 || (size_t)written != out_length) {
        return err_set(err, ERR_CORRUPT, "expected %zu bytes from lz4 but found %d", out_length, written);
    }
    return OK;
}
