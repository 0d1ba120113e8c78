#include "tests/unit/rows/fixture.h"

enum { ROWS = 500 };

/* The order by the plainest way: insertion, moving only past rows that compare greater. */
static void insertion_order(const struct batch *batch, uint32_t *order)
{
    for (uint32_t i = 0; i < batch->row_count; i++) {
        uint32_t at = i;
        while (at > 0 && batch_compare_rows(batch, order[at - 1], batch, i) > 0) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = i;
    }
}

static void any_sort_keys_give_the_stable_order(void **state)
{
    (void)state;
    /* ts 0, bool 1, int32 2, int64 3, string 6, ts2 8, date 9, decimal 10, uuid 11 */
    static const struct {
        size_t count;
        struct sort_key keys[3];
    } cases[] = {
        {1, {{0, false}}},
        {1, {{0, true}}},
        {1, {{6, false}}},
        {1, {{6, true}}},
        {1, {{3, true}}},
        {1, {{11, false}}},
        {2, {{1, false}, {10, true}}},
        {3, {{1, true}, {0, false}, {6, true}}},
        {3, {{0, false}, {2, true}, {9, false}}},
        {2, {{8, false}, {0, false}}},
    };
    AUTO(schema_free_auto) struct schema *schema = every_type_schema();
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct schema from = *schema;
        AUTO(schema_free_auto) struct schema *sorted = NULL;
        from.sort_key_count = cases[i].count;
        memcpy(from.sort_keys, cases[i].keys, sizeof cases[i].keys);
        assert_int_equal(schema_new(&from, &sorted, NULL), OK);
        AUTO(batch_free_auto) struct batch *batch = numbered_batch(sorted, ROWS);
        uint32_t order[ROWS];
        uint32_t expected[ROWS];
        insertion_order(batch, expected);
        assert_int_equal(batch_sort_order(batch, order, NULL), OK);
        assert_memory_equal(order, expected, sizeof order);
    }
}

static void the_extremes_of_the_timestamp_sort(void **state)
{
    (void)state;
    static const int64_t times[] = {5, INT64_MAX, -1, INT64_MIN, 0, INT64_MAX, INT64_MIN};
    static const uint32_t expected[] = {3, 6, 2, 4, 0, 1, 5};
    struct schema_column column = {.id = 1, .name = "ts", .type = COLUMN_TIMESTAMP};
    struct schema schema = {.version = 1, .column_count = 1, .columns = &column, .sort_key_count = 1};
    AUTO(batch_free_auto) struct batch *batch = NULL;
    assert_int_equal(batch_new(&schema, 0, &batch, NULL), OK);
    for (size_t i = 0; i < COUNT(times); i++) {
        assert_int_equal(batch_row_begin(batch, NULL), OK);
        batch_set_i64(batch, 0, times[i]);
        assert_int_equal(batch_row_end(batch, NULL), OK);
    }
    uint32_t order[COUNT(times)];
    assert_int_equal(batch_sort_order(batch, order, NULL), OK);
    assert_memory_equal(order, expected, sizeof order);
    AUTO(batch_free_auto) struct batch *sorted = NULL;
    assert_int_equal(batch_new(&schema, 0, &sorted, NULL), OK);
    assert_int_equal(batch_append_rows(sorted, batch, order, COUNT(times), NULL), OK);
    assert_int_equal(batch_sort_order(sorted, order, NULL), OK);
    for (uint32_t i = 0; i < COUNT(times); i++) {
        assert_int_equal(order[i], i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_sort_keys_give_the_stable_order),
        cmocka_unit_test(the_extremes_of_the_timestamp_sort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
