#include "common/catalog/admin_status.h"

#include "common/catalog/internal.h"
#include "common/catalog/predicates.h"

/* One pass over the partitions. */
static const char SQL_STATES[] =
    "select t.project, t.name, granary.partition_state(s.active, s.lock_kind, s.deactivation_reason),"
    " sum(s.n)::bigint, sum(s.rows)::bigint, sum(s.bytes)::bigint, min(s.oldest) from"
    " (select table_id, active, lock_kind, deactivation_reason, count(*) as n, sum(row_count) as rows,"
    "  sum(data_bytes) as bytes, min(min_timestamp) as oldest from granary.partitions group by 1, 2, 3, 4) s"
    " join granary.tables t on t.table_id = s.table_id group by 1, 2, 3 order by 1, 2, 3";
static const char SQL_JOBS[] = "select distinct on (job) job, instance, counts::text, error, finished_at, exit_code"
                               " from granary.job_runs order by job, finished_at desc";
static const char SQL_LOCKS[] =
    "select kind, owner, count(*), count(*) filter (where expires_at <= clock_timestamp()), min(acquired_at)"
    " from granary.locks group by kind, owner order by min(acquired_at) limit 100";
static const char SQL_ATTEMPTS[] =
    "select a.attempt_id, t.project, t.name, a.target, a.pool, a.state, a.worker, a.rows_done, a.rows_total,"
    " a.created_at from granary.attempts a join granary.tables t on t.table_id = a.table_id"
    " where a.state in ('planned', 'running') order by a.created_at limit 100";
/* By the index of active partitions, as far as each table's cutoff. */
static const char SQL_OVERDUE[] =
    "select c.table_id, o.partitions, o.rows from unnest($1::uuid[], $2::timestamptz[]) c(table_id, cutoff)"
    " cross join lateral (select count(*) as partitions, coalesce(sum(p.row_count), 0)::bigint as rows"
    "  from granary.partitions p where p.table_id = c.table_id and p.active and p.max_timestamp < c.cutoff"
    "  and not (p.lock_id is null and" CATALOG_SQL_NOT_HELD("p") ")) o where o.partitions > 0";
static const char SQL_TABLE_COUNTS[] =
    "select i.n::int, count(*), coalesce(sum(p.row_count), 0)::bigint, coalesce(sum(p.data_bytes), 0)::bigint"
    " from unnest($1::uuid[]) with ordinality i(id, n) join granary.partitions p on p.table_id = i.id and p.active"
    " group by 1";

static enum err_code load_states(struct catalog *catalog, struct arena *arena, struct catalog_status *status,
                                 struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog, SQL_STATES, CATALOG_NO_VALUES, &rows, err));
    status->state_count = catalog_rows_count(rows);
    status->states = arena_zalloc(arena, status->state_count + 1, sizeof *status->states);
    if (status->states == NULL) {
        return err_no_memory(err, status->state_count * sizeof *status->states);
    }
    for (size_t i = 0; i < status->state_count; i++) {
        struct catalog_status_state *state = &status->states[i];
        TRY(catalog_load_text(rows, i, 0, arena, &state->project, err));
        TRY(catalog_load_text(rows, i, 1, arena, &state->table_name, err));
        TRY(catalog_load_text(rows, i, 2, arena, &state->state, err));
        state->partitions = catalog_get_i64(rows, i, 3);
        state->rows = catalog_get_i64(rows, i, 4);
        state->bytes = catalog_get_i64(rows, i, 5);
        state->oldest_us = catalog_get_timestamp(rows, i, 6);
    }
    return OK;
}

static enum err_code load_jobs(struct catalog *catalog, struct arena *arena, struct catalog_status *status,
                               struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog, SQL_JOBS, CATALOG_NO_VALUES, &rows, err));
    status->job_count = catalog_rows_count(rows);
    status->jobs = arena_zalloc(arena, status->job_count + 1, sizeof *status->jobs);
    if (status->jobs == NULL) {
        return err_no_memory(err, status->job_count * sizeof *status->jobs);
    }
    for (size_t i = 0; i < status->job_count; i++) {
        struct catalog_status_job *job = &status->jobs[i];
        TRY(catalog_load_text(rows, i, 0, arena, &job->job, err));
        TRY(catalog_load_text(rows, i, 1, arena, &job->instance, err));
        TRY(catalog_load_text(rows, i, 2, arena, &job->counts_json, err));
        TRY(catalog_load_text(rows, i, 3, arena, &job->error, err));
        job->finished_at_us = catalog_get_timestamp(rows, i, 4);
        job->exit_code = catalog_get_i32(rows, i, 5);
    }
    return OK;
}

static enum err_code load_locks(struct catalog *catalog, struct arena *arena, struct catalog_status *status,
                                struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog, SQL_LOCKS, CATALOG_NO_VALUES, &rows, err));
    status->lock_count = catalog_rows_count(rows);
    status->locks = arena_zalloc(arena, status->lock_count + 1, sizeof *status->locks);
    if (status->locks == NULL) {
        return err_no_memory(err, status->lock_count * sizeof *status->locks);
    }
    for (size_t i = 0; i < status->lock_count; i++) {
        struct catalog_status_lock *lock = &status->locks[i];
        TRY(lock_kind_parse(catalog_get_text(rows, i, 0), &lock->kind, err));
        TRY(catalog_load_text(rows, i, 1, arena, &lock->owner, err));
        lock->count = catalog_get_i64(rows, i, 2);
        lock->expired = catalog_get_i64(rows, i, 3);
        lock->oldest_us = catalog_get_timestamp(rows, i, 4);
    }
    return OK;
}

static enum err_code load_attempts(struct catalog *catalog, struct arena *arena, struct catalog_status *status,
                                   struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog, SQL_ATTEMPTS, CATALOG_NO_VALUES, &rows, err));
    status->attempt_count = catalog_rows_count(rows);
    status->attempts = arena_zalloc(arena, status->attempt_count + 1, sizeof *status->attempts);
    if (status->attempts == NULL) {
        return err_no_memory(err, status->attempt_count * sizeof *status->attempts);
    }
    for (size_t i = 0; i < status->attempt_count; i++) {
        struct catalog_status_attempt *attempt = &status->attempts[i];
        attempt->attempt_id = catalog_get_uuid(rows, i, 0);
        TRY(catalog_load_text(rows, i, 1, arena, &attempt->project, err));
        TRY(catalog_load_text(rows, i, 2, arena, &attempt->table_name, err));
        TRY(catalog_load_text(rows, i, 3, arena, &attempt->target, err));
        TRY(catalog_load_text(rows, i, 4, arena, &attempt->pool, err));
        TRY(catalog_load_text(rows, i, 5, arena, &attempt->state, err));
        TRY(catalog_load_text(rows, i, 6, arena, &attempt->worker, err));
        attempt->rows_done = catalog_get_i64(rows, i, 7);
        attempt->rows_total = catalog_get_i64(rows, i, 8);
        attempt->created_at_us = catalog_get_timestamp(rows, i, 9);
    }
    return OK;
}

enum err_code catalog_admin_status(struct catalog *catalog, struct arena *arena, struct catalog_status *out,
                                   struct error *err)
{
    struct catalog_status status = {0};
    TRY(load_states(catalog, arena, &status, err));
    TRY(load_jobs(catalog, arena, &status, err));
    TRY(load_locks(catalog, arena, &status, err));
    TRY(load_attempts(catalog, arena, &status, err));
    *out = status;
    return OK;
}

enum err_code catalog_admin_overdue(struct catalog *catalog, const struct catalog_cutoff *cutoffs, size_t count,
                                    struct arena *arena, struct catalog_overdue **out, size_t *out_count,
                                    struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog, SQL_OVERDUE,
                      CATALOG_VALUES(catalog_array(CATALOG_UUID, &cutoffs->table_id, sizeof *cutoffs, count),
                                     catalog_array(CATALOG_BOUND, &cutoffs->cutoff_us, sizeof *cutoffs, count)),
                      &rows, err));
    size_t found = catalog_rows_count(rows);
    struct catalog_overdue *overdue = arena_zalloc(arena, found + 1, sizeof *overdue);
    if (overdue == NULL) {
        return err_no_memory(err, found * sizeof *overdue);
    }
    for (size_t i = 0; i < found; i++) {
        overdue[i] = (struct catalog_overdue){catalog_get_uuid(rows, i, 0), catalog_get_i64(rows, i, 1),
                                              catalog_get_i64(rows, i, 2)};
    }
    *out = overdue;
    *out_count = found;
    return OK;
}

enum err_code catalog_admin_table_counts(struct catalog *catalog, const struct uuid *ids, size_t count,
                                         struct catalog_table_count *out, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog, SQL_TABLE_COUNTS, CATALOG_VALUES(catalog_array(CATALOG_UUID, ids, sizeof *ids, count)),
                      &rows, err));
    for (size_t i = 0; i < count; i++) {
        out[i] = (struct catalog_table_count){0};
    }
    for (size_t i = 0; i < catalog_rows_count(rows); i++) {
        out[catalog_get_i32(rows, i, 0) - 1] = (struct catalog_table_count){
            catalog_get_i64(rows, i, 1), catalog_get_i64(rows, i, 2), catalog_get_i64(rows, i, 3)};
    }
    return OK;
}
