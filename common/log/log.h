/* JSON-line logs on standard error: {"time":"...","level":"info","service":"reaper","message":"...", fields...}.
 * The message is a constant; what varies is a field. Only services log, and a failure once, where it is handled.
 * Thread safe; a line is one write(2). Hostile text is escaped, and cut at 4 KiB a field. */
#ifndef GRANARY_LOG_LOG_H
#define GRANARY_LOG_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/uuid.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR, LOG_LEVEL_COUNT };

struct log_field {
    const char *key;
    enum { LOG_FIELD_TEXT, LOG_FIELD_INT, LOG_FIELD_DOUBLE, LOG_FIELD_UUID } kind;
    union {
        const char *text; /* NULL prints null */
        int64_t integer;
        double real;
        const struct uuid *uuid;
    };
};

#define LOG_TEXT(k, v) ((struct log_field){.key = (k), .kind = LOG_FIELD_TEXT, .text = (v)})
#define LOG_INT(k, v)  ((struct log_field){.key = (k), .kind = LOG_FIELD_INT, .integer = (int64_t)(v)})
#define LOG_REAL(k, v) ((struct log_field){.key = (k), .kind = LOG_FIELD_DOUBLE, .real = (v)})
#define LOG_UUID(k, v) ((struct log_field){.key = (k), .kind = LOG_FIELD_UUID, .uuid = (v)})
/* Two fields: "code" and "error". */
#define LOG_ERR(e) LOG_TEXT("code", err_code_name((e)->code)), LOG_TEXT("error", (e)->text)

/* Called once, before any thread starts. `service` is borrowed. */
void log_init(const char *service, enum log_level least);
MUST_CHECK enum err_code log_level_parse(const char *text, enum log_level *out, struct error *err);

void log_write(enum log_level level, const char *message, const struct log_field *fields, size_t count);
#define LOG_(level, message, ...)                                                               \
    log_write((level), (message), (const struct log_field[]){{.key = NULL}, ##__VA_ARGS__} + 1, \
              sizeof((const struct log_field[]){{.key = NULL}, ##__VA_ARGS__}) / sizeof(struct log_field) - 1)
#define log_debug(message, ...) LOG_(LOG_DEBUG, message, ##__VA_ARGS__)
#define log_info(message, ...)  LOG_(LOG_INFO, message, ##__VA_ARGS__)
#define log_warn(message, ...)  LOG_(LOG_WARN, message, ##__VA_ARGS__)
#define log_error(message, ...) LOG_(LOG_ERROR, message, ##__VA_ARGS__)

#endif
