#include "tests/unit/rows/fixture.h"

static void rows_read_back_as_they_were_set(void **state)
{
    (void)state;
    AUTO(schema_free_auto) struct schema *schema = every_type_schema();
    AUTO(batch_free_auto) struct batch *batch = numbered_batch(schema, 100);
    uint32_t length;
    assert_int_equal(batch->row_count, 100);
    assert_null(batch->columns[0].valid);
    assert_int_equal(batch->columns[0].values.i64[9], 13);
    assert_int_equal(batch->columns[2].values.i32[21], 11);
    assert_true(column_is_null(&batch->columns[6], 99)); /* (99 + 6) % 5 == 0 */
    assert_memory_equal(column_variable(&batch->columns[6], 16, &length), "\"ab16", 5);
    assert_int_equal(length, 5);
    for (size_t c = 1; c < schema->column_count; c++) {
        assert_int_equal(batch->columns[c].null_count, 20);
    }
    batch_clear(batch);
    assert_int_equal(batch->row_count, 0);
    append_numbered(batch, 1);
    assert_null(batch->columns[1].valid);
}

static void a_row_without_a_required_value_is_refused_and_can_be_finished(void **state)
{
    (void)state;
    AUTO(schema_free_auto) struct schema *schema = every_type_schema();
    AUTO(batch_free_auto) struct batch *batch = numbered_batch(schema, 3);
    struct error err = {0};
    assert_int_equal(batch_row_begin(batch, &err), OK);
    batch_set_i32(batch, 2, 77);
    assert_int_equal(batch_row_end(batch, &err), ERR_INVALID);
    assert_string_equal(err.text, "expected a value in column \"ts\" but found null");
    assert_int_equal(batch->row_count, 3);
    batch_set_i64(batch, 0, 5);
    assert_int_equal(batch_row_end(batch, &err), OK);
    assert_int_equal(batch->columns[2].values.i32[3], 77);
}

static void an_abandoned_row_leaves_no_trace(void **state)
{
    (void)state;
    AUTO(schema_free_auto) struct schema *schema = every_type_schema();
    AUTO(batch_free_auto) struct batch *batch = numbered_batch(schema, 10);
    AUTO(batch_free_auto) struct batch *twin = numbered_batch(schema, 11);
    assert_int_equal(batch_row_begin(batch, NULL), OK);
    batch_set_i64(batch, 0, 1);
    assert_int_equal(batch_set_variable(batch, 6, "junk", 4, NULL), OK);
    batch_row_abandon(batch);
    assert_false(batch_is_set(batch, 0));
    append_numbered(batch, 10);
    for (uint32_t i = 0; i < 11; i++) {
        assert_rows_equal(batch, i, twin, i);
    }
    assert_int_equal(batch_memory_bytes(batch), batch_memory_bytes(twin));
}

static void ranges_append_at_any_bit(void **state)
{
    (void)state;
    AUTO(schema_free_auto) struct schema *schema = every_type_schema();
    AUTO(batch_free_auto) struct batch *source = numbered_batch(schema, 60);
    for (uint32_t first = 0; first < 20; first++) {
        for (uint32_t count = 0; count < 20; count++) {
            AUTO(batch_free_auto) struct batch *target = numbered_batch(schema, first);
            assert_int_equal(batch_append_range(target, source, 2 * first, count, NULL), OK);
            assert_int_equal(batch_append_range(target, source, 1, 1, NULL), OK);
            assert_int_equal(target->row_count, first + count + 1);
            for (uint32_t i = 0; i < first; i++) {
                assert_rows_equal(target, i, source, i);
            }
            for (uint32_t i = 0; i < count; i++) {
                assert_rows_equal(target, first + i, source, 2 * first + i);
            }
            assert_rows_equal(target, first + count, source, 1);
        }
    }
}

static void chosen_rows_append_in_the_order_asked(void **state)
{
    (void)state;
    static const uint32_t rows[] = {59, 0, 3, 3, 17, 58, 1};
    AUTO(schema_free_auto) struct schema *schema = every_type_schema();
    AUTO(batch_free_auto) struct batch *source = numbered_batch(schema, 60);
    AUTO(batch_free_auto) struct batch *target = numbered_batch(schema, 5);
    assert_int_equal(batch_append_rows(target, source, rows, COUNT(rows), NULL), OK);
    assert_int_equal(target->row_count, 5 + COUNT(rows));
    for (uint32_t i = 0; i < COUNT(rows); i++) {
        assert_rows_equal(target, 5 + i, source, rows[i]);
    }
    uint32_t nulls = 0;
    for (uint32_t i = 0; i < target->row_count; i++) {
        nulls += column_is_null(&target->columns[4], i);
    }
    assert_int_equal(target->columns[4].null_count, nulls);
}

static void rows_convert_to_a_later_schema(void **state)
{
    (void)state;
    AUTO(schema_free_auto) struct schema *schema = every_type_schema();
    AUTO(batch_free_auto) struct batch *source = numbered_batch(schema, 30);
    static const struct schema_column columns[] = {
        {.id = 99, .name = "added", .type = COLUMN_STRING, .nullable = true},
        {.id = 98, .name = "added_too", .type = COLUMN_UUID, .nullable = true},
        {.id = 5, .name = "f", .type = COLUMN_DOUBLE, .nullable = true},
        {.id = 3, .name = "i32", .type = COLUMN_INT64, .nullable = true},
        {.id = 1, .name = "ts", .type = COLUMN_TIMESTAMP},
        {.id = 7, .name = "s", .type = COLUMN_STRING, .nullable = true},
    };
    struct schema from = {.version = 4,
                          .column_count = COUNT(columns),
                          .columns = columns,
                          .timestamp_column = 4,
                          .sort_key_count = 1,
                          .sort_keys = {{.column = 4}}};
    AUTO(schema_free_auto) struct schema *later = NULL;
    AUTO(batch_free_auto) struct batch *target = NULL;
    assert_int_equal(schema_new(&from, &later, NULL), OK);
    assert_int_equal(batch_convert(source, later, &target, NULL), OK);
    assert_int_equal(target->row_count, 30);
    for (uint32_t i = 0; i < 30; i++) {
        uint32_t length;
        uint32_t other;
        assert_true(column_is_null(&target->columns[0], i) && column_is_null(&target->columns[1], i));
        assert_int_equal(column_is_null(&target->columns[2], i), column_is_null(&source->columns[4], i));
        assert_true(target->columns[2].values.f64[i] == (double)source->columns[4].values.f32[i]);
        assert_int_equal(target->columns[3].values.i64[i], source->columns[2].values.i32[i]);
        assert_int_equal(target->columns[4].values.i64[i], source->columns[0].values.i64[i]);
        const uint8_t *value = column_variable(&target->columns[5], i, &length);
        assert_memory_equal(value, column_variable(&source->columns[6], i, &other), length);
        assert_int_equal(length, other);
    }
    struct batch *untouched = NULL;
    struct error err = {0};
    assert_int_equal(batch_convert(target, schema, &untouched, &err), ERR_INVALID);
    assert_null(untouched);
}

static void too_many_rows_are_refused(void **state)
{
    (void)state;
    AUTO(schema_free_auto) struct schema *schema = every_type_schema();
    AUTO(batch_free_auto) struct batch *batch = numbered_batch(schema, 1);
    struct error err = {0};
    assert_int_equal(batch_reserve(batch, BATCH_MAX_ROWS, &err), ERR_NO_MEMORY);
    assert_non_null(strstr(err.text, "found 16777217"));
    assert_int_equal(batch_reserve_data(batch, 6, UINT32_MAX, &err), ERR_NO_MEMORY);
    assert_non_null(strstr(err.text, "column \"s\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_read_back_as_they_were_set),
        cmocka_unit_test(a_row_without_a_required_value_is_refused_and_can_be_finished),
        cmocka_unit_test(an_abandoned_row_leaves_no_trace),
        cmocka_unit_test(ranges_append_at_any_bit),
        cmocka_unit_test(chosen_rows_append_in_the_order_asked),
        cmocka_unit_test(rows_convert_to_a_later_schema),
        cmocka_unit_test(too_many_rows_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
