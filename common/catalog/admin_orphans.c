#include "common/catalog/admin_orphans.h"

#include <stdio.h>

#include "common/catalog/audit.h"
#include "common/catalog/orphans_private.h"

static const char SQL_BEGIN[] =
    "insert into granary.plans (plan_id, kind, table_id, parameters, summary, created_by, expires_at)"
    " values ($1, 'orphans', $2, '{}', '{}', $3, clock_timestamp())";
/* Inserts only. An object that was listed twice, by the end of one page and the start of the next, is one. */
static const char SQL_ADD[] =
    "insert into granary.plan_orphans (plan_id, storage_id, path, data_bytes, modified_at, owner, table_id,"
    "   partition_id)"
    " select $1, n.* from unnest($2::int[], $3::text[], $4::bigint[], $5::timestamptz[], $6::text[], $7::uuid[],"
    "   $8::uuid[]) n on conflict do nothing";
static const char SQL_FINISH[] =
    "update granary.plans set expires_at = clock_timestamp() + $2::interval,"
    " summary = jsonb_build_object('objects', $3::bigint, 'bytes', $4::bigint, 'cut', $5::boolean)"
    " where plan_id = $1 and applied_at is null";
static const char SQL_LIST[] =
    "select " CATALOG_SQL_ORPHAN " from granary.plan_orphans"
    " where plan_id = $1 and (storage_id, path) > ($2, $3) order by storage_id, path limit $4";
static const char SQL_NOTE[] = "update granary.plan_orphans o set outcome = n.outcome"
                               " from unnest($2::int[], $3::text[], $4::text[]) n (storage_id, path, outcome)"
                               " where o.plan_id = $1 and o.storage_id = n.storage_id and o.path = n.path";
static const char SQL_DONE[] = "update granary.plans set outcome = jsonb_build_object('deleted', $2::bigint,"
                               " 'bytes', $3::bigint, 'kept', $4::bigint) where plan_id = $1";

enum err_code catalog_admin_orphans_begin(struct catalog *catalog, const struct uuid *plan_id,
                                          const struct uuid *table_id, const char *actor, struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    char id[UUID_TEXT_BYTES];
    char details[UUID_TEXT_BYTES + 48];
    (void)snprintf(details, sizeof details, "{\"plan_id\":\"%s\",\"kind\":\"orphans\"}", uuid_format(plan_id, id));
    TRY(catalog_begin(catalog, &transaction, err));
    TRY(catalog_execute_expect(transaction, SQL_BEGIN,
                               CATALOG_VALUES(catalog_uuid(plan_id), catalog_uuid(table_id), catalog_text(actor)), 1,
                               err));
    TRY(catalog_audit_record(
        transaction,
        &(struct catalog_audit){.actor = actor, .action = "plan.create", .table_id = table_id, .details_json = details},
        err));
    return catalog_commit(TAKE(transaction), err);
}

enum err_code catalog_admin_orphans_add(struct catalog *catalog, const struct uuid *plan_id,
                                        const struct catalog_orphan *orphans, size_t count, struct error *err)
{
    const struct catalog_orphan *o = orphans;
    return catalog_execute(catalog, SQL_ADD,
                           CATALOG_VALUES(catalog_uuid(plan_id),
                                          catalog_array(CATALOG_INT32, &o->storage_id, sizeof *o, count),
                                          catalog_array(CATALOG_TEXT, &o->path, sizeof *o, count),
                                          catalog_array(CATALOG_INT64, &o->data_bytes, sizeof *o, count),
                                          catalog_array(CATALOG_TIMESTAMP, &o->modified_at_us, sizeof *o, count),
                                          catalog_array(CATALOG_TEXT, &o->owner, sizeof *o, count),
                                          catalog_array(CATALOG_UUID, &o->table_id, sizeof *o, count),
                                          catalog_array(CATALOG_UUID, &o->partition_id, sizeof *o, count)),
                           NULL, err);
}

enum err_code catalog_admin_orphans_finish(struct catalog *catalog, const struct uuid *plan_id,
                                           const struct catalog_orphans_sum *sum, int64_t life_us, struct error *err)
{
    return catalog_execute(catalog, SQL_FINISH,
                           CATALOG_VALUES(catalog_uuid(plan_id), catalog_interval(life_us), catalog_i64(sum->objects),
                                          catalog_i64(sum->bytes), catalog_bool(sum->cut)),
                           NULL, err);
}

enum err_code catalog_admin_orphans_list(struct catalog *catalog, const struct catalog_orphans_page *page,
                                         struct arena *arena, struct catalog_orphan **out, size_t *out_count,
                                         struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog, SQL_LIST,
                      CATALOG_VALUES(catalog_uuid(&page->plan_id), catalog_i32(page->after_storage),
                                     catalog_text(page->after_path), catalog_i64((int64_t)page->limit)),
                      &rows, err));
    return catalog_orphans_read(rows, arena, out, out_count, err);
}

enum err_code catalog_admin_orphans_note(struct catalog *catalog, const struct uuid *plan_id,
                                         const struct catalog_orphan *orphans, const char *const *outcomes,
                                         size_t count, struct error *err)
{
    const struct catalog_orphan *o = orphans;
    return catalog_execute(catalog, SQL_NOTE,
                           CATALOG_VALUES(catalog_uuid(plan_id),
                                          catalog_array(CATALOG_INT32, &o->storage_id, sizeof *o, count),
                                          catalog_array(CATALOG_TEXT, &o->path, sizeof *o, count),
                                          catalog_array(CATALOG_TEXT, outcomes, sizeof *outcomes, count)),
                           NULL, err);
}

enum err_code catalog_admin_orphans_done(struct catalog *catalog, const struct uuid *plan_id, int64_t deleted,
                                         int64_t bytes, int64_t kept, struct error *err)
{
    return catalog_execute(
        catalog, SQL_DONE,
        CATALOG_VALUES(catalog_uuid(plan_id), catalog_i64(deleted), catalog_i64(bytes), catalog_i64(kept)), NULL, err);
}
