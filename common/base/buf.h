/* Growable byte buffer. `struct buf b = {0};` is an empty one. Not thread safe. */
#ifndef GRANARY_BASE_BUF_H
#define GRANARY_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/cleanup.h"
#include "common/base/error.h"

struct buf {
    uint8_t *data; /* owned; NULL while empty and never grown */
    size_t length_bytes;
    size_t capacity_bytes;
};

void buf_done(struct buf *buf);  /* frees the memory and leaves an empty buffer: `AUTO(buf_done) struct buf b = {0};` */
void buf_clear(struct buf *buf); /* length 0, memory kept */

/* Makes room for `more` bytes after the length. ERR_NO_MEMORY leaves the buffer as it was. */
MUST_CHECK enum err_code buf_reserve(struct buf *buf, size_t more_bytes, struct error *err);

MUST_CHECK enum err_code buf_append(struct buf *buf, const void *data, size_t length_bytes, struct error *err);
MUST_CHECK enum err_code buf_append_byte(struct buf *buf, uint8_t byte, struct error *err);
MUST_CHECK enum err_code buf_append_text(struct buf *buf, const char *text, struct error *err); /* without its NUL */
MUST_CHECK enum err_code buf_printf(struct buf *buf, struct error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* RFC 4648 section 4, with padding. */
MUST_CHECK enum err_code buf_append_base64(struct buf *buf, const void *data, size_t length_bytes, struct error *err);

/* Puts a NUL behind the last byte (not counted in the length) and returns the bytes as text, borrowed. NULL when out
 * of memory. */
const char *buf_text(struct buf *buf) MUST_CHECK;

/* A text that is replaced now and then. Its NUL is among the bytes, so that reading it needs no memory. */
MUST_CHECK enum err_code buf_set_text(struct buf *buf, const char *text, struct error *err);
const char *buf_held_text(const struct buf *buf); /* what was set last, borrowed; "" where nothing was */

#endif
