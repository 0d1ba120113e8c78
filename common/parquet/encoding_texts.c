#include <string.h>

#include "common/parquet/encoding.h"

enum { REBUILT_MAX_BYTES = 256 << 20 };

enum err_code parquet_plain_encode_texts(const uint8_t *data, const uint32_t *offsets, size_t count, struct buf *out,
                                         struct error *err)
{
    TRY(buf_reserve(out, count * sizeof(uint32_t) + (offsets[count] - offsets[0]), err));
    uint8_t *at = out->data + out->length_bytes;
    for (size_t i = 0; i < count; i++) {
        uint32_t length = offsets[i + 1] - offsets[i];
        memcpy(at, &length, sizeof length);
        if (length > 0) {
            memcpy(at + sizeof length, data + offsets[i], length);
        }
        at += sizeof length + length;
    }
    out->length_bytes = (size_t)(at - out->data);
    return OK;
}

enum err_code parquet_plain_decode_texts(struct encoded in, struct spans *out, size_t count, struct error *err)
{
    const uint8_t *at = in.at;
    for (size_t i = 0; i < count; i++) {
        uint32_t length = 0;
        if (in.end - at >= (ptrdiff_t)sizeof length) {
            memcpy(&length, at, sizeof length);
        }
        if ((uint64_t)(in.end - at) < sizeof length + (uint64_t)length) {
            return err_set(err, ERR_CORRUPT, "expected text %zu of %zu to have %u bytes but %td are left", i + 1, count,
                           length, in.end - at);
        }
        out->starts[i] = (uint32_t)(at + sizeof length - in.at);
        out->lengths[i] = length;
        at += sizeof length + length;
    }
    out->data = in.at;
    return OK;
}

enum err_code parquet_delta_length_encode(const uint8_t *data, const uint32_t *offsets, size_t count, struct buf *out,
                                          struct error *err)
{
    AUTO(free_auto) int32_t *lengths = malloc((count + 1) * sizeof *lengths);
    if (lengths == NULL) {
        return err_no_memory(err, count * sizeof *lengths);
    }
    for (size_t i = 0; i < count; i++) {
        lengths[i] = (int32_t)(offsets[i + 1] - offsets[i]);
    }
    TRY(parquet_delta_encode_i32(lengths, count, out, err));
    return buf_append(out, data + offsets[0], offsets[count] - offsets[0], err);
}

/* Lengths one after the other; false when one is negative or their sum is above `most`. */
static bool lay_out(struct spans *spans, size_t count, uint64_t most)
{
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        spans->starts[i] = (uint32_t)total;
        total += spans->lengths[i];
        if (spans->lengths[i] > INT32_MAX || total > most) {
            return false;
        }
    }
    return true;
}

enum err_code parquet_delta_length_decode(struct encoded in, struct spans *out, size_t count, struct error *err)
{
    TRY(parquet_delta_decode_i32(&in, (int32_t *)out->lengths, count, err));
    if (!lay_out(out, count, (uint64_t)(in.end - in.at))) {
        return err_set(err, ERR_CORRUPT, "expected %zu texts but their lengths go beyond the %td bytes left", count,
                       in.end - in.at);
    }
    out->data = in.at;
    return OK;
}

/* prefixes[i] bytes of the text before, then the suffix. */
static enum err_code rebuild(const int32_t *prefixes, const struct spans *suffixes, struct spans *out, size_t count,
                             struct buf *storage, struct error *err)
{
    uint32_t last_start = 0, last_length = 0;
    buf_clear(storage);
    for (size_t i = 0; i < count; i++) {
        if (prefixes[i] < 0 || (uint32_t)prefixes[i] > last_length) {
            return err_set(err, ERR_CORRUPT, "expected a prefix of at most %u bytes but found %d", last_length,
                           prefixes[i]);
        }
        uint32_t prefix = (uint32_t)prefixes[i], suffix = suffixes->lengths[i];
        if ((uint64_t)storage->length_bytes + prefix + suffix > REBUILT_MAX_BYTES) {
            return err_set(err, ERR_INVALID, "expected at most %d bytes of texts in a page", REBUILT_MAX_BYTES);
        }
        uint32_t start = (uint32_t)storage->length_bytes;
        TRY(buf_reserve(storage, (size_t)prefix + suffix + 1, err));
        memcpy(storage->data + start, storage->data + last_start, prefix);
        memcpy(storage->data + start + prefix, suffixes->data + suffixes->starts[i], suffix);
        storage->length_bytes += prefix + suffix;
        last_start = start;
        last_length = prefix + suffix;
        out->starts[i] = last_start;
        out->lengths[i] = last_length; /* may be the array of the suffix lengths: this one has been read */
    }
    out->data = storage->data;
    return OK;
}

enum err_code parquet_delta_byte_array_decode(struct encoded in, struct spans *out, size_t count, struct buf *storage,
                                              struct error *err)
{
    AUTO(free_auto) int32_t *prefixes = malloc((count + 1) * sizeof *prefixes);
    if (prefixes == NULL) {
        return err_no_memory(err, count * sizeof *prefixes);
    }
    TRY(parquet_delta_decode_i32(&in, prefixes, count, err));
    TRY(parquet_delta_length_decode(in, out, count, err));
    struct spans suffixes = *out;
    return rebuild(prefixes, &suffixes, out, count, storage, err);
}
