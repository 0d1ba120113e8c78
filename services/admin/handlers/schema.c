/* Tables and their schemas as they come from outside. Column ids are the memory of a table: a new column never gets the id
 * of another, also not of one that an earlier version had. */
#include <string.h>

#include "common/base/text.h"
#include "common/ingest/ingest.h"
#include "services/admin/handlers.h"
#include "services/admin/tables.h"

static enum err_code format_schema(struct call *call, const struct schema *schema, const char **out, struct error *err)
{
    AUTO(free_auto) char *text = NULL;
    TRY(schema_format(schema, &text, err));
    *out = arena_strdup(call->arena, text);
    return *out == NULL ? err_no_memory(err, strlen(text)) : OK;
}

static enum err_code parse_schema(struct json *definition, const struct uuid *table_id, struct schema **out,
                                  struct error *err)
{
    AUTO(free_auto) char *text = NULL;
    TRY(json_dump_text(definition, JSON_STYLE_COMPACT, &text, err));
    return schema_parse(text, strlen(text), table_id, out, err);
}

/* --- create -------------------------------------------------------------------------------------------------------- */

static enum err_code read_name(const struct json *body, const char *member, const char **out, struct error *err)
{
    const char *name;
    TRY(json_get_string(body, NULL, member, &name, err));
    if (!text_is_identifier(name, strlen(name))) {
        return err_set(
            err, ERR_INVALID,
            "expected \"%s\" to be 1 to 63 of A-Z a-z 0-9 _, not beginning with a digit, but found \"%.80s\"", member,
            name);
    }
    *out = name;
    return OK;
}

static enum err_code make_schemas(struct call *call, struct json *definition, struct catalog_table_new *table,
                                  struct error *err)
{
    AUTO(schema_free_auto) struct schema *schema = NULL;
    AUTO(schema_free_auto) struct schema *rejects = NULL;
    TRY(parse_schema(definition, &table->table_id, &schema, err));
    schema->version = 1;
    TRY(ingest_rejects_schema(&table->rejects_id, &rejects, err));
    TRY(format_schema(call, schema, &table->schema_json, err));
    return format_schema(call, rejects, &table->rejects_schema_json, err);
}

/* A commit whose answer was lost is looked up: the ids are ours alone. */
static enum err_code create(struct call *call, const struct catalog_table_new *table, struct error *err)
{
    struct table_record made;
    enum err_code code = catalog_table_create(call->catalog, table, err);
    if (code == ERR_UNKNOWN && catalog_table_load(call->catalog, &table->table_id, call->arena, &made, NULL) == OK) {
        return OK;
    }
    return code;
}

enum err_code handle_table_create(void *context, struct http_request *request, struct error *err)
{
    static const char *const members[] = {"project", "name", "schema", "settings", NULL};
    AUTO(call_done) struct call call;
    AUTO(json_free_auto) struct json *body = NULL;
    struct catalog_table_new table = {.table_id = uuid_v7(), .rejects_id = uuid_v7()};
    struct catalog_setting *settings;
    struct json *definition;
    struct json *setting_object = NULL;
    call_begin(&call, context, request);
    TRY(call_body(&call, members, true, &body, err));
    TRY(read_name(body, "project", &table.project, err));
    TRY(read_name(body, "name", &table.name, err));
    TRY(json_get_object(body, NULL, "schema", &definition, err));
    TRY(json_opt_object(body, NULL, "settings", &setting_object, err));
    TRY(make_schemas(&call, definition, &table, err));
    TRY(call_settings(&call, setting_object, &settings, &table.setting_count, err));
    table.settings = settings;
    table.actor = call.actor;
    TRY(create(&call, &table, err));
    return tables_reply(&call, 201, &table.table_id, err);
}

/* --- another version ----------------------------------------------------------------------------------------------- */

/* The highest id that any version has used, or the new definition names. */
static enum err_code highest_id(struct call *call, const struct table_record *table, struct json *columns, int64_t *out,
                                struct error *err)
{
    int64_t highest = 0;
    for (int32_t version = 1; version <= table->schema_version; version++) {
        AUTO(schema_free_auto) struct schema *earlier = NULL;
        TRY(tables_load_schema(call, table, version, &earlier, err));
        for (size_t i = 0; i < earlier->column_count; i++) {
            highest = earlier->columns[i].id > highest ? earlier->columns[i].id : highest;
        }
    }
    for (size_t i = 0; i < json_length(columns); i++) {
        const struct json_place all = {.member = "columns"};
        const struct json_place at = {.parent = &all, .index = i};
        int64_t id = 0;
        TRY(json_opt_i64(json_at(columns, i), &at, "id", 1, INT32_MAX, &id, err));
        highest = id > highest ? id : highest;
    }
    *out = highest;
    return OK;
}

/* Columns without an id are known by their name, or are new. */
static enum err_code fill_in_ids(struct call *call, const struct table_record *table, const struct schema *latest,
                                 struct json *definition, struct error *err)
{
    struct json *columns;
    int64_t highest;
    TRY(json_get_array(definition, NULL, "columns", &columns, err));
    TRY(highest_id(call, table, columns, &highest, err));
    for (size_t i = 0; i < json_length(columns); i++) {
        struct json *column = json_at(columns, i);
        const char *name;
        TRY(json_get_string(column, NULL, "name", &name, err));
        if (json_find(column, "id") != NULL && json_kind(json_find(column, "id")) != JSON_KIND_NULL) {
            continue;
        }
        int known = schema_find(latest, name, strlen(name));
        TRY(json_set_i64(column, "id", known >= 0 ? (int64_t)latest->columns[known].id : ++highest, err));
    }
    return OK;
}

/* Files of every earlier version stay, and are read as this one. */
static enum err_code check_compatible(struct call *call, const struct table_record *table, const struct schema *schema,
                                      struct error *err)
{
    for (int32_t version = 1; version <= table->schema_version; version++) {
        AUTO(schema_free_auto) struct schema *earlier = NULL;
        TRY(tables_load_schema(call, table, version, &earlier, err));
        if (schema_reconcile(earlier, schema, NULL, err) != OK) {
            return err_wrap(err, "rows of version %d could not be read", version);
        }
        if (earlier->columns[earlier->timestamp_column].id != schema->columns[schema->timestamp_column].id) {
            return err_set(err, ERR_INVALID, "expected \"%s\" to stay the timestamp column",
                           earlier->columns[earlier->timestamp_column].name);
        }
    }
    return OK;
}

enum err_code handle_table_add_schema(void *context, struct http_request *request, struct error *err)
{
    AUTO(call_done) struct call call;
    AUTO(json_free_auto) struct json *body = NULL;
    AUTO(schema_free_auto) struct schema *latest = NULL;
    AUTO(schema_free_auto) struct schema *schema = NULL;
    struct table_record table;
    const char *text;
    call_begin(&call, context, request);
    TRY(call_body(&call, NULL, true, &body, err));
    TRY(call_table(&call, &table, err));
    if (table.is_rejects) {
        return err_set(err, ERR_INVALID, "the schema of a rejects table cannot be changed");
    }
    TRY(tables_load_schema(&call, &table, 0, &latest, err));
    TRY(fill_in_ids(&call, &table, latest, body, err));
    TRY(parse_schema(body, &table.table_id, &schema, err));
    TRY(check_compatible(&call, &table, schema, err));
    schema->version = table.schema_version + 1;
    TRY(format_schema(&call, schema, &text, err));
    TRY(catalog_table_add_schema(call.catalog, &table.table_id, table.schema_version, text, call.actor, err));
    return tables_reply(&call, 200, &table.table_id, err);
}
