#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "services/decay/plan.h"

#define NOW_US (1000 * CLOCK_DAY_US)

static struct table_record table_with(int64_t retention_us, bool dropped)
{
    struct table_record table = {.retention_us = retention_us, .dropped = dropped};
    table_settings_defaults(&table.settings);
    return table;
}

static void the_scope_follows_the_retention_that_counts_now(void **state)
{
    (void)state;
    static const struct {
        int64_t retention_us;
        bool dropped;
        struct decay_scope wanted;
    } cases[] = {
        {CLOCK_NEVER, false, {false, INT64_MIN, REASON_DECAY}},
        {30 * CLOCK_DAY_US, false, {true, NOW_US - 30 * CLOCK_DAY_US, REASON_DECAY}},
        {CLOCK_NEVER, true, {true, INT64_MAX, REASON_DROP}},
        {30 * CLOCK_DAY_US, true, {true, INT64_MAX, REASON_DROP}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct table_record table = table_with(cases[i].retention_us, cases[i].dropped);
        const struct decay_scope scope = decay_plan_scope(&table, NOW_US);
        assert_int_equal(scope.due, cases[i].wanted.due);
        assert_int_equal(scope.cutoff_us, cases[i].wanted.cutoff_us);
        assert_int_equal(scope.reason, cases[i].wanted.reason);
    }
}

static void the_breaker_counts_what_went_in_the_last_day(void **state)
{
    (void)state;
    static const struct {
        int64_t rows_active, rows_deactivated, rows;
        bool dropped;
        enum decay_verdict wanted;
    } cases[] = {
        {100, 0, 50, false, DECAY_GO},       /* exactly the share */
        {100, 0, 51, false, DECAY_REFUSED},  /* above it */
        {60, 40, 10, false, DECAY_GO},       /* 40 went already: 50 of 100 */
        {60, 40, 11, false, DECAY_REFUSED},  /* 51 of 100 */
        {100, 0, 100, false, DECAY_REFUSED}, /* everything */
        {100, 0, 100, true, DECAY_GO},       /* a dropped table was dropped by a person */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct table_record table = table_with(CLOCK_DAY_US, cases[i].dropped);
        const struct decay_scope scope = decay_plan_scope(&table, NOW_US);
        const struct catalog_decay_measure measure = {
            .partitions = 1,
            .rows = cases[i].rows,
            .rows_active = cases[i].rows_active,
            .rows_deactivated = cases[i].rows_deactivated,
        };
        assert_int_equal(decay_plan_verdict(&table, &scope, &measure, NULL), cases[i].wanted);
    }
}

static void nothing_past_the_cutoff_is_nothing_to_do(void **state)
{
    (void)state;
    const struct table_record table = table_with(CLOCK_DAY_US, false);
    const struct decay_scope scope = decay_plan_scope(&table, NOW_US);
    const struct catalog_decay_measure measure = {.rows_active = 10};
    double share = -1;
    assert_int_equal(decay_plan_verdict(&table, &scope, &measure, &share), DECAY_NOTHING);
    assert_true(share == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_scope_follows_the_retention_that_counts_now),
        cmocka_unit_test(the_breaker_counts_what_went_in_the_last_day),
        cmocka_unit_test(nothing_past_the_cutoff_is_nothing_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
