#include "common/catalog/deployment.h"
#include "services/admin/admin.h"
#include "services/admin/handlers.h"
#include "services/admin/render.h"

static enum err_code reply_deployment(struct call *call, struct error *err)
{
    AUTO(json_free_auto) struct json *object = json_new_object();
    struct catalog_deployment deployment;
    if (object == NULL) {
        return err_no_memory(err, 64);
    }
    TRY(catalog_deployment_load(call->catalog, call->arena, &deployment, err));
    TRY(render_uuid(object, "deployment_id", &deployment.deployment_id, err));
    TRY(render_time(object, "created_at", deployment.created_at_us, err));
    TRY(json_set_string(object, "version", GRANARY_VERSION, err));
    TRY(render_json(object, "settings", deployment.settings_json, err));
    return call_reply(call, 200, TAKE(object), err);
}

static enum err_code reply_pause(struct call *call, struct error *err)
{
    AUTO(json_free_auto) struct json *object = json_new_object();
    struct catalog_deployment deployment;
    if (object == NULL) {
        return err_no_memory(err, 64);
    }
    TRY(catalog_deployment_load(call->catalog, call->arena, &deployment, err));
    TRY(render_pause(object, &deployment, err));
    return call_reply(call, 200, TAKE(object), err);
}

enum err_code handle_deployment_show(void *context, struct http_request *request, struct error *err)
{
    AUTO(call_done) struct call call;
    call_begin(&call, context, request);
    return reply_deployment(&call, err);
}

enum err_code handle_deployment_set(void *context, struct http_request *request, struct error *err)
{
    AUTO(call_done) struct call call;
    AUTO(json_free_auto) struct json *body = NULL;
    struct catalog_setting *settings;
    size_t count;
    call_begin(&call, context, request);
    TRY(call_body(&call, NULL, true, &body, err));
    TRY(call_settings(&call, body, &settings, &count, err));
    TRY(catalog_deployment_set(call.catalog, settings, count, call.actor, err));
    return reply_deployment(&call, err);
}

enum err_code handle_deleting_pause(void *context, struct http_request *request, struct error *err)
{
    static const char *const members[] = {"reason", NULL};
    AUTO(call_done) struct call call;
    AUTO(json_free_auto) struct json *body = NULL;
    const char *reason;
    bool changed;
    call_begin(&call, context, request);
    TRY(call_body(&call, members, true, &body, err));
    TRY(call_reason(body, &reason, err));
    TRY(catalog_deployment_pause(call.catalog, reason, call.actor, &changed, err));
    return reply_pause(&call, err);
}

enum err_code handle_deleting_resume(void *context, struct http_request *request, struct error *err)
{
    AUTO(call_done) struct call call;
    bool changed;
    call_begin(&call, context, request);
    TRY(catalog_deployment_resume(call.catalog, call.actor, &changed, err));
    return reply_pause(&call, err);
}
