#include <snappy-c.h>

#include "common/codec/internal.h"

enum err_code codec_snappy_compress(struct codec_block in, struct buf *out, struct error *err)
{
    size_t length = snappy_max_compressed_length(in.length);
    TRY(buf_reserve(out, length, err));
    if (snappy_compress((const char *)in.data, in.length, (char *)out->data + out->length_bytes, &length) !=
        SNAPPY_OK) {
        return err_set(err, ERR_NO_MEMORY, "could not compress %zu bytes with snappy", in.length);
    }
    out->length_bytes += length;
    return OK;
}

enum err_code codec_snappy_decompress(struct codec_block in, uint8_t *out, size_t out_length, struct error *err)
{
    size_t length = 0;
    if (snappy_uncompressed_length((const char *)in.data, in.length, &length) != SNAPPY_OK || length != out_length) {
        return err_set(err, ERR_CORRUPT, "expected %zu bytes from snappy but the block says %zu", out_length, length);
    }
    if (snappy_uncompress((const char *)in.data, in.length, (char *)out, &length) != SNAPPY_OK) {
        return err_set(err, ERR_CORRUPT, "could not decompress %zu bytes with snappy", in.length);
    }
    return OK;
}
