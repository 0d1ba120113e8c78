/* Changes of tables. Lock order in a transaction: fences by table id, then the rows of tables, a parent before its
 * companion. */
#include <stdio.h>
#include <string.h>

#include "common/catalog/audit.h"
#include "common/catalog/tables_private.h"

static const char SQL_INSERT[] =
    "insert into granary.tables (table_id, project, name, kind, parent_id, schema_version, settings, created_by)"
    " values ($1, $5, $6, case when $7::uuid is null then 'user' else 'rejects' end, $7, 1,"
    " jsonb_object($3::text[], $4::text[]) - $2::text[], $8)";
static const char SQL_INSERT_SCHEMA[] =
    "insert into granary.table_schemas (table_id, version, definition) values ($1, $2, $3)";
static const char SQL_SET_SCHEMA[] = "update granary.tables set schema_version = $3, version = version + 1"
                                     " where table_id = $1 and schema_version = $2 and dropped_at is null";
static const char SQL_SET_SETTINGS[] =
    "update granary.tables set settings = " SQL_SETTINGS_CHANGE ", version = version + 1 where table_id = $1";
static const char SQL_SET_RETENTION[] = "update granary.tables set retention_previous_us = $2,"
                                        " retention_effective_at = $3 where table_id = $1";
static const char SQL_WITH_COMPANION[] =
    "select table_id, kind = 'rejects' and table_id = $1 from granary.tables"
    " where (table_id = $1 or parent_id = $1) and dropped_at is null order by table_id";
static const char SQL_HOLDS[] = "select count(*) from granary.holds h join granary.tables t on t.table_id = h.table_id"
                                " where (t.table_id = $1 or t.parent_id = $1) and h.released_at is null";
static const char SQL_DROP[] = "update granary.tables set dropped_at = clock_timestamp(), dropped_by = $2,"
                               " version = version + 1 where (table_id = $1 or parent_id = $1) and dropped_at is null";

/* --- create ------------------------------------------------------------------------------------------------------ */

static enum err_code insert_table(struct catalog_transaction *transaction, const struct catalog_table_new *new_table,
                                  const struct uuid *table_id, const struct uuid *parent_id, const char *name,
                                  const struct settings_arrays *settings, const char *schema_json, struct error *err)
{
    enum err_code code = catalog_execute_expect(transaction, SQL_INSERT,
                                                CATALOG_VALUES(catalog_uuid(table_id), SETTINGS_ARRAY_VALUES(settings),
                                                               catalog_text(new_table->project), catalog_text(name),
                                                               catalog_uuid(parent_id), catalog_text(new_table->actor)),
                                                1, err);
    if (code == ERR_CONFLICT) {
        return err_set(err, ERR_CONFLICT, "table \"%s.%s\" exists already", new_table->project, name);
    }
    TRY(code);
    return catalog_execute_expect(transaction, SQL_INSERT_SCHEMA,
                                  CATALOG_VALUES(catalog_uuid(table_id), catalog_i32(1), catalog_json(schema_json)), 1,
                                  err);
}

/* The companion keeps its rows as long as its parent's rejects.max_age says. */
static enum err_code insert_companion(struct catalog_transaction *transaction, const struct catalog_table_new *table,
                                      struct arena *arena, struct error *err)
{
    struct table_record parent;
    struct settings_arrays settings;
    char max_age[CLOCK_TEXT_BYTES];
    char name[80];

    TRY(catalog_table_lock(transaction, &table->table_id, arena, &parent, err));
    (void)clock_format_duration(parent.settings.rejects_max_age_us, max_age);
    TRY(catalog_settings_arrays(&(struct catalog_setting){"age.max_age", max_age}, 1, arena, &settings, err));
    (void)snprintf(name, sizeof name, "%.64s$rejects", table->name);
    return insert_table(transaction, table, &table->rejects_id, &table->table_id, name, &settings,
                        table->rejects_schema_json, err);
}

static enum err_code record_settings(struct catalog_transaction *transaction, const char *action, const char *actor,
                                     const struct uuid *table_id, const struct settings_arrays *settings,
                                     struct error *err)
{
    AUTO(free_auto) char *details = NULL;
    TRY(catalog_settings_describe(settings, &details, err));
    return catalog_audit_record(
        transaction,
        &(struct catalog_audit){.actor = actor, .action = action, .table_id = table_id, .details_json = details}, err);
}

enum err_code catalog_table_create(struct catalog *catalog, const struct catalog_table_new *table, struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct settings_arrays settings;

    if (arena == NULL) {
        return err_no_memory(err, 4096);
    }
    TRY(catalog_settings_arrays(table->settings, table->setting_count, arena, &settings, err));
    TRY(catalog_begin(catalog, &transaction, err));
    TRY(catalog_settings_check_storages(catalog, &settings, err));
    TRY(insert_table(transaction, table, &table->table_id, NULL, table->name, &settings, table->schema_json, err));
    TRY(insert_companion(transaction, table, arena, err));
    TRY(record_settings(transaction, "table.create", table->actor, &table->table_id, &settings, err));
    return catalog_commit(TAKE(transaction), err);
}

enum err_code catalog_table_add_schema(struct catalog *catalog, const struct uuid *table_id, int32_t latest,
                                       const char *schema_json, const char *actor, struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    char details[48];

    if (latest < 1 || latest == INT32_MAX) {
        return err_set(err, ERR_INVALID, "expected the latest version of the schema but found %d", latest);
    }
    (void)snprintf(details, sizeof details, "{\"version\":%d}", latest + 1);
    TRY(catalog_begin(catalog, &transaction, err));
    if (catalog_execute_expect(transaction, SQL_SET_SCHEMA,
                               CATALOG_VALUES(catalog_uuid(table_id), catalog_i32(latest), catalog_i32(latest + 1)), 1,
                               err) != OK) {
        return err_wrap(err, "schema %d is not the latest of the table", latest);
    }
    TRY(catalog_execute_expect(
        transaction, SQL_INSERT_SCHEMA,
        CATALOG_VALUES(catalog_uuid(table_id), catalog_i32(latest + 1), catalog_json(schema_json)), 1, err));
    TRY(catalog_audit_record(
        transaction,
        &(struct catalog_audit){
            .actor = actor, .action = "table.schema", .table_id = table_id, .details_json = details},
        err));
    return catalog_commit(TAKE(transaction), err);
}

/* --- settings ---------------------------------------------------------------------------------------------------- */

enum err_code catalog_table_follow_retention(struct catalog_transaction *transaction, const struct table_record *before,
                                             const struct table_record *after, struct error *err)
{
    int64_t wanted_us = after->settings.age_max_age_us;

    if (before->settings.age_max_age_us == wanted_us) {
        return OK; /* another change must not start a cooling anew */
    }
    int64_t now_us = 0;
    TRY(catalog_now(catalog_in(transaction), &now_us, err));
    /* by the cooling that counted before: shortening it in the same breath does not help */
    struct retention_change change =
        retention_plan_change(before->retention_us, wanted_us, before->settings.retention_cooling_us, now_us);
    return catalog_execute_expect(
        transaction, SQL_SET_RETENTION,
        CATALOG_VALUES(catalog_uuid(&after->table_id),
                       change.has_previous ? catalog_i64(change.previous_us) : catalog_null(CATALOG_INT64),
                       change.has_previous ? catalog_bound(change.effective_at_us) : catalog_null(CATALOG_BOUND)),
        1, err);
}

/* Changes one table whose row is locked, and reads it again. */
static enum err_code change_settings(struct catalog_transaction *transaction, const struct table_record *before,
                                     const struct settings_arrays *settings, struct arena *arena,
                                     struct table_record *out, struct error *err)
{
    struct table_record after;

    TRY(catalog_settings_check_storages(catalog_in(transaction), settings, err));
    TRY(catalog_execute_expect(transaction, SQL_SET_SETTINGS,
                               CATALOG_VALUES(catalog_uuid(&before->table_id), SETTINGS_ARRAY_VALUES(settings)), 1,
                               err));
    TRY(catalog_table_load(catalog_in(transaction), &before->table_id, arena, &after, err));
    TRY(catalog_table_follow_retention(transaction, before, &after, err));
    return catalog_table_load(catalog_in(transaction), &before->table_id, arena, out, err);
}

/* rejects.max_age of the parent is age.max_age of the companion. */
static enum err_code change_companion(struct catalog_transaction *transaction, const struct table_record *parent,
                                      struct arena *arena, struct error *err)
{
    struct table_record companion;
    struct settings_arrays settings;
    char max_age[CLOCK_TEXT_BYTES];

    enum err_code code = catalog_table_load_rejects(catalog_in(transaction), &parent->table_id, arena, &companion, err);
    if (code == ERR_NOT_FOUND) {
        return OK; /* a rejects table has none */
    }
    TRY(code);
    TRY(catalog_table_lock(transaction, &companion.table_id, arena, &companion, err));
    (void)clock_format_duration(parent->settings.rejects_max_age_us, max_age);
    TRY(catalog_settings_arrays(&(struct catalog_setting){"age.max_age", max_age}, 1, arena, &settings, err));
    return change_settings(transaction, &companion, &settings, arena, &companion, err);
}

enum err_code catalog_table_set(struct catalog *catalog, const struct catalog_table_change *change, struct arena *arena,
                                struct table_record *out, struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    struct settings_arrays settings;
    struct table_record before;
    struct table_record after;

    TRY(catalog_settings_arrays(change->settings, change->setting_count, arena, &settings, err));
    TRY(catalog_begin(catalog, &transaction, err));
    TRY(catalog_table_lock(transaction, &change->table_id, arena, &before, err));
    if (change->version != 0 && change->version != before.version) {
        return err_set(err, ERR_CONFLICT,
                       "expected version %lld of table \"%s.%s\" but found %lld; hint: load it again",
                       (long long)change->version, before.project, before.name, (long long)before.version);
    }
    TRY(change_settings(transaction, &before, &settings, arena, &after, err));
    if (before.settings.rejects_max_age_us != after.settings.rejects_max_age_us) {
        TRY(change_companion(transaction, &after, arena, err));
    }
    TRY(record_settings(transaction, "table.set", change->actor, &change->table_id, &settings, err));
    if (!change->dry_run) {
        TRY(catalog_commit(TAKE(transaction), err));
    }
    *out = after;
    return OK;
}

/* --- drop -------------------------------------------------------------------------------------------------------- */

/* Under the fences: no hold can be placed between this look and the drop. */
static enum err_code refuse_held(struct catalog *catalog, const struct uuid *table_id, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;

    TRY(catalog_query(catalog, SQL_HOLDS, CATALOG_VALUES(catalog_uuid(table_id)), &rows, err));
    if (catalog_get_i64(rows, 0, 0) != 0) {
        return err_set(err, ERR_CONFLICT, "%lld holds stand on the table; hint: granary hold ls, granary hold release",
                       (long long)catalog_get_i64(rows, 0, 0));
    }
    return OK;
}

enum err_code catalog_table_drop(struct catalog *catalog, const struct uuid *table_id, const char *actor,
                                 struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    char id[UUID_TEXT_BYTES];
    uint64_t dropped = 0;

    TRY(catalog_begin(catalog, &transaction, err));
    TRY(catalog_query(catalog, SQL_WITH_COMPANION, CATALOG_VALUES(catalog_uuid(table_id)), &rows, err));
    for (size_t i = 0; i < catalog_rows_count(rows); i++) { /* in the order in which everyone takes fences */
        struct uuid fenced = catalog_get_uuid(rows, i, 0);
        if (catalog_get_bool(rows, i, 1)) {
            return err_set(err, ERR_INVALID, "a rejects table is dropped with its parent, not by itself");
        }
        TRY(catalog_fence_exclusive(transaction, &fenced, err));
    }
    TRY(refuse_held(catalog, table_id, err));
    TRY(catalog_execute(catalog, SQL_DROP, CATALOG_VALUES(catalog_uuid(table_id), catalog_text(actor)), &dropped, err));
    if (dropped == 0) {
        return err_set(err, ERR_NOT_FOUND, "expected table \"%s\" in the catalog but found none, or it is dropped",
                       uuid_format(table_id, id));
    }
    TRY(catalog_audit_record(
        transaction, &(struct catalog_audit){.actor = actor, .action = "table.drop", .table_id = table_id}, err));
    return catalog_commit(TAKE(transaction), err);
}
