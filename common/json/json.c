#include "common/json/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/json/internal.h"

enum { DEFAULT_MAX_BYTES = 1 << 20, DEFAULT_MAX_DEPTH = 32 };

/* jansson bounds depth at 2048 only, and that at compile time. Strings are skipped; what is wrong otherwise is for the
 * parser to say. */
static bool is_too_deep(const char *text, size_t length, uint32_t max_depth)
{
    uint32_t depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (in_string) {
            i += c == '\\';
            in_string = c != '"';
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            if (++depth > max_depth) {
                return true;
            }
        } else if ((c == ']' || c == '}') && depth > 0) {
            depth--;
        }
    }
    return false;
}

enum err_code json_parse(const char *text, size_t length, const struct json_limits *limits, struct json **out,
                         struct error *err)
{
    size_t max_bytes = limits != NULL && limits->max_bytes != 0 ? limits->max_bytes : DEFAULT_MAX_BYTES;
    uint32_t max_depth = limits != NULL && limits->max_depth != 0 ? limits->max_depth : DEFAULT_MAX_DEPTH;
    if (length > max_bytes) {
        return err_set(err, ERR_INVALID, "expected at most %zu bytes of JSON but found %zu", max_bytes, length);
    }
    if (is_too_deep(text, length, max_depth)) {
        return err_set(err, ERR_INVALID, "expected JSON at most %" PRIu32 " levels deep", max_depth);
    }
    json_error_t error;
    json_t *value = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (value == NULL) {
        return err_set(err, json_error_code(&error) == json_error_out_of_memory ? ERR_NO_MEMORY : ERR_INVALID,
                       "expected JSON but found an error at line %d, column %d: %s", error.line, error.column,
                       error.text);
    }
    *out = outer(value);
    return OK;
}

void json_free(struct json *json)
{
    json_decref(inner(json));
}

struct json *json_share(struct json *json)
{
    return outer(json_incref(inner(json)));
}

enum json_kind json_kind(const struct json *json)
{
    switch (json_typeof(inner(json))) {
    case JSON_OBJECT: return JSON_KIND_OBJECT;
    case JSON_ARRAY: return JSON_KIND_ARRAY;
    case JSON_STRING: return JSON_KIND_STRING;
    case JSON_INTEGER: return JSON_KIND_INTEGER;
    case JSON_REAL: return JSON_KIND_REAL;
    case JSON_TRUE:
    case JSON_FALSE: return JSON_KIND_BOOL;
    case JSON_NULL: break;
    }
    return JSON_KIND_NULL;
}

bool json_same(const struct json *a, const struct json *b)
{
    return json_equal(inner(a), inner(b)) != 0;
}

/* --- places ------------------------------------------------------------------------------------------------------ */

/* From the leaf to the root, written from the end of the text. */
char *json_place_format(const struct json_place *place, char text[JSON_PLACE_TEXT_BYTES])
{
    size_t start = JSON_PLACE_TEXT_BYTES - 1;
    text[start] = '\0';
    for (; place != NULL; place = place->parent) {
        char index[32];
        bool is_first = place->parent == NULL;
        if (place->member == NULL) {
            (void)snprintf(index, sizeof index, "[%zu]", place->index);
        }
        const char *part = place->member == NULL ? index : place->member;
        size_t length = strlen(part);
        bool dotted = place->member != NULL && !is_first;
        if (length + dotted + 3 > start) { /* three for the dots */
            start -= 3;
            memcpy(text + start, "...", 3);
            break;
        }
        start -= length;
        memcpy(text + start, part, length);
        if (dotted) {
            text[--start] = '.';
        }
    }
    return memmove(text, text + start, JSON_PLACE_TEXT_BYTES - start);
}

static const char *kind_text(const struct json *json)
{
    static const char *const texts[JSON_KIND_COUNT] = {
        [JSON_KIND_OBJECT] = "an object", [JSON_KIND_ARRAY] = "an array", [JSON_KIND_STRING] = "a string",
        [JSON_KIND_INTEGER] = "a number", [JSON_KIND_REAL] = "a number",  [JSON_KIND_BOOL] = "a boolean",
        [JSON_KIND_NULL] = "null",
    };
    return json == NULL ? "nothing" : texts[json_kind(json)];
}

static enum err_code wrong_kind(const char *expected, const struct json_place *place, const struct json *found,
                                struct error *err)
{
    char text[JSON_PLACE_TEXT_BYTES];
    return place == NULL ? err_set(err, ERR_INVALID, "expected %s but found %s", expected, kind_text(found))
                         : err_set(err, ERR_INVALID, "expected %s at \"%s\" but found %s", expected,
                                   json_place_format(place, text), kind_text(found));
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

struct json *json_find(const struct json *object, const char *member)
{
    return outer(json_object_get(inner(object), member));
}

/* What a member may be, and how its value is taken. */
struct taker {
    const char *expected;
    enum err_code (*take)(const struct json *value, const struct json_place *place, const struct taker *taker,
                          void *out, struct error *err);
    int64_t min, max;
};

static enum err_code take_member(const struct json *object, const struct json_place *at, const char *member,
                                 bool is_required, const struct taker *taker, void *out, struct error *err)
{
    if (object == NULL || !json_is_object(inner(object))) {
        return wrong_kind("an object", at, object, err);
    }
    struct json_place place = {.parent = at, .member = member};
    const struct json *value = json_find(object, member);
    if (value == NULL || json_is_null(inner(value))) {
        return is_required ? wrong_kind(taker->expected, &place, value, err) : OK;
    }
    return taker->take(value, &place, taker, out, err);
}

static enum err_code take_string(const struct json *value, const struct json_place *place, const struct taker *taker,
                                 void *out, struct error *err)
{
    if (!json_is_string(inner(value))) {
        return wrong_kind(taker->expected, place, value, err);
    }
    const char *text = json_string_value(inner(value));
    if (strlen(text) != json_string_length(inner(value))) {
        char where[JSON_PLACE_TEXT_BYTES];
        return err_set(err, ERR_INVALID, "expected text at \"%s\" but found a NUL character in it",
                       json_place_format(place, where));
    }
    *(const char **)out = text;
    return OK;
}

static enum err_code take_i64(const struct json *value, const struct json_place *place, const struct taker *taker,
                              void *out, struct error *err)
{
    char where[JSON_PLACE_TEXT_BYTES];
    if (!json_is_integer(inner(value))) {
        return wrong_kind(taker->expected, place, value, err);
    }
    int64_t number = json_integer_value(inner(value));
    if (number < taker->min || number > taker->max) {
        return err_set(err, ERR_INVALID,
                       "expected an integer from %" PRId64 " to %" PRId64 " at \"%s\" but found %" PRId64, taker->min,
                       taker->max, json_place_format(place, where), number);
    }
    *(int64_t *)out = number;
    return OK;
}

static enum err_code take_double(const struct json *value, const struct json_place *place, const struct taker *taker,
                                 void *out, struct error *err)
{
    if (!json_is_number(inner(value))) {
        return wrong_kind(taker->expected, place, value, err);
    }
    *(double *)out = json_number_value(inner(value));
    return OK;
}

static enum err_code take_bool(const struct json *value, const struct json_place *place, const struct taker *taker,
                               void *out, struct error *err)
{
    if (!json_is_boolean(inner(value))) {
        return wrong_kind(taker->expected, place, value, err);
    }
    *(bool *)out = json_is_true(inner(value));
    return OK;
}

static enum err_code take_object(const struct json *value, const struct json_place *place, const struct taker *taker,
                                 void *out, struct error *err)
{
    if (!json_is_object(inner(value))) {
        return wrong_kind(taker->expected, place, value, err);
    }
    *(struct json **)out = outer(inner(value));
    return OK;
}

static enum err_code take_array(const struct json *value, const struct json_place *place, const struct taker *taker,
                                void *out, struct error *err)
{
    if (!json_is_array(inner(value))) {
        return wrong_kind(taker->expected, place, value, err);
    }
    *(struct json **)out = outer(inner(value));
    return OK;
}

#define DEFINE_GETTERS_(name, type, expected_text)                                                            \
    enum err_code json_get_##name(const struct json *object, const struct json_place *at, const char *member, \
                                  type *out, struct error *err)                                               \
    {                                                                                                         \
        static const struct taker taker = {.expected = expected_text, .take = take_##name};                   \
        return take_member(object, at, member, true, &taker, out, err);                                       \
    }                                                                                                         \
    enum err_code json_opt_##name(const struct json *object, const struct json_place *at, const char *member, \
                                  type *out, struct error *err)                                               \
    {                                                                                                         \
        static const struct taker taker = {.expected = expected_text, .take = take_##name};                   \
        return take_member(object, at, member, false, &taker, out, err);                                      \
    }
DEFINE_GETTERS_(string, const char *, "a string")
DEFINE_GETTERS_(double, double, "a number")
DEFINE_GETTERS_(bool, bool, "a boolean")
DEFINE_GETTERS_(object, struct json *, "an object")
DEFINE_GETTERS_(array, struct json *, "an array")
#undef DEFINE_GETTERS_

enum err_code json_get_i64(const struct json *object, const struct json_place *at, const char *member, int64_t min,
                           int64_t max, int64_t *out, struct error *err)
{
    struct taker taker = {.expected = "an integer", .take = take_i64, .min = min, .max = max};
    return take_member(object, at, member, true, &taker, out, err);
}

enum err_code json_opt_i64(const struct json *object, const struct json_place *at, const char *member, int64_t min,
                           int64_t max, int64_t *out, struct error *err)
{
    struct taker taker = {.expected = "an integer", .take = take_i64, .min = min, .max = max};
    return take_member(object, at, member, false, &taker, out, err);
}

enum err_code json_check_members(const struct json *json, const struct json_place *at, const char *const *members,
                                 struct error *err)
{
    if (json == NULL || !json_is_object(inner(json))) {
        return wrong_kind("an object", at, json, err);
    }
    const char *name;
    json_t *value;
    json_object_foreach(inner(json), name, value)
    {
        size_t i = 0;
        while (members[i] != NULL && strcmp(members[i], name) != 0) {
            i++;
        }
        if (members[i] == NULL) {
            struct json_place place = {.parent = at, .member = name};
            char text[JSON_PLACE_TEXT_BYTES];
            return err_set(err, ERR_INVALID, "expected no member \"%s\"", json_place_format(&place, text));
        }
    }
    return OK;
}

size_t json_length(const struct json *json)
{
    return json_is_array(inner(json)) ? json_array_size(inner(json)) : json_object_size(inner(json));
}

struct json *json_at(const struct json *array, size_t index)
{
    return outer(json_array_get(inner(array), index));
}

enum err_code json_string_at(const struct json *array, const struct json_place *at, size_t index, const char **out,
                             struct error *err)
{
    static const struct taker taker = {.expected = "a string"};
    struct json_place place = {.parent = at, .index = index};
    const struct json *value = json_at(array, index);
    return value == NULL ? wrong_kind(taker.expected, &place, NULL, err) : take_string(value, &place, &taker, out, err);
}

bool json_next(struct json *object, void **iterator, const char **out_member, struct json **out_value)
{
    *iterator = *iterator == NULL ? json_object_iter(inner(object)) : json_object_iter_next(inner(object), *iterator);
    if (*iterator == NULL) {
        return false;
    }
    *out_member = json_object_iter_key(*iterator);
    *out_value = outer(json_object_iter_value(*iterator));
    return true;
}

const char *json_as_text(const struct json *json, size_t *out_length)
{
    if (out_length != NULL) {
        *out_length = json_string_length(inner(json));
    }
    return json_string_value(inner(json));
}

int64_t json_as_i64(const struct json *json)
{
    return json_integer_value(inner(json));
}

double json_as_double(const struct json *json)
{
    return json_number_value(inner(json));
}

bool json_as_bool(const struct json *json)
{
    return json_is_true(inner(json));
}
