#include <string.h>

#include "common/catalog/partitions.h"
#include "common/lifecycle/state.h"
#include "services/admin/handlers.h"
#include "services/admin/render.h"
#include "services/admin/tables.h"

static enum err_code check_state(const char *text, struct error *err)
{
    for (enum lifecycle_state state = STATE_INVALID + 1; state < STATE_COUNT; state++) {
        if (text == NULL || strcmp(text, lifecycle_state_name(state)) == 0) {
            return OK;
        }
    }
    return err_set(err, ERR_INVALID, "expected a state such as \"active\" or \"decay_inactive\" but found \"%.64s\"",
                   text);
}

enum err_code handle_partition_list(void *context, struct http_request *request, struct error *err)
{
    AUTO(call_done) struct call call;
    AUTO(json_free_auto) struct json *items = json_new_array();
    struct table_record table;
    struct catalog_admin_partition_page page = {.state = http_query(request, "state")};
    struct catalog_admin_partition *partitions;
    size_t count;
    call_begin(&call, context, request);
    TRY(check_state(page.state, err));
    TRY(call_range(&call, &page.min_timestamp_us, &page.max_timestamp_us, err));
    TRY(call_after(&call, &page.after_min_us, &page.after_id, err));
    TRY(call_limit(&call, DEFAULT_LIMIT, &page.limit, err));
    TRY(call_table(&call, &table, err));
    page.table_id = table.table_id;
    TRY(catalog_admin_partition_list(call.catalog, &page, call.arena, &partitions, &count, err));
    for (size_t i = 0; i < count; i++) {
        struct json *item;
        TRY(render_item(items, &item, err));
        TRY(render_partition(item, &partitions[i], err));
    }
    const struct partition_record *last = count == page.limit ? &partitions[count - 1].partition : NULL;
    const char *next = last == NULL ? NULL : call_cursor(&call, last->min_timestamp_us, &last->partition_id);
    return call_reply_page(&call, TAKE(items), next, err);
}

/* --- one ----------------------------------------------------------------------------------------------------------- */

static enum err_code render_objects(struct call *call, const struct uuid *id, struct json *object, struct error *err)
{
    struct catalog_admin_object *objects;
    size_t count;
    struct json *array;
    TRY(catalog_admin_partition_objects(call->catalog, id, call->arena, &objects, &count, err));
    TRY(render_array(object, "objects", &array, err));
    for (size_t i = 0; i < count; i++) {
        struct json *item;
        TRY(render_item(array, &item, err));
        TRY(json_set_string(item, "path", objects[i].path, err));
        TRY(json_set_string(item, "kind", objects[i].kind, err));
        TRY(json_set_i64(item, "bytes", objects[i].data_bytes, err));
    }
    return OK;
}

static enum err_code render_details(struct call *call, const struct partition_record *partition, struct json *object,
                                    struct error *err)
{
    AUTO(schema_free_auto) struct schema *schema = NULL;
    const struct table_record table = {.table_id = partition->table_id};
    struct column_stats *columns;
    size_t count;
    struct catalog_admin_lineage lineage;
    TRY(tables_load_schema(call, &table, partition->schema_version, &schema, err));
    TRY(catalog_admin_partition_columns(call->catalog, &partition->partition_id, call->arena, &columns, &count, err));
    TRY(render_columns(object, columns, count, schema, err));
    TRY(catalog_admin_partition_lineage(call->catalog, &partition->partition_id, call->arena, &lineage, err));
    TRY(render_uuids(object, "parents", lineage.parents, lineage.parent_count, err));
    TRY(render_uuids(object, "children", lineage.children, lineage.child_count, err));
    return render_objects(call, &partition->partition_id, object, err);
}

enum err_code handle_partition_show(void *context, struct http_request *request, struct error *err)
{
    AUTO(call_done) struct call call;
    AUTO(json_free_auto) struct json *object = json_new_object();
    struct uuid id;
    struct catalog_admin_partition partition;
    call_begin(&call, context, request);
    TRY(call_id(&call, &id, err));
    TRY(catalog_admin_partition_load(call.catalog, &id, call.arena, &partition, err));
    if (object == NULL) {
        return err_no_memory(err, 64);
    }
    TRY(render_partition(object, &partition, err));
    TRY(render_details(&call, &partition.partition, object, err));
    return call_reply(&call, 200, TAKE(object), err);
}

/* --- files --------------------------------------------------------------------------------------------------------- */

static enum err_code render_file(struct call *call, const struct partition_record *partition, struct json *items,
                                 struct error *err)
{
    struct json *item;
    struct store *store;
    TRY(storages_get(call->admin->storages, call->catalog, partition->storage_id, &store, err));
    const int root = (int)strcspn(store_url(store), "?");
    const char *url = arena_printf(call->arena, "%.*s/%s", root, store_url(store), partition->path);
    if (url == NULL) {
        return err_no_memory(err, strlen(partition->path));
    }
    TRY(render_item(items, &item, err));
    TRY(render_uuid(item, "partition_id", &partition->partition_id, err));
    TRY(json_set_string(item, "url", url, err));
    TRY(json_set_i64(item, "rows", partition->row_count, err));
    TRY(json_set_i64(item, "bytes", partition->data_bytes, err));
    TRY(render_time(item, "min_timestamp", partition->min_timestamp_us, err));
    return render_time(item, "max_timestamp", partition->max_timestamp_us, err);
}

enum err_code handle_file_list(void *context, struct http_request *request, struct error *err)
{
    AUTO(call_done) struct call call;
    AUTO(json_free_auto) struct json *items = json_new_array();
    struct table_record table;
    struct partition_record after = {0};
    struct catalog_live_page page = {0};
    struct catalog_live live;
    call_begin(&call, context, request);
    TRY(call_range(&call, &page.min_timestamp_us, &page.max_timestamp_us, err));
    TRY(call_after(&call, &after.min_timestamp_us, &after.partition_id, err));
    TRY(call_limit(&call, DEFAULT_LIMIT, &page.limit, err));
    TRY(call_table(&call, &table, err));
    page.table_id = table.table_id;
    page.after = uuid_is_nil(&after.partition_id) ? NULL : &after;
    TRY(catalog_partitions_live(call.catalog, &page, call.arena, &live, err));
    for (size_t i = 0; i < live.count; i++) {
        TRY(render_file(&call, &live.partitions[i], items, err));
    }
    const struct partition_record *last = live.count == page.limit ? &live.partitions[live.count - 1] : NULL;
    const char *next = last == NULL ? NULL : call_cursor(&call, last->min_timestamp_us, &last->partition_id);
    return call_reply_page(&call, TAKE(items), next, err);
}
