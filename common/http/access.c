/* What a handler may ask of its request. */
#include <assert.h>
#include <string.h>

#include "common/base/uuid.h"
#include "common/http/internal.h"

enum { LONGEST_REQUEST_ID = 64 };

struct arena *http_arena(struct http_request *request)
{
    return request->arena;
}

const char *http_path(struct http_request *request, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < request->match.part_count; i++) {
        const struct http_part *part = &request->match.parts[i];
        if (part->name_length == length && memcmp(part->name, name, length) == 0) {
            return part->value;
        }
    }
    return NULL;
}

const char *http_query(struct http_request *request, const char *name)
{
    const char *value = MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
    return value == NULL ? NULL : http_unescape(value, strlen(value), request->arena);
}

const char *http_header(struct http_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

const void *http_body(struct http_request *request, size_t *out_bytes)
{
    *out_bytes = request->body.length_bytes;
    return request->body.length_bytes == 0 ? "" : (const char *)request->body.data; /* the NUL is there: see run() */
}

void *http_state(struct http_request *request)
{
    return request->state;
}

const char *http_principal(struct http_request *request)
{
    return request->principal;
}

bool http_has_role(struct http_request *request, enum http_role role)
{
    return (request->roles & (unsigned)role) == (unsigned)role;
}

/* It goes into logs and back into a header. */
static bool is_sane_id(const char *id)
{
    size_t length = strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
    return length > 0 && length <= LONGEST_REQUEST_ID && id[length] == '\0';
}

const char *http_request_id(struct http_request *request)
{
    if (request->request_id != NULL) {
        return request->request_id;
    }
    char text[UUID_TEXT_BYTES];
    const char *id = http_header(request, "X-Request-Id");
    if (id == NULL || !is_sane_id(id)) {
        struct uuid uuid = uuid_v7();
        id = uuid_format(&uuid, text);
    }
    request->request_id = arena_strdup(request->arena, id);
    return request->request_id == NULL ? "" : request->request_id;
}

void http_set_header(struct http_request *request, const char *name, const char *value)
{
    size_t at = 0;
    while (at < request->header_count && strcmp(request->headers[at].name, name) != 0) {
        at++;
    }
    assert(at < HTTP_MAX_HEADERS);
    request->headers[at].name = name;
    request->headers[at].value = arena_strdup(request->arena, value);
    request->header_count += at == request->header_count;
}

void http_set_error_status(struct http_request *request, unsigned status)
{
    request->error_status = status;
}
