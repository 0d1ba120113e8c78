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
/* Where in the filter the one block stands that answers for this hash: it is a filter of its own. */
size_t parquet_bloom_block_offset(size_t filter_bytes, uint64_t hash);

/* Appends header and filter as they stand in the file. */
MUST_CHECK enum err_code parquet_bloom_encode(const uint8_t *filter, size_t filter_bytes, struct buf *out,
                                              struct error *err);

/* What stands before a filter in the file. */
enum { BLOOM_HEADER_MAX_BYTES = 64 };
struct bloom_header {
    size_t header_bytes, filter_bytes; /* the latter a multiple of BLOOM_BLOCK_BYTES */
};
/* False where it is no filter of the one kind that there is (split blocks, XXH64, uncompressed). */
bool parquet_bloom_decode_header(const void *data, size_t length, struct bloom_header *out);

#endif
