/* The session with PostgreSQL: what the core of this module (connection, statements, transactions) shares. The one home
 * of libpq's header; the files of the aggregates see internal.h only. */
#ifndef GRANARY_CATALOG_SESSION_H
#define GRANARY_CATALOG_SESSION_H

#include <libpq-fe.h>

#include "common/base/buf.h"
#include "common/catalog/internal.h"

struct catalog {
    char *url, *password, *application_name, *session_options;
    int64_t connect_timeout_us, answer_timeout_us;
    PGconn *connection; /* NULL: not connected */
    uint64_t session;
    bool in_transaction; /* from BEGIN until COMMIT or ROLLBACK has been answered, or the connection is lost */
    bool busy;           /* a stream or a pipeline owns the connection */
};

/* What a lost connection means while a statement is under way. */
enum session_loss { LOSS_UNAVAILABLE, LOSS_UNKNOWN };

/* Connected, or inside of a transaction that has not lost its connection. */
MUST_CHECK enum err_code catalog_session_ensure(struct catalog *catalog, struct error *err);
void catalog_session_drop(struct catalog *catalog);
/* The next result of the statement under way, NULL when it is over; waits no longer than until deadline (monotonic). */
MUST_CHECK enum err_code catalog_session_next(struct catalog *catalog, int64_t deadline_us, PGresult **out,
                                              struct error *err);
/* Takes in and throws away all results until the statement is over, dropping the session where that fails. */
void catalog_session_drain(struct catalog *catalog, int64_t deadline_us);
int64_t catalog_session_deadline(const struct catalog *catalog);
/* Error of a failed result (or, with NULL, of the connection); drops the session where it is lost. */
enum err_code catalog_session_error(struct catalog *catalog, const PGresult *result, struct error *err);
/* ERR_UNAVAILABLE and ERR_TIMEOUT of a lost session become ERR_UNKNOWN. */
enum err_code catalog_session_uncertain(enum err_code code, struct error *err);

/* Parameters as libpq wants them; the arrays point into `memory`. */
struct session_parameters {
    size_t count;
    Oid types[CATALOG_MAX_VALUES];
    const char *values[CATALOG_MAX_VALUES];
    int lengths[CATALOG_MAX_VALUES];
    int formats[CATALOG_MAX_VALUES];
    struct buf memory;
};
void catalog_parameters_done(struct session_parameters *parameters);
MUST_CHECK enum err_code catalog_parameters_encode(struct session_parameters *parameters,
                                                   const struct catalog_value *values, size_t count, struct error *err);

/* Sends one unnamed statement; its results are then taken with catalog_session_next. */
MUST_CHECK enum err_code catalog_session_send(struct catalog *catalog, const char *sql,
                                              const struct catalog_value *values, size_t value_count,
                                              struct error *err);
/* Sends, and takes the one result (owned by the caller): tuples or a command tag. */
MUST_CHECK enum err_code catalog_session_run(struct catalog *catalog, const char *sql,
                                             const struct catalog_value *values, size_t value_count, PGresult **out,
                                             struct error *err);

struct catalog_rows {
    PGresult *result;
};
MUST_CHECK enum err_code catalog_rows_wrap(PGresult *result_take, struct catalog_rows **out, struct error *err);

/* PostgreSQL's type codes (pg_type.dat), stable by its wire protocol. */
enum session_oid {
    OID_BOOL = 16,
    OID_BYTEA = 17,
    OID_INT8 = 20,
    OID_INT4 = 23,
    OID_TEXT = 25,
    OID_JSON = 114,
    OID_FLOAT8 = 701,
    OID_TIMESTAMPTZ = 1184,
    OID_INTERVAL = 1186,
    OID_UUID = 2950,
    OID_JSONB = 3802,
};
/* 2000-01-01, PostgreSQL's epoch, in ours; the first microsecond that it has (4713 BC), in ours; its infinities. */
#define SESSION_EPOCH_US INT64_C(946684800000000)
#define SESSION_FIRST_US INT64_C(-210866803200000000)

static inline void result_clear_auto(PGresult **result)
{
    PQclear(*result);
}

#endif
