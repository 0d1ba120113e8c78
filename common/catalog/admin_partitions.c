#include "common/catalog/admin_partitions.h"

#include <stdio.h>
#include <string.h>

#include "common/catalog/partitions_private.h"

/* Reads; no locks. An unlocked partition has no row in locks. */
#define SELECT_PARTITIONS                                                                                       \
    "select " PARTITION_COLUMNS ", l.owner, l.reason, l.token, l.acquired_at, l.expires_at, t.project, t.name," \
    " t.dropped_at is not null"                                                                                 \
    " from granary.partitions p join granary.tables t on t.table_id = p.table_id"                               \
    " left join granary.locks l on l.lock_id = p.lock_id"

enum {
    COLUMN_OWNER = PARTITION_COLUMN_COUNT,
    COLUMN_REASON,
    COLUMN_TOKEN,
    COLUMN_ACQUIRED_AT,
    COLUMN_EXPIRES_AT,
    COLUMN_PROJECT,
    COLUMN_TABLE_NAME,
    COLUMN_TABLE_DROPPED,
};

static const char SQL_LOAD[] = SELECT_PARTITIONS " where p.partition_id = $1";
/* The condition on 'active' says the same as the one before it, in words that the index partitions_live understands. */
static const char SQL_LIST[] =
    SELECT_PARTITIONS " where p.table_id = $1 and p.min_timestamp <= $3 and p.max_timestamp >= $2"
                      " and ($4::text is null"
                      "      or granary.partition_state(p.active, p.lock_kind, p.deactivation_reason) = $4)"
                      " and ($4::text is distinct from 'active' or p.active)"
                      " and ($6::uuid is null or (p.min_timestamp, p.partition_id) > ($5, $6))"
                      " order by p.min_timestamp, p.partition_id limit $7";
/* Row locks on partitions, under the fence of their table. */
static const char SQL_LOCK[] = SELECT_PARTITIONS " where p.partition_id = $1 for update of p";
static const char SQL_LOCK_INACTIVE[] =
    SELECT_PARTITIONS " where p.table_id = $1 and not p.active and p.min_timestamp <= $3 and p.max_timestamp >= $2"
                      " order by p.min_timestamp, p.partition_id limit $4 for update of p";

static const char SQL_COLUMNS[] = "select column_id, min_value, max_value, null_count from granary.partition_columns"
                                  " where partition_id = $1 order by column_id";
static const char SQL_OBJECTS[] =
    "select path, kind, data_bytes from granary.partition_objects where partition_id = $1 order by path limit 1000";
static const char SQL_PARENTS[] =
    "select parent_id from granary.lineage where child_id = $1 order by parent_id limit 1000";
static const char SQL_CHILDREN[] =
    "select child_id from granary.lineage where parent_id = $1 order by child_id limit 1000";
/* One partition is either merged or reaped: at most one of the two tables knows it for long. */
static const char SQL_FAILURE[] =
    "select tries::bigint, last_error, last_at, false from granary.reap_failures where partition_id = $1 union all"
    " select tries::bigint, last_error, last_at, set_aside_at is not null from granary.merge_failures"
    " where partition_id = $1 limit 1";

static enum err_code read_partition(const struct catalog_rows *rows, size_t row, struct arena *arena,
                                    struct catalog_admin_partition *out, struct error *err)
{
    struct catalog_admin_partition partition = {
        .table_dropped = catalog_get_bool(rows, row, COLUMN_TABLE_DROPPED),
    };
    TRY(catalog_partition_read(rows, row, arena, &partition.partition, err));
    partition.lock = (struct lock_record){
        .lock_id = partition.partition.lock_id,
        .kind = partition.partition.lock_kind,
        .token = catalog_get_i64(rows, row, COLUMN_TOKEN),
        .acquired_at_us = catalog_get_timestamp(rows, row, COLUMN_ACQUIRED_AT),
        .expires_at_us = catalog_get_timestamp_or(rows, row, COLUMN_EXPIRES_AT, CLOCK_NEVER),
    };
    TRY(catalog_load_text(rows, row, COLUMN_OWNER, arena, &partition.lock.owner, err));
    TRY(catalog_load_text(rows, row, COLUMN_REASON, arena, &partition.lock.reason, err));
    TRY(catalog_load_text(rows, row, COLUMN_PROJECT, arena, &partition.project, err));
    TRY(catalog_load_text(rows, row, COLUMN_TABLE_NAME, arena, &partition.table_name, err));
    *out = partition;
    return OK;
}

static enum err_code read_partitions(const struct catalog_rows *rows, struct arena *arena,
                                     struct catalog_admin_partition **out, size_t *out_count, struct error *err)
{
    size_t count = catalog_rows_count(rows);
    struct catalog_admin_partition *partitions = arena_zalloc(arena, count + 1, sizeof *partitions);
    if (partitions == NULL) {
        return err_no_memory(err, count * sizeof *partitions);
    }
    for (size_t i = 0; i < count; i++) {
        TRY(read_partition(rows, i, arena, &partitions[i], err));
    }
    *out = partitions;
    *out_count = count;
    return OK;
}

enum err_code catalog_admin_partition_list(struct catalog *catalog, const struct catalog_admin_partition_page *page,
                                           struct arena *arena, struct catalog_admin_partition **out, size_t *out_count,
                                           struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog, SQL_LIST,
                      CATALOG_VALUES(catalog_uuid(&page->table_id), catalog_bound(page->min_timestamp_us),
                                     catalog_bound(page->max_timestamp_us), catalog_text(page->state),
                                     catalog_bound(page->after_min_us), catalog_uuid(&page->after_id),
                                     catalog_i64((int64_t)page->limit)),
                      &rows, err));
    return read_partitions(rows, arena, out, out_count, err);
}

static enum err_code load_one(struct catalog *catalog, const char *sql, const struct uuid *partition_id,
                              struct arena *arena, struct catalog_admin_partition *out, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    char id[UUID_TEXT_BYTES];
    TRY(catalog_query(catalog, sql, CATALOG_VALUES(catalog_uuid(partition_id)), &rows, err));
    if (catalog_rows_count(rows) == 0) {
        return err_set(err, ERR_NOT_FOUND, "no partition \"%s\"; hint: granary explain tells about deleted ones",
                       uuid_format(partition_id, id));
    }
    return read_partition(rows, 0, arena, out, err);
}

enum err_code catalog_admin_partition_load(struct catalog *catalog, const struct uuid *partition_id,
                                           struct arena *arena, struct catalog_admin_partition *out, struct error *err)
{
    return load_one(catalog, SQL_LOAD, partition_id, arena, out, err);
}

enum err_code catalog_admin_partition_lock(struct catalog_transaction *transaction, const struct uuid *partition_id,
                                           struct arena *arena, struct catalog_admin_partition *out, struct error *err)
{
    return load_one(catalog_in(transaction), SQL_LOCK, partition_id, arena, out, err);
}

enum err_code catalog_admin_partition_lock_inactive(struct catalog_transaction *transaction,
                                                    const struct uuid *table_id, int64_t min_us, int64_t max_us,
                                                    size_t limit, struct arena *arena,
                                                    struct catalog_admin_partition **out, size_t *out_count,
                                                    struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog_in(transaction), SQL_LOCK_INACTIVE,
                      CATALOG_VALUES(catalog_uuid(table_id), catalog_bound(min_us), catalog_bound(max_us),
                                     catalog_i64((int64_t)limit)),
                      &rows, err));
    return read_partitions(rows, arena, out, out_count, err);
}

/* --- what belongs to one ------------------------------------------------------------------------------------------ */

static bool take_bound(struct catalog_bytes value, uint8_t *bytes, uint8_t *length)
{
    if (value.data == NULL || value.length > COLUMN_STATS_VALUE_BYTES) {
        return false;
    }
    memcpy(bytes, value.data, value.length);
    *length = (uint8_t)value.length;
    return true;
}

enum err_code catalog_admin_partition_columns(struct catalog *catalog, const struct uuid *partition_id,
                                              struct arena *arena, struct column_stats **out, size_t *out_count,
                                              struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog, SQL_COLUMNS, CATALOG_VALUES(catalog_uuid(partition_id)), &rows, err));
    size_t count = catalog_rows_count(rows);
    struct column_stats *columns = arena_zalloc(arena, count + 1, sizeof *columns);
    if (columns == NULL) {
        return err_no_memory(err, count * sizeof *columns);
    }
    for (size_t i = 0; i < count; i++) {
        columns[i].column_id = (uint32_t)catalog_get_i32(rows, i, 0);
        columns[i].null_count = (uint64_t)catalog_get_i64(rows, i, 3);
        columns[i].has_min = take_bound(catalog_get_bytes(rows, i, 1), columns[i].min, &columns[i].min_length);
        columns[i].has_max = take_bound(catalog_get_bytes(rows, i, 2), columns[i].max, &columns[i].max_length);
    }
    *out = columns;
    *out_count = count;
    return OK;
}

enum err_code catalog_admin_partition_objects(struct catalog *catalog, const struct uuid *partition_id,
                                              struct arena *arena, struct catalog_admin_object **out, size_t *out_count,
                                              struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog, SQL_OBJECTS, CATALOG_VALUES(catalog_uuid(partition_id)), &rows, err));
    size_t count = catalog_rows_count(rows);
    struct catalog_admin_object *objects = arena_zalloc(arena, count + 1, sizeof *objects);
    if (objects == NULL) {
        return err_no_memory(err, count * sizeof *objects);
    }
    for (size_t i = 0; i < count; i++) {
        TRY(catalog_load_text(rows, i, 0, arena, &objects[i].path, err));
        TRY(catalog_load_text(rows, i, 1, arena, &objects[i].kind, err));
        objects[i].data_bytes = catalog_get_i64(rows, i, 2);
    }
    *out = objects;
    *out_count = count;
    return OK;
}

static enum err_code load_ids(struct catalog *catalog, const char *sql, const struct uuid *partition_id,
                              struct arena *arena, struct uuid **out, size_t *out_count, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog, sql, CATALOG_VALUES(catalog_uuid(partition_id)), &rows, err));
    return catalog_load_ids(rows, 0, arena, out, out_count, err);
}

enum err_code catalog_admin_partition_lineage(struct catalog *catalog, const struct uuid *partition_id,
                                              struct arena *arena, struct catalog_admin_lineage *out, struct error *err)
{
    struct catalog_admin_lineage lineage = {0};
    TRY(load_ids(catalog, SQL_PARENTS, partition_id, arena, &lineage.parents, &lineage.parent_count, err));
    TRY(load_ids(catalog, SQL_CHILDREN, partition_id, arena, &lineage.children, &lineage.child_count, err));
    *out = lineage;
    return OK;
}

enum err_code catalog_admin_partition_failure(struct catalog *catalog, const struct uuid *partition_id,
                                              struct arena *arena, struct catalog_admin_failure *out, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    struct catalog_admin_failure failure = {0};
    TRY(catalog_query(catalog, SQL_FAILURE, CATALOG_VALUES(catalog_uuid(partition_id)), &rows, err));
    if (catalog_rows_count(rows) > 0) {
        failure.known = true;
        failure.tries = catalog_get_i64(rows, 0, 0);
        failure.last_at_us = catalog_get_timestamp(rows, 0, 2);
        failure.set_aside = catalog_get_bool(rows, 0, 3);
        TRY(catalog_load_text(rows, 0, 1, arena, &failure.last_error, err));
    }
    *out = failure;
    return OK;
}
