#include <stdio.h>
#include <string.h>

#include "common/base/text.h"
#include "common/events/internal.h"

enum { HEX_MAX_BYTES = 64 };

enum err_code events_parse(const void *data, size_t length, struct json **out, struct error *err)
{
    static const struct json_limits limits = {.max_bytes = EVENTS_MAX_BYTES, .max_depth = 8};
    AUTO(json_free_auto) struct json *json = NULL;
    TRY(json_parse(data, length, &limits, &json, err));
    if (json_kind(json) != JSON_KIND_OBJECT) {
        return err_set(err, ERR_INVALID, "expected a JSON object as message");
    }
    *out = TAKE(json);
    return OK;
}

enum err_code events_dump(const struct json *json, struct buf *out, struct error *err)
{
    return json_dump(json, JSON_STYLE_COMPACT, out, err);
}

static enum err_code bad_member(const struct json_place *at, const char *member, const char *expected,
                                struct error *err)
{
    char place[JSON_PLACE_TEXT_BYTES];
    const struct json_place here = {.parent = at, .member = member};
    return err_set(err, ERR_INVALID, "expected %s at \"%s\"", expected, json_place_format(&here, place));
}

enum err_code events_get_uuid(const struct json *object, const struct json_place *at, const char *member,
                              struct uuid *out, struct error *err)
{
    const char *text = NULL;
    TRY(json_get_string(object, at, member, &text, err));
    return uuid_parse(text, strlen(text), out, NULL) == OK ? OK : bad_member(at, member, "a UUID", err);
}

enum err_code events_opt_uuid(const struct json *object, const struct json_place *at, const char *member,
                              struct uuid *out, struct error *err)
{
    return json_find(object, member) == NULL ? OK : events_get_uuid(object, at, member, out, err);
}

enum err_code events_get_u64(const struct json *object, const struct json_place *at, const char *member, uint64_t *out,
                             struct error *err)
{
    int64_t value = 0;
    TRY(json_get_i64(object, at, member, 0, INT64_MAX, &value, err));
    *out = (uint64_t)value;
    return OK;
}

enum err_code events_get_hex(const struct json *object, const struct json_place *at, const char *member, void *out,
                             size_t length, struct error *err)
{
    const char *text = NULL;
    TRY(json_get_string(object, at, member, &text, err));
    if (!text_hex_decode(text, strlen(text), out, length)) {
        char expected[64];
        (void)snprintf(expected, sizeof expected, "%zu hex digits", 2 * length);
        return bad_member(at, member, expected, err);
    }
    return OK;
}

enum err_code events_get_text(const struct json *object, const struct json_place *at, const char *member,
                              struct events_bounds bounds, struct arena *arena, const char **out, struct error *err)
{
    const char *text = NULL;
    TRY(json_get_string(object, at, member, &text, err));
    size_t length = strlen(text);
    if (length < bounds.min_bytes || length > bounds.max_bytes) {
        char expected[96];
        (void)snprintf(expected, sizeof expected, "a text of %zu to %zu bytes", bounds.min_bytes, bounds.max_bytes);
        return bad_member(at, member, expected, err);
    }
    char *copy = arena_strndup(arena, text, length);
    if (copy == NULL) {
        return err_no_memory(err, length);
    }
    *out = copy;
    return OK;
}

enum err_code events_get_array(const struct json *object, const char *member, size_t min, size_t max, struct json **out,
                               struct error *err)
{
    struct json *array = NULL;
    TRY(json_get_array(object, NULL, member, &array, err));
    TRY(events_check_count(json_length(array), min, max, member, err));
    *out = array;
    return OK;
}

enum err_code events_set_uuid(struct json *object, const char *member, const struct uuid *value, struct error *err)
{
    char text[UUID_TEXT_BYTES];
    return json_set_string(object, member, uuid_format(value, text), err);
}

enum err_code events_set_u64(struct json *object, const char *member, uint64_t value, struct error *err)
{
    if (value > INT64_MAX) {
        return err_set(err, ERR_INVALID, "expected \"%s\" below 2^63 but found %llu", member,
                       (unsigned long long)value);
    }
    return json_set_i64(object, member, (int64_t)value, err);
}

enum err_code events_set_hex(struct json *object, const char *member, const void *data, size_t length,
                             struct error *err)
{
    char text[2 * HEX_MAX_BYTES + 1];
    if (length > HEX_MAX_BYTES) {
        return err_set(err, ERR_INVALID, "expected at most %d bytes for \"%s\" but found %zu", (int)HEX_MAX_BYTES,
                       member, length);
    }
    text_hex_encode(data, length, text);
    return json_set_string(object, member, text, err);
}

enum err_code events_alloc(struct arena *arena, size_t count, size_t size, void **out, struct error *err)
{
    void *memory = arena_zalloc(arena, count, size);
    if (memory == NULL) {
        return err_no_memory(err, count);
    }
    *out = memory;
    return OK;
}

enum err_code events_check_count(size_t count, size_t min, size_t max, const char *what, struct error *err)
{
    if (count < min || count > max) {
        return err_set(err, ERR_INVALID, "expected %zu to %zu of \"%s\" but found %zu", min, max, what, count);
    }
    return OK;
}
