/* CRC-32 with carry-less multiplication, where the processor has it. */
#ifndef GRANARY_DIGEST_CRC32_H
#define GRANARY_DIGEST_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* Goes on with `crc` over as much of the data as it does at once: returns the bytes done, 0 where the processor cannot, or
 * where there are too few. */
size_t digest_crc32_fold(uint32_t *crc, const void *data, size_t length);

#endif
