/* A batch is filed under the day of its commit, and near midnight under both (granary.intake_days), so that two commits
 * of one id that overlap in time always meet in one unique index; that commits further apart do not repeat an id is seen
 * by looking first. No ON CONFLICT: a duplicate must abort the commit, as its rows are in the files already. */
#include "common/catalog/intake.h"

#include <string.h>

#include "common/catalog/internal.h"

/* Reads all days that are kept: an index look-up per day. */
static const char SQL_FIND[] =
    "select w.i::int, min(b.committed_at), bool_or(b.keyed), min(b.row_count), min(b.reject_count),"
    " (array_agg(b.body_sha256))[1]"
    " from unnest($1::uuid[]) with ordinality w(id, i) join granary.intake_batches b on b.batch_id = w.id group by w.i";

/* Sorted, so that two commits that share ids wait for each other in one order and never in a ring. */
static const char SQL_INSERT[] =
    "insert into granary.intake_batches (day, batch_id, table_id, keyed, body_sha256, row_count, reject_count)"
    " select d.day, b.id, b.table_id, b.keyed, case when b.keyed then b.sha256 end, b.row_count, b.reject_count"
    " from unnest($1::uuid[], $2::uuid[], $3::bool[], $4::bytea[], $5::bigint[], $6::bigint[])"
    " b(id, table_id, keyed, sha256, row_count, reject_count) cross join granary.intake_days() d(day)"
    " order by b.id, d.day";

static enum err_code find_by_stride(struct catalog *catalog, const struct uuid *first, size_t stride, size_t count,
                                    struct catalog_rows **out, struct error *err)
{
    return catalog_query(catalog, SQL_FIND, CATALOG_VALUES(catalog_array(CATALOG_UUID, first, stride, count)), out,
                         err);
}

enum err_code catalog_intake_find(struct catalog *catalog, const struct uuid *ids, size_t count,
                                  struct catalog_batch_state *out, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;

    TRY(find_by_stride(catalog, ids, sizeof *ids, count, &rows, err));
    memset(out, 0, count * sizeof *out);
    for (size_t i = 0; i < catalog_rows_count(rows); i++) {
        struct catalog_batch_state *state = &out[catalog_get_i32(rows, i, 0) - 1];
        struct catalog_bytes sha256 = catalog_get_bytes(rows, i, 5);
        state->known = true;
        state->committed_at_us = catalog_get_timestamp(rows, i, 1);
        state->keyed = catalog_get_bool(rows, i, 2);
        state->row_count = catalog_get_i64(rows, i, 3);
        state->reject_count = catalog_get_i64(rows, i, 4);
        if (sha256.length == sizeof state->body_sha256) {
            memcpy(state->body_sha256, sha256.data, sizeof state->body_sha256);
        }
    }
    return OK;
}

enum err_code catalog_intake_find_known(struct catalog *catalog, const struct catalog_batch *batches, size_t count,
                                        struct arena *arena, struct uuid **out, size_t *out_count, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;

    TRY(find_by_stride(catalog, &batches[0].batch_id, sizeof batches[0], count, &rows, err));
    size_t known_count = catalog_rows_count(rows);
    struct uuid *known = arena_zalloc(arena, known_count + 1, sizeof *known);
    if (known == NULL) {
        return err_no_memory(err, known_count * sizeof *known);
    }
    for (size_t i = 0; i < known_count; i++) {
        known[i] = batches[catalog_get_i32(rows, i, 0) - 1].batch_id;
    }
    *out = known;
    *out_count = known_count;
    return OK;
}

enum err_code catalog_intake_insert(struct catalog_transaction *transaction, const struct catalog_batch *batches,
                                    size_t count, struct error *err)
{
    enum { STRIDE = sizeof batches[0] };

    return catalog_execute(
        catalog_in(transaction), SQL_INSERT,
        CATALOG_VALUES(catalog_array(CATALOG_UUID, &batches[0].batch_id, STRIDE, count),
                       catalog_array(CATALOG_UUID, &batches[0].table_id, STRIDE, count),
                       catalog_array(CATALOG_BOOL, &batches[0].keyed, STRIDE, count),
                       catalog_fixed_bytes_array(batches[0].body_sha256, sizeof batches[0].body_sha256, STRIDE, count),
                       catalog_array(CATALOG_INT64, &batches[0].row_count, STRIDE, count),
                       catalog_array(CATALOG_INT64, &batches[0].reject_count, STRIDE, count)),
        NULL, err);
}
