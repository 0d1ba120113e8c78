#include "common/base/quote.h"

#include <string.h>

#include "common/base/text.h"

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c != '"' && c != '\\' && c != 0x7f;
}

static enum err_code append_escaped(unsigned char c, struct buf *out, struct error *err)
{
    switch (c) {
    case '"': return buf_append_text(out, "\\\"", err);
    case '\\': return buf_append_text(out, "\\\\", err);
    case '\n': return buf_append_text(out, "\\n", err);
    case '\r': return buf_append_text(out, "\\r", err);
    case '\t': return buf_append_text(out, "\\t", err);
    default: return buf_printf(out, err, "\\u%04x", c);
    }
}

static enum err_code append_valid(const char *text, size_t length, struct buf *out, struct error *err)
{
    size_t at = 0;
    while (at < length) {
        size_t run = at;
        while (run < length && is_plain((unsigned char)text[run])) {
            run++;
        }
        TRY(buf_append(out, text + at, run - at, err));
        at = run;
        if (at < length) {
            TRY(append_escaped((unsigned char)text[at], out, err));
            at++;
        }
    }
    return OK;
}

enum err_code quote_json(const char *text, size_t length, struct buf *out, struct error *err)
{
    TRY(buf_append_byte(out, '"', err));
    while (length > 0) {
        size_t valid = text_utf8_valid_prefix(text, length);
        TRY(append_valid(text, valid, out, err));
        text += valid;
        length -= valid;
        if (length > 0) {
            TRY(buf_append_text(out, "\\ufffd", err));
            text++;
            length--;
        }
    }
    return buf_append_byte(out, '"', err);
}
