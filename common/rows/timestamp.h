/* Times as people send them, into microseconds. What a text or number means is said by the format of its column; nothing
 * is guessed from the value.
 *
 *   (none)         RFC 3339 text, where an offset that is left out is UTC, and a bare date midnight; or a whole number of
 *                  microseconds since the epoch
 *   rfc3339        the text only
 *   epoch_s, epoch_ms, epoch_us, epoch_ns
 *                  a number, or its text, since the epoch in that unit; it may have a fraction
 *   strftime:...   text after a pattern: %Y %m %d %H %M %S %f %z %Z %y %b %B %j %e %p %I %s %T %F %D %n %t %%
 *
 * What is finer than a microsecond is rounded down (towards the past). Years are 0001 to 9999. A second 60 becomes the one
 * that follows, where it is a leap second (behind 23:59 UTC). Patterns: numbers may lack leading zeros unless they touch
 * another number; %f is 1 to 9 digits; %z "Z", "+hh:mm" or "+hhmm"; %Z "UTC", "GMT" or "Z"; without either, UTC; %y 69 to 99
 * are of the last century; names are English, in any case; %n and %t are any space, a space is a space. */
#ifndef GRANARY_ROWS_TIMESTAMP_H
#define GRANARY_ROWS_TIMESTAMP_H

#include <stdbool.h>

#include "common/base/clock.h"
#include "common/rows/number.h"

enum timestamp_kind { TIMESTAMP_DEFAULT, TIMESTAMP_RFC3339, TIMESTAMP_EPOCH, TIMESTAMP_PATTERN };

struct timestamp_format {
    enum timestamp_kind kind;
    int digits;          /* epoch: the unit is 10^-digits seconds */
    const char *pattern; /* borrowed */
};

enum { TIMESTAMP_MAX_FORMAT_BYTES = 128 };

/* `text` NULL is the default format. ERR_INVALID: no such format, or a pattern that could not name a moment: no day, a part
 * twice, 12 hours without %p, or anything that stands not above. */
MUST_CHECK enum err_code timestamp_format_parse(const char *text, struct timestamp_format *out, struct error *err);
/* Does the pattern tell the time of day too? A date column wants one that does not. */
bool timestamp_format_has_time(const struct timestamp_format *format);

/* The whole text. *out_us is set only when nothing is wrong. text[length] can be read and belongs to no number. */
enum clock_fault timestamp_parse(const struct timestamp_format *format, const char *text, size_t length,
                                 int64_t *out_us);
/* A number that is not text. NUMBER_NEEDS_ROUNDING: the default format takes whole microseconds. */
enum clock_fault timestamp_from_number(const struct timestamp_format *format, const struct number *number,
                                       int64_t *out_us);
/* For "expected X but found": what the format wants, or what is wrong in particular. Returns text. */
enum { TIMESTAMP_EXPECTED_BYTES = TIMESTAMP_MAX_FORMAT_BYTES + 64 };
const char *timestamp_expected(const struct timestamp_format *format, enum clock_fault fault,
                               char text[TIMESTAMP_EXPECTED_BYTES]);

#endif
