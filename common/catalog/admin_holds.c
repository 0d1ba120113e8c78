#include "common/catalog/admin_holds.h"

#include <stdio.h>

#include "common/catalog/audit.h"
#include "common/catalog/internal.h"

#define SELECT_HOLDS                                                                                     \
    "select h.hold_id, h.table_id, t.project, t.name, h.partition_id, h.min_timestamp, h.max_timestamp," \
    " h.reason, h.placed_at, h.placed_by, h.released_at, h.released_by"                                  \
    " from granary.holds h join granary.tables t on t.table_id = h.table_id"

/* Under the exclusive fence of the table: whoever decays or claims has either finished or reads after this commit. */
static const char SQL_PLACE[] =
    "insert into granary.holds (hold_id, table_id, partition_id, min_timestamp, max_timestamp, reason, placed_by)"
    " values ($1, $2, $3, $4, $5, $6, $7)";
static const char SQL_CLAIMED[] =
    "select count(*) from granary.partitions p where p.table_id = $1 and not p.active and p.lock_kind = 'reap'"
    " and ($2::uuid is null or p.partition_id = $2)"
    " and ($3::timestamptz is null or (p.min_timestamp <= $4 and p.max_timestamp >= $3))";
/* One row, by key. */
static const char SQL_RELEASE[] = "update granary.holds set released_at = clock_timestamp(), released_by = $2"
                                  " where hold_id = $1 and released_at is null";
static const char SQL_LOAD[] = SELECT_HOLDS " where h.hold_id = $1";
static const char SQL_LIST[] =
    SELECT_HOLDS " where ($1::uuid is null or h.table_id = $1) and ($2 or h.released_at is null)"
                 " and ($4::uuid is null or (h.placed_at, h.hold_id) < ($3, $4))"
                 " order by h.placed_at desc, h.hold_id desc limit $5";
static const char SQL_OVER[] =
    SELECT_HOLDS " where h.table_id = $1 and h.released_at is null"
                 " and (h.partition_id is null or h.partition_id = $2)"
                 " and (h.min_timestamp is null or (h.min_timestamp <= $4 and h.max_timestamp >= $3))"
                 " order by h.placed_at, h.hold_id limit 100";
static const char SQL_COUNT[] = "select count(*) from granary.holds h where h.table_id = $1 and h.released_at is null";

static enum err_code read_hold(const struct catalog_rows *rows, size_t row, struct arena *arena,
                               struct catalog_hold *out, struct error *err)
{
    struct catalog_hold hold = {
        .hold_id = catalog_get_uuid(rows, row, 0),
        .table_id = catalog_get_uuid(rows, row, 1),
        .partition_id = catalog_get_uuid(rows, row, 4),
        .has_range = !catalog_is_null(rows, row, 5),
        .min_timestamp_us = catalog_get_timestamp(rows, row, 5),
        .max_timestamp_us = catalog_get_timestamp(rows, row, 6),
        .placed_at_us = catalog_get_timestamp(rows, row, 8),
        .released_at_us = catalog_get_timestamp(rows, row, 10),
    };
    TRY(catalog_load_text(rows, row, 2, arena, &hold.project, err));
    TRY(catalog_load_text(rows, row, 3, arena, &hold.table_name, err));
    TRY(catalog_load_text(rows, row, 7, arena, &hold.reason, err));
    TRY(catalog_load_text(rows, row, 9, arena, &hold.placed_by, err));
    TRY(catalog_load_text(rows, row, 11, arena, &hold.released_by, err));
    *out = hold;
    return OK;
}

static enum err_code query_holds(struct catalog *catalog, const char *sql, const struct catalog_value *values,
                                 size_t value_count, struct arena *arena, struct catalog_hold **out, size_t *out_count,
                                 struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog, sql, values, value_count, &rows, err));
    size_t count = catalog_rows_count(rows);
    struct catalog_hold *holds = arena_zalloc(arena, count + 1, sizeof *holds);
    if (holds == NULL) {
        return err_no_memory(err, count * sizeof *holds);
    }
    for (size_t i = 0; i < count; i++) {
        TRY(read_hold(rows, i, arena, &holds[i], err));
    }
    *out = holds;
    *out_count = count;
    return OK;
}

static enum err_code record(struct catalog_transaction *transaction, const char *action,
                            const struct catalog_hold_new *hold, struct error *err)
{
    char id[UUID_TEXT_BYTES];
    char details[UUID_TEXT_BYTES + 24];
    (void)snprintf(details, sizeof details, "{\"hold_id\":\"%s\"}", uuid_format(&hold->hold_id, id));
    return catalog_audit_record(transaction,
                                &(struct catalog_audit){.actor = hold->actor,
                                                        .action = action,
                                                        .table_id = &hold->table_id,
                                                        .partition_id = &hold->partition_id,
                                                        .details_json = details},
                                err);
}

enum err_code catalog_admin_hold_place(struct catalog_transaction *transaction, const struct catalog_hold_new *hold,
                                       int64_t *out_claimed, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    const struct catalog_value none = catalog_null(CATALOG_TIMESTAMP);
    const struct catalog_value min = hold->has_range ? catalog_timestamp(hold->min_timestamp_us) : none;
    const struct catalog_value max = hold->has_range ? catalog_timestamp(hold->max_timestamp_us) : none;
    TRY(catalog_execute_expect(transaction, SQL_PLACE,
                               CATALOG_VALUES(catalog_uuid(&hold->hold_id), catalog_uuid(&hold->table_id),
                                              catalog_uuid(&hold->partition_id), min, max, catalog_text(hold->reason),
                                              catalog_text(hold->actor)),
                               1, err));
    TRY(record(transaction, "hold.place", hold, err));
    if (out_claimed != NULL) {
        TRY(catalog_query(catalog_in(transaction), SQL_CLAIMED,
                          CATALOG_VALUES(catalog_uuid(&hold->table_id), catalog_uuid(&hold->partition_id), min, max),
                          &rows, err));
        *out_claimed = catalog_get_i64(rows, 0, 0);
    }
    return OK;
}

enum err_code catalog_admin_hold_load(struct catalog *catalog, const struct uuid *hold_id, struct arena *arena,
                                      struct catalog_hold *out, struct error *err)
{
    struct catalog_hold *holds;
    size_t count;
    char id[UUID_TEXT_BYTES];
    TRY(query_holds(catalog, SQL_LOAD, CATALOG_VALUES(catalog_uuid(hold_id)), arena, &holds, &count, err));
    if (count == 0) {
        return err_set(err, ERR_NOT_FOUND, "no hold \"%s\"", uuid_format(hold_id, id));
    }
    *out = holds[0];
    return OK;
}

enum err_code catalog_admin_hold_release(struct catalog *catalog, const struct uuid *hold_id, const char *actor,
                                         struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct catalog_hold hold;
    uint64_t released = 0;
    if (arena == NULL) {
        return err_no_memory(err, 4096);
    }
    TRY(catalog_begin(catalog, &transaction, err));
    TRY(catalog_execute(catalog, SQL_RELEASE, CATALOG_VALUES(catalog_uuid(hold_id), catalog_text(actor)), &released,
                        err));
    TRY(catalog_admin_hold_load(catalog, hold_id, arena, &hold, err));
    if (released == 0) {
        return err_set(err, ERR_CONFLICT, "the hold was released already by \"%s\"", hold.released_by);
    }
    const struct catalog_hold_new named = {
        .hold_id = hold.hold_id, .table_id = hold.table_id, .partition_id = hold.partition_id, .actor = actor};
    TRY(record(transaction, "hold.release", &named, err));
    return catalog_commit(TAKE(transaction), err);
}

enum err_code catalog_admin_hold_list(struct catalog *catalog, const struct catalog_hold_page *page,
                                      struct arena *arena, struct catalog_hold **out, size_t *out_count,
                                      struct error *err)
{
    return query_holds(catalog, SQL_LIST,
                       CATALOG_VALUES(catalog_uuid(page->table_id), catalog_bool(page->with_released),
                                      catalog_bound(page->after_placed_us), catalog_uuid(&page->after_id),
                                      catalog_i64((int64_t)page->limit)),
                       arena, out, out_count, err);
}

enum err_code catalog_admin_hold_over(struct catalog *catalog, const struct partition_record *partition,
                                      struct arena *arena, struct catalog_hold **out, size_t *out_count,
                                      struct error *err)
{
    return query_holds(catalog, SQL_OVER,
                       CATALOG_VALUES(catalog_uuid(&partition->table_id), catalog_uuid(&partition->partition_id),
                                      catalog_timestamp(partition->min_timestamp_us),
                                      catalog_timestamp(partition->max_timestamp_us)),
                       arena, out, out_count, err);
}

enum err_code catalog_admin_hold_count(struct catalog *catalog, const struct uuid *table_id, int64_t *out_count,
                                       struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog, SQL_COUNT, CATALOG_VALUES(catalog_uuid(table_id)), &rows, err));
    *out_count = catalog_get_i64(rows, 0, 0);
    return OK;
}
