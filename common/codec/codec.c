#include "common/codec/codec.h"

#include <assert.h>
#include <string.h>

#include "common/codec/internal.h"

struct codec {
    int zstd_level;
    void *zstd_compress, *zstd_decompress; /* made on first use */
    void *gzip_compress, *gzip_decompress;
};

const char *codec_kind_name(enum codec_kind kind)
{
    static const char *const names[CODEC_KIND_COUNT] = {"none", "snappy", "gzip", "zstd", "lz4_raw", "lz4"};
    assert(kind < CODEC_KIND_COUNT);
    return names[kind];
}

enum err_code codec_new(int zstd_level, struct codec **out, struct error *err)
{
    if (zstd_level < 0 || zstd_level > 19) {
        return err_set(err, ERR_INVALID, "expected a zstd level between 1 and 19 but found %d", zstd_level);
    }
    struct codec *codec = calloc(1, sizeof *codec);
    if (codec == NULL) {
        return err_no_memory(err, sizeof *codec);
    }
    codec->zstd_level = zstd_level == 0 ? CODEC_ZSTD_LEVEL_DEFAULT : zstd_level;
    *out = codec;
    return OK;
}

void codec_free(struct codec *codec)
{
    if (codec == NULL) {
        return;
    }
    codec_zstd_compress_free(codec->zstd_compress);
    codec_zstd_decompress_free(codec->zstd_decompress);
    codec_gzip_compress_free(codec->gzip_compress);
    codec_gzip_decompress_free(codec->gzip_decompress);
    free(codec);
}

enum err_code codec_compress(struct codec *codec, enum codec_kind kind, const void *data, size_t length,
                             struct buf *out, struct error *err)
{
    struct codec_block in = {data, length};
    if (length > INT32_MAX) {
        return err_set(err, ERR_INVALID, "expected a block of at most %d bytes but found %zu", INT32_MAX, length);
    }
    switch (kind) {
    case CODEC_NONE: return buf_append(out, data, length, err);
    case CODEC_SNAPPY: return codec_snappy_compress(in, out, err);
    case CODEC_GZIP: return codec_gzip_compress(&codec->gzip_compress, in, out, err);
    case CODEC_ZSTD: return codec_zstd_compress(&codec->zstd_compress, codec->zstd_level, in, out, err);
    case CODEC_LZ4_RAW: return codec_lz4_compress(in, out, err);
    case CODEC_LZ4_HADOOP:
    case CODEC_KIND_COUNT: break;
    }
    return err_set(err, ERR_INVALID, "expected a codec to compress with but found %d", (int)kind);
}

uint64_t codec_most_bytes(enum codec_kind kind, size_t length)
{
    /* Snappy copies 64 bytes for 3, lz4 255 for each byte of a length, deflate 258 for 2 bits, zstd a block of 128 KiB for
     * its head of 3 and a byte. */
    static const uint64_t ratios[CODEC_KIND_COUNT] = {1, 22, 1032, 32768, 255, 255};
    assert(kind < CODEC_KIND_COUNT);
    return kind == CODEC_NONE ? length : ratios[kind] * length + 64;
}

static enum err_code copy_block(struct codec_block in, uint8_t *out, size_t out_length, struct error *err)
{
    if (in.length != out_length) {
        return err_set(err, ERR_CORRUPT, "expected a block of %zu bytes but found %zu", out_length, in.length);
    }
    if (out_length > 0) {
        memcpy(out, in.data, out_length);
    }
    return OK;
}

enum err_code codec_decompress(struct codec *codec, enum codec_kind kind, const void *data, size_t length, void *out,
                               size_t out_length, struct error *err)
{
    struct codec_block in = {data, length};
    if (length > INT32_MAX || out_length > INT32_MAX) {
        return err_set(err, ERR_CORRUPT, "expected a block of at most %d bytes but found %zu for %zu", INT32_MAX,
                       length, out_length);
    }
    switch (kind) {
    case CODEC_NONE: return copy_block(in, out, out_length, err);
    case CODEC_SNAPPY: return codec_snappy_decompress(in, out, out_length, err);
    case CODEC_GZIP: return codec_gzip_decompress(&codec->gzip_decompress, in, out, out_length, err);
    case CODEC_ZSTD: return codec_zstd_decompress(&codec->zstd_decompress, in, out, out_length, err);
    case CODEC_LZ4_RAW: return codec_lz4_decompress(in, out, out_length, err);
    case CODEC_LZ4_HADOOP: return codec_lz4_hadoop_decompress(in, out, out_length, err);
    case CODEC_KIND_COUNT: break;
    }
    return err_set(err, ERR_INVALID, "unknown codec %d", (int)kind);
}
