#include <string.h>

#include "services/admin/admin.h"
#include "services/admin/handlers.h"
#include "services/admin/render.h"

struct filter {
    struct table_record table;
    struct uuid partition_id;
    struct catalog_history_page page;
};

/* filter->page points into filter. */
static enum err_code read_filter(struct call *call, struct filter *filter, struct error *err)
{
    const char *table = http_query(call->request, "table");
    const char *partition = http_query(call->request, "partition");
    filter->page = (struct catalog_history_page){0};
    TRY(call_after_number(call, &filter->page.before_id, err));
    TRY(call_limit(call, DEFAULT_LIMIT, &filter->page.limit, err));
    if (table != NULL) {
        TRY(call_find_table(call, table, &filter->table, err));
        filter->page.table_id = &filter->table.table_id;
    }
    if (partition != NULL) {
        TRY(uuid_parse(partition, strlen(partition), &filter->partition_id, err));
        filter->page.partition_id = &filter->partition_id;
    }
    return OK;
}

static const char *cursor(struct call *call, int64_t id)
{
    return arena_printf(call->arena, "%lld", (long long)id);
}

enum err_code handle_receipt_list(void *context, struct http_request *request, struct error *err)
{
    AUTO(call_done) struct call call;
    AUTO(json_free_auto) struct json *items = json_new_array();
    struct filter filter;
    struct catalog_receipt *receipts;
    size_t count;
    call_begin(&call, context, request);
    TRY(read_filter(&call, &filter, err));
    TRY(catalog_admin_receipt_list(call.catalog, &filter.page, call.arena, &receipts, &count, err));
    for (size_t i = 0; i < count; i++) {
        struct json *item;
        TRY(render_item(items, &item, err));
        TRY(render_receipt(item, &receipts[i], err));
    }
    bool more = count == filter.page.limit;
    return call_reply_page(&call, TAKE(items), more ? cursor(&call, receipts[count - 1].receipt_id) : NULL, err);
}

enum err_code handle_audit_list(void *context, struct http_request *request, struct error *err)
{
    AUTO(call_done) struct call call;
    AUTO(json_free_auto) struct json *items = json_new_array();
    struct filter filter;
    struct catalog_audit_entry *entries;
    size_t count;
    call_begin(&call, context, request);
    TRY(read_filter(&call, &filter, err));
    TRY(catalog_admin_audit_list(call.catalog, &filter.page, call.arena, &entries, &count, err));
    for (size_t i = 0; i < count; i++) {
        struct json *item;
        TRY(render_item(items, &item, err));
        TRY(render_audit(item, &entries[i], err));
    }
    bool more = count == filter.page.limit;
    return call_reply_page(&call, TAKE(items), more ? cursor(&call, entries[count - 1].audit_id) : NULL, err);
}
