#include "common/base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/checked.h"

enum { SMALLEST_CAPACITY_BYTES = 64 };

void buf_done(struct buf *buf)
{
    free(buf->data);
    *buf = (struct buf){0};
}

void buf_clear(struct buf *buf)
{
    buf->length_bytes = 0;
}

enum err_code buf_reserve(struct buf *buf, size_t more_bytes, struct error *err)
{
    if (buf->capacity_bytes - buf->length_bytes >= more_bytes) {
        return OK;
    }
    size_t needed;
    if (!checked_add_size(buf->length_bytes, more_bytes, &needed)) {
        return err_no_memory(err, more_bytes);
    }
    size_t capacity = buf->capacity_bytes < SMALLEST_CAPACITY_BYTES ? SMALLEST_CAPACITY_BYTES : buf->capacity_bytes;
    while (capacity < needed) {
        if (!checked_mul_size(capacity, 2, &capacity)) {
            capacity = needed;
        }
    }
    uint8_t *data = realloc(buf->data, capacity);
    if (data == NULL) {
        return err_no_memory(err, capacity);
    }
    buf->data = data;
    buf->capacity_bytes = capacity;
    return OK;
}

enum err_code buf_append(struct buf *buf, const void *data, size_t length_bytes, struct error *err)
{
    if (length_bytes == 0) {
        return OK;
    }
    TRY(buf_reserve(buf, length_bytes, err));
    memcpy(buf->data + buf->length_bytes, data, length_bytes);
    buf->length_bytes += length_bytes;
    return OK;
}

enum err_code buf_append_byte(struct buf *buf, uint8_t byte, struct error *err)
{
    TRY(buf_reserve(buf, 1, err));
    buf->data[buf->length_bytes++] = byte;
    return OK;
}

enum err_code buf_append_text(struct buf *buf, const char *text, struct error *err)
{
    return buf_append(buf, text, strlen(text), err);
}

enum err_code buf_printf(struct buf *buf, struct error *err, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0) {
        return err_set(err, ERR_INVALID, "could not format \"%s\"", format);
    }
    TRY(buf_reserve(buf, (size_t)length + 1, err));
    va_start(arguments, format);
    (void)vsnprintf((char *)buf->data + buf->length_bytes, (size_t)length + 1, format, arguments);
    va_end(arguments);
    buf->length_bytes += (size_t)length;
    return OK;
}

const char *buf_text(struct buf *buf)
{
    if (buf_reserve(buf, 1, NULL) != OK) {
        return NULL;
    }
    buf->data[buf->length_bytes] = '\0';
    return (const char *)buf->data;
}

enum err_code buf_append_base64(struct buf *buf, const void *data, size_t length_bytes, struct error *err)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *bytes = data;
    TRY(buf_reserve(buf, length_bytes / 3 * 4 + 4, err));
    char *text = (char *)buf->data + buf->length_bytes;
    for (size_t i = 0; i < length_bytes; i += 3) {
        size_t left = length_bytes - i;
        uint32_t word =
            (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) | (left > 2 ? bytes[i + 2] : 0);
        *text++ = alphabet[word >> 18];
        *text++ = alphabet[word >> 12 & 63];
        *text++ = left > 1 ? alphabet[word >> 6 & 63] : '=';
        *text++ = left > 2 ? alphabet[word & 63] : '=';
    }
    buf->length_bytes = (size_t)(text - (char *)buf->data);
    return OK;
}

enum err_code buf_set_text(struct buf *buf, const char *text, struct error *err)
{
    buf_clear(buf);
    return buf_append(buf, text, strlen(text) + 1, err);
}

const char *buf_held_text(const struct buf *buf)
{
    return buf->length_bytes == 0 ? "" : (const char *)buf->data;
}
