#include <string.h>

#include "common/base/text.h"
#include "common/catalog/partitions.h"
#include "common/log/log.h"
#include "services/admin/handlers.h"
#include "services/admin/scan_job.h"
#include "services/admin/tables.h"

static enum err_code read_wish(struct call *call, struct scan_wish *wish, struct error *err)
{
    const char *limit = http_query(call->request, "limit");
    int64_t rows = 0;
    *wish = (struct scan_wish){
        .columns = http_query(call->request, "columns"),
        .where = http_query(call->request, "where"),
    };
    if (limit != NULL) {
        TRY(text_parse_i64(limit, 1, INT64_MAX, "limit", &rows, err));
    }
    wish->limit = (uint64_t)rows;
    return call_range(call, &wish->min_us, &wish->max_us, err);
}

static enum err_code read_format(struct call *call, enum rows_format *out, struct error *err)
{
    const char *text = http_query(call->request, "format");
    if (text == NULL || strcmp(text, "ndjson") == 0) {
        *out = ROWS_FORMAT_NDJSON;
        return OK;
    }
    if (strcmp(text, "csv") == 0) {
        *out = ROWS_FORMAT_CSV;
        return OK;
    }
    return err_set(err, ERR_INVALID, "expected \"format\" to be ndjson or csv but found \"%.64s\"", text);
}

/* --- scan ---------------------------------------------------------------------------------------------------------- */

static enum err_code fill(struct scan_job *job, struct buf *out, bool *done, struct error *err)
{
    const struct batch *batch;
    if (!job->begun) {
        job->begun = true;
        TRY(rows_format_header(scan_schema(job->scan), job->format, out, err));
    }
    TRY(scan_job_next(job, &batch, err));
    *done = batch == NULL;
    if (batch != NULL) {
        metric_add(job->admin->scan_rows, batch->row_count);
        TRY(rows_format_rows(batch, 0, batch->row_count, job->format, out, err));
    }
    return OK;
}

/* The client sees a cut connection; why, stands in the log. */
static enum err_code fill_stream(void *state, struct buf *out, bool *done, struct error *unused)
{
    struct error err = {0};
    enum err_code code = fill(state, out, done, &err);
    (void)unused;
    if (code != OK) {
        log_warn("a scan broke off", LOG_ERR(&err));
    }
    return code;
}

static void free_stream(void *state)
{
    scan_job_free(state);
}

enum err_code handle_scan(void *context, struct http_request *request, struct error *err)
{
    AUTO(call_done) struct call call;
    AUTO(scan_job_free_auto) struct scan_job *job = NULL;
    struct table_record table;
    struct scan_wish wish;
    enum rows_format format = ROWS_FORMAT_NDJSON;
    call_begin(&call, context, request);
    TRY(read_wish(&call, &wish, err));
    TRY(read_format(&call, &format, err));
    TRY(call_table(&call, &table, err));
    TRY(scan_job_open(&call, &table, &wish, &job, err));
    job->format = format;
    const char *type = format == ROWS_FORMAT_CSV ? "text/csv; charset=utf-8" : "application/x-ndjson";
    return http_reply_stream(request, 200, type, fill_stream, free_stream, TAKE(job), err);
}

/* --- count --------------------------------------------------------------------------------------------------------- */

/* Reads as little as will do: the timestamp, and what the predicate asks for. */
static enum err_code count_rows(struct call *call, const struct table_record *table, struct scan_wish *wish,
                                struct catalog_live_count *out, struct error *err)
{
    AUTO(scan_job_free_auto) struct scan_job *job = NULL;
    AUTO(schema_free_auto) struct schema *schema = NULL;
    const struct batch *batch;
    TRY(tables_load_schema(call, table, 0, &schema, err));
    wish->columns = schema->columns[schema->timestamp_column].name;
    TRY(scan_job_open(call, table, wish, &job, err));
    connections_give(TAKE(call->connection)); /* others may have it while we read */
    do {
        TRY(scan_job_next(job, &batch, err));
        out->rows += batch == NULL ? 0 : batch->row_count;
    } while (batch != NULL);
    const struct scan_counts counts = scan_counts(job->scan);
    out->partitions = (int64_t)(counts.partitions - counts.partitions_skipped);
    return OK;
}

enum err_code handle_count(void *context, struct http_request *request, struct error *err)
{
    AUTO(call_done) struct call call;
    AUTO(json_free_auto) struct json *object = json_new_object();
    struct table_record table;
    struct scan_wish wish;
    struct catalog_live_count count = {0};
    call_begin(&call, context, request);
    TRY(read_wish(&call, &wish, err));
    TRY(call_table(&call, &table, err));
    wish.limit = 0;
    if (wish.where == NULL && wish.min_us == INT64_MIN && wish.max_us == INT64_MAX) {
        TRY(catalog_partitions_count(call.catalog, &table.table_id, &count, err));
    } else {
        TRY(count_rows(&call, &table, &wish, &count, err));
    }
    if (object == NULL) {
        return err_no_memory(err, 64);
    }
    TRY(json_set_i64(object, "rows", count.rows, err));
    TRY(json_set_i64(object, "partitions", count.partitions, err));
    return call_reply(&call, 200, TAKE(object), err);
}
