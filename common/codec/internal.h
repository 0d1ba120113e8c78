/* What each library's file offers to codec.c and stream.c. Contexts are opaque and made on first use. */
#ifndef GRANARY_CODEC_INTERNAL_H
#define GRANARY_CODEC_INTERNAL_H

#include <stdbool.h>

#include "common/codec/codec.h"

struct codec_block {
    const uint8_t *data;
    size_t length;
};

MUST_CHECK enum err_code codec_zstd_compress(void **context, int level, struct codec_block in, struct buf *out,
                                             struct error *err);
MUST_CHECK enum err_code codec_zstd_decompress(void **context, struct codec_block in, uint8_t *out, size_t out_length,
                                               struct error *err);
void codec_zstd_compress_free(void *context);
void codec_zstd_decompress_free(void *context);

MUST_CHECK enum err_code codec_gzip_compress(void **context, struct codec_block in, struct buf *out, struct error *err);
MUST_CHECK enum err_code codec_gzip_decompress(void **context, struct codec_block in, uint8_t *out, size_t out_length,
                                               struct error *err);
void codec_gzip_compress_free(void *context);
void codec_gzip_decompress_free(void *context);

MUST_CHECK enum err_code codec_snappy_compress(struct codec_block in, struct buf *out, struct error *err);
MUST_CHECK enum err_code codec_snappy_decompress(struct codec_block in, uint8_t *out, size_t out_length,
                                                 struct error *err);

MUST_CHECK enum err_code codec_lz4_compress(struct codec_block in, struct buf *out, struct error *err);
MUST_CHECK enum err_code codec_lz4_decompress(struct codec_block in, uint8_t *out, size_t out_length,
                                              struct error *err);
MUST_CHECK enum err_code codec_lz4_hadoop_decompress(struct codec_block in, uint8_t *out, size_t out_length,
                                                     struct error *err);

/* One step of a stream: moves `input` on, sets *out_written, and *out_at_end when a member or frame has just ended. */
MUST_CHECK enum err_code codec_zstd_stream_step(void **context, struct codec_input *input, uint8_t *out,
                                                size_t capacity, size_t *out_written, bool *out_at_end,
                                                struct error *err);
MUST_CHECK enum err_code codec_gzip_stream_step(void **context, struct codec_input *input, uint8_t *out,
                                                size_t capacity, size_t *out_written, bool *out_at_end,
                                                struct error *err);

#endif
