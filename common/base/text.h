/* Small text helpers that libc lacks. */
#ifndef GRANARY_BASE_TEXT_H
#define GRANARY_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

/* Whole text as a decimal integer in [min, max]. ERR_INVALID names text and bounds; `what` names the thing. */
MUST_CHECK enum err_code text_parse_i64(const char *text, int64_t min, int64_t max, const char *what, int64_t *out,
                                        struct error *err);

/* "64MiB", "8KiB", "1GiB", "123" (bytes). */
MUST_CHECK enum err_code text_parse_bytes(const char *text, int64_t *out_bytes, struct error *err);

/* Human sizes: "12.3 MiB". Returns text. */
enum { TEXT_SIZE_BYTES = 24 };
char *text_format_bytes(int64_t bytes, char text[TEXT_SIZE_BYTES]);

/* Offset of the first byte that is not valid UTF-8 (RFC 3629: no surrogates, no overlong forms), or length. */
size_t text_utf8_valid_prefix(const char *text, size_t length);

/* Table, project and column names: 1 to 63 of [A-Za-z0-9_], not starting with a digit. */
bool text_is_identifier(const char *text, size_t length);

/* How many letters must change to make one text the other (Levenshtein), for hints; TEXT_DISTANCE_MAX when one is longer
 * than that. */
enum { TEXT_DISTANCE_MAX = 64 };
size_t text_distance(const char *a, const char *b);

/* Lower-case hex; `out` holds 2 * length + 1 characters. */
void text_hex_encode(const void *data, size_t length, char *out);
/* Exactly 2 * out_length hex digits, either case. */
bool text_hex_decode(const char *text, size_t text_length, void *out, size_t out_length);

#endif
