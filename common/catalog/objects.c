#include "common/catalog/objects.h"

#include <string.h>

#include "common/catalog/internal.h"

/* Reads only. Each half is a walk along the index of its paths; a further object is as its partition is. $4: the first
 * text behind the prefix, null for none. */
#define SQL_MUST_EXIST(p) p ".sha256 is not null and " p ".lock_kind is distinct from 'reap'"
#define SQL_PAGE_HALF(alias, table, join)                                                                           \
    "(select " alias ".path, p.partition_id, p.table_id, " alias                                                    \
    ".data_bytes, " SQL_MUST_EXIST("p") " as must_exist, p.active, p.created_at, p.deactivated_at from " table join \
                                        " where " alias ".path > $2 and " alias                                     \
                                        ".path >= $3 and ($4::text is null or " alias ".path < $4)"                 \
                                        " and p.storage_id = $1 order by " alias ".path limit $5)"
static const char SQL_PAGE[] =
    "select * from (" SQL_PAGE_HALF("p", "granary.partitions p", "") " union all " SQL_PAGE_HALF(
        "o", "granary.partition_objects o",
        " join granary.partitions p using (partition_id)") ") named order by path limit $5";

/* Reads only. Attempts have no index over their outputs: the list of them is hashed once for all questions. */
static const char SQL_LOOK_UP[] =
    "select p.partition_id is not null or o.path is not null"
    "   or exists (select from granary.partitions i where i.partition_id = q.partition_id),"
    " coalesce(p.must_exist, o.must_exist, false), t.table_id is not null,"
    " exists (select from granary.holds h where h.table_id = q.table_id and h.released_at is null"
    "         and (h.partition_id is null or h.partition_id = q.partition_id)),"
    " exists (select from granary.lineage l where l.child_id = q.partition_id)"
    "   or exists (select from granary.lineage l where l.parent_id = q.partition_id)"
    "   or coalesce(q.partition_id in (select a.output_id from granary.attempts a), false),"
    " (select max(r.deleted_at) from granary.receipts r where r.partition_id = q.partition_id)"
    " from unnest($1::text[], $2::uuid[], $3::uuid[]) with ordinality q (path, partition_id, table_id, number)"
    " left join lateral (select p.partition_id, " SQL_MUST_EXIST(
        "p") " as must_exist from granary.partitions p"
             "   where p.path = q.path) p on true"
             " left join lateral (select o.path, " SQL_MUST_EXIST(
                 "p") " as must_exist from granary.partition_objects o"
                      "   join granary.partitions p using (partition_id) where o.path = q.path) o on true"
                      " left join granary.tables t on t.table_id = q.table_id order by q.number";

/* Reads only. The first 48 bits of a version 7 id are the milliseconds at which it was made. */
static const char SQL_GONE[] =
    "select r.receipt_id, r.partition_id, r.table_id, r.path, r.row_count, r.data_bytes, r.deactivation_reason::text,"
    " r.deactivated_at, r.deleted_at from granary.receipts r"
    " where r.receipt_id > $3 and r.deactivated_at > $1 and r.deactivation_reason <> 'abandoned'"
    "   and ($2::uuid is null or r.table_id = $2)"
    "   and (('x' || lpad(left(replace(r.partition_id::text, '-', ''), 12), 16, '0'))::bit(64)::bigint)"
    "       <= extract(epoch from $1) * 1000"
    " order by r.receipt_id limit $4";
static const char SQL_RECEIPTS_SINCE[] = "select min(deleted_at) from granary.receipts";

/* The first text, in byte order, that is behind everything with this prefix: its last byte, one higher. Prefixes of ours
 * are ASCII. */
static const char *text_behind(const char *prefix, struct arena *arena)
{
    size_t length = strlen(prefix);
    char *behind = arena_strdup(arena, prefix);
    if (behind != NULL && length > 0) {
        behind[length - 1]++;
    }
    return behind;
}

static enum err_code read_page(const struct catalog_rows *rows, struct arena *arena, struct catalog_object *objects,
                               struct error *err)
{
    for (size_t i = 0; i < catalog_rows_count(rows); i++) {
        objects[i] = (struct catalog_object){
            .partition_id = catalog_get_uuid(rows, i, 1),
            .table_id = catalog_get_uuid(rows, i, 2),
            .data_bytes = catalog_get_i64(rows, i, 3),
            .must_exist = catalog_get_bool(rows, i, 4),
            .active = catalog_get_bool(rows, i, 5),
            .created_at_us = catalog_get_timestamp(rows, i, 6),
            .deactivated_at_us = catalog_get_timestamp_or(rows, i, 7, CLOCK_NEVER),
        };
        TRY(catalog_load_text(rows, i, 0, arena, &objects[i].path, err));
    }
    return OK;
}

enum err_code catalog_objects_page(struct catalog *catalog, const struct catalog_object_page *page, struct arena *arena,
                                   struct catalog_object **out, size_t *out_count, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    const char *behind = text_behind(page->prefix, arena);
    if (behind == NULL) {
        return err_no_memory(err, strlen(page->prefix));
    }
    TRY(catalog_query(catalog, SQL_PAGE,
                      CATALOG_VALUES(catalog_i32(page->storage_id), catalog_text(page->after),
                                     catalog_text(page->prefix), catalog_text(*behind == '\0' ? NULL : behind),
                                     catalog_i64((int64_t)page->limit)),
                      &rows, err));
    struct catalog_object *objects = arena_zalloc(arena, catalog_rows_count(rows) + 1, sizeof *objects);
    if (objects == NULL) {
        return err_no_memory(err, catalog_rows_count(rows) * sizeof *objects);
    }
    TRY(read_page(rows, arena, objects, err));
    *out = objects;
    *out_count = catalog_rows_count(rows);
    return OK;
}

enum err_code catalog_objects_look_up(struct catalog *catalog, const struct catalog_object_question *questions,
                                      size_t count, struct catalog_object_answer *answers, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    if (count == 0) {
        return OK;
    }
    TRY(catalog_query(catalog, SQL_LOOK_UP,
                      CATALOG_VALUES(catalog_array(CATALOG_TEXT, &questions[0].path, sizeof *questions, count),
                                     catalog_array(CATALOG_UUID, &questions[0].partition_id, sizeof *questions, count),
                                     catalog_array(CATALOG_UUID, &questions[0].table_id, sizeof *questions, count)),
                      &rows, err));
    if (catalog_rows_count(rows) != count) {
        return err_set(err, ERR_INVALID, "expected the catalog to answer for %zu keys but it did for %zu", count,
                       catalog_rows_count(rows));
    }
    for (size_t i = 0; i < count; i++) {
        answers[i] = (struct catalog_object_answer){
            .named = catalog_get_bool(rows, i, 0),
            .must_exist = catalog_get_bool(rows, i, 1),
            .table_known = catalog_get_bool(rows, i, 2),
            .held = catalog_get_bool(rows, i, 3),
            .traced = catalog_get_bool(rows, i, 4),
            .receipt_at_us = catalog_get_timestamp_or(rows, i, 5, CLOCK_NEVER),
        };
    }
    return OK;
}

enum err_code catalog_objects_gone(struct catalog *catalog, int64_t at_us, const struct uuid *table_id, int64_t after,
                                   size_t limit, struct arena *arena, struct catalog_gone **out, size_t *out_count,
                                   struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog, SQL_GONE,
                      CATALOG_VALUES(catalog_timestamp(at_us), catalog_uuid(table_id), catalog_i64(after),
                                     catalog_i64((int64_t)limit)),
                      &rows, err));
    size_t count = catalog_rows_count(rows);
    struct catalog_gone *gone = arena_zalloc(arena, count + 1, sizeof *gone);
    if (gone == NULL) {
        return err_no_memory(err, count * sizeof *gone);
    }
    for (size_t i = 0; i < count; i++) {
        gone[i] = (struct catalog_gone){
            .receipt_id = catalog_get_i64(rows, i, 0),
            .partition_id = catalog_get_uuid(rows, i, 1),
            .table_id = catalog_get_uuid(rows, i, 2),
            .row_count = catalog_get_i64(rows, i, 4),
            .data_bytes = catalog_get_i64(rows, i, 5),
            .deactivated_at_us = catalog_get_timestamp(rows, i, 7),
            .deleted_at_us = catalog_get_timestamp(rows, i, 8),
        };
        TRY(catalog_load_text(rows, i, 3, arena, &gone[i].path, err));
        TRY(catalog_load_text(rows, i, 6, arena, &gone[i].reason, err));
    }
    *out = gone;
    *out_count = count;
    return OK;
}

enum err_code catalog_objects_receipts_since(struct catalog *catalog, int64_t *out_us, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query_one(catalog, SQL_RECEIPTS_SINCE, CATALOG_NO_VALUES, "oldest receipt", &rows, err));
    *out_us = catalog_get_timestamp_or(rows, 0, 0, CLOCK_NEVER);
    return OK;
}
