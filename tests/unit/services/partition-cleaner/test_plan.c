#include "services/partition-cleaner/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/clock.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct cleaner_limits limits = {
    .max_orphan_percent = 10, .max_shrink_percent = 20, .max_skew_us = 5 * CLOCK_MINUTE_US};

static struct fsck_totals totals_of(int64_t rows, int64_t ok, int64_t orphans)
{
    struct fsck_totals totals;
    fsck_totals_init(&totals);
    totals.rows = rows;
    totals.classes[FSCK_OK].count = ok;
    totals.classes[FSCK_ORPHAN].count = orphans;
    totals.objects = ok + orphans;
    return totals;
}

static void deleting_is_allowed_only_when_the_catalog_can_be_believed(void **state)
{
    (void)state;
    static const struct {
        int64_t rows, ok, orphans;
        int64_t past_rows; /* -1: there was no run before */
        int64_t receipts, skew_us;
        const char *refusal; /* NULL: allowed */
    } cases[] = {
        {0, 0, 0, -1, 0, 0, NULL},
        {90, 90, 10, -1, 0, 0, NULL},
        {89, 89, 11, -1, 0, 0, "expected 10 % orphans at most but found 11 of 100"},
        {1, 1, 1, -1, 0, 0, "hint: granary plan orphans"},
        {0, 0, 1, -1, 0, 0, "but the catalog has none"},
        {100, 100, 0, 100, 0, 0, NULL},
        {80, 80, 0, 100, 0, 0, NULL},
        {79, 79, 0, 100, 0, 0, "found 79, and receipts for 0 only"},
        {20, 20, 0, 100, 80, 0, NULL}, /* reaped, with receipts */
        {20, 20, 0, 100, 59, 0, "receipts for 59 only"},
        {200, 200, 0, 100, 0, 0, NULL},
        {0, 0, 0, 0, 0, 0, NULL},
        {0, 0, 0, 100, 0, 0, "was the catalog restored?"},
        {100, 100, 0, -1, 0, 5 * CLOCK_MINUTE_US, NULL},
        {100, 100, 0, -1, 0, 5 * CLOCK_MINUTE_US + 1, "expected the clocks"},
        {100, 100, 0, -1, 0, -6 * CLOCK_MINUTE_US, "but found 360 s"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct fsck_totals now = totals_of(cases[i].rows, cases[i].ok, cases[i].orphans);
        struct fsck_totals past = totals_of(cases[i].past_rows, 0, 0);
        struct error err = {0};
        const struct cleaner_evidence evidence = {
            .now = &now,
            .past = cases[i].past_rows < 0 ? NULL : &past,
            .receipts_since = cases[i].receipts,
            .skew_us = cases[i].skew_us,
        };
        enum err_code code = cleaner_plan_verdict(&evidence, &limits, &err);
        if (code != (cases[i].refusal == NULL ? OK : ERR_DENIED)) {
            fail_msg("case %zu gave %s: %s", i, err_code_name(code), err.text);
        }
        assert_true(cases[i].refusal == NULL || strstr(err.text, cases[i].refusal) != NULL);
    }
}

static void young_objects_and_wrong_sizes_count_as_partition_files(void **state)
{
    (void)state;
    struct fsck_totals now = totals_of(5, 5, 1);
    const struct cleaner_evidence evidence = {.now = &now};
    assert_int_equal(cleaner_plan_verdict(&evidence, &limits, NULL), ERR_DENIED);
    now.classes[FSCK_YOUNG].count = 3;
    now.classes[FSCK_SIZE].count = 1;
    assert_int_equal(cleaner_plan_verdict(&evidence, &limits, NULL), OK);
}

static void no_limit_stops_what_it_is_set_to_allow(void **state)
{
    (void)state;
    const struct cleaner_limits none = {100, 100, CLOCK_HOUR_US};
    struct fsck_totals now = totals_of(1, 0, 1000);
    struct fsck_totals past = totals_of(1000, 1000, 0);
    const struct cleaner_evidence evidence = {.now = &now, .past = &past};
    assert_int_equal(cleaner_plan_verdict(&evidence, &none, NULL), OK);
}

static void the_grace_is_counted_back_from_the_stores_present(void **state)
{
    (void)state;
    assert_int_equal(cleaner_plan_modified_before_us(10 * CLOCK_DAY_US, CLOCK_DAY_US), 9 * CLOCK_DAY_US);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deleting_is_allowed_only_when_the_catalog_can_be_believed),
        cmocka_unit_test(young_objects_and_wrong_sizes_count_as_partition_files),
        cmocka_unit_test(no_limit_stops_what_it_is_set_to_allow),
        cmocka_unit_test(the_grace_is_counted_back_from_the_stores_present),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
