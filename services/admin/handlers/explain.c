#include <string.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "services/admin/admin.h"
#include "services/admin/explain.h"
#include "services/admin/handlers.h"
#include "services/admin/render.h"

enum { SHOWN_AUDIT = 20 };

/* All that is known of one partition, there or gone. */
struct facts {
    struct uuid id;
    bool found; /* it has a row */
    struct catalog_admin_partition partition;
    struct table_record table;
    struct catalog_hold *holds;
    size_t hold_count;
    struct catalog_admin_failure failure;
    struct catalog_admin_lineage lineage;
    struct catalog_receipt *receipt; /* NULL: none */
    struct catalog_audit_entry *audit;
    size_t audit_count;
};

static enum err_code gather_live(struct call *call, struct facts *facts, struct error *err)
{
    enum err_code code = catalog_admin_partition_load(call->catalog, &facts->id, call->arena, &facts->partition, err);
    if (code == ERR_NOT_FOUND) {
        return OK;
    }
    TRY(code);
    facts->found = true;
    TRY(catalog_table_load(call->catalog, &facts->partition.partition.table_id, call->arena, &facts->table, err));
    TRY(catalog_admin_hold_over(call->catalog, &facts->partition.partition, call->arena, &facts->holds,
                                &facts->hold_count, err));
    return catalog_admin_partition_failure(call->catalog, &facts->id, call->arena, &facts->failure, err);
}

/* The row first, the receipt after it: one that is reaped in between is found by one of the two. */
static enum err_code gather(struct call *call, struct facts *facts, struct error *err)
{
    const struct catalog_history_page page = {.partition_id = &facts->id, .limit = SHOWN_AUDIT};
    struct catalog_receipt *receipts;
    size_t count;
    TRY(gather_live(call, facts, err));
    TRY(catalog_admin_receipt_list(call->catalog, &page, call->arena, &receipts, &count, err));
    facts->receipt = count > 0 ? &receipts[0] : NULL;
    TRY(catalog_admin_partition_lineage(call->catalog, &facts->id, call->arena, &facts->lineage, err));
    return catalog_admin_audit_list(call->catalog, &page, call->arena, &facts->audit, &facts->audit_count, err);
}

static enum err_code explain(struct call *call, const struct facts *facts, struct explanation *out, struct error *err)
{
    struct catalog_deployment deployment;
    char id[UUID_TEXT_BYTES];
    if (!facts->found && facts->receipt == NULL) {
        return err_set(err, ERR_NOT_FOUND,
                       "no partition \"%s\", and no receipt of one; hint: receipts are pruned after a time",
                       uuid_format(&facts->id, id));
    }
    if (!facts->found) {
        return explain_deleted(facts->receipt, call->arena, out, err);
    }
    struct explain_input input = {
        .partition = &facts->partition,
        .table = &facts->table,
        .holds = facts->holds,
        .hold_count = facts->hold_count,
        .failure = &facts->failure,
        .parent_count = facts->lineage.parent_count,
        .child_count = facts->lineage.child_count,
    };
    TRY(catalog_cleaner_missing_since(call->catalog, &facts->id, &input.missing_since_us, err));
    TRY(catalog_now(call->catalog, &input.now_us, err));
    TRY(catalog_deployment_load(call->catalog, call->arena, &deployment, err));
    input.deleting_paused = deployment.deleting_paused;
    input.paused_by = deployment.paused_by;
    return explain_partition(&input, call->arena, out, err);
}

/* --- the answer ----------------------------------------------------------------------------------------------------- */

static enum err_code render_words(struct json *object, const struct explanation *explanation, struct error *err)
{
    struct json *details;
    TRY(json_set_string(object, "state", explanation->state, err));
    TRY(json_set_string(object, "summary", explanation->summary, err));
    TRY(render_array(object, "details", &details, err));
    for (size_t i = 0; i < explanation->detail_count; i++) {
        const char *text = explanation->details[i];
        TRY(json_append(details, json_new_string(text, text_utf8_valid_prefix(text, strlen(text))), err));
    }
    return OK;
}

static enum err_code render_grace(struct json *object, const struct explanation *explanation, struct error *err)
{
    struct json *grace;
    char value[CLOCK_TEXT_BYTES];
    if (explanation->grace_setting == NULL) {
        return json_set_string(object, "grace", NULL, err);
    }
    TRY(render_object(object, "grace", &grace, err));
    TRY(json_set_string(grace, "setting", explanation->grace_setting, err));
    TRY(json_set_string(grace, "value", clock_format_duration(explanation->grace_us, value), err));
    return render_time_or_null(grace, "over_at", explanation->grace_over_at_us, EXPLAIN_NO_TIME, err);
}

static enum err_code render_retries(struct json *object, const struct catalog_admin_failure *failure, struct error *err)
{
    struct json *retries;
    if (!failure->known) {
        return json_set_string(object, "retries", NULL, err);
    }
    TRY(render_object(object, "retries", &retries, err));
    TRY(json_set_i64(retries, "tries", failure->tries, err));
    TRY(json_set_string(retries, "last_error", failure->last_error, err));
    return render_time(retries, "last_at", failure->last_at_us, err);
}

static enum err_code render_next(struct json *object, const struct explanation *explanation, struct error *err)
{
    struct json *next;
    TRY(render_object(object, "next", &next, err));
    TRY(json_set_string(next, "what", explanation->next_what, err));
    TRY(json_set_string(next, "who", explanation->next_who, err));
    return render_time_or_null(next, "when", explanation->next_when_us, EXPLAIN_NO_TIME, err);
}

static enum err_code render_past(struct json *object, const struct facts *facts, struct error *err)
{
    struct json *value;
    if (facts->receipt == NULL) {
        TRY(json_set_string(object, "receipt", NULL, err));
    } else {
        TRY(render_object(object, "receipt", &value, err));
        TRY(render_receipt(value, facts->receipt, err));
    }
    TRY(render_object(object, "lineage", &value, err));
    TRY(render_uuids(value, "parents", facts->lineage.parents, facts->lineage.parent_count, err));
    TRY(render_uuids(value, "children", facts->lineage.children, facts->lineage.child_count, err));
    TRY(render_array(object, "audit", &value, err));
    for (size_t i = 0; i < facts->audit_count; i++) {
        struct json *item;
        TRY(render_item(value, &item, err));
        TRY(render_audit(item, &facts->audit[i], err));
    }
    return OK;
}

static enum err_code render_present(struct json *object, const struct facts *facts, struct error *err)
{
    struct json *value;
    TRY(render_uuid(object, "partition_id", &facts->id, err));
    TRY(json_set_bool(object, "found", facts->found, err));
    if (!facts->found) {
        return json_set_string(object, "partition", NULL, err);
    }
    TRY(render_object(object, "partition", &value, err));
    return render_partition(value, &facts->partition, err);
}

static enum err_code render_holds(struct json *object, const struct facts *facts, struct error *err)
{
    struct json *array;
    TRY(render_array(object, "holds", &array, err));
    for (size_t i = 0; i < facts->hold_count; i++) {
        struct json *item;
        TRY(render_item(array, &item, err));
        TRY(render_hold(item, &facts->holds[i], err));
    }
    return OK;
}

enum err_code handle_partition_explain(void *context, struct http_request *request, struct error *err)
{
    AUTO(call_done) struct call call;
    AUTO(json_free_auto) struct json *object = json_new_object();
    struct facts facts = {0};
    struct explanation explanation = {0};
    call_begin(&call, context, request);
    TRY(call_id(&call, &facts.id, err));
    TRY(gather(&call, &facts, err));
    TRY(explain(&call, &facts, &explanation, err));
    TRY(render_present(object, &facts, err));
    TRY(render_words(object, &explanation, err));
    TRY(render_holds(object, &facts, err));
    TRY(render_grace(object, &explanation, err));
    TRY(render_retries(object, &facts.failure, err));
    TRY(render_next(object, &explanation, err));
    TRY(render_past(object, &facts, err));
    return call_reply(&call, 200, TAKE(object), err);
}
