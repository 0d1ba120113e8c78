/* The lines of a comparison's stream, as NDJSON: {"progress":...}, {"finding":...}, and at the end {"summary":...} or
 * {"error":...}. Pure. */
#ifndef GRANARY_ADMIN_FSCK_LINES_H
#define GRANARY_ADMIN_FSCK_LINES_H

#include "common/fsck/fsck.h"

MUST_CHECK enum err_code fsck_line_progress(const char *storage, const struct fsck_totals *totals, const char *position,
                                            struct buf *out, struct error *err);
MUST_CHECK enum err_code fsck_line_finding(const char *storage, const struct fsck_finding *finding, struct buf *out,
                                           struct error *err);
/* A partition that a catalog of an earlier time names as live and that was deleted since, with a receipt. */
MUST_CHECK enum err_code fsck_line_gone(const struct catalog_gone *gone, struct buf *out, struct error *err);

struct fsck_summary {
    const struct fsck_totals *totals;
    const struct uuid *plan_id; /* NULL: no plan was made */
    int64_t plan_objects;
    bool plan_cut;
    bool against;              /* the comparison with the catalog of an earlier time: `gone` counts */
    struct fsck_tally gone;    /* receipts, and missing objects of partitions that were live then */
    int64_t receipts_since_us; /* CLOCK_NEVER: there are none */
};
MUST_CHECK enum err_code fsck_line_summary(const struct fsck_summary *summary, struct buf *out, struct error *err);
MUST_CHECK enum err_code fsck_line_error(const struct error *fault, struct buf *out, struct error *err);

#endif
