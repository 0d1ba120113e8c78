/* Events are hints: each statement here asks the catalog again, with the predicate that the collector used. The claim is
 * one statement, so that between the look and the act nothing can slip in; deleting a row wants the claim's token, so that
 * a reaper that slept through its lease changes nothing. */
#include "common/catalog/reap.h"

#include <string.h>

#include "common/catalog/predicates.h"
#include "common/catalog/reap_private.h"

/* Reads only, by key. */
static const char SQL_COLLECT[] = "select p.partition_id, p.deactivated_at from granary.partitions p"
                                  " where" CATALOG_SQL_REAPABLE("p") " and" CATALOG_SQL_CLAIMABLE(
                                      "p") "   and (p.deactivated_at, p.partition_id) > ($5, coalesce($6, "
                                           "'00000000-0000-0000-0000-000000000000'::uuid))"
                                           " order by p.deactivated_at, p.partition_id limit $7";

/* Reads only; walks from table to table over the index instead of over all inactive rows. */
static const char SQL_TABLES[] =
    "select t.table_id from granary.tables t"
    " where t.table_id > coalesce($1, '00000000-0000-0000-0000-000000000000'::uuid)"
    "   and exists (select from granary.partitions p where p.table_id = t.table_id and not p.active)"
    " order by t.table_id limit $2";

static const char SQL_CLAIM_LOCK[] =
    "insert into granary.locks (lock_id, kind, owner, reason, expires_at)"
    " values ($1, 'reap', $2, 'reaping', clock_timestamp() + $3::interval) returning token";

/* Row locks in the order of the ids, so that two reapers with the same ids cannot wait for each other in a ring. */
static const char SQL_CLAIM[] = "with wanted as ("
                                "  select p.partition_id from granary.partitions p"
                                "  join unnest($5::uuid[], $6::timestamptz[]) e (partition_id, deactivated_at)"
                                "    on p.partition_id = e.partition_id and p.deactivated_at = e.deactivated_at"
                                "  where" CATALOG_SQL_REAPABLE("p") " and" CATALOG_SQL_CLAIMABLE(
                                    "p") "  order by p.partition_id for update of p skip locked)"
                                         " update granary.partitions p set lock_id = $7, lock_kind = 'reap'"
                                         " from wanted w where p.partition_id = w.partition_id"
                                         " returning p.partition_id, p.deactivated_at, p.path, p.storage_id";

static const char SQL_RENEW[] =
    "update granary.locks set expires_at = greatest(expires_at, clock_timestamp() + $3::interval)"
    " where lock_id = $1 and token = $2 and kind = 'reap' and expires_at > clock_timestamp()";

static const char SQL_RESUME[] =
    "select p.partition_id, p.deactivated_at, p.path, p.storage_id from granary.partitions p"
    " where p.table_id = $1 and p.partition_id = any($2::uuid[]) and p.lock_id = $3 and p.lock_kind = 'reap'"
    "   and" CATALOG_SQL_NOT_HELD("p") " and" CATALOG_SQL_NOT_PAUSED " order by p.partition_id";

static const char SQL_EXTRA[] =
    "select o.partition_id, o.path from granary.partition_objects o where o.partition_id = any($1::uuid[])"
    " order by o.partition_id, o.path";

/* The lock row is held until the commit: the claim cannot run out between the check and the delete. */
static const char SQL_HOLD_CLAIM[] =
    "select from granary.locks where lock_id = $1 and token = $2 and kind = 'reap' and expires_at > clock_timestamp()"
    " for update";

static const char SQL_DELETE[] =
    "with done as (select * from unnest($2::uuid[], $3::jsonb[]) d (partition_id, answers)),"
    " gone as ("
    "  delete from granary.partitions p using done d"
    "  where p.partition_id = d.partition_id and p.lock_id = $1 and p.lock_kind = 'reap' and not p.active"
    "  returning p.*, d.answers)"
    " insert into granary.receipts (partition_id, table_id, path, row_count, data_bytes, min_timestamp, max_timestamp,"
    "   sha256, deactivation_reason, deactivated_at, deactivated_by, deleted_by, claim_token, answers)"
    " select partition_id, table_id, path, row_count, data_bytes, min_timestamp, max_timestamp, sha256,"
    "   deactivation_reason, deactivated_at, deactivated_by, $4, $5, answers from gone";

static const char SQL_REMAINING[] =
    "select count(*) from granary.partitions p where p.partition_id = any($1::uuid[]) and p.lock_id = $2";

static const char SQL_FAILED[] =
    "insert into granary.reap_failures (partition_id, tries, last_error)"
    " select f.partition_id, 1, f.text from unnest($1::uuid[], $2::text[]) f (partition_id, text)"
    " join granary.partitions p on p.partition_id = f.partition_id and p.lock_id = $3"
    " on conflict (partition_id) do update set tries = reap_failures.tries + 1, last_error = excluded.last_error,"
    "   last_at = clock_timestamp()";

static const char SQL_RELEASE[] = "delete from granary.locks l where l.lock_id = $1 and l.token = $2"
                                  " and not exists (select from granary.partitions p where p.lock_id = l.lock_id)";

struct catalog_reap_graces catalog_reap_graces_of(const struct table_settings *settings)
{
    return (struct catalog_reap_graces){
        .merged_us = reap_grace_us(settings, REASON_MERGE),
        .abandoned_us = reap_grace_us(settings, REASON_ABANDONED),
        .other_us = reap_grace_us(settings, REASON_DECAY),
    };
}

static struct catalog_value grace(int64_t grace_us)
{
    return grace_us == CLOCK_NEVER ? catalog_null(CATALOG_INTERVAL) : catalog_interval(grace_us);
}

#define GRACE_VALUES(graces) grace((graces)->merged_us), grace((graces)->abandoned_us), grace((graces)->other_us)

enum err_code catalog_reap_items_read(const struct catalog_rows *rows, struct arena *arena,
                                      struct catalog_reap_item **out, size_t *out_count, struct error *err)
{
    size_t count = catalog_rows_count(rows);
    struct catalog_reap_item *items = arena_zalloc(arena, count + 1, sizeof *items);
    if (items == NULL) {
        return err_no_memory(err, count * sizeof *items);
    }
    for (size_t i = 0; i < count; i++) {
        items[i].partition_id = catalog_get_uuid(rows, i, 0);
        items[i].deactivated_at_us = catalog_get_timestamp(rows, i, 1);
    }
    *out = items;
    *out_count = count;
    return OK;
}

enum err_code catalog_reap_collect(struct catalog *catalog, const struct uuid *table_id,
                                   const struct catalog_reap_graces *graces, const struct catalog_reap_item *after,
                                   size_t limit, struct arena *arena, struct catalog_reap_item **out, size_t *out_count,
                                   struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog, SQL_COLLECT,
                      CATALOG_VALUES(catalog_uuid(table_id), GRACE_VALUES(graces),
                                     catalog_bound(after != NULL ? after->deactivated_at_us : INT64_MIN),
                                     catalog_uuid(after != NULL ? &after->partition_id : NULL),
                                     catalog_i64((int64_t)limit)),
                      &rows, err));
    return catalog_reap_items_read(rows, arena, out, out_count, err);
}

enum err_code catalog_reap_tables(struct catalog *catalog, const struct uuid *after, size_t limit, struct arena *arena,
                                  struct uuid **out, size_t *out_count, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog, SQL_TABLES, CATALOG_VALUES(catalog_uuid(after), catalog_i64((int64_t)limit)), &rows,
                      err));
    return catalog_load_ids(rows, 0, arena, out, out_count, err);
}

static int by_id(const void *a, const void *b)
{
    return uuid_compare(&((const struct catalog_claimed *)a)->partition_id,
                        &((const struct catalog_claimed *)b)->partition_id);
}

static int by_storage(const void *a, const void *b)
{
    const struct catalog_claimed *left = a;
    const struct catalog_claimed *right = b;
    int storages = (left->storage_id > right->storage_id) - (left->storage_id < right->storage_id);
    return storages != 0 ? storages : by_id(a, b);
}

/* Adds the further objects of each partition; rows of SQL_EXTRA come in the order of the ids. */
static enum err_code load_extra(struct catalog *catalog, struct catalog_claimed *claimed, size_t count,
                                struct arena *arena, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog, SQL_EXTRA,
                      CATALOG_VALUES(catalog_array(CATALOG_UUID, &claimed[0].partition_id, sizeof claimed[0], count)),
                      &rows, err));
    size_t total = catalog_rows_count(rows);
    const char **paths = arena_zalloc(arena, total + 1, sizeof *paths);
    if (paths == NULL) {
        return err_no_memory(err, total * sizeof *paths);
    }
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        claimed[i].extra_paths = paths + at;
        while (at < total) {
            struct uuid id = catalog_get_uuid(rows, at, 0);
            if (!uuid_equal(&id, &claimed[i].partition_id)) {
                break;
            }
            TRY(catalog_load_text(rows, at, 1, arena, &paths[at], err));
            claimed[i].extra_count++;
            at++;
        }
    }
    return OK;
}

static enum err_code load_claimed(struct catalog *catalog, const struct catalog_rows *rows, struct arena *arena,
                                  struct catalog_claimed **out, size_t *out_count, struct error *err)
{
    size_t count = catalog_rows_count(rows);
    struct catalog_claimed *claimed = arena_zalloc(arena, count + 1, sizeof *claimed);
    if (claimed == NULL) {
        return err_no_memory(err, count * sizeof *claimed);
    }
    for (size_t i = 0; i < count; i++) {
        claimed[i].partition_id = catalog_get_uuid(rows, i, 0);
        claimed[i].deactivated_at_us = catalog_get_timestamp(rows, i, 1);
        claimed[i].storage_id = catalog_get_i32(rows, i, 3);
        TRY(catalog_load_text(rows, i, 2, arena, &claimed[i].path, err));
    }
    qsort(claimed, count, sizeof *claimed, by_id);
    if (count != 0) {
        TRY(load_extra(catalog, claimed, count, arena, err));
    }
    qsort(claimed, count, sizeof *claimed, by_storage);
    *out = claimed;
    *out_count = count;
    return OK;
}

enum err_code catalog_reap_claim(struct catalog_transaction *transaction, const struct uuid *table_id,
                                 const struct catalog_reap_graces *graces, const struct catalog_reap_item *items,
                                 size_t count, const char *owner, int64_t lease_us, struct arena *arena,
                                 struct catalog_claim *out_claim, struct catalog_claimed **out, size_t *out_count,
                                 struct error *err)
{
    struct catalog *catalog = catalog_in(transaction);
    struct catalog_claim claim = {.lock_id = uuid_v7()};
    AUTO(catalog_rows_free_auto) struct catalog_rows *lock = NULL;
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog, SQL_CLAIM_LOCK,
                      CATALOG_VALUES(catalog_uuid(&claim.lock_id), catalog_text(owner), catalog_interval(lease_us)),
                      &lock, err));
    claim.token = catalog_get_i64(lock, 0, 0);
    TRY(catalog_query(
        catalog, SQL_CLAIM,
        CATALOG_VALUES(catalog_uuid(table_id), GRACE_VALUES(graces),
                       catalog_array(CATALOG_UUID, &items[0].partition_id, sizeof items[0], count),
                       catalog_array(CATALOG_TIMESTAMP, &items[0].deactivated_at_us, sizeof items[0], count),
                       catalog_uuid(&claim.lock_id)),
        &rows, err));
    TRY(load_claimed(catalog, rows, arena, out, out_count, err));
    if (*out_count == 0) {
        TRY(catalog_reap_release(transaction, &claim, err));
    }
    *out_claim = claim;
    return OK;
}

static enum err_code renew(struct catalog_transaction *transaction, const struct catalog_claim *claim, int64_t lease_us,
                           struct error *err)
{
    return catalog_execute_expect(
        transaction, SQL_RENEW,
        CATALOG_VALUES(catalog_uuid(&claim->lock_id), catalog_i64(claim->token), catalog_interval(lease_us)), 1, err);
}

enum err_code catalog_reap_resume(struct catalog_transaction *transaction, const struct uuid *table_id,
                                  const struct catalog_claim *claim, const struct catalog_reap_item *items,
                                  size_t count, int64_t lease_us, struct arena *arena, struct catalog_claimed **out,
                                  size_t *out_count, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(renew(transaction, claim, lease_us, err));
    TRY(catalog_query(catalog_in(transaction), SQL_RESUME,
                      CATALOG_VALUES(catalog_uuid(table_id),
                                     catalog_array(CATALOG_UUID, &items[0].partition_id, sizeof items[0], count),
                                     catalog_uuid(&claim->lock_id)),
                      &rows, err));
    return load_claimed(catalog_in(transaction), rows, arena, out, out_count, err);
}

enum err_code catalog_reap_delete(struct catalog_transaction *transaction, const struct catalog_claim *claim,
                                  const struct catalog_reaped *items, size_t count, const char *owner,
                                  struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *lock = NULL;
    TRY(catalog_query(catalog_in(transaction), SQL_HOLD_CLAIM,
                      CATALOG_VALUES(catalog_uuid(&claim->lock_id), catalog_i64(claim->token)), &lock, err));
    if (catalog_rows_count(lock) != 1) {
        return err_set(err, ERR_CONFLICT, "the reap claim with token %lld has run out", (long long)claim->token);
    }
    return catalog_execute_expect(
        transaction, SQL_DELETE,
        CATALOG_VALUES(catalog_uuid(&claim->lock_id),
                       catalog_array(CATALOG_UUID, &items[0].partition_id, sizeof items[0], count),
                       catalog_array(CATALOG_JSON, &items[0].answers_json, sizeof items[0], count), catalog_text(owner),
                       catalog_i64(claim->token)),
        count, err);
}

enum err_code catalog_reap_remaining(struct catalog *catalog, const struct catalog_claim *claim, const struct uuid *ids,
                                     size_t count, size_t *out_remaining, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(
        catalog, SQL_REMAINING,
        CATALOG_VALUES(catalog_array(CATALOG_UUID, ids, sizeof ids[0], count), catalog_uuid(&claim->lock_id)), &rows,
        err));
    *out_remaining = (size_t)catalog_get_i64(rows, 0, 0);
    return OK;
}

enum err_code catalog_reap_failed(struct catalog_transaction *transaction, const struct catalog_claim *claim,
                                  const struct catalog_reap_failure *failures, size_t count, int64_t lease_us,
                                  struct error *err)
{
    TRY(renew(transaction, claim, lease_us, err));
    return catalog_execute(
        catalog_in(transaction), SQL_FAILED,
        CATALOG_VALUES(catalog_array(CATALOG_UUID, &failures[0].partition_id, sizeof failures[0], count),
                       catalog_array(CATALOG_TEXT, &failures[0].text, sizeof failures[0], count),
                       catalog_uuid(&claim->lock_id)),
        NULL, err);
}

enum err_code catalog_reap_release(struct catalog_transaction *transaction, const struct catalog_claim *claim,
                                   struct error *err)
{
    return catalog_execute(catalog_in(transaction), SQL_RELEASE,
                           CATALOG_VALUES(catalog_uuid(&claim->lock_id), catalog_i64(claim->token)), NULL, err);
}
