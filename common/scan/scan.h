/* The active partitions of a time range as one stream of batches. The list of partitions is one snapshot of the catalog, so
 * that a merge or a publish in the middle neither hides nor doubles a row. Partitions, row groups and pages that statistics
 * rule out are not read. Memory is a page per column, whatever the range. Partitions come by their first timestamp; rows within
 * one as they are sorted. */
#ifndef GRANARY_SCAN_SCAN_H
#define GRANARY_SCAN_SCAN_H

#include "common/catalog/catalog.h"
#include "common/rows/predicate.h"
#include "common/storages/storages.h"

struct scan;

struct scan_options {
    struct catalog *catalog;                    /* borrowed during scan_open only */
    struct storages *storages;                  /* these until scan_free */
    const struct schema *schema;                /* the table's newest: rows come under it */
    int64_t min_timestamp_us, max_timestamp_us; /* both ends included */
    const uint32_t *columns;                    /* indexes into the schema, in the order wanted; NULL for all */
    size_t column_count;
    const struct predicate *predicate; /* parsed under the schema; NULL: every row */
    uint64_t limit;                    /* rows; 0: none */
    uint32_t batch_rows;               /* 0: 8192 */
};

/* The catalog is free again when this returns. ERR_INVALID: no column, or one out of range. */
MUST_CHECK enum err_code scan_open(const struct scan_options *options, struct scan **out, struct error *err);
void scan_free(struct scan *scan);
DEFINE_AUTO(struct scan, scan_free)

/* Schema of the batches: the chosen columns. Without the timestamp among them its timestamp_column is UINT32_MAX. */
const struct schema *scan_schema(const struct scan *scan);

/* The next rows (at least one); *out is borrowed until the next call and NULL at the end. ERR_UNAVAILABLE "changed while
 * reading; try again" when an object is gone: the scan lasted longer than the graces of the reaper. */
MUST_CHECK enum err_code scan_next(struct scan *scan, const struct batch **out, struct error *err);

struct scan_counts {
    size_t partitions;         /* in the time range */
    size_t partitions_skipped; /* by statistics */
    size_t row_groups_skipped; /* these two of partitions that have been left */
    uint64_t rows_skipped;     /* in row groups and pages */
    uint64_t rows_read, rows_returned;
};
struct scan_counts scan_counts(const struct scan *scan);

#endif
