/* One scan on its way out: everything that its stream needs, once the request's handler is over. */
#ifndef GRANARY_ADMIN_SCAN_JOB_H
#define GRANARY_ADMIN_SCAN_JOB_H

#include "common/rows/format.h"
#include "common/scan/scan.h"
#include "services/admin/admin.h"

struct scan_job {
    struct admin *admin; /* of whose scans under way this is one; NULL: not counted yet */
    struct schema *schema;
    struct predicate *predicate;
    struct scan *scan;
    enum rows_format format;
    bool begun; /* the header is out */
};

struct scan_wish {
    const char *columns; /* names, separated by commas; NULL: all */
    const char *where;   /* NULL: every row */
    int64_t min_us, max_us;
    uint64_t limit; /* 0: none */
};

/* Takes a place among the scans under way and lists the partitions; the catalog is free when it returns. Sets the status
 * 429 with Retry-After when there is no place. Free with scan_job_free, which gives the place back. */
MUST_CHECK enum err_code scan_job_open(struct call *call, const struct table_record *table,
                                       const struct scan_wish *wish, struct scan_job **out, struct error *err);
/* scan_next; ERR_STOPPED once the process drains: a long scan must not hold it up. */
MUST_CHECK enum err_code scan_job_next(struct scan_job *job, const struct batch **out, struct error *err);
void scan_job_free(struct scan_job *job);
DEFINE_AUTO(struct scan_job, scan_job_free)

#endif
