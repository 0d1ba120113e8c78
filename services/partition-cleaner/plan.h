/* What a whole comparison allows: pure. */
#ifndef GRANARY_PARTITION_CLEANER_PLAN_H
#define GRANARY_PARTITION_CLEANER_PLAN_H

#include "common/fsck/fsck.h"

struct cleaner_limits {
    int64_t max_orphan_percent, max_shrink_percent;
    int64_t max_skew_us;
};
struct cleaner_evidence {
    const struct fsck_totals *now;
    const struct fsck_totals *past; /* of the last whole run; NULL: there was none */
    int64_t receipts_since;         /* partitions reaped since that one began */
    int64_t skew_us;                /* the store's clock minus the catalog's */
};
/* May orphans be deleted? OK; or ERR_DENIED with the rule that stops it. Each rule supposes that the catalog, not the
 * store, may be the one that is wrong: empty, restored, another's, or read in part. */
MUST_CHECK enum err_code cleaner_plan_verdict(const struct cleaner_evidence *evidence,
                                              const struct cleaner_limits *limits, struct error *err);

/* Written before this, by the store's clock, an orphan is old enough: the grace counted back from the store's present. */
int64_t cleaner_plan_modified_before_us(int64_t store_now_us, int64_t grace_us);

#endif
