#include "common/catalog/merge.h"

#include <string.h>

#include "common/catalog/internal.h"
#include "common/catalog/predicates.h"

/* Reads only, by key. */
static const char SQL_CANDIDATES[] =
    "select p.partition_id, p.min_timestamp, p.max_timestamp, p.data_bytes, p.row_count, p.schema_version,"
    "       p.merge_level, p.version, p.lock_id is not null"
    " from granary.partitions p"
    " where p.table_id = $1 and" CATALOG_SQL_MERGEABLE(
        "p") "   and (p.lock_kind is null or p.lock_kind = 'merge') and p.data_bytes < $2"
             "   and (p.min_timestamp, p.partition_id) > ($3, coalesce($4, "
             "'00000000-0000-0000-0000-000000000000'::uuid))"
             " order by p.min_timestamp, p.partition_id limit $5";

#define SQL_ATTEMPT_COLUMNS                                                                                    \
    " a.attempt_id, a.table_id, a.state, a.target, a.pool, a.lock_id, a.token, a.output_id, a.output_lock_id," \
    " a.task, coalesce(a.worker, '')"
#define SQL_UNDER_WAY " a.kind = 'merge' and a.state in ('planned', 'running')"
#define SQL_EXPIRED                                                                              \
    " not exists (select from granary.locks l where l.lock_id = a.lock_id and l.token = a.token" \
    "   and l.expires_at > clock_timestamp())"

/* Reads only. */
static const char SQL_ATTEMPT[] =
    "select" SQL_ATTEMPT_COLUMNS " from granary.attempts a where a.attempt_id = $1 and a.kind = 'merge'";
static const char SQL_WAITING[] = "select" SQL_ATTEMPT_COLUMNS " from granary.attempts a"
                                  " where a.kind = 'merge' and a.state = 'planned' and not" SQL_EXPIRED
                                  "   and a.attempt_id > coalesce($1, '00000000-0000-0000-0000-000000000000'::uuid)"
                                  " order by a.attempt_id limit $2";
static const char SQL_ATTEMPTS_EXPIRED[] = "select" SQL_ATTEMPT_COLUMNS " from granary.attempts a where" SQL_UNDER_WAY
                                           " and" SQL_EXPIRED " order by a.created_at, a.attempt_id limit $1";
static const char SQL_POOLS[] =
    "select a.pool, count(*) filter (where a.state = 'planned'), count(*) filter (where a.state = 'running')"
    " from granary.attempts a where" SQL_UNDER_WAY " group by a.pool order by a.pool";

/* --- what may be merged ------------------------------------------------------------------------------------------- */

enum err_code catalog_merge_candidates(struct catalog *catalog, const struct uuid *table_id, int64_t max_bytes,
                                       const struct merge_candidate *after, size_t limit, struct arena *arena,
                                       struct merge_candidate **out, size_t *out_count, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog, SQL_CANDIDATES,
                      CATALOG_VALUES(catalog_uuid(table_id), catalog_i64(max_bytes),
                                     catalog_bound(after == NULL ? INT64_MIN : after->min_timestamp_us),
                                     catalog_uuid(after == NULL ? NULL : &after->partition_id),
                                     catalog_i64((int64_t)limit)),
                      &rows, err));
    size_t count = catalog_rows_count(rows);
    struct merge_candidate *candidates = arena_zalloc(arena, count + 1, sizeof *candidates);
    if (candidates == NULL) {
        return err_no_memory(err, count * sizeof *candidates);
    }
    for (size_t i = 0; i < count; i++) {
        candidates[i] = (struct merge_candidate){
            .partition_id = catalog_get_uuid(rows, i, 0),
            .min_timestamp_us = catalog_get_timestamp(rows, i, 1),
            .max_timestamp_us = catalog_get_timestamp(rows, i, 2),
            .data_bytes = catalog_get_i64(rows, i, 3),
            .row_count = catalog_get_i64(rows, i, 4),
            .schema_version = catalog_get_i32(rows, i, 5),
            .merge_level = catalog_get_i32(rows, i, 6),
            .version = catalog_get_i64(rows, i, 7),
            .busy = catalog_get_bool(rows, i, 8),
        };
    }
    *out = candidates;
    *out_count = count;
    return OK;
}

/* --- attempts ----------------------------------------------------------------------------------------------------- */

static const char *const attempt_states[ATTEMPT_STATE_COUNT] = {
    [ATTEMPT_PLANNED] = "planned",
    [ATTEMPT_RUNNING] = "running",
    [ATTEMPT_DONE] = "done",
    [ATTEMPT_ABANDONED] = "abandoned",
};

const char *catalog_attempt_state_name(enum catalog_attempt_state state)
{
    return attempt_states[state];
}

static MUST_CHECK enum err_code attempt_at(const struct catalog_rows *rows, size_t row, struct arena *arena,
                                           struct catalog_merge_attempt *out, struct error *err)
{
    struct catalog_merge_attempt attempt = {
        .attempt_id = catalog_get_uuid(rows, row, 0),
        .table_id = catalog_get_uuid(rows, row, 1),
        .state = ATTEMPT_STATE_COUNT,
        .lock_id = catalog_get_uuid(rows, row, 5),
        .token = catalog_get_i64(rows, row, 6),
        .output_id = catalog_get_uuid(rows, row, 7),
        .output_lock_id = catalog_get_uuid(rows, row, 8),
    };
    const char *state = catalog_get_text(rows, row, 2);
    for (enum catalog_attempt_state known = ATTEMPT_PLANNED; known < ATTEMPT_STATE_COUNT; known++) {
        attempt.state = strcmp(state, attempt_states[known]) == 0 ? known : attempt.state;
    }
    if (attempt.state == ATTEMPT_STATE_COUNT) {
        return err_set(err, ERR_CORRUPT, "expected the state of an attempt but found \"%.32s\"", state);
    }
    TRY(catalog_load_text(rows, row, 3, arena, &attempt.target, err));
    TRY(catalog_load_text(rows, row, 4, arena, &attempt.pool, err));
    TRY(catalog_load_text(rows, row, 9, arena, &attempt.task, err));
    TRY(catalog_load_text(rows, row, 10, arena, &attempt.worker, err));
    *out = attempt;
    return OK;
}

enum err_code catalog_merge_attempt_load(struct catalog *catalog, const struct uuid *attempt_id, struct arena *arena,
                                         struct catalog_merge_attempt *out, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query_one(catalog, SQL_ATTEMPT, CATALOG_VALUES(catalog_uuid(attempt_id)), "attempt", &rows, err));
    return attempt_at(rows, 0, arena, out, err);
}

static MUST_CHECK enum err_code load_attempts(struct catalog *catalog, const char *sql,
                                              const struct catalog_value *values, size_t value_count,
                                              struct arena *arena, struct catalog_merge_attempt **out,
                                              size_t *out_count, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog, sql, values, value_count, &rows, err));
    size_t count = catalog_rows_count(rows);
    struct catalog_merge_attempt *attempts = arena_zalloc(arena, count + 1, sizeof *attempts);
    if (attempts == NULL) {
        return err_no_memory(err, count * sizeof *attempts);
    }
    for (size_t i = 0; i < count; i++) {
        TRY(attempt_at(rows, i, arena, &attempts[i], err));
    }
    *out = attempts;
    *out_count = count;
    return OK;
}

enum err_code catalog_merge_attempts_waiting(struct catalog *catalog, const struct uuid *after, size_t limit,
                                             struct arena *arena, struct catalog_merge_attempt **out, size_t *out_count,
                                             struct error *err)
{
    return load_attempts(catalog, SQL_WAITING, CATALOG_VALUES(catalog_uuid(after), catalog_i64((int64_t)limit)), arena,
                         out, out_count, err);
}

enum err_code catalog_merge_attempts_expired(struct catalog *catalog, size_t limit, struct arena *arena,
                                             struct catalog_merge_attempt **out, size_t *out_count, struct error *err)
{
    return load_attempts(catalog, SQL_ATTEMPTS_EXPIRED, CATALOG_VALUES(catalog_i64((int64_t)limit)), arena, out,
                         out_count, err);
}

enum err_code catalog_merge_pools(struct catalog *catalog, struct arena *arena, struct catalog_merge_pool **out,
                                  size_t *out_count, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog, SQL_POOLS, CATALOG_NO_VALUES, &rows, err));
    size_t count = catalog_rows_count(rows);
    struct catalog_merge_pool *pools = arena_zalloc(arena, count + 1, sizeof *pools);
    if (pools == NULL) {
        return err_no_memory(err, count * sizeof *pools);
    }
    for (size_t i = 0; i < count; i++) {
        TRY(catalog_load_text(rows, i, 0, arena, &pools[i].pool, err));
        pools[i].planned = catalog_get_i64(rows, i, 1);
        pools[i].running = catalog_get_i64(rows, i, 2);
    }
    *out = pools;
    *out_count = count;
    return OK;
}
