#include "common/catalog/undrop.h"

#include <stdio.h>

#include "common/catalog/admin_holds.h"
#include "common/catalog/audit.h"
#include "common/catalog/internal.h"

static const char SQL_FIND[] = "select table_id from granary.tables where project = $1 and name = $2"
                               " and dropped_at is not null order by dropped_at desc limit 2";
/* Its rejects table was dropped with it, in the same transaction. In the order in which everyone takes fences. */
static const char SQL_FAMILY[] =
    "select t.table_id from granary.tables t join granary.tables p on p.table_id = $1 and p.kind = 'user'"
    " where (t.table_id = $1 or t.parent_id = $1) and t.dropped_at is not null order by t.table_id";
static const char SQL_LOST[] =
    "select (select count(*) from granary.partitions p where p.table_id = any($1::uuid[]) and not p.active"
    "          and p.deactivation_reason = 'drop' and p.lock_id is not null)"
    "     + (select count(*) from granary.receipts r join granary.tables t on t.table_id = r.table_id"
    "        where r.table_id = any($1::uuid[]) and r.deactivation_reason = 'drop' and r.deleted_at >= t.dropped_at)";
static const char SQL_LIFT[] = "update granary.tables set dropped_at = null, dropped_by = null, version = version + 1"
                               " where table_id = any($1::uuid[])";
/* Row locks on all that comes back; nobody else takes them under the exclusive fence. */
static const char SQL_BACK[] =
    "with back as ("
    "  update granary.partitions p set active = true, deactivation_reason = null"
    "  where p.table_id = any($1::uuid[]) and not p.active and p.deactivation_reason = 'drop' and p.lock_id is null"
    "  returning p.row_count)"
    " select count(*), coalesce(sum(row_count), 0)::bigint from back";

enum err_code catalog_table_find_dropped(struct catalog *catalog, const char *project, const char *name,
                                         struct uuid *out, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog, SQL_FIND, CATALOG_VALUES(catalog_text(project), catalog_text(name)), &rows, err));
    if (catalog_rows_count(rows) == 0) {
        return err_set(err, ERR_NOT_FOUND, "no dropped table \"%s.%s\"; hint: granary table ls --dropped", project,
                       name);
    }
    if (catalog_rows_count(rows) > 1) {
        return err_set(err, ERR_CONFLICT,
                       "several dropped tables were named \"%s.%s\"; hint: granary table ls --dropped, and name its id",
                       project, name);
    }
    *out = catalog_get_uuid(rows, 0, 0);
    return OK;
}

static enum err_code fence_family(struct catalog_transaction *transaction, const struct uuid *table_id,
                                  struct arena *arena, struct uuid **out, size_t *out_count, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    char id[UUID_TEXT_BYTES];
    TRY(catalog_query(catalog_in(transaction), SQL_FAMILY, CATALOG_VALUES(catalog_uuid(table_id)), &rows, err));
    TRY(catalog_load_ids(rows, 0, arena, out, out_count, err));
    if (*out_count == 0) {
        return err_set(err, ERR_NOT_FOUND, "expected a table \"%s\" that was dropped but found none",
                       uuid_format(table_id, id));
    }
    for (size_t i = 0; i < *out_count; i++) {
        TRY(catalog_fence_exclusive(transaction, &(*out)[i], err));
    }
    return OK;
}

static enum err_code check_lost(struct catalog *catalog, const struct catalog_undrop *undrop,
                                const struct catalog_value *family, struct catalog_undropped *out, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog, SQL_LOST, family, 1, &rows, err));
    out->lost = catalog_get_i64(rows, 0, 0);
    if (out->lost != 0 && !undrop->partial) {
        return err_set(err, ERR_CONFLICT,
                       "reapers have taken %lld of its partitions already; hint: --partial brings back the others",
                       (long long)out->lost);
    }
    return OK;
}

static enum err_code bring_back(struct catalog_transaction *transaction, const struct catalog_value *family,
                                struct catalog_undropped *out, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    enum err_code code = catalog_execute(catalog_in(transaction), SQL_LIFT, family, 1, NULL, err);
    if (code == ERR_CONFLICT) {
        return err_wrap(err, "another table has its name by now");
    }
    TRY(code);
    TRY(catalog_query(catalog_in(transaction), SQL_BACK, family, 1, &rows, err));
    out->partitions = catalog_get_i64(rows, 0, 0);
    out->rows = catalog_get_i64(rows, 0, 1);
    return OK;
}

static enum err_code hold_and_record(struct catalog_transaction *transaction, const struct catalog_undrop *undrop,
                                     const struct catalog_undropped *undropped, struct error *err)
{
    char details[128];
    const struct catalog_hold_new hold = {
        .hold_id = undrop->hold_id, .table_id = undrop->table_id, .reason = undrop->reason, .actor = undrop->actor};
    (void)snprintf(details, sizeof details, "{\"partitions\":%lld,\"rows\":%lld,\"lost\":%lld}",
                   (long long)undropped->partitions, (long long)undropped->rows, (long long)undropped->lost);
    TRY(catalog_admin_hold_place(transaction, &hold, NULL, err));
    return catalog_audit_record(
        transaction,
        &(struct catalog_audit){
            .actor = undrop->actor, .action = "table.undrop", .table_id = &undrop->table_id, .details_json = details},
        err);
}

enum err_code catalog_table_undrop(struct catalog *catalog, const struct catalog_undrop *undrop,
                                   struct catalog_undropped *out, struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct uuid *ids;
    size_t count;
    if (arena == NULL) {
        return err_no_memory(err, 4096);
    }
    TRY(catalog_begin(catalog, &transaction, err));
    TRY(fence_family(transaction, &undrop->table_id, arena, &ids, &count, err));
    const struct catalog_value family = catalog_array(CATALOG_UUID, ids, sizeof *ids, count);
    TRY(check_lost(catalog, undrop, &family, out, err));
    TRY(bring_back(transaction, &family, out, err));
    TRY(hold_and_record(transaction, undrop, out, err));
    return catalog_commit(TAKE(transaction), err);
}
