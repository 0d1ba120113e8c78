#include "common/catalog/jobs.h"

#include "common/catalog/internal.h"

/* A function with its owner's rights: even a job that may only read records its runs. */
static const char SQL_RECORD[] = "select granary.job_run_record($1, $2, $3, $4, coalesce($5, '{}'::jsonb), $6)";

enum err_code catalog_job_record(struct catalog *catalog, const struct catalog_job_run *run, struct error *err)
{
    return catalog_execute(catalog, SQL_RECORD,
                           CATALOG_VALUES(catalog_text(run->job), catalog_text(run->instance),
                                          catalog_timestamp(run->started_at_us), catalog_i32(run->exit_code),
                                          catalog_json(run->counts_json), catalog_text(run->error)),
                           NULL, err);
}
