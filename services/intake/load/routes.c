/* A load is one request, or a session of many: begin, rows, commit. What may wait (store, catalog, other bodies) happens on the
 * pool; when a request begins, only what this process knows is asked. */
#include "services/intake/load/routes.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/base/quote.h"
#include "services/intake/load/http.h"
#include "services/intake/load/transfer.h"

/* --- sessions ------------------------------------------------------------------------------------------------------- */

static enum err_code handle_begin(void *context, struct http_request *http, struct error *err)
{
    AUTO(intake_table_release_auto) const struct intake_table *table = NULL;
    AUTO(buf_done) struct buf json = {0};
    struct load_handle *handle = NULL;
    struct loads_begin begin;
    struct load_before before;
    char id[UUID_TEXT_BYTES];
    TRY(load_http_find_table(context, http, &table, err));
    TRY(load_http_read_begin(http, table, &begin, err));
    TRY(loads_begin(context, &begin, &handle, err));
    AUTO(loads_end_auto) struct load_handle *ends = handle; /* unless all goes well */
    TRY(load_look(loads_get(handle), &before, err));
    if (before.known) {
        return load_http_reply_known(http, loads_get(handle), &before, err);
    }
    const int64_t idle_us = loads_options_of(context)->config->load_idle_us;
    TRY(buf_printf(&json, err, "{\"load_id\":\"%s\",\"state\":\"open\",\"dry_run\":%s,\"idle_seconds\":%lld",
                   uuid_format(&begin.load_id, id), load_http_word(begin.dry_run),
                   (long long)(idle_us / CLOCK_SECOND_US)));
    TRY(load_http_reply(http, 201, &json, err));
    loads_release(TAKE(ends));
    return OK;
}

/* The body of a session is not known as a whole: no digest of one equals this. */
static const uint8_t no_digest[32];

static enum err_code handle_commit(void *context, struct http_request *http, struct error *err)
{
    AUTO(intake_table_release_auto) const struct intake_table *table = NULL;
    AUTO(loads_release_auto) struct load_handle *handle = NULL;
    struct load_before before;
    TRY(load_http_find(context, http, &table, &handle, err));
    enum err_code code = load_http_commit(http, loads_get(handle), no_digest, &before, err);
    return code == ERR_CONFLICT && before.known ? load_http_reply_known(http, loads_get(handle), &before, err) : code;
}

static enum err_code handle_show(void *context, struct http_request *http, struct error *err)
{
    AUTO(intake_table_release_auto) const struct intake_table *table = NULL;
    AUTO(loads_release_auto) struct load_handle *handle = NULL;
    AUTO(buf_done) struct buf json = {0};
    struct load_view view;
    char id[UUID_TEXT_BYTES];
    TRY(load_http_find(context, http, &table, &handle, err));
    struct load *load = loads_get(handle);
    load_look_at(load, &view);
    TRY(buf_printf(&json, err,
                   "{\"load_id\":\"%s\",\"state\":\"%s\",\"dry_run\":%s,\"bodies\":%lld,\"bodies_under_way\":%u,"
                   "\"rows\":%lld,\"rejected\":%lld,"
                   "\"partitions\":%lld,\"bytes\":%lld,\"failure\":",
                   uuid_format(&load_options_of(load)->load_id, id), load_state_name(view.state),
                   load_http_word(load_options_of(load)->dry_run), (long long)view.totals.bodies, view.bodies_under_way,
                   (long long)view.totals.rows, (long long)view.totals.rejects, (long long)view.totals.partitions,
                   (long long)view.totals.data_bytes));
    TRY(view.state == LOAD_FAILED ? quote_json(view.failure.text, strlen(view.failure.text), &json, err)
                                  : buf_append_text(&json, "null", err));
    TRY(load_format_rejects(load, &json, err));
    return load_http_reply(http, 200, &json, err);
}

static enum err_code handle_abort(void *context, struct http_request *http, struct error *err)
{
    AUTO(intake_table_release_auto) const struct intake_table *table = NULL;
    AUTO(buf_done) struct buf json = {0};
    struct load_handle *handle = NULL;
    struct load_view view;
    struct error why;
    char id[UUID_TEXT_BYTES];
    TRY(load_http_find(context, http, &table, &handle, err));
    AUTO(loads_release_auto) struct load_handle *stays = handle;
    struct load *load = loads_get(handle);
    err_set(&why, ERR_STOPPED, "it was aborted by \"%.64s\"", http_principal(http));
    load_fail(load, &why);
    load_look_at(load, &view);
    if (view.state != LOAD_FAILED) {
        return err_set(err, ERR_CONFLICT, "expected a load that can be aborted but it is %s",
                       load_state_name(view.state));
    }
    load_bury(load);
    TRY(buf_printf(&json, err, "{\"load_id\":\"%s\",\"state\":\"failed\"",
                   uuid_format(&load_options_of(load)->load_id, id)));
    TRY(load_http_reply(http, 200, &json, err));
    loads_end(TAKE(stays));
    return OK;
}

/* --- the table of routes -------------------------------------------------------------------------------------------- */

#define LOADS "/v1/tables/{table}/loads"

static enum err_code refuse(void *context, struct http_request *http, struct error *err)
{
    (void)context;
    (void)http;
    return err_set(err, ERR_NOT_FOUND,
                   "this process takes no loads; hint: send them to a writer (GRANARY_INTAKE_ROLE=writer or all)");
}

static enum err_code refuse_body(void *context, struct http_request *http, void **out_state, struct error *err)
{
    (void)out_state;
    return refuse(context, http, err);
}

void load_routes_make(struct loads *loads, struct http_route out[LOAD_ROUTE_COUNT])
{
    const struct http_route routes[LOAD_ROUTE_COUNT] = {
        {.method = "POST", .pattern = LOADS, .handler = handle_begin},
        {.method = "POST",
         .pattern = LOADS "/{load}/rows",
         .max_body_bytes = SIZE_MAX,
         .begin = load_transfer_begin_rows,
         .body = load_transfer_take,
         .end = load_transfer_end,
         .handler = load_transfer_handle_rows},
        {.method = "POST", .pattern = LOADS "/{load}/commit", .handler = handle_commit},
        {.method = "GET", .pattern = LOADS "/{load}", .handler = handle_show},
        {.method = "DELETE", .pattern = LOADS "/{load}", .handler = handle_abort},
        {.method = "POST",
         .pattern = "/v1/tables/{table}/load",
         .max_body_bytes = SIZE_MAX,
         .begin = load_transfer_begin_whole,
         .body = load_transfer_take,
         .end = load_transfer_end,
         .handler = load_transfer_handle_whole},
    };
    for (size_t i = 0; i < LOAD_ROUTE_COUNT; i++) {
        out[i] = routes[i];
        out[i].role = HTTP_ROLE_WRITE;
        out[i].blocking = true;
        out[i].context = loads;
        if (loads == NULL) {
            out[i].begin = out[i].begin != NULL ? refuse_body : NULL;
            out[i].handler = refuse;
        }
    }
}
