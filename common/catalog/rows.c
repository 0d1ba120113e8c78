#include <assert.h>
#include <endian.h>
#include <string.h>

#include "common/catalog/session.h"

enum err_code catalog_rows_wrap(PGresult *result_take, struct catalog_rows **out, struct error *err)
{
    AUTO(result_clear_auto) PGresult *result = result_take;
    struct catalog_rows *rows = malloc(sizeof *rows);

    if (rows == NULL) {
        return err_no_memory(err, sizeof *rows);
    }
    rows->result = TAKE(result);
    *out = rows;
    return OK;
}

void catalog_rows_free(struct catalog_rows *rows)
{
    if (rows != NULL) {
        PQclear(rows->result);
        free(rows);
    }
}

size_t catalog_rows_count(const struct catalog_rows *rows)
{
    return (size_t)PQntuples(rows->result);
}

bool catalog_is_null(const struct catalog_rows *rows, size_t row, int column)
{
    assert(row < catalog_rows_count(rows) && column >= 0 && column < PQnfields(rows->result));
    return PQgetisnull(rows->result, (int)row, column) != 0;
}

/* The bytes of a value of this type; NULL where it is null. */
static const char *value_of(const struct catalog_rows *rows, size_t row, int column, Oid type, int length)
{
    if (catalog_is_null(rows, row, column)) {
        return NULL;
    }
    assert(PQftype(rows->result, column) == type && PQfformat(rows->result, column) == 1);
    assert(length < 0 || PQgetlength(rows->result, (int)row, column) == length);
    return PQgetvalue(rows->result, (int)row, column);
}

static int64_t read_i64(const char *bytes)
{
    uint64_t big;
    memcpy(&big, bytes, sizeof big);
    return (int64_t)be64toh(big);
}

bool catalog_get_bool(const struct catalog_rows *rows, size_t row, int column)
{
    const char *bytes = value_of(rows, row, column, OID_BOOL, 1);
    return bytes != NULL && bytes[0] != 0;
}

int32_t catalog_get_i32(const struct catalog_rows *rows, size_t row, int column)
{
    const char *bytes = value_of(rows, row, column, OID_INT4, 4);
    uint32_t big;
    if (bytes == NULL) {
        return 0;
    }
    memcpy(&big, bytes, sizeof big);
    return (int32_t)be32toh(big);
}

int64_t catalog_get_i64(const struct catalog_rows *rows, size_t row, int column)
{
    const char *bytes = value_of(rows, row, column, OID_INT8, 8);
    return bytes != NULL ? read_i64(bytes) : 0;
}

double catalog_get_f64(const struct catalog_rows *rows, size_t row, int column)
{
    const char *bytes = value_of(rows, row, column, OID_FLOAT8, 8);
    double value = 0;
    if (bytes != NULL) {
        int64_t bits = read_i64(bytes);
        memcpy(&value, &bits, sizeof value);
    }
    return value;
}

struct uuid catalog_get_uuid(const struct catalog_rows *rows, size_t row, int column)
{
    const char *bytes = value_of(rows, row, column, OID_UUID, 16);
    struct uuid uuid = {{0}};
    if (bytes != NULL) {
        memcpy(uuid.bytes, bytes, sizeof uuid.bytes);
    }
    return uuid;
}

int64_t catalog_get_timestamp_or(const struct catalog_rows *rows, size_t row, int column, int64_t null_us)
{
    const char *bytes = value_of(rows, row, column, OID_TIMESTAMPTZ, 8);
    if (bytes == NULL) {
        return null_us;
    }
    int64_t time = read_i64(bytes);
    if (time == INT64_MIN || time > INT64_MAX - SESSION_EPOCH_US) { /* infinite, or beyond what we can hold */
        return time < 0 ? INT64_MIN : INT64_MAX;
    }
    return time + SESSION_EPOCH_US;
}

int64_t catalog_get_timestamp(const struct catalog_rows *rows, size_t row, int column)
{
    return catalog_get_timestamp_or(rows, row, column, 0);
}

struct catalog_bytes catalog_get_bytes(const struct catalog_rows *rows, size_t row, int column)
{
    const char *bytes = value_of(rows, row, column, OID_BYTEA, -1);
    return (struct catalog_bytes){bytes, bytes != NULL ? (size_t)PQgetlength(rows->result, (int)row, column) : 0};
}

/* Text in its binary form is the text itself, for enums too; libpq puts a NUL behind every value. */
const char *catalog_get_text(const struct catalog_rows *rows, size_t row, int column)
{
    if (catalog_is_null(rows, row, column)) {
        return "";
    }
    const char *text = PQgetvalue(rows->result, (int)row, column);
    switch (PQftype(rows->result, column)) {
    case OID_JSONB: return text + 1; /* behind the version of its form */
    case OID_BOOL:
    case OID_BYTEA:
    case OID_INT8:
    case OID_INT4:
    case OID_FLOAT8:
    case OID_TIMESTAMPTZ:
    case OID_INTERVAL:
    case OID_UUID: assert(!"a column of text"); return "";
    default: return text;
    }
}

enum err_code catalog_load_text(const struct catalog_rows *rows, size_t row, int column, struct arena *arena,
                                const char **out, struct error *err)
{
    if (catalog_is_null(rows, row, column)) {
        *out = NULL;
        return OK;
    }
    const char *text = arena_strdup(arena, catalog_get_text(rows, row, column));
    if (text == NULL) {
        return err_no_memory(err, (size_t)PQgetlength(rows->result, (int)row, column));
    }
    *out = text;
    return OK;
}

enum err_code catalog_load_ids(const struct catalog_rows *rows, int column, struct arena *arena, struct uuid **out,
                               size_t *out_count, struct error *err)
{
    size_t count = catalog_rows_count(rows);
    struct uuid *ids = arena_zalloc(arena, count + 1, sizeof *ids);
    if (ids == NULL) {
        return err_no_memory(err, count * sizeof *ids);
    }
    for (size_t i = 0; i < count; i++) {
        ids[i] = catalog_get_uuid(rows, i, column);
    }
    *out = ids;
    *out_count = count;
    return OK;
}
