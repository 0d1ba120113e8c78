#include "common/publish/bucket.h"

#include <stdlib.h>
#include <string.h>

int64_t publish_bucket(int64_t timestamp_us, int64_t width_us)
{
    int64_t bucket = timestamp_us / width_us;
    return timestamp_us % width_us < 0 ? bucket - 1 : bucket;
}

struct placed {
    int64_t bucket;
    uint32_t place; /* in the order */
    uint32_t row;
};

static int compare_placed(const void *a, const void *b)
{
    const struct placed *x = a;
    const struct placed *y = b;
    if (x->bucket != y->bucket) {
        return x->bucket < y->bucket ? -1 : 1;
    }
    return (x->place > y->place) - (x->place < y->place);
}

/* Sorted by time they are in order of buckets anyway; sorted by something else, buckets are mixed. */
static bool put_in_order(struct placed *placed, uint32_t count)
{
    bool in_order = true;
    for (uint32_t i = 1; i < count && in_order; i++) {
        in_order = placed[i - 1].bucket <= placed[i].bucket;
    }
    if (!in_order) {
        qsort(placed, count, sizeof *placed, compare_placed);
    }
    return in_order;
}

static size_t count_buckets(const struct placed *placed, uint32_t count)
{
    size_t buckets = count > 0;
    for (uint32_t i = 1; i < count; i++) {
        buckets += placed[i].bucket != placed[i - 1].bucket;
    }
    return buckets;
}

static void fill_ranges(const struct placed *placed, uint32_t count, struct publish_range *ranges)
{
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0 && placed[i].bucket == placed[i - 1].bucket) {
            ranges->count++;
            continue;
        }
        ranges += i > 0;
        *ranges = (struct publish_range){.first = i, .count = 1, .bucket = placed[i].bucket};
    }
}

enum err_code publish_split(const struct batch *batch, uint32_t *order, int64_t width_us, struct arena *arena,
                            struct publish_range **out, size_t *out_count, struct error *err)
{
    uint32_t count = batch->row_count;
    const int64_t *times = batch->columns[batch->schema->timestamp_column].values.i64;
    AUTO(free_auto) struct placed *placed = malloc(((size_t)count + 1) * sizeof *placed);
    if (placed == NULL) {
        return err_no_memory(err, count * sizeof *placed);
    }
    for (uint32_t i = 0; i < count; i++) {
        placed[i] = (struct placed){publish_bucket(times[order[i]], width_us), i, order[i]};
    }
    bool kept = put_in_order(placed, count);
    size_t buckets = count_buckets(placed, count);
    struct publish_range *ranges = arena_zalloc(arena, buckets + 1, sizeof *ranges);
    if (ranges == NULL) {
        return err_no_memory(err, buckets * sizeof *ranges);
    }
    fill_ranges(placed, count, ranges);
    for (uint32_t i = 0; i < count && !kept; i++) {
        order[i] = placed[i].row;
    }
    *out = ranges;
    *out_count = buckets;
    return OK;
}

void publish_sorted_done(struct publish_sorted *sorted)
{
    free(sorted->order);
}

enum err_code publish_sort(const struct batch *batch, int64_t width_us, struct arena *arena, struct publish_sorted *out,
                           struct error *err)
{
    AUTO(publish_sorted_done) struct publish_sorted sorted = {0};
    sorted.order = malloc(((size_t)batch->row_count + 1) * sizeof *sorted.order);
    if (sorted.order == NULL) {
        return err_no_memory(err, batch->row_count * sizeof *sorted.order);
    }
    TRY(batch_sort_order(batch, sorted.order, err));
    TRY(publish_split(batch, sorted.order, width_us, arena, &sorted.ranges, &sorted.count, err));
    *out = sorted;
    sorted.order = NULL;
    return OK;
}
