/* xxHash: fast, not cryptographic. The only home of libxxhash. */
#ifndef GRANARY_DIGEST_XXH_H
#define GRANARY_DIGEST_XXH_H

#include <stddef.h>
#include <stdint.h>

uint64_t digest_xxh3(const void *data, size_t length);  /* XXH3, 64 bits, seed 0: hash tables, guards */
uint64_t digest_xxh64(const void *data, size_t length); /* XXH64, seed 0: bloom filters of Parquet */

#endif
