/* UUIDs (RFC 9562): version 7 for new ids. Version 5 needs SHA-1 and lives in common/digest. */
#ifndef GRANARY_BASE_UUID_H
#define GRANARY_BASE_UUID_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

struct uuid {
    uint8_t bytes[16]; /* network order, as printed */
};

enum { UUID_TEXT_BYTES = 37 }; /* with the NUL */

/* Time-ordered: 48 bits of milliseconds, 12 bits of the sub-millisecond, 62 random bits. Thread safe. Ends the process
 * when the kernel has no randomness. */
struct uuid uuid_v7(void);
struct uuid uuid_v4(void);

int uuid_compare(const struct uuid *a, const struct uuid *b); /* <0, 0, >0 in the order of the text */
bool uuid_equal(const struct uuid *a, const struct uuid *b);
bool uuid_is_nil(const struct uuid *uuid);

char *uuid_format(const struct uuid *uuid, char text[UUID_TEXT_BYTES]); /* lower case; returns text */
/* Exactly 36 characters, either case. *out is untouched on ERR_INVALID. */
MUST_CHECK enum err_code uuid_parse(const char *text, size_t length, struct uuid *out, struct error *err);

#endif
