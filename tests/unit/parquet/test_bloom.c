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

/* Bytes of a file of one number, 100 times. */
static size_t file_bytes(const struct schema_column *number)
{
    const struct schema_column columns[] = {{.id = 1, .name = "ts", .type = COLUMN_TIMESTAMP}, *number};
    const struct schema schema = {.version = 1, .column_count = 2, .columns = columns, .sort_key_count = 1};
    AUTO(batch_free_auto) struct batch *batch = NULL;
    AUTO(memory_file_done) struct memory_file file = {0};
    AUTO(parquet_summary_done) struct parquet_summary summary = {0};
    assert_int_equal(batch_new(&schema, 0, &batch, NULL), OK);
    for (int64_t i = 0; i < 100; i++) {
        assert_int_equal(batch_row_begin(batch, NULL), OK);
        batch_set_i64(batch, 0, i);
        batch_set_i64(batch, 1, i * INT64_C(1000003));
        assert_int_equal(batch_row_end(batch, NULL), OK);
    }
    assert_int_equal(write_batch(batch, NULL, &file, &summary, NULL), OK);
    return file.bytes.length_bytes;
}

static void a_column_says_how_large_its_filter_is(void **state)
{
    (void)state;
    struct schema_column number = {.id = 2, .name = "n", .type = COLUMN_INT64, .bloom = true};
    size_t measured = file_bytes(&number);
    number.bloom_distinct = 100000;
    number.bloom_fpp = 0.2;
    size_t more = parquet_bloom_bytes(100000, 0.2) - parquet_bloom_bytes(100, 0.01);
    assert_in_range(file_bytes(&number), measured + more, measured + more + 16); /* and a few longer numbers */
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_powers_of_two_within_bounds),
        cmocka_unit_test(what_was_put_in_is_found_and_little_else),
        cmocka_unit_test(a_column_says_how_large_its_filter_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
