/* Time buckets: which partition of a flush a row belongs to. Pure. */
#ifndef GRANARY_PUBLISH_BUCKET_H
#define GRANARY_PUBLISH_BUCKET_H

#include "common/base/arena.h"
#include "common/rows/batch.h"

/* Number of the bucket of `width_us` (> 0), counted from the epoch: floor(timestamp / width). */
int64_t publish_bucket(int64_t timestamp_us, int64_t width_us);

struct publish_range {     /* of the order */
    uint32_t first, count; /* count >= 1 */
    int64_t bucket;
};

/* Splits sorted rows by bucket of the schema's timestamp. `order` (row_count entries, from batch_sort_order) is put in
 * order of buckets, stably: within one the rows stay sorted. Ranges live in the arena, ascending by bucket. */
MUST_CHECK enum err_code publish_split(const struct batch *batch, uint32_t *order, int64_t width_us,
                                       struct arena *arena, struct publish_range **out, size_t *out_count,
                                       struct error *err);

/* Both of it: the sorted order of a batch, by bucket. */
struct publish_sorted {
    uint32_t *order;              /* owned */
    struct publish_range *ranges; /* in the arena */
    size_t count;
};
MUST_CHECK enum err_code publish_sort(const struct batch *batch, int64_t width_us, struct arena *arena,
                                      struct publish_sorted *out, struct error *err);
void publish_sorted_done(struct publish_sorted *sorted);

#endif
