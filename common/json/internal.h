/* The cast between our opaque type and jansson's. */
#ifndef GRANARY_JSON_INTERNAL_H
#define GRANARY_JSON_INTERNAL_H

#include <jansson.h>

#include "common/json/json.h"

static inline json_t *inner(const struct json *json)
{
    return (json_t *)(uintptr_t)json; /* reading does not change it, but jansson wants references to be writable */
}

static inline struct json *outer(json_t *value)
{
    return (struct json *)value;
}

#endif
