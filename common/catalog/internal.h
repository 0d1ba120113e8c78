/* The catalog's inner interface: how the files of this module (one per aggregate) run SQL. Not for other modules.
 *
 * A statement is a named constant with parameters; values travel in binary, both ways; statements are unnamed, so that a
 * pooler in transaction mode is fine. While a transaction is open on a catalog, every statement on that catalog runs in
 * it. search_path is empty: write granary.tables, granary.lock_kind.
 *
 *     // Row locks only; any isolation.
 *     static const char SQL_RENEW[] =
 *         "update granary.locks set expires_at = clock_timestamp() + $3"
 *         " where lock_id = $1 and token = $2 and expires_at > clock_timestamp() returning expires_at";
 *
 *     AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
 *     TRY(catalog_query(catalog_in(transaction), SQL_RENEW,
 *                       CATALOG_VALUES(catalog_uuid(lock_id), catalog_i64(token), catalog_interval(lease_us)), &rows, err));
 *     if (catalog_rows_count(rows) != 1) {
 *         return err_set(err, ERR_CONFLICT, ...);
 *     }
 *     *out_us = catalog_get_timestamp(rows, 0, 0);
 */
#ifndef GRANARY_CATALOG_INTERNAL_H
#define GRANARY_CATALOG_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/uuid.h"
#include "common/catalog/catalog.h"

/* --- parameters -------------------------------------------------------------------------------------------------- */

enum catalog_type {
    CATALOG_BOOL,
    CATALOG_INT32,
    CATALOG_INT64,
    CATALOG_DOUBLE,
    CATALOG_TEXT, /* enums too: "$1::granary.reason" */
    CATALOG_JSON, /* jsonb */
    CATALOG_BYTES,
    CATALOG_UUID,
    CATALOG_TIMESTAMP, /* timestamptz; outside of PostgreSQL's range: ERR_INVALID */
    CATALOG_BOUND,     /* timestamptz to compare with: beyond the range it is -infinity or infinity */
    CATALOG_INTERVAL,
    CATALOG_TYPE_COUNT
};

struct catalog_bytes { /* an element of a bytea[]; data NULL: SQL null */
    const void *data;
    size_t length;
};

/* Made by the constructors below; points to the caller's memory, which must live until the statement has been sent. */
struct catalog_value {
    enum catalog_type type;
    bool is_null, is_array;
    union {
        bool boolean;
        int64_t i64;
        double f64;
        struct uuid uuid;
        struct catalog_bytes bytes;
        struct {
            const void *first; /* element i is at first + i * stride */
            size_t stride, count;
            size_t fixed_bytes; /* bytea[] of arrays of this length; 0: of struct catalog_bytes */
        } items;
    } as;
};

#define CATALOG_VALUES(...)                        \
    ((const struct catalog_value[]){__VA_ARGS__}), \
        (sizeof((const struct catalog_value[]){__VA_ARGS__}) / sizeof(struct catalog_value))
#define CATALOG_NO_VALUES NULL, 0
enum { CATALOG_MAX_VALUES = 32 };

struct catalog_value catalog_null(enum catalog_type type);
struct catalog_value catalog_bool(bool value);
struct catalog_value catalog_i32(int32_t value);
struct catalog_value catalog_i64(int64_t value);
struct catalog_value catalog_f64(double value);
struct catalog_value catalog_text(const char *text);                 /* NULL: SQL null */
struct catalog_value catalog_json(const char *text);                 /* NULL: SQL null */
struct catalog_value catalog_bytes(const void *data, size_t length); /* NULL: SQL null */
struct catalog_value catalog_uuid(const struct uuid *uuid);          /* NULL or nil: SQL null */
struct catalog_value catalog_timestamp(int64_t time_us);
struct catalog_value catalog_bound(int64_t time_us); /* INT64_MIN, INT64_MAX: open */
struct catalog_value catalog_interval(int64_t duration_us);

/* Arrays, taken out of an array of structs: pass &items[0].member and sizeof items[0]. For BOOL the members are bool, for
 * INT32 int32_t, for INT64, TIMESTAMP and INTERVAL int64_t, for UUID struct uuid (nil: null), for TEXT and JSON
 * const char * (NULL: null), for BYTES struct catalog_bytes. count 0 gives an empty array. */
struct catalog_value catalog_array(enum catalog_type type, const void *first, size_t stride, size_t count);
/* bytea[] out of uint8_t member[fixed_bytes]. */
struct catalog_value catalog_fixed_bytes_array(const void *first, size_t fixed_bytes, size_t stride, size_t count);

/* --- results ------------------------------------------------------------------------------------------------------ */

struct catalog_rows;
void catalog_rows_free(struct catalog_rows *rows);
DEFINE_AUTO(struct catalog_rows, catalog_rows_free)

/* Getters: row and column must exist, and the column must have the getter's type (asserted: SQL is ours); null gives zero
 * (nil, "", CLOCK_NEVER for timestamps only where it says so). Borrowed results live as long as the rows. */
size_t catalog_rows_count(const struct catalog_rows *rows);
bool catalog_is_null(const struct catalog_rows *rows, size_t row, int column);
bool catalog_get_bool(const struct catalog_rows *rows, size_t row, int column);
int32_t catalog_get_i32(const struct catalog_rows *rows, size_t row, int column);
int64_t catalog_get_i64(const struct catalog_rows *rows, size_t row, int column);
double catalog_get_f64(const struct catalog_rows *rows, size_t row, int column);
struct uuid catalog_get_uuid(const struct catalog_rows *rows, size_t row, int column);
int64_t catalog_get_timestamp(const struct catalog_rows *rows, size_t row,
                              int column); /* infinities: INT64_MIN, _MAX */
int64_t catalog_get_timestamp_or(const struct catalog_rows *rows, size_t row, int column, int64_t null_us);
struct catalog_bytes catalog_get_bytes(const struct catalog_rows *rows, size_t row, int column); /* borrowed */
const char *catalog_get_text(const struct catalog_rows *rows, size_t row,
                             int column); /* text, enum, json(b); borrowed */
/* The same text in the arena; NULL where it is null. */
MUST_CHECK enum err_code catalog_load_text(const struct catalog_rows *rows, size_t row, int column, struct arena *arena,
                                           const char **out, struct error *err);

/* A column of UUIDs, in the arena. */
MUST_CHECK enum err_code catalog_load_ids(const struct catalog_rows *rows, int column, struct arena *arena,
                                          struct uuid **out, size_t *out_count, struct error *err);

/* --- statements --------------------------------------------------------------------------------------------------- */

/* The catalog to run a statement of this transaction on. */
struct catalog *catalog_in(struct catalog_transaction *transaction);
/* Grows by one with every connection made: an equal number means the same session, with its advisory locks. */
uint64_t catalog_session(const struct catalog *catalog);

/* Rows, all in memory: for results that a LIMIT bounds. A connection lost outside of a transaction: ERR_UNAVAILABLE, so
 * do not write with this there. Page by key: "where (a, b) > ($1, $2) order by a, b limit $3", never by offset. */
MUST_CHECK enum err_code catalog_query(struct catalog *catalog, const char *sql, const struct catalog_value *values,
                                       size_t value_count, struct catalog_rows **out, struct error *err);
/* catalog_query that finds exactly one row, else ERR_NOT_FOUND with `what` ("table \"x.y\"") in the text. */
MUST_CHECK enum err_code catalog_query_one(struct catalog *catalog, const char *sql, const struct catalog_value *values,
                                           size_t value_count, const char *what, struct catalog_rows **out,
                                           struct error *err);
/* A statement that changes rows (how many: out_rows, may be NULL). A connection lost outside of a transaction gives
 * ERR_UNKNOWN: the statement was its own commit. */
MUST_CHECK enum err_code catalog_execute(struct catalog *catalog, const char *sql, const struct catalog_value *values,
                                         size_t value_count, uint64_t *out_rows, struct error *err);
/* ERR_CONFLICT unless exactly `expected` rows changed; the transaction must then be rolled back. */
MUST_CHECK enum err_code catalog_execute_expect(struct catalog_transaction *transaction, const char *sql,
                                                const struct catalog_value *values, size_t value_count,
                                                uint64_t expected, struct error *err);

/* A large result, row by row in bounded memory. Nothing else runs on the catalog until it is closed; closing early
 * cancels. statement_timeout spans the whole stream: where the consumer is slow, page by key instead. */
struct catalog_stream;
MUST_CHECK enum err_code catalog_stream_open(struct catalog *catalog, const char *sql,
                                             const struct catalog_value *values, size_t value_count,
                                             struct catalog_stream **out, struct error *err);
/* *out: the next row as row 0, borrowed until the next call; NULL at the end. */
MUST_CHECK enum err_code catalog_stream_next(struct catalog_stream *stream, const struct catalog_rows **out,
                                             struct error *err);
void catalog_stream_close(struct catalog_stream *stream);
DEFINE_AUTO(struct catalog_stream, catalog_stream_close)

/* Many statements of a transaction without a round trip each. Where rows are alike, one statement over arrays (unnest) is
 * faster still. */
struct catalog_pipeline;
enum { CATALOG_ANY_ROWS = -1 };
MUST_CHECK enum err_code catalog_pipeline_open(struct catalog_transaction *transaction, struct catalog_pipeline **out,
                                               struct error *err);
/* expected_rows as in catalog_execute_expect, or CATALOG_ANY_ROWS. */
MUST_CHECK enum err_code catalog_pipeline_add(struct catalog_pipeline *pipeline, const char *sql,
                                              const struct catalog_value *values, size_t value_count,
                                              int64_t expected_rows, struct error *err);
/* Waits for all answers; the first failure is the one told. Consumes the pipeline. */
MUST_CHECK enum err_code catalog_pipeline_finish(struct catalog_pipeline *pipeline_take, struct error *err);
void catalog_pipeline_abort(struct catalog_pipeline *pipeline); /* the transaction must then be rolled back */
DEFINE_AUTO(struct catalog_pipeline, catalog_pipeline_abort)

#endif
