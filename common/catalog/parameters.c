/* Parameters of statements in PostgreSQL's binary form (its documentation, "Formatting of Parameters" and the send
 * functions of each type). Values are gathered in one buffer first and pointed to afterwards, as it may move. */
#include <assert.h>
#include <endian.h>
#include <limits.h>
#include <string.h>

#include "common/catalog/session.h"

struct catalog_value catalog_null(enum catalog_type type)
{
    return (struct catalog_value){.type = type, .is_null = true};
}

struct catalog_value catalog_bool(bool value)
{
    return (struct catalog_value){.type = CATALOG_BOOL, .as.boolean = value};
}

struct catalog_value catalog_i32(int32_t value)
{
    return (struct catalog_value){.type = CATALOG_INT32, .as.i64 = value};
}

struct catalog_value catalog_i64(int64_t value)
{
    return (struct catalog_value){.type = CATALOG_INT64, .as.i64 = value};
}

struct catalog_value catalog_f64(double value)
{
    return (struct catalog_value){.type = CATALOG_DOUBLE, .as.f64 = value};
}

static struct catalog_value from_text(enum catalog_type type, const char *text)
{
    return (struct catalog_value){
        .type = type, .is_null = text == NULL, .as.bytes = {text, text != NULL ? strlen(text) : 0}};
}

struct catalog_value catalog_text(const char *text)
{
    return from_text(CATALOG_TEXT, text);
}

struct catalog_value catalog_json(const char *text)
{
    return from_text(CATALOG_JSON, text);
}

struct catalog_value catalog_bytes(const void *data, size_t length)
{
    return (struct catalog_value){.type = CATALOG_BYTES, .is_null = data == NULL, .as.bytes = {data, length}};
}

struct catalog_value catalog_uuid(const struct uuid *uuid)
{
    if (uuid == NULL || uuid_is_nil(uuid)) {
        return catalog_null(CATALOG_UUID);
    }
    return (struct catalog_value){.type = CATALOG_UUID, .as.uuid = *uuid};
}

struct catalog_value catalog_timestamp(int64_t time_us)
{
    return (struct catalog_value){.type = CATALOG_TIMESTAMP, .as.i64 = time_us};
}

struct catalog_value catalog_bound(int64_t time_us)
{
    return (struct catalog_value){.type = CATALOG_BOUND, .as.i64 = time_us};
}

struct catalog_value catalog_interval(int64_t duration_us)
{
    return (struct catalog_value){.type = CATALOG_INTERVAL, .as.i64 = duration_us};
}

struct catalog_value catalog_array(enum catalog_type type, const void *first, size_t stride, size_t count)
{
    return (struct catalog_value){
        .type = type, .is_array = true, .as.items = {.first = first, .stride = stride, .count = count}};
}

struct catalog_value catalog_fixed_bytes_array(const void *first, size_t fixed_bytes, size_t stride, size_t count)
{
    return (struct catalog_value){
        .type = CATALOG_BYTES,
        .is_array = true,
        .as.items = {.first = first, .stride = stride, .count = count, .fixed_bytes = fixed_bytes}};
}

static const struct {
    Oid type, array;
} OIDS[CATALOG_TYPE_COUNT] = {
    [CATALOG_BOOL] = {OID_BOOL, 1000},
    [CATALOG_INT32] = {OID_INT4, 1007},
    [CATALOG_INT64] = {OID_INT8, 1016},
    [CATALOG_DOUBLE] = {OID_FLOAT8, 1022},
    [CATALOG_TEXT] = {OID_TEXT, 1009},
    [CATALOG_JSON] = {OID_JSONB, 3807},
    [CATALOG_BYTES] = {OID_BYTEA, 1001},
    [CATALOG_UUID] = {OID_UUID, 2951},
    [CATALOG_TIMESTAMP] = {OID_TIMESTAMPTZ, 1185},
    [CATALOG_BOUND] = {OID_TIMESTAMPTZ, 1185},
    [CATALOG_INTERVAL] = {OID_INTERVAL, 1187},
};

static enum err_code put_i32(struct buf *out, int32_t value, struct error *err)
{
    uint32_t big = htobe32((uint32_t)value);
    return buf_append(out, &big, sizeof big, err);
}

static enum err_code put_i64(struct buf *out, int64_t value, struct error *err)
{
    uint64_t big = htobe64((uint64_t)value);
    return buf_append(out, &big, sizeof big, err);
}

static enum err_code put_timestamp(struct buf *out, int64_t time_us, struct error *err)
{
    if (time_us < SESSION_FIRST_US || time_us == INT64_MAX) {
        return err_set(err, ERR_INVALID,
                       "expected a time that the catalog can hold (4713 BC or later) but found %lld us",
                       (long long)time_us);
    }
    return put_i64(out, time_us - SESSION_EPOCH_US, err);
}

static enum err_code put_bound(struct buf *out, int64_t time_us, struct error *err)
{
    if (time_us < SESSION_FIRST_US) {
        return put_i64(out, INT64_MIN, err);
    }
    return put_i64(out, time_us == INT64_MAX ? INT64_MAX : time_us - SESSION_EPOCH_US, err);
}

static enum err_code put_scalar(struct buf *out, const struct catalog_value *value, struct error *err)
{
    uint64_t bits;

    switch (value->type) {
    case CATALOG_BOOL: return buf_append_byte(out, value->as.boolean ? 1 : 0, err);
    case CATALOG_INT32: return put_i32(out, (int32_t)value->as.i64, err);
    case CATALOG_INT64: return put_i64(out, value->as.i64, err);
    case CATALOG_DOUBLE: memcpy(&bits, &value->as.f64, sizeof bits); return put_i64(out, (int64_t)bits, err);
    case CATALOG_JSON:
        TRY(buf_append_byte(out, 1, err)); /* the version of jsonb's binary form */
        return buf_append(out, value->as.bytes.data, value->as.bytes.length, err);
    case CATALOG_TEXT:
    case CATALOG_BYTES: return buf_append(out, value->as.bytes.data, value->as.bytes.length, err);
    case CATALOG_UUID: return buf_append(out, value->as.uuid.bytes, sizeof value->as.uuid.bytes, err);
    case CATALOG_TIMESTAMP: return put_timestamp(out, value->as.i64, err);
    case CATALOG_BOUND: return put_bound(out, value->as.i64, err);
    case CATALOG_INTERVAL: TRY(put_i64(out, value->as.i64, err)); return put_i64(out, 0, err); /* days and months */
    case CATALOG_TYPE_COUNT: break;
    }
    assert(!"a type of parameter");
    return ERR_INVALID;
}

/* Element i of an array as a value of its own. */
static struct catalog_value element(const struct catalog_value *array, size_t i)
{
    const void *at = (const char *)array->as.items.first + i * array->as.items.stride;
    const struct catalog_bytes *bytes = at;

    switch (array->type) {
    case CATALOG_BOOL: return catalog_bool(*(const bool *)at);
    case CATALOG_INT32: return catalog_i32(*(const int32_t *)at);
    case CATALOG_DOUBLE: return catalog_f64(*(const double *)at);
    case CATALOG_TEXT:
    case CATALOG_JSON: return from_text(array->type, *(const char *const *)at);
    case CATALOG_UUID: return catalog_uuid(at);
    case CATALOG_BYTES:
        return array->as.items.fixed_bytes != 0 ? catalog_bytes(at, array->as.items.fixed_bytes)
                                                : catalog_bytes(bytes->data, bytes->length);
    case CATALOG_INT64:
    case CATALOG_TIMESTAMP:
    case CATALOG_BOUND:
    case CATALOG_INTERVAL: return (struct catalog_value){.type = array->type, .as.i64 = *(const int64_t *)at};
    case CATALOG_TYPE_COUNT: break;
    }
    assert(!"a type of element");
    return catalog_null(CATALOG_TEXT);
}

static enum err_code put_element(struct buf *out, const struct catalog_value *value, struct error *err)
{
    if (value->is_null) {
        return put_i32(out, -1, err);
    }
    size_t length_at = out->length_bytes;
    TRY(put_i32(out, 0, err));
    TRY(put_scalar(out, value, err));
    uint32_t length = htobe32((uint32_t)(out->length_bytes - length_at - 4)); /* the whole is below INT_MAX */
    memcpy(out->data + length_at, &length, sizeof length);
    return OK;
}

static enum err_code put_array(struct buf *out, const struct catalog_value *array, struct error *err)
{
    size_t count = array->as.items.count;

    if (count > INT32_MAX) {
        return err_set(err, ERR_INVALID, "expected an array that the catalog can take but found %zu elements", count);
    }
    TRY(put_i32(out, count > 0 ? 1 : 0, err)); /* dimensions */
    TRY(put_i32(out, 1, err));                 /* may hold nulls */
    TRY(put_i32(out, (int32_t)OIDS[array->type].type, err));
    if (count > 0) {
        TRY(put_i32(out, (int32_t)count, err));
        TRY(put_i32(out, 1, err)); /* the first index */
    }
    for (size_t i = 0; i < count; i++) {
        struct catalog_value value = element(array, i);
        TRY(put_element(out, &value, err));
        if (out->length_bytes > INT_MAX) {
            break; /* refused by the caller */
        }
    }
    return OK;
}

void catalog_parameters_done(struct session_parameters *parameters)
{
    buf_done(&parameters->memory);
}

enum err_code catalog_parameters_encode(struct session_parameters *parameters, const struct catalog_value *values,
                                        size_t count, struct error *err)
{
    size_t offsets[CATALOG_MAX_VALUES];

    assert(count <= CATALOG_MAX_VALUES);
    parameters->count = count;
    buf_clear(&parameters->memory);
    for (size_t i = 0; i < count; i++) {
        const struct catalog_value *value = &values[i];
        offsets[i] = parameters->memory.length_bytes;
        parameters->types[i] = value->is_array ? OIDS[value->type].array : OIDS[value->type].type;
        parameters->formats[i] = 1;
        if (value->is_array) {
            TRY(put_array(&parameters->memory, value, err));
        } else if (!value->is_null) {
            TRY(put_scalar(&parameters->memory, value, err));
        }
        if (parameters->memory.length_bytes > INT_MAX) {
            return err_set(err, ERR_INVALID, "expected a statement below 2 GiB but its parameters are larger");
        }
        parameters->lengths[i] = (int)(parameters->memory.length_bytes - offsets[i]);
    }
    TRY(buf_append_byte(&parameters->memory, 0, err)); /* so that an empty value has an address */
    for (size_t i = 0; i < count; i++) {
        bool is_null = !values[i].is_array && values[i].is_null;
        parameters->values[i] = is_null ? NULL : (const char *)parameters->memory.data + offsets[i];
    }
    return OK;
}
