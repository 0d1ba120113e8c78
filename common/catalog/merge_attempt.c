/* The life of one attempt: reserve, commit or abandon. Rows are locked in one order everywhere (attempt, its locks,
 * partitions), which is also that of granary.attempt_renew and of merge cleanup. */
#include <string.h>

#include "common/catalog/internal.h"
#include "common/catalog/leader.h"
#include "common/catalog/merge.h"
#include "common/catalog/partitions.h"
#include "common/catalog/predicates.h"

/* Asks what catalog_merge_candidates asks: what was planned is what is locked. Row locks on the inputs, in the order
 * of their ids; read committed, so that a row that changed meanwhile is judged as it is now. */
static const char SQL_LOCK_INPUTS[] =
    "with wanted as ("
    "  select p.partition_id from granary.partitions p"
    "  join unnest($2::uuid[], $3::bigint[]) w (partition_id, version)"
    "    on w.partition_id = p.partition_id and w.version = p.version"
    "  where p.table_id = $1 and p.lock_id is null and" CATALOG_SQL_MERGEABLE(
        "p") "  order by p.partition_id for update of p)"
             " update granary.partitions p set lock_id = $4, lock_kind = 'merge' from wanted"
             " where p.partition_id = wanted.partition_id"
             " returning p.partition_id, p.path, p.row_count, p.data_bytes, p.sha256, p.storage_id";

static const char SQL_LOCK[] =
    "insert into granary.locks (lock_id, kind, owner, reason, attempt_id, expires_at)"
    " values ($1, 'merge', $2, 'inputs of a merge', $3, clock_timestamp() + $4::interval) returning token";

/* The fence is held: a table that is not dropped now will not be before the commit. */
static const char SQL_TABLE_LIVES[] = "select from granary.tables where table_id = $1 and dropped_at is null";

static const char SQL_INSERT_ATTEMPT[] =
    "insert into granary.attempts (attempt_id, kind, table_id, target, pool, epoch, lock_id, token, output_id,"
    "  output_lock_id, task, rows_total, bytes_total)"
    " values ($1, 'merge', $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";

/* Two statements, because a row that was waited for is judged anew, but not the rows that it was joined with. */
static const char SQL_HOLD_ATTEMPT[] =
    "select from granary.attempts where attempt_id = $1 and token = $2 and state in ('planned', 'running') for update";
static const char SQL_HOLD_LEASE[] =
    "select from granary.locks where lock_id = any($1::uuid[]) and expires_at > clock_timestamp()"
    " order by lock_id for update";

static const char SQL_RETIRE_INPUTS[] =
    "update granary.partitions set active = false, deactivation_reason = 'merge', deactivated_by = $3"
    " where partition_id = any($1::uuid[]) and lock_id = $2 and lock_kind = 'merge' and active";
static const char SQL_PUBLISH_OUTPUT[] =
    "update granary.partitions set active = true, lock_id = null, lock_kind = null, row_count = $3, data_bytes = $4,"
    "  memory_bytes = $5, min_timestamp = $6, max_timestamp = $7, sha256 = $8, etag = $9"
    " where partition_id = $1 and lock_id = $2 and lock_kind = 'write' and not active and row_count = $3";
static const char SQL_INSERT_LINEAGE[] =
    "insert into granary.lineage (child_id, parent_id, attempt_id) select $1, p.id, $3 from unnest($2::uuid[]) p (id)";
static const char SQL_FINISH_ATTEMPT[] =
    "update granary.attempts set state = $2, finished_at = clock_timestamp(), error = $3,"
    "  rows_done = case when $2 = 'done' then rows_total else rows_done end where attempt_id = $1";

static const char SQL_RELEASE_INPUTS[] = "update granary.partitions set lock_id = null, lock_kind = null"
                                         " where lock_id = $1 and lock_kind = 'merge' and active";
static const char SQL_GIVE_UP_OUTPUT[] =
    "update granary.partitions set lock_id = null, lock_kind = null, deactivation_reason = 'abandoned',"
    "  deactivated_by = $3"
    " where partition_id = $1 and lock_id = $2 and not active and deactivation_reason is null";
/* Retired inputs stay under theirs; whatever a lock still holds, it stays. */
static const char SQL_REMOVE_LOCKS[] = "delete from granary.locks l where l.lock_id = any($1::uuid[])"
                                       " and not exists (select from granary.partitions p where p.lock_id = l.lock_id)";

/* Failures more than a day apart have nothing to do with each other. */
static const char SQL_BLAME[] =
    "insert into granary.merge_failures as f (partition_id, tries, last_error, set_aside_at)"
    " select p.partition_id, 1, $2, case when $3::bigint <= 1 then clock_timestamp() end"
    " from granary.partitions p where p.partition_id = any($1::uuid[]) order by p.partition_id"
    " on conflict (partition_id) do update set last_error = excluded.last_error, last_at = clock_timestamp(),"
    "   tries = case when f.last_at < clock_timestamp() - interval '1 day' then 1 else f.tries + 1 end,"
    "   set_aside_at = coalesce(f.set_aside_at, excluded.set_aside_at,"
    "     case when f.last_at >= clock_timestamp() - interval '1 day' and f.tries + 1 >= $3::bigint"
    "          then clock_timestamp() end)"
    " returning set_aside_at is not null";

/* --- reserving ---------------------------------------------------------------------------------------------------- */

static MUST_CHECK enum err_code check_table(struct catalog_transaction *transaction, const struct uuid *table_id,
                                            struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    return catalog_query_one(catalog_in(transaction), SQL_TABLE_LIVES, CATALOG_VALUES(catalog_uuid(table_id)),
                             "table that is not dropped", &rows, err);
}

static MUST_CHECK enum err_code make_lock(struct catalog_transaction *transaction,
                                          const struct catalog_merge_reservation *wanted, int64_t *out_token,
                                          struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query_one(catalog_in(transaction), SQL_LOCK,
                          CATALOG_VALUES(catalog_uuid(&wanted->lock_id), catalog_text(wanted->owner),
                                         catalog_uuid(&wanted->attempt_id), catalog_interval(wanted->lease_us)),
                          "new lock", &rows, err));
    *out_token = catalog_get_i64(rows, 0, 0);
    return OK;
}

static MUST_CHECK enum err_code stage_output(struct catalog_transaction *transaction,
                                             const struct catalog_merge_reservation *wanted, int32_t *out_storage_id,
                                             struct error *err)
{
    struct catalog_lock lock;
    const struct partition_record output = {
        .partition_id = wanted->output_id,
        .table_id = wanted->table_id,
        .schema_version = wanted->schema_version,
        .min_timestamp_us = wanted->min_timestamp_us,
        .max_timestamp_us = wanted->max_timestamp_us,
        .path = wanted->output_path,
        .row_count = wanted->row_count,
        .origin = ORIGIN_MERGE,
        .attempt_id = wanted->attempt_id,
        .merge_level = wanted->merge_level,
    };
    const struct catalog_stage stage = {
        .lock_id = wanted->output_lock_id,
        .owner = wanted->owner,
        .reason = "output of a merge",
        .lease_us = wanted->lease_us,
        .attempt_id = &wanted->attempt_id,
        .partitions = &output,
        .count = 1,
        .storage_ids = out_storage_id,
    };
    return catalog_partitions_stage_in(transaction, &stage, &lock, err);
}

static MUST_CHECK enum err_code input_at(const struct catalog_rows *rows, size_t row, struct arena *arena,
                                         struct catalog_merge_input *out, struct error *err)
{
    struct catalog_bytes sha256 = catalog_get_bytes(rows, row, 4);
    out->partition_id = catalog_get_uuid(rows, row, 0);
    out->row_count = catalog_get_i64(rows, row, 2);
    out->data_bytes = catalog_get_i64(rows, row, 3);
    out->storage_id = catalog_get_i32(rows, row, 5);
    if (sha256.length != sizeof out->sha256) {
        return err_set(err, ERR_CORRUPT, "expected 32 bytes of sha256 but found %zu", sha256.length);
    }
    memcpy(out->sha256, sha256.data, sha256.length);
    return catalog_load_text(rows, row, 1, arena, &out->path, err);
}

static MUST_CHECK enum err_code lock_inputs(struct catalog_transaction *transaction,
                                            const struct catalog_merge_reservation *wanted, struct arena *arena,
                                            struct catalog_merge_input **out, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    size_t stride = sizeof *wanted->inputs;
    TRY(catalog_query(
        catalog_in(transaction), SQL_LOCK_INPUTS,
        CATALOG_VALUES(catalog_uuid(&wanted->table_id),
                       catalog_array(CATALOG_UUID, &wanted->inputs->partition_id, stride, wanted->input_count),
                       catalog_array(CATALOG_INT64, &wanted->inputs->version, stride, wanted->input_count),
                       catalog_uuid(&wanted->lock_id)),
        &rows, err));
    if (catalog_rows_count(rows) != wanted->input_count) {
        return err_set(err, ERR_CONFLICT, "expected to lock %zu partitions as planned but %zu were so",
                       wanted->input_count, catalog_rows_count(rows));
    }
    struct catalog_merge_input *inputs = arena_zalloc(arena, wanted->input_count, sizeof *inputs);
    if (inputs == NULL) {
        return err_no_memory(err, wanted->input_count * sizeof *inputs);
    }
    for (size_t row = 0; row < wanted->input_count; row++) {
        struct uuid id = catalog_get_uuid(rows, row, 0);
        size_t place = 0;
        while (!uuid_equal(&wanted->inputs[place].partition_id, &id)) {
            place++; /* at most a thousand inputs */
        }
        TRY(input_at(rows, row, arena, &inputs[place], err));
    }
    *out = inputs;
    return OK;
}

enum err_code catalog_merge_reserve(struct catalog_transaction *transaction,
                                    const struct catalog_merge_reservation *reservation, struct arena *arena,
                                    struct catalog_merge_reserved *out, struct error *err)
{
    struct catalog_merge_reserved reserved = {0};
    TRY(catalog_leader_fence(transaction, CATALOG_MERGE_LEADER, reservation->epoch, err));
    TRY(check_table(transaction, &reservation->table_id, err));
    TRY(make_lock(transaction, reservation, &reserved.token, err));
    TRY(lock_inputs(transaction, reservation, arena, &reserved.inputs, err));
    TRY(stage_output(transaction, reservation, &reserved.output_storage_id, err));
    *out = reserved;
    return OK;
}

enum err_code catalog_merge_attempt_insert(struct catalog_transaction *transaction,
                                           const struct catalog_merge_reservation *reservation, int64_t token,
                                           const char *task, struct error *err)
{
    return catalog_execute_expect(
        transaction, SQL_INSERT_ATTEMPT,
        CATALOG_VALUES(catalog_uuid(&reservation->attempt_id), catalog_uuid(&reservation->table_id),
                       catalog_text(reservation->target), catalog_text(reservation->pool),
                       catalog_i64(reservation->epoch), catalog_uuid(&reservation->lock_id), catalog_i64(token),
                       catalog_uuid(&reservation->output_id), catalog_uuid(&reservation->output_lock_id),
                       catalog_text(task), catalog_i64(reservation->row_count), catalog_i64(reservation->data_bytes)),
        1, err);
}

/* --- ending ------------------------------------------------------------------------------------------------------- */

static MUST_CHECK enum err_code hold_attempt(struct catalog_transaction *transaction,
                                             const struct catalog_merge_attempt *attempt, bool *out_lease_runs,
                                             struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *held = NULL;
    AUTO(catalog_rows_free_auto) struct catalog_rows *locks = NULL;
    const struct uuid lock_ids[] = {attempt->lock_id, attempt->output_lock_id};
    TRY(catalog_query(catalog_in(transaction), SQL_HOLD_ATTEMPT,
                      CATALOG_VALUES(catalog_uuid(&attempt->attempt_id), catalog_i64(attempt->token)), &held, err));
    if (catalog_rows_count(held) != 1) {
        return err_set(err, ERR_CONFLICT, "expected an attempt under way but it is over");
    }
    TRY(catalog_query(catalog_in(transaction), SQL_HOLD_LEASE,
                      CATALOG_VALUES(catalog_array(CATALOG_UUID, lock_ids, sizeof *lock_ids, 2)), &locks, err));
    *out_lease_runs = catalog_rows_count(locks) == 2;
    return OK;
}

static MUST_CHECK enum err_code finish_attempt(struct catalog_transaction *transaction,
                                               const struct catalog_merge_attempt *attempt,
                                               enum catalog_attempt_state state, const char *error, struct error *err)
{
    const struct uuid lock_ids[] = {attempt->lock_id, attempt->output_lock_id};
    TRY(catalog_execute_expect(transaction, SQL_FINISH_ATTEMPT,
                               CATALOG_VALUES(catalog_uuid(&attempt->attempt_id),
                                              catalog_text(catalog_attempt_state_name(state)), catalog_text(error)),
                               1, err));
    return catalog_execute(catalog_in(transaction), SQL_REMOVE_LOCKS,
                           CATALOG_VALUES(catalog_array(CATALOG_UUID, lock_ids, sizeof *lock_ids, 2)), NULL, err);
}

static MUST_CHECK enum err_code insert_columns(struct catalog_transaction *transaction,
                                               const struct catalog_merge_swap *swap, struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    const struct partition_record output = {.partition_id = swap->attempt->output_id};
    const struct catalog_publication publication = {
        .partition = &output, .columns = swap->columns, .column_count = swap->column_count};
    return arena == NULL ? err_no_memory(err, 4 << 10)
                         : catalog_columns_insert(transaction, &publication, 1, arena, err);
}

static MUST_CHECK enum err_code swap_partitions(struct catalog_transaction *transaction,
                                                const struct catalog_merge_swap *swap, struct error *err)
{
    const struct catalog_merge_attempt *attempt = swap->attempt;
    struct catalog_value inputs = catalog_array(CATALOG_UUID, swap->inputs, sizeof *swap->inputs, swap->input_count);
    TRY(catalog_execute_expect(transaction, SQL_RETIRE_INPUTS,
                               CATALOG_VALUES(inputs, catalog_uuid(&attempt->lock_id), catalog_text(swap->actor)),
                               swap->input_count, err));
    TRY(catalog_execute_expect(
        transaction, SQL_PUBLISH_OUTPUT,
        CATALOG_VALUES(catalog_uuid(&attempt->output_id), catalog_uuid(&attempt->output_lock_id),
                       catalog_i64(swap->row_count), catalog_i64(swap->data_bytes), catalog_i64(swap->memory_bytes),
                       catalog_timestamp(swap->min_timestamp_us), catalog_timestamp(swap->max_timestamp_us),
                       catalog_bytes(swap->sha256, 32), catalog_text(swap->etag)),
        1, err));
    return catalog_execute_expect(
        transaction, SQL_INSERT_LINEAGE,
        CATALOG_VALUES(catalog_uuid(&attempt->output_id), inputs, catalog_uuid(&attempt->attempt_id)),
        swap->input_count, err);
}

enum err_code catalog_merge_commit(struct catalog_transaction *transaction, const struct catalog_merge_swap *swap,
                                   struct error *err)
{
    bool lease_runs = false;
    TRY(catalog_leader_fence(transaction, CATALOG_MERGE_LEADER, swap->epoch, err));
    TRY(check_table(transaction, &swap->attempt->table_id, err));
    TRY(hold_attempt(transaction, swap->attempt, &lease_runs, err));
    TRY(swap_partitions(transaction, swap, err));
    TRY(insert_columns(transaction, swap, err));
    return finish_attempt(transaction, swap->attempt, ATTEMPT_DONE, NULL, err);
}

static MUST_CHECK enum err_code blame(struct catalog_transaction *transaction,
                                      const struct catalog_merge_failure *failure, size_t *out_set_aside,
                                      struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    *out_set_aside = 0;
    if (failure->blamed_count == 0) {
        return OK;
    }
    TRY(catalog_query(
        catalog_in(transaction), SQL_BLAME,
        CATALOG_VALUES(catalog_array(CATALOG_UUID, failure->blamed, sizeof *failure->blamed, failure->blamed_count),
                       catalog_text(failure->reason), catalog_i64(failure->max_tries)),
        &rows, err));
    for (size_t i = 0; i < catalog_rows_count(rows); i++) {
        *out_set_aside += catalog_get_bool(rows, i, 0);
    }
    return OK;
}

enum err_code catalog_merge_abandon(struct catalog_transaction *transaction,
                                    const struct catalog_merge_failure *failure, size_t *out_set_aside,
                                    struct error *err)
{
    const struct catalog_merge_attempt *attempt = failure->attempt;
    bool lease_runs = false;
    TRY(catalog_leader_fence(transaction, CATALOG_MERGE_LEADER, failure->epoch, err));
    TRY(hold_attempt(transaction, attempt, &lease_runs, err));
    if (failure->expired_only && lease_runs) {
        return err_set(err, ERR_CONFLICT, "expected an attempt whose lease has run out but it was renewed");
    }
    TRY(catalog_execute(catalog_in(transaction), SQL_RELEASE_INPUTS, CATALOG_VALUES(catalog_uuid(&attempt->lock_id)),
                        NULL, err));
    TRY(catalog_execute(catalog_in(transaction), SQL_GIVE_UP_OUTPUT,
                        CATALOG_VALUES(catalog_uuid(&attempt->output_id), catalog_uuid(&attempt->output_lock_id),
                                       catalog_text(failure->actor)),
                        NULL, err));
    TRY(blame(transaction, failure, out_set_aside, err));
    return finish_attempt(transaction, attempt, ATTEMPT_ABANDONED, failure->reason, err);
}
