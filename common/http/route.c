/* Patterns are compared part by part on the path as sent, and only what a brace takes is decoded: an encoded slash in a
 * name never becomes a part border. There are a few dozen routes; a list is fast enough. */
#include <stdio.h>
#include <string.h>

#include "common/base/text.h"
#include "common/http/internal.h"

char *http_unescape(const char *text, size_t length, struct arena *arena)
{
    char *out = arena_strndup(arena, text, length);
    if (out == NULL || memchr(text, '%', length) == NULL) {
        return out;
    }
    size_t to = 0;
    for (size_t from = 0; from < length; from++) {
        char byte = text[from];
        char decoded;
        if (byte == '%' && length - from > 2 && text_hex_decode(text + from + 1, 2, &decoded, 1) && decoded != '\0') {
            byte = decoded;
            from += 2;
        }
        out[to++] = byte;
    }
    out[to] = '\0';
    return out;
}

/* Positions of the braces' values; false when the pattern does not fit. */
static bool fits(const char *pattern, const char *path, struct http_part parts[HTTP_MAX_PARTS],
                 size_t lengths[HTTP_MAX_PARTS], size_t *out_count)
{
    size_t count = 0;
    while (*pattern != '\0' && *path != '\0') {
        if (*pattern == '{' && count < HTTP_MAX_PARTS) {
            size_t name_length = strcspn(pattern + 1, "}");
            size_t length = strcspn(path, "/");
            if (length == 0) {
                return false;
            }
            parts[count] = (struct http_part){.name = pattern + 1, .name_length = name_length, .value = path};
            lengths[count++] = length;
            pattern += name_length + 2;
            path += length;
        } else if (*pattern++ != *path++) {
            return false;
        }
    }
    *out_count = count;
    return *pattern == '\0' && *path == '\0';
}

/* HEAD is answered by the route of GET; libmicrohttpd leaves the body out. */
static bool serves(const struct http_route *route, const char *method)
{
    return strcmp(route->method, strcmp(method, "HEAD") == 0 ? "GET" : method) == 0;
}

static void allow(const char *method, char allow[HTTP_ALLOW_BYTES])
{
    size_t length = strlen(allow);
    (void)snprintf(allow + length, HTTP_ALLOW_BYTES - length, "%s%s", length == 0 ? "" : ", ", method);
}

static enum err_code take_match(const struct http_route *route, void *context, const size_t lengths[HTTP_MAX_PARTS],
                                struct arena *arena, struct http_match *match, struct error *err)
{
    for (size_t i = 0; i < match->part_count; i++) {
        match->parts[i].value = http_unescape(match->parts[i].value, lengths[i], arena);
        if (match->parts[i].value == NULL) {
            return err_no_memory(err, lengths[i]);
        }
    }
    match->route = route;
    match->context = route->context != NULL ? route->context : context;
    return OK;
}

enum err_code http_match(const struct http_table *tables, size_t table_count, const char *method, const char *path,
                         struct arena *arena, struct http_match *out, struct error *err)
{
    out->route = NULL;
    out->allow[0] = '\0';
    size_t lengths[HTTP_MAX_PARTS];
    for (size_t i = 0; i < table_count; i++) {
        for (const struct http_route *route = tables[i].routes; route < tables[i].routes + tables[i].count; route++) {
            if (!fits(route->pattern, path, out->parts, lengths, &out->part_count)) {
                continue;
            }
            if (serves(route, method)) {
                return take_match(route, tables[i].context, lengths, arena, out, err);
            }
            allow(route->method, out->allow);
        }
    }
    return OK;
}
