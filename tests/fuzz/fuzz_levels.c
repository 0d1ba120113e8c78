/* libFuzzer: runs of levels and dictionary codes. The first byte is their width, the two after it how many there are; what
 * decodes must come back from its encoding, and levels must be the same by either decoder. */
#include <stdlib.h>
#include <string.h>

#include "common/parquet/encoding.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 1 << 13 };

static void check(bool is_right)
{
    if (!is_right) {
        abort();
    }
}

static struct encoded whole(const struct buf *buf)
{
    return (struct encoded){buf->data, buf->data + buf->length_bytes};
}

static void there_and_back(const uint32_t *values, size_t count, int width)
{
    static uint32_t back[MOST];
    AUTO(buf_done) struct buf encoded = {0};
    check(parquet_rle_encode(values, count, width, &encoded, NULL) == OK);
    check(parquet_rle_decode(whole(&encoded), width, back, count, NULL) == OK);
    check(memcmp(values, back, count * sizeof *values) == 0);
}

static void compare_levels(struct encoded in, const uint32_t *values, bool decoded, size_t count)
{
    static uint8_t levels[MOST];
    size_t ones = 0, expected = 0;
    check((parquet_rle_decode_bits(in, levels, count, &ones, NULL) == OK) == decoded);
    for (size_t i = 0; decoded && i < count; i++) {
        check(levels[i] == values[i]);
        expected += levels[i];
    }
    check(!decoded || ones == expected);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint32_t values[MOST];
    static uint8_t bits[MOST];
    if (size < 3) {
        return 0;
    }
    int width = data[0] % 33;
    size_t count = ((size_t)data[1] << 8 | data[2]) % MOST;
    AUTO(free_auto) uint8_t *copy = malloc(size - 2); /* its end is where the sanitizer looks */
    struct encoded in = {copy, copy + size - 3};
    check(copy != NULL);
    memcpy(copy, data + 3, size - 3);
    bool decoded = parquet_rle_decode(in, width, values, count, NULL) == OK;
    if (width == 1) {
        compare_levels(in, values, decoded, count);
    }
    if (decoded) {
        there_and_back(values, count, width);
    }
    if ((count + 7) / 8 <= size - 3) {
        check(parquet_bit_packed_decode_bits(copy, bits, count) <= count);
    }
    return 0;
}
