#include "tests/unit/partition/fixture.h"

#include "common/publish/bucket.h"

static void buckets_are_counted_from_the_epoch_downwards_too(void **state)
{
    (void)state;
    static const struct {
        int64_t time_us, width_us, bucket;
    } cases[] = {
        {0, CLOCK_DAY_US, 0},
        {CLOCK_DAY_US - 1, CLOCK_DAY_US, 0},
        {CLOCK_DAY_US, CLOCK_DAY_US, 1},
        {-1, CLOCK_DAY_US, -1},
        {-CLOCK_DAY_US, CLOCK_DAY_US, -1},
        {-CLOCK_DAY_US - 1, CLOCK_DAY_US, -2},
        {INT64_MAX, CLOCK_DAY_US, INT64_MAX / CLOCK_DAY_US},
        {INT64_MIN, CLOCK_DAY_US, INT64_MIN / CLOCK_DAY_US - 1},
        {INT64_MIN, 1, INT64_MIN},
        {-5, INT64_MAX, -1},
        {5, INT64_MAX, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_true(publish_bucket(cases[i].time_us, cases[i].width_us) == cases[i].bucket);
    }
}

/* Each range is one bucket, ascending; all rows are there once; within a range they are sorted as before. */
static void assert_split(const struct sort_key *key, uint32_t rows, int64_t range, int64_t width)
{
    AUTO(schema_free_auto) struct schema *schema = small_schema(key, 1);
    AUTO(batch_free_auto) struct batch *batch = NULL;
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    AUTO(publish_sorted_done) struct publish_sorted sorted = {0};
    AUTO(free_auto) bool *seen = calloc(rows + 1, sizeof *seen);
    uint64_t seed = rows;
    assert_int_equal(batch_new(schema, rows, &batch, NULL), OK);
    for (uint32_t i = 0; i < rows; i++) {
        append_row(batch, (int64_t)draw(&seed, (uint32_t)range) - range / 2, i, &seed);
    }
    assert_int_equal(publish_sort(batch, width, arena, &sorted, NULL), OK);
    const struct publish_range *ranges = sorted.ranges;
    const uint32_t *order = sorted.order;
    const size_t count = sorted.count;
    uint32_t next = 0;
    for (size_t r = 0; r < count; r++) {
        assert_int_equal(ranges[r].first, next);
        assert_true(ranges[r].count > 0);
        assert_true(r == 0 || ranges[r - 1].bucket < ranges[r].bucket);
        for (uint32_t i = 0; i < ranges[r].count; i++, next++) {
            uint32_t row = order[next];
            assert_false(seen[row]);
            seen[row] = true;
            assert_true(publish_bucket(batch->columns[TS].values.i64[row], width) == ranges[r].bucket);
            assert_true(i == 0 || batch_compare_rows(batch, order[next - 1], batch, row) <= 0);
        }
    }
    assert_int_equal(next, rows);
}

static void sorted_rows_are_split_into_buckets_that_stay_sorted(void **state)
{
    (void)state;
    static const struct sort_key keys[] = {{TS, false}, {TS, true}, {NAME, false}, {NUMBER, true}};
    static const struct {
        uint32_t rows;
        int64_t range, width;
    } cases[] = {{0, 10, 1}, {1, 10, 3}, {1000, 100, 7}, {1000, 100, 1000}, {1000, 100000, 1}, {3000, 50, 10}};
    for (size_t k = 0; k < COUNT(keys); k++) {
        for (size_t i = 0; i < COUNT(cases); i++) {
            assert_split(&keys[k], cases[i].rows, cases[i].range, cases[i].width);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_are_counted_from_the_epoch_downwards_too),
        cmocka_unit_test(sorted_rows_are_split_into_buckets_that_stay_sorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
