#include "common/catalog/storages.h"

#include <string.h>

#include "common/catalog/audit.h"
#include "common/catalog/internal.h"
#include "common/json/json.h"

enum { NAME_BYTES = 32 };

static const char SQL_LOAD[] = "select storage_id, name, url, state, created_at, created_by from granary.storages"
                               " where $1::text is null or name = $1 order by storage_id";
static const char SQL_ADD[] =
    "insert into granary.storages (name, url, created_by) values ($1, $2, $3) returning storage_id";
/* All rows, so that two changes at once cannot make each the other's last active storage read only. */
static const char SQL_LOCK_ALL[] = "select storage_id from granary.storages order by storage_id for update";
static const char SQL_SET[] =
    "update granary.storages set url = coalesce($2, url), state = coalesce($3, state) where name = $1";
static const char SQL_ACTIVE[] = "select count(*) from granary.storages where state = 'active'";

static const char *const state_names[CATALOG_STORAGE_STATE_COUNT] = {
    [CATALOG_STORAGE_ACTIVE] = "active",
    [CATALOG_STORAGE_READ_ONLY] = "read_only",
};

const char *catalog_storage_state_name(enum catalog_storage_state state)
{
    return state_names[state];
}

enum err_code catalog_storage_state_parse(const char *text, enum catalog_storage_state *out, struct error *err)
{
    for (size_t i = 0; i < CATALOG_STORAGE_STATE_COUNT; i++) {
        if (strcmp(state_names[i], text) == 0) {
            *out = (enum catalog_storage_state)i;
            return OK;
        }
    }
    return err_set(err, ERR_INVALID,
                   "expected \"active\" or \"read_only\" as the state of a storage but found \"%.32s\"", text);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static enum err_code load(struct catalog *catalog, const char *name, struct arena *arena, struct catalog_storage **out,
                          size_t *out_count, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog, SQL_LOAD, CATALOG_VALUES(catalog_text(name)), &rows, err));
    size_t count = catalog_rows_count(rows);
    struct catalog_storage *storages = arena_zalloc(arena, count + 1, sizeof *storages);
    if (storages == NULL) {
        return err_no_memory(err, count * sizeof *storages);
    }
    for (size_t i = 0; i < count; i++) {
        storages[i].storage_id = catalog_get_i32(rows, i, 0);
        storages[i].created_at_us = catalog_get_timestamp(rows, i, 4);
        TRY(catalog_load_text(rows, i, 1, arena, &storages[i].name, err));
        TRY(catalog_load_text(rows, i, 2, arena, &storages[i].url, err));
        TRY(catalog_storage_state_parse(catalog_get_text(rows, i, 3), &storages[i].state, err));
        TRY(catalog_load_text(rows, i, 5, arena, &storages[i].created_by, err));
    }
    *out = storages;
    *out_count = count;
    return OK;
}

enum err_code catalog_storages_load(struct catalog *catalog, struct arena *arena, struct catalog_storage **out,
                                    size_t *out_count, struct error *err)
{
    return load(catalog, NULL, arena, out, out_count, err);
}

static enum err_code no_such(const char *name, struct error *err)
{
    return err_set(err, ERR_NOT_FOUND, "no storage \"%.32s\"; hint: granary storage ls", name);
}

enum err_code catalog_storage_find(struct catalog *catalog, const char *name, struct arena *arena,
                                   struct catalog_storage *out, struct error *err)
{
    struct catalog_storage *found;
    size_t count;
    TRY(load(catalog, name, arena, &found, &count, err));
    if (count == 0) {
        return no_such(name, err);
    }
    *out = found[0];
    return OK;
}

/* --- changing ----------------------------------------------------------------------------------------------------- */

static enum err_code check_name(const char *name, struct error *err)
{
    size_t length = strlen(name);
    bool begins = name[0] != '_' && name[0] != '-';
    if (length == 0 || length >= NAME_BYTES || !begins ||
        strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") != length) {
        return err_set(
            err, ERR_INVALID,
            "expected a storage's name of 1 to %d lower-case letters, digits, \"_\" or \"-\", letter or digit "
            "first, but found \"%.64s\"",
            NAME_BYTES - 1, name);
    }
    return OK;
}

static enum err_code record(struct catalog_transaction *transaction, const char *action,
                            const struct catalog_storage_change *change, struct error *err)
{
    AUTO(json_free_auto) struct json *object = json_new_object();
    AUTO(free_auto) char *details = NULL;
    if (object == NULL) {
        return err_no_memory(err, 64);
    }
    TRY(json_set_string(object, "name", change->name, err));
    if (change->url != NULL) {
        TRY(json_set_string(object, "url", change->url, err));
    }
    if (change->state != NULL) {
        TRY(json_set_string(object, "state", catalog_storage_state_name(*change->state), err));
    }
    TRY(json_dump_text(object, JSON_STYLE_COMPACT, &details, err));
    return catalog_audit_record(
        transaction, &(struct catalog_audit){.actor = change->actor, .action = action, .details_json = details}, err);
}

static enum err_code name_clash(enum err_code code, const char *name, struct error *err)
{
    return code == ERR_CONFLICT ? err_wrap(err, "storage \"%s\": its name or its url is another storage's", name)
                                : code;
}

enum err_code catalog_storage_add(struct catalog *catalog, const char *name, const char *url, const char *actor,
                                  int32_t *out_id, struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(check_name(name, err));
    TRY(catalog_begin(catalog, &transaction, err));
    enum err_code code = catalog_query(
        catalog, SQL_ADD, CATALOG_VALUES(catalog_text(name), catalog_text(url), catalog_text(actor)), &rows, err);
    TRY(name_clash(code, name, err));
    const struct catalog_storage_change change = {.name = name, .url = url, .actor = actor};
    TRY(record(transaction, "storage.add", &change, err));
    *out_id = catalog_get_i32(rows, 0, 0);
    return catalog_commit(TAKE(transaction), err);
}

static enum err_code require_active(struct catalog *catalog, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog, SQL_ACTIVE, CATALOG_NO_VALUES, &rows, err));
    if (catalog_get_i64(rows, 0, 0) == 0) {
        return err_set(err, ERR_CONFLICT, "no storage would be left that takes new partitions; hint: add one first");
    }
    return OK;
}

enum err_code catalog_storage_set(struct catalog *catalog, const struct catalog_storage_change *change,
                                  struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    AUTO(catalog_rows_free_auto) struct catalog_rows *locked = NULL;
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct catalog_storage storage;
    if (arena == NULL) {
        return err_no_memory(err, 4096);
    }
    TRY(catalog_begin(catalog, &transaction, err));
    TRY(catalog_query(catalog, SQL_LOCK_ALL, CATALOG_NO_VALUES, &locked, err));
    TRY(catalog_storage_find(catalog, change->name, arena, &storage, err));
    if (change->url != NULL && storage.storage_id == STORAGE_OWN) {
        return err_set(err, ERR_INVALID,
                       "storage \"%s\" has no url in the catalog; hint: it is GRANARY_STORE_URL of each process",
                       storage.name);
    }
    const char *state = change->state != NULL ? catalog_storage_state_name(*change->state) : NULL;
    enum err_code code = catalog_execute_expect(
        transaction, SQL_SET,
        CATALOG_VALUES(catalog_text(change->name), catalog_text(change->url), catalog_text(state)), 1, err);
    TRY(name_clash(code, change->name, err));
    TRY(require_active(catalog, err));
    TRY(record(transaction, "storage.set", change, err));
    return catalog_commit(TAKE(transaction), err);
}
