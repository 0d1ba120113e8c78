/* Patterns as strftime has them, read backwards: see timestamp.h for what they may hold. */
#ifndef GRANARY_ROWS_TIMESTAMP_PATTERN_H
#define GRANARY_ROWS_TIMESTAMP_PATTERN_H

#include <stdbool.h>

#include "common/base/clock.h"

/* ERR_INVALID: the pattern could not name a moment, or holds what we do not know. */
MUST_CHECK enum err_code timestamp_pattern_check(const char *pattern, struct error *err);
/* Of a pattern that was checked: does it tell the time of day? */
bool timestamp_pattern_has_time(const char *pattern);
/* The whole text after a pattern that was checked. */
enum clock_fault timestamp_pattern_parse(const char *pattern, const char *text, size_t length, int64_t *out_us);

#endif
