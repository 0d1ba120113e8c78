/* A dropped table back to life, under a hold. */
#include <string.h>

#include "common/catalog/undrop.h"
#include "services/admin/admin.h"
#include "services/admin/handlers.h"
#include "services/admin/render.h"

/* A UUID, or the name that it had: live tables of that name do not count. */
static enum err_code find_dropped(struct call *call, struct uuid *out, struct error *err)
{
    const char *text = http_path(call->request, "table");
    if (uuid_parse(text, strlen(text), out, NULL) == OK) {
        return OK;
    }
    const char *dot = strchr(text, '.');
    const char *project = dot == NULL ? NULL : arena_strndup(call->arena, text, (size_t)(dot - text));
    if (project == NULL) {
        return err_set(err, ERR_NOT_FOUND, "expected a table as \"project.name\" or a UUID but found \"%.140s\"", text);
    }
    return catalog_table_find_dropped(call->catalog, project, dot + 1, out, err);
}

enum err_code handle_table_undrop(void *context, struct http_request *request, struct error *err)
{
    static const char *const members[] = {"reason", "partial", NULL};
    AUTO(call_done) struct call call;
    AUTO(json_free_auto) struct json *body = NULL;
    AUTO(json_free_auto) struct json *object = json_new_object();
    struct catalog_undrop undrop = {.hold_id = uuid_v7()};
    struct catalog_undropped undropped = {0};
    struct table_record table;
    call_begin(&call, context, request);
    undrop.actor = call.actor;
    TRY(call_body(&call, members, true, &body, err));
    TRY(call_reason(body, &undrop.reason, err));
    TRY(json_opt_bool(body, NULL, "partial", &undrop.partial, err));
    TRY(find_dropped(&call, &undrop.table_id, err));
    TRY(catalog_table_undrop(call.catalog, &undrop, &undropped, err));
    TRY(catalog_table_load(call.catalog, &undrop.table_id, call.arena, &table, err));
    TRY(render_name(object, "table", table.project, table.name, err));
    TRY(render_uuid(object, "table_id", &undrop.table_id, err));
    TRY(render_uuid(object, "hold_id", &undrop.hold_id, err));
    TRY(json_set_i64(object, "partitions", undropped.partitions, err));
    TRY(json_set_i64(object, "rows", undropped.rows, err));
    TRY(json_set_i64(object, "lost", undropped.lost, err));
    return call_reply(&call, 200, TAKE(object), err);
}
