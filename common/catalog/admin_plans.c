#include "common/catalog/admin_plans.h"

#include <stdio.h>

#include "common/catalog/audit.h"
#include "common/catalog/internal.h"
#include "common/catalog/predicates.h"

/* One statement, one snapshot: the predicate that decay and apply ask, and what stands against it. Inserts only. */
static const char SQL_CREATE[] =
    "with named as (select p.partition_id, p.version, p.row_count, p.data_bytes from granary.partitions p"
    "  where" CATALOG_SQL_DECAYABLE(
        "p") "),"
             " made as (insert into granary.plans (plan_id, kind, table_id, parameters, summary, created_by, "
             "expires_at)"
             "  values ($3, 'retention', $1, jsonb_build_object('cutoff_us', $4::bigint), jsonb_build_object("
             "  'share', $5::float8, 'max_share', $6::float8, 'allowed', $7::boolean,"
             "  'partitions', (select count(*) from named),"
             "  'rows', (select coalesce(sum(row_count), 0) from named),"
             "  'bytes', (select coalesce(sum(data_bytes), 0) from named),"
             "  'held', (select count(*) from granary.partitions p where" CATALOG_SQL_PAST_RETENTION(
                 "p") "           and not (" CATALOG_SQL_NOT_HELD("p") ")),"
                                                                       "  'locked', (select count(*) from "
                                                                       "granary.partitions p "
                                                                       "where" CATALOG_SQL_PAST_RETENTION(
                                                                           "p") "             and p.lock_id is not "
                                                                                "null)), $8, clock_timestamp() + "
                                                                                "$9::interval))"
                                                                                " insert into granary.plan_items "
                                                                                "(plan_id, partition_id, version) "
                                                                                "select $3, partition_id, version from "
                                                                                "named";
static const char SQL_LOAD[] =
    "select l.plan_id, l.table_id, l.kind, t.project, t.name, (l.parameters ->> 'cutoff_us')::bigint,"
    " (l.summary ->> 'partitions')::bigint, (l.summary ->> 'rows')::bigint, (l.summary ->> 'bytes')::bigint,"
    " (l.summary ->> 'held')::bigint, (l.summary ->> 'locked')::bigint, (l.summary ->> 'share')::float8,"
    " (l.summary ->> 'max_share')::float8, (l.summary ->> 'allowed')::boolean, l.created_at, l.expires_at,"
    " l.created_by, l.expires_at <= clock_timestamp(), l.applied_at, l.applied_by, l.outcome::text,"
    " (l.summary ->> 'objects')::bigint, (l.summary ->> 'cut')::boolean"
    " from granary.plans l left join granary.tables t on t.table_id = l.table_id where l.plan_id = $1";
/* One row, by key: of two who apply at once, one changes it. */
static const char SQL_CLAIM[] = "update granary.plans set applied_at = clock_timestamp(), applied_by = $2"
                                " where plan_id = $1 and applied_at is null and expires_at > clock_timestamp()";
static const char SQL_FINISH[] =
    "update granary.plans set outcome = jsonb_build_object('deactivated', $2::bigint, 'rows', $3::bigint,"
    " 'skipped', $4::bigint) where plan_id = $1";
static const char SQL_ITEMS[] =
    "select i.partition_id from granary.plan_items i join granary.partitions p on p.partition_id = i.partition_id"
    " where i.plan_id = $1 order by p.max_timestamp, p.partition_id limit $2";
static const char SQL_SKIPPED[] =
    "select i.partition_id, p.partition_id is not null, coalesce(p.active, false),"
    " coalesce(p.version = i.version, false), coalesce(not (" CATALOG_SQL_NOT_HELD(
        "p") "), false), p.lock_kind,"
             " count(*) over () from granary.plan_items i left join granary.partitions p on p.partition_id = "
             "i.partition_id"
             " where i.plan_id = $1 and p.deactivated_by is distinct from $2 order by i.partition_id limit $3";

static const char SQL_PREVIEW[] =
    "select count(*), coalesce(sum(p.row_count), 0)::bigint, coalesce(sum(p.data_bytes), 0)::bigint,"
    " min(p.min_timestamp), max(p.max_timestamp) from granary.partitions p where" CATALOG_SQL_PAST_RETENTION("p");

static enum err_code record(struct catalog_transaction *transaction, const char *action, const struct uuid *plan_id,
                            const struct uuid *table_id, const char *actor, struct error *err)
{
    char id[UUID_TEXT_BYTES];
    char details[UUID_TEXT_BYTES + 24];
    (void)snprintf(details, sizeof details, "{\"plan_id\":\"%s\"}", uuid_format(plan_id, id));
    return catalog_audit_record(
        transaction,
        &(struct catalog_audit){.actor = actor, .action = action, .table_id = table_id, .details_json = details}, err);
}

enum err_code catalog_admin_plan_create(struct catalog_transaction *transaction, const struct catalog_plan_new *plan,
                                        struct error *err)
{
    TRY(catalog_execute(
        catalog_in(transaction), SQL_CREATE,
        CATALOG_VALUES(catalog_uuid(&plan->table_id), catalog_bound(plan->cutoff_us), catalog_uuid(&plan->plan_id),
                       catalog_i64(plan->cutoff_us), catalog_f64(plan->share), catalog_f64(plan->max_share),
                       catalog_bool(plan->breaker_allows), catalog_text(plan->actor), catalog_interval(plan->life_us)),
        NULL, err));
    return record(transaction, "plan.create", &plan->plan_id, &plan->table_id, plan->actor, err);
}

static enum err_code read_plan(const struct catalog_rows *rows, struct arena *arena, struct catalog_plan *out,
                               struct error *err)
{
    struct catalog_plan plan = {
        .plan_id = catalog_get_uuid(rows, 0, 0),
        .table_id = catalog_get_uuid(rows, 0, 1),
        .cutoff_us = catalog_get_i64(rows, 0, 5),
        .partitions = catalog_get_i64(rows, 0, 6),
        .rows = catalog_get_i64(rows, 0, 7),
        .bytes = catalog_get_i64(rows, 0, 8),
        .held = catalog_get_i64(rows, 0, 9),
        .locked = catalog_get_i64(rows, 0, 10),
        .share = catalog_get_f64(rows, 0, 11),
        .max_share = catalog_get_f64(rows, 0, 12),
        .breaker_allows = catalog_get_bool(rows, 0, 13),
        .created_at_us = catalog_get_timestamp(rows, 0, 14),
        .expires_at_us = catalog_get_timestamp(rows, 0, 15),
        .expired = catalog_get_bool(rows, 0, 17),
        .applied_at_us = catalog_get_timestamp(rows, 0, 18),
        .objects = catalog_get_i64(rows, 0, 21),
        .cut = catalog_get_bool(rows, 0, 22),
    };
    TRY(catalog_load_text(rows, 0, 2, arena, &plan.kind, err));
    TRY(catalog_load_text(rows, 0, 3, arena, &plan.project, err));
    TRY(catalog_load_text(rows, 0, 4, arena, &plan.table_name, err));
    TRY(catalog_load_text(rows, 0, 16, arena, &plan.created_by, err));
    TRY(catalog_load_text(rows, 0, 19, arena, &plan.applied_by, err));
    TRY(catalog_load_text(rows, 0, 20, arena, &plan.outcome_json, err));
    *out = plan;
    return OK;
}

enum err_code catalog_admin_plan_load(struct catalog *catalog, const struct uuid *plan_id, struct arena *arena,
                                      struct catalog_plan *out, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    char id[UUID_TEXT_BYTES];
    TRY(catalog_query(catalog, SQL_LOAD, CATALOG_VALUES(catalog_uuid(plan_id)), &rows, err));
    if (catalog_rows_count(rows) == 0) {
        return err_set(err, ERR_NOT_FOUND, "no plan \"%s\"; hint: plans are kept for a while after they expire",
                       uuid_format(plan_id, id));
    }
    return read_plan(rows, arena, out, err);
}

enum err_code catalog_admin_plan_items(struct catalog *catalog, const struct uuid *plan_id, size_t limit,
                                       struct arena *arena, struct catalog_admin_partition **out, size_t *out_count,
                                       struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    size_t count = 0;
    TRY(catalog_query(catalog, SQL_ITEMS, CATALOG_VALUES(catalog_uuid(plan_id), catalog_i64((int64_t)limit)), &rows,
                      err));
    struct catalog_admin_partition *items = arena_zalloc(arena, catalog_rows_count(rows) + 1, sizeof *items);
    if (items == NULL) {
        return err_no_memory(err, catalog_rows_count(rows) * sizeof *items);
    }
    for (size_t i = 0; i < catalog_rows_count(rows); i++) {
        struct uuid id = catalog_get_uuid(rows, i, 0);
        enum err_code code = catalog_admin_partition_load(catalog, &id, arena, &items[count], err);
        if (code != OK && code != ERR_NOT_FOUND) { /* reaped between the two statements: left out */
            return code;
        }
        count += code == OK;
    }
    *out = items;
    *out_count = count;
    return OK;
}

enum err_code catalog_admin_plan_claim(struct catalog *catalog, const struct uuid *plan_id, const struct uuid *table_id,
                                       const char *actor, struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    uint64_t claimed = 0;
    TRY(catalog_begin(catalog, &transaction, err));
    TRY(catalog_execute(catalog, SQL_CLAIM, CATALOG_VALUES(catalog_uuid(plan_id), catalog_text(actor)), &claimed, err));
    if (claimed != 1) {
        return err_set(err, ERR_CONFLICT, "the plan was applied already or has expired; hint: make a new one");
    }
    TRY(record(transaction, "plan.apply", plan_id, table_id, actor, err));
    return catalog_commit(TAKE(transaction), err);
}

enum err_code catalog_admin_plan_finish(struct catalog *catalog, const struct uuid *plan_id, int64_t deactivated,
                                        int64_t rows, int64_t skipped, struct error *err)
{
    return catalog_execute(
        catalog, SQL_FINISH,
        CATALOG_VALUES(catalog_uuid(plan_id), catalog_i64(deactivated), catalog_i64(rows), catalog_i64(skipped)), NULL,
        err);
}

enum err_code catalog_admin_plan_skipped(struct catalog *catalog, const struct uuid *plan_id,
                                         const char *deactivated_by, size_t limit, struct arena *arena,
                                         struct catalog_plan_skip **out, size_t *out_count, int64_t *out_total,
                                         struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog, SQL_SKIPPED,
                      CATALOG_VALUES(catalog_uuid(plan_id), catalog_text(deactivated_by), catalog_i64((int64_t)limit)),
                      &rows, err));
    size_t count = catalog_rows_count(rows);
    struct catalog_plan_skip *skips = arena_zalloc(arena, count + 1, sizeof *skips);
    if (skips == NULL) {
        return err_no_memory(err, count * sizeof *skips);
    }
    for (size_t i = 0; i < count; i++) {
        skips[i] = (struct catalog_plan_skip){
            .partition_id = catalog_get_uuid(rows, i, 0),
            .exists = catalog_get_bool(rows, i, 1),
            .active = catalog_get_bool(rows, i, 2),
            .same_version = catalog_get_bool(rows, i, 3),
            .held = catalog_get_bool(rows, i, 4),
        };
        TRY(lock_kind_parse(catalog_get_text(rows, i, 5), &skips[i].lock_kind, err));
    }
    *out_total = count == 0 ? 0 : catalog_get_i64(rows, 0, 6);
    *out = skips;
    *out_count = count;
    return OK;
}

enum err_code catalog_admin_preview(struct catalog *catalog, const struct uuid *table_id, int64_t cutoff_us,
                                    struct catalog_preview *out, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog, SQL_PREVIEW, CATALOG_VALUES(catalog_uuid(table_id), catalog_bound(cutoff_us)), &rows,
                      err));
    *out = (struct catalog_preview){
        .partitions = catalog_get_i64(rows, 0, 0),
        .rows = catalog_get_i64(rows, 0, 1),
        .bytes = catalog_get_i64(rows, 0, 2),
        .oldest_us = catalog_get_timestamp(rows, 0, 3),
        .newest_us = catalog_get_timestamp(rows, 0, 4),
    };
    return OK;
}
