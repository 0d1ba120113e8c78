/* From staged to live, or to given up. The row of the lock is locked first in each transaction: it orders a writer, its
 * own late twin, and whoever sweeps expired locks. */
#include <stdlib.h>
#include <string.h>

#include "common/catalog/internal.h"
#include "common/catalog/partitions.h"

static const char SQL_LOCK_OWN[] =
    "select expires_at > clock_timestamp(), pg_current_xact_id()::text from granary.locks"
    " where lock_id = $1 and token = $2 for update";

static const char SQL_TABLES_LIVE[] =
    "select count(*) from granary.tables where table_id = any($1::uuid[]) and dropped_at is null";

static const char SQL_ACTIVATE[] =
    "update granary.partitions p set active = true, lock_id = null, lock_kind = null, min_timestamp = u.min,"
    " max_timestamp = u.max, row_count = u.row_count, data_bytes = u.data_bytes, memory_bytes = u.memory_bytes,"
    " sha256 = u.sha256, etag = u.etag"
    " from unnest($2::uuid[], $3::timestamptz[], $4::timestamptz[], $5::bigint[], $6::bigint[], $7::bigint[],"
    " $8::bytea[], $9::text[]) u(id, min, max, row_count, data_bytes, memory_bytes, sha256, etag)"
    " where p.partition_id = u.id and p.lock_id = $1 and p.lock_kind = 'write' and not p.active";

static const char SQL_COLUMNS[] =
    "insert into granary.partition_columns (partition_id, column_id, min_value, max_value, null_count)"
    " select * from unnest($1::uuid[], $2::int[], $3::bytea[], $4::bytea[], $5::bigint[])";

static const char SQL_GIVE_UP[] =
    "update granary.partitions set lock_id = null, lock_kind = null, deactivation_reason = 'abandoned',"
    " deactivated_by = $2 where lock_id = $1 and lock_kind = 'write' and not active";

static const char SQL_UNLOCK[] = "delete from granary.locks where lock_id = $1";

static int compare_ids(const void *a, const void *b)
{
    return uuid_compare(a, b);
}

/* The distinct tables, sorted: the order in which everyone takes fences. */
static enum err_code tables_of(const struct catalog_publish *publish, struct arena *arena, struct uuid **out,
                               size_t *out_count, struct error *err)
{
    struct uuid *ids = arena_zalloc(arena, publish->count + 1, sizeof *ids);
    size_t count = 0;

    if (ids == NULL) {
        return err_no_memory(err, publish->count * sizeof *ids);
    }
    for (size_t i = 0; i < publish->count; i++) {
        ids[i] = publish->publications[i].partition->table_id;
    }
    qsort(ids, publish->count, sizeof *ids, compare_ids);
    for (size_t i = 0; i < publish->count; i++) {
        if (count == 0 || !uuid_equal(&ids[count - 1], &ids[i])) {
            ids[count++] = ids[i];
        }
    }
    *out = ids;
    *out_count = count;
    return OK;
}

static enum err_code fence_live_tables(struct catalog_transaction *transaction, const struct catalog_publish *publish,
                                       struct arena *arena, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    struct uuid *tables = NULL;
    size_t count = 0;

    TRY(tables_of(publish, arena, &tables, &count, err));
    for (size_t i = 0; i < count; i++) {
        TRY(catalog_fence_shared(transaction, &tables[i], err));
    }
    TRY(catalog_query_one(catalog_in(transaction), SQL_TABLES_LIVE,
                          CATALOG_VALUES(catalog_array(CATALOG_UUID, tables, sizeof *tables, count)), "count", &rows,
                          err));
    if (catalog_get_i64(rows, 0, 0) != (int64_t)count) {
        return err_set(err, ERR_NOT_FOUND, "expected %zu tables to publish into but found %lld; the others are dropped",
                       count, (long long)catalog_get_i64(rows, 0, 0));
    }
    return OK;
}

/* The row of the lock, locked until the transaction ends. out_standing: not expired. */
static enum err_code take_lock(struct catalog_transaction *transaction, const struct uuid *lock_id, int64_t token,
                               bool *out_standing, uint64_t *out_xid, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    char id[UUID_TEXT_BYTES];
    char what[UUID_TEXT_BYTES + 48];

    (void)snprintf(what, sizeof what, "lock \"%s\" with token %lld", uuid_format(lock_id, id), (long long)token);
    TRY(catalog_query_one(catalog_in(transaction), SQL_LOCK_OWN,
                          CATALOG_VALUES(catalog_uuid(lock_id), catalog_i64(token)), what, &rows, err));
    *out_standing = catalog_get_bool(rows, 0, 0);
    *out_xid = strtoull(catalog_get_text(rows, 0, 1), NULL, 10);
    return OK;
}

static enum err_code take_standing_lock(struct catalog_transaction *transaction, const struct catalog_publish *publish,
                                        uint64_t *out_xid, struct error *err)
{
    bool standing = false;
    enum err_code code = take_lock(transaction, &publish->lock_id, publish->token, &standing, out_xid, err);

    if (code == ERR_NOT_FOUND) {
        char text[ERROR_TEXT_BYTES] = "";
        (void)snprintf(text, sizeof text, "%s", err != NULL ? err->text : "");
        return err_set(err, ERR_CONFLICT, "%s", text);
    }
    TRY(code);
    if (!standing) {
        return err_set(err, ERR_CONFLICT, "expected the lease of the write to stand but it has run out");
    }
    return OK;
}

static enum err_code activate(struct catalog_transaction *transaction, const struct catalog_publish *publish,
                              struct arena *arena, struct error *err)
{
    enum { STRIDE = sizeof(struct partition_record) };
    size_t count = publish->count;
    struct partition_record *records = arena_zalloc(arena, count + 1, sizeof *records);

    if (records == NULL) {
        return err_no_memory(err, count * sizeof *records);
    }
    for (size_t i = 0; i < count; i++) {
        records[i] = *publish->publications[i].partition;
    }
    return catalog_execute_expect(
        transaction, SQL_ACTIVATE,
        CATALOG_VALUES(catalog_uuid(&publish->lock_id),
                       catalog_array(CATALOG_UUID, &records->partition_id, STRIDE, count),
                       catalog_array(CATALOG_TIMESTAMP, &records->min_timestamp_us, STRIDE, count),
                       catalog_array(CATALOG_TIMESTAMP, &records->max_timestamp_us, STRIDE, count),
                       catalog_array(CATALOG_INT64, &records->row_count, STRIDE, count),
                       catalog_array(CATALOG_INT64, &records->data_bytes, STRIDE, count),
                       catalog_array(CATALOG_INT64, &records->memory_bytes, STRIDE, count),
                       catalog_fixed_bytes_array(records->sha256, sizeof records->sha256, STRIDE, count),
                       catalog_array(CATALOG_TEXT, &records->etag, STRIDE, count)),
        count, err);
}

struct column_row {
    struct uuid partition_id;
    int32_t column_id;
    struct catalog_bytes min, max;
    int64_t null_count;
};

static struct column_row column_row_of(const struct uuid *partition_id, const struct column_stats *stats)
{
    return (struct column_row){
        .partition_id = *partition_id,
        .column_id = (int32_t)stats->column_id,
        .min = {stats->has_min ? stats->min : NULL, stats->min_length},
        .max = {stats->has_max ? stats->max : NULL, stats->max_length},
        .null_count = (int64_t)stats->null_count,
    };
}

enum err_code catalog_columns_insert(struct catalog_transaction *transaction,
                                     const struct catalog_publication *publications, size_t count, struct arena *arena,
                                     struct error *err)
{
    enum { STRIDE = sizeof(struct column_row) };
    size_t row_count = 0;
    size_t filled = 0;

    for (size_t i = 0; i < count; i++) {
        row_count += publications[i].column_count;
    }
    struct column_row *rows = arena_zalloc(arena, row_count + 1, sizeof *rows);
    if (rows == NULL) {
        return err_no_memory(err, row_count * sizeof *rows);
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < publications[i].column_count; j++) {
            rows[filled++] = column_row_of(&publications[i].partition->partition_id, &publications[i].columns[j]);
        }
    }
    return catalog_execute_expect(transaction, SQL_COLUMNS,
                                  CATALOG_VALUES(catalog_array(CATALOG_UUID, &rows->partition_id, STRIDE, row_count),
                                                 catalog_array(CATALOG_INT32, &rows->column_id, STRIDE, row_count),
                                                 catalog_array(CATALOG_BYTES, &rows->min, STRIDE, row_count),
                                                 catalog_array(CATALOG_BYTES, &rows->max, STRIDE, row_count),
                                                 catalog_array(CATALOG_INT64, &rows->null_count, STRIDE, row_count)),
                                  row_count, err);
}

/* What is staged under the lock becomes abandoned, and the lock goes. */
static enum err_code clear_lock(struct catalog_transaction *transaction, const struct uuid *lock_id, const char *actor,
                                struct error *err)
{
    TRY(catalog_execute(catalog_in(transaction), SQL_GIVE_UP,
                        CATALOG_VALUES(catalog_uuid(lock_id), catalog_text(actor)), NULL, err));
    return catalog_execute_expect(transaction, SQL_UNLOCK, CATALOG_VALUES(catalog_uuid(lock_id)), 1, err);
}

static enum err_code refuse_known(struct catalog *catalog, const struct catalog_publish *publish, struct arena *arena,
                                  struct catalog_published *out, struct error *err)
{
    TRY(catalog_intake_find_known(catalog, publish->batches, publish->batch_count, arena, &out->known,
                                  &out->known_count, err));
    if (out->known_count > 0) {
        return err_set(err, ERR_CONFLICT, "%zu of %zu batches were committed before", out->known_count,
                       publish->batch_count);
    }
    return OK;
}

static enum err_code publish_in(struct catalog_transaction *transaction, const struct catalog_publish *publish,
                                struct arena *arena, struct catalog_published *out, bool *out_filing, struct error *err)
{
    TRY(fence_live_tables(transaction, publish, arena, err));
    if (publish->count > 0) {
        TRY(take_standing_lock(transaction, publish, &out->xid, err));
    } else {
        TRY(catalog_transaction_id(transaction, &out->xid, err));
    }
    if (publish->batch_count > 0) {
        TRY(refuse_known(catalog_in(transaction), publish, arena, out, err));
        *out_filing = true;
        TRY(catalog_intake_insert(transaction, publish->batches, publish->batch_count, err));
        *out_filing = false;
    }
    if (publish->count == 0) {
        return OK;
    }
    TRY(activate(transaction, publish, arena, err));
    TRY(catalog_columns_insert(transaction, publish->publications, publish->count, arena, err));
    return clear_lock(transaction, &publish->lock_id, publish->actor, err);
}

enum err_code catalog_partitions_publish(struct catalog *catalog, const struct catalog_publish *publish,
                                         struct arena *arena, struct catalog_published *out, struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    bool filing = false;

    *out = (struct catalog_published){0};
    TRY(catalog_begin(catalog, &transaction, err));
    enum err_code code = publish_in(transaction, publish, arena, out, &filing, err);
    if (code == ERR_CONFLICT && filing) { /* another commit of one of these ids was faster: which? */
        catalog_rollback(TAKE(transaction));
        struct error looked = {0};
        enum err_code known = refuse_known(catalog, publish, arena, out, &looked);
        return known == OK ? code : err_set(err, known, "%s", looked.text);
    }
    TRY(code);
    return catalog_commit(TAKE(transaction), err);
}

enum err_code catalog_partitions_give_up(struct catalog *catalog, const struct uuid *lock_id, int64_t token,
                                         const char *actor, struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    bool standing = false;
    uint64_t xid = 0;

    TRY(catalog_begin(catalog, &transaction, err));
    TRY(take_lock(transaction, lock_id, token, &standing, &xid, err));
    TRY(clear_lock(transaction, lock_id, actor, err));
    return catalog_commit(TAKE(transaction), err);
}
