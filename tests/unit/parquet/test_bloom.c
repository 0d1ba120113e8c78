#include "tests/unit/parquet/support.h"

#include "common/digest/digest.h"
#include "common/parquet/bloom.h"

static uint64_t hash_of(uint64_t number)
{
    return digest_xxh64(&number, sizeof number, 0);
}

static void sizes_are_powers_of_two_within_bounds(void **state)
{
    (void)state;
    static const struct {
        uint64_t distinct;
        double fpp;
        size_t bytes;
    } cases[] = {{0, 0.01, 32}, {1, 0.01, 32}, {1000, 0.01, 2048}, {100000, 0.01, 131072}, {1 << 30, 0.01, 1 << 20}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(parquet_bloom_bytes(cases[i].distinct, cases[i].fpp), cases[i].bytes);
    }
}

static void what_was_put_in_is_found_and_little_else(void **state)
{
    (void)state;
    enum { PUT = 20000 };
    size_t bytes = parquet_bloom_bytes(PUT, 0.01), wrong = 0;
    AUTO(free_auto) uint8_t *filter = calloc(1, bytes);
    for (uint64_t i = 0; i < PUT; i++) {
        parquet_bloom_insert(filter, bytes, hash_of(i));
    }
    for (uint64_t i = 0; i < PUT; i++) {
        assert_true(parquet_bloom_may_contain(filter, bytes, hash_of(i)));
        wrong += parquet_bloom_may_contain(filter, bytes, hash_of(i + PUT));
    }
    assert_true(wrong < PUT / 100);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_powers_of_two_within_bounds),
        cmocka_unit_test(what_was_put_in_is_found_and_little_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
