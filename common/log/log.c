/* A line is built in memory and written under a lock, so that lines of several threads never mix, not even when the reader
 * of a pipe is slow and write(2) takes only a part. A line that cannot be built is replaced by its bare message. */
#include "common/log/log.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/quote.h"

enum { LONGEST_TEXT_BYTES = 4096 };

static const char *const level_names[LOG_LEVEL_COUNT] = {"debug", "info", "warn", "error"};

static struct {
    pthread_mutex_t lock;
    const char *service;
    enum log_level least;
} logger = {.lock = PTHREAD_MUTEX_INITIALIZER, .service = "", .least = LOG_INFO};

void log_init(const char *service, enum log_level least)
{
    logger.service = service;
    logger.least = least;
}

enum err_code log_level_parse(const char *text, enum log_level *out, struct error *err)
{
    for (enum log_level level = LOG_DEBUG; level < LOG_LEVEL_COUNT; level++) {
        if (strcmp(text, level_names[level]) == 0) {
            *out = level;
            return OK;
        }
    }
    return err_set(err, ERR_INVALID, "expected a log level of debug, info, warn or error but found \"%.64s\"", text);
}

/* The longest start of text that the bound allows and that cuts no UTF-8 sequence in two. */
static size_t bounded_length(const char *text)
{
    size_t length = strnlen(text, LONGEST_TEXT_BYTES + 1);
    if (length <= LONGEST_TEXT_BYTES) {
        return length;
    }
    length = LONGEST_TEXT_BYTES;
    for (int back = 0; back < 3 && ((unsigned char)text[length] & 0xc0) == 0x80; back++) {
        length--;
    }
    return length;
}

static enum err_code append_text(const char *text, struct buf *line)
{
    if (text == NULL) {
        return buf_append_text(line, "null", NULL);
    }
    size_t length = bounded_length(text);
    TRY(quote_json(text, length, line, NULL));
    if (text[length] != '\0') {
        line->length_bytes--; /* the closing quote */
        TRY(buf_append_text(line, "...\"", NULL));
    }
    return OK;
}

static enum err_code append_value(const struct log_field *field, struct buf *line)
{
    char uuid[UUID_TEXT_BYTES];
    switch (field->kind) {
    case LOG_FIELD_TEXT: return append_text(field->text, line);
    case LOG_FIELD_INT: return buf_printf(line, NULL, "%" PRId64, field->integer);
    case LOG_FIELD_DOUBLE:
        return isfinite(field->real) ? buf_printf(line, NULL, "%.9g", field->real) : append_text(NULL, line);
    case LOG_FIELD_UUID: return append_text(field->uuid == NULL ? NULL : uuid_format(field->uuid, uuid), line);
    }
    return OK;
}

static enum err_code append_member(const char *key, struct buf *line)
{
    TRY(buf_append_byte(line, ',', NULL));
    TRY(append_text(key, line));
    return buf_append_byte(line, ':', NULL);
}

static enum err_code build_line(enum log_level level, const char *message, const struct log_field *fields, size_t count,
                                struct buf *line)
{
    char time[CLOCK_TEXT_BYTES];
    TRY(buf_printf(line, NULL, "{\"time\":\"%s\",\"level\":\"%s\"", clock_format(clock_now_us(), time),
                   level_names[level]));
    TRY(append_member("service", line));
    TRY(append_text(logger.service, line));
    TRY(append_member("message", line));
    TRY(append_text(message, line));
    for (size_t i = 0; i < count; i++) {
        TRY(append_member(fields[i].key, line));
        TRY(append_value(&fields[i], line));
    }
    return buf_append_text(line, "}\n", NULL);
}

/* Nothing can be done about a broken standard error, so that a failed write is dropped. */
static void write_all(const char *data, size_t length)
{
    (void)pthread_mutex_lock(&logger.lock);
    while (length > 0) {
        ssize_t written = write(STDERR_FILENO, data, length);
        if (written < 0 && errno != EINTR) {
            break;
        }
        if (written > 0) {
            data += written;
            length -= (size_t)written;
        }
    }
    (void)pthread_mutex_unlock(&logger.lock);
}

void log_write(enum log_level level, const char *message, const struct log_field *fields, size_t count)
{
    if (level < logger.least) {
        return;
    }
    int saved_errno = errno; /* a log line must not change what its caller looks at next */
    AUTO(buf_done) struct buf line = {0};
    if (build_line(level, message, fields, count, &line) == OK) {
        write_all((const char *)line.data, line.length_bytes);
    } else {
        write_all(message, strlen(message));
        write_all("\n", 1);
    }
    errno = saved_errno;
}
