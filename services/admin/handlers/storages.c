/* Storages: what is added is looked at first, so that no row can point to a store that is not there, or is another
 * deployment's. */
#include <string.h>

#include "common/catalog/deployment.h"
#include "common/publish/marker.h"
#include "services/admin/admin.h"
#include "services/admin/handlers.h"
#include "services/admin/render.h"

static enum err_code render_storage(struct call *call, const struct catalog_storage *storage, struct json *object,
                                    struct error *err)
{
    const char *own = storage->url == NULL ? store_url(storages_own(call->admin->storages)) : NULL;
    TRY(json_set_i64(object, "storage_id", storage->storage_id, err));
    TRY(json_set_string(object, "name", storage->name, err));
    TRY(json_set_string(object, "url", own == NULL ? storage->url : own, err));
    TRY(json_set_string(object, "state", catalog_storage_state_name(storage->state), err));
    TRY(render_time(object, "created_at", storage->created_at_us, err));
    return json_set_string(object, "created_by", storage->created_by, err);
}

static enum err_code reply_storage(struct call *call, unsigned status, const char *name, struct error *err)
{
    AUTO(json_free_auto) struct json *object = json_new_object();
    struct catalog_storage storage;
    if (object == NULL) {
        return err_no_memory(err, 64);
    }
    TRY(catalog_storage_find(call->catalog, name, call->arena, &storage, err));
    TRY(render_storage(call, &storage, object, err));
    return call_reply(call, status, TAKE(object), err);
}

enum err_code handle_storage_list(void *context, struct http_request *request, struct error *err)
{
    AUTO(call_done) struct call call;
    AUTO(json_free_auto) struct json *items = json_new_array();
    struct catalog_storage *storages;
    size_t count;
    call_begin(&call, context, request);
    if (items == NULL) {
        return err_no_memory(err, 64);
    }
    TRY(catalog_storages_load(call.catalog, call.arena, &storages, &count, err));
    for (size_t i = 0; i < count; i++) {
        struct json *item;
        TRY(render_item(items, &item, err));
        TRY(render_storage(&call, &storages[i], item, err));
    }
    return call_reply_page(&call, TAKE(items), NULL, err);
}

/* Opens it as this process is configured, does in it what every process has to do, and marks it as this deployment's, or
 * (must_be_ours) wants to find it marked. */
static enum err_code look_at(struct call *call, const char *url, bool must_be_ours, struct error *err)
{
    AUTO(store_close_auto) struct store *store = NULL;
    struct catalog_deployment deployment;
    struct store_options options;
    struct store_probe probe;
    store_options_of(&call->admin->config->store, NULL, &options);
    TRY(store_open(url, &options, &store, err));
    TRY(store_probe(store, &probe, err));
    TRY(catalog_deployment_load(call->catalog, call->arena, &deployment, err));
    struct error reason = {0};
    enum err_code code = must_be_ours ? publish_marker_verify(store, &deployment.deployment_id, &reason)
                                      : publish_marker_ensure(store, &deployment.deployment_id, &reason);
    /* no fault of the caller's rights: the store is not one to take */
    return code == OK ? OK : err_set(err, code == ERR_DENIED ? ERR_CONFLICT : code, "%s", reason.text);
}

static enum err_code check_not_own(struct call *call, const char *url, struct error *err)
{
    if (strcmp(url, store_url(storages_own(call->admin->storages))) == 0) {
        return err_set(err, ERR_CONFLICT, "\"%s\" is the storage that every process has from its GRANARY_STORE_URL",
                       url);
    }
    return OK;
}

enum err_code handle_storage_add(void *context, struct http_request *request, struct error *err)
{
    static const char *const members[] = {"name", "url", NULL};
    AUTO(call_done) struct call call;
    AUTO(json_free_auto) struct json *body = NULL;
    const char *name;
    const char *url;
    int32_t id;
    call_begin(&call, context, request);
    TRY(call_body(&call, members, true, &body, err));
    TRY(json_get_string(body, NULL, "name", &name, err));
    TRY(json_get_string(body, NULL, "url", &url, err));
    TRY(check_not_own(&call, url, err));
    TRY(look_at(&call, url, false, err));
    TRY(catalog_storage_add(call.catalog, name, url, call.actor, &id, err));
    return reply_storage(&call, 201, name, err);
}

enum err_code handle_storage_set(void *context, struct http_request *request, struct error *err)
{
    static const char *const members[] = {"url", "state", NULL};
    AUTO(call_done) struct call call;
    AUTO(json_free_auto) struct json *body = NULL;
    struct catalog_storage_change change = {.name = http_path(request, "name")};
    enum catalog_storage_state state;
    const char *state_name = NULL;
    call_begin(&call, context, request);
    change.actor = call.actor;
    TRY(call_body(&call, members, true, &body, err));
    TRY(json_opt_string(body, NULL, "url", &change.url, err));
    TRY(json_opt_string(body, NULL, "state", &state_name, err));
    if (change.url == NULL && state_name == NULL) {
        return err_set(err, ERR_INVALID, "expected \"url\" or \"state\", or both");
    }
    if (state_name != NULL) {
        TRY(catalog_storage_state_parse(state_name, &state, err));
        change.state = &state;
    }
    if (change.url != NULL) {
        TRY(check_not_own(&call, change.url, err));
        TRY(look_at(&call, change.url, true, err));
    }
    TRY(catalog_storage_set(call.catalog, &change, err));
    return reply_storage(&call, 200, change.name, err);
}
