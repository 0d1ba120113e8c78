#include "common/catalog/cleanup.h"

#include "common/catalog/predicates.h"
#include "common/catalog/reap_private.h"

/* Row locks on at most $3 partitions; steps over those that another run is taking. */
static const char SQL_UNLOCK_MERGED[] =
    "with over as ("
    "  select p.partition_id from granary.partitions p"
    "  where p.table_id = $1 and not p.active and p.lock_kind = 'merge' and p.deactivation_reason = 'merge'"
    "    and p.deactivated_at <= clock_timestamp() - $2::interval"
    "    and" CATALOG_SQL_NOT_HELD(
        "p") " and" CATALOG_SQL_NOT_PAUSED
             "  order by p.deactivated_at, p.partition_id limit $3 for update of p skip locked)"
             " update granary.partitions p set lock_id = null, lock_kind = null from over"
             " where p.partition_id = over.partition_id returning p.partition_id, p.deactivated_at";

static const char SQL_TABLES[] =
    "select distinct p.table_id from granary.partitions p join granary.locks l on l.lock_id = p.lock_id"
    " where not p.active and p.lock_kind = 'merge'"
    "   and p.table_id > coalesce($1, '00000000-0000-0000-0000-000000000000'::uuid)"
    " order by p.table_id limit $2";

/* The lock's row is taken too: a renewal that comes at the same moment waits, and then finds nothing to renew. */
static const char SQL_SWEEP_STAGED[] =
    "with stale as ("
    "  select p.partition_id from granary.locks l join granary.partitions p on p.lock_id = l.lock_id"
    "  where l.kind = 'write' and l.expires_at <= clock_timestamp() and not p.active and p.deactivation_reason is null"
    "    and not exists (select from granary.attempts a where a.output_lock_id = l.lock_id"
    "                    and a.state in ('planned', 'running'))"
    "  order by l.lock_id, p.partition_id limit $2 for update of l, p skip locked)"
    " update granary.partitions p set lock_id = null, lock_kind = null, deactivation_reason = 'abandoned',"
    "   deactivated_by = $1 from stale where p.partition_id = stale.partition_id";

/* Attempt and lock rows first, the order in which granary.attempt_renew takes them. */
static const char SQL_STALE_ATTEMPTS[] =
    "select a.attempt_id, a.lock_id, a.output_lock_id from granary.attempts a join granary.locks l on l.lock_id = "
    "a.lock_id"
    " where a.kind = 'merge' and a.state in ('planned', 'running') and l.expires_at <= clock_timestamp()"
    " order by a.attempt_id limit $1 for update of a, l skip locked";
static const char SQL_RELEASE_INPUTS[] = "update granary.partitions p set lock_id = null, lock_kind = null"
                                         " where p.lock_id = any($1::uuid[]) and p.active and p.lock_kind = 'merge'";
static const char SQL_GIVE_UP_OUTPUTS[] =
    "update granary.partitions p set lock_id = null, lock_kind = null, deactivation_reason = 'abandoned',"
    "  deactivated_by = $2 where p.lock_id = any($1::uuid[]) and not p.active and p.deactivation_reason is null";
static const char SQL_ABANDON_ATTEMPTS[] =
    "update granary.attempts set state = 'abandoned', finished_at = clock_timestamp(), error = 'the lease ran out'"
    " where attempt_id = any($1::uuid[])";

/* A lock that holds nothing goes when it has run out, or with the attempt that it was made for. */
static const char SQL_SWEEP_LOCKS[] =
    "delete from granary.locks where lock_id in ("
    "  select l.lock_id from granary.locks l left join granary.attempts a on a.attempt_id = l.attempt_id"
    "  where (l.expires_at <= clock_timestamp() or a.state in ('done', 'abandoned'))"
    "    and a.state is distinct from 'planned' and a.state is distinct from 'running'"
    "    and not exists (select from granary.partitions p where p.lock_id = l.lock_id)"
    "  limit $1 for update of l skip locked)";

static const char SQL_PRUNE_LINEAGE[] =
    "delete from granary.lineage where ctid = any (array("
    "  select l.ctid from granary.lineage l where l.created_at < clock_timestamp() - $1::interval"
    "    and not exists (select from granary.partitions p where p.partition_id in (l.child_id, l.parent_id)) limit "
    "$2))";
static const char SQL_PRUNE_ATTEMPTS[] =
    "delete from granary.attempts where attempt_id in ("
    "  select a.attempt_id from granary.attempts a where a.finished_at < clock_timestamp() - $1::interval limit $2)";
static const char SQL_PRUNE_RECEIPTS[] =
    "delete from granary.receipts where receipt_id in ("
    "  select r.receipt_id from granary.receipts r where r.deleted_at < clock_timestamp() - $1::interval limit $2)";
static const char SQL_PRUNE_ORPHAN_RECEIPTS[] = "delete from granary.orphan_receipts where receipt_id in ("
                                                "  select r.receipt_id from granary.orphan_receipts r where "
                                                "r.deleted_at < clock_timestamp() - $1::interval limit $2)";
/* The last one that nothing stood against stays, however old: the next is compared with it. */
static const char SQL_PRUNE_CLEANER_RUNS[] =
    "delete from granary.cleaner_runs where run_id in ("
    "  select r.run_id from granary.cleaner_runs r where r.saved_at < clock_timestamp() - $1::interval"
    "    and exists (select from granary.cleaner_runs l where l.storage_id = r.storage_id and l.run_id > r.run_id"
    "                and l.finished_at is not null and l.verdict is null) limit $2)";
static const char SQL_PRUNE_AUDIT[] =
    "delete from granary.audit_log where audit_id in ("
    "  select a.audit_id from granary.audit_log a where a.at < clock_timestamp() - $1::interval limit $2)";
static const char SQL_PRUNE_JOB_RUNS[] =
    "delete from granary.job_runs where run_id in ("
    "  select j.run_id from granary.job_runs j where j.finished_at < clock_timestamp() - $1::interval limit $2)";
static const char SQL_PRUNE_PLANS[] =
    "delete from granary.plans where plan_id in ("
    "  select p.plan_id from granary.plans p where p.expires_at < clock_timestamp() - $1::interval limit $2)";
static const char SQL_BATCH_DAYS[] = "select granary.intake_batches_maintain($1)";

enum err_code catalog_cleanup_unlock_merged(struct catalog *catalog, const struct uuid *table_id, int64_t grace_us,
                                            size_t limit, struct arena *arena, struct catalog_reap_item **out,
                                            size_t *out_count, struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    struct catalog_reap_item *items;
    size_t count;
    TRY(catalog_begin(catalog, &transaction, err));
    TRY(catalog_query(catalog, SQL_UNLOCK_MERGED,
                      CATALOG_VALUES(catalog_uuid(table_id), catalog_interval(grace_us), catalog_i64((int64_t)limit)),
                      &rows, err));
    TRY(catalog_reap_items_read(rows, arena, &items, &count, err));
    TRY(catalog_commit(TAKE(transaction), err));
    *out = items;
    *out_count = count;
    return OK;
}

enum err_code catalog_cleanup_tables(struct catalog *catalog, const struct uuid *after, size_t limit,
                                     struct arena *arena, struct uuid **out, size_t *out_count, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog, SQL_TABLES, CATALOG_VALUES(catalog_uuid(after), catalog_i64((int64_t)limit)), &rows,
                      err));
    return catalog_load_ids(rows, 0, arena, out, out_count, err);
}

/* One statement in a transaction of its own, so that a lost answer is known as one. */
static enum err_code run_alone(struct catalog *catalog, const char *sql, const struct catalog_value *values,
                               size_t value_count, uint64_t *out_rows, struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    uint64_t rows = 0;
    TRY(catalog_begin(catalog, &transaction, err));
    TRY(catalog_execute(catalog, sql, values, value_count, &rows, err));
    TRY(catalog_commit(TAKE(transaction), err));
    *out_rows = rows;
    return OK;
}

enum err_code catalog_cleanup_sweep_staged(struct catalog *catalog, const char *actor, size_t limit, size_t *out_count,
                                           struct error *err)
{
    uint64_t rows = 0;
    TRY(run_alone(catalog, SQL_SWEEP_STAGED, CATALOG_VALUES(catalog_text(actor), catalog_i64((int64_t)limit)), &rows,
                  err));
    *out_count = (size_t)rows;
    return OK;
}

enum err_code catalog_cleanup_sweep_attempts(struct catalog *catalog, const char *actor, size_t limit,
                                             size_t *out_count, struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    AUTO(free_auto) struct uuid *ids = NULL;
    TRY(catalog_begin(catalog, &transaction, err));
    TRY(catalog_query(catalog, SQL_STALE_ATTEMPTS, CATALOG_VALUES(catalog_i64((int64_t)limit)), &rows, err));
    size_t count = catalog_rows_count(rows);
    if (count == 0) {
        *out_count = 0;
        return OK;
    }
    ids = calloc(3 * count, sizeof *ids);
    if (ids == NULL) {
        return err_no_memory(err, 3 * count * sizeof *ids);
    }
    struct uuid *attempts = ids;
    struct uuid *inputs = ids + count;
    struct uuid *outputs = ids + 2 * count;
    for (size_t i = 0; i < count; i++) {
        attempts[i] = catalog_get_uuid(rows, i, 0);
        inputs[i] = catalog_get_uuid(rows, i, 1);
        outputs[i] = catalog_get_uuid(rows, i, 2);
    }
    TRY(catalog_execute(catalog, SQL_RELEASE_INPUTS,
                        CATALOG_VALUES(catalog_array(CATALOG_UUID, inputs, sizeof *inputs, count)), NULL, err));
    TRY(catalog_execute(
        catalog, SQL_GIVE_UP_OUTPUTS,
        CATALOG_VALUES(catalog_array(CATALOG_UUID, outputs, sizeof *outputs, count), catalog_text(actor)), NULL, err));
    TRY(catalog_execute(catalog, SQL_ABANDON_ATTEMPTS,
                        CATALOG_VALUES(catalog_array(CATALOG_UUID, attempts, sizeof *attempts, count)), NULL, err));
    TRY(catalog_commit(TAKE(transaction), err));
    *out_count = count;
    return OK;
}

enum err_code catalog_cleanup_sweep_locks(struct catalog *catalog, size_t limit, size_t *out_count, struct error *err)
{
    uint64_t rows = 0;
    TRY(run_alone(catalog, SQL_SWEEP_LOCKS, CATALOG_VALUES(catalog_i64((int64_t)limit)), &rows, err));
    *out_count = (size_t)rows;
    return OK;
}

static enum err_code prune(struct catalog *catalog, const char *sql, int64_t age_us, size_t limit, uint64_t *out_rows,
                           struct error *err)
{
    *out_rows = 0;
    if (age_us == CLOCK_NEVER) {
        return OK;
    }
    return run_alone(catalog, sql, CATALOG_VALUES(catalog_interval(age_us), catalog_i64((int64_t)limit)), out_rows,
                     err);
}

enum err_code catalog_cleanup_prune(struct catalog *catalog, const struct catalog_prune_ages *ages, size_t limit,
                                    struct catalog_pruned *out, struct error *err)
{
    struct catalog_pruned pruned = {0};
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(prune(catalog, SQL_PRUNE_LINEAGE, ages->attempts_us, limit, &pruned.lineage, err));
    TRY(prune(catalog, SQL_PRUNE_ATTEMPTS, ages->attempts_us, limit, &pruned.attempts, err));
    TRY(prune(catalog, SQL_PRUNE_RECEIPTS, ages->receipts_us, limit, &pruned.receipts, err));
    TRY(prune(catalog, SQL_PRUNE_ORPHAN_RECEIPTS, ages->receipts_us, limit, &pruned.orphan_receipts, err));
    TRY(prune(catalog, SQL_PRUNE_CLEANER_RUNS, ages->job_runs_us, limit, &pruned.cleaner_runs, err));
    TRY(prune(catalog, SQL_PRUNE_AUDIT, ages->audit_us, limit, &pruned.audit, err));
    TRY(prune(catalog, SQL_PRUNE_JOB_RUNS, ages->job_runs_us, limit, &pruned.job_runs, err));
    TRY(prune(catalog, SQL_PRUNE_PLANS, ages->job_runs_us, limit, &pruned.plans, err));
    TRY(catalog_query(catalog, SQL_BATCH_DAYS, CATALOG_VALUES(catalog_interval(ages->batch_ids_us)), &rows, err));
    pruned.batch_days = catalog_get_i32(rows, 0, 0);
    *out = pruned;
    return OK;
}
