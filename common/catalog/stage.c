/* Rows before their objects: what is staged names an object that is about to be written, under a lock that somebody renews as
 * long as he writes. */
#include <stdlib.h>

#include "common/catalog/internal.h"
#include "common/catalog/partitions.h"

static const char SQL_LOCK_NEW[] =
    "insert into granary.locks (lock_id, kind, owner, reason, attempt_id, expires_at)"
    " values ($1, 'write', $2, $3, $4, clock_timestamp() + $5) returning token, expires_at, clock_timestamp()";

static const char SQL_STAGE[] =
    "insert into granary.partitions (partition_id, table_id, schema_version, min_timestamp, max_timestamp, storage_id,"
    " path, row_count, data_bytes, memory_bytes, active, lock_id, lock_kind, origin, attempt_id, merge_level)"
    " select u.id, u.table_id, u.schema_version, u.min, u.max, granary.storage_for(u.table_id, u.id), u.path,"
    " u.row_count, 0, u.memory_bytes, false, $1, 'write', u.origin::granary.origin, u.attempt_id, u.merge_level"
    " from unnest($2::uuid[], $3::uuid[], $4::int[], $5::timestamptz[], $6::timestamptz[], $7::text[], $8::bigint[],"
    " $9::bigint[], $10::text[], $11::uuid[], $12::int[])"
    " u(id, table_id, schema_version, min, max, path, row_count, memory_bytes, origin, attempt_id, merge_level)"
    " returning partition_id, storage_id";

static const char SQL_RENEW[] =
    "update granary.locks set expires_at = greatest(expires_at, clock_timestamp() + $3)"
    " where lock_id = $1 and token = $2 and expires_at > clock_timestamp() returning expires_at, clock_timestamp()";

/* Rows come back as they were put, or nearly so: each is looked for from where it should be. */
static enum err_code read_places(const struct catalog_rows *rows, const struct catalog_stage *stage, struct error *err)
{
    if (catalog_rows_count(rows) != stage->count) {
        return err_set(err, ERR_CONFLICT, "expected %zu partitions to be staged but %zu were", stage->count,
                       catalog_rows_count(rows));
    }
    for (size_t i = 0; stage->storage_ids != NULL && i < stage->count; i++) {
        struct uuid id = catalog_get_uuid(rows, i, 0);
        size_t place = i;
        while (!uuid_equal(&stage->partitions[place].partition_id, &id)) {
            place = (place + 1) % stage->count;
        }
        stage->storage_ids[place] = catalog_get_i32(rows, i, 1);
    }
    return OK;
}

static enum err_code insert_staged(struct catalog_transaction *transaction, const struct catalog_stage *stage,
                                   struct error *err)
{
    enum { STRIDE = sizeof stage->partitions[0] };
    const struct partition_record *first = stage->partitions;
    size_t count = stage->count;
    AUTO(free_auto) const char **origins = calloc(count + 1, sizeof *origins);
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;

    if (origins == NULL) {
        return err_no_memory(err, count * sizeof *origins);
    }
    for (size_t i = 0; i < count; i++) {
        origins[i] = partition_origin_name(first[i].origin);
    }
    TRY(catalog_query(catalog_in(transaction), SQL_STAGE,
                      CATALOG_VALUES(catalog_uuid(&stage->lock_id),
                                     catalog_array(CATALOG_UUID, &first->partition_id, STRIDE, count),
                                     catalog_array(CATALOG_UUID, &first->table_id, STRIDE, count),
                                     catalog_array(CATALOG_INT32, &first->schema_version, STRIDE, count),
                                     catalog_array(CATALOG_TIMESTAMP, &first->min_timestamp_us, STRIDE, count),
                                     catalog_array(CATALOG_TIMESTAMP, &first->max_timestamp_us, STRIDE, count),
                                     catalog_array(CATALOG_TEXT, &first->path, STRIDE, count),
                                     catalog_array(CATALOG_INT64, &first->row_count, STRIDE, count),
                                     catalog_array(CATALOG_INT64, &first->memory_bytes, STRIDE, count),
                                     catalog_array(CATALOG_TEXT, origins, sizeof *origins, count),
                                     catalog_array(CATALOG_UUID, &first->attempt_id, STRIDE, count),
                                     catalog_array(CATALOG_INT32, &first->merge_level, STRIDE, count)),
                      &rows, err));
    return read_places(rows, stage, err);
}

enum err_code catalog_partitions_stage_in(struct catalog_transaction *transaction, const struct catalog_stage *stage,
                                          struct catalog_lock *out, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;

    TRY(catalog_query_one(catalog_in(transaction), SQL_LOCK_NEW,
                          CATALOG_VALUES(catalog_uuid(&stage->lock_id), catalog_text(stage->owner),
                                         catalog_text(stage->reason != NULL ? stage->reason : ""),
                                         catalog_uuid(stage->attempt_id), catalog_interval(stage->lease_us)),
                          "lock", &rows, err));
    TRY(insert_staged(transaction, stage, err));
    *out = (struct catalog_lock){
        .lock_id = stage->lock_id,
        .token = catalog_get_i64(rows, 0, 0),
        .expires_at_us = catalog_get_timestamp(rows, 0, 1),
        .now_us = catalog_get_timestamp(rows, 0, 2),
    };
    return OK;
}

enum err_code catalog_partitions_stage(struct catalog *catalog, const struct catalog_stage *stage,
                                       struct catalog_lock *out, struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    struct catalog_lock lock;

    TRY(catalog_begin(catalog, &transaction, err));
    TRY(catalog_partitions_stage_in(transaction, stage, &lock, err));
    TRY(catalog_commit(TAKE(transaction), err));
    *out = lock;
    return OK;
}

enum err_code catalog_lock_renew(struct catalog *catalog, struct catalog_lock *lock, int64_t lease_us,
                                 struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    char id[UUID_TEXT_BYTES];

    /* doing it twice does no harm, so that a lost answer may count as unavailable */
    TRY(catalog_query(
        catalog, SQL_RENEW,
        CATALOG_VALUES(catalog_uuid(&lock->lock_id), catalog_i64(lock->token), catalog_interval(lease_us)), &rows,
        err));
    if (catalog_rows_count(rows) != 1) {
        return err_set(err, ERR_CONFLICT, "expected lock \"%s\" with token %lld to stand but it has expired or is gone",
                       uuid_format(&lock->lock_id, id), (long long)lock->token);
    }
    lock->expires_at_us = catalog_get_timestamp(rows, 0, 0);
    lock->now_us = catalog_get_timestamp(rows, 0, 1);
    return OK;
}

enum err_code catalog_partitions_stage_more(struct catalog *catalog, const struct catalog_stage *stage,
                                            struct catalog_lock *lock, struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    struct catalog_lock renewed = *lock;

    TRY(catalog_begin(catalog, &transaction, err));
    TRY(catalog_lock_renew(catalog_in(transaction), &renewed, stage->lease_us, err));
    TRY(insert_staged(transaction, stage, err));
    TRY(catalog_commit(TAKE(transaction), err));
    *lock = renewed;
    return OK;
}
