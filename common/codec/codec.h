/* Block and stream compression behind one interface: the only home of zstd, zlib, snappy and lz4. */
#ifndef GRANARY_CODEC_CODEC_H
#define GRANARY_CODEC_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/error.h"

enum codec_kind {
    CODEC_NONE,
    CODEC_SNAPPY,
    CODEC_GZIP, /* one or more members, RFC 1952; zlib streams (RFC 1950) are read too */
    CODEC_ZSTD,
    CODEC_LZ4_RAW,    /* LZ4 block format, no frame */
    CODEC_LZ4_HADOOP, /* the same in Hadoop's frames, or without: writers disagreed. Decompressed only */
    CODEC_KIND_COUNT
};

const char *codec_kind_name(enum codec_kind kind); /* "none", "snappy", "gzip", "zstd", "lz4_raw", "lz4" */

/* --- blocks: sizes are known ------------------------------------------------------------------------------------ */

/* Contexts that are made once and used for many blocks. One thread at a time. */
struct codec;

enum { CODEC_ZSTD_LEVEL_DEFAULT = 3 };

/* zstd_level 1..19, or 0 for the default; the other codecs have one level. */
MUST_CHECK enum err_code codec_new(int zstd_level, struct codec **out, struct error *err);
void codec_free(struct codec *codec);
DEFINE_AUTO(struct codec, codec_free)

/* Appends the compressed block to `out` (its length is untouched on failure). Equal input gives equal output. At most
 * INT32_MAX bytes, and not CODEC_LZ4_HADOOP, else ERR_INVALID. */
MUST_CHECK enum err_code codec_compress(struct codec *codec, enum codec_kind kind, const void *data, size_t length,
                                        struct buf *out, struct error *err);

/* No block of `length` bytes decompresses to more: whoever claims it does wants our memory. */
uint64_t codec_most_bytes(enum codec_kind kind, size_t length);

/* Decompresses a block that must give exactly `out_length` bytes; anything else is ERR_CORRUPT (the bytes of `out` are
 * then undefined). */
MUST_CHECK enum err_code codec_decompress(struct codec *codec, enum codec_kind kind, const void *data, size_t length,
                                          void *out, size_t out_length, struct error *err);

/* --- streams: pieces of a body, decompressed as they come ------------------------------------------------------- */

struct codec_stream;

struct codec_input {
    const void *data;
    size_t length; /* both move on as bytes are used */
};

/* CODEC_NONE, CODEC_GZIP (several members) or CODEC_ZSTD (several frames, windows up to 8 MiB as RFC 9659 asks);
 * others are ERR_INVALID. */
MUST_CHECK enum err_code codec_stream_new(enum codec_kind kind, struct codec_stream **out, struct error *err);
void codec_stream_free(struct codec_stream *stream);
DEFINE_AUTO(struct codec_stream, codec_stream_free)

/* Decompresses into out[0..capacity). Call again while input->length > 0 or *out_written == capacity; otherwise it needs
 * the next piece. Bad data are ERR_INVALID, and the stream is then dead. */
MUST_CHECK enum err_code codec_stream_feed(struct codec_stream *stream, struct codec_input *input, void *out,
                                           size_t capacity, size_t *out_written, struct error *err);

/* The body is over: ERR_INVALID when it was cut off inside a member or frame, or never began one. */
MUST_CHECK enum err_code codec_stream_finish(const struct codec_stream *stream, struct error *err);

#endif
