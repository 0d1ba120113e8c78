/* Undo over a time range: everything in it that can come back does, under one hold over the range, in one transaction. */
#include <stdio.h>
#include <string.h>

#include "common/catalog/audit.h"
#include "services/admin/admin.h"
#include "services/admin/handlers.h"
#include "services/admin/plan.h"
#include "services/admin/render.h"

enum { MAX_PARTITIONS = 100000 };

struct range_undo {
    struct catalog_hold_new hold;
    struct uuid *ids; /* that come back */
    size_t id_count;
    struct json *refused; /* array: the others, with the reason */
};

static enum err_code read_body(struct call *call, struct json *body, struct range_undo *undo, struct error *err)
{
    struct table_record table;
    bool has_min;
    bool has_max;
    TRY(call_reason(body, &undo->hold.reason, err));
    TRY(call_body_time(body, "min", &has_min, &undo->hold.min_timestamp_us, err));
    TRY(call_body_time(body, "max", &has_max, &undo->hold.max_timestamp_us, err));
    if (!has_min || !has_max || undo->hold.min_timestamp_us > undo->hold.max_timestamp_us) {
        return err_set(err, ERR_INVALID, "expected \"min\" and \"max\", the former not after the latter");
    }
    TRY(call_table(call, &table, err));
    if (table.dropped) {
        return err_set(err, ERR_CONFLICT, "its table is dropped");
    }
    undo->hold.table_id = table.table_id;
    undo->hold.has_range = true;
    undo->hold.hold_id = uuid_v7();
    undo->hold.actor = call->actor;
    return OK;
}

static enum err_code sort_out(struct call *call, struct catalog_transaction *transaction, struct range_undo *undo,
                              struct error *err)
{
    struct catalog_admin_partition *found;
    size_t count;
    TRY(catalog_admin_partition_lock_inactive(transaction, &undo->hold.table_id, undo->hold.min_timestamp_us,
                                              undo->hold.max_timestamp_us, MAX_PARTITIONS, call->arena, &found, &count,
                                              err));
    if (count == MAX_PARTITIONS) {
        return err_set(err, ERR_CONFLICT, "more than %d partitions lie in the range; hint: undo smaller ranges",
                       MAX_PARTITIONS);
    }
    undo->ids = arena_zalloc(call->arena, count + 1, sizeof *undo->ids);
    if (undo->ids == NULL) {
        return err_no_memory(err, count * sizeof *undo->ids);
    }
    for (size_t i = 0; i < count; i++) {
        const char *refusal = plan_refusal(PLAN_UNDO, &found[i]);
        struct json *item;
        if (refusal == NULL) {
            undo->ids[undo->id_count++] = found[i].partition.partition_id;
            continue;
        }
        TRY(render_item(undo->refused, &item, err));
        TRY(render_uuid(item, "partition_id", &found[i].partition.partition_id, err));
        TRY(json_set_string(item, "reason", refusal, err));
    }
    return OK;
}

static enum err_code audit(struct catalog_transaction *transaction, const struct range_undo *undo, struct error *err)
{
    char id[UUID_TEXT_BYTES];
    char details[UUID_TEXT_BYTES + 64];
    (void)snprintf(details, sizeof details, "{\"hold_id\":\"%s\",\"undone\":%zu}", uuid_format(&undo->hold.hold_id, id),
                   undo->id_count);
    return catalog_audit_record(transaction,
                                &(struct catalog_audit){.actor = undo->hold.actor,
                                                        .action = "table.undo",
                                                        .table_id = &undo->hold.table_id,
                                                        .details_json = details},
                                err);
}

/* Where nothing comes back, nothing is held either. */
static enum err_code run(struct call *call, struct range_undo *undo, struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    TRY(catalog_begin(call->catalog, &transaction, err));
    TRY(catalog_fence_exclusive(transaction, &undo->hold.table_id, err));
    TRY(sort_out(call, transaction, undo, err));
    if (undo->id_count == 0) {
        undo->hold.hold_id = (struct uuid){{0}};
        return OK;
    }
    TRY(catalog_admin_partition_activate(transaction, undo->ids, undo->id_count, err));
    TRY(catalog_admin_hold_place(transaction, &undo->hold, NULL, err));
    TRY(audit(transaction, undo, err));
    return catalog_commit(TAKE(transaction), err);
}

enum err_code handle_table_undo(void *context, struct http_request *request, struct error *err)
{
    static const char *const members[] = {"min", "max", "reason", NULL};
    AUTO(call_done) struct call call;
    AUTO(json_free_auto) struct json *body = NULL;
    AUTO(json_free_auto) struct json *object = json_new_object();
    struct range_undo undo = {0};
    call_begin(&call, context, request);
    TRY(call_body(&call, members, true, &body, err));
    TRY(read_body(&call, body, &undo, err));
    TRY(json_set_i64(object, "undone", 0, err)); /* first in the answer; set anew below */
    TRY(render_array(object, "refused", &undo.refused, err));
    TRY(run(&call, &undo, err));
    TRY(json_set_i64(object, "undone", (int64_t)undo.id_count, err));
    TRY(render_uuid(object, "hold_id", &undo.hold.hold_id, err));
    return call_reply(&call, 200, TAKE(object), err);
}
