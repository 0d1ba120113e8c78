/* One comparison on its way out as a stream: storage by storage, a page with each call. */
#ifndef GRANARY_ADMIN_FSCK_JOB_H
#define GRANARY_ADMIN_FSCK_JOB_H

#include "services/admin/admin.h"

struct fsck_wish {
    const struct uuid *table_id; /* NULL: all tables, and everything else that lies in the store */
    int64_t against_us;          /* what a catalog of that time would miss; CLOCK_NEVER: the plain comparison */
    bool plan;                   /* put the orphans into a plan */
};

struct fsck_job;
/* Takes a place among the scans under way, and the call's connection for as long as it lasts. Errors as of scan_job_open.
 * Free with fsck_job_free. */
MUST_CHECK enum err_code fsck_job_open(struct call *call, const struct fsck_wish *wish, struct fsck_job **out,
                                       struct error *err);
/* The next lines. A failure is the last line, not an error: whoever reads the stream learns why it ends. */
MUST_CHECK enum err_code fsck_job_fill(struct fsck_job *job, struct buf *out, bool *done, struct error *err);
void fsck_job_free(struct fsck_job *job);
DEFINE_AUTO(struct fsck_job, fsck_job_free)

#endif
