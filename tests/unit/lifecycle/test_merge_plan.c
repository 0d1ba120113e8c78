#include "tests/unit/lifecycle/planning.h"

/* --- one rule at a time ------------------------------------------------------------------------------------------- */

static void nothing_gives_no_task(void **state)
{
    struct planning *planning = *state;
    planning_plan(planning, NULL, 0);
    assert_int_equal(planning->task_count, 0);
}

static void neighbours_of_one_day_become_one(void **state)
{
    struct planning *planning = *state;
    struct merge_candidate candidates[] = {
        planning_candidate(3, OLD + 50, OLD + 60, MIB, 0),
        planning_candidate(1, OLD, OLD + 100, 2 * MIB, 0),
        planning_candidate(2, OLD, OLD + 90, 3 * MIB, 0),
    };
    planning_plan(planning, candidates, 3);
    assert_int_equal(planning->task_count, 1);
    const struct merge_task *task = &planning->tasks[0];
    assert_int_equal(task->target, MERGE_SMALL);
    assert_int_equal(task->merge_level, 1);
    assert_int_equal(task->input_count, 3);
    assert_int_equal(task->inputs[0]->partition_id.bytes[15], 2);
    assert_int_equal(task->inputs[1]->partition_id.bytes[15], 1);
    assert_int_equal(task->inputs[2]->partition_id.bytes[15], 3);
    assert_int_equal(task->min_timestamp_us, OLD);
    assert_int_equal(task->max_timestamp_us, OLD + 100);
    assert_int_equal(task->data_bytes, 6 * MIB);
    assert_int_equal(task->row_count, MIB / 100 + 2 * MIB / 100 + 3 * MIB / 100 + 3);
}

/* Two partitions: are they merged by the small target, and if not, why not? */
static void pairs_that_are_merged_and_pairs_that_are_not(void **state)
{
    struct planning *planning = *state;
    planning->settings.merge[MERGE_MEDIUM].size_bytes = 1; /* only the small target has a say here */
    planning->settings.merge[MERGE_LARGE].size_bytes = 1;
    static const struct {
        const char *why;
        struct merge_candidate a, b;
        int64_t cutoff_us;
        size_t tasks;
    } cases[] = {
#define PAIR(a_min, a_max, a_bytes, a_level, b_min, b_max, b_bytes, b_level) \
    {{{0}}, (a_min), (a_max), (a_bytes), 1, 1, (a_level), 1, false},         \
        {{{1}}, (b_min), (b_max), (b_bytes), 1, 1, (b_level), 1, false}
        {"same day", PAIR(OLD, OLD, MIB, 0, OLD + DAY - 1, OLD + DAY - 1, MIB, 0), INT64_MIN, 1},
        {"two days", PAIR(OLD, OLD, MIB, 0, OLD + DAY, OLD + DAY, MIB, 0), INT64_MIN, 0},
        {"one crosses midnight", PAIR(OLD, OLD + DAY, MIB, 0, OLD, OLD, MIB, 0), INT64_MIN, 0},
        {"before the epoch", PAIR(-DAY, -DAY, MIB, 0, -1, -1, MIB, 0), INT64_MIN, 1},
        {"around the epoch", PAIR(-1, -1, MIB, 0, 0, 0, MIB, 0), INT64_MIN, 0},
        {"together exactly full", PAIR(OLD, OLD, 16 * MIB, 0, OLD, OLD, 16 * MIB, 0), INT64_MIN, 1},
        {"together too large", PAIR(OLD, OLD, 16 * MIB, 0, OLD, OLD, 16 * MIB + 1, 0), INT64_MIN, 0},
        {"one well filled", PAIR(OLD, OLD, 24 * MIB, 0, OLD, OLD, 1, 0), INT64_MIN, 0},
        {"one almost well filled", PAIR(OLD, OLD, 24 * MIB - 1, 0, OLD, OLD, 1, 0), INT64_MIN, 1},
        {"one made by this level", PAIR(OLD, OLD, MIB, 1, OLD, OLD, MIB, 0), INT64_MIN, 0},
        {"both made by this level", PAIR(OLD, OLD, 1, 1, OLD, OLD, 1, 1), INT64_MIN, 0},
        {"one decays soon", PAIR(OLD, OLD, MIB, 0, OLD, OLD + 1, MIB, 0), OLD + 1, 0},
        {"neither decays", PAIR(OLD, OLD + 1, MIB, 0, OLD, OLD + 1, MIB, 0), OLD + 1, 1},
        {"the day is not over", PAIR(NOW, NOW, MIB, 0, NOW, NOW, MIB, 0), INT64_MIN, 0},
        {"the day is not over, but they half fill it", PAIR(NOW, NOW, 8 * MIB, 0, NOW, NOW, 8 * MIB, 0), INT64_MIN, 1},
        {"the times at either end", PAIR(INT64_MIN, INT64_MIN, MIB, 0, INT64_MAX, INT64_MAX, MIB, 0), INT64_MIN, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct merge_candidate candidates[] = {cases[i].a, cases[i].b};
        planning->options.cutoff_us = cases[i].cutoff_us;
        planning_plan(planning, candidates, 2);
        if (planning->task_count != cases[i].tasks) {
            fail_msg("%s: expected %zu tasks but found %zu", cases[i].why, cases[i].tasks, planning->task_count);
        }
    }
}

static void a_growing_bucket_waits_for_min_inputs(void **state)
{
    struct planning *planning = *state;
    struct merge_candidate candidates[10];
    for (size_t i = 0; i < 10; i++) {
        candidates[i] = planning_candidate(i, NOW, NOW, 1000, 0);
    }
    planning_plan(planning, candidates, 9);
    assert_int_equal(planning->task_count, 0);
    planning_plan(planning, candidates, 10);
    assert_int_equal(planning->task_count, 1);
    assert_int_equal(planning->tasks[0].input_count, 10);
}

static void eight_small_outputs_of_a_level_are_merged_again_and_seven_are_not(void **state)
{
    struct planning *planning = *state;
    planning->settings.merge[MERGE_MEDIUM].min_age_us = 10000 * DAY;
    planning->settings.merge[MERGE_LARGE].min_age_us = 10000 * DAY;
    struct merge_candidate candidates[9];
    for (size_t i = 0; i < 9; i++) {
        candidates[i] = planning_candidate(i, OLD, OLD, i == 4 ? 4 * MIB + 1 : i == 5 ? 4 * MIB : MIB, 1);
    }
    planning_plan(planning, candidates, 8);
    assert_int_equal(planning->task_count, 0);
    planning_plan(planning, candidates, 9);
    assert_int_equal(planning->task_count, 1);
    assert_int_equal(planning->tasks[0].input_count, 8);
    assert_int_equal(planning->tasks[0].data_bytes, 11 * MIB);
    assert_int_equal(planning->tasks[0].merge_level, 1);
}

static void an_output_keeps_within_the_borders_of_larger_targets(void **state)
{
    struct planning *planning = *state;
    planning->settings.merge[MERGE_SMALL].size_bytes = 1;
    int64_t week_us = (OLD + 30 * DAY) / (7 * DAY) * 7 * DAY; /* the week that holds the border of the month */
    assert_true(week_us < OLD + 30 * DAY && week_us + 7 * DAY > OLD + 30 * DAY);
    struct merge_candidate candidates[14];
    for (size_t i = 0; i < 14; i++) {
        int64_t at_us = week_us + (int64_t)(i / 2) * DAY;
        candidates[i] = planning_candidate(i, at_us, at_us, MIB, 0);
    }
    planning_plan(planning, candidates, 14);
    assert_int_equal(planning->task_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(planning->tasks[i].target, MERGE_MEDIUM);
        assert_int_equal(planning->tasks[i].min_timestamp_us / (30 * DAY),
                         planning->tasks[i].max_timestamp_us / (30 * DAY));
    }
}

static void a_larger_target_waits_for_a_smaller_one_and_for_merges_under_way(void **state)
{
    struct planning *planning = *state;
    struct merge_candidate candidates[] = {
        planning_candidate(1, OLD, OLD, MIB, 0),
        planning_candidate(2, OLD + DAY, OLD + DAY, MIB, 0),
        planning_candidate(3, OLD + 2 * DAY, OLD + 2 * DAY, MIB, 0),
        planning_candidate(4, OLD + 2 * DAY, OLD + 2 * DAY, MIB, 0),
    };
    planning_plan(planning, candidates, 4);
    assert_int_equal(planning->task_count, 1); /* days 1 and 2 wait until day 3 is done */
    assert_int_equal(planning->tasks[0].target, MERGE_SMALL);
    planning->options.max_tasks = 0;
    planning_plan(planning, candidates, 4);
    assert_int_equal(planning->task_count, 0);
    planning->options.max_tasks = SIZE_MAX;
    candidates[2].busy = candidates[3].busy = true;
    planning_plan(planning, candidates, 4);
    assert_int_equal(planning->task_count, 0);
    planning_plan(planning, candidates, 2);
    assert_int_equal(planning->task_count, 1);
    assert_int_equal(planning->tasks[0].target, MERGE_MEDIUM);
    assert_int_equal(planning->tasks[0].merge_level, 2);
}

static void ages_outside_a_targets_bounds_are_left_alone(void **state)
{
    struct planning *planning = *state;
    int64_t age_us = 3 * DAY;
    struct merge_candidate candidates[2];
    static const struct {
        int64_t min_age_us, max_age_us;
        size_t tasks;
    } cases[] = {{0, CLOCK_NEVER, 1}, {3 * DAY, 3 * DAY, 1}, {3 * DAY + 1, CLOCK_NEVER, 0}, {0, 3 * DAY - 1, 0}};
    planning->settings.merge[MERGE_MEDIUM].size_bytes = 1;
    planning->settings.merge[MERGE_LARGE].size_bytes = 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        planning->settings.merge[MERGE_SMALL].min_age_us = cases[i].min_age_us;
        planning->settings.merge[MERGE_SMALL].max_age_us = cases[i].max_age_us;
        candidates[0] = planning_candidate(1, NOW - age_us, NOW - age_us, MIB, 0);
        candidates[1] = planning_candidate(2, NOW - age_us, NOW - age_us, MIB, 0);
        planning_plan(planning, candidates, 2);
        assert_int_equal(planning->task_count, cases[i].tasks);
    }
}

static bool odd_with_odd(void *context, int32_t version_a, int32_t version_b)
{
    (void)context;
    return version_a % 2 == version_b % 2;
}

static void schemas_that_cannot_be_reconciled_are_merged_each_among_themselves(void **state)
{
    struct planning *planning = *state;
    struct merge_candidate candidates[8];
    for (size_t i = 0; i < 8; i++) {
        candidates[i] = planning_candidate(i, OLD + (int64_t)i, OLD + (int64_t)i, MIB, 0);
        candidates[i].schema_version = (int32_t)i % 4 + 1;
    }
    planning_plan(planning, candidates, 8);
    assert_int_equal(planning->task_count, 4); /* without a callback only equal versions go together */
    planning->options.reconcilable = odd_with_odd;
    planning_plan(planning, candidates, 8);
    assert_int_equal(planning->task_count, 2);
    for (size_t t = 0; t < 2; t++) {
        assert_int_equal(planning->tasks[t].input_count, 4);
        for (size_t i = 0; i < 4; i++) {
            assert_int_equal(planning->tasks[t].inputs[i]->schema_version % 2, t == 0 ? 1 : 0);
        }
    }
}

static void max_inputs_and_max_tasks_bound_the_plan(void **state)
{
    struct planning *planning = *state;
    planning->settings.merge_max_inputs = 3;
    struct merge_candidate candidates[30];
    for (size_t i = 0; i < 30; i++) {
        candidates[i] = planning_candidate(i, OLD, OLD, 1, 0);
    }
    planning_plan(planning, candidates, 30);
    assert_int_equal(planning->task_count, 10);
    planning->options.max_tasks = 4;
    planning_plan(planning, candidates, 30);
    assert_int_equal(planning->task_count, 4);
    for (size_t t = 0; t < 4; t++) {
        assert_int_equal(planning->tasks[t].input_count, 3);
    }
}

/* --- properties --------------------------------------------------------------------------------------------------- */

static int64_t floor_bucket(int64_t time_us, int64_t width_us)
{
    return time_us < 0 ? -((-time_us - 1) / width_us) - 1 : time_us / width_us;
}

/* Checks every promise about the plan at hand; marks the inputs in `used` by the number in their id. */
static void check_plan(const struct planning *planning, unsigned char *used)
{
    for (size_t t = 0; t < planning->task_count; t++) {
        const struct merge_task *task = &planning->tasks[t];
        const struct merge_target *target = &planning->settings.merge[task->target];
        assert_in_range(task->input_count, 2, (uintmax_t)planning->settings.merge_max_inputs);
        assert_true(task->data_bytes <= target->size_bytes);
        assert_int_equal(task->merge_level, (int)task->target + 1);
        assert_int_equal(floor_bucket(task->min_timestamp_us, target->width_us),
                         floor_bucket(task->max_timestamp_us, target->width_us));
        int64_t bytes = 0;
        for (size_t i = 0; i < task->input_count; i++) {
            const struct merge_candidate *input = task->inputs[i];
            size_t number = (size_t)input->partition_id.bytes[13] << 16 | (size_t)input->partition_id.bytes[14] << 8 |
                            input->partition_id.bytes[15];
            assert_int_equal(used[number], 0);
            used[number] = 1;
            assert_false(input->busy);
            assert_true(input->merge_level <= task->merge_level);
            assert_true(input->min_timestamp_us >= task->min_timestamp_us);
            assert_true(input->max_timestamp_us <= task->max_timestamp_us);
            bytes += input->data_bytes;
        }
        assert_int_equal(bytes, task->data_bytes);
    }
}

enum { RANDOM_COUNT = 400 };

static void fill_randomly(struct merge_candidate candidates[RANDOM_COUNT], uint64_t seed)
{
    planning_seed(seed);
    for (size_t i = 0; i < RANDOM_COUNT; i++) {
        int64_t min_us = NOW - (int64_t)planning_random(90 * 24) * CLOCK_HOUR_US;
        int64_t span_us = (int64_t)planning_random(10) == 0 ? 2 * DAY : (int64_t)planning_random(12) * CLOCK_HOUR_US;
        candidates[i] = planning_candidate(i, min_us, min_us + span_us, (int64_t)planning_random(40) * MIB / 8 + 1,
                                           (int32_t)planning_random(4));
        candidates[i].schema_version = (int32_t)planning_random(3) + 1;
        candidates[i].busy = planning_random(20) == 0;
    }
}

static void random_plans_keep_every_promise_in_any_order_of_input(void **state)
{
    struct planning *planning = *state;
    planning->options.reconcilable = odd_with_odd;
    size_t planned = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct merge_candidate candidates[RANDOM_COUNT];
        fill_randomly(candidates, seed);
        unsigned char used[RANDOM_COUNT] = {0};
        planning_plan(planning, candidates, RANDOM_COUNT);
        check_plan(planning, used);
        planned += planning->task_count;

        struct merge_candidate shuffled[RANDOM_COUNT];
        memcpy(shuffled, candidates, sizeof shuffled);
        for (size_t i = RANDOM_COUNT - 1; i > 0; i--) {
            size_t j = (size_t)planning_random(i + 1);
            struct merge_candidate swapped = shuffled[i];
            shuffled[i] = shuffled[j];
            shuffled[j] = swapped;
        }
        AUTO(arena_free_auto) struct arena *other = arena_new(0);
        struct merge_task *tasks = NULL;
        size_t count = 0;
        assert_int_equal(merge_plan(shuffled, RANDOM_COUNT, &planning->options, other, &tasks, &count, NULL), OK);
        assert_int_equal(count, planning->task_count);
        for (size_t t = 0; t < count; t++) {
            assert_int_equal(tasks[t].input_count, planning->tasks[t].input_count);
            for (size_t i = 0; i < tasks[t].input_count; i++) {
                assert_true(uuid_equal(&tasks[t].inputs[i]->partition_id, &planning->tasks[t].inputs[i]->partition_id));
            }
        }
    }
    assert_true(planned > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLANNING_TEST(nothing_gives_no_task),
        PLANNING_TEST(neighbours_of_one_day_become_one),
        PLANNING_TEST(pairs_that_are_merged_and_pairs_that_are_not),
        PLANNING_TEST(a_growing_bucket_waits_for_min_inputs),
        PLANNING_TEST(eight_small_outputs_of_a_level_are_merged_again_and_seven_are_not),
        PLANNING_TEST(an_output_keeps_within_the_borders_of_larger_targets),
        PLANNING_TEST(a_larger_target_waits_for_a_smaller_one_and_for_merges_under_way),
        PLANNING_TEST(ages_outside_a_targets_bounds_are_left_alone),
        PLANNING_TEST(schemas_that_cannot_be_reconciled_are_merged_each_among_themselves),
        PLANNING_TEST(max_inputs_and_max_tasks_bound_the_plan),
        PLANNING_TEST(random_plans_keep_every_promise_in_any_order_of_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
