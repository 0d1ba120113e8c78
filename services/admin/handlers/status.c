/* Everything at a glance. What cannot be asked is shown as such: the page must come when something is down. Only without
 * the catalog there is none. */
#include <string.h>

#include "common/catalog/deployment.h"
#include "common/publish/marker.h"
#include "services/admin/handlers.h"
#include "services/admin/plan.h"
#include "services/admin/queues.h"
#include "services/admin/recover.h"
#include "services/admin/render.h"

enum { TABLE_PAGE = 1000 };

static enum err_code render_deployment(struct json *object, const struct catalog_deployment *deployment,
                                       struct error *err)
{
    struct json *value;
    TRY(render_object(object, "deployment", &value, err));
    TRY(render_uuid(value, "id", &deployment->deployment_id, err));
    return render_pause(value, deployment, err);
}

static enum err_code render_states(struct json *object, const struct catalog_status *status, struct error *err)
{
    struct json *array;
    TRY(render_array(object, "states", &array, err));
    for (size_t i = 0; i < status->state_count; i++) {
        const struct catalog_status_state *state = &status->states[i];
        struct json *item;
        TRY(render_item(array, &item, err));
        TRY(render_name(item, "table", state->project, state->table_name, err));
        TRY(json_set_string(item, "state", state->state, err));
        TRY(json_set_i64(item, "partitions", state->partitions, err));
        TRY(json_set_i64(item, "rows", state->rows, err));
        TRY(json_set_i64(item, "bytes", state->bytes, err));
        TRY(render_time(item, "oldest", state->oldest_us, err));
    }
    return OK;
}

static enum err_code render_jobs(struct json *object, const struct catalog_status *status, struct error *err)
{
    struct json *array;
    TRY(render_array(object, "jobs", &array, err));
    for (size_t i = 0; i < status->job_count; i++) {
        const struct catalog_status_job *job = &status->jobs[i];
        struct json *item;
        TRY(render_item(array, &item, err));
        TRY(json_set_string(item, "job", job->job, err));
        TRY(render_time(item, "finished_at", job->finished_at_us, err));
        TRY(json_set_i64(item, "exit_code", job->exit_code, err));
        TRY(render_json(item, "counts", job->counts_json, err));
        TRY(json_set_string(item, "error", job->error, err));
        TRY(json_set_string(item, "instance", job->instance, err));
    }
    return OK;
}

static enum err_code render_locks(struct json *object, const struct catalog_status *status, struct error *err)
{
    struct json *array;
    TRY(render_array(object, "locks", &array, err));
    for (size_t i = 0; i < status->lock_count; i++) {
        const struct catalog_status_lock *lock = &status->locks[i];
        struct json *item;
        TRY(render_item(array, &item, err));
        TRY(json_set_string(item, "kind", lock_kind_name(lock->kind), err));
        TRY(json_set_string(item, "owner", lock->owner, err));
        TRY(json_set_i64(item, "count", lock->count, err));
        TRY(render_time(item, "oldest", lock->oldest_us, err));
        TRY(json_set_i64(item, "expired", lock->expired, err));
    }
    return OK;
}

static enum err_code render_attempts(struct json *object, const struct catalog_status *status, struct error *err)
{
    struct json *array;
    TRY(render_array(object, "attempts", &array, err));
    for (size_t i = 0; i < status->attempt_count; i++) {
        const struct catalog_status_attempt *attempt = &status->attempts[i];
        struct json *item;
        TRY(render_item(array, &item, err));
        TRY(render_uuid(item, "attempt_id", &attempt->attempt_id, err));
        TRY(render_name(item, "table", attempt->project, attempt->table_name, err));
        TRY(json_set_string(item, "target", attempt->target, err));
        TRY(json_set_string(item, "pool", attempt->pool, err));
        TRY(json_set_string(item, "state", attempt->state, err));
        TRY(json_set_i64(item, "rows_done", attempt->rows_done, err));
        TRY(json_set_i64(item, "rows_total", attempt->rows_total, err));
        TRY(json_set_string(item, "worker", attempt->worker, err));
        TRY(render_time(item, "created_at", attempt->created_at_us, err));
    }
    return OK;
}

/* --- what is asked elsewhere --------------------------------------------------------------------------------------- */

static enum err_code render_depth(struct json *array, const char *name, const struct bus_queue_depth *depth,
                                  const char *error, struct error *err)
{
    struct json *item;
    TRY(render_item(array, &item, err));
    TRY(json_set_string(item, "name", name, err));
    if (error != NULL) {
        TRY(json_set_string(item, "messages", NULL, err));
        TRY(json_set_string(item, "consumers", NULL, err));
        TRY(json_set_string(item, "exists", NULL, err));
        return render_any_text(item, "error", error, strlen(error), err);
    }
    TRY(json_set_i64(item, "messages", (int64_t)depth->messages, err));
    TRY(json_set_i64(item, "consumers", (int64_t)depth->consumers, err));
    return json_set_bool(item, "exists", depth->exists, err);
}

/* A broker that cannot be reached is asked once, not once for each queue. */
static enum err_code render_queues(struct call *call, struct json *object, struct error *err)
{
    struct json *array;
    const char **queues;
    size_t count;
    struct error away = {0};
    TRY(render_array(object, "queues", &array, err));
    TRY(queues_list(call, &queues, &count, err));
    for (size_t i = 0; i < 2 * count; i++) {
        const char *name = i % 2 == 0 ? queues[i / 2] : queues_dead(call, queues[i / 2]);
        struct bus_queue_depth depth = {0};
        if (name == NULL) {
            return err_no_memory(err, 64);
        }
        if (away.code == OK && bus_queue_inspect(&call->admin->bus, name, &depth, &away) == OK) {
            away.code = OK;
        }
        TRY(render_depth(array, name, &depth, away.code == OK ? NULL : away.text, err));
    }
    return OK;
}

static enum err_code ask_store(struct call *call, const struct uuid *deployment_id, struct error *err)
{
    struct store_object marker;
    enum err_code code = store_head(storages_own(call->admin->storages), PUBLISH_MARKER_KEY, call->arena, &marker, err);
    if (code == ERR_NOT_FOUND) {
        return OK; /* nothing was written yet */
    }
    TRY(code);
    return publish_marker_verify(storages_own(call->admin->storages), deployment_id, err);
}

static enum err_code render_store(struct call *call, const struct uuid *deployment_id, struct json *object,
                                  struct error *err)
{
    struct json *value;
    struct error fault = {0};
    bool ok = ask_store(call, deployment_id, &fault) == OK;
    TRY(render_object(object, "store", &value, err));
    TRY(json_set_string(value, "url", store_url(storages_own(call->admin->storages)), err));
    TRY(json_set_bool(value, "ok", ok, err));
    return ok ? json_set_string(value, "error", NULL, err)
              : render_any_text(value, "error", fault.text, strlen(fault.text), err);
}

/* Only a store that answers, and is ours: the probe writes. */
static enum err_code render_abilities(struct call *call, int32_t storage_id, const struct gate_view *view,
                                      struct json *item, struct error *err)
{
    struct store *store = NULL;
    if (view->finding == GATE_AGREES || view->finding == GATE_UNUSED) {
        TRY(storages_get(call->admin->storages, call->catalog, storage_id, &store, err));
    }
    return abilities_render(call->admin->abilities, store, item, err);
}

/* Whether each storage is the one that this catalog knows: where one is not, nothing is deleted anywhere. */
static enum err_code render_storages(struct call *call, const struct uuid *deployment_id, struct json *object,
                                     struct error *err)
{
    struct json *array;
    struct catalog_storage *storages;
    size_t count;
    TRY(catalog_storages_load(call->catalog, call->arena, &storages, &count, err));
    TRY(render_array(object, "storages", &array, err));
    for (size_t i = 0; i < count; i++) {
        struct json *item;
        struct gate_view view;
        TRY(render_item(array, &item, err));
        TRY(recover_render(call, &storages[i], deployment_id, item, &view, err));
        TRY(json_set_string(item, "state", catalog_storage_state_name(storages[i].state), err));
        TRY(render_abilities(call, storages[i].storage_id, &view, item, err));
    }
    return OK;
}

/* --- overdue ------------------------------------------------------------------------------------------------------- */

static const struct table_record *table_of(const struct table_record *tables, size_t count, const struct uuid *id)
{
    for (size_t i = 0; i < count; i++) {
        if (uuid_equal(&tables[i].table_id, id)) {
            return &tables[i];
        }
    }
    return NULL;
}

static enum err_code render_overdue_page(struct call *call, const struct table_record *tables, size_t table_count,
                                         int64_t now_us, struct json *array, struct error *err)
{
    struct catalog_cutoff *cutoffs = arena_zalloc(call->arena, table_count + 1, sizeof *cutoffs);
    struct catalog_overdue *overdue;
    size_t cutoff_count = 0;
    size_t count;
    if (cutoffs == NULL) {
        return err_no_memory(err, table_count * sizeof *cutoffs);
    }
    for (size_t i = 0; i < table_count; i++) {
        int64_t cutoff_us = plan_cutoff_us(&tables[i], now_us);
        if (cutoff_us != INT64_MIN) {
            cutoffs[cutoff_count++] = (struct catalog_cutoff){tables[i].table_id, cutoff_us};
        }
    }
    TRY(catalog_admin_overdue(call->catalog, cutoffs, cutoff_count, call->arena, &overdue, &count, err));
    for (size_t i = 0; i < count; i++) {
        const struct table_record *table = table_of(tables, table_count, &overdue[i].table_id);
        struct json *item;
        TRY(render_item(array, &item, err));
        TRY(render_name(item, "table", table->project, table->name, err));
        TRY(json_set_i64(item, "partitions", overdue[i].partitions, err));
        TRY(json_set_i64(item, "rows", overdue[i].rows, err));
    }
    return OK;
}

static enum err_code render_overdue(struct call *call, struct json *object, struct error *err)
{
    struct catalog_table_page page = {.with_dropped = true, .limit = TABLE_PAGE};
    struct json *array;
    int64_t now_us;
    TRY(catalog_now(call->catalog, &now_us, err));
    TRY(render_array(object, "overdue", &array, err));
    for (;;) {
        struct table_record *tables;
        size_t count;
        TRY(catalog_table_list(call->catalog, &page, call->arena, &tables, &count, err));
        TRY(render_overdue_page(call, tables, count, now_us, array, err));
        if (count < TABLE_PAGE) {
            return OK;
        }
        page.after = &tables[count - 1];
    }
}

enum err_code handle_status(void *context, struct http_request *request, struct error *err)
{
    AUTO(call_done) struct call call;
    AUTO(json_free_auto) struct json *object = json_new_object();
    struct catalog_deployment deployment;
    struct catalog_status status;
    struct catalog_cleaner_status cleaner;
    call_begin(&call, context, request);
    TRY(catalog_deployment_load(call.catalog, call.arena, &deployment, err));
    TRY(catalog_admin_status(call.catalog, call.arena, &status, err));
    TRY(catalog_cleaner_status(call.catalog, call.arena, &cleaner, err));
    if (object == NULL) {
        return err_no_memory(err, 64);
    }
    TRY(render_deployment(object, &deployment, err));
    TRY(render_states(object, &status, err));
    TRY(render_queues(&call, object, err));
    TRY(render_jobs(object, &status, err));
    TRY(render_locks(object, &status, err));
    TRY(render_attempts(object, &status, err));
    TRY(render_overdue(&call, object, err));
    TRY(render_cleaner(object, &cleaner, err));
    TRY(render_store(&call, &deployment.deployment_id, object, err));
    TRY(render_storages(&call, &deployment.deployment_id, object, err));
    return call_reply(&call, 200, TAKE(object), err);
}
