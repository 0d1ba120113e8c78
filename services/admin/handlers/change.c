/* Changes of one partition by hand. All go the same way: the fence of its table, its row locked, the verdict, the change,
 * the audit row, the commit. The guard in the database checks every one of them again. */
#include <string.h>

#include "common/catalog/audit.h"
#include "services/admin/admin.h"
#include "services/admin/handlers.h"
#include "services/admin/plan.h"
#include "services/admin/render.h"

struct change {
    struct call *call;
    enum plan_change kind;
    const char *action; /* for the audit log */
    const char *reason; /* NULL: none was asked for */
    struct catalog_transaction *transaction;
    struct catalog_admin_partition partition; /* as it was before */
    struct uuid hold_id;                      /* that an undo places */
};

static enum err_code audit(const struct change *change, struct error *err)
{
    AUTO(json_free_auto) struct json *details = json_new_object();
    AUTO(free_auto) char *text = NULL;
    if (details == NULL) {
        return err_no_memory(err, 64);
    }
    if (change->reason != NULL) {
        TRY(json_set_string(details, "reason", change->reason, err));
    }
    if (!uuid_is_nil(&change->hold_id)) {
        TRY(render_uuid(details, "hold_id", &change->hold_id, err));
    }
    TRY(json_dump_text(details, JSON_STYLE_COMPACT, &text, err));
    return catalog_audit_record(change->transaction,
                                &(struct catalog_audit){.actor = change->call->actor,
                                                        .action = change->action,
                                                        .table_id = &change->partition.partition.table_id,
                                                        .partition_id = &change->partition.partition.partition_id,
                                                        .details_json = text},
                                err);
}

/* --- the effects --------------------------------------------------------------------------------------------------- */

static struct catalog_admin_move move_from(const struct change *change)
{
    return (struct catalog_admin_move){.partition_id = change->partition.partition.partition_id,
                                       .version = change->partition.partition.version};
}

/* Active again, and kept: without a hold, decay would take it at once. */
static enum err_code undo(struct change *change, struct error *err)
{
    struct catalog_admin_move move = move_from(change);
    move.active = true;
    change->hold_id = uuid_v7();
    const struct catalog_hold_new hold = {
        .hold_id = change->hold_id,
        .table_id = change->partition.partition.table_id,
        .partition_id = move.partition_id,
        .reason = change->reason,
        .actor = change->call->actor,
    };
    TRY(catalog_admin_partition_move(change->transaction, &move, err));
    return catalog_admin_hold_place(change->transaction, &hold, NULL, err);
}

/* A lock by hand: the one that is there already, or a new one. */
static enum err_code hold_lock(struct change *change, struct catalog_admin_move *move, struct error *err)
{
    move->lock_kind = LOCK_MANUAL;
    move->lock_id = change->partition.partition.lock_id;
    if (!uuid_is_nil(&move->lock_id)) {
        return OK;
    }
    move->lock_id = uuid_v7();
    return catalog_admin_lock_add(change->transaction, &move->lock_id, change->call->actor, change->reason, err);
}

static enum err_code park(struct change *change, struct error *err)
{
    struct catalog_admin_move move = move_from(change);
    move.reason = REASON_PARK;
    move.deactivated_by = change->call->actor;
    TRY(hold_lock(change, &move, err));
    return catalog_admin_partition_move(change->transaction, &move, err);
}

static enum err_code pin(struct change *change, struct error *err)
{
    struct catalog_admin_move move = move_from(change);
    move.active = true;
    TRY(hold_lock(change, &move, err));
    return catalog_admin_partition_move(change->transaction, &move, err);
}

static enum err_code release(struct change *change, bool active, struct error *err)
{
    struct catalog_admin_move move = move_from(change);
    move.active = active;
    move.reason = active ? REASON_NONE : change->partition.partition.reason;
    move.deactivated_by = active ? NULL : change->partition.partition.deactivated_by;
    TRY(catalog_admin_partition_move(change->transaction, &move, err));
    return catalog_admin_lock_remove(change->transaction, &change->partition.partition.lock_id, err);
}

static enum err_code apply(struct change *change, struct error *err)
{
    switch (change->kind) {
    case PLAN_UNDO: return undo(change, err);
    case PLAN_PARK: return park(change, err);
    case PLAN_LOCK: return pin(change, err);
    case PLAN_UNPARK_ACTIVE:
    case PLAN_UNLOCK: return release(change, true, err);
    case PLAN_UNPARK_INACTIVE: return release(change, false, err);
    }
    return err_set(err, ERR_INVALID, "expected a known change");
}

/* --- the way -------------------------------------------------------------------------------------------------------- */

/* Placing a hold takes the fence alone; the others go beside decay and commits, which skip or refuse locked rows. */
static enum err_code take_fence(struct change *change, struct error *err)
{
    const struct uuid *table_id = &change->partition.partition.table_id;
    return change->kind == PLAN_UNDO ? catalog_fence_exclusive(change->transaction, table_id, err)
                                     : catalog_fence_shared(change->transaction, table_id, err);
}

static enum err_code run(struct change *change, const struct uuid *id, struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    struct call *call = change->call;
    TRY(catalog_admin_partition_load(call->catalog, id, call->arena, &change->partition, err));
    TRY(catalog_begin(call->catalog, &transaction, err));
    change->transaction = transaction;
    TRY(take_fence(change, err));
    TRY(catalog_admin_partition_lock(transaction, id, call->arena, &change->partition, err));
    const char *refusal = plan_refusal(change->kind, &change->partition);
    if (refusal != NULL) {
        return err_set(err, ERR_CONFLICT, "%s", refusal);
    }
    TRY(apply(change, err));
    TRY(audit(change, err));
    return catalog_commit(TAKE(transaction), err);
}

static enum err_code reply(struct change *change, const struct uuid *id, struct error *err)
{
    AUTO(json_free_auto) struct json *object = json_new_object();
    struct catalog_admin_partition partition;
    TRY(catalog_admin_partition_load(change->call->catalog, id, change->call->arena, &partition, err));
    if (object == NULL) {
        return err_no_memory(err, 64);
    }
    TRY(render_partition(object, &partition, err));
    if (change->kind == PLAN_UNDO) {
        TRY(render_uuid(object, "hold_id", &change->hold_id, err));
    }
    return call_reply(change->call, 200, TAKE(object), err);
}

static enum err_code handle(void *context, struct http_request *request, enum plan_change kind, const char *action,
                            bool with_reason, struct error *err)
{
    static const char *const members[] = {"reason", NULL};
    AUTO(call_done) struct call call;
    AUTO(json_free_auto) struct json *body = NULL;
    struct change change = {.call = &call, .kind = kind, .action = action};
    struct uuid id;
    call_begin(&call, context, request);
    TRY(call_id(&call, &id, err));
    TRY(call_body(&call, members, with_reason, &body, err));
    if (with_reason) {
        TRY(call_reason(body, &change.reason, err));
    }
    TRY(run(&change, &id, err));
    return reply(&change, &id, err);
}

enum err_code handle_partition_undo(void *context, struct http_request *request, struct error *err)
{
    return handle(context, request, PLAN_UNDO, "partition.undo", true, err);
}

enum err_code handle_partition_park(void *context, struct http_request *request, struct error *err)
{
    return handle(context, request, PLAN_PARK, "partition.park", true, err);
}

enum err_code handle_partition_lock(void *context, struct http_request *request, struct error *err)
{
    return handle(context, request, PLAN_LOCK, "partition.lock", true, err);
}

enum err_code handle_partition_unlock(void *context, struct http_request *request, struct error *err)
{
    return handle(context, request, PLAN_UNLOCK, "partition.unlock", false, err);
}

enum err_code handle_partition_unpark(void *context, struct http_request *request, struct error *err)
{
    static const char *const members[] = {"to", NULL};
    AUTO(call_done) struct call call;
    AUTO(json_free_auto) struct json *body = NULL;
    struct change change = {.call = &call, .action = "partition.unpark"};
    const char *to;
    struct uuid id;
    call_begin(&call, context, request);
    TRY(call_id(&call, &id, err));
    TRY(call_body(&call, members, true, &body, err));
    TRY(json_get_string(body, NULL, "to", &to, err));
    if (strcmp(to, "active") != 0 && strcmp(to, "inactive") != 0) {
        return err_set(err, ERR_INVALID, "expected \"to\" to be active or inactive but found \"%.64s\"", to);
    }
    change.kind = strcmp(to, "active") == 0 ? PLAN_UNPARK_ACTIVE : PLAN_UNPARK_INACTIVE;
    TRY(run(&change, &id, err));
    return reply(&change, &id, err);
}
