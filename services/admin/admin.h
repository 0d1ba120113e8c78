/* What all handlers share: the process's means, and one call. */
#ifndef GRANARY_ADMIN_ADMIN_H
#define GRANARY_ADMIN_ADMIN_H

#include <stdatomic.h>

#include "common/bus/bus.h"
#include "common/catalog/tables.h"
#include "common/http/http.h"
#include "common/json/json.h"
#include "common/service/service.h"
#include "common/storages/storages.h"
#include "services/admin/abilities.h"
#include "services/admin/config.h"
#include "services/admin/connections.h"

struct admin {
    struct service *service;
    const struct admin_config *config;
    struct connections *connections;
    struct storages *storages;
    struct abilities *abilities; /* of their stores */
    struct bus_options bus;
    atomic_int scans; /* under way */
    struct metric *requests, *scans_under_way, *scan_rows;
};

/* Bounds of what comes from outside. */
enum {
    DEFAULT_LIMIT = 100,
    MAX_LIMIT = 1000,
    MAX_REASON_BYTES = 1000,
    MAX_BODY_BYTES = 1 << 20, /* a schema of 2,000 columns */
};

/* One request in a handler: what it needs, taken at its start and given back at its end. */
struct call {
    struct admin *admin;
    struct http_request *request;
    struct arena *arena;
    struct connection *connection;
    struct catalog *catalog; /* the connection's */
    const char *actor;       /* for the audit log */
};
/* `AUTO(call_done) struct call call; call_begin(&call, context, request);` as the first thing of a handler. */
void call_begin(struct call *call, void *context, struct http_request *request);
void call_done(struct call *call);

/* The answer. Consumes the document, which may be NULL (ERR_NO_MEMORY). */
MUST_CHECK enum err_code call_reply(struct call *call, unsigned status, struct json *json_take, struct error *err);

/* --- what the request says ---------------------------------------------------------------------------------------- */

/* {table}: "project.name" or a UUID. Dropped tables only by UUID. ERR_NOT_FOUND: no table "...". */
MUST_CHECK enum err_code call_table(struct call *call, struct table_record *out, struct error *err);
MUST_CHECK enum err_code call_find_table(struct call *call, const char *text, struct table_record *out,
                                         struct error *err);
/* {id} */
MUST_CHECK enum err_code call_id(struct call *call, struct uuid *out, struct error *err);
/* ?limit=, 1..1000; `fallback` when absent. */
MUST_CHECK enum err_code call_limit(struct call *call, size_t fallback, size_t *out, struct error *err);
MUST_CHECK enum err_code call_flag(struct call *call, const char *name, bool *out, struct error *err);
/* ?min= and ?max=; INT64_MIN and INT64_MAX when absent. */
MUST_CHECK enum err_code call_range(struct call *call, int64_t *out_min_us, int64_t *out_max_us, struct error *err);
/* ?after=, as cursor_time_id made it; a nil id when absent. */
MUST_CHECK enum err_code call_after(struct call *call, int64_t *out_us, struct uuid *out_id, struct error *err);
/* ?after= of lists by number; 0 when absent. */
MUST_CHECK enum err_code call_after_number(struct call *call, int64_t *out, struct error *err);

/* The body: an object with no members but these. An absent body is {} unless `required`. */
MUST_CHECK enum err_code call_body(struct call *call, const char *const *members, bool required, struct json **out,
                                   struct error *err);
/* A text of 1 to 1,000 bytes. */
MUST_CHECK enum err_code call_reason(const struct json *body, const char **out, struct error *err);
/* A time of the body; *out is untouched and *out_present false when it is absent. */
MUST_CHECK enum err_code call_body_time(const struct json *body, const char *member, bool *out_present, int64_t *out,
                                        struct error *err);
/* {"name":"value"|null,...} as changes of settings, in the arena. */
MUST_CHECK enum err_code call_settings(struct call *call, struct json *object, struct catalog_setting **out,
                                       size_t *out_count, struct error *err);

/* --- pages --------------------------------------------------------------------------------------------------------- */

/* {"items":items,"next":next}. Consumes items; next NULL: the end. */
MUST_CHECK enum err_code call_reply_page(struct call *call, struct json *items_take, const char *next,
                                         struct error *err);
/* The cursor behind a row, in the arena; NULL when out of memory. */
const char *call_cursor(struct call *call, int64_t time_us, const struct uuid *id);

#endif
