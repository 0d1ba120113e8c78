#include "common/catalog/admin_history.h"

#include <string.h>

#include "common/catalog/internal.h"

static const char SQL_RECEIPTS[] =
    "select r.receipt_id, r.partition_id, r.table_id, t.project, t.name, r.path, r.row_count, r.data_bytes,"
    " r.min_timestamp, r.max_timestamp, r.sha256, r.deactivation_reason, r.deactivated_at, r.deactivated_by,"
    " r.deleted_at, r.deleted_by, r.claim_token, r.answers::text"
    " from granary.receipts r join granary.tables t on t.table_id = r.table_id"
    " where ($1::uuid is null or r.table_id = $1) and ($2::uuid is null or r.partition_id = $2)"
    " and ($3::bigint is null or r.receipt_id < $3) order by r.receipt_id desc limit $4";
static const char SQL_AUDIT[] =
    "select a.audit_id, a.at, a.actor, a.action, a.table_id, a.partition_id, t.project, t.name, a.details::text"
    " from granary.audit_log a left join granary.tables t on t.table_id = a.table_id"
    " where ($1::uuid is null or a.table_id = $1) and ($2::uuid is null or a.partition_id = $2)"
    " and ($3::bigint is null or a.audit_id < $3) order by a.audit_id desc limit $4";
static const char SQL_UNEXPORTED[] =
    "select count(*), min(i.id) from unnest($2::text[]) i(id) where i.id not in"
    " (select jsonb_array_elements_text(a.details -> 'message_ids') from granary.audit_log a"
    "  where a.action = 'dead.export' and a.details ->> 'queue' = $1)";

static enum err_code query_page(struct catalog *catalog, const char *sql, const struct catalog_history_page *page,
                                struct catalog_rows **out, struct error *err)
{
    return catalog_query(
        catalog, sql,
        CATALOG_VALUES(catalog_uuid(page->table_id), catalog_uuid(page->partition_id),
                       page->before_id == 0 ? catalog_null(CATALOG_INT64) : catalog_i64(page->before_id),
                       catalog_i64((int64_t)page->limit)),
        out, err);
}

static enum err_code read_receipt(const struct catalog_rows *rows, size_t row, struct arena *arena,
                                  struct catalog_receipt *receipt, struct error *err)
{
    struct catalog_bytes sha256 = catalog_get_bytes(rows, row, 10);
    receipt->receipt_id = catalog_get_i64(rows, row, 0);
    receipt->partition_id = catalog_get_uuid(rows, row, 1);
    receipt->table_id = catalog_get_uuid(rows, row, 2);
    TRY(catalog_load_text(rows, row, 3, arena, &receipt->project, err));
    TRY(catalog_load_text(rows, row, 4, arena, &receipt->table_name, err));
    TRY(catalog_load_text(rows, row, 5, arena, &receipt->path, err));
    receipt->row_count = catalog_get_i64(rows, row, 6);
    receipt->data_bytes = catalog_get_i64(rows, row, 7);
    receipt->min_timestamp_us = catalog_get_timestamp(rows, row, 8);
    receipt->max_timestamp_us = catalog_get_timestamp(rows, row, 9);
    receipt->has_sha256 = sha256.length == sizeof receipt->sha256;
    if (receipt->has_sha256) {
        memcpy(receipt->sha256, sha256.data, sizeof receipt->sha256);
    }
    TRY(deactivation_reason_parse(catalog_get_text(rows, row, 11), &receipt->reason, err));
    receipt->deactivated_at_us = catalog_get_timestamp(rows, row, 12);
    TRY(catalog_load_text(rows, row, 13, arena, &receipt->deactivated_by, err));
    receipt->deleted_at_us = catalog_get_timestamp(rows, row, 14);
    TRY(catalog_load_text(rows, row, 15, arena, &receipt->deleted_by, err));
    receipt->claim_token = catalog_get_i64(rows, row, 16);
    return catalog_load_text(rows, row, 17, arena, &receipt->answers_json, err);
}

enum err_code catalog_admin_receipt_list(struct catalog *catalog, const struct catalog_history_page *page,
                                         struct arena *arena, struct catalog_receipt **out, size_t *out_count,
                                         struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(query_page(catalog, SQL_RECEIPTS, page, &rows, err));
    size_t count = catalog_rows_count(rows);
    struct catalog_receipt *receipts = arena_zalloc(arena, count + 1, sizeof *receipts);
    if (receipts == NULL) {
        return err_no_memory(err, count * sizeof *receipts);
    }
    for (size_t i = 0; i < count; i++) {
        TRY(read_receipt(rows, i, arena, &receipts[i], err));
    }
    *out = receipts;
    *out_count = count;
    return OK;
}

enum err_code catalog_admin_audit_list(struct catalog *catalog, const struct catalog_history_page *page,
                                       struct arena *arena, struct catalog_audit_entry **out, size_t *out_count,
                                       struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(query_page(catalog, SQL_AUDIT, page, &rows, err));
    size_t count = catalog_rows_count(rows);
    struct catalog_audit_entry *entries = arena_zalloc(arena, count + 1, sizeof *entries);
    if (entries == NULL) {
        return err_no_memory(err, count * sizeof *entries);
    }
    for (size_t i = 0; i < count; i++) {
        entries[i].audit_id = catalog_get_i64(rows, i, 0);
        entries[i].at_us = catalog_get_timestamp(rows, i, 1);
        TRY(catalog_load_text(rows, i, 2, arena, &entries[i].actor, err));
        TRY(catalog_load_text(rows, i, 3, arena, &entries[i].action, err));
        entries[i].table_id = catalog_get_uuid(rows, i, 4);
        entries[i].partition_id = catalog_get_uuid(rows, i, 5);
        TRY(catalog_load_text(rows, i, 6, arena, &entries[i].project, err));
        TRY(catalog_load_text(rows, i, 7, arena, &entries[i].table_name, err));
        TRY(catalog_load_text(rows, i, 8, arena, &entries[i].details_json, err));
    }
    *out = entries;
    *out_count = count;
    return OK;
}

enum err_code catalog_admin_unexported(struct catalog *catalog, const char *queue, const char *const *ids, size_t count,
                                       struct arena *arena, int64_t *out_count, const char **out_first,
                                       struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog, SQL_UNEXPORTED,
                      CATALOG_VALUES(catalog_text(queue), catalog_array(CATALOG_TEXT, ids, sizeof *ids, count)), &rows,
                      err));
    TRY(catalog_load_text(rows, 0, 1, arena, out_first, err));
    *out_count = catalog_get_i64(rows, 0, 0);
    return OK;
}
