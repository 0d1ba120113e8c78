#include <string.h>

#include "services/admin/admin.h"
#include "services/admin/handlers.h"
#include "services/admin/render.h"

enum err_code handle_hold_list(void *context, struct http_request *request, struct error *err)
{
    AUTO(call_done) struct call call;
    AUTO(json_free_auto) struct json *items = json_new_array();
    const char *name = http_query(request, "table");
    struct table_record table;
    struct catalog_hold_page page = {0};
    struct catalog_hold *holds;
    size_t count;
    call_begin(&call, context, request);
    TRY(call_flag(&call, "released", &page.with_released, err));
    TRY(call_after(&call, &page.after_placed_us, &page.after_id, err));
    TRY(call_limit(&call, DEFAULT_LIMIT, &page.limit, err));
    if (name != NULL) {
        TRY(call_find_table(&call, name, &table, err));
        page.table_id = &table.table_id;
    }
    TRY(catalog_admin_hold_list(call.catalog, &page, call.arena, &holds, &count, err));
    for (size_t i = 0; i < count; i++) {
        struct json *item;
        TRY(render_item(items, &item, err));
        TRY(render_hold(item, &holds[i], err));
    }
    const struct catalog_hold *last = count == page.limit ? &holds[count - 1] : NULL;
    return call_reply_page(&call, TAKE(items),
                           last == NULL ? NULL : call_cursor(&call, last->placed_at_us, &last->hold_id), err);
}

/* --- place --------------------------------------------------------------------------------------------------------- */

static enum err_code read_hold(struct call *call, const struct json *body, struct catalog_hold_new *hold,
                               struct error *err)
{
    const char *name;
    const char *partition = NULL;
    struct table_record table;
    bool has_min;
    bool has_max;
    TRY(call_reason(body, &hold->reason, err));
    TRY(json_get_string(body, NULL, "table", &name, err));
    TRY(json_opt_string(body, NULL, "partition_id", &partition, err));
    TRY(call_body_time(body, "min", &has_min, &hold->min_timestamp_us, err));
    TRY(call_body_time(body, "max", &has_max, &hold->max_timestamp_us, err));
    if (has_min != has_max || (has_min && hold->min_timestamp_us > hold->max_timestamp_us)) {
        return err_set(err, ERR_INVALID, "expected both \"min\" and \"max\", the former not after the latter");
    }
    if (partition != NULL && has_min) {
        return err_set(err, ERR_INVALID, "expected either \"partition_id\" or a time range but found both");
    }
    if (partition != NULL) {
        TRY(uuid_parse(partition, strlen(partition), &hold->partition_id, err));
    }
    TRY(call_find_table(call, name, &table, err));
    hold->table_id = table.table_id;
    hold->has_range = has_min;
    return OK;
}

/* Under the fence, so that no claim comes in between. A claimed partition may be gone at any moment. */
static enum err_code check_partition(struct call *call, struct catalog_transaction *transaction,
                                     const struct catalog_hold_new *hold, struct error *err)
{
    struct catalog_admin_partition partition;
    TRY(catalog_admin_partition_lock(transaction, &hold->partition_id, call->arena, &partition, err));
    if (!uuid_equal(&partition.partition.table_id, &hold->table_id)) {
        return err_set(err, ERR_CONFLICT, "the partition belongs to table \"%s.%s\"", partition.project,
                       partition.table_name);
    }
    if (partition.partition.lock_kind == LOCK_REAP) {
        return err_set(err, ERR_CONFLICT, "reaper \"%s\" has claimed the partition: it may be gone already",
                       partition.lock.owner);
    }
    return OK;
}

static enum err_code place(struct call *call, const struct catalog_hold_new *hold, int64_t *out_claimed,
                           struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    TRY(catalog_begin(call->catalog, &transaction, err));
    TRY(catalog_fence_exclusive(transaction, &hold->table_id, err));
    if (!uuid_is_nil(&hold->partition_id)) {
        TRY(check_partition(call, transaction, hold, err));
    }
    TRY(catalog_admin_hold_place(transaction, hold, out_claimed, err));
    return catalog_commit(TAKE(transaction), err);
}

static enum err_code reply_hold(struct call *call, unsigned status, const struct uuid *hold_id, const int64_t *claimed,
                                struct error *err)
{
    AUTO(json_free_auto) struct json *object = json_new_object();
    struct catalog_hold hold;
    TRY(catalog_admin_hold_load(call->catalog, hold_id, call->arena, &hold, err));
    if (object == NULL) {
        return err_no_memory(err, 64);
    }
    TRY(render_hold(object, &hold, err));
    if (claimed != NULL) {
        TRY(json_set_i64(object, "claimed", *claimed, err));
    }
    return call_reply(call, status, TAKE(object), err);
}

enum err_code handle_hold_place(void *context, struct http_request *request, struct error *err)
{
    static const char *const members[] = {"table", "partition_id", "min", "max", "reason", NULL};
    AUTO(call_done) struct call call;
    AUTO(json_free_auto) struct json *body = NULL;
    struct catalog_hold_new hold = {.hold_id = uuid_v7()};
    int64_t claimed;
    call_begin(&call, context, request);
    TRY(call_body(&call, members, true, &body, err));
    TRY(read_hold(&call, body, &hold, err));
    hold.actor = call.actor;
    TRY(place(&call, &hold, &claimed, err));
    return reply_hold(&call, 201, &hold.hold_id, &claimed, err);
}

enum err_code handle_hold_release(void *context, struct http_request *request, struct error *err)
{
    AUTO(call_done) struct call call;
    struct uuid id;
    call_begin(&call, context, request);
    TRY(call_id(&call, &id, err));
    TRY(catalog_admin_hold_release(call.catalog, &id, call.actor, err));
    return reply_hold(&call, 200, &id, NULL, err);
}
