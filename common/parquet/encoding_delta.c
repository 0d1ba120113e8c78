/* DELTA_BINARY_PACKED for 32 and 64 bits. Differences wrap around in the width of the type, as the format asks. */
#include <string.h>

#include "common/parquet/bits.h"
#include "common/parquet/encoding.h"

enum {
    BLOCK = 128,
    MINIBLOCKS = 4,
    MINIBLOCK = BLOCK / MINIBLOCKS,
    BLOCK_MAX_BYTES = BITS_VARINT_MAX_BYTES + MINIBLOCKS + BLOCK * 8 + 8,
    HEADER_MAX_BYTES = 4 * BITS_VARINT_MAX_BYTES,
    FOREIGN_BLOCK_MAX = 1 << 20, /* of other writers */
    FOREIGN_MINIBLOCKS_MAX = 1 << 10
};

static size_t put_header(uint8_t *at, size_t count, int64_t first)
{
    uint8_t *begin = at;
    at += bits_varint_put(at, BLOCK);
    at += bits_varint_put(at, MINIBLOCKS);
    at += bits_varint_put(at, count);
    at += bits_varint_put(at, bits_zigzag(first));
    return (size_t)(at - begin);
}

/* One block of deltas (already less the smallest one, filled up with zeros). */
static size_t put_block(uint8_t *at, int64_t smallest, const uint64_t deltas[BLOCK], size_t count)
{
    uint8_t *begin = at;
    at += bits_varint_put(at, bits_zigzag(smallest));
    uint8_t *widths = at;
    at += MINIBLOCKS;
    for (size_t m = 0; m < MINIBLOCKS; m++) {
        const uint64_t *values = deltas + m * MINIBLOCK;
        uint64_t bits = 0;
        for (size_t i = 0; i < MINIBLOCK; i++) {
            bits |= values[i];
        }
        widths[m] = (uint8_t)bits_width(bits);
        if (m * MINIBLOCK < count) { /* miniblocks without values have a width but no bytes */
            at += bits_pack_u64(values, MINIBLOCK, widths[m], at);
        }
    }
    return (size_t)(at - begin);
}

#define DEFINE_DELTA_ENCODE_(name, type, unsigned_type)                                                         \
    enum err_code name(const type *values, size_t count, struct buf *out, struct error *err)                    \
    {                                                                                                           \
        size_t blocks = count / BLOCK + 1;                                                                      \
        TRY(buf_reserve(out, HEADER_MAX_BYTES + blocks * BLOCK_MAX_BYTES, err));                                \
        uint8_t *at = out->data + out->length_bytes;                                                            \
        at += put_header(at, count, count > 0 ? values[0] : 0);                                                 \
        for (size_t done = 1; done < count; done += BLOCK) {                                                    \
            uint64_t deltas[BLOCK];                                                                             \
            type differences[BLOCK];                                                                            \
            size_t length = count - done < BLOCK ? count - done : BLOCK;                                        \
            type smallest = (type)((unsigned_type)values[done] - (unsigned_type)values[done - 1]);              \
            for (size_t i = 0; i < length; i++) {                                                               \
                differences[i] = (type)((unsigned_type)values[done + i] - (unsigned_type)values[done + i - 1]); \
                smallest = differences[i] < smallest ? differences[i] : smallest;                               \
            }                                                                                                   \
            for (size_t i = 0; i < length; i++) {                                                               \
                deltas[i] = (unsigned_type)differences[i] - (unsigned_type)smallest;                            \
            }                                                                                                   \
            memset(deltas + length, 0, (BLOCK - length) * sizeof *deltas);                                      \
            at += put_block(at, smallest, deltas, length);                                                      \
        }                                                                                                       \
        out->length_bytes = (size_t)(at - out->data);                                                           \
        return OK;                                                                                              \
    }
DEFINE_DELTA_ENCODE_(parquet_delta_encode_i32, int32_t, uint32_t)
DEFINE_DELTA_ENCODE_(parquet_delta_encode_i64, int64_t, uint64_t)
#undef DEFINE_DELTA_ENCODE_

struct header {
    size_t miniblocks;
    size_t per_miniblock;
    int64_t first;
};

static enum err_code get_header(struct encoded *in, size_t count, struct header *out, struct error *err)
{
    uint64_t block, miniblocks, total, first;
    if (!bits_varint_get(&in->at, in->end, &block) || !bits_varint_get(&in->at, in->end, &miniblocks) ||
        !bits_varint_get(&in->at, in->end, &total) || !bits_varint_get(&in->at, in->end, &first)) {
        return err_set(err, ERR_CORRUPT, "expected the head of delta values but the bytes end");
    }
    if (block == 0 || block > FOREIGN_BLOCK_MAX || block % 128 != 0 || miniblocks == 0 ||
        miniblocks > FOREIGN_MINIBLOCKS_MAX || block % miniblocks != 0 || block / miniblocks % 32 != 0) {
        return err_set(err, ERR_CORRUPT, "expected delta blocks of n x 128 values but found %llu in %llu miniblocks",
                       (unsigned long long)block, (unsigned long long)miniblocks);
    }
    if (total != count) {
        return err_set(err, ERR_CORRUPT, "expected %zu delta values but found %llu", count, (unsigned long long)total);
    }
    *out = (struct header){(size_t)miniblocks, (size_t)(block / miniblocks), bits_unzigzag(first)};
    return OK;
}

/* Checks that the values of a miniblock are there, and gives its bytes. The last one may lack its padding. */
static enum err_code get_miniblock(struct encoded *in, int width, size_t values, size_t per_miniblock,
                                   struct encoded *out, struct error *err)
{
    size_t left = (size_t)(in->end - in->at), whole = per_miniblock * (size_t)width / 8;
    if (width > 64) { /* some writers count in 64 bits for int32 too: what is above wraps around */
        return err_set(err, ERR_CORRUPT, "expected deltas of at most 64 bits but found %d", width);
    }
    if ((values * (size_t)width + 7) / 8 > left) {
        return err_set(err, ERR_CORRUPT, "expected %zu deltas of %d bits but only %zu bytes are left", values, width,
                       left);
    }
    out->at = in->at;
    in->at += whole < left ? whole : left;
    out->end = in->end; /* not in->at: whole words are loaded where there are more bytes */
    return OK;
}

static enum err_code get_block_head(struct encoded *in, size_t miniblocks, int64_t *out_smallest,
                                    const uint8_t **out_widths, struct error *err)
{
    uint64_t smallest;
    if (!bits_varint_get(&in->at, in->end, &smallest) || (size_t)(in->end - in->at) < miniblocks) {
        return err_set(err, ERR_CORRUPT, "expected the head of a delta block but the bytes end");
    }
    *out_smallest = bits_unzigzag(smallest);
    *out_widths = in->at;
    in->at += miniblocks;
    return OK;
}

enum { TAKEN_WIDTH_MAX = 57 };

#define DEFINE_DELTA_DECODE_(name, type, unsigned_type)                                                         \
    static void name##_miniblock(struct encoded packed, int width, unsigned_type smallest, unsigned_type *last, \
                                 type *out, size_t count)                                                       \
    {                                                                                                           \
        size_t bytes = (size_t)(packed.end - packed.at), i = 0;                                                 \
        size_t whole = width <= TAKEN_WIDTH_MAX ? bits_whole_words(bytes, count, width) : 0;                    \
        uint64_t mask = width < 64 ? (UINT64_C(1) << width) - 1 : ~UINT64_C(0);                                 \
        unsigned_type value = *last;                                                                            \
        for (; i < whole; i++) {                                                                                \
            value += smallest + (unsigned_type)bits_take(packed.at, i, width, mask);                            \
            out[i] = (type)value;                                                                               \
        }                                                                                                       \
        for (; i < count; i++) {                                                                                \
            value += smallest + (unsigned_type)bits_get(packed.at, bytes, i, width);                            \
            out[i] = (type)value;                                                                               \
        }                                                                                                       \
        *last = value;                                                                                          \
    }                                                                                                           \
    enum err_code name(struct encoded *in, type *out, size_t count, struct error *err)                          \
    {                                                                                                           \
        struct header header;                                                                                   \
        TRY(get_header(in, count, &header, err));                                                               \
        unsigned_type last = (unsigned_type)header.first;                                                       \
        if (count > 0) {                                                                                        \
            out[0] = (type)last;                                                                                \
        }                                                                                                       \
        for (size_t done = 1; done < count;) {                                                                  \
            int64_t smallest;                                                                                   \
            const uint8_t *widths;                                                                              \
            TRY(get_block_head(in, header.miniblocks, &smallest, &widths, err));                                \
            for (size_t m = 0; m < header.miniblocks && done < count; m++) {                                    \
                size_t length = count - done < header.per_miniblock ? count - done : header.per_miniblock;      \
                struct encoded packed;                                                                          \
                TRY(get_miniblock(in, widths[m], length, header.per_miniblock, &packed, err));                  \
                name##_miniblock(packed, widths[m], (unsigned_type)smallest, &last, out + done, length);        \
                done += length;                                                                                 \
            }                                                                                                   \
        }                                                                                                       \
        return OK;                                                                                              \
    }
DEFINE_DELTA_DECODE_(parquet_delta_decode_i32, int32_t, uint32_t)
DEFINE_DELTA_DECODE_(parquet_delta_decode_i64, int64_t, uint64_t)
#undef DEFINE_DELTA_DECODE_
