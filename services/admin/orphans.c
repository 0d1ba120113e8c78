#include "services/admin/orphans.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/catalog/admin_orphans.h"
#include "common/fsck/remove.h"
#include "services/admin/render.h"

enum { SHOWN_ITEMS = 20, SHOWN_SKIPS = 100, BATCH = 500 };
#define GATE_EVERY_US (10 * CLOCK_SECOND_US)

bool orphans_is_plan(const struct catalog_plan *plan)
{
    return strcmp(plan->kind, "orphans") == 0;
}

/* --- showing ------------------------------------------------------------------------------------------------------- */

static enum err_code render_orphan(struct json *object, const struct catalog_orphan *orphan, struct error *err)
{
    TRY(json_set_i64(object, "storage_id", orphan->storage_id, err));
    TRY(json_set_string(object, "path", orphan->path, err));
    TRY(json_set_i64(object, "bytes", orphan->data_bytes, err));
    TRY(render_time(object, "at", orphan->modified_at_us, err));
    TRY(json_set_string(object, "owner", orphan->owner, err));
    TRY(render_uuid(object, "table_id", &orphan->table_id, err));
    return render_uuid(object, "partition_id", &orphan->partition_id, err);
}

static enum err_code render_orphans_plan(struct json *object, const struct catalog_plan *plan, struct error *err)
{
    TRY(render_uuid(object, "plan_id", &plan->plan_id, err));
    TRY(json_set_string(object, "kind", plan->kind, err));
    if (plan->table_name == NULL) {
        TRY(json_set_string(object, "table", NULL, err));
    } else {
        TRY(render_name(object, "table", plan->project, plan->table_name, err));
    }
    TRY(json_set_i64(object, "objects", plan->objects, err));
    TRY(json_set_i64(object, "bytes", plan->bytes, err));
    TRY(json_set_bool(object, "cut", plan->cut, err));
    return render_plan_life(object, plan, err);
}

enum err_code orphans_reply_plan(struct call *call, const struct catalog_plan *plan, struct error *err)
{
    AUTO(json_free_auto) struct json *object = json_new_object();
    const struct catalog_orphans_page page = {.plan_id = plan->plan_id, .after_path = "", .limit = SHOWN_ITEMS};
    struct catalog_orphan *orphans;
    size_t count;
    struct json *array;
    TRY(catalog_admin_orphans_list(call->catalog, &page, call->arena, &orphans, &count, err));
    if (object == NULL) {
        return err_no_memory(err, 64);
    }
    TRY(render_orphans_plan(object, plan, err));
    TRY(render_array(object, "items", &array, err));
    for (size_t i = 0; i < count; i++) {
        struct json *item;
        TRY(render_item(array, &item, err));
        TRY(render_orphan(item, &orphans[i], err));
    }
    return call_reply(call, 200, TAKE(object), err);
}

/* --- applying ------------------------------------------------------------------------------------------------------ */

struct application {
    struct call *call;
    const struct catalog_plan *plan;
    struct gate *gate;
    struct arena *arena; /* of a batch */
    struct json *skipped;
    int64_t deleted, bytes, kept;
};

static enum err_code note_outcome(struct application *application, const struct catalog_orphan *orphan,
                                  enum fsck_removal outcome, const char *error, struct error *err)
{
    struct json *item;
    if (outcome == FSCK_REMOVED || outcome == FSCK_WAS_ABSENT) {
        application->deleted++;
        application->bytes += orphan->data_bytes;
        return OK;
    }
    if (application->kept++ >= SHOWN_SKIPS) {
        return OK;
    }
    const char *reason = error != NULL ? error : fsck_removal_name(outcome);
    TRY(render_item(application->skipped, &item, err));
    TRY(json_set_string(item, "path", orphan->path, err));
    return render_any_text(item, "reason", reason, strlen(reason), err);
}

/* Orphans of one storage. */
static enum err_code apply_run(struct application *application, const struct catalog_orphan *orphans, size_t count,
                               struct error *err)
{
    struct call *call = application->call;
    enum fsck_removal *outcomes = arena_zalloc(application->arena, count, sizeof *outcomes);
    const char **errors = arena_zalloc(application->arena, count, sizeof *errors);
    const char **names = arena_zalloc(application->arena, count, sizeof *names);
    if (outcomes == NULL || errors == NULL || names == NULL) {
        return err_no_memory(err, count * sizeof *outcomes);
    }
    struct fsck_remover remover = {
        .catalog = call->catalog,
        .storage_id = orphans[0].storage_id,
        .gate = application->gate,
        .plan_id = &application->plan->plan_id,
        .actor = call->actor,
    };
    TRY(storages_get(call->admin->storages, call->catalog, remover.storage_id, &remover.store, err));
    TRY(fsck_remove(&remover, orphans, count, application->arena, outcomes, errors, err));
    for (size_t i = 0; i < count; i++) {
        names[i] = fsck_removal_name(outcomes[i]);
        TRY(note_outcome(application, &orphans[i], outcomes[i], errors[i], err));
    }
    return catalog_admin_orphans_note(call->catalog, &application->plan->plan_id, orphans, names, count, err);
}

static enum err_code apply_batch(struct application *application, const struct catalog_orphan *orphans, size_t count,
                                 struct error *err)
{
    for (size_t first = 0; first < count;) {
        size_t next = first + 1;
        while (next < count && orphans[next].storage_id == orphans[first].storage_id) {
            next++;
        }
        TRY(apply_run(application, orphans + first, next - first, err));
        first = next;
    }
    return OK;
}

static enum err_code apply_all(struct application *application, struct error *err)
{
    AUTO(buf_done) struct buf after = {0};
    struct catalog_orphans_page page = {.plan_id = application->plan->plan_id, .after_path = "", .limit = BATCH};
    for (size_t count = BATCH; count == BATCH;) {
        struct catalog_orphan *orphans;
        arena_reset(application->arena);
        TRY(catalog_admin_orphans_list(application->call->catalog, &page, application->arena, &orphans, &count, err));
        TRY(apply_batch(application, orphans, count, err));
        if (count == BATCH) {
            page.after_storage = orphans[count - 1].storage_id;
            buf_clear(&after);
            TRY(buf_append(&after, orphans[count - 1].path, strlen(orphans[count - 1].path) + 1, err));
            page.after_path = (const char *)after.data;
        }
    }
    return OK;
}

static enum err_code open_gate(struct call *call, struct gate **out, struct error *err)
{
    AUTO(gate_free_auto) struct gate *gate = NULL;
    const struct gate_options options = {.storages = call->admin->storages, .every_us = GATE_EVERY_US};
    struct error reason = {0};
    TRY(gate_new(&options, &gate, err));
    enum gate_state state = gate_ask(gate, call->catalog, &reason);
    if (state != GATE_OPEN) { /* what a rule says is a conflict for whoever asked, not a matter of rights */
        return err_set(err, state == GATE_UNKNOWN ? reason.code : ERR_CONFLICT, "%s", reason.text);
    }
    *out = TAKE(gate);
    return OK;
}

enum err_code orphans_apply(struct call *call, const struct catalog_plan *plan, struct error *err)
{
    AUTO(gate_free_auto) struct gate *gate = NULL;
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    AUTO(json_free_auto) struct json *object = json_new_object();
    struct application application = {.call = call, .plan = plan, .arena = arena};
    if (arena == NULL || object == NULL) {
        return err_no_memory(err, 4096);
    }
    TRY(open_gate(call, &gate, err));
    application.gate = gate;
    TRY(catalog_admin_plan_claim(call->catalog, &plan->plan_id, &plan->table_id, call->actor, err));
    TRY(render_uuid(object, "plan_id", &plan->plan_id, err));
    TRY(render_array(object, "skipped", &application.skipped, err));
    TRY(apply_all(&application, err));
    TRY(catalog_admin_orphans_done(call->catalog, &plan->plan_id, application.deleted, application.bytes,
                                   application.kept, err));
    TRY(json_set_i64(object, "deleted", application.deleted, err));
    TRY(json_set_i64(object, "bytes", application.bytes, err));
    TRY(json_set_i64(object, "skipped_more", application.kept - (int64_t)json_length(application.skipped), err));
    return call_reply(call, 200, TAKE(object), err);
}
