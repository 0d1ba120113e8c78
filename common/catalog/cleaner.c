#include "common/catalog/cleaner.h"

#include "common/catalog/orphans_private.h"

/* Session locks: they end with the session. */
static const char SQL_LOCK[] = "select pg_try_advisory_lock(hashtextextended('granary.cleaner', $1))";
static const char SQL_UNLOCK[] = "select pg_advisory_unlock(hashtextextended('granary.cleaner', $1))";

/* One row, by key, and only the latest of its storage. */
static const char SQL_RESUME[] =
    "update granary.cleaner_runs r set instance = $2, saved_at = clock_timestamp()"
    " where r.finished_at is null and r.started_at > clock_timestamp() - $3::interval"
    "   and r.run_id = (select max(l.run_id) from granary.cleaner_runs l where l.storage_id = $1)"
    " returning run_id, started_at, position, counts";
static const char SQL_BEGIN[] = "insert into granary.cleaner_runs (storage_id, instance) values ($1, $2)"
                                " returning run_id, started_at, position, counts";
/* Reads only. A run that was refused is no measure: else the second look at a restored catalog would find it normal.
 * Receipts know nothing of storages: too many of them make the comparison milder, never stricter. */
static const char SQL_PAST[] =
    "select r.counts, (select count(*) from granary.receipts d where d.deleted_at > r.started_at)"
    " from granary.cleaner_runs r where r.storage_id = $1 and r.finished_at is not null and r.verdict is null"
    " order by r.run_id desc limit 1";

/* The row of the run is locked first: two who both think that they have it meet there. */
static const char SQL_SAVE[] =
    "update granary.cleaner_runs set saved_at = clock_timestamp(), position = $3, counts = $4::jsonb"
    " where run_id = $1 and instance = $2 and finished_at is null";
static const char SQL_SAVE_ORPHANS[] =
    "insert into granary.orphans as o (storage_id, path, data_bytes, modified_at, owner, table_id, partition_id, "
    "run_id)"
    " select $1, n.path, n.data_bytes, n.modified_at, n.owner, n.table_id, n.partition_id, $2"
    " from unnest($3::text[], $4::bigint[], $5::timestamptz[], $6::text[], $7::uuid[], $8::uuid[])"
    "   n (path, data_bytes, modified_at, owner, table_id, partition_id) order by n.path"
    " on conflict (storage_id, path) do update set data_bytes = excluded.data_bytes,"
    "   modified_at = excluded.modified_at, owner = excluded.owner, run_id = excluded.run_id";
/* A row that was reaped since it was looked at has nothing to miss. */
static const char SQL_SAVE_MISSING[] =
    "insert into granary.missing_objects as m (partition_id, path, storage_id, run_id)"
    " select n.partition_id, n.path, $1, $2 from unnest($3::text[], $4::uuid[]) n (path, partition_id)"
    " where exists (select from granary.partitions p where p.partition_id = n.partition_id)"
    " order by n.partition_id, n.path on conflict (partition_id, path) do update set run_id = excluded.run_id";
static const char SQL_FINISH[] =
    "update granary.cleaner_runs set saved_at = clock_timestamp(), finished_at = clock_timestamp(), position = $3,"
    " counts = $4::jsonb, verdict = $5 where run_id = $1 and instance = $2 and finished_at is null";
static const char SQL_FORGET_ORPHANS[] = "delete from granary.orphans where storage_id = $1 and run_id <> $2";
static const char SQL_FORGET_MISSING[] = "delete from granary.missing_objects where storage_id = $1 and run_id <> $2";

/* Reads only; along the index. */
static const char SQL_CONDEMNED[] =
    "select " CATALOG_SQL_ORPHAN " from granary.orphans"
    " where storage_id = $1 and run_id = $2 and path > $6 and first_seen_at <= clock_timestamp() - $3::interval"
    "   and modified_at <= $4 and owner <> $5"
    "   and not exists (select from unnest($8::uuid[], $9::interval[]) w (table_id, span)"
    "     where w.table_id = orphans.table_id"
    "       and first_seen_at > clock_timestamp() - w.span)"
    " order by path limit $7";

/* Inserts only. */
static const char SQL_ANNOUNCE[] =
    "insert into granary.orphan_receipts (deletion_id, storage_id, path, data_bytes, modified_at, owner, table_id,"
    "   partition_id, plan_id, deleted_by)"
    " select $1, n.storage_id, n.path, n.data_bytes, n.modified_at, n.owner, n.table_id, n.partition_id, $9, $10"
    " from unnest($2::int[], $3::text[], $4::bigint[], $5::timestamptz[], $6::text[], $7::uuid[], $8::uuid[])"
    "   n (storage_id, path, data_bytes, modified_at, owner, table_id, partition_id)";
static const char SQL_ANSWER[] =
    "update granary.orphan_receipts r set answer = n.answer from unnest($2::text[], $3::text[]) n (path, answer)"
    " where r.deletion_id = $1 and r.path = n.path";
static const char SQL_FORGET_GONE[] =
    "delete from granary.orphans o using unnest($1::int[], $2::text[], $3::boolean[]) n (storage_id, path, gone)"
    " where n.gone and o.storage_id = n.storage_id and o.path = n.path";
static const char SQL_NOTE_ERRORS[] = "update granary.orphans o set error = n.error"
                                      " from unnest($1::int[], $2::text[], $3::text[]) n (storage_id, path, error)"
                                      " where n.error is not null and o.storage_id = n.storage_id and o.path = n.path";

static const char SQL_MISSING_SINCE[] = "select min(since) from granary.missing_objects where partition_id = $1";
static const char SQL_STATUS[] =
    "select m.missing, m.live, o.orphans, o.bytes, r.finished_at, r.verdict"
    " from (select count(*) as missing, count(*) filter (where p.active) as live"
    "       from granary.missing_objects x join granary.partitions p using (partition_id)) m,"
    " (select count(*) as orphans, coalesce(sum(data_bytes), 0)::bigint as bytes from granary.orphans) o"
    " left join lateral (select finished_at, verdict from granary.cleaner_runs where finished_at is not null"
    "                    order by run_id desc limit 1) r on true";

/* --- runs ---------------------------------------------------------------------------------------------------------- */

enum err_code catalog_cleaner_lock(struct catalog *catalog, int32_t storage_id, bool *out_taken, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog, SQL_LOCK, CATALOG_VALUES(catalog_i64(storage_id)), &rows, err));
    *out_taken = catalog_get_bool(rows, 0, 0);
    return OK;
}

enum err_code catalog_cleaner_unlock(struct catalog *catalog, int32_t storage_id, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    return catalog_query(catalog, SQL_UNLOCK, CATALOG_VALUES(catalog_i64(storage_id)), &rows, err);
}

static enum err_code read_run(const struct catalog_rows *rows, bool resumed, struct arena *arena,
                              struct catalog_cleaner_run *out, struct error *err)
{
    struct catalog_cleaner_run run = {
        .run_id = catalog_get_i64(rows, 0, 0),
        .started_at_us = catalog_get_timestamp(rows, 0, 1),
        .resumed = resumed,
    };
    TRY(catalog_load_text(rows, 0, 2, arena, &run.position, err));
    TRY(catalog_load_text(rows, 0, 3, arena, &run.counts_json, err));
    *out = run;
    return OK;
}

enum err_code catalog_cleaner_run_open(struct catalog *catalog, int32_t storage_id, const char *instance,
                                       int64_t resume_within_us, struct arena *arena, struct catalog_cleaner_run *out,
                                       struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    AUTO(catalog_rows_free_auto) struct catalog_rows *earlier = NULL;
    AUTO(catalog_rows_free_auto) struct catalog_rows *fresh = NULL;
    TRY(catalog_begin(catalog, &transaction, err));
    TRY(catalog_query(
        catalog, SQL_RESUME,
        CATALOG_VALUES(catalog_i32(storage_id), catalog_text(instance), catalog_interval(resume_within_us)), &earlier,
        err));
    bool resumed = catalog_rows_count(earlier) == 1;
    if (!resumed) {
        TRY(catalog_query(catalog, SQL_BEGIN, CATALOG_VALUES(catalog_i32(storage_id), catalog_text(instance)), &fresh,
                          err));
    }
    TRY(read_run(resumed ? earlier : fresh, resumed, arena, out, err));
    return catalog_commit(TAKE(transaction), err);
}

enum err_code catalog_cleaner_run_past(struct catalog *catalog, int32_t storage_id, struct arena *arena,
                                       struct catalog_cleaner_past *out, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    *out = (struct catalog_cleaner_past){0};
    TRY(catalog_query(catalog, SQL_PAST, CATALOG_VALUES(catalog_i32(storage_id)), &rows, err));
    if (catalog_rows_count(rows) == 0) {
        return OK;
    }
    TRY(catalog_load_text(rows, 0, 0, arena, &out->counts_json, err));
    out->receipts_since = catalog_get_i64(rows, 0, 1);
    out->found = true;
    return OK;
}

static enum err_code save_findings(struct catalog *catalog, const struct catalog_cleaner_save *save, struct error *err)
{
    const struct catalog_orphan *o = save->orphans;
    const struct catalog_missing *m = save->missing;
    if (save->orphan_count > 0) {
        TRY(catalog_execute(
            catalog, SQL_SAVE_ORPHANS,
            CATALOG_VALUES(catalog_i32(save->storage_id), catalog_i64(save->run_id),
                           catalog_array(CATALOG_TEXT, &o->path, sizeof *o, save->orphan_count),
                           catalog_array(CATALOG_INT64, &o->data_bytes, sizeof *o, save->orphan_count),
                           catalog_array(CATALOG_TIMESTAMP, &o->modified_at_us, sizeof *o, save->orphan_count),
                           catalog_array(CATALOG_TEXT, &o->owner, sizeof *o, save->orphan_count),
                           catalog_array(CATALOG_UUID, &o->table_id, sizeof *o, save->orphan_count),
                           catalog_array(CATALOG_UUID, &o->partition_id, sizeof *o, save->orphan_count)),
            NULL, err));
    }
    if (save->missing_count > 0) {
        TRY(catalog_execute(
            catalog, SQL_SAVE_MISSING,
            CATALOG_VALUES(catalog_i32(save->storage_id), catalog_i64(save->run_id),
                           catalog_array(CATALOG_TEXT, &m->path, sizeof *m, save->missing_count),
                           catalog_array(CATALOG_UUID, &m->partition_id, sizeof *m, save->missing_count)),
            NULL, err));
    }
    return OK;
}

static enum err_code expect_ours(enum err_code code, const struct catalog_cleaner_save *save, struct error *err)
{
    return code == ERR_CONFLICT
               ? err_set(err, ERR_CONFLICT, "expected to have the run %lld but another process has taken it over",
                         (long long)save->run_id)
               : code;
}

enum err_code catalog_cleaner_save(struct catalog *catalog, const struct catalog_cleaner_save *save, struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    TRY(catalog_begin(catalog, &transaction, err));
    TRY(expect_ours(
        catalog_execute_expect(transaction, SQL_SAVE,
                               CATALOG_VALUES(catalog_i64(save->run_id), catalog_text(save->instance),
                                              catalog_text(save->position), catalog_text(save->counts_json)),
                               1, err),
        save, err));
    TRY(save_findings(catalog, save, err));
    return catalog_commit(TAKE(transaction), err);
}

enum err_code catalog_cleaner_run_finish(struct catalog *catalog, const struct catalog_cleaner_save *run,
                                         const char *verdict, struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    TRY(catalog_begin(catalog, &transaction, err));
    TRY(expect_ours(catalog_execute_expect(transaction, SQL_FINISH,
                                           CATALOG_VALUES(catalog_i64(run->run_id), catalog_text(run->instance),
                                                          catalog_text(run->position), catalog_text(run->counts_json),
                                                          catalog_text(verdict)),
                                           1, err),
                    run, err));
    TRY(save_findings(catalog, run, err));
    TRY(catalog_execute(catalog, SQL_FORGET_ORPHANS,
                        CATALOG_VALUES(catalog_i32(run->storage_id), catalog_i64(run->run_id)), NULL, err));
    TRY(catalog_execute(catalog, SQL_FORGET_MISSING,
                        CATALOG_VALUES(catalog_i32(run->storage_id), catalog_i64(run->run_id)), NULL, err));
    return catalog_commit(TAKE(transaction), err);
}

/* --- deleting ------------------------------------------------------------------------------------------------------ */

enum err_code catalog_orphans_read(const struct catalog_rows *rows, struct arena *arena, struct catalog_orphan **out,
                                   size_t *out_count, struct error *err)
{
    size_t count = catalog_rows_count(rows);
    struct catalog_orphan *orphans = arena_zalloc(arena, count + 1, sizeof *orphans);
    if (orphans == NULL) {
        return err_no_memory(err, count * sizeof *orphans);
    }
    for (size_t i = 0; i < count; i++) {
        orphans[i] = (struct catalog_orphan){
            .storage_id = catalog_get_i32(rows, i, 0),
            .data_bytes = catalog_get_i64(rows, i, 2),
            .modified_at_us = catalog_get_timestamp(rows, i, 3),
            .table_id = catalog_get_uuid(rows, i, 5),
            .partition_id = catalog_get_uuid(rows, i, 6),
        };
        TRY(catalog_load_text(rows, i, 1, arena, &orphans[i].path, err));
        TRY(catalog_load_text(rows, i, 4, arena, &orphans[i].owner, err));
    }
    *out = orphans;
    *out_count = count;
    return OK;
}

enum err_code catalog_cleaner_condemned(struct catalog *catalog, const struct catalog_condemned_page *page,
                                        struct arena *arena, struct catalog_orphan **out, size_t *out_count,
                                        struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    static const struct catalog_table_window none;
    const struct catalog_table_window *w = page->window_count == 0 ? &none : page->windows;
    TRY(catalog_query(catalog, SQL_CONDEMNED,
                      CATALOG_VALUES(catalog_i32(page->storage_id), catalog_i64(page->run_id),
                                     catalog_interval(page->quarantine_us), catalog_bound(page->modified_before_us),
                                     catalog_text(page->keep_owner), catalog_text(page->after),
                                     catalog_i64((int64_t)page->limit),
                                     catalog_array(CATALOG_UUID, &w->table_id, sizeof *w, page->window_count),
                                     catalog_array(CATALOG_INTERVAL, &w->window_us, sizeof *w, page->window_count)),
                      &rows, err));
    return catalog_orphans_read(rows, arena, out, out_count, err);
}

enum err_code catalog_orphans_announce(struct catalog *catalog, const struct uuid *deletion_id,
                                       const struct catalog_orphan *orphans, size_t count, const struct uuid *plan_id,
                                       const char *actor, struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    const struct catalog_orphan *o = orphans;
    TRY(catalog_begin(catalog, &transaction, err));
    TRY(catalog_execute_expect(transaction, SQL_ANNOUNCE,
                               CATALOG_VALUES(catalog_uuid(deletion_id),
                                              catalog_array(CATALOG_INT32, &o->storage_id, sizeof *o, count),
                                              catalog_array(CATALOG_TEXT, &o->path, sizeof *o, count),
                                              catalog_array(CATALOG_INT64, &o->data_bytes, sizeof *o, count),
                                              catalog_array(CATALOG_TIMESTAMP, &o->modified_at_us, sizeof *o, count),
                                              catalog_array(CATALOG_TEXT, &o->owner, sizeof *o, count),
                                              catalog_array(CATALOG_UUID, &o->table_id, sizeof *o, count),
                                              catalog_array(CATALOG_UUID, &o->partition_id, sizeof *o, count),
                                              catalog_uuid(plan_id), catalog_text(actor)),
                               count, err));
    return catalog_commit(TAKE(transaction), err);
}

enum err_code catalog_orphans_answer(struct catalog *catalog, const struct uuid *deletion_id,
                                     const struct catalog_orphan_answer *answers, size_t count, struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    const struct catalog_orphan_answer *a = answers;
    const struct catalog_value storages = catalog_array(CATALOG_INT32, &a->storage_id, sizeof *a, count);
    const struct catalog_value paths = catalog_array(CATALOG_TEXT, &a->path, sizeof *a, count);
    TRY(catalog_begin(catalog, &transaction, err));
    TRY(catalog_execute_expect(
        transaction, SQL_ANSWER,
        CATALOG_VALUES(catalog_uuid(deletion_id), paths, catalog_array(CATALOG_TEXT, &a->answer, sizeof *a, count)),
        count, err));
    TRY(catalog_execute(catalog, SQL_FORGET_GONE,
                        CATALOG_VALUES(storages, paths, catalog_array(CATALOG_BOOL, &a->gone, sizeof *a, count)), NULL,
                        err));
    TRY(catalog_execute(catalog, SQL_NOTE_ERRORS,
                        CATALOG_VALUES(storages, paths, catalog_array(CATALOG_TEXT, &a->error, sizeof *a, count)), NULL,
                        err));
    return catalog_commit(TAKE(transaction), err);
}

/* --- what others ask ----------------------------------------------------------------------------------------------- */

enum err_code catalog_cleaner_missing_since(struct catalog *catalog, const struct uuid *partition_id, int64_t *out_us,
                                            struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog, SQL_MISSING_SINCE, CATALOG_VALUES(catalog_uuid(partition_id)), &rows, err));
    *out_us = catalog_get_timestamp_or(rows, 0, 0, CLOCK_NEVER);
    return OK;
}

enum err_code catalog_cleaner_status(struct catalog *catalog, struct arena *arena, struct catalog_cleaner_status *out,
                                     struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query_one(catalog, SQL_STATUS, CATALOG_NO_VALUES, "status of the cleaner", &rows, err));
    *out = (struct catalog_cleaner_status){
        .missing = catalog_get_i64(rows, 0, 0),
        .missing_live = catalog_get_i64(rows, 0, 1),
        .orphans = catalog_get_i64(rows, 0, 2),
        .orphan_bytes = catalog_get_i64(rows, 0, 3),
        .finished_at_us = catalog_get_timestamp_or(rows, 0, 4, CLOCK_NEVER),
    };
    return catalog_load_text(rows, 0, 5, arena, &out->verdict, err);
}
