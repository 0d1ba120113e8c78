#include <assert.h>
#include <string.h>

#include "common/parquet/thrift.h"

static void put_bytes(struct thrift_out *out, const void *data, size_t length)
{
    if (out->code == OK) {
        out->code = buf_append(out->buf, data, length, out->err);
    }
}

static void put_byte(struct thrift_out *out, uint8_t byte)
{
    put_bytes(out, &byte, 1);
}

static void put_varint(struct thrift_out *out, uint64_t value)
{
    uint8_t bytes[10];
    size_t count = 0;
    for (; value >= 0x80; value >>= 7) {
        bytes[count++] = (uint8_t)(value | 0x80);
    }
    bytes[count++] = (uint8_t)value;
    put_bytes(out, bytes, count);
}

static void put_zigzag(struct thrift_out *out, int64_t value)
{
    put_varint(out, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

static void put_field(struct thrift_out *out, int16_t field, enum thrift_type type)
{
    int delta = field - out->last_field[out->depth];
    if (delta > 0 && delta <= 15) {
        put_byte(out, (uint8_t)(delta << 4 | type));
    } else {
        put_byte(out, (uint8_t)type);
        put_zigzag(out, field);
    }
    out->last_field[out->depth] = field;
}

static void begin_struct(struct thrift_out *out)
{
    assert(out->depth + 1 < THRIFT_MAX_DEPTH);
    out->last_field[++out->depth] = 0;
}

struct thrift_out parquet_thrift_out(struct buf *buf, struct error *err)
{
    return (struct thrift_out){.buf = buf, .err = err};
}

enum err_code parquet_thrift_out_end(struct thrift_out *out)
{
    assert(out->depth == 0);
    put_byte(out, THRIFT_STOP);
    return out->code;
}

void parquet_thrift_put_bool(struct thrift_out *out, int16_t field, bool value)
{
    put_field(out, field, value ? THRIFT_TRUE : THRIFT_FALSE);
}

void parquet_thrift_put_i8(struct thrift_out *out, int16_t field, int8_t value)
{
    put_field(out, field, THRIFT_I8);
    put_byte(out, (uint8_t)value);
}

void parquet_thrift_put_i16(struct thrift_out *out, int16_t field, int16_t value)
{
    put_field(out, field, THRIFT_I16);
    put_zigzag(out, value);
}

void parquet_thrift_put_i32(struct thrift_out *out, int16_t field, int32_t value)
{
    put_field(out, field, THRIFT_I32);
    put_zigzag(out, value);
}

void parquet_thrift_put_i64(struct thrift_out *out, int16_t field, int64_t value)
{
    put_field(out, field, THRIFT_I64);
    put_zigzag(out, value);
}

void parquet_thrift_put_binary(struct thrift_out *out, int16_t field, const void *data, size_t length)
{
    put_field(out, field, THRIFT_BINARY);
    parquet_thrift_element_binary(out, data, length);
}

void parquet_thrift_put_text(struct thrift_out *out, int16_t field, const char *text)
{
    parquet_thrift_put_binary(out, field, text, strlen(text));
}

void parquet_thrift_put_struct(struct thrift_out *out, int16_t field)
{
    put_field(out, field, THRIFT_STRUCT);
    begin_struct(out);
}

void parquet_thrift_put_list(struct thrift_out *out, int16_t field, enum thrift_type element, size_t count)
{
    put_field(out, field, THRIFT_LIST);
    if (count < 15) {
        put_byte(out, (uint8_t)(count << 4 | element));
    } else {
        put_byte(out, (uint8_t)(0xf0 | element));
        put_varint(out, count);
    }
}

void parquet_thrift_end_struct(struct thrift_out *out)
{
    assert(out->depth > 0);
    put_byte(out, THRIFT_STOP);
    out->depth--;
}

void parquet_thrift_element_bool(struct thrift_out *out, bool value)
{
    put_byte(out, value ? THRIFT_TRUE : THRIFT_FALSE);
}

void parquet_thrift_element_int(struct thrift_out *out, int64_t value)
{
    put_zigzag(out, value);
}

void parquet_thrift_element_binary(struct thrift_out *out, const void *data, size_t length)
{
    put_varint(out, length);
    put_bytes(out, data, length);
}

void parquet_thrift_element_struct(struct thrift_out *out)
{
    begin_struct(out);
}
