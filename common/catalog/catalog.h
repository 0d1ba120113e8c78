/* The catalog's connection: PostgreSQL through libpq (its one home). A connection belongs to one thread at a time, is
 * opened lazily, and is opened again after a loss (every operation first sees to it). Sessions set search_path = '',
 * timezone UTC, lock_timeout, statement_timeout and idle_in_transaction_session_timeout, by `options` at connecting: a
 * pooler must pass those on, or be told to ignore them and the role be given the same settings. One file per aggregate
 * beside this one holds the SQL, as named constants. Operations run in the transaction that is open on the catalog.
 *
 * Errors: connection lost outside COMMIT, admin shutdown, too many connections: ERR_UNAVAILABLE; during COMMIT:
 * ERR_UNKNOWN; lock or statement time-out: ERR_TIMEOUT; deadlock, serialization: ERR_CONFLICT; GR001 (guard), GR002
 * (lease): ERR_CONFLICT; unique violation: ERR_CONFLICT; privilege: ERR_DENIED; the rest ERR_INVALID. */
#ifndef GRANARY_CATALOG_CATALOG_H
#define GRANARY_CATALOG_CATALOG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/base/uuid.h"
#include "common/lifecycle/records.h"

struct catalog;

struct catalog_options {
    const char *url;      /* libpq connection string or URI; copied */
    const char *password; /* "" for none; copied */
    const char *application_name;
    int64_t connect_timeout_us;   /* 0: 5 s */
    int64_t statement_timeout_us; /* 0: 60 s */
    int64_t lock_timeout_us;      /* 0: 5 s */
};
MUST_CHECK enum err_code catalog_open(const struct catalog_options *options, struct catalog **out, struct error *err);
void catalog_close(struct catalog *catalog);
DEFINE_AUTO(struct catalog, catalog_close)

/* Really asks (select 1), connecting where needed. */
MUST_CHECK enum err_code catalog_ping(struct catalog *catalog, struct error *err);
/* The database's clock, microseconds since the epoch. */
MUST_CHECK enum err_code catalog_now(struct catalog *catalog, int64_t *out_us, struct error *err);
/* Really asks. ERR_UNAVAILABLE with a hint while the schema is older than this binary needs. A newer one is fine: migrations
 * keep what the release before uses, so that services can be replaced one by one. */
MUST_CHECK enum err_code catalog_check_version(struct catalog *catalog, struct error *err);

/* --- transactions: AUTO(catalog_rollback_auto) rolls back unless committed ---------------------------------------- */
struct catalog_transaction;
MUST_CHECK enum err_code catalog_begin(struct catalog *catalog, struct catalog_transaction **out, struct error *err);
/* Read only, and every statement sees the catalog as it was at the first: for reads that go over several pages. */
MUST_CHECK enum err_code catalog_begin_snapshot(struct catalog *catalog, struct catalog_transaction **out,
                                                struct error *err);
/* Consumes the transaction. ERR_UNKNOWN: the answer was lost; ask catalog_transaction_outcome before doing anything
 * that only one of the two outcomes allows. */
MUST_CHECK enum err_code catalog_commit(struct catalog_transaction *transaction_take, struct error *err);
void catalog_rollback(struct catalog_transaction *transaction_take);
DEFINE_AUTO(struct catalog_transaction, catalog_rollback)
/* The transaction's xid8, assigned on first ask; 0 without one. For the question below. */
MUST_CHECK enum err_code catalog_transaction_id(struct catalog_transaction *transaction, uint64_t *out_xid,
                                                struct error *err);
/* Asks pg_xact_status over a new connection until it is no longer "in progress", up to timeout. ERR_UNAVAILABLE or
 * ERR_TIMEOUT: still not known. */
MUST_CHECK enum err_code catalog_transaction_outcome(struct catalog *catalog, uint64_t xid, int64_t timeout_us,
                                                     bool *out_committed, struct error *err);
/* The table fence, as a statement of its own, first in the transaction. */
MUST_CHECK enum err_code catalog_fence_shared(struct catalog_transaction *transaction, const struct uuid *table_id,
                                              struct error *err);
MUST_CHECK enum err_code catalog_fence_exclusive(struct catalog_transaction *transaction, const struct uuid *table_id,
                                                 struct error *err);

/* --- migrations -------------------------------------------------------------------------------------------------- */
typedef void catalog_migrate_progress(void *context, int version, const char *name, bool applied);
MUST_CHECK enum err_code catalog_migrate(struct catalog *catalog, catalog_migrate_progress *progress, void *context,
                                         struct error *err);

#endif
