/* A plan is made by the predicate that decay asks, and applied by it again, row by row: what has changed in between is left
 * alone. Applying is an operator's word, so that the breaker does not ask a second time. */
#include <string.h>

#include "common/catalog/decay.h"
#include "common/catalog/deployment.h"
#include "services/admin/admin.h"
#include "services/admin/handlers.h"
#include "services/admin/orphans.h"
#include "services/admin/plan.h"
#include "services/admin/render.h"

enum { SHOWN_ITEMS = 20, SHOWN_SKIPS = 100 };

/* Nothing is planned or done while deleting is paused: the predicate would find nothing, and say so for a wrong reason. */
static enum err_code check_not_paused(struct call *call, struct error *err)
{
    if (catalog_deployment_check_deleting(call->catalog, err) == ERR_DENIED) {
        return err_set(err, ERR_CONFLICT, "deleting is paused; hint: granary resume deleting");
    }
    return OK;
}

static enum err_code reply_plan(struct call *call, unsigned status, const struct uuid *plan_id, struct error *err)
{
    AUTO(json_free_auto) struct json *object = json_new_object();
    struct catalog_plan plan;
    struct catalog_admin_partition *items;
    size_t count;
    TRY(catalog_admin_plan_load(call->catalog, plan_id, call->arena, &plan, err));
    if (orphans_is_plan(&plan)) {
        return orphans_reply_plan(call, &plan, err);
    }
    TRY(catalog_admin_plan_items(call->catalog, plan_id, SHOWN_ITEMS, call->arena, &items, &count, err));
    if (object == NULL) {
        return err_no_memory(err, 64);
    }
    TRY(render_plan(object, &plan, items, count, err));
    return call_reply(call, status, TAKE(object), err);
}

/* --- make ---------------------------------------------------------------------------------------------------------- */

static enum err_code read_wish(struct call *call, const struct json *body, struct table_record *table,
                               struct error *err)
{
    const char *kind;
    const char *name;
    TRY(json_get_string(body, NULL, "kind", &kind, err));
    TRY(json_get_string(body, NULL, "table", &name, err));
    if (strcmp(kind, "retention") != 0) {
        return err_set(err, ERR_INVALID, "expected \"kind\" to be retention but found \"%.64s\"", kind);
    }
    TRY(call_find_table(call, name, table, err));
    if (table->dropped) {
        return err_set(err, ERR_CONFLICT, "the table is dropped: it decays whole, without a plan");
    }
    return check_not_paused(call, err);
}

static enum err_code make(struct call *call, const struct table_record *table, struct catalog_plan_new *plan,
                          struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    struct catalog_decay_measure measure;
    int64_t now_us;
    TRY(catalog_begin(call->catalog, &transaction, err));
    TRY(catalog_now(call->catalog, &now_us, err));
    plan->cutoff_us = plan_cutoff_us(table, now_us);
    if (plan->cutoff_us == INT64_MIN) {
        return err_set(err, ERR_CONFLICT, "age.max_age of table \"%s.%s\" is never: nothing grows old", table->project,
                       table->name);
    }
    TRY(catalog_decay_measure(call->catalog, &table->table_id, plan->cutoff_us, &measure, err));
    const struct breaker_input input = {
        .rows_active = measure.rows_active,
        .rows_deactivated = measure.rows_deactivated,
        .rows_to_deactivate = measure.rows,
        .max_share = table->settings.breaker_max_share,
    };
    plan->breaker_allows = breaker_allows(&input, &plan->share);
    plan->max_share = input.max_share;
    TRY(catalog_admin_plan_create(transaction, plan, err));
    return catalog_commit(TAKE(transaction), err);
}

enum err_code handle_plan_create(void *context, struct http_request *request, struct error *err)
{
    static const char *const members[] = {"kind", "table", NULL};
    AUTO(call_done) struct call call;
    AUTO(json_free_auto) struct json *body = NULL;
    struct table_record table;
    call_begin(&call, context, request);
    TRY(call_body(&call, members, true, &body, err));
    TRY(read_wish(&call, body, &table, err));
    struct catalog_plan_new plan = {
        .plan_id = uuid_v7(),
        .table_id = table.table_id,
        .life_us = call.admin->config->plan_life_us,
        .actor = call.actor,
    };
    TRY(make(&call, &table, &plan, err));
    return reply_plan(&call, 201, &plan.plan_id, err);
}

enum err_code handle_plan_show(void *context, struct http_request *request, struct error *err)
{
    AUTO(call_done) struct call call;
    struct uuid id;
    call_begin(&call, context, request);
    TRY(call_id(&call, &id, err));
    return reply_plan(&call, 200, &id, err);
}

/* --- apply --------------------------------------------------------------------------------------------------------- */

/* One batch under the fence. A retention made longer since the plan counts: the earlier cutoff of the two. */
static enum err_code apply_batch(struct call *call, const struct catalog_plan *plan, const char *actor,
                                 struct catalog_decay_outcome *out, struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    struct table_record table;
    int64_t now_us;
    TRY(catalog_begin(call->catalog, &transaction, err));
    TRY(catalog_fence_shared(transaction, &plan->table_id, err));
    TRY(catalog_table_load(call->catalog, &plan->table_id, call->arena, &table, err));
    TRY(catalog_now(call->catalog, &now_us, err));
    int64_t cutoff_us = plan_cutoff_us(&table, now_us);
    cutoff_us = cutoff_us < plan->cutoff_us ? cutoff_us : plan->cutoff_us;
    TRY(catalog_decay_planned(transaction, &plan->table_id, cutoff_us, &plan->plan_id, actor,
                              call->admin->config->apply_batch, out, err));
    return catalog_commit(TAKE(transaction), err);
}

static enum err_code apply_all(struct call *call, const struct catalog_plan *plan, const char *actor,
                               struct catalog_decay_outcome *total, struct error *err)
{
    struct catalog_decay_outcome batch;
    do {
        TRY(apply_batch(call, plan, actor, &batch, err));
        total->partitions += batch.partitions;
        total->rows += batch.rows;
    } while (batch.partitions == call->admin->config->apply_batch);
    return OK;
}

static enum err_code reply_outcome(struct call *call, const struct catalog_plan *plan, const char *actor,
                                   const struct catalog_decay_outcome *outcome, struct error *err)
{
    AUTO(json_free_auto) struct json *object = json_new_object();
    struct catalog_plan_skip *skips;
    size_t count;
    int64_t total;
    struct json *array;
    TRY(catalog_admin_plan_skipped(call->catalog, &plan->plan_id, actor, SHOWN_SKIPS, call->arena, &skips, &count,
                                   &total, err));
    TRY(catalog_admin_plan_finish(call->catalog, &plan->plan_id, outcome->partitions, outcome->rows, total, err));
    TRY(render_uuid(object, "plan_id", &plan->plan_id, err));
    TRY(json_set_i64(object, "deactivated", outcome->partitions, err));
    TRY(json_set_i64(object, "rows", outcome->rows, err));
    TRY(render_array(object, "skipped", &array, err));
    for (size_t i = 0; i < count; i++) {
        struct json *item;
        TRY(render_item(array, &item, err));
        TRY(render_uuid(item, "partition_id", &skips[i].partition_id, err));
        TRY(json_set_string(item, "reason", plan_skip_reason(&skips[i]), err));
    }
    TRY(json_set_i64(object, "skipped_more", total - (int64_t)count, err));
    return call_reply(call, 200, TAKE(object), err);
}

/* Killed in the middle, the plan stays applied in part; what it did not reach is for another plan. */
enum err_code handle_plan_apply(void *context, struct http_request *request, struct error *err)
{
    AUTO(call_done) struct call call;
    AUTO(json_free_auto) struct json *body = NULL;
    static const char *const members[] = {NULL};
    struct uuid id;
    struct catalog_plan plan;
    struct catalog_decay_outcome outcome = {0};
    char text[UUID_TEXT_BYTES];
    call_begin(&call, context, request);
    TRY(call_body(&call, members, false, &body, err));
    TRY(call_id(&call, &id, err));
    TRY(catalog_admin_plan_load(call.catalog, &id, call.arena, &plan, err));
    TRY(check_not_paused(&call, err));
    if (orphans_is_plan(&plan)) {
        return orphans_apply(&call, &plan, err);
    }
    const char *actor = arena_printf(call.arena, "plan:%s", uuid_format(&id, text));
    if (actor == NULL) {
        return err_no_memory(err, sizeof text);
    }
    TRY(catalog_admin_plan_claim(call.catalog, &id, &plan.table_id, call.actor, err));
    TRY(apply_all(&call, &plan, actor, &outcome, err));
    return reply_outcome(&call, &plan, actor, &outcome, err);
}
