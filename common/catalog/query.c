#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "common/catalog/session.h"

struct catalog_stream {
    struct catalog *catalog;
    struct catalog_rows row;
    int64_t deadline_us;
    bool at_end;
};

enum err_code catalog_session_send(struct catalog *catalog, const char *sql, const struct catalog_value *values,
                                   size_t value_count, struct error *err)
{
    AUTO(catalog_parameters_done) struct session_parameters parameters = {0};

    TRY(catalog_parameters_encode(&parameters, values, value_count, err));
    if (PQsendQueryParams(catalog->connection, sql, (int)parameters.count, parameters.types, parameters.values,
                          parameters.lengths, parameters.formats, 1) == 0) {
        return catalog_session_error(catalog, NULL, err);
    }
    return OK;
}

static bool is_failure(const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    return status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK && status != PGRES_SINGLE_TUPLE;
}

enum err_code catalog_session_run(struct catalog *catalog, const char *sql, const struct catalog_value *values,
                                  size_t value_count, PGresult **out, struct error *err)
{
    AUTO(result_clear_auto) PGresult *result = NULL;
    int64_t deadline_us = catalog_session_deadline(catalog);

    assert(!catalog->busy);
    TRY(catalog_session_send(catalog, sql, values, value_count, err));
    TRY(catalog_session_next(catalog, deadline_us, &result, err));
    if (result == NULL || is_failure(result)) {
        enum err_code code = catalog_session_error(catalog, result, err);
        catalog_session_drain(catalog, deadline_us);
        return code;
    }
    catalog_session_drain(catalog, deadline_us);
    *out = TAKE(result);
    return OK;
}

enum err_code catalog_query(struct catalog *catalog, const char *sql, const struct catalog_value *values,
                            size_t value_count, struct catalog_rows **out, struct error *err)
{
    AUTO(result_clear_auto) PGresult *result = NULL;

    TRY(catalog_session_ensure(catalog, err));
    TRY(catalog_session_run(catalog, sql, values, value_count, &result, err));
    return catalog_rows_wrap(TAKE(result), out, err);
}

enum err_code catalog_query_one(struct catalog *catalog, const char *sql, const struct catalog_value *values,
                                size_t value_count, const char *what, struct catalog_rows **out, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;

    TRY(catalog_query(catalog, sql, values, value_count, &rows, err));
    if (catalog_rows_count(rows) != 1) {
        return err_set(err, ERR_NOT_FOUND, "expected one %s in the catalog but found %zu", what,
                       catalog_rows_count(rows));
    }
    *out = TAKE(rows);
    return OK;
}

enum err_code catalog_execute(struct catalog *catalog, const char *sql, const struct catalog_value *values,
                              size_t value_count, uint64_t *out_rows, struct error *err)
{
    AUTO(result_clear_auto) PGresult *result = NULL;

    TRY(catalog_session_ensure(catalog, err));
    enum err_code code = catalog_session_run(catalog, sql, values, value_count, &result, err);
    if (code != OK) {
        bool lost = catalog->connection == NULL;
        return lost && !catalog->in_transaction ? catalog_session_uncertain(code, err) : code;
    }
    if (out_rows != NULL) {
        *out_rows = strtoull(PQcmdTuples(result), NULL, 10); /* "" where the statement counts no rows */
    }
    return OK;
}

enum err_code catalog_execute_expect(struct catalog_transaction *transaction, const char *sql,
                                     const struct catalog_value *values, size_t value_count, uint64_t expected,
                                     struct error *err)
{
    uint64_t rows = 0;

    TRY(catalog_execute(catalog_in(transaction), sql, values, value_count, &rows, err));
    if (rows != expected) {
        return err_set(err, ERR_CONFLICT, "expected %" PRIu64 " catalog rows to change but %" PRIu64 " did", expected,
                       rows);
    }
    return OK;
}

/* --- streams ----------------------------------------------------------------------------------------------------- */

enum err_code catalog_stream_open(struct catalog *catalog, const char *sql, const struct catalog_value *values,
                                  size_t value_count, struct catalog_stream **out, struct error *err)
{
    AUTO(catalog_stream_close_auto) struct catalog_stream *stream = calloc(1, sizeof *stream);

    if (stream == NULL) {
        return err_no_memory(err, sizeof *stream);
    }
    stream->at_end = true; /* nothing to cancel yet */
    stream->catalog = catalog;
    assert(!catalog->busy);
    TRY(catalog_session_ensure(catalog, err));
    TRY(catalog_session_send(catalog, sql, values, value_count, err));
    catalog->busy = true;
    stream->at_end = false;
    if (PQsetSingleRowMode(catalog->connection) == 0) {
        return err_set(err, ERR_INVALID, "could not read the catalog row by row");
    }
    *out = TAKE(stream);
    return OK;
}

enum err_code catalog_stream_next(struct catalog_stream *stream, const struct catalog_rows **out, struct error *err)
{
    struct catalog *catalog = stream->catalog;

    PQclear(TAKE(stream->row.result));
    if (stream->at_end) {
        *out = NULL;
        return OK;
    }
    TRY(catalog_session_ensure(catalog, err));
    int64_t deadline_us = catalog_session_deadline(catalog);
    TRY(catalog_session_next(catalog, deadline_us, &stream->row.result, err));
    if (stream->row.result == NULL || is_failure(stream->row.result)) {
        enum err_code code = catalog_session_error(catalog, stream->row.result, err);
        catalog_session_drain(catalog, deadline_us);
        stream->at_end = true;
        return code;
    }
    if (PQresultStatus(stream->row.result) != PGRES_SINGLE_TUPLE) { /* the empty result behind the last row */
        catalog_session_drain(catalog, deadline_us);
        stream->at_end = true;
        *out = NULL;
        return OK;
    }
    *out = &stream->row;
    return OK;
}

static void cancel(PGconn *connection)
{
    char text[256];
    PGcancel *handle = PQgetCancel(connection);
    if (handle != NULL) {
        (void)PQcancel(handle, text, sizeof text); /* best effort: draining bounds the rest */
        PQfreeCancel(handle);
    }
}

void catalog_stream_close(struct catalog_stream *stream)
{
    if (stream == NULL) {
        return;
    }
    struct catalog *catalog = stream->catalog;
    if (!stream->at_end && catalog->connection != NULL) {
        cancel(catalog->connection);
        catalog_session_drain(catalog, catalog_session_deadline(catalog));
    }
    if (catalog != NULL) {
        catalog->busy = false;
    }
    PQclear(stream->row.result);
    free(stream);
}
