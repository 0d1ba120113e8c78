/* Building and dumping. */
#include <string.h>

#include "common/json/internal.h"

struct json *json_new_object(void)
{
    return outer(json_object());
}

struct json *json_new_array(void)
{
    return outer(json_array());
}

struct json *json_new_string(const char *text, size_t length)
{
    return outer(json_stringn(text, length));
}

struct json *json_new_i64(int64_t value)
{
    return outer(json_integer(value));
}

struct json *json_new_double(double value)
{
    return outer(json_real(value));
}

struct json *json_new_bool(bool value)
{
    return outer(json_boolean(value));
}

struct json *json_new_null(void)
{
    return outer(json_null());
}

enum err_code json_set(struct json *object, const char *member, struct json *value_take, struct error *err)
{
    if (value_take == NULL) {
        return err_set(err, ERR_NO_MEMORY, "could not allocate the value of \"%s\"", member);
    }
    return json_object_set_new(inner(object), member, inner(value_take)) == 0
               ? OK
               : err_set(err, ERR_NO_MEMORY, "could not set \"%s\"", member);
}

enum err_code json_append(struct json *array, struct json *value_take, struct error *err)
{
    if (value_take == NULL) {
        return err_set(err, ERR_NO_MEMORY, "could not allocate an element");
    }
    return json_array_append_new(inner(array), inner(value_take)) == 0
               ? OK
               : err_set(err, ERR_NO_MEMORY, "could not append to an array");
}

enum err_code json_set_string(struct json *object, const char *member, const char *text, struct error *err)
{
    struct json *value = text == NULL ? json_new_null() : json_new_string(text, strlen(text));
    if (value == NULL) {
        return err_set(err, ERR_INVALID, "expected UTF-8 text for \"%s\"", member);
    }
    return json_set(object, member, value, err);
}

enum err_code json_set_i64(struct json *object, const char *member, int64_t value, struct error *err)
{
    return json_set(object, member, json_new_i64(value), err);
}

enum err_code json_set_double(struct json *object, const char *member, double value, struct error *err)
{
    struct json *number = json_new_double(value);
    if (number == NULL) {
        return err_set(err, ERR_INVALID, "expected a finite number for \"%s\"", member);
    }
    return json_set(object, member, number, err);
}

enum err_code json_set_bool(struct json *object, const char *member, bool value, struct error *err)
{
    return json_set(object, member, json_new_bool(value), err);
}

static size_t style_flags(enum json_style style)
{
    switch (style) {
    case JSON_STYLE_COMPACT: return JSON_COMPACT;
    case JSON_STYLE_SORTED: return JSON_COMPACT | JSON_SORT_KEYS;
    case JSON_STYLE_PRETTY: return JSON_INDENT(2);
    case JSON_STYLE_COUNT: break;
    }
    return 0;
}

struct dump {
    struct buf *out;
    struct error *err;
    enum err_code code;
};

static int dump_piece(const char *data, size_t length, void *context)
{
    struct dump *dump = context;
    dump->code = buf_append(dump->out, data, length, dump->err);
    return dump->code == OK ? 0 : -1;
}

enum err_code json_dump(const struct json *json, enum json_style style, struct buf *out, struct error *err)
{
    struct dump dump = {.out = out, .err = err};
    size_t before = out->length_bytes;
    if (json_dump_callback(inner(json), dump_piece, &dump, style_flags(style) | JSON_ENCODE_ANY) != 0) {
        out->length_bytes = before;
        return dump.code != OK ? dump.code : err_set(err, ERR_NO_MEMORY, "could not dump a JSON document");
    }
    return OK;
}

enum err_code json_dump_text(const struct json *json, enum json_style style, char **out, struct error *err)
{
    AUTO(buf_done) struct buf text = {0};
    TRY(json_dump(json, style, &text, err));
    TRY(buf_append_byte(&text, '\0', err));
    *out = (char *)TAKE(text.data);
    return OK;
}
