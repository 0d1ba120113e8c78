#include "common/digest/xxh.h"

#include <xxhash.h>

uint64_t digest_xxh3(const void *data, size_t length)
{
    return XXH3_64bits(data, length);
}

uint64_t digest_xxh64(const void *data, size_t length)
{
    return XXH64(data, length, 0);
}
