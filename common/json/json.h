/* JSON documents: parse what comes from outside with limits, read it with errors that name the place, build, dump.
 * The one home of jansson. Not for rows on the hot path (common/ingest has its own parser).
 *
 * A `struct json *` is one reference. Members and elements that a getter returns are borrowed from their parent. */
#ifndef GRANARY_JSON_JSON_H
#define GRANARY_JSON_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/error.h"

struct json;

enum json_kind {
    JSON_KIND_OBJECT,
    JSON_KIND_ARRAY,
    JSON_KIND_STRING,
    JSON_KIND_INTEGER,
    JSON_KIND_REAL,
    JSON_KIND_BOOL,
    JSON_KIND_NULL,
    JSON_KIND_COUNT
};

struct json_limits {
    size_t max_bytes;   /* 0: 1 MiB */
    uint32_t max_depth; /* of arrays and objects; 0: 32; at most 2000 */
};

/* One JSON value and nothing behind it; members may not repeat. ERR_INVALID says what is wrong and where (line and
 * column). limits may be NULL. Strings may hold \u0000; the text getters below then refuse them. */
MUST_CHECK enum err_code json_parse(const char *text, size_t length, const struct json_limits *limits,
                                    struct json **out, struct error *err);
void json_free(struct json *json);
DEFINE_AUTO(struct json, json_free)
struct json *json_share(struct json *json); /* one more reference */

enum json_kind json_kind(const struct json *json);
bool json_same(const struct json *a, const struct json *b); /* equal in value; the order of members does not matter */

/* --- reading ----------------------------------------------------------------------------------------------------- */

/* Where a value stands: "columns[2].name". A place is made on the stack and points to its parent's, which must outlive
 * it; the root has no place (NULL). Exactly one of member and index counts. */
struct json_place {
    const struct json_place *parent;
    const char *member; /* NULL: `index` */
    size_t index;
};
enum { JSON_PLACE_TEXT_BYTES = 256 };
char *json_place_format(const struct json_place *place,
                        char text[JSON_PLACE_TEXT_BYTES]); /* cut at the front with ... */

/* Members of an object. Where it is absent (or null): ERR_INVALID, unless the getter has a default. A value of another
 * type is ERR_INVALID: expected a string at "columns[2].name" but found a number. `at` is the place of the object. */
MUST_CHECK enum err_code json_get_string(const struct json *object, const struct json_place *at, const char *member,
                                         const char **out, struct error *err); /* borrowed, no NUL inside */
MUST_CHECK enum err_code json_get_i64(const struct json *object, const struct json_place *at, const char *member,
                                      int64_t min, int64_t max, int64_t *out, struct error *err);
MUST_CHECK enum err_code json_get_double(const struct json *object, const struct json_place *at, const char *member,
                                         double *out, struct error *err); /* integers too */
MUST_CHECK enum err_code json_get_bool(const struct json *object, const struct json_place *at, const char *member,
                                       bool *out, struct error *err);
MUST_CHECK enum err_code json_get_object(const struct json *object, const struct json_place *at, const char *member,
                                         struct json **out, struct error *err);
MUST_CHECK enum err_code json_get_array(const struct json *object, const struct json_place *at, const char *member,
                                        struct json **out, struct error *err);
/* The same with *out left as it is where the member is absent or null. */
MUST_CHECK enum err_code json_opt_string(const struct json *object, const struct json_place *at, const char *member,
                                         const char **out, struct error *err);
MUST_CHECK enum err_code json_opt_i64(const struct json *object, const struct json_place *at, const char *member,
                                      int64_t min, int64_t max, int64_t *out, struct error *err);
MUST_CHECK enum err_code json_opt_double(const struct json *object, const struct json_place *at, const char *member,
                                         double *out, struct error *err);
MUST_CHECK enum err_code json_opt_bool(const struct json *object, const struct json_place *at, const char *member,
                                       bool *out, struct error *err);
MUST_CHECK enum err_code json_opt_object(const struct json *object, const struct json_place *at, const char *member,
                                         struct json **out, struct error *err);
MUST_CHECK enum err_code json_opt_array(const struct json *object, const struct json_place *at, const char *member,
                                        struct json **out, struct error *err);

/* The value itself, borrowed; NULL where absent or where `object` is none. */
struct json *json_find(const struct json *object, const char *member);

/* ERR_INVALID unless `json` is an object with no members but these (NULL-terminated list). */
MUST_CHECK enum err_code json_check_members(const struct json *json, const struct json_place *at,
                                            const char *const *members, struct error *err);

/* Elements. json_length is 0 for what is neither array nor object. */
size_t json_length(const struct json *json);
struct json *json_at(const struct json *array, size_t index); /* borrowed; index < json_length */
MUST_CHECK enum err_code json_string_at(const struct json *array, const struct json_place *at, size_t index,
                                        const char **out, struct error *err);

/* Goes over the members of an object in the order they were put: start with *iterator = NULL; false at the end. */
bool json_next(struct json *object, void **iterator, const char **out_member, struct json **out_value);

/* Scalars without a parent: NULL, 0 or false for anything of another kind. The text may hold NULs; length may be NULL. */
const char *json_as_text(const struct json *json, size_t *out_length);
int64_t json_as_i64(const struct json *json);
double json_as_double(const struct json *json); /* integers too */
bool json_as_bool(const struct json *json);

/* --- building ---------------------------------------------------------------------------------------------------- */

/* NULL when out of memory, or when a text is not UTF-8. */
struct json *json_new_object(void);
struct json *json_new_array(void);
struct json *json_new_string(const char *text, size_t length);
struct json *json_new_i64(int64_t value);
struct json *json_new_double(double value); /* NULL for NaN and infinities */
struct json *json_new_bool(bool value);
struct json *json_new_null(void);

/* `value_take` is freed on failure too, and may be NULL (ERR_NO_MEMORY): json_set(o, "n", json_new_i64(1), err). */
MUST_CHECK enum err_code json_set(struct json *object, const char *member, struct json *value_take, struct error *err);
MUST_CHECK enum err_code json_append(struct json *array, struct json *value_take, struct error *err);

/* A NULL text becomes null. Bytes that are not UTF-8 are ERR_INVALID. */
MUST_CHECK enum err_code json_set_string(struct json *object, const char *member, const char *text, struct error *err);
MUST_CHECK enum err_code json_set_i64(struct json *object, const char *member, int64_t value, struct error *err);
MUST_CHECK enum err_code json_set_double(struct json *object, const char *member, double value, struct error *err);
MUST_CHECK enum err_code json_set_bool(struct json *object, const char *member, bool value, struct error *err);

/* --- dumping ----------------------------------------------------------------------------------------------------- */

enum json_style {
    JSON_STYLE_COMPACT, /* members in the order they were put */
    JSON_STYLE_SORTED,  /* compact, members sorted: equal documents give equal bytes */
    JSON_STYLE_PRETTY,  /* two spaces */
    JSON_STYLE_COUNT
};
/* Appends to `out`; no newline at the end. Any JSON value, not only arrays and objects. */
MUST_CHECK enum err_code json_dump(const struct json *json, enum json_style style, struct buf *out, struct error *err);
/* A new text, owned by the caller (free()). */
MUST_CHECK enum err_code json_dump_text(const struct json *json, enum json_style style, char **out, struct error *err);

#endif
