#include <assert.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/fault.h"
#include "common/catalog/session.h"

struct catalog_transaction {
    struct catalog *catalog;
    uint64_t xid; /* 0: not asked for */
};

struct catalog *catalog_in(struct catalog_transaction *transaction)
{
    return transaction->catalog;
}

/* One command without parameters; the tag of its answer must be `tag`. */
static enum err_code command(struct catalog *catalog, const char *sql, const char *tag, struct error *err)
{
    AUTO(result_clear_auto) PGresult *result = NULL;

    TRY(catalog_session_run(catalog, sql, NULL, 0, &result, err));
    if (strcmp(PQcmdStatus(result), tag) != 0) { /* COMMIT of a failed transaction answers ROLLBACK */
        return err_set(err, ERR_CONFLICT,
                       "expected the catalog to answer \"%s\" but it answered \"%s\"; hint: an earlier "
                       "statement of the transaction failed",
                       tag, PQcmdStatus(result));
    }
    return OK;
}

static enum err_code begin(struct catalog *catalog, const char *sql, struct catalog_transaction **out,
                           struct error *err)
{
    assert(!catalog->in_transaction);
    TRY(catalog_session_ensure(catalog, err));
    struct catalog_transaction *transaction = calloc(1, sizeof *transaction);
    if (transaction == NULL) {
        return err_no_memory(err, sizeof *transaction);
    }
    enum err_code code = command(catalog, sql, "BEGIN", err);
    if (code != OK) {
        free(transaction);
        return code;
    }
    catalog->in_transaction = true;
    transaction->catalog = catalog;
    *out = transaction;
    return OK;
}

enum err_code catalog_begin(struct catalog *catalog, struct catalog_transaction **out, struct error *err)
{
    return begin(catalog, "begin isolation level read committed", out, err);
}

enum err_code catalog_begin_snapshot(struct catalog *catalog, struct catalog_transaction **out, struct error *err)
{
    return begin(catalog, "begin isolation level repeatable read read only", out, err);
}

/* Test builds: the connection breaks, as a network does. */
static void break_connection(struct catalog *catalog)
{
    if (catalog->connection != NULL) {
        (void)shutdown(PQsocket(catalog->connection), SHUT_RDWR);
    }
}

enum err_code catalog_commit(struct catalog_transaction *transaction_take, struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = transaction_take;
    struct catalog *catalog = transaction->catalog;

    TRY(catalog_session_ensure(catalog, err)); /* lost before: nothing was committed */
    FAULT_POINT("catalog.before_commit");
    if (FAULT_FAIL("catalog.commit_never_sent")) {
        break_connection(catalog);
    }
    enum err_code code = command(catalog, "commit", "COMMIT", err);
    if (code == OK && FAULT_FAIL("catalog.commit_lost")) {
        break_connection(catalog);
        code = command(catalog, "select 1", "SELECT 1", err);
    }
    FAULT_POINT("catalog.after_commit");
    if (catalog->connection == NULL) { /* no answer, or the server went while it answered */
        return catalog_session_uncertain(code, err);
    }
    catalog->in_transaction = false; /* committed, or refused and so rolled back */
    return code;
}

void catalog_rollback(struct catalog_transaction *transaction_take)
{
    if (transaction_take == NULL) {
        return;
    }
    struct catalog *catalog = transaction_take->catalog;
    if (catalog->in_transaction && catalog->connection != NULL &&
        command(catalog, "rollback", "ROLLBACK", NULL) != OK) {
        catalog_session_drop(catalog); /* the server rolls back what its session leaves behind */
    }
    catalog->in_transaction = false;
    free(transaction_take);
}

enum err_code catalog_transaction_id(struct catalog_transaction *transaction, uint64_t *out_xid, struct error *err)
{
    static const char SQL[] = "select pg_current_xact_id()::text";
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;

    if (transaction->xid == 0) {
        TRY(catalog_query_one(transaction->catalog, SQL, CATALOG_NO_VALUES, "transaction id", &rows, err));
        transaction->xid = strtoull(catalog_get_text(rows, 0, 0), NULL, 10);
    }
    *out_xid = transaction->xid;
    return OK;
}

enum outcome { OUTCOME_PENDING, OUTCOME_COMMITTED, OUTCOME_ABORTED };

static enum err_code ask_outcome(struct catalog *catalog, uint64_t xid, enum outcome *out, struct error *err)
{
    /* null: so old that the server has forgotten it */
    static const char SQL[] = "select coalesce(pg_xact_status($1::text::xid8), '')";
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRIu64, xid);
    TRY(catalog_query_one(catalog, SQL, CATALOG_VALUES(catalog_text(text)), "transaction", &rows, err));
    const char *status = catalog_get_text(rows, 0, 0);
    if (strcmp(status, "in progress") == 0) {
        *out = OUTCOME_PENDING;
    } else if (strcmp(status, "committed") == 0 || strcmp(status, "aborted") == 0) {
        *out = status[0] == 'c' ? OUTCOME_COMMITTED : OUTCOME_ABORTED;
    } else {
        return err_set(err, ERR_NOT_FOUND, "expected the catalog to know transaction %" PRIu64 " but it is too old",
                       xid);
    }
    return OK;
}

enum err_code catalog_transaction_outcome(struct catalog *catalog, uint64_t xid, int64_t timeout_us,
                                          bool *out_committed, struct error *err)
{
    enum { FIRST_WAIT_MS = 5, LAST_WAIT_MS = 500 };
    int64_t deadline_us = clock_monotonic_us() + timeout_us;
    enum outcome outcome = OUTCOME_PENDING;

    for (int wait_ms = FIRST_WAIT_MS;; wait_ms = wait_ms * 2 < LAST_WAIT_MS ? wait_ms * 2 : LAST_WAIT_MS) {
        enum err_code code = ask_outcome(catalog, xid, &outcome, err);
        if (code == OK && outcome != OUTCOME_PENDING) {
            *out_committed = outcome == OUTCOME_COMMITTED;
            return OK;
        }
        if (code != OK && code != ERR_UNAVAILABLE && code != ERR_TIMEOUT) {
            return code;
        }
        if (clock_monotonic_us() + wait_ms * INT64_C(1000) > deadline_us) {
            return code != OK
                       ? code
                       : err_set(err, ERR_TIMEOUT, "transaction %" PRIu64 " is still in progress after %" PRId64 " ms",
                                 xid, timeout_us / 1000);
        }
        (void)poll(NULL, 0, wait_ms);
    }
}

/* A statement of its own: what the transaction reads after it has a snapshot from after the wait. */
enum err_code catalog_fence_shared(struct catalog_transaction *transaction, const struct uuid *table_id,
                                   struct error *err)
{
    static const char SQL[] = "select pg_advisory_xact_lock_shared(granary.table_fence($1))";
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    return catalog_query(transaction->catalog, SQL, CATALOG_VALUES(catalog_uuid(table_id)), &rows, err);
}

enum err_code catalog_fence_exclusive(struct catalog_transaction *transaction, const struct uuid *table_id,
                                      struct error *err)
{
    static const char SQL[] = "select pg_advisory_xact_lock(granary.table_fence($1))";
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    return catalog_query(transaction->catalog, SQL, CATALOG_VALUES(catalog_uuid(table_id)), &rows, err);
}
