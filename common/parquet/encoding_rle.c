#include <string.h>

#include "common/parquet/bits.h"
#include "common/parquet/encoding.h"

enum {
    GROUP = 8,               /* packed runs come in groups of eight values */
    SHORTEST_RUN = 8,        /* a repeated value this often is a run of its own */
    MOST_PACKED = 63 * GROUP /* so that the head of a packed run is one byte */
};

static size_t run_length(const uint32_t *values, size_t count)
{
    size_t length = 1;
    while (length < count && values[length] == values[0]) {
        length++;
    }
    return length;
}

static uint8_t *put_run(uint8_t *at, uint32_t value, size_t length, int width)
{
    at += bits_varint_put(at, (uint64_t)length << 1);
    memcpy(at, &value, sizeof value);
    return at + (width + 7) / 8;
}

/* How many values to pack before the next long run; a multiple of GROUP, unless the values end. */
static size_t packed_length(const uint32_t *values, size_t count)
{
    size_t length = 0;
    while (length < count && length < MOST_PACKED) {
        if (run_length(values + length, count - length < SHORTEST_RUN ? count - length : SHORTEST_RUN) ==
            SHORTEST_RUN) {
            break;
        }
        length += GROUP;
    }
    return length < count ? length : count;
}

static uint8_t *put_packed(uint8_t *at, const uint32_t *values, size_t count, int width)
{
    size_t groups = (count + GROUP - 1) / GROUP;
    size_t bytes = groups * (size_t)width;
    *at++ = (uint8_t)(groups << 1 | 1);
    memset(at + bytes - (size_t)width, 0, (size_t)width); /* padding of the last group */
    bits_pack_u32(values, count, width, at);
    return at + bytes;
}

enum err_code parquet_rle_encode(const uint32_t *values, size_t count, int width, struct buf *out, struct error *err)
{
    /* Never more than all packed with a head per group, and a run is no longer than the group it stands for. */
    size_t bound = (count / GROUP + 2) * ((size_t)width + 6) + 16;
    TRY(buf_reserve(out, bound, err));
    uint8_t *at = out->data + out->length_bytes;
    for (size_t i = 0; i < count;) {
        size_t length = packed_length(values + i, count - i);
        if (length > 0) {
            at = put_packed(at, values + i, length, width);
        } else {
            length = run_length(values + i, count - i);
            at = put_run(at, values[i], length, width);
        }
        i += length;
    }
    out->length_bytes = (size_t)(at - out->data);
    return OK;
}

enum err_code parquet_rle_encode_bits(const uint8_t *bits, size_t first, size_t count, struct buf *out,
                                      struct error *err)
{
    uint8_t head[BITS_VARINT_MAX_BYTES];
    size_t groups = (count + 7) / 8, begin = first >> 3, shift = first & 7;
    size_t last = (first + count - 1) >> 3;
    TRY(buf_append(out, head, bits_varint_put(head, (uint64_t)groups << 1 | 1), err));
    TRY(buf_reserve(out, groups, err));
    uint8_t *to = out->data + out->length_bytes;
    for (size_t i = 0; i < groups; i++) {
        unsigned word = bits[begin + i] | (begin + i < last ? (unsigned)bits[begin + i + 1] << 8 : 0);
        to[i] = (uint8_t)(word >> shift);
    }
    if ((count & 7) != 0) {
        to[groups - 1] &= (uint8_t)((1U << (count & 7)) - 1); /* bits of the next page */
    }
    out->length_bytes += groups;
    return OK;
}

struct run {
    size_t count;
    bool packed;
    uint32_t value;      /* not packed */
    const uint8_t *data; /* packed */
    size_t data_bytes;
};

static enum err_code next_run(struct encoded *in, int width, size_t wanted, struct run *out, struct error *err)
{
    uint64_t head;
    if (!bits_varint_get(&in->at, in->end, &head)) {
        return err_set(err, ERR_CORRUPT, "expected %zu more values but the runs end", wanted);
    }
    size_t left = (size_t)(in->end - in->at), value_bytes = (size_t)(width + 7) / 8;
    *out = (struct run){.packed = head & 1};
    if (!out->packed) {
        if (left < value_bytes) {
            return err_set(err, ERR_CORRUPT, "expected the value of a run but the bytes end");
        }
        out->value = (uint32_t)bits_load(in->at, value_bytes, 0);
        if ((uint64_t)out->value >> width != 0) {
            return err_set(err, ERR_CORRUPT, "expected a run of a value of %d bits but found %u", width, out->value);
        }
        out->count = head >> 1 < wanted ? (size_t)(head >> 1) : wanted;
        in->at += value_bytes;
        return OK;
    }
    /* The last group of a page may be cut short, as long as the values that count are there. */
    out->count = head >> 1 < wanted / GROUP + 1 ? (size_t)(head >> 1) * GROUP : wanted;
    out->count = out->count < wanted ? out->count : wanted;
    if ((out->count * (size_t)width + 7) / 8 > left) {
        return err_set(err, ERR_CORRUPT, "expected %zu packed values but only %zu bytes are left", out->count, left);
    }
    size_t whole = head >> 1 <= left / (size_t)(width > 0 ? width : 1) ? (size_t)(head >> 1) * (size_t)width : left;
    out->data = in->at;
    out->data_bytes = left;
    in->at += width > 0 ? whole : 0;
    return OK;
}

static void unpack(const struct run *run, int width, uint32_t *out)
{
    size_t whole = bits_whole_words(run->data_bytes, run->count, width);
    uint64_t mask = (UINT64_C(1) << width) - 1;
    for (size_t i = 0; i < whole; i++) {
        out[i] = (uint32_t)bits_take(run->data, i, width, mask);
    }
    for (size_t i = whole; i < run->count; i++) {
        out[i] = (uint32_t)bits_get(run->data, run->data_bytes, i, width);
    }
}

enum err_code parquet_rle_decode(struct encoded in, int width, uint32_t *out, size_t count, struct error *err)
{
    for (size_t done = 0; done < count;) {
        struct run run;
        TRY(next_run(&in, width, count - done, &run, err));
        if (run.packed) {
            unpack(&run, width, out + done);
        } else {
            for (size_t i = 0; i < run.count; i++) {
                out[done + i] = run.value;
            }
        }
        done += run.count;
    }
    return OK;
}

enum err_code parquet_rle_decode_bits(struct encoded in, uint8_t *out, size_t count, size_t *out_ones,
                                      struct error *err)
{
    size_t ones = 0;
    for (size_t done = 0; done < count;) {
        struct run run;
        TRY(next_run(&in, 1, count - done, &run, err));
        if (run.packed) {
            for (size_t i = 0; i < run.count; i++) {
                out[done + i] = run.data[i >> 3] >> (i & 7) & 1;
                ones += out[done + i];
            }
        } else {
            memset(out + done, (int)run.value, run.count);
            ones += run.value * run.count;
        }
        done += run.count;
    }
    *out_ones = ones;
    return OK;
}

size_t parquet_bit_packed_decode_bits(const uint8_t *in, uint8_t *out, size_t count)
{
    size_t ones = 0;
    for (size_t i = 0; i < count; i++) {
        out[i] = in[i >> 3] >> (7 - (i & 7)) & 1;
        ones += out[i];
    }
    return ones;
}
