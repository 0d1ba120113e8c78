#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/lifecycle/records.h"

#define DAY CLOCK_DAY_US
#define NOW (INT64_C(20000) * CLOCK_DAY_US)

static void a_shorter_retention_cools_and_a_longer_one_counts_at_once(void **state)
{
    (void)state;
    static const struct {
        int64_t effective_us, wanted_us, cooling_us;
        bool has_previous;
    } cases[] = {
        {30 * DAY, DAY, DAY, true},  {CLOCK_NEVER, 30 * DAY, DAY, true},
        {DAY, 30 * DAY, DAY, false}, {DAY, CLOCK_NEVER, DAY, false},
        {DAY, DAY, DAY, false},      {30 * DAY, DAY, 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct retention_change change =
            retention_plan_change(cases[i].effective_us, cases[i].wanted_us, cases[i].cooling_us, NOW);
        assert_int_equal(change.has_previous, cases[i].has_previous);
        int64_t before_us = retention_effective_us(cases[i].wanted_us, change.has_previous, change.previous_us,
                                                   change.effective_at_us, NOW);
        assert_int_equal(before_us, change.has_previous ? cases[i].effective_us : cases[i].wanted_us);
        int64_t last_us = retention_effective_us(cases[i].wanted_us, change.has_previous, change.previous_us,
                                                 change.effective_at_us, NOW + cases[i].cooling_us - 1);
        assert_int_equal(last_us, before_us);
        int64_t after_us = retention_effective_us(cases[i].wanted_us, change.has_previous, change.previous_us,
                                                  change.effective_at_us, NOW + cases[i].cooling_us);
        assert_int_equal(after_us, cases[i].wanted_us);
    }
}

static void the_cutoff_of_never_is_before_all_time(void **state)
{
    (void)state;
    assert_int_equal(retention_cutoff_us(30 * DAY, NOW), NOW - 30 * DAY);
    assert_true(retention_cutoff_us(CLOCK_NEVER, NOW) == INT64_MIN);
    assert_true(retention_cutoff_us(CLOCK_NEVER - 1, -NOW) == INT64_MIN);
}

static void the_breaker_counts_what_has_decayed_already(void **state)
{
    (void)state;
    static const struct {
        struct breaker_input input;
        bool allowed;
        double share;
    } cases[] = {
        {{100, 0, 50, 0.5}, true, 0.5},
        {{100, 0, 51, 0.5}, false, 0.51},
        {{60, 40, 10, 0.5}, true, 0.5},
        {{60, 40, 11, 0.5}, false, 0.51},
        {{0, 0, 0, 0.0}, true, 0},
        {{10, 90, 0, 0.5}, true, 0.9}, /* nothing to do is never refused */
        {{10, 0, 1, 0.0}, false, 0.1},
        {{10, 0, 10, 1.0}, true, 1},
        {{INT64_MAX, INT64_MAX, INT64_MAX, 0.5}, false, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double share = -1;
        assert_int_equal(breaker_allows(&cases[i].input, &share), cases[i].allowed);
        assert_true(share > cases[i].share - 1e-9 && share < cases[i].share + 1e-9);
    }
}

static void each_reason_has_its_grace(void **state)
{
    (void)state;
    struct table_settings settings;
    table_settings_defaults(&settings);
    settings.reaper_max_age_us = 1;
    settings.merge_cleanup_grace_us = 2;
    settings.abandoned_grace_us = 3;
    static const int64_t wanted_us[REASON_COUNT] = {
        [REASON_NONE] = CLOCK_NEVER, [REASON_ABANDONED] = 3, [REASON_DECAY] = 1, [REASON_DROP] = 1,
        [REASON_PARK] = 1,           [REASON_ALTER] = 1,     [REASON_MERGE] = 2,
    };
    for (enum deactivation_reason reason = REASON_NONE; reason < REASON_COUNT; reason++) {
        assert_int_equal(reap_grace_us(&settings, reason), wanted_us[reason]);
    }
}

static void nothing_is_reaped_within_the_backup_window(void **state)
{
    (void)state;
    static const struct {
        int64_t window_us, grace_us, wanted_us;
    } cases[] = {
        {0, 5, 5}, {4, 5, 5}, {5, 5, 5}, {6, 5, 6}, {6, 0, 6}, {6, CLOCK_NEVER, CLOCK_NEVER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct table_settings settings;
        table_settings_defaults(&settings);
        settings.backup_window_us = cases[i].window_us;
        settings.reaper_max_age_us = cases[i].grace_us;
        settings.merge_cleanup_grace_us = cases[i].grace_us;
        settings.abandoned_grace_us = cases[i].grace_us;
        for (enum deactivation_reason reason = REASON_NONE + 1; reason < REASON_COUNT; reason++) {
            assert_int_equal(reap_grace_us(&settings, reason), cases[i].wanted_us);
        }
    }
}

static void a_path_names_table_day_and_partition(void **state)
{
    (void)state;
    struct uuid table;
    struct uuid partition;
    char path[PARTITION_PATH_BYTES];
    assert_int_equal(uuid_parse("0198b2a4-0000-7000-8000-00000000000a", 36, &table, NULL), OK);
    assert_int_equal(uuid_parse("0198b2a4-0000-7000-8000-00000000000b", 36, &partition, NULL), OK);
    assert_string_equal(partition_path(&table, -1, &partition, path),
                        "0198b2a4-0000-7000-8000-00000000000a/1969-12-31/0198b2a4-0000-7000-8000-00000000000b.parquet");
    assert_int_equal(strlen(path) + 1, 37 + 11 + 36 + 8 + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shorter_retention_cools_and_a_longer_one_counts_at_once),
        cmocka_unit_test(the_cutoff_of_never_is_before_all_time),
        cmocka_unit_test(the_breaker_counts_what_has_decayed_already),
        cmocka_unit_test(each_reason_has_its_grace),
        cmocka_unit_test(nothing_is_reaped_within_the_backup_window),
        cmocka_unit_test(a_path_names_table_day_and_partition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
