/* Schemas: the columns of one version of a table. Columns are known by a stable id; names can change.
 * A schema is immutable once built and may be shared between threads. */
#ifndef GRANARY_ROWS_SCHEMA_H
#define GRANARY_ROWS_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/cleanup.h"
#include "common/base/error.h"
#include "common/base/uuid.h"

enum column_type {
    COLUMN_BOOL,
    COLUMN_INT32,
    COLUMN_INT64,
    COLUMN_FLOAT,
    COLUMN_DOUBLE,
    COLUMN_STRING, /* UTF-8 */
    COLUMN_BYTES,
    COLUMN_TIMESTAMP, /* int64 microseconds UTC */
    COLUMN_DATE,      /* int32 days since 1970-01-01 */
    COLUMN_DECIMAL,   /* int64 unscaled; precision 1..18, scale 0..precision */
    COLUMN_UUID,      /* 16 bytes */
    COLUMN_JSON,      /* UTF-8 text of one JSON value, kept word for word */
    COLUMN_TYPE_COUNT
};

enum { SCHEMA_MAX_COLUMNS = 2000, SCHEMA_MAX_SORT_COLUMNS = 8 };

struct schema_column {
    uint32_t id; /* 1.., stable over versions; the Parquet field id */
    const char *name;
    enum column_type type;
    bool nullable;
    uint8_t precision, scale; /* decimal only */
    bool bloom;               /* write a bloom filter */
    double bloom_fpp;         /* its share of false positives, above 0 and below 1; 0: 1 % */
    int64_t bloom_distinct;   /* values that it is made for in each row group; 0: those that are there */
    const char *format; /* timestamp, date: how values are written in what comes in (timestamp.h); NULL: the default.
                                 A date takes a pattern without a time of day. No part of what the files hold */
};

struct sort_key {
    uint32_t column; /* index into columns */
    bool descending; /* nulls always last */
};

struct schema_index; /* private: memory and hash tables */

struct schema {
    struct uuid table_id;
    int32_t version; /* 1.. */
    size_t column_count;
    const struct schema_column *columns;
    uint32_t timestamp_column; /* index of the one timestamp column: type timestamp, not null */
    size_t sort_key_count;     /* at least 1; by default just the timestamp, ascending */
    struct sort_key sort_keys[SCHEMA_MAX_SORT_COLUMNS];
    struct schema_index *index; /* NULL in a schema put together by hand: look-ups are then linear */
};

/* "bool", "int32", ..., "timestamp", "decimal(12,2)", "json". Text form of a column's type; returns text. */
enum { COLUMN_TYPE_TEXT_BYTES = 24 };
char *column_type_format(const struct schema_column *column, char text[COLUMN_TYPE_TEXT_BYTES]);
/* Fills in type, precision and scale. ERR_INVALID names the types there are. */
MUST_CHECK enum err_code column_type_parse(const char *text, struct schema_column *column, struct error *err);

/* Deep copy after checking: 1..2000 columns, ids and names unique (names identifiers, compared exactly), one not-null
 * timestamp column named by its index, sort keys in range and distinct, no float or double or json or bytes sort key.
 * ERR_INVALID names the column. Free with schema_free. */
MUST_CHECK enum err_code schema_new(const struct schema *from, struct schema **out, struct error *err);
void schema_free(struct schema *schema);
DEFINE_AUTO(struct schema, schema_free)

/* Index of a column, or -1. By name is a hash look-up, by id too. */
int schema_find(const struct schema *schema, const char *name, size_t name_length);
int schema_find_id(const struct schema *schema, uint32_t id);

/* {"version":1,"timestamp":"ts","columns":[{"id":1,"name":"ts","type":"timestamp","nullable":false,"bloom":false,
 *  "format":"epoch_ms"}...],
 *  "sort":[{"column":"ts","descending":false}]}: the form kept in table_schemas and spoken by the HTTP API.
 * `text` is any JSON text; unknown members are refused. In a definition from outside, ids may be left out (then 1..n in
 * order), format too, nullable defaults to true (false for the timestamp column), sort to the timestamp, version to 1. */
MUST_CHECK enum err_code schema_parse(const char *text, size_t length, const struct uuid *table_id, struct schema **out,
                                      struct error *err);
/* Returned text is owned by the caller (free()). */
MUST_CHECK enum err_code schema_format(const struct schema *schema, char **out_text, struct error *err);

/* Can rows of `from` be read as `to`? Columns meet by id: one absent in `from` must be nullable in `to`; a type may
 * widen int32 -> int64, float -> double, not null -> null. Anything else is ERR_INVALID and named.
 * map[i] receives the index in `from` of column i of `to`, or -1 (map may be NULL). */
MUST_CHECK enum err_code schema_reconcile(const struct schema *from, const struct schema *to, int *map,
                                          struct error *err);

#endif
