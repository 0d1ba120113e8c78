/* Pipelines: statements are sent ahead of their answers. After a failure the server skips the rest up to the sync, so
 * that the first failure is the real one. libpq reads while it must wait to send: the two sides cannot block each other. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "common/catalog/session.h"

struct catalog_pipeline {
    struct catalog *catalog;
    int64_t *expected; /* per statement under way */
    size_t count, capacity;
};

enum err_code catalog_pipeline_open(struct catalog_transaction *transaction, struct catalog_pipeline **out,
                                    struct error *err)
{
    struct catalog *catalog = catalog_in(transaction);
    AUTO(catalog_pipeline_abort_auto) struct catalog_pipeline *pipeline = calloc(1, sizeof *pipeline);

    if (pipeline == NULL) {
        return err_no_memory(err, sizeof *pipeline);
    }
    assert(!catalog->busy);
    TRY(catalog_session_ensure(catalog, err));
    if (PQenterPipelineMode(catalog->connection) == 0) {
        return catalog_session_error(catalog, NULL, err);
    }
    catalog->busy = true;
    pipeline->catalog = catalog;
    *out = TAKE(pipeline);
    return OK;
}

enum err_code catalog_pipeline_add(struct catalog_pipeline *pipeline, const char *sql,
                                   const struct catalog_value *values, size_t value_count, int64_t expected_rows,
                                   struct error *err)
{
    if (pipeline->count == pipeline->capacity) {
        size_t capacity = pipeline->capacity != 0 ? pipeline->capacity * 2 : 64;
        int64_t *expected = reallocarray(pipeline->expected, capacity, sizeof *expected);
        if (expected == NULL) {
            return err_no_memory(err, capacity * sizeof *expected);
        }
        pipeline->expected = expected;
        pipeline->capacity = capacity;
    }
    TRY(catalog_session_ensure(pipeline->catalog, err));
    TRY(catalog_session_send(pipeline->catalog, sql, values, value_count, err));
    pipeline->expected[pipeline->count++] = expected_rows;
    return OK;
}

/* The answer to one statement: its result, then NULL. */
static enum err_code take_answer(struct catalog_pipeline *pipeline, int64_t expected, struct error *err)
{
    struct catalog *catalog = pipeline->catalog;
    int64_t deadline_us = catalog_session_deadline(catalog);
    AUTO(result_clear_auto) PGresult *result = NULL;
    AUTO(result_clear_auto) PGresult *end = NULL;

    TRY(catalog_session_next(catalog, deadline_us, &result, err));
    ExecStatusType status = result != NULL ? PQresultStatus(result) : PGRES_FATAL_ERROR;
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        TRY(catalog_session_error(catalog, result, err));
    }
    TRY(catalog_session_next(catalog, deadline_us, &end, err));
    int64_t rows = strtoll(PQcmdTuples(result), NULL, 10);
    if (expected != CATALOG_ANY_ROWS && rows != expected) {
        return err_set(err, ERR_CONFLICT, "expected %" PRId64 " catalog rows to change but %" PRId64 " did", expected,
                       rows);
    }
    return OK;
}

/* Takes results up to the sync's own, whatever they are; the session is dropped where it never comes. */
static void drain_to_sync(struct catalog *catalog)
{
    int64_t deadline_us = catalog_session_deadline(catalog);
    bool synced = false;

    while (catalog->connection != NULL && !synced && clock_monotonic_us() < deadline_us) {
        AUTO(result_clear_auto) PGresult *result = NULL;
        if (catalog_session_next(catalog, deadline_us, &result, NULL) != OK) {
            break;
        }
        synced = PQresultStatus(result) == PGRES_PIPELINE_SYNC;
        if (PQstatus(catalog->connection) != CONNECTION_OK) {
            break;
        }
    }
    if (!synced || catalog->connection == NULL || PQexitPipelineMode(catalog->connection) == 0) {
        catalog_session_drop(catalog);
    }
}

enum err_code catalog_pipeline_finish(struct catalog_pipeline *pipeline_take, struct error *err)
{
    AUTO(catalog_pipeline_abort_auto) struct catalog_pipeline *pipeline = pipeline_take;
    struct catalog *catalog = pipeline->catalog;
    enum err_code code = OK;

    TRY(catalog_session_ensure(catalog, err));
    if (PQpipelineSync(catalog->connection) == 0) {
        return catalog_session_error(catalog, NULL, err);
    }
    for (size_t i = 0; i < pipeline->count && code == OK; i++) {
        code = take_answer(pipeline, pipeline->expected[i], err);
    }
    if (catalog->connection != NULL) {
        drain_to_sync(catalog);
    }
    pipeline->catalog->busy = false;
    pipeline->catalog = NULL;
    return code;
}

void catalog_pipeline_abort(struct catalog_pipeline *pipeline)
{
    if (pipeline == NULL) {
        return;
    }
    if (pipeline->catalog != NULL) {
        pipeline->catalog->busy = false;
        if (pipeline->catalog->connection != NULL &&
            PQpipelineStatus(pipeline->catalog->connection) != PQ_PIPELINE_OFF) {
            if (PQpipelineSync(pipeline->catalog->connection) != 0) {
                drain_to_sync(pipeline->catalog);
            } else {
                catalog_session_drop(pipeline->catalog);
            }
        }
    }
    free(pipeline->expected);
    free(pipeline);
}
