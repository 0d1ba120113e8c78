/* Runs of jobs, for everyone's status page. */
#ifndef GRANARY_CATALOG_JOBS_H
#define GRANARY_CATALOG_JOBS_H

#include "common/catalog/catalog.h"

struct catalog_job_run {
    const char *job;      /* "decay" */
    const char *instance; /* host:pid:hex */
    int64_t started_at_us;
    int32_t exit_code;
    const char *counts_json; /* an object; NULL: {} */
    const char *error;       /* NULL: none */
};
/* A commit of its own. Recorded twice after an ERR_UNKNOWN that was tried again: harmless. */
MUST_CHECK enum err_code catalog_job_record(struct catalog *catalog, const struct catalog_job_run *run,
                                            struct error *err);

#endif
