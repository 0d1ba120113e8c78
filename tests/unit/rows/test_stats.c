#include <math.h>

#include "tests/unit/rows/fixture.h"

static struct schema_column column_of(enum column_type type)
{
    return (struct schema_column){.id = 7, .name = "x", .type = type, .nullable = true};
}

/* A batch of one column that holds the texts; NULL is null. */
static struct batch *text_batch(struct schema *schema, const char *const *texts, size_t count)
{
    struct batch *batch = NULL;
    assert_int_equal(batch_new(schema, 0, &batch, NULL), OK);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(batch_row_begin(batch, NULL), OK);
        if (texts[i] != NULL) {
            assert_int_equal(batch_set_variable(batch, 0, texts[i], strlen(texts[i]), NULL), OK);
        }
        assert_int_equal(batch_row_end(batch, NULL), OK);
    }
    return batch;
}

#define A63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void bounds_of_texts_stay_bounds_when_cut(void **state)
{
    (void)state;
    static const struct {
        enum column_type type;
        const char *texts[3];
        const char *min;
        const char *max; /* NULL: there is none */
        uint64_t nulls;
    } cases[] = {
        {COLUMN_STRING, {"b", "", "ab"}, "", "b", 0},
        {COLUMN_STRING, {NULL, "q", NULL}, "q", "q", 2},
        {COLUMN_STRING, {A63 "zz", A63 "zy", A63 "zx"}, A63 "z", A63 "{", 0},
        {COLUMN_STRING, {A63 "zz", "b", "c"}, A63 "z", "c", 0},
        {COLUMN_STRING,
         {A63 "\xc3\xa9", NULL, NULL},
         A63,
         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab",
         2},
        {COLUMN_STRING,
         {"\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f"
          "\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f"
          "\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f",
          "a", NULL},
         "a",
         NULL,
         1},
        {COLUMN_BYTES,
         {A63 "\xff"
              "a",
          NULL, NULL},
         A63 "\xff",
         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab",
         2},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct schema_column column = column_of(cases[i].type);
        struct schema schema = {.version = 1, .column_count = 1, .columns = &column};
        AUTO(batch_free_auto) struct batch *batch = text_batch(&schema, cases[i].texts, 3);
        struct column_stats stats;
        column_stats_init(&stats, &column);
        column_stats_update(&stats, &batch->columns[0], 0, 3);
        assert_int_equal(stats.column_id, 7);
        assert_int_equal(stats.null_count, cases[i].nulls);
        assert_true(stats.has_min);
        assert_int_equal(stats.min_length, strlen(cases[i].min));
        assert_memory_equal(stats.min, cases[i].min, stats.min_length);
        assert_int_equal(stats.has_max, cases[i].max != NULL);
        assert_int_equal(stats.open_max, cases[i].max == NULL);
        if (cases[i].max != NULL) {
            assert_int_equal(stats.max_length, strlen(cases[i].max));
            assert_memory_equal(stats.max, cases[i].max, stats.max_length);
        }
        column_stats_update(&stats, &batch->columns[0], 0, 1); /* an open bound stays open */
        assert_int_equal(stats.has_max, cases[i].max != NULL);
    }
}

static void not_a_number_is_never_a_bound(void **state)
{
    (void)state;
    static const double values[] = {NAN, 3.5, NAN, -2.0, NAN};
    struct schema_column column = column_of(COLUMN_DOUBLE);
    struct schema schema = {.version = 1, .column_count = 1, .columns = &column};
    AUTO(batch_free_auto) struct batch *batch = NULL;
    assert_int_equal(batch_new(&schema, 0, &batch, NULL), OK);
    for (size_t i = 0; i < COUNT(values); i++) {
        assert_int_equal(batch_row_begin(batch, NULL), OK);
        batch_set_double(batch, 0, values[i]);
        assert_int_equal(batch_row_end(batch, NULL), OK);
    }
    struct column_stats stats;
    column_stats_init(&stats, &column);
    column_stats_update(&stats, &batch->columns[0], 4, 1);
    assert_false(stats.has_min || stats.has_max || stats.open_min || stats.open_max);
    column_stats_update(&stats, &batch->columns[0], 0, 5);
    double min;
    double max;
    memcpy(&min, stats.min, sizeof min);
    memcpy(&max, stats.max, sizeof max);
    assert_true(stats.has_min && stats.has_max && min == -2.0 && max == 3.5);
}

static void merged_statistics_equal_those_of_all_rows(void **state)
{
    (void)state;
    AUTO(schema_free_auto) struct schema *schema = every_type_schema();
    AUTO(batch_free_auto) struct batch *batch = numbered_batch(schema, 40);
    for (uint32_t c = 0; c < schema->column_count; c++) {
        for (uint32_t cut = 0; cut <= 40; cut++) {
            struct column_stats whole;
            struct column_stats left;
            struct column_stats right;
            column_stats_init(&whole, &schema->columns[c]);
            column_stats_init(&left, &schema->columns[c]);
            column_stats_init(&right, &schema->columns[c]);
            column_stats_update(&whole, &batch->columns[c], 0, 40);
            column_stats_update(&left, &batch->columns[c], 0, cut);
            column_stats_update(&right, &batch->columns[c], cut, 40 - cut);
            column_stats_merge(&left, &right);
            assert_int_equal(left.null_count, whole.null_count);
            assert_int_equal(left.null_count, batch->columns[c].null_count);
            assert_true(left.has_min && left.has_max);
            assert_int_equal(left.min_length, whole.min_length);
            assert_int_equal(left.max_length, whole.max_length);
            assert_memory_equal(left.min, whole.min, whole.min_length);
            assert_memory_equal(left.max, whole.max, whole.max_length);
        }
    }
}

static void an_open_bound_wins_a_merge(void **state)
{
    (void)state;
    struct schema_column column = column_of(COLUMN_INT64);
    struct column_stats a;
    struct column_stats b;
    column_stats_init(&a, &column);
    column_stats_init(&b, &column);
    a.has_min = a.has_max = true;
    a.min_length = a.max_length = 8;
    b.open_max = true;
    column_stats_merge(&a, &b);
    assert_true(a.has_min && !a.has_max && a.open_max);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_of_texts_stay_bounds_when_cut),
        cmocka_unit_test(not_a_number_is_never_a_bound),
        cmocka_unit_test(merged_statistics_equal_those_of_all_rows),
        cmocka_unit_test(an_open_bound_wins_a_merge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
