#include <lz4.h>
#include <string.h>

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

static bool get_be32(struct codec_block *in, uint32_t *out)
{
    if (in->length < sizeof *out) {
        return false;
    }
    memcpy(out, in->data, sizeof *out);
    *out = __builtin_bswap32(*out);
    in->data += sizeof *out;
    in->length -= sizeof *out;
    return true;
}

/* Frames: the length of what comes out of one, then parts until there is as much, each behind its own length. */
static bool unframe(struct codec_block in, uint8_t *out, size_t out_length)
{
    size_t done = 0;
    while (in.length > 0) {
        uint32_t whole, part;
        if (!get_be32(&in, &whole) || whole > out_length - done) {
            return false;
        }
        for (size_t end = done + whole; done < end;) {
            if (!get_be32(&in, &part) || part > in.length) {
                return false;
            }
            int written = LZ4_decompress_safe((const char *)in.data, (char *)out + done, (int)part, (int)(end - done));
            if (written <= 0) {
                return false;
            }
            done += (size_t)written;
            in.data += part;
            in.length -= part;
        }
    }
    return done == out_length;
}

enum err_code codec_lz4_hadoop_decompress(struct codec_block in, uint8_t *out, size_t out_length, struct error *err)
{
    return unframe(in, out, out_length) ? OK : codec_lz4_decompress(in, out, out_length, err);
}
