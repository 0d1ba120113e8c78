/* Values for people: counts, sizes, ages, times; and text that is safe on a terminal. */
#ifndef GRANARY_CLI_FORMAT_H
#define GRANARY_CLI_FORMAT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/buf.h"
#include "common/base/error.h"

enum { CLI_FORMAT_BYTES = 48 };

char *cli_format_count(int64_t count, char text[CLI_FORMAT_BYTES]); /* "1,234,567" */
/* The two largest units: "12s", "5m 3s", "4d 2h", "3y 120d"; "in 5m" when negative. */
char *cli_format_age(int64_t age_us, char text[CLI_FORMAT_BYTES]);
/* "2026-11-30 01:02:03" (UTC), from RFC 3339; the text itself where it is none. */
char *cli_format_time(const char *rfc3339, char text[CLI_FORMAT_BYTES]);

/* Appends the text with everything that could steer a terminal, and every byte that is not UTF-8, replaced. */
MUST_CHECK enum err_code cli_format_tame(const char *text, size_t length, struct buf *out, struct error *err);
/* The same, printed; line ends are kept. */
void cli_put_tame(const char *text, FILE *out);
/* Appends what the padded base64 text (RFC 4648 section 4) stands for. ERR_INVALID: it is none. */
MUST_CHECK enum err_code cli_format_from_base64(const char *text, struct buf *out, struct error *err);
/* Columns of a terminal that the tame text takes: wide characters count twice, combining ones not at all. */
size_t cli_format_width(const char *text, size_t length);

#endif
