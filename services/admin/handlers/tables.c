#include <string.h>

#include "services/admin/handlers.h"
#include "services/admin/plan.h"
#include "services/admin/render.h"
#include "services/admin/tables.h"

static enum err_code render_one(struct call *call, const struct table_record *table,
                                const struct catalog_table_count *count, struct json *array, struct error *err)
{
    struct json *item;
    const char *schema;
    int32_t version;
    TRY(render_item(array, &item, err));
    TRY(render_table(item, table, err));
    TRY(catalog_table_load_schema(call->catalog, &table->table_id, table->schema_version, call->arena, &schema,
                                  &version, err));
    TRY(render_json(item, "schema", schema, err));
    return render_count(item, count, err);
}

enum err_code tables_render(struct call *call, const struct table_record *tables, size_t count, struct json *array,
                            struct error *err)
{
    struct uuid *ids = arena_zalloc(call->arena, count + 1, sizeof *ids);
    struct catalog_table_count *counts = arena_zalloc(call->arena, count + 1, sizeof *counts);
    if (ids == NULL || counts == NULL) {
        return err_no_memory(err, count * sizeof *counts);
    }
    for (size_t i = 0; i < count; i++) {
        ids[i] = tables[i].table_id;
    }
    TRY(catalog_admin_table_counts(call->catalog, ids, count, counts, err));
    for (size_t i = 0; i < count; i++) {
        TRY(render_one(call, &tables[i], &counts[i], array, err));
    }
    return OK;
}

enum err_code tables_reply(struct call *call, unsigned status, const struct uuid *table_id, struct error *err)
{
    AUTO(json_free_auto) struct json *array = json_new_array();
    struct table_record table;
    if (array == NULL) {
        return err_no_memory(err, 64);
    }
    TRY(catalog_table_load(call->catalog, table_id, call->arena, &table, err));
    TRY(tables_render(call, &table, 1, array, err));
    return call_reply(call, status, json_share(json_at(array, 0)), err);
}

enum err_code tables_load_schema(struct call *call, const struct table_record *table, int32_t version,
                                 struct schema **out, struct error *err)
{
    const char *text;
    int32_t found;
    TRY(catalog_table_load_schema(call->catalog, &table->table_id, version, call->arena, &text, &found, err));
    return schema_parse(text, strlen(text), &table->table_id, out, err);
}

/* A cursor is the id of the last table: its record says where the next page begins. */
static enum err_code load_after(struct call *call, struct catalog_table_page *page, struct error *err)
{
    const char *text = http_query(call->request, "after");
    struct table_record *after = arena_zalloc(call->arena, 1, sizeof *after);
    struct uuid id;
    if (text == NULL) {
        return OK;
    }
    if (after == NULL) {
        return err_no_memory(err, sizeof *after);
    }
    if (uuid_parse(text, strlen(text), &id, NULL) != OK) {
        return err_set(err, ERR_INVALID, "expected the \"next\" of another page as \"after\" but found \"%.64s\"",
                       text);
    }
    TRY(catalog_table_load(call->catalog, &id, call->arena, after, err));
    page->after = after;
    return OK;
}

enum err_code handle_table_list(void *context, struct http_request *request, struct error *err)
{
    AUTO(call_done) struct call call;
    AUTO(json_free_auto) struct json *items = json_new_array();
    struct catalog_table_page page = {.project = http_query(request, "project")};
    struct table_record *tables;
    size_t count;
    char next[UUID_TEXT_BYTES];
    call_begin(&call, context, request);
    TRY(call_flag(&call, "dropped", &page.with_dropped, err));
    TRY(call_limit(&call, DEFAULT_LIMIT, &page.limit, err));
    TRY(load_after(&call, &page, err));
    TRY(catalog_table_list(call.catalog, &page, call.arena, &tables, &count, err));
    if (items == NULL) {
        return err_no_memory(err, 64);
    }
    TRY(tables_render(&call, tables, count, items, err));
    bool more = count == page.limit;
    return call_reply_page(&call, TAKE(items), more ? uuid_format(&tables[count - 1].table_id, next) : NULL, err);
}

enum err_code handle_table_show(void *context, struct http_request *request, struct error *err)
{
    AUTO(call_done) struct call call;
    struct table_record table;
    call_begin(&call, context, request);
    TRY(call_table(&call, &table, err));
    return tables_reply(&call, 200, &table.table_id, err);
}

/* --- settings ------------------------------------------------------------------------------------------------------ */

static enum err_code reply_change(struct call *call, const struct table_record *table, struct error *err)
{
    AUTO(json_free_auto) struct json *object = json_new_object();
    struct catalog_preview preview;
    int64_t now_us;
    if (object == NULL) {
        return err_no_memory(err, 64);
    }
    TRY(catalog_now(call->catalog, &now_us, err));
    TRY(catalog_admin_preview(call->catalog, &table->table_id, plan_wanted_cutoff_us(table, now_us), &preview, err));
    TRY(render_json(object, "settings", table->settings_json, err));
    TRY(render_retention(object, table, err));
    TRY(render_preview(object, &preview, err));
    return call_reply(call, 200, TAKE(object), err);
}

enum err_code handle_table_set(void *context, struct http_request *request, struct error *err)
{
    AUTO(call_done) struct call call;
    AUTO(json_free_auto) struct json *body = NULL;
    struct table_record table;
    struct catalog_setting *settings;
    struct catalog_table_change change = {0};
    call_begin(&call, context, request);
    TRY(call_flag(&call, "dry_run", &change.dry_run, err));
    TRY(call_body(&call, NULL, true, &body, err));
    TRY(call_table(&call, &table, err));
    TRY(call_settings(&call, body, &settings, &change.setting_count, err));
    change.table_id = table.table_id;
    change.settings = settings;
    change.actor = call.actor;
    TRY(catalog_table_set(call.catalog, &change, call.arena, &table, err));
    return reply_change(&call, &table, err);
}

/* --- drop ---------------------------------------------------------------------------------------------------------- */

/* For the dry run; the drop itself looks again under the fence. */
static enum err_code refuse_held(struct call *call, const struct table_record *table, struct error *err)
{
    int64_t holds;
    TRY(catalog_admin_hold_count(call->catalog, &table->table_id, &holds, err));
    if (holds > 0) {
        return err_set(err, ERR_CONFLICT, "%lld holds stand over table \"%s.%s\"; hint: granary hold ls, then release",
                       (long long)holds, table->project, table->name);
    }
    return OK;
}

enum err_code handle_table_drop(void *context, struct http_request *request, struct error *err)
{
    AUTO(call_done) struct call call;
    AUTO(json_free_auto) struct json *object = json_new_object();
    struct table_record table;
    struct catalog_preview preview;
    bool yes;
    call_begin(&call, context, request);
    TRY(call_flag(&call, "yes", &yes, err));
    TRY(call_table(&call, &table, err));
    TRY(refuse_held(&call, &table, err));
    TRY(catalog_admin_preview(call.catalog, &table.table_id, INT64_MAX, &preview, err));
    if (object == NULL) {
        return err_no_memory(err, 64);
    }
    if (yes) {
        TRY(catalog_table_drop(call.catalog, &table.table_id, call.actor, err));
    }
    TRY(json_set_bool(object, yes ? "dropped" : "dry_run", true, err));
    TRY(render_name(object, "table", table.project, table.name, err));
    TRY(render_preview(object, &preview, err));
    return call_reply(&call, 200, TAKE(object), err);
}
