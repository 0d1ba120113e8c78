#include "common/catalog/tables.h"

#include <stdio.h>

#include "common/catalog/tables_private.h"

#define SELECT_TABLES                                                                                        \
    "select t.table_id, t.project, t.name, t.kind = 'rejects', t.parent_id, t.schema_version, t.settings,"   \
    " d.settings, t.retention_previous_us, t.retention_effective_at, t.created_at, t.dropped_at, t.version," \
    " clock_timestamp() from granary.tables t cross join granary.deployment d"

enum {
    COLUMN_TABLE_ID,
    COLUMN_PROJECT,
    COLUMN_NAME,
    COLUMN_IS_REJECTS,
    COLUMN_PARENT_ID,
    COLUMN_SCHEMA_VERSION,
    COLUMN_SETTINGS,
    COLUMN_DEPLOYMENT_SETTINGS,
    COLUMN_RETENTION_PREVIOUS,
    COLUMN_RETENTION_EFFECTIVE,
    COLUMN_CREATED_AT,
    COLUMN_DROPPED_AT,
    COLUMN_VERSION,
    COLUMN_NOW,
};

/* Reads; no locks. */
static const char SQL_FIND[] = SELECT_TABLES " where t.project = $1 and t.name = $2 and t.dropped_at is null";
static const char SQL_LOAD[] = SELECT_TABLES " where t.table_id = $1";
static const char SQL_LOAD_REJECTS[] = SELECT_TABLES " where t.parent_id = $1";
static const char SQL_LIST[] =
    SELECT_TABLES " where ($1::text is null or t.project = $1) and ($2 or t.dropped_at is null)"
                  " and ($5::uuid is null or (t.project, t.name, t.table_id) > ($3, $4, $5))"
                  " order by t.project, t.name, t.table_id limit $6";
static const char SQL_SCHEMA[] =
    "select s.definition, s.version from granary.table_schemas s join granary.tables t using (table_id)"
    " where s.table_id = $1 and s.version = coalesce(nullif($2::int, 0), t.schema_version)";
/* Row locks against changes of settings, until the transaction ends. */
static const char SQL_LOCK[] = SELECT_TABLES " where t.table_id = $1 and t.dropped_at is null for update of t";
static const char SQL_LOCK_ALL[] = SELECT_TABLES " where t.dropped_at is null order by t.table_id for update of t";

static void resolve_retention(const struct catalog_rows *rows, size_t row, struct table_record *table)
{
    int64_t now_us = catalog_get_timestamp(rows, row, COLUMN_NOW);
    bool has_previous = !catalog_is_null(rows, row, COLUMN_RETENTION_PREVIOUS);
    int64_t effective_at_us = catalog_get_timestamp(rows, row, COLUMN_RETENTION_EFFECTIVE);

    table->retention_us =
        retention_effective_us(table->settings.age_max_age_us, has_previous,
                               catalog_get_i64(rows, row, COLUMN_RETENTION_PREVIOUS), effective_at_us, now_us);
    table->retention_cooling = has_previous && now_us < effective_at_us;
    table->retention_effective_at_us = table->retention_cooling ? effective_at_us : 0;
}

static enum err_code read_table(const struct catalog_rows *rows, size_t row, struct arena *arena,
                                struct table_record *out, struct error *err)
{
    struct table_record table = {
        .table_id = catalog_get_uuid(rows, row, COLUMN_TABLE_ID),
        .is_rejects = catalog_get_bool(rows, row, COLUMN_IS_REJECTS),
        .parent_id = catalog_get_uuid(rows, row, COLUMN_PARENT_ID),
        .schema_version = catalog_get_i32(rows, row, COLUMN_SCHEMA_VERSION),
        .created_at_us = catalog_get_timestamp(rows, row, COLUMN_CREATED_AT),
        .dropped = !catalog_is_null(rows, row, COLUMN_DROPPED_AT),
        .dropped_at_us = catalog_get_timestamp(rows, row, COLUMN_DROPPED_AT),
        .version = catalog_get_i64(rows, row, COLUMN_VERSION),
    };

    TRY(catalog_load_text(rows, row, COLUMN_PROJECT, arena, &table.project, err));
    TRY(catalog_load_text(rows, row, COLUMN_NAME, arena, &table.name, err));
    TRY(catalog_load_text(rows, row, COLUMN_SETTINGS, arena, &table.settings_json, err));
    table_settings_defaults(&table.settings);
    TRY(catalog_settings_overlay(&table.settings, catalog_get_text(rows, row, COLUMN_DEPLOYMENT_SETTINGS), err));
    TRY(catalog_settings_overlay(&table.settings, table.settings_json, err));
    resolve_retention(rows, row, &table);
    *out = table;
    return OK;
}

static enum err_code read_tables(const struct catalog_rows *rows, struct arena *arena, struct table_record **out,
                                 size_t *out_count, struct error *err)
{
    size_t count = catalog_rows_count(rows);
    struct table_record *tables = arena_zalloc(arena, count + 1, sizeof *tables);

    if (tables == NULL) {
        return err_no_memory(err, count * sizeof *tables);
    }
    for (size_t i = 0; i < count; i++) {
        TRY(read_table(rows, i, arena, &tables[i], err));
    }
    *out = tables;
    *out_count = count;
    return OK;
}

static enum err_code load_by_id(struct catalog *catalog, const char *sql, const char *kind, const struct uuid *table_id,
                                struct arena *arena, struct table_record *out, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    char id[UUID_TEXT_BYTES];
    char what[UUID_TEXT_BYTES + 40];

    (void)snprintf(what, sizeof what, "%s \"%s\"", kind, uuid_format(table_id, id));
    TRY(catalog_query_one(catalog, sql, CATALOG_VALUES(catalog_uuid(table_id)), what, &rows, err));
    return read_table(rows, 0, arena, out, err);
}

enum err_code catalog_table_find(struct catalog *catalog, const char *project, const char *name, struct arena *arena,
                                 struct table_record *out, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    char what[200];

    (void)snprintf(what, sizeof what, "table \"%.64s.%.72s\"", project, name);
    TRY(catalog_query_one(catalog, SQL_FIND, CATALOG_VALUES(catalog_text(project), catalog_text(name)), what, &rows,
                          err));
    return read_table(rows, 0, arena, out, err);
}

enum err_code catalog_table_load(struct catalog *catalog, const struct uuid *table_id, struct arena *arena,
                                 struct table_record *out, struct error *err)
{
    return load_by_id(catalog, SQL_LOAD, "table", table_id, arena, out, err);
}

enum err_code catalog_table_load_rejects(struct catalog *catalog, const struct uuid *table_id, struct arena *arena,
                                         struct table_record *out, struct error *err)
{
    return load_by_id(catalog, SQL_LOAD_REJECTS, "rejects table of", table_id, arena, out, err);
}

enum err_code catalog_table_lock(struct catalog_transaction *transaction, const struct uuid *table_id,
                                 struct arena *arena, struct table_record *out, struct error *err)
{
    return load_by_id(catalog_in(transaction), SQL_LOCK, "table", table_id, arena, out, err);
}

enum err_code catalog_tables_lock_all(struct catalog_transaction *transaction, struct arena *arena,
                                      struct table_record **out, size_t *out_count, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog_in(transaction), SQL_LOCK_ALL, CATALOG_NO_VALUES, &rows, err));
    return read_tables(rows, arena, out, out_count, err);
}

enum err_code catalog_table_list(struct catalog *catalog, const struct catalog_table_page *page, struct arena *arena,
                                 struct table_record **out, size_t *out_count, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    const struct table_record *after = page->after;

    TRY(catalog_query(catalog, SQL_LIST,
                      CATALOG_VALUES(catalog_text(page->project), catalog_bool(page->with_dropped),
                                     catalog_text(after != NULL ? after->project : NULL),
                                     catalog_text(after != NULL ? after->name : NULL),
                                     catalog_uuid(after != NULL ? &after->table_id : NULL),
                                     catalog_i64((int64_t)page->limit)),
                      &rows, err));
    return read_tables(rows, arena, out, out_count, err);
}

enum err_code catalog_table_load_schema(struct catalog *catalog, const struct uuid *table_id, int32_t version,
                                        struct arena *arena, const char **out_json, int32_t *out_version,
                                        struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    char id[UUID_TEXT_BYTES];
    char what[UUID_TEXT_BYTES + 40];

    (void)snprintf(what, sizeof what, "schema %d of table \"%s\"", version, uuid_format(table_id, id));
    TRY(catalog_query_one(catalog, SQL_SCHEMA, CATALOG_VALUES(catalog_uuid(table_id), catalog_i32(version)), what,
                          &rows, err));
    TRY(catalog_load_text(rows, 0, 0, arena, out_json, err));
    *out_version = catalog_get_i32(rows, 0, 1);
    return OK;
}
