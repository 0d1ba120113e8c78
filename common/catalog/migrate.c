/* Migrations: forward only, each in a transaction of its own that first takes one advisory lock, so that several
 * processes may migrate at once and each change is made once. The lock is the transaction's, which a pooler respects. */
#include <inttypes.h>
#include <string.h>

#include "common/catalog/migrations.h"
#include "common/catalog/session.h"
#include "common/digest/digest.h"

#define MIGRATION_TIMEOUT_US CLOCK_HOUR_US

static const char SQL_PATIENCE[] = "set local lock_timeout = '10min'";
static const char SQL_NO_LIMIT[] = "set local statement_timeout = '1h'";
static const char SQL_LOCK[] = "select pg_advisory_xact_lock(7283000001)";
static const char SQL_SCHEMA[] = "create schema if not exists granary";
static const char SQL_TABLE[] = "create table if not exists granary.schema_migrations ("
                                "version int primary key, name text not null, sha256 bytea not null,"
                                " applied_at timestamptz not null default clock_timestamp())";
static const char SQL_EXISTS[] = "select to_regclass('granary.schema_migrations') is not null";
static const char SQL_APPLIED[] = "select name, sha256 from granary.schema_migrations where version = $1";
static const char SQL_LATEST[] = "select coalesce(max(version), 0) from granary.schema_migrations";
static const char SQL_RECORD[] = "insert into granary.schema_migrations (version, name, sha256) values ($1, $2, $3)";

static int newest_known(void)
{
    return catalog_migrations[catalog_migration_count - 1].version;
}

static enum err_code load_version(struct catalog *catalog, int32_t *out, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *exists = NULL;
    AUTO(catalog_rows_free_auto) struct catalog_rows *latest = NULL;

    TRY(catalog_query_one(catalog, SQL_EXISTS, CATALOG_NO_VALUES, "answer", &exists, err));
    if (!catalog_get_bool(exists, 0, 0)) {
        *out = 0;
        return OK;
    }
    TRY(catalog_query_one(catalog, SQL_LATEST, CATALOG_NO_VALUES, "version", &latest, err));
    *out = catalog_get_i32(latest, 0, 0);
    return OK;
}

static enum err_code refuse_newer(int32_t version, struct error *err)
{
    if (version > newest_known()) {
        return err_set(
            err, ERR_INVALID,
            "expected a catalog of version %d or older but found version %d; hint: this binary is older than "
            "the catalog, use a newer one",
            newest_known(), version);
    }
    return OK;
}

enum err_code catalog_check_version(struct catalog *catalog, struct error *err)
{
    int32_t version = 0;

    TRY(load_version(catalog, &version, err));
    if (version < newest_known()) {
        return err_set(err, ERR_UNAVAILABLE,
                       "expected a catalog of version %d or later but found version %d; hint: run \"granary migrate\"",
                       newest_known(), version);
    }
    return OK;
}

/* Several statements as one text, by the simple protocol. */
static enum err_code run_script(struct catalog *catalog, const char *text, struct error *err)
{
    int64_t deadline_us = clock_monotonic_us() + MIGRATION_TIMEOUT_US;

    if (PQsendQuery(catalog->connection, text) == 0) {
        return catalog_session_error(catalog, NULL, err);
    }
    for (;;) {
        AUTO(result_clear_auto) PGresult *result = NULL;
        TRY(catalog_session_next(catalog, deadline_us, &result, err));
        if (result == NULL) {
            return OK;
        }
        if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK) {
            enum err_code code = catalog_session_error(catalog, result, err);
            catalog_session_drain(catalog, deadline_us);
            return code;
        }
    }
}

/* A transaction that no other migration runs beside. */
static enum err_code begin_alone(struct catalog *catalog, struct catalog_transaction **out, struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    int64_t usual_us = catalog->answer_timeout_us;

    TRY(catalog_begin(catalog, &transaction, err));
    TRY(catalog_execute(catalog, SQL_PATIENCE, CATALOG_NO_VALUES, NULL, err));
    TRY(catalog_execute(catalog, SQL_NO_LIMIT, CATALOG_NO_VALUES, NULL, err));
    catalog->answer_timeout_us = MIGRATION_TIMEOUT_US;
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    enum err_code code = catalog_query(catalog, SQL_LOCK, CATALOG_NO_VALUES, &rows, err);
    catalog->answer_timeout_us = usual_us;
    TRY(code);
    *out = TAKE(transaction);
    return OK;
}

static enum err_code prepare(struct catalog *catalog, struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    int32_t version = 0;

    TRY(begin_alone(catalog, &transaction, err));
    TRY(load_version(catalog, &version, err));
    TRY(refuse_newer(version, err));
    if (version == 0) {
        TRY(catalog_execute(catalog, SQL_SCHEMA, CATALOG_NO_VALUES, NULL, err));
        TRY(catalog_execute(catalog, SQL_TABLE, CATALOG_NO_VALUES, NULL, err));
    }
    return catalog_commit(TAKE(transaction), err);
}

static enum err_code check_unchanged(const struct catalog_rows *rows, const struct catalog_migration *migration,
                                     const uint8_t *sha256, struct error *err)
{
    struct catalog_bytes applied = catalog_get_bytes(rows, 0, 1);
    if (applied.length != DIGEST_SHA256_BYTES || memcmp(applied.data, sha256, DIGEST_SHA256_BYTES) != 0) {
        return err_set(
            err, ERR_INVALID,
            "expected migration %d \"%s\" as it was applied but its text differs; hint: migrations never change: "
            "undo the change and put it into a new one",
            migration->version, migration->name);
    }
    return OK;
}

static enum err_code apply(struct catalog *catalog, const struct catalog_migration *migration, bool *out_applied,
                           struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    uint8_t sha256[DIGEST_SHA256_BYTES];

    digest_sha256(migration->text, migration->length, sha256);
    TRY(begin_alone(catalog, &transaction, err));
    TRY(catalog_query(catalog, SQL_APPLIED, CATALOG_VALUES(catalog_i32(migration->version)), &rows, err));
    if (catalog_rows_count(rows) == 1) {
        *out_applied = false;
        return check_unchanged(rows, migration, sha256, err);
    }
    enum err_code code = run_script(catalog, migration->text, err);
    if (code != OK) {
        (void)err_wrap(err, "migration %d \"%s\"", migration->version, migration->name);
        return code;
    }
    TRY(catalog_execute_expect(transaction, SQL_RECORD,
                               CATALOG_VALUES(catalog_i32(migration->version), catalog_text(migration->name),
                                              catalog_bytes(sha256, sizeof sha256)),
                               1, err));
    *out_applied = true;
    return catalog_commit(TAKE(transaction), err);
}

enum err_code catalog_migrate(struct catalog *catalog, catalog_migrate_progress *progress, void *context,
                              struct error *err)
{
    TRY(prepare(catalog, err));
    for (size_t i = 0; i < catalog_migration_count; i++) {
        bool applied = false;
        TRY(apply(catalog, &catalog_migrations[i], &applied, err));
        if (progress != NULL) {
            progress(context, catalog_migrations[i].version, catalog_migrations[i].name, applied);
        }
    }
    return OK;
}
