#include "common/parquet/thrift.h"

/* An element may take two bytes here and hundreds in memory. */
enum { DECODED_MAX_BYTES = 512 << 20 };

struct thrift_in parquet_thrift_in(const void *data, size_t length, struct error *err)
{
    return (struct thrift_in){.at = data, .end = (const uint8_t *)data + length, .err = err};
}

enum err_code parquet_thrift_fail(struct thrift_in *in, const char *what)
{
    if (in->code == OK) {
        in->code = err_set(in->err, ERR_CORRUPT, "could not read thrift: %s", what);
        in->at = in->end;
    }
    return in->code;
}

static uint8_t get_byte(struct thrift_in *in)
{
    if (in->at >= in->end) {
        in->cut_off = in->cut_off || in->code == OK;
        parquet_thrift_fail(in, "the bytes end early");
        return 0;
    }
    return *in->at++;
}

static uint64_t get_varint(struct thrift_in *in)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
        uint8_t byte = get_byte(in);
        if (shift == 63 && byte > 1) {
            break;
        }
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return value;
        }
    }
    parquet_thrift_fail(in, "expected a number of at most 64 bits");
    return 0;
}

static int64_t get_zigzag(struct thrift_in *in)
{
    uint64_t value = get_varint(in);
    return (int64_t)(value >> 1 ^ -(value & 1));
}

static void skip_bytes(struct thrift_in *in, uint64_t count)
{
    if (count > (uint64_t)(in->end - in->at)) {
        in->cut_off = in->cut_off || in->code == OK;
        parquet_thrift_fail(in, "a length runs past the end");
    } else {
        in->at += count;
    }
}

bool parquet_thrift_next(struct thrift_in *in, struct thrift_field *out)
{
    uint8_t head = get_byte(in);
    if (in->code != OK) {
        return false;
    }
    enum thrift_type type = head & 0x0f;
    if (type == THRIFT_STOP) {
        in->depth -= in->depth > 0;
        return false;
    }
    int64_t id = head >> 4 != 0 ? in->last_field[in->depth] + (head >> 4) : get_zigzag(in);
    if (type > THRIFT_STRUCT || id < INT16_MIN || id > INT16_MAX) {
        parquet_thrift_fail(in, "unknown type or field id out of range");
        return false;
    }
    in->last_field[in->depth] = (int16_t)id;
    *out = (struct thrift_field){(int16_t)id, type};
    return in->code == OK;
}

static bool has_type(struct thrift_in *in, struct thrift_field field, enum thrift_type type)
{
    if (field.type != type) {
        parquet_thrift_fail(in, "a field has another type than its id says");
    }
    return in->code == OK;
}

void parquet_thrift_enter(struct thrift_in *in, struct thrift_field field)
{
    if (!has_type(in, field, THRIFT_STRUCT)) {
        return;
    }
    if (in->depth + 1 >= THRIFT_MAX_DEPTH) {
        parquet_thrift_fail(in, "structs are nested too deeply");
        return;
    }
    in->last_field[++in->depth] = 0;
}

static void skip_value(struct thrift_in *in, struct thrift_field field, bool element);

static void skip_map(struct thrift_in *in)
{
    uint64_t count = get_varint(in);
    if (count == 0) {
        return;
    }
    uint8_t types = get_byte(in);
    for (uint64_t i = 0; i < count && in->code == OK; i++) {
        skip_value(in, (struct thrift_field){0, types >> 4}, true);
        skip_value(in, (struct thrift_field){0, types & 0x0f}, true);
    }
}

static void skip_struct(struct thrift_in *in)
{
    struct thrift_field field;
    parquet_thrift_enter(in, (struct thrift_field){0, THRIFT_STRUCT});
    while (parquet_thrift_next(in, &field)) {
        skip_value(in, field, false);
    }
}

static void skip_list(struct thrift_in *in, struct thrift_field field)
{
    struct thrift_field element;
    if (in->depth + 1 >= THRIFT_MAX_DEPTH) {
        parquet_thrift_fail(in, "lists are nested too deeply");
        return;
    }
    in->depth++; /* lists count as depth here, so that a hostile list of lists ends */
    uint32_t count = parquet_thrift_get_list(in, field, &element);
    for (uint32_t i = 0; i < count && in->code == OK; i++) {
        skip_value(in, element, true);
    }
    in->depth--;
}

static void skip_value(struct thrift_in *in, struct thrift_field field, bool element)
{
    switch (field.type) {
    case THRIFT_TRUE:
    case THRIFT_FALSE:
        skip_bytes(in, element); /* as a field its value is in its type */
        return;
    case THRIFT_I8: skip_bytes(in, 1); return;
    case THRIFT_I16:
    case THRIFT_I32:
    case THRIFT_I64: (void)get_varint(in); return;
    case THRIFT_DOUBLE: skip_bytes(in, 8); return;
    case THRIFT_BINARY: skip_bytes(in, get_varint(in)); return;
    case THRIFT_LIST:
    case THRIFT_SET: skip_list(in, (struct thrift_field){field.id, THRIFT_LIST}); return;
    case THRIFT_MAP:
        in->depth++;
        if (in->depth >= THRIFT_MAX_DEPTH) {
            parquet_thrift_fail(in, "maps are nested too deeply");
        } else {
            skip_map(in);
        }
        in->depth--;
        return;
    case THRIFT_STRUCT: skip_struct(in); return;
    case THRIFT_STOP: break;
    }
    parquet_thrift_fail(in, "unknown type");
}

void parquet_thrift_skip(struct thrift_in *in, struct thrift_field field)
{
    skip_value(in, field, false);
}

bool parquet_thrift_get_bool(struct thrift_in *in, struct thrift_field field)
{
    if (field.type == THRIFT_TRUE || field.type == THRIFT_FALSE) {
        return field.type == THRIFT_TRUE;
    }
    parquet_thrift_fail(in, "expected a bool");
    return false;
}

/* Writers say 1 and 2, or 1 and 0: the two versions of the protocol's page. */
bool parquet_thrift_get_bool_element(struct thrift_in *in, struct thrift_field element)
{
    if (element.type != THRIFT_TRUE && element.type != THRIFT_FALSE) {
        parquet_thrift_fail(in, "expected bools");
        return false;
    }
    return get_byte(in) == THRIFT_TRUE;
}

int32_t parquet_thrift_get_i32(struct thrift_in *in, struct thrift_field field)
{
    if (field.type == THRIFT_I8) {
        return (int8_t)get_byte(in);
    }
    if (field.type != THRIFT_I16 && !has_type(in, field, THRIFT_I32)) {
        return 0;
    }
    int64_t value = get_zigzag(in);
    if (value < INT32_MIN || value > INT32_MAX) {
        parquet_thrift_fail(in, "expected a number of at most 32 bits");
        return 0;
    }
    return (int32_t)value;
}

int64_t parquet_thrift_get_i64(struct thrift_in *in, struct thrift_field field)
{
    return has_type(in, field, THRIFT_I64) ? get_zigzag(in) : 0;
}

const uint8_t *parquet_thrift_get_binary(struct thrift_in *in, struct thrift_field field, uint32_t *out_length)
{
    *out_length = 0;
    if (!has_type(in, field, THRIFT_BINARY)) {
        return in->end;
    }
    uint64_t length = get_varint(in);
    const uint8_t *data = in->at;
    skip_bytes(in, length);
    if (in->code != OK || length > INT32_MAX) {
        parquet_thrift_fail(in, "a text is too long");
        return in->end;
    }
    *out_length = (uint32_t)length;
    return data;
}

uint32_t parquet_thrift_get_list(struct thrift_in *in, struct thrift_field field, struct thrift_field *out_element)
{
    *out_element = (struct thrift_field){0, THRIFT_STOP};
    if (!has_type(in, field, THRIFT_LIST)) {
        return 0;
    }
    uint8_t head = get_byte(in);
    uint64_t count = head >> 4 == 15 ? get_varint(in) : head >> 4;
    if (in->code == OK && count > (uint64_t)(in->end - in->at)) { /* each element takes a byte at least */
        in->cut_off = true;
        parquet_thrift_fail(in, "a list runs past the end");
    }
    out_element->type = head & 0x0f;
    return in->code == OK ? (uint32_t)count : 0;
}

/* Elements take a byte at least, so that no list allocates more than a multiple of the input. */
void *parquet_thrift_get_list_into(struct thrift_in *in, struct thrift_field field, struct arena *arena,
                                   size_t element_bytes, uint32_t most, size_t *out_count,
                                   struct thrift_field *out_element)
{
    uint32_t count = parquet_thrift_get_list(in, field, out_element);
    *out_count = 0;
    if (count > most || arena_bytes(arena) + count * element_bytes > DECODED_MAX_BYTES) {
        parquet_thrift_fail(in, "a list is longer than any file needs");
        return NULL;
    }
    void *elements = count > 0 ? arena_zalloc(arena, count, element_bytes) : NULL;
    if (count > 0 && elements == NULL) {
        in->code = err_no_memory(in->err, count * element_bytes);
        in->at = in->end;
        return NULL;
    }
    *out_count = count;
    return elements;
}
