#include "common/catalog/leader.h"

#include <inttypes.h>

#include "common/catalog/internal.h"

/* Session locks: they outlive the transaction, and end with the session. */
static const char SQL_TRY[] = "select pg_try_advisory_lock(hashtextextended('granary.leader.' || $1, 0))";
static const char SQL_RESIGN[] = "select pg_advisory_unlock(hashtextextended('granary.leader.' || $1, 0))";

/* Waits for the fenced transactions of the former leader. */
static const char SQL_BEGIN_EPOCH[] =
    "insert into granary.leaders as l (name, epoch, holder) values ($1, 1, $2)"
    " on conflict (name) do update set epoch = l.epoch + 1, holder = excluded.holder, since = clock_timestamp()"
    " returning epoch";

/* Reads only. */
static const char SQL_CHECK[] = "select from granary.leaders where name = $1 and epoch = $2";

/* A row lock that other fenced transactions share and an election waits for. */
static const char SQL_FENCE[] = "select from granary.leaders where name = $1 and epoch = $2 for share";

enum err_code catalog_leader_try(struct catalog *catalog, const char *name, const char *holder, bool *out_leads,
                                 struct catalog_leadership *out, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *locked = NULL;
    AUTO(catalog_rows_free_auto) struct catalog_rows *epoch = NULL;
    TRY(catalog_query(catalog, SQL_TRY, CATALOG_VALUES(catalog_text(name)), &locked, err));
    if (!catalog_get_bool(locked, 0, 0)) {
        *out_leads = false;
        return OK;
    }
    uint64_t session = catalog_session(catalog);
    enum err_code code =
        catalog_query(catalog, SQL_BEGIN_EPOCH, CATALOG_VALUES(catalog_text(name), catalog_text(holder)), &epoch, err);
    if (code != OK) {
        (void)!catalog_leader_resign(catalog, name,
                                     NULL); /* a lock without an epoch would keep everybody from leading */
        return code;
    }
    if (catalog_session(catalog) != session) {
        return err_set(err, ERR_UNAVAILABLE, "could not become leader: the connection was lost during the election");
    }
    *out = (struct catalog_leadership){.epoch = catalog_get_i64(epoch, 0, 0), .session = session};
    *out_leads = true;
    return OK;
}

enum err_code catalog_leader_check(struct catalog *catalog, const char *name,
                                   const struct catalog_leadership *leadership, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog, SQL_CHECK, CATALOG_VALUES(catalog_text(name), catalog_i64(leadership->epoch)), &rows,
                      err));
    if (catalog_session(catalog) != leadership->session) {
        return err_set(err, ERR_CONFLICT, "expected to lead but the session that held the lock is gone");
    }
    if (catalog_rows_count(rows) != 1) {
        return err_set(err, ERR_CONFLICT, "expected to lead in epoch %" PRId64 " but a later one has begun",
                       leadership->epoch);
    }
    return OK;
}

enum err_code catalog_leader_resign(struct catalog *catalog, const char *name, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    return catalog_query(catalog, SQL_RESIGN, CATALOG_VALUES(catalog_text(name)), &rows, err);
}

enum err_code catalog_leader_fence(struct catalog_transaction *transaction, const char *name, int64_t epoch,
                                   struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog_in(transaction), SQL_FENCE, CATALOG_VALUES(catalog_text(name), catalog_i64(epoch)), &rows,
                      err));
    if (catalog_rows_count(rows) != 1) {
        return err_set(err, ERR_CONFLICT, "expected to lead in epoch %" PRId64 " but a later one has begun", epoch);
    }
    return OK;
}
