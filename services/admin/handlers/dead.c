/* Dead letters are looked at one by one over a connection of their own; what stays, stays in its place. */
#include <string.h>

#include "services/admin/dead.h"
#include "services/admin/handlers.h"
#include "services/admin/queues.h"
#include "services/admin/render.h"

enum { SHOWN_BODY_BYTES = 64 << 10, MAX_VISITED = 100000 };

enum err_code handle_dead_queues(void *context, struct http_request *request, struct error *err)
{
    AUTO(call_done) struct call call;
    AUTO(json_free_auto) struct json *items = json_new_array();
    const char **queues;
    size_t count;
    call_begin(&call, context, request);
    TRY(queues_list(&call, &queues, &count, err));
    for (size_t i = 0; i < count; i++) {
        const char *dead = queues_dead(&call, queues[i]);
        struct bus_queue_depth depth;
        struct json *item;
        if (dead == NULL) {
            return err_no_memory(err, strlen(queues[i]));
        }
        TRY(bus_queue_inspect(&call.admin->bus, dead, &depth, err));
        if (!depth.exists) {
            continue;
        }
        TRY(render_item(items, &item, err));
        TRY(json_set_string(item, "queue", queues[i], err));
        TRY(json_set_i64(item, "messages", (int64_t)depth.messages, err));
    }
    return call_reply_page(&call, TAKE(items), NULL, err);
}

/* --- look ---------------------------------------------------------------------------------------------------------- */

struct look {
    struct json *items;
    enum err_code code; /* the first failure ends the look */
    struct error err;
};

/* The body as JSON where it is some, of a size to be shown; else null. */
static struct json *shown_body(const struct bus_dead_message *message)
{
    struct json *body = NULL;
    if (message->body_bytes > SHOWN_BODY_BYTES ||
        json_parse(message->body, message->body_bytes, NULL, &body, NULL) != OK) {
        return json_new_null();
    }
    return body;
}

static enum err_code render_letter(struct json *items, const struct bus_dead_message *message, struct error *err)
{
    struct json *item;
    TRY(render_item(items, &item, err));
    TRY(render_any_text(item, "message_id", message->message_id, strlen(message->message_id), err));
    TRY(render_any_text(item, "type", message->type, strlen(message->type), err));
    TRY(render_any_text(item, "reason", message->reason, strlen(message->reason), err));
    TRY(render_time_or_null(item, "dead_at", message->dead_at_us, 0, err));
    TRY(json_set_i64(item, "bytes", (int64_t)message->body_bytes, err));
    return json_set(item, "body", shown_body(message), err);
}

static enum bus_dead_action look_at(void *context, const struct bus_dead_message *message)
{
    struct look *look = context;
    if (look->code == OK) {
        look->code = render_letter(look->items, message, &look->err);
    }
    return BUS_DEAD_KEEP;
}

enum err_code handle_dead_list(void *context, struct http_request *request, struct error *err)
{
    AUTO(call_done) struct call call;
    AUTO(json_free_auto) struct json *items = json_new_array();
    struct look look = {.items = items};
    const char *queue;
    size_t limit;
    size_t visited;
    call_begin(&call, context, request);
    TRY(call_limit(&call, DEFAULT_LIMIT, &limit, err));
    TRY(dead_queue(&call, &queue, err));
    TRY(dead_visit(&call, queue, limit, look_at, &look, &visited, err));
    if (look.code != OK) {
        return err_set(err, look.code, "%s", look.err.text);
    }
    return call_reply_page(&call, TAKE(items), NULL, err);
}

/* --- replay -------------------------------------------------------------------------------------------------------- */

static enum bus_dead_action replay(void *context, const struct bus_dead_message *message)
{
    (void)context;
    (void)message;
    return BUS_DEAD_REPLAY;
}

static enum err_code reply_number(struct call *call, const char *member, size_t number, struct error *err)
{
    AUTO(json_free_auto) struct json *object = json_new_object();
    TRY(json_set_i64(object, member, (int64_t)number, err));
    return call_reply(call, 200, TAKE(object), err);
}

/* The audit row comes before the deed: a replay that breaks off is one too. */
enum err_code handle_dead_replay(void *context, struct http_request *request, struct error *err)
{
    static const char *const members[] = {"max", NULL};
    AUTO(call_done) struct call call;
    AUTO(json_free_auto) struct json *body = NULL;
    const char *queue;
    int64_t max = MAX_VISITED;
    size_t replayed;
    call_begin(&call, context, request);
    TRY(call_body(&call, members, false, &body, err));
    TRY(json_opt_i64(body, NULL, "max", 1, MAX_VISITED, &max, err));
    TRY(dead_queue(&call, &queue, err));
    TRY(dead_audit(&call, "dead.replay", queue, max, err));
    TRY(dead_visit(&call, queue, (size_t)max, replay, NULL, &replayed, err));
    return reply_number(&call, "replayed", replayed, err);
}

/* --- drop ---------------------------------------------------------------------------------------------------------- */

/* Two visits: the first takes down the ids, the second drops just those. What comes in between stays. */
struct drop {
    struct dead_ids ids;
    size_t dropped;
    enum err_code code;
    struct error err;
};

static enum bus_dead_action take_down(void *context, const struct bus_dead_message *message)
{
    struct drop *drop = context;
    if (drop->code == OK) {
        drop->code = dead_ids_add(&drop->ids, message, &drop->err);
    }
    return BUS_DEAD_KEEP;
}

static enum bus_dead_action drop_known(void *context, const struct bus_dead_message *message)
{
    struct drop *drop = context;
    if (!dead_ids_have(&drop->ids, message)) {
        return BUS_DEAD_KEEP;
    }
    drop->dropped++;
    return BUS_DEAD_DROP;
}

static enum err_code drop_all(struct call *call, const char *queue, struct drop *drop, struct error *err)
{
    size_t visited;
    TRY(dead_visit(call, queue, MAX_VISITED, take_down, drop, &visited, err));
    if (drop->code != OK) {
        return err_set(err, drop->code, "%s", drop->err.text);
    }
    dead_ids_sort(&drop->ids);
    if (strcmp(queue, "intake") == 0) {
        TRY(dead_check_exported(call, queue, &drop->ids, err));
    }
    TRY(dead_audit(call, "dead.drop", queue, (int64_t)drop->ids.count, err));
    return dead_visit(call, queue, MAX_VISITED, drop_known, drop, &visited, err);
}

enum err_code handle_dead_drop(void *context, struct http_request *request, struct error *err)
{
    static const char *const members[] = {"yes", NULL};
    AUTO(call_done) struct call call;
    AUTO(json_free_auto) struct json *body = NULL;
    const char *queue;
    bool yes;
    call_begin(&call, context, request);
    TRY(call_body(&call, members, true, &body, err));
    TRY(json_get_bool(body, NULL, "yes", &yes, err));
    TRY(dead_queue(&call, &queue, err));
    if (!yes) {
        return err_set(err, ERR_INVALID, "expected \"yes\" to be true: what is dropped is gone");
    }
    struct drop drop = {.ids.arena = call.arena};
    TRY(drop_all(&call, queue, &drop, err));
    return reply_number(&call, "dropped", drop.dropped, err);
}
