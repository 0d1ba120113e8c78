/* After a restore, or with two catalogs on one store: says for each storage what the marks say and how rows and objects
 * compare, and makes this catalog the one that counts. Nothing is deleted or changed but the mark. */
#include <string.h>

#include "common/base/clock.h"
#include "common/catalog/deployment.h"
#include "common/fsck/fsck.h"
#include "services/admin/handlers.h"
#include "services/admin/recover.h"
#include "services/admin/render.h"
#include "services/admin/scan_place.h"

enum err_code recover_render(struct call *call, const struct catalog_storage *storage, const struct uuid *deployment_id,
                             struct json *object, struct gate_view *out, struct error *err)
{
    struct store *store = NULL;
    struct gate_view view = {.finding = GATE_NOT_ASKED};
    if (storages_get(call->admin->storages, call->catalog, storage->storage_id, &store, &view.reason) == OK) {
        gate_inspect(store, call->catalog, storage->storage_id, deployment_id, &view);
    }
    const char *error = view.reason.code == OK ? NULL : view.reason.text;
    TRY(json_set_string(object, "storage", storage->name, err));
    TRY(json_set_string(object, "url", store == NULL ? storage->url : store_url(store), err));
    TRY(json_set_string(object, "finding", gate_finding_name(view.finding), err));
    TRY(json_set_i64(object, "catalog_mark", view.catalog_number, err));
    TRY(json_set_i64(object, "store_mark", view.store_number, err));
    TRY(error == NULL ? json_set_string(object, "error", NULL, err)
                      : render_any_text(object, "error", error, strlen(error), err));
    *out = view;
    return OK;
}

static enum err_code compare(struct call *call, int32_t storage_id, struct fsck_totals *out, struct error *err)
{
    AUTO(fsck_close_auto) struct fsck *fsck = NULL;
    struct fsck_place place = {.catalog = call->catalog, .storage_id = storage_id, .prefix = ""};
    struct fsck_step step = {0};
    TRY(storages_get(call->admin->storages, call->catalog, storage_id, &place.store, err));
    /* no grace: what is being written now has a row already */
    const struct fsck_options options = {
        .world = fsck_world_of(&place), .store_now_us = clock_now_us() + CLOCK_DAY_US, .after = ""};
    TRY(fsck_open(&options, &fsck, err));
    while (!step.done) {
        TRY(fsck_next(fsck, &step, err));
    }
    *out = *fsck_totals_of(fsck);
    return OK;
}

static enum err_code render_comparison(struct json *object, const struct fsck_totals *totals, struct error *err)
{
    TRY(json_set_i64(object, "rows", totals->rows, err));
    TRY(json_set_i64(object, "objects", totals->objects, err));
    TRY(json_set_i64(object, "rows_without_object", totals->classes[FSCK_MISSING].count, err));
    TRY(json_set_i64(object, "live_rows_without_object", totals->missing_active, err));
    TRY(json_set_i64(object, "objects_without_row", totals->classes[FSCK_ORPHAN].count, err));
    return json_set_i64(object, "bytes_without_row", totals->classes[FSCK_ORPHAN].bytes, err);
}

static enum err_code show(struct call *call, const struct catalog_storage *storage, const struct uuid *deployment_id,
                          bool with_comparison, struct json *items, struct error *err)
{
    struct json *item;
    struct gate_view view;
    struct fsck_totals totals;
    TRY(render_item(items, &item, err));
    TRY(recover_render(call, storage, deployment_id, item, &view, err));
    if (!with_comparison || view.finding == GATE_NOT_ASKED || view.finding == GATE_OTHER_STORE) {
        return OK;
    }
    TRY(compare(call, storage->storage_id, &totals, err));
    return render_comparison(item, &totals, err);
}

static void scan_place_give_auto(struct admin **admin)
{
    scan_place_give(*admin);
}

enum err_code handle_recover_show(void *context, struct http_request *request, struct error *err)
{
    AUTO(call_done) struct call call;
    AUTO(scan_place_give_auto) struct admin *place = NULL;
    AUTO(json_free_auto) struct json *object = json_new_object();
    struct json *items;
    struct catalog_storage *storages;
    struct catalog_deployment deployment;
    size_t count;
    bool quick;
    call_begin(&call, context, request);
    TRY(call_flag(&call, "quick", &quick, err));
    if (!quick) {
        TRY(scan_place_take(&call, &place, err));
    }
    TRY(catalog_deployment_load(call.catalog, call.arena, &deployment, err));
    TRY(catalog_storages_load(call.catalog, call.arena, &storages, &count, err));
    TRY(render_array(object, "storages", &items, err));
    for (size_t i = 0; i < count; i++) {
        TRY(show(&call, &storages[i], &deployment.deployment_id, !quick, items, err));
    }
    return call_reply(&call, 200, TAKE(object), err);
}

/* One storage, when its marks say that this catalog is not the one that counts. */
static enum err_code adopt(struct call *call, const struct catalog_storage *storage, const struct uuid *deployment_id,
                           const char *reason, struct json *items, struct error *err)
{
    struct store *store;
    struct gate_view view;
    struct json *item;
    TRY(storages_get(call->admin->storages, call->catalog, storage->storage_id, &store, err));
    gate_inspect(store, call->catalog, storage->storage_id, deployment_id, &view);
    if (view.finding != GATE_STORE_AHEAD && view.finding != GATE_OTHER_MARK) {
        return OK;
    }
    TRY(gate_adopt(store, call->catalog, storage->storage_id, deployment_id, reason, call->actor, err));
    TRY(render_item(items, &item, err));
    return recover_render(call, storage, deployment_id, item, &view, err);
}

enum err_code handle_recover(void *context, struct http_request *request, struct error *err)
{
    static const char *const members[] = {"reason", NULL};
    AUTO(call_done) struct call call;
    AUTO(json_free_auto) struct json *body = NULL;
    AUTO(json_free_auto) struct json *object = json_new_object();
    struct json *items;
    struct catalog_storage *storages;
    struct catalog_deployment deployment;
    const char *reason;
    size_t count;
    call_begin(&call, context, request);
    TRY(call_body(&call, members, true, &body, err));
    TRY(call_reason(body, &reason, err));
    TRY(catalog_deployment_load(call.catalog, call.arena, &deployment, err));
    TRY(catalog_storages_load(call.catalog, call.arena, &storages, &count, err));
    TRY(render_array(object, "storages", &items, err));
    for (size_t i = 0; i < count; i++) {
        TRY(adopt(&call, &storages[i], &deployment.deployment_id, reason, items, err));
    }
    if (json_length(items) == 0) {
        return err_set(err, ERR_CONFLICT,
                       "no storage's mark says that this catalog is older than its store, or another's;"
                       " hint: granary recover shows what there is");
    }
    return call_reply(&call, 200, TAKE(object), err);
}
