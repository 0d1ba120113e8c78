/* Which rows are written when memory is full decides how many partitions a load leaves. Rows in order of time fill one bucket
 * after the other: the full ones are large and go, the one being filled stays. Rows of many days at once fill all evenly:
 * whatever is written, each bucket gets a partition each time, and merging brings them together later. So the largest buckets
 * go, until half of the rows are gone: no row is sorted more than twice on average, and the small ones get time to grow. */
#include <string.h>

#include "common/base/fault.h"
#include "common/publish/bucket.h"
#include "services/intake/load/internal.h"
#include "services/intake/plan.h"

enum { FIRST_ROWS = 1024, FIRST_BUCKETS = 64 };

/* --- a dry run counts ----------------------------------------------------------------------------------------------- */

static int64_t width_of(const struct load *load)
{
    return load->options.table->settings.partition_width_us;
}

/* The place of the first bucket that does not begin before start_us. */
static size_t find_bucket(const struct load *load, int64_t start_us)
{
    size_t low = 0;
    size_t high = load->bucket_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (load->buckets[middle].start_us < start_us) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static enum err_code too_many_partitions(struct error *err)
{
    return err_set(err, ERR_INVALID,
                   "expected at most %d partitions of one load but found more; hint: a wider partition.width, or fewer "
                   "days at once",
                   LOAD_MAX_PARTITIONS);
}

static enum err_code need_bucket(struct load *load, int64_t start_us, struct load_bucket **out, struct error *err)
{
    size_t at = find_bucket(load, start_us);
    if (at < load->bucket_count && load->buckets[at].start_us == start_us) {
        *out = &load->buckets[at];
        return OK;
    }
    if (load->bucket_count == LOAD_MAX_PARTITIONS) {
        return too_many_partitions(err);
    }
    if (load->bucket_count == load->bucket_capacity) {
        size_t capacity = load->bucket_capacity == 0 ? FIRST_BUCKETS : 2 * load->bucket_capacity;
        struct load_bucket *grown = realloc(load->buckets, capacity * sizeof *grown);
        if (grown == NULL) {
            return err_no_memory(err, capacity * sizeof *grown);
        }
        load->buckets = grown;
        load->bucket_capacity = capacity;
    }
    memmove(&load->buckets[at + 1], &load->buckets[at], (load->bucket_count - at) * sizeof *load->buckets);
    load->buckets[at] = (struct load_bucket){.start_us = start_us};
    load->bucket_count++;
    *out = &load->buckets[at];
    return OK;
}

static enum err_code count_rows(struct load *load, const struct batch *rows, struct error *err)
{
    const int64_t *times = rows->columns[rows->schema->timestamp_column].values.i64;
    const int64_t width_us = width_of(load);
    struct load_bucket *bucket = NULL;
    for (uint32_t i = 0; i < rows->row_count; i++) {
        int64_t start_us = publish_bucket(times[i], width_us) * width_us;
        if (bucket == NULL || bucket->start_us != start_us) {
            TRY(need_bucket(load, start_us, &bucket, err));
        }
        bucket->rows++;
    }
    return OK;
}

/* --- writing -------------------------------------------------------------------------------------------------------- */

enum err_code load_need_publish(struct load *load, struct error *err)
{
    char id[UUID_TEXT_BYTES];
    char reason[UUID_TEXT_BYTES + 8];
    if (load->publish != NULL) {
        return OK;
    }
    (void)snprintf(reason, sizeof reason, "load %s", uuid_format(&load->options.load_id, id));
    const struct publish_options options = {
        .catalog = load->catalog,
        .storages = load->options.storages,
        .owner = load->options.owner,
        .reason = reason,
        .origin = ORIGIN_LOAD,
        .lease_us = load->options.lease_us,
        .threads = load->options.threads,
        .stopped = load->options.stopped,
        .context = load->options.context,
    };
    return publish_open(&options, &load->publish, err);
}

static enum err_code write_ranges(struct load *load, const struct batch *batch, const struct publish_sorted *sorted,
                                  const bool *chosen, struct error *err)
{
    TRY(load_need_publish(load, err));
    for (size_t i = 0; i < sorted->count; i++) {
        const struct publish_piece piece = {.schema = batch->schema,
                                            .batch = batch,
                                            .order = sorted->order,
                                            .first = sorted->ranges[i].first,
                                            .count = sorted->ranges[i].count};
        if (chosen == NULL || chosen[i]) {
            TRY(publish_add(load->publish, &piece, err));
        }
    }
    FAULT_POINT("load.before_write");
    TRY(publish_write(load->publish, err));
    FAULT_POINT("load.after_write");
    return publish_totals(load->publish).partitions > LOAD_MAX_PARTITIONS ? too_many_partitions(err) : OK;
}

/* What was not chosen, in a batch of its own. */
static enum err_code keep_rest(const struct batch *batch, const struct publish_sorted *sorted, const bool *chosen,
                               struct batch **out, struct error *err)
{
    AUTO(batch_free_auto) struct batch *rest = NULL;
    uint32_t count = 0;
    for (size_t i = 0; i < sorted->count; i++) {
        count += chosen[i] ? 0 : sorted->ranges[i].count;
    }
    TRY(batch_new(batch->schema, count, &rest, err));
    for (size_t i = 0; i < sorted->count; i++) {
        if (!chosen[i]) {
            TRY(batch_append_rows(rest, batch, sorted->order + sorted->ranges[i].first, sorted->ranges[i].count, err));
        }
    }
    *out = TAKE(rest);
    return OK;
}

/* Writes the whole batch, or the largest buckets of it, and leaves the rest in its place. */
static enum err_code write_batch(struct load *load, struct batch **batch, bool whole, struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    AUTO(publish_sorted_done) struct publish_sorted sorted = {0};
    AUTO(batch_free_auto) struct batch *rest = NULL;
    if (arena == NULL) {
        return err_no_memory(err, 4096);
    }
    TRY(publish_sort(*batch, width_of(load), arena, &sorted, err));
    bool *chosen = NULL;
    if (!whole && sorted.count > 1) {
        TRY(intake_plan_spill(sorted.ranges, sorted.count, arena, &chosen, err));
    }
    TRY(write_ranges(load, *batch, &sorted, chosen, err));
    if (chosen != NULL) {
        TRY(keep_rest(*batch, &sorted, chosen, &rest, err));
    }
    batch_free(*batch);
    *batch = TAKE(rest);
    return OK;
}

static bool is_full(const struct load *load, const struct batch *batch)
{
    return batch->row_count >= INTAKE_MAX_ROWS || (int64_t)batch_memory_bytes(batch) >= load->options.memory_bytes / 2;
}

/* --- gathering ------------------------------------------------------------------------------------------------------ */

enum err_code load_gather(struct load *load, const struct batch *rows, struct error *err)
{
    if (load->options.dry_run) {
        return count_rows(load, rows, err);
    }
    if (load->rows == NULL) {
        TRY(batch_new(rows->schema, FIRST_ROWS, &load->rows, err));
    }
    TRY(batch_append_range(load->rows, rows, 0, rows->row_count, err));
    return is_full(load, load->rows) ? write_batch(load, &load->rows, false, err) : OK;
}

enum err_code load_gather_rejects(struct load *load, const struct ingest_reject *rejects, size_t count,
                                  const struct uuid *body_id, struct error *err)
{
    AUTO(batch_free_auto) struct batch *batch = NULL;
    const struct load_options *options = &load->options;
    if (count == 0 || options->dry_run) {
        return OK;
    }
    TRY(ingest_rejects_batch(rejects, count, options->table->rejects_schema, options->received_at_us, body_id, &batch,
                             err));
    if (load->rejects == NULL) {
        load->rejects = TAKE(batch);
    } else {
        TRY(batch_append_range(load->rejects, batch, 0, batch->row_count, err));
    }
    return is_full(load, load->rejects) ? write_batch(load, &load->rejects, true, err) : OK;
}

enum err_code load_write_rest(struct load *load, struct error *err)
{
    struct batch **batches[] = {&load->rows, &load->rejects};
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        if (*batches[i] != NULL && (*batches[i])->row_count > 0) {
            TRY(write_batch(load, batches[i], true, err));
        }
    }
    return OK;
}

void load_drop_rows(struct load *load)
{
    batch_free(TAKE(load->rows));
    batch_free(TAKE(load->rejects));
}
