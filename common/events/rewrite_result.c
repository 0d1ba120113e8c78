/* {"attempt":UUID,"token":N,"ok":true,
 *  "output":{"id":UUID,"rows":N,"bytes":N,"memory_bytes":N,"min_us":N,"max_us":N,"sha256":HEX,"etag":S,
 *            "columns":[{"id":N,"type":S,"nulls":N,"min":HEX,"max":HEX},...]}}
 * or {"attempt":UUID,"token":N,"ok":false,"error":{"code":S,"text":S,"partition":UUID}}
 * min and max are the plain bytes of struct column_stats, absent where there is no bound; partition is absent where no
 * input is to blame. */
#include <string.h>

#include "common/base/text.h"
#include "common/events/internal.h"

/* The type's text and the length of its plain value; 0: up to COLUMN_STATS_VALUE_BYTES. A decimal's precision is in
 * the schema, not here. */
static const struct {
    const char *name;
    uint8_t width_bytes;
} types[COLUMN_TYPE_COUNT] = {
    [COLUMN_BOOL] = {"bool", 1},       [COLUMN_INT32] = {"int32", 4},         [COLUMN_INT64] = {"int64", 8},
    [COLUMN_FLOAT] = {"float", 4},     [COLUMN_DOUBLE] = {"double", 8},       [COLUMN_STRING] = {"string", 0},
    [COLUMN_BYTES] = {"bytes", 0},     [COLUMN_TIMESTAMP] = {"timestamp", 8}, [COLUMN_DATE] = {"date", 4},
    [COLUMN_DECIMAL] = {"decimal", 8}, [COLUMN_UUID] = {"uuid", 16},          [COLUMN_JSON] = {"json", 0},
};

/* --- encoding ---------------------------------------------------------------------------------------------------- */

static enum err_code put_column(struct json *array, const struct column_stats *stats, struct error *err)
{
    AUTO(json_free_auto) struct json *item = json_new_object();
    if (item == NULL) {
        return err_no_memory(err, 0);
    }
    if ((unsigned)stats->type >= COLUMN_TYPE_COUNT) {
        return err_set(err, ERR_INVALID, "expected a column type but found %d", (int)stats->type);
    }
    TRY(json_set_i64(item, "id", stats->column_id, err));
    TRY(json_set_string(item, "type", types[stats->type].name, err));
    TRY(events_set_u64(item, "nulls", stats->null_count, err));
    if (stats->has_min) {
        TRY(events_set_hex(item, "min", stats->min, stats->min_length, err));
    }
    if (stats->has_max) {
        TRY(events_set_hex(item, "max", stats->max, stats->max_length, err));
    }
    return json_append(array, TAKE(item), err);
}

static enum err_code put_columns(struct json *output, const struct event_rewrite_result *event, struct error *err)
{
    TRY(events_check_count(event->column_count, 1, SCHEMA_MAX_COLUMNS, "columns", err));
    AUTO(json_free_auto) struct json *array = json_new_array();
    if (array == NULL) {
        return err_no_memory(err, 0);
    }
    for (size_t i = 0; i < event->column_count; i++) {
        TRY(put_column(array, &event->columns[i], err));
    }
    return json_set(output, "columns", TAKE(array), err);
}

static enum err_code put_output(struct json *json, const struct event_rewrite_result *event, struct error *err)
{
    AUTO(json_free_auto) struct json *output = json_new_object();
    if (output == NULL) {
        return err_no_memory(err, 0);
    }
    TRY(events_set_uuid(output, "id", &event->output_id, err));
    TRY(events_set_u64(output, "rows", event->row_count, err));
    TRY(events_set_u64(output, "bytes", event->data_bytes, err));
    TRY(events_set_u64(output, "memory_bytes", event->memory_bytes, err));
    TRY(json_set_i64(output, "min_us", event->min_timestamp_us, err));
    TRY(json_set_i64(output, "max_us", event->max_timestamp_us, err));
    TRY(events_set_hex(output, "sha256", event->sha256, sizeof event->sha256, err));
    TRY(json_set_string(output, "etag", event->etag, err));
    TRY(put_columns(output, event, err));
    return json_set(json, "output", TAKE(output), err);
}

/* Error texts may quote hostile bytes: what is not UTF-8 becomes "?", since JSON cannot carry it. */
static enum err_code set_any_text(struct json *object, const char *member, const char *text, struct error *err)
{
    AUTO(free_auto) char *clean = strdup(text);
    if (clean == NULL) {
        return err_no_memory(err, strlen(text));
    }
    size_t length = strlen(clean);
    for (size_t at = 0; (at += text_utf8_valid_prefix(clean + at, length - at)) < length;) {
        clean[at++] = '?';
    }
    return json_set_string(object, member, clean, err);
}

static enum err_code put_error(struct json *json, const struct event_rewrite_result *event, struct error *err)
{
    AUTO(json_free_auto) struct json *failure = json_new_object();
    if (failure == NULL) {
        return err_no_memory(err, 0);
    }
    TRY(json_set_string(failure, "code", event->error_code, err));
    TRY(set_any_text(failure, "text", event->error_text, err));
    if (!uuid_is_nil(&event->bad_partition)) {
        TRY(events_set_uuid(failure, "partition", &event->bad_partition, err));
    }
    return json_set(json, "error", TAKE(failure), err);
}

enum err_code event_rewrite_result_encode(const struct event_rewrite_result *event, struct buf *out, struct error *err)
{
    AUTO(json_free_auto) struct json *json = json_new_object();
    if (json == NULL) {
        return err_no_memory(err, 0);
    }
    TRY(events_set_uuid(json, "attempt", &event->attempt_id, err));
    TRY(json_set_i64(json, "token", event->token, err));
    TRY(json_set_bool(json, "ok", event->ok, err));
    TRY(event->ok ? put_output(json, event, err) : put_error(json, event, err));
    return events_dump(json, out, err);
}

/* --- decoding ---------------------------------------------------------------------------------------------------- */

static enum err_code take_type(const struct json *item, const struct json_place *at, enum column_type *out,
                               struct error *err)
{
    const char *name = NULL;
    TRY(json_get_string(item, at, "type", &name, err));
    for (size_t i = 0; i < COLUMN_TYPE_COUNT; i++) {
        if (strcmp(name, types[i].name) == 0) {
            *out = (enum column_type)i;
            return OK;
        }
    }
    char place[JSON_PLACE_TEXT_BYTES];
    const struct json_place here = {.parent = at, .member = "type"};
    return err_set(err, ERR_INVALID, "expected a column type at \"%s\" but found \"%.40s\"",
                   json_place_format(&here, place), name);
}

struct bound {
    bool *has;
    uint8_t *length;
    uint8_t *value;
};

static enum err_code take_bound(const struct json *item, const struct json_place *at, const char *member,
                                uint8_t width_bytes, struct bound bound, struct error *err)
{
    if (json_find(item, member) == NULL) {
        return OK;
    }
    const char *text = NULL;
    TRY(json_get_string(item, at, member, &text, err));
    size_t length = width_bytes != 0 ? width_bytes : strlen(text) / 2;
    if (length > COLUMN_STATS_VALUE_BYTES) {
        length = COLUMN_STATS_VALUE_BYTES; /* the digits are too many then, and refused */
    }
    TRY(events_get_hex(item, at, member, bound.value, length, err));
    *bound.length = (uint8_t)length;
    *bound.has = true;
    return OK;
}

static enum err_code take_column(const struct json *item, const struct json_place *at, struct column_stats *stats,
                                 struct error *err)
{
    int64_t id = 0;
    TRY(json_get_i64(item, at, "id", 1, UINT32_MAX, &id, err));
    stats->column_id = (uint32_t)id;
    TRY(take_type(item, at, &stats->type, err));
    TRY(events_get_u64(item, at, "nulls", &stats->null_count, err));
    uint8_t width_bytes = types[stats->type].width_bytes;
    TRY(take_bound(item, at, "min", width_bytes, (struct bound){&stats->has_min, &stats->min_length, stats->min}, err));
    return take_bound(item, at, "max", width_bytes, (struct bound){&stats->has_max, &stats->max_length, stats->max},
                      err);
}

static enum err_code take_columns(const struct json *output, const struct json_place *at, struct arena *arena,
                                  struct event_rewrite_result *event, struct error *err)
{
    struct json *array = NULL;
    void *columns = NULL;
    TRY(events_get_array(output, "columns", 1, SCHEMA_MAX_COLUMNS, &array, err));
    event->column_count = json_length(array);
    TRY(events_alloc(arena, event->column_count, sizeof *event->columns, &columns, err));
    event->columns = columns;
    const struct json_place list = {.parent = at, .member = "columns"};
    for (size_t i = 0; i < event->column_count; i++) {
        const struct json_place here = {.parent = &list, .index = i};
        TRY(take_column(json_at(array, i), &here, &event->columns[i], err));
    }
    return OK;
}

static enum err_code take_output(const struct json *json, struct arena *arena, struct event_rewrite_result *event,
                                 struct error *err)
{
    static const struct events_bounds etag_bounds = {0, EVENTS_PATH_MAX_BYTES};
    struct json *output = NULL;
    const struct json_place at = {.member = "output"};
    TRY(json_get_object(json, NULL, "output", &output, err));
    TRY(events_get_uuid(output, &at, "id", &event->output_id, err));
    TRY(events_get_u64(output, &at, "rows", &event->row_count, err));
    TRY(events_get_u64(output, &at, "bytes", &event->data_bytes, err));
    TRY(events_get_u64(output, &at, "memory_bytes", &event->memory_bytes, err));
    TRY(json_get_i64(output, &at, "min_us", INT64_MIN, INT64_MAX, &event->min_timestamp_us, err));
    TRY(json_get_i64(output, &at, "max_us", event->min_timestamp_us, INT64_MAX, &event->max_timestamp_us, err));
    TRY(events_get_hex(output, &at, "sha256", event->sha256, sizeof event->sha256, err));
    TRY(events_get_text(output, &at, "etag", etag_bounds, arena, &event->etag, err));
    return take_columns(output, &at, arena, event, err);
}

static enum err_code take_error(const struct json *json, struct arena *arena, struct event_rewrite_result *event,
                                struct error *err)
{
    static const struct events_bounds code_bounds = {1, EVENTS_NAME_MAX_BYTES},
                                      text_bounds = {0, EVENTS_TEXT_MAX_BYTES};
    struct json *failure = NULL;
    const struct json_place at = {.member = "error"};
    TRY(json_get_object(json, NULL, "error", &failure, err));
    TRY(events_get_text(failure, &at, "code", code_bounds, arena, &event->error_code, err));
    TRY(events_get_text(failure, &at, "text", text_bounds, arena, &event->error_text, err));
    return events_opt_uuid(failure, &at, "partition", &event->bad_partition, err);
}

enum err_code event_rewrite_result_decode(const void *data, size_t length, struct arena *arena,
                                          struct event_rewrite_result *out, struct error *err)
{
    AUTO(json_free_auto) struct json *json = NULL;
    struct event_rewrite_result event = {.error_code = "", .error_text = "", .etag = ""};
    TRY(events_parse(data, length, &json, err));
    TRY(events_get_uuid(json, NULL, "attempt", &event.attempt_id, err));
    TRY(json_get_i64(json, NULL, "token", 1, INT64_MAX, &event.token, err));
    TRY(json_get_bool(json, NULL, "ok", &event.ok, err));
    TRY(event.ok ? take_output(json, arena, &event, err) : take_error(json, arena, &event, err));
    *out = event;
    return OK;
}
