/* Split block bloom filters. Source: BloomFilter.md of parquet-format 2.11. */
#ifndef GRANARY_PARQUET_BLOOM_H
#define GRANARY_PARQUET_BLOOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"

enum { BLOOM_BLOCK_BYTES = 32, BLOOM_MAX_BYTES = 1 << 20 };

/* Bytes of a filter for so many distinct values: a power of two from 32 to 1 MiB. fpp in (0, 1). */
size_t parquet_bloom_bytes(uint64_t distinct, double fpp);

/* `filter` is zeroed memory of that size; `hash` is XXH64, seed 0, of the value in PLAIN form without length. */
void parquet_bloom_insert(uint8_t *filter, size_t filter_bytes, uint64_t hash);
bool parquet_bloom_may_contain(const uint8_t *filter, size_t filter_bytes, uint64_t hash);

/* Appends header and filter as they stand in the file. */
MUST_CHECK enum err_code parquet_bloom_encode(const uint8_t *filter, size_t filter_bytes, struct buf *out,
                                              struct error *err);

#endif
