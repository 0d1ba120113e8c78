#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "services/admin/admin.h"

void call_begin(struct call *call, void *context, struct http_request *request)
{
    struct admin *admin = context;
    struct connection *connection = connections_take(admin->connections);
    metric_add(admin->requests, 1);
    *call = (struct call){
        .admin = admin,
        .request = request,
        .arena = http_arena(request),
        .connection = connection,
        .catalog = connection->catalog,
        .actor = http_principal(request),
    };
}

void call_done(struct call *call)
{
    connections_give(call->connection);
}

enum err_code call_reply(struct call *call, unsigned status, struct json *json_take, struct error *err)
{
    AUTO(json_free_auto) struct json *json = json_take;
    AUTO(buf_done) struct buf text = {0};
    if (json == NULL) {
        return err_no_memory(err, 64);
    }
    TRY(json_dump(json, JSON_STYLE_COMPACT, &text, err));
    return http_reply(call->request, status, "application/json", text.data, text.length_bytes, err);
}

/* --- what the request says ---------------------------------------------------------------------------------------- */

enum err_code call_find_table(struct call *call, const char *text, struct table_record *out, struct error *err)
{
    struct uuid id;
    enum err_code code = ERR_NOT_FOUND;
    const char *dot = strchr(text, '.');
    if (uuid_parse(text, strlen(text), &id, NULL) == OK) {
        code = catalog_table_load(call->catalog, &id, call->arena, out, err);
    } else if (dot != NULL && dot != text && dot[1] != '\0') {
        const char *project = arena_strndup(call->arena, text, (size_t)(dot - text));
        if (project == NULL) {
            return err_no_memory(err, strlen(text));
        }
        code = catalog_table_find(call->catalog, project, dot + 1, call->arena, out, err);
    }
    if (code == ERR_NOT_FOUND) {
        return err_set(err, ERR_NOT_FOUND, "no table \"%.200s\"; hint: tables are named project.name, or by their UUID",
                       text);
    }
    return code;
}

enum err_code call_table(struct call *call, struct table_record *out, struct error *err)
{
    return call_find_table(call, http_path(call->request, "table"), out, err);
}

enum err_code call_id(struct call *call, struct uuid *out, struct error *err)
{
    const char *text = http_path(call->request, "id");
    if (uuid_parse(text, strlen(text), out, NULL) != OK) {
        return err_set(err, ERR_NOT_FOUND, "expected a UUID but found \"%.64s\"", text);
    }
    return OK;
}

enum err_code call_limit(struct call *call, size_t fallback, size_t *out, struct error *err)
{
    const char *text = http_query(call->request, "limit");
    int64_t limit = (int64_t)fallback;
    if (text != NULL) {
        TRY(text_parse_i64(text, 1, MAX_LIMIT, "limit", &limit, err));
    }
    *out = (size_t)limit;
    return OK;
}

enum err_code call_flag(struct call *call, const char *name, bool *out, struct error *err)
{
    const char *text = http_query(call->request, name);
    if (text != NULL && strcmp(text, "true") != 0 && strcmp(text, "false") != 0) {
        return err_set(err, ERR_INVALID, "expected \"%s\" to be true or false but found \"%.64s\"", name, text);
    }
    *out = text != NULL && strcmp(text, "true") == 0;
    return OK;
}

static enum err_code query_time(struct call *call, const char *name, int64_t absent_us, int64_t *out, struct error *err)
{
    const char *text = http_query(call->request, name);
    if (text == NULL) {
        *out = absent_us;
        return OK;
    }
    return clock_parse(text, strlen(text), out, err) == OK ? OK : err_wrap(err, "\"%s\"", name);
}

enum err_code call_range(struct call *call, int64_t *out_min_us, int64_t *out_max_us, struct error *err)
{
    int64_t min_us;
    int64_t max_us;
    TRY(query_time(call, "min", INT64_MIN, &min_us, err));
    TRY(query_time(call, "max", INT64_MAX, &max_us, err));
    if (min_us > max_us) {
        return err_set(err, ERR_INVALID, "expected \"min\" not after \"max\"");
    }
    *out_min_us = min_us;
    *out_max_us = max_us;
    return OK;
}

static enum err_code bad_cursor(const char *text, struct error *err)
{
    return err_set(err, ERR_INVALID, "expected the \"next\" of another page as \"after\" but found \"%.64s\"", text);
}

/* "<microseconds>_<uuid>": see call_cursor. */
enum err_code call_after(struct call *call, int64_t *out_us, struct uuid *out_id, struct error *err)
{
    const char *text = http_query(call->request, "after");
    if (text == NULL) {
        *out_us = 0;
        *out_id = (struct uuid){{0}};
        return OK;
    }
    const char *mark = strchr(text, '_');
    const char *number = mark == NULL ? NULL : arena_strndup(call->arena, text, (size_t)(mark - text));
    if (number == NULL || text_parse_i64(number, INT64_MIN, INT64_MAX, "after", out_us, NULL) != OK ||
        uuid_parse(mark + 1, strlen(mark + 1), out_id, NULL) != OK) {
        return bad_cursor(text, err);
    }
    return OK;
}

enum err_code call_after_number(struct call *call, int64_t *out, struct error *err)
{
    const char *text = http_query(call->request, "after");
    *out = 0;
    if (text != NULL && text_parse_i64(text, 1, INT64_MAX, "after", out, NULL) != OK) {
        return bad_cursor(text, err);
    }
    return OK;
}

/* --- the body ------------------------------------------------------------------------------------------------------ */

enum err_code call_body(struct call *call, const char *const *members, bool required, struct json **out,
                        struct error *err)
{
    AUTO(json_free_auto) struct json *body = NULL;
    const struct json_limits limits = {.max_bytes = MAX_BODY_BYTES};
    size_t length;
    const char *text = http_body(call->request, &length);
    if (length == 0 && !required) {
        text = "{}";
        length = 2;
    }
    TRY(json_parse(text, length, &limits, &body, err));
    if (members != NULL) {
        TRY(json_check_members(body, NULL, members, err));
    } else if (json_kind(body) != JSON_KIND_OBJECT) {
        return err_set(err, ERR_INVALID, "expected a JSON object as the body");
    }
    *out = TAKE(body);
    return OK;
}

enum err_code call_reason(const struct json *body, const char **out, struct error *err)
{
    const char *reason;
    TRY(json_get_string(body, NULL, "reason", &reason, err));
    if (*reason == '\0' || strlen(reason) > MAX_REASON_BYTES) {
        return err_set(err, ERR_INVALID, "expected a \"reason\" of 1 to %d bytes", MAX_REASON_BYTES);
    }
    *out = reason;
    return OK;
}

enum err_code call_body_time(const struct json *body, const char *member, bool *out_present, int64_t *out,
                             struct error *err)
{
    const char *text = NULL;
    TRY(json_opt_string(body, NULL, member, &text, err));
    *out_present = text != NULL;
    if (text == NULL) {
        return OK;
    }
    return clock_parse(text, strlen(text), out, err) == OK ? OK : err_wrap(err, "\"%s\"", member);
}

enum err_code call_settings(struct call *call, struct json *object, struct catalog_setting **out, size_t *out_count,
                            struct error *err)
{
    size_t count = 0;
    void *iterator = NULL;
    const char *name;
    struct json *value;
    struct catalog_setting *settings = arena_zalloc(call->arena, json_length(object) + 1, sizeof *settings);
    if (settings == NULL) {
        return err_no_memory(err, json_length(object) * sizeof *settings);
    }
    while (json_next(object, &iterator, &name, &value)) {
        size_t length;
        const char *text = json_as_text(value, &length);
        if (json_kind(value) != JSON_KIND_NULL && (text == NULL || strlen(text) != length)) {
            return err_set(err, ERR_INVALID, "expected a text or null as the value of setting \"%.64s\"", name);
        }
        settings[count].name = arena_strdup(call->arena, name);
        settings[count].value = text == NULL ? NULL : arena_strdup(call->arena, text);
        if (settings[count].name == NULL || (text != NULL && settings[count].value == NULL)) {
            return err_no_memory(err, strlen(name));
        }
        count++;
    }
    *out = settings;
    *out_count = count;
    return OK;
}

/* --- pages --------------------------------------------------------------------------------------------------------- */

enum err_code call_reply_page(struct call *call, struct json *items_take, const char *next, struct error *err)
{
    AUTO(json_free_auto) struct json *items = items_take;
    AUTO(json_free_auto) struct json *page = json_new_object();
    if (page == NULL) {
        return err_no_memory(err, 64);
    }
    TRY(json_set(page, "items", TAKE(items), err));
    TRY(json_set_string(page, "next", next, err));
    return call_reply(call, 200, TAKE(page), err);
}

const char *call_cursor(struct call *call, int64_t time_us, const struct uuid *id)
{
    char text[UUID_TEXT_BYTES];
    return arena_printf(call->arena, "%lld_%s", (long long)time_us, uuid_format(id, text));
}
