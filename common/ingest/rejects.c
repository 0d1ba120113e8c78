/* The companion table of a table: what was sent and is no row of it. */
#include <string.h>

#include "common/ingest/ingest.h"

enum reject_column { RECEIVED_AT, BATCH_ID, ROW, COLUMN, REASON, TEXT, REJECT_COLUMN_COUNT };

enum err_code ingest_rejects_schema(const struct uuid *rejects_table_id, struct schema **out, struct error *err)
{
    static const struct schema_column columns[REJECT_COLUMN_COUNT] = {
        [RECEIVED_AT] = {.id = 1, .name = "received_at", .type = COLUMN_TIMESTAMP},
        [BATCH_ID] = {.id = 2, .name = "batch_id", .type = COLUMN_UUID},
        [ROW] = {.id = 3, .name = "row", .type = COLUMN_INT64},
        [COLUMN] = {.id = 4, .name = "column", .type = COLUMN_STRING, .nullable = true},
        [REASON] = {.id = 5, .name = "reason", .type = COLUMN_STRING},
        [TEXT] = {.id = 6, .name = "text", .type = COLUMN_BYTES},
    };
    const struct schema schema = {
        .table_id = *rejects_table_id,
        .version = 1,
        .column_count = REJECT_COLUMN_COUNT,
        .columns = columns,
        .timestamp_column = RECEIVED_AT,
        .sort_key_count = 1,
        .sort_keys = {{.column = RECEIVED_AT}},
    };
    return schema_new(&schema, out, err);
}

static enum err_code append_reject(struct batch *batch, const struct ingest_reject *reject, int64_t received_at_us,
                                   const struct uuid *batch_id, struct error *err)
{
    TRY(batch_row_begin(batch, err));
    batch_set_i64(batch, RECEIVED_AT, received_at_us);
    batch_set_uuid(batch, BATCH_ID, batch_id);
    batch_set_i64(batch, ROW, (int64_t)reject->row);
    if (reject->column != NULL) {
        TRY(batch_set_variable(batch, COLUMN, reject->column, strlen(reject->column), err));
    }
    TRY(batch_set_variable(batch, REASON, reject->reason, strlen(reject->reason), err));
    TRY(batch_set_variable(batch, TEXT, reject->text, reject->text_bytes, err));
    return batch_row_end(batch, err);
}

enum err_code ingest_rejects_batch(const struct ingest_reject *rejects, size_t count,
                                   const struct schema *rejects_schema, int64_t received_at_us,
                                   const struct uuid *batch_id, struct batch **out, struct error *err)
{
    AUTO(batch_free_auto) struct batch *batch = NULL;
    TRY(batch_new(rejects_schema, count < BATCH_MAX_ROWS ? (uint32_t)count : BATCH_MAX_ROWS, &batch, err));
    for (size_t i = 0; i < count; i++) {
        TRY(append_reject(batch, &rejects[i], received_at_us, batch_id, err));
    }
    *out = TAKE(batch);
    return OK;
}
