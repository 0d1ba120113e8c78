#include <string.h>

#include "common/parquet/bits.h"
#include "common/parquet/encoding.h"

enum err_code parquet_plain_encode_bools(const uint8_t *values, size_t count, struct buf *out, struct error *err)
{
    size_t bytes = (count + 7) / 8;
    TRY(buf_reserve(out, bytes + 1, err)); /* never a null pointer */
    uint8_t *to = out->data + out->length_bytes;
    memset(to, 0, bytes);
    for (size_t i = 0; i < count; i++) {
        to[i >> 3] |= (uint8_t)(values[i] << (i & 7));
    }
    out->length_bytes += bytes;
    return OK;
}

static enum err_code check_bytes(struct encoded in, size_t needed, size_t count, struct error *err)
{
    if ((size_t)(in.end - in.at) < needed) {
        return err_set(err, ERR_CORRUPT, "expected %zu values in %zu bytes but found only %td bytes", count, needed,
                       in.end - in.at);
    }
    return OK;
}

enum err_code parquet_plain_decode_bools(struct encoded in, uint8_t *out, size_t count, struct error *err)
{
    TRY(check_bytes(in, (count + 7) / 8, count, err));
    for (size_t i = 0; i < count; i++) {
        out[i] = in.at[i >> 3] >> (i & 7) & 1;
    }
    return OK;
}

enum err_code parquet_plain_decode_fixed(struct encoded in, void *out, size_t count, size_t width, struct error *err)
{
    TRY(check_bytes(in, count * width, count, err));
    if (count > 0) {
        memcpy(out, in.at, count * width);
    }
    return OK;
}

enum err_code parquet_split_encode(const void *values, size_t count, size_t width, struct buf *out, struct error *err)
{
    TRY(buf_reserve(out, count * width + 1, err)); /* never a null pointer */
    const uint8_t *from = values;
    uint8_t *to = out->data + out->length_bytes;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < width; k++) {
            to[k * count + i] = from[i * width + k];
        }
    }
    out->length_bytes += count * width;
    return OK;
}

enum err_code parquet_split_decode(struct encoded in, void *out, size_t count, size_t width, struct error *err)
{
    TRY(check_bytes(in, count * width, count, err));
    uint8_t *to = out;
    for (size_t k = 0; k < width; k++) {
        const uint8_t *stream = in.at + k * count;
        for (size_t i = 0; i < count; i++) {
            to[i * width + k] = stream[i];
        }
    }
    return OK;
}
