/* What the files of the scan share: the partitions to read, as the catalog had them at one moment. */
#ifndef GRANARY_SCAN_INTERNAL_H
#define GRANARY_SCAN_INTERNAL_H

#include "common/partition/reader.h"
#include "common/scan/scan.h"

struct scan_partition {
    const char *path; /* in the list's arena */
    struct store *store;
    uint64_t size_bytes;
    int64_t min_timestamp_us, max_timestamp_us;
};

struct scan_list {
    struct arena *arena;
    struct scan_partition *partitions; /* by min_timestamp */
    size_t count, capacity;
};
void scan_list_done(struct scan_list *list);

/* Those whose bounds and statistics do not rule them out. *out is to be done whatever comes back. */
MUST_CHECK enum err_code scan_list_load(const struct scan_options *options, struct scan_list *out,
                                        struct scan_counts *counts, struct error *err);

#endif
