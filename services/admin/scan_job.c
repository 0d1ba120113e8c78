#include "services/admin/scan_job.h"

#include <string.h>

#include "services/admin/scan_place.h"
#include "services/admin/tables.h"

void scan_job_free(struct scan_job *job)
{
    if (job == NULL) {
        return;
    }
    scan_free(job->scan);
    predicate_free(job->predicate);
    schema_free(job->schema);
    scan_place_give(job->admin);
    free(job);
}

static enum err_code parse_columns(const struct schema *schema, const char *names, struct arena *arena, uint32_t **out,
                                   size_t *out_count, struct error *err)
{
    size_t count = 1;
    for (const char *comma = names; (comma = strchr(comma, ',')) != NULL; comma++) {
        count++;
    }
    uint32_t *columns = arena_zalloc(arena, count, sizeof *columns);
    if (columns == NULL) {
        return err_no_memory(err, count * sizeof *columns);
    }
    for (size_t i = 0; i < count; i++) {
        size_t length = strcspn(names, ",");
        int index = schema_find(schema, names, length);
        if (index < 0) {
            return err_set(err, ERR_INVALID, "no column \"%.*s\"", (int)(length < 64 ? length : 64), names);
        }
        columns[i] = (uint32_t)index;
        names += length + 1;
    }
    *out = columns;
    *out_count = count;
    return OK;
}

enum err_code scan_job_open(struct call *call, const struct table_record *table, const struct scan_wish *wish,
                            struct scan_job **out, struct error *err)
{
    AUTO(scan_job_free_auto) struct scan_job *job = calloc(1, sizeof *job);
    uint32_t *columns = NULL;
    size_t column_count = 0;
    if (job == NULL) {
        return err_no_memory(err, sizeof *job);
    }
    TRY(tables_load_schema(call, table, 0, &job->schema, err));
    if (wish->columns != NULL) {
        TRY(parse_columns(job->schema, wish->columns, call->arena, &columns, &column_count, err));
    }
    if (wish->where != NULL) {
        TRY(predicate_parse(wish->where, strlen(wish->where), job->schema, &job->predicate, err));
    }
    TRY(scan_place_take(call, &job->admin, err));
    const struct scan_options options = {
        .catalog = call->catalog,
        .storages = call->admin->storages,
        .schema = job->schema,
        .min_timestamp_us = wish->min_us,
        .max_timestamp_us = wish->max_us,
        .columns = columns,
        .column_count = column_count,
        .predicate = job->predicate,
        .limit = wish->limit,
    };
    TRY(scan_open(&options, &job->scan, err));
    *out = TAKE(job);
    return OK;
}

enum err_code scan_job_next(struct scan_job *job, const struct batch **out, struct error *err)
{
    if (service_stopping(job->admin->service)) {
        return err_set(err, ERR_STOPPED, "shutting down; hint: try again");
    }
    return scan_next(job->scan, out, err);
}
