/* Strings. Most have neither escapes nor bytes beyond ASCII: one pass finds their end sixteen bytes at a time and notes
 * whether UTF-8 has to be looked at; then they are copied as they are. */
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "common/base/text.h"
#include "common/ingest/internal.h"

#ifdef __SSE2__
enum { STEP_BYTES = 16 };

/* Bit i: byte i is a quote, a backslash or a control character. *out_high likewise: it is not ASCII. */
static inline uint32_t find_stops(const uint8_t *p, uint32_t *out_high)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i quotes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
    __m128i slashes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
    __m128i controls = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
    *out_high = (uint32_t)_mm_movemask_epi8(bytes);
    return (uint32_t)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quotes, slashes), controls));
}
#else
enum { STEP_BYTES = 8 };

static inline uint32_t find_stops(const uint8_t *p, uint32_t *out_high)
{
    uint32_t stops = 0;
    uint32_t high = 0;
    for (uint32_t i = 0; i < STEP_BYTES; i++) {
        stops |= (uint32_t)(p[i] == '"' || p[i] == '\\' || p[i] < 0x20) << i;
        high |= (uint32_t)(p[i] >> 7) << i;
    }
    *out_high = high;
    return stops;
}
#endif

const uint8_t *ingest_string_scan(const uint8_t *p, const uint8_t *end, const uint8_t *readable_end, bool *out_high)
{
    uint32_t any_high = 0;
    while (p < end && readable_end - p >= STEP_BYTES) {
        uint32_t high;
        uint32_t stops = find_stops(p, &high);
        if (stops != 0) {
            any_high |= high & (stops - 1) & ~stops; /* before the first stop only */
            *out_high = *out_high || any_high != 0;
            return p + __builtin_ctz(stops);
        }
        any_high |= high;
        p += STEP_BYTES;
    }
    while (p < end && *p != '"' && *p != '\\' && *p >= 0x20) {
        any_high |= *p++ >> 7;
    }
    *out_high = *out_high || any_high != 0;
    return p;
}

bool ingest_string_check_utf8(struct row_parser *parser, int column, const uint8_t *text, size_t length)
{
    size_t valid = text_utf8_valid_prefix((const char *)text, length);
    if (valid == length) {
        return true;
    }
    (void)ingest_bad(parser, column, "expected UTF-8 but found byte 0x%02x at byte %zu of a text", text[valid],
                     valid + 1);
    return false;
}

/* --- escapes ----------------------------------------------------------------------------------------------------- */

static bool take_hex4(const uint8_t *p, const uint8_t *end, uint32_t *out)
{
    uint8_t bytes[2];
    if (end - p < 4 || !text_hex_decode((const char *)p, 4, bytes, sizeof bytes)) {
        return false;
    }
    *out = (uint32_t)bytes[0] << 8 | bytes[1];
    return true;
}

static uint8_t *put_utf8(uint8_t *out, uint32_t code)
{
    if (code < 0x80) {
        *out++ = (uint8_t)code;
        return out;
    }
    if (code < 0x800) {
        *out++ = (uint8_t)(0xc0 | code >> 6);
    } else if (code < 0x10000) {
        *out++ = (uint8_t)(0xe0 | code >> 12);
        *out++ = (uint8_t)(0x80 | (code >> 6 & 0x3f));
    } else {
        *out++ = (uint8_t)(0xf0 | code >> 18);
        *out++ = (uint8_t)(0x80 | (code >> 12 & 0x3f));
        *out++ = (uint8_t)(0x80 | (code >> 6 & 0x3f));
    }
    *out++ = (uint8_t)(0x80 | (code & 0x3f));
    return out;
}

/* Behind "\u": one code unit or a pair of surrogates. NULL when it is neither. */
static const uint8_t *take_unicode(const uint8_t *p, const uint8_t *end, uint32_t *out)
{
    uint32_t low;
    if (!take_hex4(p, end, out)) {
        return NULL;
    }
    p += 4;
    if (*out < 0xd800 || *out > 0xdfff) {
        return p;
    }
    if (*out > 0xdbff || end - p < 6 || p[0] != '\\' || p[1] != 'u' || !take_hex4(p + 2, end, &low) || low < 0xdc00 ||
        low > 0xdfff) {
        return NULL;
    }
    *out = 0x10000 + ((*out - 0xd800) << 10) + (low - 0xdc00);
    return p + 6;
}

/* The escape whose backslash is at p; NULL when there is no such escape. */
static const uint8_t *take_escape(const uint8_t *p, const uint8_t *end, uint32_t *out)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    if (end - p < 2) {
        return NULL;
    }
    if (p[1] == 'u') {
        return take_unicode(p + 2, end, out);
    }
    const char *letter = p[1] == '\0' ? NULL : strchr(letters, p[1]);
    if (letter == NULL) {
        return NULL;
    }
    *out = (uint32_t)meanings[letter - letters];
    return p + 2;
}

/* The place of the closing quote, escapes checked; NULL when the string is bad. */
static const uint8_t *find_end(struct row_parser *parser, int column, const uint8_t *p, bool *out_high)
{
    for (;;) {
        p = ingest_string_scan(p, parser->end, parser->readable_end, out_high);
        if (p >= parser->end) {
            return ingest_bad(parser, column, "expected a closing quote but found the end of the row");
        }
        if (*p == '"') {
            return p;
        }
        if (*p < 0x20) {
            return ingest_bad(parser, column, "expected no control character in a string but found 0x%02x", *p);
        }
        uint32_t code;
        const uint8_t *next = take_escape(p, parser->end, &code);
        if (next == NULL) {
            size_t left = (size_t)(parser->end - p);
            return ingest_bad(parser, column, "expected a JSON escape (surrogates in pairs) but found \"%.*s\"",
                              (int)text_utf8_valid_prefix((const char *)p, left < 6 ? left : 6), (const char *)p);
        }
        p = next;
    }
}

/* Of a string that find_end has been through; `out` has room for as many bytes. Returns the end of what it wrote. */
static uint8_t *unescape(const uint8_t *p, const uint8_t *end, uint8_t *out)
{
    while (p < end) {
        const uint8_t *slash = memchr(p, '\\', (size_t)(end - p));
        size_t plain = (size_t)((slash == NULL ? end : slash) - p);
        memcpy(out, p, plain);
        out += plain;
        p += plain;
        if (slash != NULL) {
            uint32_t code = 0;
            p = take_escape(p, end, &code);
            out = put_utf8(out, code);
        }
    }
    return out;
}

/* --- whole strings ----------------------------------------------------------------------------------------------- */

const uint8_t *ingest_string_parse(struct row_parser *parser, int column, const uint8_t *p, const uint8_t **out_text,
                                   size_t *out_length)
{
    bool high = false;
    const uint8_t *stop = ingest_string_scan(p, parser->end, parser->readable_end, &high);
    const uint8_t *quote = stop < parser->end && *stop == '"' ? stop : find_end(parser, column, stop, &high);
    if (quote == NULL || (high && !ingest_string_check_utf8(parser, column, p, (size_t)(quote - p)))) {
        return NULL;
    }
    size_t length = (size_t)(quote - p);
    *out_text = p;
    *out_length = length;
    if (quote != stop) {
        buf_clear(&parser->scratch);
        enum err_code code = buf_reserve(&parser->scratch, length, parser->err);
        if (code != OK) {
            return ingest_failed(parser, code);
        }
        *out_text = parser->scratch.data;
        uint8_t *end = unescape(p, quote, parser->scratch.data);
        *end = '\0'; /* there is room: every escape is longer than what it stands for */
        *out_length = (size_t)(end - parser->scratch.data);
    }
    return quote + 1;
}

/* Copies in steps that may read and write a little beyond `length`. */
static inline void copy_steps(uint8_t *to, const uint8_t *from, size_t length)
{
    for (size_t i = 0; i < length; i += STEP_BYTES) {
        memcpy(to + i, from + i, STEP_BYTES);
    }
}

/* Room for `length` bytes and a step more at the end of the column's data; NULL when out of memory. */
static uint8_t *data_room(struct row_parser *parser, uint32_t column, size_t length)
{
    struct batch *batch = parser->batch;
    if (UNLIKELY(batch_data_room(batch, column) < length + STEP_BYTES)) {
        enum err_code code = batch_reserve_data(batch, column, length + STEP_BYTES, parser->err);
        if (code != OK) {
            (void)ingest_failed(parser, code);
            return NULL;
        }
    }
    return batch_data_end(batch, column);
}

static inline void copy_text(const struct row_parser *parser, uint8_t *out, const uint8_t *p, size_t length)
{
    enum { LONGEST_IN_STEPS = 256 };
    if (length <= LONGEST_IN_STEPS && (size_t)(parser->readable_end - p) >= length + STEP_BYTES) {
        copy_steps(out, p, length);
    } else {
        memcpy(out, p, length);
    }
}

bool ingest_string_store(struct row_parser *parser, uint32_t column, const uint8_t *text, size_t length)
{
    uint8_t *out = data_room(parser, column, length);
    if (UNLIKELY(out == NULL)) {
        return false;
    }
    copy_text(parser, out, text, length);
    batch_set_written(parser->batch, column, length);
    return true;
}

const uint8_t *ingest_string_parse_into(struct row_parser *parser, uint32_t column, const uint8_t *p)
{
    bool high = false;
    const uint8_t *stop = ingest_string_scan(p, parser->end, parser->readable_end, &high);
    const uint8_t *quote = stop < parser->end && *stop == '"' ? stop : find_end(parser, (int)column, stop, &high);
    if (quote == NULL || (high && !ingest_string_check_utf8(parser, (int)column, p, (size_t)(quote - p)))) {
        return NULL;
    }
    size_t length = (size_t)(quote - p);
    uint8_t *out = data_room(parser, column, length);
    if (UNLIKELY(out == NULL)) {
        return NULL;
    }
    if (UNLIKELY(quote != stop)) {
        length = (size_t)(unescape(p, quote, out) - out);
    } else {
        copy_text(parser, out, p, length);
    }
    batch_set_written(parser->batch, column, length);
    return quote + 1;
}

/* --- base64 ------------------------------------------------------------------------------------------------------ */

static int base64_digit(uint8_t c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool ingest_string_decode_base64(const uint8_t *text, size_t length, uint8_t *out, size_t *out_length)
{
    if (length % 4 != 0) {
        return false;
    }
    size_t written = 0;
    for (size_t i = 0; i < length; i += 4) {
        bool is_last = i + 4 == length;
        size_t pads = is_last && text[i + 3] == '=' ? 1 + (text[i + 2] == '=') : 0;
        uint32_t group = 0;
        for (size_t j = 0; j < 4; j++) {
            int digit = j >= 4 - pads ? 0 : base64_digit(text[i + j]);
            if (digit < 0) {
                return false;
            }
            group = group << 6 | (uint32_t)digit;
        }
        if ((group & ((1U << 8 * pads) - 1)) != 0) {
            return false; /* bits that no byte takes up: not what an encoder writes */
        }
        for (size_t j = 0; j < 3 - pads; j++) {
            out[written++] = (uint8_t)(group >> (16 - 8 * j));
        }
    }
    *out_length = written;
    return true;
}
