#include "services/admin/base64.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

enum err_code base64_encode(const void *data, size_t length, struct buf *out, struct error *err)
{
    const uint8_t *bytes = data;
    TRY(buf_reserve(out, (length / 3 + 1) * 4, err));
    uint8_t *to = out->data + out->length_bytes;
    for (size_t i = 0; i < length; i += 3) {
        size_t left = length - i;
        uint32_t group = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                         (left > 2 ? (uint32_t)bytes[i + 2] : 0);
        *to++ = (uint8_t)digits[group >> 18];
        *to++ = (uint8_t)digits[group >> 12 & 63];
        *to++ = left > 1 ? (uint8_t)digits[group >> 6 & 63] : '=';
        *to++ = left > 2 ? (uint8_t)digits[group & 63] : '=';
    }
    out->length_bytes = (size_t)(to - out->data);
    return OK;
}
