#include "services/intake/writer/flush.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/publish/bucket.h"
#include "common/publish/publish.h"

/* Rows that go into the same partitions: of one schema, in one piece. */
struct sheaf {
    struct sheaf *next;
    const struct schema *schema;
    int64_t width_us;
    size_t row_count;    /* of what is to be bound */
    struct batch *batch; /* owned */
    struct publish_sorted sorted;
};

static void sheaves_free(struct sheaf *first)
{
    while (first != NULL) {
        struct sheaf *next = first->next;
        batch_free(first->batch);
        publish_sorted_done(&first->sorted);
        free(first);
        first = next;
    }
}
DEFINE_AUTO(struct sheaf, sheaves_free)

static enum err_code find_sheaf(struct sheaf **sheaves, const struct schema *schema, int64_t width_us,
                                struct sheaf **out, struct error *err)
{
    for (struct sheaf *sheaf = *sheaves; sheaf != NULL; sheaf = sheaf->next) {
        if (uuid_equal(&sheaf->schema->table_id, &schema->table_id) && sheaf->schema->version == schema->version) {
            *out = sheaf;
            return OK;
        }
    }
    struct sheaf *sheaf = calloc(1, sizeof *sheaf);
    if (sheaf == NULL) {
        return err_no_memory(err, sizeof *sheaf);
    }
    sheaf->schema = schema;
    sheaf->width_us = width_us;
    sheaf->next = *sheaves;
    *sheaves = sheaf;
    *out = sheaf;
    return OK;
}

/* Before binding, so that a sheaf has its size from the start. */
static enum err_code measure(struct sheaf **sheaves, const struct schema *schema, int64_t width_us,
                             const struct batch *rows, struct error *err)
{
    struct sheaf *sheaf = NULL;
    if (rows == NULL) {
        return OK;
    }
    TRY(find_sheaf(sheaves, schema, width_us, &sheaf, err));
    sheaf->row_count += rows->row_count;
    return OK;
}

static enum err_code bind(struct sheaf **sheaves, const struct schema *schema, int64_t width_us,
                          const struct batch *rows, struct error *err)
{
    struct sheaf *sheaf = NULL;
    if (rows == NULL) {
        return OK;
    }
    TRY(find_sheaf(sheaves, schema, width_us, &sheaf, err));
    if (sheaf->batch == NULL) {
        TRY(batch_new(schema, (uint32_t)sheaf->row_count, &sheaf->batch, err));
    }
    return batch_append_range(sheaf->batch, rows, 0, rows->row_count, err);
}

typedef enum err_code each_fn(struct sheaf **sheaves, const struct schema *schema, int64_t width_us,
                              const struct batch *rows, struct error *err);

static enum err_code for_each(const struct gather *gather, each_fn *each, struct sheaf **sheaves, struct error *err)
{
    for (size_t i = 0; i < gather->count; i++) {
        const struct gathered_batch *batch = &gather->batches[i];
        const int64_t width_us = batch->table->settings.partition_width_us;
        TRY(each(sheaves, batch->table->schema, width_us, batch->rows, err));
        TRY(each(sheaves, batch->table->rejects_schema, width_us, batch->rejects, err));
    }
    return OK;
}

static enum err_code add_pieces(struct publish *publish, struct sheaf *sheaf, struct arena *arena, struct error *err)
{
    const struct publish_sorted *sorted = &sheaf->sorted;
    TRY(publish_sort(sheaf->batch, sheaf->width_us, arena, &sheaf->sorted, err));
    for (size_t i = 0; i < sorted->count; i++) {
        const struct publish_piece piece = {
            .schema = sheaf->schema,
            .batch = sheaf->batch,
            .order = sorted->order,
            .first = sorted->ranges[i].first,
            .count = sorted->ranges[i].count,
        };
        TRY(publish_add(publish, &piece, err));
    }
    return OK;
}

static enum err_code list_batches(const struct gather *gather, struct arena *arena, struct catalog_batch **out,
                                  struct error *err)
{
    struct catalog_batch *batches = arena_zalloc(arena, gather->count + 1, sizeof *batches);
    if (batches == NULL) {
        return err_no_memory(err, gather->count * sizeof *batches);
    }
    for (size_t i = 0; i < gather->count; i++) {
        const struct gathered_batch *batch = &gather->batches[i];
        batches[i] = (struct catalog_batch){
            .batch_id = batch->batch_id,
            .table_id = batch->table->table_id,
            .keyed = batch->keyed,
            .row_count = batch->rows != NULL ? batch->rows->row_count : 0,
            .reject_count = batch->rejects != NULL ? batch->rejects->row_count : 0,
        };
        memcpy(batches[i].body_sha256, batch->body_sha256, sizeof batches[i].body_sha256);
    }
    *out = batches;
    return OK;
}

static void sum_up(const struct gather *gather, const struct publish *publish, struct flush_outcome *outcome)
{
    const struct publish_totals totals = publish_totals(publish);
    outcome->partitions = (int64_t)totals.partitions;
    outcome->bytes = (int64_t)totals.data_bytes;
    outcome->batches = (int64_t)gather->count;
    for (size_t i = 0; i < gather->count; i++) {
        outcome->rows += gather->batches[i].rows != NULL ? gather->batches[i].rows->row_count : 0;
        outcome->rejects += gather->batches[i].rejects != NULL ? gather->batches[i].rejects->row_count : 0;
    }
}

static enum err_code write_and_commit(const struct flush_options *options, struct gather *gather, struct arena *arena,
                                      struct uuid **out_known, size_t *out_known_count, struct flush_outcome *outcome,
                                      struct error *err)
{
    AUTO(sheaves_free_auto) struct sheaf *sheaves = NULL;
    AUTO(publish_close_auto) struct publish *publish = NULL; /* gives up what is not live; before the sheaves go */
    struct catalog_batch *batches = NULL;
    const struct publish_options publish_options = {
        .catalog = options->catalog,
        .storages = options->storages,
        .owner = options->owner,
        .reason = "flush",
        .origin = ORIGIN_INTAKE,
        .lease_us = options->lease_us,
        .threads = options->threads,
        .stopped = options->stopped,
        .context = options->context,
    };
    TRY(publish_open(&publish_options, &publish, err));
    TRY(for_each(gather, measure, &sheaves, err));
    TRY(for_each(gather, bind, &sheaves, err));
    for (struct sheaf *sheaf = sheaves; sheaf != NULL; sheaf = sheaf->next) {
        TRY(add_pieces(publish, sheaf, arena, err));
    }
    TRY(publish_write(publish, err));
    TRY(list_batches(gather, arena, &batches, err));
    TRY(publish_commit(publish, batches, gather->count, arena, out_known, out_known_count, err));
    sum_up(gather, publish, outcome);
    return OK;
}

enum err_code flush(const struct flush_options *options, struct gather *gather, struct flush_outcome *out,
                    struct error *err)
{
    struct flush_outcome outcome = {0};
    while (gather->count != 0) {
        AUTO(arena_free_auto) struct arena *arena = arena_new(64 << 10);
        struct uuid *known = NULL;
        size_t known_count = 0;
        if (arena == NULL) {
            return err_no_memory(err, 64 << 10);
        }
        enum err_code code = write_and_commit(options, gather, arena, &known, &known_count, &outcome, err);
        if (code == ERR_CONFLICT && known_count != 0) {
            gather_drop(gather, known, known_count);
            outcome.duplicates += (int64_t)known_count;
            continue;
        }
        TRY(code);
        break;
    }
    *out = outcome;
    return OK;
}
