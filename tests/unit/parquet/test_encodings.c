#include "tests/unit/parquet/support.h"

#include "common/parquet/encoding.h"

static struct encoded whole(const struct buf *buf)
{
    return (struct encoded){buf->data, buf->data + buf->length_bytes};
}

static const size_t counts[] = {0, 1, 2, 7, 8, 9, 31, 32, 33, 128, 129, 130, 504, 505, 1000, 5003};
enum { COUNTS = sizeof counts / sizeof *counts, MOST = 5003 };

/* Values of at most `width` bits, in runs of up to `longest`. */
static void fill_runs(uint32_t *values, size_t count, int width, uint64_t longest, uint64_t *random)
{
    for (size_t i = 0; i < count;) {
        uint32_t value = (uint32_t)(random_next(random) & ((UINT64_C(1) << width) - 1));
        for (uint64_t run = random_next(random) % longest + 1; run > 0 && i < count; run--) {
            values[i++] = value;
        }
    }
}

static void runs_come_back_in_every_width(void **state)
{
    (void)state;
    static uint32_t values[MOST], back[MOST];
    uint64_t random = 1;
    static const uint64_t longest[] = {1, 3, 20, 3000};
    for (int width = 0; width <= 32; width++) {
        for (size_t i = 0; i < COUNTS; i++) {
            AUTO(buf_done) struct buf packed = {0};
            fill_runs(values, counts[i], width, longest[(i + (size_t)width) % 4], &random);
            assert_int_equal(parquet_rle_encode(values, counts[i], width, &packed, NULL), OK);
            assert_int_equal(parquet_rle_decode(whole(&packed), width, back, counts[i], NULL), OK);
            assert_memory_equal(values, back, counts[i] * sizeof *values);
        }
    }
}

static void a_run_is_written_as_the_specification_shows(void **state)
{
    (void)state;
    AUTO(buf_done) struct buf packed = {0};
    static const uint32_t ascending[] = {0, 1, 2, 3, 4, 5, 6, 7};
    static const uint32_t equal[10] = {4, 4, 4, 4, 4, 4, 4, 4, 4, 4};
    static const uint8_t expected[] = {0x03, 0x88, 0xc6, 0xfa, 0x14, 0x04};
    assert_int_equal(parquet_rle_encode(ascending, 8, 3, &packed, NULL), OK);
    assert_int_equal(parquet_rle_encode(equal, 10, 3, &packed, NULL), OK);
    assert_int_equal(packed.length_bytes, sizeof expected);
    assert_memory_equal(packed.data, expected, sizeof expected);
}

static void validity_bits_become_levels_from_any_place(void **state)
{
    (void)state;
    uint8_t bits[64], levels[512];
    uint64_t random = 5;
    for (size_t i = 0; i < sizeof bits; i++) {
        bits[i] = (uint8_t)random_next(&random);
    }
    for (size_t first = 0; first < 20; first++) {
        for (size_t count = 1; count + first <= 400; count += 7) {
            AUTO(buf_done) struct buf packed = {0};
            size_t ones, expected = 0;
            assert_int_equal(parquet_rle_encode_bits(bits, first, count, &packed, NULL), OK);
            assert_int_equal(parquet_rle_decode_bits(whole(&packed), levels, count, &ones, NULL), OK);
            for (size_t i = 0; i < count; i++) {
                assert_int_equal(levels[i], bits[(first + i) >> 3] >> ((first + i) & 7) & 1);
                expected += levels[i];
            }
            assert_int_equal(ones, expected);
        }
    }
}

static void levels_of_long_ago_begin_with_the_highest_bit(void **state)
{
    (void)state;
    static const uint8_t packed[] = {0xb1, 0x80}, expected[] = {1, 0, 1, 1, 0, 0, 0, 1, 1, 0};
    uint8_t levels[10];
    assert_int_equal(parquet_bit_packed_decode_bits(packed, levels, 10), 5);
    assert_memory_equal(levels, expected, sizeof levels);
}

static void runs_wider_than_they_say_are_corrupt_and_empty_ones_are_nothing(void **state)
{
    (void)state;
    static const uint8_t wide[] = {0x08, 0xc8}, empty[] = {0x00, 0x01, 0x01, 0x08, 0x01};
    uint32_t values[4];
    size_t ones;
    uint8_t levels[4];
    struct error err = {0};
    struct encoded in = {wide, wide + sizeof wide};
    assert_int_equal(parquet_rle_decode(in, 1, values, 4, &err), ERR_CORRUPT);
    assert_non_null(strstr(err.text, "a run of a value of 1 bits but found 200"));
    in = (struct encoded){empty, empty + sizeof empty};
    assert_int_equal(parquet_rle_decode_bits(in, levels, 4, &ones, NULL), OK);
    assert_int_equal(ones, 4);
}

static void texts_come_back_in_every_encoding(void **state)
{
    (void)state;
    static const char data[] = "Hello"
                               "World"
                               ""
                               "Foobar"
                               "ABCDEF";
    static const uint32_t offsets[] = {0, 5, 10, 10, 16, 22};
    uint32_t starts[8], lengths[8];
    for (int kind = 0; kind < 2; kind++) {
        AUTO(buf_done) struct buf packed = {0};
        struct spans spans = {.starts = starts, .lengths = lengths};
        enum err_code code = kind == 0 ? parquet_plain_encode_texts((const uint8_t *)data, offsets, 5, &packed, NULL)
                                       : parquet_delta_length_encode((const uint8_t *)data, offsets, 5, &packed, NULL);
        assert_int_equal(code, OK);
        code = kind == 0 ? parquet_plain_decode_texts(whole(&packed), &spans, 5, NULL)
                         : parquet_delta_length_decode(whole(&packed), &spans, 5, NULL);
        assert_int_equal(code, OK);
        for (size_t i = 0; i < 5; i++) {
            assert_int_equal(spans.lengths[i], offsets[i + 1] - offsets[i]);
            assert_memory_equal(spans.data + spans.starts[i], data + offsets[i], spans.lengths[i]);
        }
        for (size_t cut = 1; cut <= packed.length_bytes; cut++) {
            struct encoded in = {packed.data, packed.data + packed.length_bytes - cut};
            struct error err = {0};
            code = kind == 0 ? parquet_plain_decode_texts(in, &spans, 5, &err)
                             : parquet_delta_length_decode(in, &spans, 5, &err);
            assert_int_equal(code, ERR_CORRUPT);
            assert_non_null(strstr(err.text, "expected"));
        }
    }
}

static void texts_with_prefixes_are_rebuilt(void **state)
{
    (void)state;
    static const char *const texts[] = {"axis", "axle", "babble", "babyhood", ""};
    static const int32_t prefixes[] = {0, 2, 0, 3, 0};
    static const uint32_t offsets[] = {0, 4, 6, 12, 17, 17};
    AUTO(buf_done) struct buf packed = {0}, storage = {0};
    uint32_t starts[5], lengths[5];
    struct spans spans = {.starts = starts, .lengths = lengths};
    assert_int_equal(parquet_delta_encode_i32(prefixes, 5, &packed, NULL), OK);
    assert_int_equal(parquet_delta_length_encode((const uint8_t *)"axislebabbleyhood", offsets, 5, &packed, NULL), OK);
    assert_int_equal(parquet_delta_byte_array_decode(whole(&packed), &spans, 5, &storage, NULL), OK);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(spans.lengths[i], strlen(texts[i]));
        assert_memory_equal(spans.data + spans.starts[i], texts[i], spans.lengths[i]);
    }
}

static void a_prefix_longer_than_the_text_before_is_corrupt(void **state)
{
    (void)state;
    static const int32_t prefixes[] = {0, 5};
    static const uint32_t offsets[] = {0, 4, 6};
    AUTO(buf_done) struct buf packed = {0}, storage = {0};
    uint32_t starts[2], lengths[2];
    struct spans spans = {.starts = starts, .lengths = lengths};
    struct error err = {0};
    assert_int_equal(parquet_delta_encode_i32(prefixes, 2, &packed, NULL), OK);
    assert_int_equal(parquet_delta_length_encode((const uint8_t *)"axisle", offsets, 2, &packed, NULL), OK);
    assert_int_equal(parquet_delta_byte_array_decode(whole(&packed), &spans, 2, &storage, &err), ERR_CORRUPT);
    assert_non_null(strstr(err.text, "prefix of at most 4 bytes but found 5"));
}

static void split_streams_and_bools_come_back(void **state)
{
    (void)state;
    static uint8_t bytes[MOST * 8], back[MOST * 8], bools[MOST], bools_back[MOST];
    uint64_t random = 77;
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)random_next(&random);
        bools[i % MOST] = bytes[i] & 1;
    }
    for (size_t c = 0; c < COUNTS; c++) {
        for (size_t width = 1; width <= 8; width++) {
            AUTO(buf_done) struct buf packed = {0};
            assert_int_equal(parquet_split_encode(bytes, counts[c], width, &packed, NULL), OK);
            assert_int_equal(packed.length_bytes, counts[c] * width);
            assert_int_equal(parquet_split_decode(whole(&packed), back, counts[c], width, NULL), OK);
            assert_memory_equal(bytes, back, counts[c] * width);
        }
        AUTO(buf_done) struct buf packed = {0};
        assert_int_equal(parquet_plain_encode_bools(bools, counts[c], &packed, NULL), OK);
        assert_int_equal(parquet_plain_decode_bools(whole(&packed), bools_back, counts[c], NULL), OK);
        assert_memory_equal(bools, bools_back, counts[c]);
    }
}

/* Nothing to compare: the sanitizers watch. Each input is its own allocation, so that a read past its end shows. */
static void random_bytes_do_no_harm_to_any_decoder(void **state)
{
    (void)state;
    static uint32_t numbers[300], starts[300];
    static int64_t wide[300];
    static uint8_t levels[300];
    uint64_t random = 99;
    AUTO(buf_done) struct buf storage = {0};
    for (int round = 0; round < 50000; round++) {
        size_t length = random_next(&random) % 60, count = random_next(&random) % 300, ones;
        AUTO(free_auto) uint8_t *bytes = malloc(length + (length == 0));
        struct spans spans = {.starts = starts, .lengths = numbers};
        for (size_t i = 0; i < length; i++) {
            bytes[i] = (uint8_t)(random_next(&random) >> random_next(&random) % 8);
        }
        if (length > 4 && round % 2 == 0) { /* a head that passes */
            memcpy(bytes, (const uint8_t[]){0x80, 0x01, 0x04, (uint8_t)(count & 0x7f)}, 4);
            count &= 0x7f;
        }
        struct encoded in = {bytes, bytes + length}, moved = in;
        (void)!parquet_rle_decode(in, (int)(random_next(&random) % 33), numbers, count, NULL);
        (void)!parquet_rle_decode_bits(in, levels, count, &ones, NULL);
        (void)!parquet_delta_decode_i32(&moved, (int32_t *)numbers, count, NULL);
        moved = in;
        (void)!parquet_delta_decode_i64(&moved, wide, count, NULL);
        (void)!parquet_plain_decode_texts(in, &spans, count, NULL);
        (void)!parquet_delta_length_decode(in, &spans, count, NULL);
        (void)!parquet_delta_byte_array_decode(in, &spans, count, &storage, NULL);
        assert_true(moved.at >= bytes && moved.at <= bytes + length);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_come_back_in_every_width),
        cmocka_unit_test(a_run_is_written_as_the_specification_shows),
        cmocka_unit_test(levels_of_long_ago_begin_with_the_highest_bit),
        cmocka_unit_test(runs_wider_than_they_say_are_corrupt_and_empty_ones_are_nothing),
        cmocka_unit_test(validity_bits_become_levels_from_any_place),
        cmocka_unit_test(texts_come_back_in_every_encoding),
        cmocka_unit_test(texts_with_prefixes_are_rebuilt),
        cmocka_unit_test(a_prefix_longer_than_the_text_before_is_corrupt),
        cmocka_unit_test(split_streams_and_bools_come_back),
        cmocka_unit_test(random_bytes_do_no_harm_to_any_decoder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
