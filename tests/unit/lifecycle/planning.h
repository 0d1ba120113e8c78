/* What the tests of the merge planner share: candidates, and a planner with settings. */
#ifndef GRANARY_TESTS_LIFECYCLE_PLANNING_H
#define GRANARY_TESTS_LIFECYCLE_PLANNING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/lifecycle/merge_plan.h"

#define MIB (INT64_C(1) << 20)
#define DAY CLOCK_DAY_US
#define NOW (INT64_C(21000) * DAY + 12 * CLOCK_HOUR_US)
#define OLD (INT64_C(20400) * DAY) /* the first day of a bucket of 30 days that is long over */

struct planning {
    struct table_settings settings;
    struct merge_plan_options options;
    struct arena *arena;
    struct merge_task *tasks; /* of the last plan */
    size_t task_count;
};
int planning_set_up(void **state);
int planning_tear_down(void **state);
#define PLANNING_TEST(name) cmocka_unit_test_setup_teardown(name, planning_set_up, planning_tear_down)

void planning_plan(struct planning *planning, struct merge_candidate *candidates, size_t count);

/* The number stands in the last bytes of the id. */
struct merge_candidate planning_candidate(uint64_t number, int64_t min_us, int64_t max_us, int64_t bytes,
                                          int32_t level);

/* The same numbers for the same seed, on every machine. */
void planning_seed(uint64_t seed);
uint64_t planning_random(uint64_t bound);

#endif
