/* Store and catalog compared, as a stream of lines; with a plan of the orphans where one is asked for. */
#include <string.h>

#include "common/base/clock.h"
#include "services/admin/fsck_job.h"
#include "services/admin/handlers.h"

static enum err_code fill_stream(void *state, struct buf *out, bool *done, struct error *err)
{
    return fsck_job_fill(state, out, done, err);
}

static void free_stream(void *state)
{
    fsck_job_free(state);
}

/* name NULL: all tables. A dropped table is named by its id. */
static enum err_code reply_stream(struct call *call, const char *name, struct fsck_wish *wish, struct error *err)
{
    AUTO(fsck_job_free_auto) struct fsck_job *job = NULL;
    struct table_record table;
    if (name != NULL) {
        TRY(call_find_table(call, name, &table, err));
        wish->table_id = &table.table_id;
    }
    TRY(fsck_job_open(call, wish, &job, err));
    return http_reply_stream(call->request, 200, "application/x-ndjson", fill_stream, free_stream, TAKE(job), err);
}

enum err_code handle_fsck(void *context, struct http_request *request, struct error *err)
{
    AUTO(call_done) struct call call;
    struct fsck_wish wish = {.against_us = CLOCK_NEVER};
    call_begin(&call, context, request);
    const char *against = http_query(request, "against");
    if (against != NULL && clock_parse(against, strlen(against), &wish.against_us, err) != OK) {
        return err_wrap(err, "\"against\"");
    }
    return reply_stream(&call, http_query(request, "table"), &wish, err);
}

enum err_code handle_orphans_plan(void *context, struct http_request *request, struct error *err)
{
    static const char *const members[] = {"table", NULL};
    AUTO(call_done) struct call call;
    AUTO(json_free_auto) struct json *body = NULL;
    struct fsck_wish wish = {.against_us = CLOCK_NEVER, .plan = true};
    const char *name = NULL;
    call_begin(&call, context, request);
    TRY(call_body(&call, members, false, &body, err));
    TRY(json_opt_string(body, NULL, "table", &name, err));
    return reply_stream(&call, name, &wish, err);
}
