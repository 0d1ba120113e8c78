#include "common/catalog/decay.h"

#include "common/catalog/internal.h"
#include "common/catalog/predicates.h"

/* Reads only; the partial index over active partitions by table and time answers it. */
static const char SQL_ANY[] =
    "select exists (select from granary.partitions p where" CATALOG_SQL_PAST_RETENTION("p") ")";

/* Reads only; one pass over the table's active partitions, one over what was deactivated lately. A decayed partition that
 * was reaped meanwhile counts through its receipt. What an approved plan took does not count: somebody has looked.
 * "offset 0" keeps the planner from asking for the holds anew in each of the columns that use `free`. */
static const char SQL_MEASURE[] =
    "with due as ("
    "  select p.row_count, p.data_bytes, p.min_timestamp, p.max_timestamp,"
    "         p.lock_id is null and" CATALOG_SQL_NOT_HELD(
        "p") " and" CATALOG_SQL_NOT_PAUSED " as free"
             "  from granary.partitions p where" CATALOG_SQL_PAST_RETENTION(
                 "p") " offset 0)"
                      "select count(*) filter (where free), coalesce(sum(row_count) filter (where free), 0)::bigint,"
                      "       coalesce(sum(data_bytes) filter (where free), 0)::bigint,"
                      "       count(*) filter (where not free), coalesce(sum(row_count) filter (where not free), "
                      "0)::bigint,"
                      "       (select coalesce(sum(a.row_count), 0)::bigint from granary.partitions a where a.table_id "
                      "= $1 and a.active),"
                      "       (select coalesce(sum(i.row_count), 0)::bigint from granary.partitions i"
                      "        where i.table_id = $1 and not i.active and i.deactivation_reason = 'decay'"
                      "          and i.deactivated_at > clock_timestamp() - interval '24 hours'"
                      "          and coalesce(i.deactivated_by, '') not like 'plan:%')"
                      "     + (select coalesce(sum(r.row_count), 0)::bigint from granary.receipts r"
                      "        where r.table_id = $1 and r.deactivation_reason = 'decay'"
                      "          and r.deactivated_at > clock_timestamp() - interval '24 hours'"
                      "          and coalesce(r.deactivated_by, '') not like 'plan:%'),"
                      "       min(min_timestamp) filter (where free), max(max_timestamp) filter (where free)"
                      " from due";

/* Row locks on at most $5 partitions, taken in the order of the index; skips those that another run is taking. */
static const char SQL_BATCH[] =
    "with doomed as ("
    "  select p.partition_id from granary.partitions p where" CATALOG_SQL_DECAYABLE(
        "p") "  order by p.max_timestamp, p.partition_id limit $5 for update of p skip locked),"
             " gone as ("
             "  update granary.partitions p set active = false, deactivation_reason = $3::granary.reason, "
             "deactivated_by = $4"
             "  from doomed where p.partition_id = doomed.partition_id returning p.row_count, p.data_bytes)"
             "select count(*), coalesce(sum(row_count), 0)::bigint, coalesce(sum(data_bytes), 0)::bigint from gone";

static const char SQL_PLANNED[] =
    "with doomed as ("
    "  select p.partition_id from granary.partitions p"
    "  join granary.plan_items i on i.plan_id = $3 and i.partition_id = p.partition_id and i.version = p.version"
    "  where" CATALOG_SQL_DECAYABLE(
        "p") "  order by p.max_timestamp, p.partition_id limit $5 for update of p skip locked),"
             " gone as ("
             "  update granary.partitions p set active = false, deactivation_reason = 'decay', deactivated_by = $4"
             "  from doomed where p.partition_id = doomed.partition_id returning p.row_count, p.data_bytes)"
             "select count(*), coalesce(sum(row_count), 0)::bigint, coalesce(sum(data_bytes), 0)::bigint from gone";

enum err_code catalog_decay_any(struct catalog *catalog, const struct uuid *table_id, int64_t cutoff_us, bool *out_any,
                                struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog, SQL_ANY, CATALOG_VALUES(catalog_uuid(table_id), catalog_bound(cutoff_us)), &rows, err));
    *out_any = catalog_get_bool(rows, 0, 0);
    return OK;
}

enum err_code catalog_decay_measure(struct catalog *catalog, const struct uuid *table_id, int64_t cutoff_us,
                                    struct catalog_decay_measure *out, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog, SQL_MEASURE, CATALOG_VALUES(catalog_uuid(table_id), catalog_bound(cutoff_us)), &rows,
                      err));
    *out = (struct catalog_decay_measure){
        .partitions = catalog_get_i64(rows, 0, 0),
        .rows = catalog_get_i64(rows, 0, 1),
        .bytes = catalog_get_i64(rows, 0, 2),
        .overdue_partitions = catalog_get_i64(rows, 0, 3),
        .overdue_rows = catalog_get_i64(rows, 0, 4),
        .rows_active = catalog_get_i64(rows, 0, 5),
        .rows_deactivated = catalog_get_i64(rows, 0, 6),
        .oldest_us = catalog_get_timestamp_or(rows, 0, 7, 0),
        .newest_us = catalog_get_timestamp_or(rows, 0, 8, 0),
    };
    return OK;
}

static enum err_code take_batch(struct catalog_transaction *transaction, const char *sql,
                                const struct catalog_value *values, size_t value_count,
                                struct catalog_decay_outcome *out, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog_in(transaction), sql, values, value_count, &rows, err));
    *out = (struct catalog_decay_outcome){
        .partitions = catalog_get_i64(rows, 0, 0),
        .rows = catalog_get_i64(rows, 0, 1),
        .bytes = catalog_get_i64(rows, 0, 2),
    };
    return OK;
}

enum err_code catalog_decay_batch(struct catalog_transaction *transaction, const struct uuid *table_id,
                                  int64_t cutoff_us, enum deactivation_reason reason, const char *actor, int64_t limit,
                                  struct catalog_decay_outcome *out, struct error *err)
{
    return take_batch(transaction, SQL_BATCH,
                      CATALOG_VALUES(catalog_uuid(table_id), catalog_bound(cutoff_us),
                                     catalog_text(deactivation_reason_name(reason)), catalog_text(actor),
                                     catalog_i64(limit)),
                      out, err);
}

enum err_code catalog_decay_planned(struct catalog_transaction *transaction, const struct uuid *table_id,
                                    int64_t cutoff_us, const struct uuid *plan_id, const char *actor, int64_t limit,
                                    struct catalog_decay_outcome *out, struct error *err)
{
    return take_batch(transaction, SQL_PLANNED,
                      CATALOG_VALUES(catalog_uuid(table_id), catalog_bound(cutoff_us), catalog_uuid(plan_id),
                                     catalog_text(actor), catalog_i64(limit)),
                      out, err);
}
