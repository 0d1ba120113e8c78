#include "common/catalog/deployment.h"

#include <stdlib.h>

#include "common/catalog/audit.h"
#include "common/catalog/internal.h"
#include "common/catalog/tables_private.h"
#include "common/json/json.h"

static const char SQL_LOAD[] =
    "select deployment_id, created_at, settings, deleting_paused_at, deleting_paused_by, deleting_paused_reason"
    " from granary.deployment";
/* $1 is spare: SQL_SETTINGS_CHANGE counts from $2. */
static const char SQL_SET[] = "update granary.deployment set settings = " SQL_SETTINGS_CHANGE " where $1";
/* The row lock makes two pauses at once into one. */
static const char SQL_PAUSE[] =
    "update granary.deployment set deleting_paused_at = clock_timestamp(), deleting_paused_by = $1,"
    " deleting_paused_reason = $2 where deleting_paused_at is null";
static const char SQL_RESUME[] =
    "update granary.deployment set deleting_paused_at = null, deleting_paused_by = null, deleting_paused_reason = null"
    " where deleting_paused_at is not null";

enum err_code catalog_deployment_load(struct catalog *catalog, struct arena *arena, struct catalog_deployment *out,
                                      struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;

    TRY(catalog_query_one(catalog, SQL_LOAD, CATALOG_NO_VALUES, "deployment", &rows, err));
    struct catalog_deployment deployment = {
        .deployment_id = catalog_get_uuid(rows, 0, 0),
        .created_at_us = catalog_get_timestamp(rows, 0, 1),
        .deleting_paused = !catalog_is_null(rows, 0, 3),
        .paused_at_us = catalog_get_timestamp(rows, 0, 3),
    };
    TRY(catalog_load_text(rows, 0, 2, arena, &deployment.settings_json, err));
    TRY(catalog_load_text(rows, 0, 4, arena, &deployment.paused_by, err));
    TRY(catalog_load_text(rows, 0, 5, arena, &deployment.paused_reason, err));
    table_settings_defaults(&deployment.settings);
    TRY(catalog_settings_overlay(&deployment.settings, deployment.settings_json, err));
    *out = deployment;
    return OK;
}

enum err_code catalog_deployment_check_deleting(struct catalog *catalog, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;

    TRY(catalog_query_one(catalog, SQL_LOAD, CATALOG_NO_VALUES, "deployment", &rows, err));
    if (!catalog_is_null(rows, 0, 3)) {
        char at[CLOCK_TEXT_BYTES];
        return err_set(err, ERR_DENIED, "deleting is paused since %s by \"%s\": %s; hint: granary resume deleting",
                       clock_format(catalog_get_timestamp(rows, 0, 3), at), catalog_get_text(rows, 0, 4),
                       catalog_get_text(rows, 0, 5));
    }
    return OK;
}

/* --- settings ---------------------------------------------------------------------------------------------------- */

static enum err_code record(struct catalog_transaction *transaction, const char *action, const char *actor,
                            const char *details, struct error *err)
{
    return catalog_audit_record(
        transaction, &(struct catalog_audit){.actor = actor, .action = action, .details_json = details}, err);
}

static enum err_code follow_all(struct catalog_transaction *transaction, const struct table_record *before,
                                size_t count, struct arena *arena, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        struct table_record after;
        TRY(catalog_table_load(catalog_in(transaction), &before[i].table_id, arena, &after, err));
        TRY(catalog_table_follow_retention(transaction, &before[i], &after, err));
    }
    return OK;
}

enum err_code catalog_deployment_set(struct catalog *catalog, const struct catalog_setting *settings,
                                     size_t setting_count, const char *actor, struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    AUTO(free_auto) char *details = NULL;
    struct settings_arrays arrays;
    struct table_record *before = NULL;
    size_t count = 0;

    if (arena == NULL) {
        return err_no_memory(err, 4096);
    }
    TRY(catalog_settings_arrays(settings, setting_count, arena, &arrays, err));
    TRY(catalog_settings_describe(&arrays, &details, err));
    TRY(catalog_begin(catalog, &transaction, err));
    TRY(catalog_settings_check_storages(catalog, &arrays, err));
    TRY(catalog_tables_lock_all(transaction, arena, &before, &count, err));
    TRY(catalog_execute_expect(transaction, SQL_SET, CATALOG_VALUES(catalog_bool(true), SETTINGS_ARRAY_VALUES(&arrays)),
                               1, err));
    TRY(follow_all(transaction, before, count, arena, err));
    TRY(record(transaction, "deployment.set", actor, details, err));
    return catalog_commit(TAKE(transaction), err);
}

/* --- the brake --------------------------------------------------------------------------------------------------- */

static enum err_code describe_reason(const char *reason, char **out, struct error *err)
{
    AUTO(json_free_auto) struct json *object = json_new_object();
    if (object == NULL) {
        return err_no_memory(err, 64);
    }
    TRY(json_set_string(object, "reason", reason, err));
    return json_dump_text(object, JSON_STYLE_COMPACT, out, err);
}

enum err_code catalog_deployment_pause(struct catalog *catalog, const char *reason, const char *actor,
                                       bool *out_changed, struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    AUTO(free_auto) char *details = NULL;
    uint64_t rows = 0;

    TRY(describe_reason(reason, &details, err));
    TRY(catalog_begin(catalog, &transaction, err));
    TRY(catalog_execute(catalog, SQL_PAUSE, CATALOG_VALUES(catalog_text(actor), catalog_text(reason)), &rows, err));
    if (rows > 0) {
        TRY(record(transaction, "deleting.pause", actor, details, err));
    }
    TRY(catalog_commit(TAKE(transaction), err));
    *out_changed = rows > 0;
    return OK;
}

enum err_code catalog_deployment_resume(struct catalog *catalog, const char *actor, bool *out_changed,
                                        struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    uint64_t rows = 0;

    TRY(catalog_begin(catalog, &transaction, err));
    TRY(catalog_execute(catalog, SQL_RESUME, CATALOG_NO_VALUES, &rows, err));
    if (rows > 0) {
        TRY(record(transaction, "deleting.resume", actor, NULL, err));
    }
    TRY(catalog_commit(TAKE(transaction), err));
    *out_changed = rows > 0;
    return OK;
}
