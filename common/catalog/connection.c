#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/catalog/session.h"

enum {
    DEFAULT_CONNECT_TIMEOUT_S = 5,
    DEFAULT_STATEMENT_TIMEOUT_S = 60,
    DEFAULT_LOCK_TIMEOUT_S = 5,
    IDLE_IN_TRANSACTION_S = 60, /* a process that was stopped must not keep locks for longer */
    ANSWER_GRACE_S = 10,        /* beyond statement_timeout: a server that does not even say that is gone */
};
/* A peer that vanished is noticed after 10 + 3 * 5 s when idle, after 20 s while something is unacknowledged. */
#define KEEPALIVES_IDLE_S     "10"
#define KEEPALIVES_INTERVAL_S "5"
#define KEEPALIVES_COUNT      "3"
#define UNACKNOWLEDGED_MS     "20000"

static int64_t or_seconds(int64_t time_us, int64_t seconds)
{
    return time_us > 0 ? time_us : seconds * CLOCK_SECOND_US;
}

/* `options` of the session: the user's own from the connection string, then ours. No jit: it takes longer to compile our
 * statements than to run them. Pages come as fast at random as in order (memory or flash): otherwise a batch of a few
 * thousand partitions is joined by reading the whole table. */
static enum err_code make_options(const struct catalog_options *options, char **out, struct error *err)
{
    char *parse_error = NULL;
    const char *own = "";
    int64_t statement_ms = or_seconds(options->statement_timeout_us, DEFAULT_STATEMENT_TIMEOUT_S) / 1000;
    int64_t lock_ms = or_seconds(options->lock_timeout_us, DEFAULT_LOCK_TIMEOUT_S) / 1000;

    PQconninfoOption *parsed = PQconninfoParse(options->url, &parse_error);
    if (parsed == NULL) {
        enum err_code code = err_set(err, ERR_INVALID, "expected a connection string of PostgreSQL but found: %s",
                                     parse_error != NULL ? parse_error : "no memory");
        PQfreemem(parse_error);
        return code;
    }
    for (const PQconninfoOption *option = parsed; option->keyword != NULL; option++) {
        if (strcmp(option->keyword, "options") == 0 && option->val != NULL) {
            own = option->val;
        }
    }
    int length = asprintf(out,
                          "%s -c search_path= -c timezone=UTC -c statement_timeout=%" PRId64 " -c lock_timeout=%" PRId64
                          " -c idle_in_transaction_session_timeout=%d -c jit=off -c random_page_cost=1.1",
                          own, statement_ms, lock_ms, IDLE_IN_TRANSACTION_S * 1000);
    PQconninfoFree(parsed);
    if (length < 0) {
        *out = NULL;
        return err_no_memory(err, 256);
    }
    return OK;
}

enum err_code catalog_open(const struct catalog_options *options, struct catalog **out, struct error *err)
{
    AUTO(catalog_close_auto) struct catalog *catalog = calloc(1, sizeof *catalog);

    if (catalog == NULL) {
        return err_no_memory(err, sizeof *catalog);
    }
    TRY(make_options(options, &catalog->session_options, err));
    catalog->url = strdup(options->url);
    catalog->password = strdup(options->password != NULL ? options->password : "");
    catalog->application_name = strdup(options->application_name != NULL ? options->application_name : "granary");
    if (catalog->url == NULL || catalog->password == NULL || catalog->application_name == NULL) {
        return err_no_memory(err, strlen(options->url));
    }
    catalog->connect_timeout_us = or_seconds(options->connect_timeout_us, DEFAULT_CONNECT_TIMEOUT_S);
    catalog->answer_timeout_us =
        or_seconds(options->statement_timeout_us, DEFAULT_STATEMENT_TIMEOUT_S) + ANSWER_GRACE_S * CLOCK_SECOND_US;
    *out = TAKE(catalog);
    return OK;
}

void catalog_close(struct catalog *catalog)
{
    if (catalog != NULL) {
        catalog_session_drop(catalog);
        free(catalog->url);
        if (catalog->password != NULL) {
            explicit_bzero(catalog->password, strlen(catalog->password));
        }
        free(catalog->password);
        free(catalog->application_name);
        free(catalog->session_options);
        free(catalog);
    }
}

void catalog_session_drop(struct catalog *catalog)
{
    PQfinish(catalog->connection);
    catalog->connection = NULL;
}

uint64_t catalog_session(const struct catalog *catalog)
{
    return catalog->session;
}

static void ignore_notice(void *context, const char *text)
{
    (void)context; /* libpq would print it */
    (void)text;
}

static enum err_code connect_now(struct catalog *catalog, struct error *err)
{
    char timeout_s[24];
    (void)snprintf(timeout_s, sizeof timeout_s, "%" PRId64, (catalog->connect_timeout_us + 999999) / CLOCK_SECOND_US);
    /* later ones win over what the connection string in dbname says; an empty one counts as not given */
    const char *const keywords[] = {"dbname",           "password",         "application_name",
                                    "connect_timeout",  "options",          "client_encoding",
                                    "keepalives",       "keepalives_idle",  "keepalives_interval",
                                    "keepalives_count", "tcp_user_timeout", NULL};
    const char *const values[] = {
        catalog->url, catalog->password, catalog->application_name, timeout_s,        catalog->session_options, "UTF8",
        "1",          KEEPALIVES_IDLE_S, KEEPALIVES_INTERVAL_S,     KEEPALIVES_COUNT, UNACKNOWLEDGED_MS,        NULL};

    catalog->connection = PQconnectdbParams(keywords, values, 1);
    if (catalog->connection == NULL) {
        return err_no_memory(err, 4096);
    }
    if (PQstatus(catalog->connection) != CONNECTION_OK) {
        const char *text = PQerrorMessage(catalog->connection);
        enum err_code code = err_set(err, PQconnectionNeedsPassword(catalog->connection) ? ERR_DENIED : ERR_UNAVAILABLE,
                                     "could not connect to the catalog: %.*s", (int)strcspn(text, "\n"), text);
        catalog_session_drop(catalog);
        return code;
    }
    (void)PQsetNoticeProcessor(catalog->connection, ignore_notice, NULL);
    catalog->session++;
    return OK;
}

/* Has the server ended an idle session? What it said on leaving is waiting at the socket. */
static bool is_gone(PGconn *connection)
{
    struct pollfd ready = {.fd = PQsocket(connection), .events = POLLIN};
    while (PQstatus(connection) == CONNECTION_OK && poll(&ready, 1, 0) > 0) {
        if (PQconsumeInput(connection) == 0) {
            return true;
        }
    }
    return PQstatus(connection) != CONNECTION_OK;
}

enum err_code catalog_session_ensure(struct catalog *catalog, struct error *err)
{
    if (catalog->in_transaction) {
        return catalog->connection != NULL
                   ? OK
                   : err_set(err, ERR_UNAVAILABLE, "the connection to the catalog was lost within the transaction");
    }
    if (catalog->connection != NULL && is_gone(catalog->connection)) {
        catalog_session_drop(catalog);
    }
    return catalog->connection != NULL ? OK : connect_now(catalog, err);
}

int64_t catalog_session_deadline(const struct catalog *catalog)
{
    return clock_monotonic_us() + catalog->answer_timeout_us;
}

static enum err_code wait_input(struct catalog *catalog, int64_t deadline_us, struct error *err)
{
    struct pollfd ready = {.fd = PQsocket(catalog->connection), .events = POLLIN};
    int64_t left_us = deadline_us - clock_monotonic_us();
    int count = left_us > 0 ? poll(&ready, 1, (int)((left_us + 999) / 1000)) : 0;

    if (count < 0 && errno == EINTR) {
        return OK;
    }
    if (count <= 0) {
        catalog_session_drop(catalog);
        return err_set(err, ERR_UNAVAILABLE, "expected an answer of the catalog within %" PRId64 " s but none came",
                       catalog->answer_timeout_us / CLOCK_SECOND_US);
    }
    return PQconsumeInput(catalog->connection) != 0 ? OK : catalog_session_error(catalog, NULL, err);
}

enum err_code catalog_session_next(struct catalog *catalog, int64_t deadline_us, PGresult **out, struct error *err)
{
    while (PQisBusy(catalog->connection)) {
        TRY(wait_input(catalog, deadline_us, err));
    }
    *out = PQgetResult(catalog->connection);
    return OK;
}

void catalog_session_drain(struct catalog *catalog, int64_t deadline_us)
{
    while (catalog->connection != NULL) {
        PGresult *result = NULL;
        if (catalog_session_next(catalog, deadline_us, &result, NULL) != OK || result == NULL) {
            return;
        }
        PQclear(result);
    }
}

enum err_code catalog_ping(struct catalog *catalog, struct error *err)
{
    static const char SQL[] = "select 1";
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    return catalog_query(catalog, SQL, CATALOG_NO_VALUES, &rows, err);
}

enum err_code catalog_now(struct catalog *catalog, int64_t *out_us, struct error *err)
{
    static const char SQL[] = "select clock_timestamp()";
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query_one(catalog, SQL, CATALOG_NO_VALUES, "clock", &rows, err));
    *out_us = catalog_get_timestamp(rows, 0, 0);
    return OK;
}
