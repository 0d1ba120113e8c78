#include "common/catalog/partitions.h"

#include <stdio.h>
#include <string.h>

#include "common/catalog/partitions_private.h"

static const char SQL_LOAD[] = "select " PARTITION_COLUMNS " from granary.partitions p where p.partition_id = $1";

/* By the partial index partitions_live. */
static const char SQL_LIVE[] =
    "select " PARTITION_COLUMNS " from granary.partitions p"
    " where p.active and p.table_id = $1 and p.min_timestamp <= $3 and p.max_timestamp >= $2 and p.min_timestamp >= $4"
    " and ($5::uuid is null or (p.min_timestamp, p.partition_id) > ($4, $5))"
    " order by p.min_timestamp, p.partition_id limit $6";

static const char SQL_COLUMNS[] =
    "select i.n::int, j.n::int, c.min_value, c.max_value, c.null_count"
    " from unnest($1::uuid[]) with ordinality i(id, n) join granary.partition_columns c on c.partition_id = i.id"
    " join unnest($2::int[]) with ordinality j(id, n) on j.id = c.column_id";

static const char SQL_COUNT[] =
    "select count(*), coalesce(sum(row_count), 0)::bigint, coalesce(sum(data_bytes), 0)::bigint"
    " from granary.partitions where active and ($1::uuid is null or table_id = $1)";

static enum err_code read_texts(const struct catalog_rows *rows, size_t row, struct arena *arena,
                                struct partition_record *partition, struct error *err)
{
    TRY(catalog_load_text(rows, row, 6, arena, &partition->path, err));
    TRY(catalog_load_text(rows, row, 11, arena, &partition->etag, err));
    TRY(catalog_load_text(rows, row, 22, arena, &partition->deactivated_by, err));
    TRY(lock_kind_parse(catalog_get_text(rows, row, 14), &partition->lock_kind, err));
    TRY(partition_origin_parse(catalog_get_text(rows, row, 15), &partition->origin, err));
    return deactivation_reason_parse(catalog_get_text(rows, row, 21), &partition->reason, err);
}

enum err_code catalog_partition_read(const struct catalog_rows *rows, size_t row, struct arena *arena,
                                     struct partition_record *out, struct error *err)
{
    struct catalog_bytes sha256 = catalog_get_bytes(rows, row, 10);
    struct partition_record partition = {
        .partition_id = catalog_get_uuid(rows, row, 0),
        .table_id = catalog_get_uuid(rows, row, 1),
        .schema_version = catalog_get_i32(rows, row, 2),
        .min_timestamp_us = catalog_get_timestamp(rows, row, 3),
        .max_timestamp_us = catalog_get_timestamp(rows, row, 4),
        .storage_id = catalog_get_i32(rows, row, 5),
        .row_count = catalog_get_i64(rows, row, 7),
        .data_bytes = catalog_get_i64(rows, row, 8),
        .memory_bytes = catalog_get_i64(rows, row, 9),
        .published = sha256.length == sizeof partition.sha256,
        .active = catalog_get_bool(rows, row, 12),
        .lock_id = catalog_get_uuid(rows, row, 13),
        .attempt_id = catalog_get_uuid(rows, row, 16),
        .merge_level = catalog_get_i32(rows, row, 17),
        .created_at_us = catalog_get_timestamp(rows, row, 18),
        .modified_at_us = catalog_get_timestamp(rows, row, 19),
        .deactivated_at_us = catalog_get_timestamp(rows, row, 20),
        .version = catalog_get_i64(rows, row, 23),
    };

    if (partition.published) {
        memcpy(partition.sha256, sha256.data, sizeof partition.sha256);
    }
    TRY(read_texts(rows, row, arena, &partition, err));
    *out = partition;
    return OK;
}

enum err_code catalog_partitions_read_all(const struct catalog_rows *rows, struct arena *arena,
                                          struct partition_record **out, size_t *out_count, struct error *err)
{
    size_t count = catalog_rows_count(rows);
    struct partition_record *partitions = arena_zalloc(arena, count + 1, sizeof *partitions);

    if (partitions == NULL) {
        return err_no_memory(err, count * sizeof *partitions);
    }
    for (size_t i = 0; i < count; i++) {
        TRY(catalog_partition_read(rows, i, arena, &partitions[i], err));
    }
    *out = partitions;
    *out_count = count;
    return OK;
}

enum err_code catalog_partition_load(struct catalog *catalog, const struct uuid *partition_id, struct arena *arena,
                                     struct partition_record *out, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    char id[UUID_TEXT_BYTES];
    char what[UUID_TEXT_BYTES + 16];

    (void)snprintf(what, sizeof what, "partition \"%s\"", uuid_format(partition_id, id));
    TRY(catalog_query_one(catalog, SQL_LOAD, CATALOG_VALUES(catalog_uuid(partition_id)), what, &rows, err));
    return catalog_partition_read(rows, 0, arena, out, err);
}

/* --- live -------------------------------------------------------------------------------------------------------- */

/* A bound that is absent though there are values: no bound covers them. */
static void read_bound(struct catalog_bytes value, bool has_values, uint8_t *bytes, uint8_t *length, bool *has,
                       bool *open)
{
    *has = value.data != NULL && value.length <= COLUMN_STATS_VALUE_BYTES;
    *open = !*has && has_values;
    *length = *has ? (uint8_t)value.length : 0;
    if (*has) {
        memcpy(bytes, value.data, value.length);
    }
}

static void read_stats(const struct catalog_rows *rows, size_t row, uint32_t column_id, int64_t row_count,
                       struct column_stats *out)
{
    out->column_id = column_id;
    out->null_count = (uint64_t)catalog_get_i64(rows, row, 4);
    bool has_values = out->null_count < (uint64_t)row_count;
    read_bound(catalog_get_bytes(rows, row, 2), has_values, out->min, &out->min_length, &out->has_min, &out->open_min);
    read_bound(catalog_get_bytes(rows, row, 3), has_values, out->max, &out->max_length, &out->has_max, &out->open_max);
}

static enum err_code load_columns(struct catalog *catalog, const struct catalog_live_page *page, struct arena *arena,
                                  struct catalog_live *live, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    size_t width = page->column_count;

    TRY(catalog_query(catalog, SQL_COLUMNS,
                      CATALOG_VALUES(catalog_array(CATALOG_UUID, &live->partitions[0].partition_id,
                                                   sizeof live->partitions[0], live->count),
                                     catalog_array(CATALOG_INT32, page->column_ids, sizeof page->column_ids[0], width)),
                      &rows, err));
    size_t found = catalog_rows_count(rows);
    struct column_stats *stats = arena_zalloc(arena, found + 1, sizeof *stats);
    live->columns = arena_zalloc(arena, live->count * width + 1, sizeof(const struct column_stats *));
    if (stats == NULL || live->columns == NULL) {
        return err_no_memory(err, found * sizeof *stats);
    }
    for (size_t i = 0; i < found; i++) {
        size_t partition = (size_t)catalog_get_i32(rows, i, 0) - 1;
        size_t column = (size_t)catalog_get_i32(rows, i, 1) - 1;
        read_stats(rows, i, page->column_ids[column], live->partitions[partition].row_count, &stats[i]);
        live->columns[partition * width + column] = &stats[i];
    }
    return OK;
}

enum err_code catalog_partitions_live(struct catalog *catalog, const struct catalog_live_page *page,
                                      struct arena *arena, struct catalog_live *out, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    struct catalog_live live = {0};
    const struct partition_record *after = page->after;

    TRY(catalog_query(catalog, SQL_LIVE,
                      CATALOG_VALUES(catalog_uuid(&page->table_id), catalog_bound(page->min_timestamp_us),
                                     catalog_bound(page->max_timestamp_us),
                                     catalog_bound(after != NULL ? after->min_timestamp_us : INT64_MIN),
                                     catalog_uuid(after != NULL ? &after->partition_id : NULL),
                                     catalog_i64((int64_t)page->limit)),
                      &rows, err));
    TRY(catalog_partitions_read_all(rows, arena, &live.partitions, &live.count, err));
    if (page->column_count > 0) {
        TRY(load_columns(catalog, page, arena, &live, err));
    }
    *out = live;
    return OK;
}

enum err_code catalog_partitions_count(struct catalog *catalog, const struct uuid *table_id,
                                       struct catalog_live_count *out, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;

    TRY(catalog_query_one(catalog, SQL_COUNT, CATALOG_VALUES(catalog_uuid(table_id)), "count", &rows, err));
    *out = (struct catalog_live_count){catalog_get_i64(rows, 0, 0), catalog_get_i64(rows, 0, 1),
                                       catalog_get_i64(rows, 0, 2)};
    return OK;
}
