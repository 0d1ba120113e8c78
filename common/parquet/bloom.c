#include "common/parquet/bloom.h"

#include <math.h>
#include <string.h>

#include "common/parquet/thrift.h"

enum { WORDS = 8 };

static const uint32_t salts[WORDS] = {0x47b6137bU, 0x44974d91U, 0x8824ad5bU, 0xa2b7289dU,
                                      0x705495c7U, 0x2df1424bU, 0x9efc4947U, 0x5c6bfb31U};

size_t parquet_bloom_bytes(uint64_t distinct, double fpp)
{
    double bits = -8.0 * (double)distinct / log(1.0 - pow(fpp, 1.0 / WORDS));
    size_t bytes = BLOOM_BLOCK_BYTES;
    while (bytes < BLOOM_MAX_BYTES && (double)bytes * 8 < bits) {
        bytes *= 2;
    }
    return bytes;
}

size_t parquet_bloom_block_offset(size_t filter_bytes, uint64_t hash)
{
    return (size_t)((hash >> 32) * (filter_bytes / BLOOM_BLOCK_BYTES) >> 32) * BLOOM_BLOCK_BYTES;
}

static uint32_t word_mask(uint32_t key, size_t word)
{
    return UINT32_C(1) << (key * salts[word] >> 27);
}

void parquet_bloom_insert(uint8_t *filter, size_t filter_bytes, uint64_t hash)
{
    uint8_t *block = filter + parquet_bloom_block_offset(filter_bytes, hash);
    uint32_t words[WORDS];
    memcpy(words, block, sizeof words);
    for (size_t i = 0; i < WORDS; i++) {
        words[i] |= word_mask((uint32_t)hash, i);
    }
    memcpy(block, words, sizeof words);
}

bool parquet_bloom_may_contain(const uint8_t *filter, size_t filter_bytes, uint64_t hash)
{
    uint32_t words[WORDS];
    memcpy(words, filter + parquet_bloom_block_offset(filter_bytes, hash), sizeof words);
    for (size_t i = 0; i < WORDS; i++) {
        if ((words[i] & word_mask((uint32_t)hash, i)) == 0) {
            return false;
        }
    }
    return true;
}

/* A union of which the first member, an empty struct, is the only one there is. */
static void put_only_choice(struct thrift_out *out, int16_t field)
{
    parquet_thrift_put_struct(out, field);
    parquet_thrift_put_struct(out, 1);
    parquet_thrift_end_struct(out);
    parquet_thrift_end_struct(out);
}

enum err_code parquet_bloom_encode(const uint8_t *filter, size_t filter_bytes, struct buf *buf, struct error *err)
{
    struct thrift_out out = parquet_thrift_out(buf, err);
    parquet_thrift_put_i32(&out, 1, (int32_t)filter_bytes);
    put_only_choice(&out, 2); /* split block */
    put_only_choice(&out, 3); /* XXH64 */
    put_only_choice(&out, 4); /* uncompressed */
    TRY(parquet_thrift_out_end(&out));
    return buf_append(buf, filter, filter_bytes, err);
}
