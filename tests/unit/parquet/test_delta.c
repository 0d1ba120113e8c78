/* DELTA_BINARY_PACKED, as we write it and as others do. */
#include "tests/unit/parquet/support.h"

#include "common/parquet/bits.h"
#include "common/parquet/encoding.h"

static struct encoded whole(const struct buf *buf)
{
    return (struct encoded){buf->data, buf->data + buf->length_bytes};
}

static const size_t counts[] = {0, 1, 2, 7, 8, 9, 31, 32, 33, 128, 129, 130, 504, 505, 1000, 5003};
enum { COUNTS = sizeof counts / sizeof *counts, MOST = 5003 };

static int64_t delta_value(size_t i, int kind, uint64_t *random)
{
    switch (kind) {
    case 0: return 7;
    case 1: return (int64_t)i * 1000;
    case 2: return -(int64_t)(i * i);
    case 3: return (int64_t)random_next(random);
    case 4: return i % 2 == 0 ? INT64_MIN : INT64_MAX;
    default: return (int64_t)(random_next(random) >> random_next(random) % 64);
    }
}

static void deltas_come_back_even_when_they_wrap_around(void **state)
{
    (void)state;
    static int64_t wide[MOST], wide_back[MOST];
    static int32_t narrow[MOST], narrow_back[MOST];
    uint64_t random = 3;
    for (int kind = 0; kind < 6; kind++) {
        for (size_t c = 0; c < COUNTS; c++) {
            AUTO(buf_done) struct buf packed = {0}, packed_narrow = {0};
            for (size_t i = 0; i < counts[c]; i++) {
                wide[i] = delta_value(i, kind, &random);
                narrow[i] = kind == 4 ? (i % 2 == 0 ? INT32_MIN : INT32_MAX) : (int32_t)wide[i];
            }
            assert_int_equal(parquet_delta_encode_i64(wide, counts[c], &packed, NULL), OK);
            assert_int_equal(parquet_delta_encode_i32(narrow, counts[c], &packed_narrow, NULL), OK);
            struct encoded in = whole(&packed), in_narrow = whole(&packed_narrow);
            assert_int_equal(parquet_delta_decode_i64(&in, wide_back, counts[c], NULL), OK);
            assert_int_equal(parquet_delta_decode_i32(&in_narrow, narrow_back, counts[c], NULL), OK);
            assert_memory_equal(wide, wide_back, counts[c] * sizeof *wide);
            assert_memory_equal(narrow, narrow_back, counts[c] * sizeof *narrow);
            assert_true(in.at == in.end && in_narrow.at == in_narrow.end);
        }
    }
}

static void deltas_of_int32_never_take_more_than_32_bits(void **state)
{
    (void)state;
    static const int32_t values[] = {INT32_MIN, INT32_MAX, INT32_MIN, INT32_MAX, 0};
    AUTO(buf_done) struct buf packed = {0};
    assert_int_equal(parquet_delta_encode_i32(values, 5, &packed, NULL), OK);
    const uint8_t *at = packed.data;
    uint64_t number;
    for (int i = 0; i < 5; i++) { /* block, miniblocks, count, first value, smallest delta */
        assert_true(bits_varint_get(&at, packed.data + packed.length_bytes, &number));
    }
    assert_true(*at <= 32);
}

/* Blocks as other writers cut them: the widths of miniblocks without values are nonsense, and the last one lacks its padding. */
static void encode_foreign_deltas(const int64_t *values, size_t count, size_t block, size_t miniblocks, struct buf *out)
{
    size_t per_miniblock = block / miniblocks;
    uint64_t heads[] = {block, miniblocks, count, bits_zigzag(count > 0 ? values[0] : 0)};
    uint8_t varint[BITS_VARINT_MAX_BYTES];
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(buf_append(out, varint, bits_varint_put(varint, heads[i]), NULL), OK);
    }
    for (size_t done = 1; done < count; done += block) {
        AUTO(free_auto) uint64_t *deltas = calloc(block, sizeof *deltas);
        AUTO(free_auto) uint8_t *packed = malloc(per_miniblock * sizeof(uint64_t) + 8);
        size_t here = count - done < block ? count - done : block;
        int64_t smallest = INT64_MAX;
        for (size_t i = 0; i < here; i++) {
            deltas[i] = (uint64_t)values[done + i] - (uint64_t)values[done + i - 1];
            smallest = (int64_t)deltas[i] < smallest ? (int64_t)deltas[i] : smallest;
        }
        assert_int_equal(buf_append(out, varint, bits_varint_put(varint, bits_zigzag(smallest)), NULL), OK);
        size_t widths_at = out->length_bytes;
        for (size_t m = 0; m < miniblocks; m++) {
            assert_int_equal(buf_append_byte(out, 0xff, NULL), OK);
        }
        for (size_t first = 0; first < here; first += per_miniblock) {
            size_t length = here - first < per_miniblock ? here - first : per_miniblock;
            bool is_last = done + first + length == count;
            uint64_t bits = 0;
            for (size_t i = 0; i < length; i++) {
                deltas[first + i] -= (uint64_t)smallest;
                bits |= deltas[first + i];
            }
            int width = bits_width(bits);
            out->data[widths_at + first / per_miniblock] = (uint8_t)width;
            size_t bytes = bits_pack_u64(deltas + first, is_last ? length : per_miniblock, width, packed);
            assert_int_equal(buf_append(out, packed, bytes, NULL), OK);
        }
    }
}

static void deltas_are_read_in_blocks_of_any_shape(void **state)
{
    (void)state;
    static const struct {
        size_t block, miniblocks;
    } shapes[] = {{128, 1}, {128, 4}, {256, 8}, {256, 2}, {1024, 32}, {4096, 1}};
    static int64_t values[MOST], back[MOST];
    static int32_t narrow_back[MOST];
    uint64_t random = 11;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (int kind = 0; kind < 6; kind++) {
            for (size_t c = 0; c < COUNTS; c++) {
                AUTO(buf_done) struct buf packed = {0};
                struct error err = {0};
                for (size_t i = 0; i < counts[c]; i++) {
                    values[i] = delta_value(i, kind, &random);
                }
                encode_foreign_deltas(values, counts[c], shapes[s].block, shapes[s].miniblocks, &packed);
                struct encoded in = whole(&packed), in_narrow = in;
                if (parquet_delta_decode_i64(&in, back, counts[c], &err) != OK) {
                    fail_msg("%zu values of kind %d: %s", counts[c], kind, err.text);
                }
                assert_memory_equal(values, back, counts[c] * sizeof *values);
                assert_true(in.at == in.end);
                /* some writers count int32 in 64 bits: what is above wraps around */
                assert_int_equal(parquet_delta_decode_i32(&in_narrow, narrow_back, counts[c], NULL), OK);
                for (size_t i = 0; i < counts[c]; i++) {
                    assert_int_equal(narrow_back[i], (int32_t)values[i]);
                }
            }
        }
    }
}

static void deltas_that_cannot_be_are_corrupt(void **state)
{
    (void)state;
    static const struct {
        uint8_t bytes[12];
        size_t length, count;
        const char *error;
    } cases[] = {
        {{0}, 0, 1, "expected the head of delta values but the bytes end"},
        {{0x80, 1, 4, 2}, 4, 2, "expected the head of delta values but the bytes end"},
        {{0x64, 4, 2, 0}, 4, 2, "expected delta blocks of n x 128 values but found 100 in 4 miniblocks"},
        {{0x80, 1, 0, 2, 0}, 5, 2, "but found 128 in 0 miniblocks"},
        {{0x80, 1, 3, 2, 0}, 5, 2, "but found 128 in 3 miniblocks"},
        {{0x80, 1, 8, 2, 0}, 5, 2, "but found 128 in 8 miniblocks"},
        {{0, 4, 2, 0}, 4, 2, "but found 0 in 4 miniblocks"},
        {{0x80, 1, 4, 3, 0}, 5, 2, "expected 2 delta values but found 3"},
        {{0x80, 1, 4, 2, 0}, 5, 2, "expected the head of a delta block but the bytes end"},
        {{0x80, 1, 4, 2, 0, 0, 1, 0, 0}, 9, 2, "expected the head of a delta block but the bytes end"},
        {{0x80, 1, 4, 2, 0, 0, 65, 0, 0, 0}, 10, 2, "expected deltas of at most 64 bits but found 65"},
        {{0x80, 1, 4, 2, 0, 0, 9, 0, 0, 0, 1}, 11, 2, "expected 1 deltas of 9 bits but only 1 bytes are left"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct encoded in = {cases[i].bytes, cases[i].bytes + cases[i].length};
        int64_t out[4];
        struct error err = {0};
        assert_int_equal(parquet_delta_decode_i64(&in, out, cases[i].count, &err), ERR_CORRUPT);
        if (strstr(err.text, cases[i].error) == NULL) {
            fail_msg("case %zu: %s", i, err.text);
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(deltas_come_back_even_when_they_wrap_around),
        cmocka_unit_test(deltas_of_int32_never_take_more_than_32_bits),
        cmocka_unit_test(deltas_are_read_in_blocks_of_any_shape),
        cmocka_unit_test(deltas_that_cannot_be_are_corrupt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
