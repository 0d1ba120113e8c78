#include "common/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void mark_cut(char *text, size_t capacity, int wanted)
{
    if (wanted >= 0 && (size_t)wanted >= capacity && capacity > 4) {
        memcpy(text + capacity - 4, "...", 4);
    }
}

enum err_code err_set(struct error *err, enum err_code code, const char *format, ...)
{
    if (err != NULL) {
        va_list arguments;
        char text[ERROR_TEXT_BYTES]; /* the arguments may point into err->text */
        va_start(arguments, format);
        mark_cut(text, sizeof text, vsnprintf(text, sizeof text, format, arguments));
        va_end(arguments);
        err->code = code;
        memcpy(err->text, text, sizeof text);
    }
    return code;
}

enum err_code err_wrap(struct error *err, const char *format, ...)
{
    if (err == NULL) {
        return ERR_INVALID;
    }
    char prefix[ERROR_TEXT_BYTES];
    char text[ERROR_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(prefix, sizeof prefix, format, arguments);
    va_end(arguments);
    int wanted = snprintf(text, sizeof text, "%s: %s", prefix, err->text);
    mark_cut(text, sizeof text, wanted);
    memcpy(err->text, text, sizeof text);
    return err->code;
}

enum err_code err_no_memory(struct error *err, size_t bytes)
{
    return err_set(err, ERR_NO_MEMORY, "could not allocate %zu bytes", bytes);
}

const char *err_code_name(enum err_code code)
{
    switch (code) {
    case OK: return "ok";
    case ERR_NO_MEMORY: return "no_memory";
    case ERR_INVALID: return "invalid";
    case ERR_NOT_FOUND: return "not_found";
    case ERR_CONFLICT: return "conflict";
    case ERR_TIMEOUT: return "timeout";
    case ERR_UNAVAILABLE: return "unavailable";
    case ERR_CORRUPT: return "corrupt";
    case ERR_DENIED: return "denied";
    case ERR_STOPPED: return "stopped";
    case ERR_UNKNOWN: return "unknown";
    case ERR_COUNT: break;
    }
    return "invalid_code";
}
