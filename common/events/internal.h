/* What the message types share: fields of the kinds that JSON lacks, with errors that name the member. */
#ifndef GRANARY_EVENTS_INTERNAL_H
#define GRANARY_EVENTS_INTERNAL_H

#include "common/events/events.h"
#include "common/json/json.h"

enum {
    EVENTS_MAX_BYTES = 8 << 20,   /* the largest: a task of 1000 inputs, a result of 2000 columns; both below 2 MiB */
    EVENTS_PATH_MAX_BYTES = 1024, /* S3's longest key */
    EVENTS_NAME_MAX_BYTES = 255,
    EVENTS_TEXT_MAX_BYTES = 4 << 20,
};

/* The whole message as an object. */
MUST_CHECK enum err_code events_parse(const void *data, size_t length, struct json **out, struct error *err);
/* Appends the message. */
MUST_CHECK enum err_code events_dump(const struct json *json, struct buf *out, struct error *err);

/* Absent members are refused, but for the `opt`s, which leave *out as it is. */
MUST_CHECK enum err_code events_get_uuid(const struct json *object, const struct json_place *at, const char *member,
                                         struct uuid *out, struct error *err);
MUST_CHECK enum err_code events_opt_uuid(const struct json *object, const struct json_place *at, const char *member,
                                         struct uuid *out, struct error *err);
MUST_CHECK enum err_code events_get_u64(const struct json *object, const struct json_place *at, const char *member,
                                        uint64_t *out, struct error *err);
/* Exactly `length` bytes, as hex. */
MUST_CHECK enum err_code events_get_hex(const struct json *object, const struct json_place *at, const char *member,
                                        void *out, size_t length, struct error *err);
/* min_bytes..max_bytes, copied to the arena. */
struct events_bounds {
    size_t min_bytes, max_bytes;
};
MUST_CHECK enum err_code events_get_text(const struct json *object, const struct json_place *at, const char *member,
                                         struct events_bounds bounds, struct arena *arena, const char **out,
                                         struct error *err);
/* An array of min..max elements. */
MUST_CHECK enum err_code events_get_array(const struct json *object, const char *member, size_t min, size_t max,
                                          struct json **out, struct error *err);

MUST_CHECK enum err_code events_set_uuid(struct json *object, const char *member, const struct uuid *value,
                                         struct error *err);
MUST_CHECK enum err_code events_set_u64(struct json *object, const char *member, uint64_t value, struct error *err);
MUST_CHECK enum err_code events_set_hex(struct json *object, const char *member, const void *data, size_t length,
                                        struct error *err);

/* zeroed elements; ERR_NO_MEMORY */
MUST_CHECK enum err_code events_alloc(struct arena *arena, size_t count, size_t size, void **out, struct error *err);
/* For encoders: a count that no decoder would take is the caller's error. */
MUST_CHECK enum err_code events_check_count(size_t count, size_t min, size_t max, const char *what, struct error *err);

#endif
