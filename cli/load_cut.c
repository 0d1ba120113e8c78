#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/load.h"

enum { READ_BYTES = 256 * 1024 };

void load_body_free(struct load_body *body)
{
    if (body != NULL) {
        buf_done(&body->data);
        free(body);
    }
}

void load_cutter_done(struct load_cutter *cutter)
{
    buf_done(&cutter->rest);
}

static enum err_code read_more(struct load_cutter *cutter, struct error *err)
{
    struct buf *rest = &cutter->rest;
    ssize_t got;

    TRY(buf_reserve(rest, READ_BYTES, err));
    do {
        got = read(cutter->file, rest->data + rest->length_bytes, READ_BYTES);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return err_set(err, ERR_INVALID, "could not read the input: %s", strerror(errno));
    }
    rest->length_bytes += (size_t)got;
    cutter->ended = got == 0;
    return OK;
}

/* As intake counts them: lines with nothing but blanks are no rows. */
static int64_t count_rows(const uint8_t *data, size_t length)
{
    int64_t rows = 0;
    for (size_t i = 0; i < length;) {
        const uint8_t *end = memchr(data + i, '\n', length - i);
        size_t line_end = end == NULL ? length : (size_t)(end - data);
        while (i < line_end && (data[i] == ' ' || data[i] == '\t' || data[i] == '\r')) {
            i++;
        }
        rows += i < line_end;
        i = line_end + 1;
    }
    return rows;
}

/* Bytes of the next body: up to and with the first line end at or behind the target; 0: it is not there yet. */
static size_t find_cut(const struct load_cutter *cutter)
{
    const struct buf *rest = &cutter->rest;
    if (rest->length_bytes < cutter->target_bytes) {
        return 0;
    }
    const uint8_t *end =
        memchr(rest->data + cutter->target_bytes - 1, '\n', rest->length_bytes - cutter->target_bytes + 1);
    return end == NULL ? 0 : (size_t)(end - rest->data) + 1;
}

static enum err_code take_body(struct load_cutter *cutter, size_t length, struct load_body **out, struct error *err)
{
    AUTO(load_body_free_auto) struct load_body *body = calloc(1, sizeof *body);
    struct buf *rest = &cutter->rest;

    if (body == NULL) {
        return err_no_memory(err, sizeof *body);
    }
    TRY(buf_append(&body->data, rest->data, length, err));
    body->offset = cutter->offset;
    body->rows_before = cutter->rows;
    cutter->offset += (int64_t)length;
    cutter->rows += count_rows(rest->data, length);
    memmove(rest->data, rest->data + length, rest->length_bytes - length);
    rest->length_bytes -= length;
    *out = TAKE(body);
    return OK;
}

enum err_code load_cut(struct load_cutter *cutter, struct load_body **out, struct error *err)
{
    size_t length = 0;
    while ((length = find_cut(cutter)) == 0 && !cutter->ended) {
        if (cutter->rest.length_bytes > cutter->most_bytes) {
            return err_set(
                err, ERR_INVALID,
                "expected lines of at most %zu bytes but found a longer one behind row %lld; hint: is it NDJSON?",
                cutter->most_bytes, (long long)cutter->rows);
        }
        TRY(read_more(cutter, err));
    }
    length = length == 0 ? cutter->rest.length_bytes : length;
    if (length == 0) {
        *out = NULL;
        return OK;
    }
    return take_body(cutter, length, out, err);
}
