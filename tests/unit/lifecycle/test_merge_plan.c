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

static uint64_t random_state;

static uint64_t random_below(uint64_t bound)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (random_state >> 33) % bound;
}

static struct uuid id_of(uint64_t number)
{
    struct uuid id = {{0}};
    for (int i = 0; i < 8; i++) {
        id.bytes[15 - i] = (uint8_t)(number >> (8 * i));
    }
    return id;
}

static struct merge_candidate candidate(uint64_t id, int64_t min_us, int64_t max_us, int64_t bytes, int32_t level)
{
    return (struct merge_candidate){
        .partition_id = id_of(id),
        .min_timestamp_us = min_us,
        .max_timestamp_us = max_us,
        .data_bytes = bytes,
        .row_count = bytes / 100 + 1,
        .schema_version = 1,
        .merge_level = level,
        .version = 1,
    };
}

struct fixture {
    struct table_settings settings;
    struct merge_plan_options options;
    struct arena *arena;
    struct merge_task *tasks;
    size_t task_count;
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    table_settings_defaults(&fixture->settings);
    fixture->options = (struct merge_plan_options){
        .settings = &fixture->settings, .now_us = NOW, .cutoff_us = INT64_MIN, .max_tasks = SIZE_MAX};
    fixture->arena = arena_new(0);
    *state = fixture;
    return fixture->arena == NULL;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    arena_free(fixture->arena);
    free(fixture);
    return 0;
}

static void plan(struct fixture *fixture, struct merge_candidate *candidates, size_t count)
{
    struct error err = {0};
    arena_reset(fixture->arena);
    assert_int_equal(merge_plan(candidates, count, &fixture->options, fixture->arena, &fixture->tasks,
                                &fixture->task_count, &err),
                     OK);
}

/* --- one rule at a time ------------------------------------------------------------------------------------------- */

static void nothing_gives_no_task(void **state)
{
    struct fixture *fixture = *state;
    plan(fixture, NULL, 0);
    assert_int_equal(fixture->task_count, 0);
}

static void neighbours_of_one_day_become_one(void **state)
{
    struct fixture *fixture = *state;
    struct merge_candidate candidates[] = {
        candidate(3, OLD + 50, OLD + 60, MIB, 0),
        candidate(1, OLD, OLD + 100, 2 * MIB, 0),
        candidate(2, OLD, OLD + 90, 3 * MIB, 0),
    };
    plan(fixture, candidates, 3);
    assert_int_equal(fixture->task_count, 1);
    const struct merge_task *task = &fixture->tasks[0];
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
    struct fixture *fixture = *state;
    fixture->settings.merge[MERGE_MEDIUM].size_bytes = 1; /* only the small target has a say here */
    fixture->settings.merge[MERGE_LARGE].size_bytes = 1;
    static const struct {
        const char *why;
        struct merge_candidate a, b;
        int64_t cutoff_us;
        size_t tasks;
    } cases[] = {
#define PAIR(a_min, a_max, a_bytes, a_level, b_min, b_max, b_bytes, b_level)                                       \
    {{{0}}, (a_min), (a_max), (a_bytes), 1, 1, (a_level), 1, false},                                               \
    {                                                                                                              \
        {{1}}, (b_min), (b_max), (b_bytes), 1, 1, (b_level), 1, false                                              \
    }
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
        fixture->options.cutoff_us = cases[i].cutoff_us;
        plan(fixture, candidates, 2);
        if (fixture->task_count != cases[i].tasks) {
            fail_msg("%s: expected %zu tasks but found %zu", cases[i].why, cases[i].tasks, fixture->task_count);
        }
    }
}

static void a_growing_bucket_waits_for_min_inputs(void **state)
{
    struct fixture *fixture = *state;
    struct merge_candidate candidates[10];
    for (size_t i = 0; i < 10; i++) {
        candidates[i] = candidate(i, NOW, NOW, 1000, 0);
    }
    plan(fixture, candidates, 9);
    assert_int_equal(fixture->task_count, 0);
    plan(fixture, candidates, 10);
    assert_int_equal(fixture->task_count, 1);
    assert_int_equal(fixture->tasks[0].input_count, 10);
}

static void eight_small_outputs_of_a_level_are_merged_again_and_seven_are_not(void **state)
{
    struct fixture *fixture = *state;
    fixture->settings.merge[MERGE_MEDIUM].min_age_us = 10000 * DAY;
    fixture->settings.merge[MERGE_LARGE].min_age_us = 10000 * DAY;
    struct merge_candidate candidates[9];
    for (size_t i = 0; i < 9; i++) {
        candidates[i] = candidate(i, OLD, OLD, i == 4 ? 4 * MIB + 1 : i == 5 ? 4 * MIB : MIB, 1);
    }
    plan(fixture, candidates, 8);
    assert_int_equal(fixture->task_count, 0);
    plan(fixture, candidates, 9);
    assert_int_equal(fixture->task_count, 1);
    assert_int_equal(fixture->tasks[0].input_count, 8);
    assert_int_equal(fixture->tasks[0].data_bytes, 11 * MIB);
    assert_int_equal(fixture->tasks[0].merge_level, 1);
}

static void an_output_keeps_within_the_borders_of_larger_targets(void **state)
{
    struct fixture *fixture = *state;
    fixture->settings.merge[MERGE_SMALL].size_bytes = 1;
    int64_t week_us = (OLD + 30 * DAY) / (7 * DAY) * 7 * DAY; /* the week that holds the border of the month */
    assert_true(week_us < OLD + 30 * DAY && week_us + 7 * DAY > OLD + 30 * DAY);
    struct merge_candidate candidates[14];
    for (size_t i = 0; i < 14; i++) {
        int64_t at_us = week_us + (int64_t)(i / 2) * DAY;
        candidates[i] = candidate(i, at_us, at_us, MIB, 0);
    }
    plan(fixture, candidates, 14);
    assert_int_equal(fixture->task_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(fixture->tasks[i].target, MERGE_MEDIUM);
        assert_int_equal(fixture->tasks[i].min_timestamp_us / (30 * DAY), fixture->tasks[i].max_timestamp_us / (30 * DAY));
    }
}

static void a_larger_target_waits_for_a_smaller_one_and_for_merges_under_way(void **state)
{
    struct fixture *fixture = *state;
    struct merge_candidate candidates[] = {
        candidate(1, OLD, OLD, MIB, 0),
        candidate(2, OLD + DAY, OLD + DAY, MIB, 0),
        candidate(3, OLD + 2 * DAY, OLD + 2 * DAY, MIB, 0),
        candidate(4, OLD + 2 * DAY, OLD + 2 * DAY, MIB, 0),
    };
    plan(fixture, candidates, 4);
    assert_int_equal(fixture->task_count, 1); /* days 1 and 2 wait until day 3 is done */
    assert_int_equal(fixture->tasks[0].target, MERGE_SMALL);
    fixture->options.max_tasks = 0;
    plan(fixture, candidates, 4);
    assert_int_equal(fixture->task_count, 0);
    fixture->options.max_tasks = SIZE_MAX;
    candidates[2].busy = candidates[3].busy = true;
    plan(fixture, candidates, 4);
    assert_int_equal(fixture->task_count, 0);
    plan(fixture, candidates, 2);
    assert_int_equal(fixture->task_count, 1);
    assert_int_equal(fixture->tasks[0].target, MERGE_MEDIUM);
    assert_int_equal(fixture->tasks[0].merge_level, 2);
}

static void ages_outside_a_targets_bounds_are_left_alone(void **state)
{
    struct fixture *fixture = *state;
    int64_t age_us = 3 * DAY;
    struct merge_candidate candidates[2];
    static const struct {
        int64_t min_age_us, max_age_us;
        size_t tasks;
    } cases[] = {{0, CLOCK_NEVER, 1}, {3 * DAY, 3 * DAY, 1}, {3 * DAY + 1, CLOCK_NEVER, 0}, {0, 3 * DAY - 1, 0}};
    fixture->settings.merge[MERGE_MEDIUM].size_bytes = 1;
    fixture->settings.merge[MERGE_LARGE].size_bytes = 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture->settings.merge[MERGE_SMALL].min_age_us = cases[i].min_age_us;
        fixture->settings.merge[MERGE_SMALL].max_age_us = cases[i].max_age_us;
        candidates[0] = candidate(1, NOW - age_us, NOW - age_us, MIB, 0);
        candidates[1] = candidate(2, NOW - age_us, NOW - age_us, MIB, 0);
        plan(fixture, candidates, 2);
        assert_int_equal(fixture->task_count, cases[i].tasks);
    }
}

static bool odd_with_odd(void *context, int32_t version_a, int32_t version_b)
{
    (void)context;
    return version_a % 2 == version_b % 2;
}

static void schemas_that_cannot_be_reconciled_are_merged_each_among_themselves(void **state)
{
    struct fixture *fixture = *state;
    struct merge_candidate candidates[8];
    for (size_t i = 0; i < 8; i++) {
        candidates[i] = candidate(i, OLD + (int64_t)i, OLD + (int64_t)i, MIB, 0);
        candidates[i].schema_version = (int32_t)i % 4 + 1;
    }
    plan(fixture, candidates, 8);
    assert_int_equal(fixture->task_count, 4); /* without a callback only equal versions go together */
    fixture->options.reconcilable = odd_with_odd;
    plan(fixture, candidates, 8);
    assert_int_equal(fixture->task_count, 2);
    for (size_t t = 0; t < 2; t++) {
        assert_int_equal(fixture->tasks[t].input_count, 4);
        for (size_t i = 0; i < 4; i++) {
            assert_int_equal(fixture->tasks[t].inputs[i]->schema_version % 2, t == 0 ? 1 : 0);
        }
    }
}

static void max_inputs_and_max_tasks_bound_the_plan(void **state)
{
    struct fixture *fixture = *state;
    fixture->settings.merge_max_inputs = 3;
    struct merge_candidate candidates[30];
    for (size_t i = 0; i < 30; i++) {
        candidates[i] = candidate(i, OLD, OLD, 1, 0);
    }
    plan(fixture, candidates, 30);
    assert_int_equal(fixture->task_count, 10);
    fixture->options.max_tasks = 4;
    plan(fixture, candidates, 30);
    assert_int_equal(fixture->task_count, 4);
    for (size_t t = 0; t < 4; t++) {
        assert_int_equal(fixture->tasks[t].input_count, 3);
    }
}

/* --- properties --------------------------------------------------------------------------------------------------- */

static int64_t floor_bucket(int64_t time_us, int64_t width_us)
{
    return time_us < 0 ? -((-time_us - 1) / width_us) - 1 : time_us / width_us;
}

/* Checks every promise about the plan at hand; marks the inputs in `used` by the number in their id. */
static void check_plan(const struct fixture *fixture, unsigned char *used)
{
    for (size_t t = 0; t < fixture->task_count; t++) {
        const struct merge_task *task = &fixture->tasks[t];
        const struct merge_target *target = &fixture->settings.merge[task->target];
        assert_in_range(task->input_count, 2, (uintmax_t)fixture->settings.merge_max_inputs);
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
    random_state = seed;
    for (size_t i = 0; i < RANDOM_COUNT; i++) {
        int64_t min_us = NOW - (int64_t)random_below(90 * 24) * CLOCK_HOUR_US;
        int64_t span_us = (int64_t)random_below(10) == 0 ? 2 * DAY : (int64_t)random_below(12) * CLOCK_HOUR_US;
        candidates[i] = candidate(i, min_us, min_us + span_us, (int64_t)random_below(40) * MIB / 8 + 1,
                                  (int32_t)random_below(4));
        candidates[i].schema_version = (int32_t)random_below(3) + 1;
        candidates[i].busy = random_below(20) == 0;
    }
}

static void random_plans_keep_every_promise_in_any_order_of_input(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.reconcilable = odd_with_odd;
    size_t planned = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct merge_candidate candidates[RANDOM_COUNT];
        fill_randomly(candidates, seed);
        unsigned char used[RANDOM_COUNT] = {0};
        plan(fixture, candidates, RANDOM_COUNT);
        check_plan(fixture, used);
        planned += fixture->task_count;

        struct merge_candidate shuffled[RANDOM_COUNT];
        memcpy(shuffled, candidates, sizeof shuffled);
        for (size_t i = RANDOM_COUNT - 1; i > 0; i--) {
            size_t j = (size_t)random_below(i + 1);
            struct merge_candidate swapped = shuffled[i];
            shuffled[i] = shuffled[j];
            shuffled[j] = swapped;
        }
        AUTO(arena_free_auto) struct arena *other = arena_new(0);
        struct merge_task *tasks = NULL;
        size_t count = 0;
        assert_int_equal(merge_plan(shuffled, RANDOM_COUNT, &fixture->options, other, &tasks, &count, NULL), OK);
        assert_int_equal(count, fixture->task_count);
        for (size_t t = 0; t < count; t++) {
            assert_int_equal(tasks[t].input_count, fixture->tasks[t].input_count);
            for (size_t i = 0; i < tasks[t].input_count; i++) {
                assert_true(uuid_equal(&tasks[t].inputs[i]->partition_id, &fixture->tasks[t].inputs[i]->partition_id));
            }
        }
    }
    assert_true(planned > 200);
}

/* --- write amplification ------------------------------------------------------------------------------------------ */

enum { WORLD_MAX = 40000 };

/* Partitions that live in a simulated catalog; ids are their places. */
struct world {
    struct merge_candidate live[WORLD_MAX];
    size_t live_count;
    size_t next_id;
    int64_t bytes_written, bytes_rewritten[MERGE_TARGET_COUNT];
};

static void write_partition(struct world *world, int64_t min_us, int64_t max_us, int64_t bytes)
{
    assert_true(world->live_count < WORLD_MAX);
    world->live[world->live_count++] = candidate(world->next_id++, min_us, max_us, bytes, 0);
    world->bytes_written += bytes;
}

static bool is_input(const struct merge_task *task, const struct merge_candidate *partition)
{
    for (size_t i = 0; i < task->input_count; i++) {
        if (uuid_equal(&task->inputs[i]->partition_id, &partition->partition_id)) {
            return true;
        }
    }
    return false;
}

/* Does what is planned, all at once. Returns the number of tasks. */
static size_t merge_once(struct fixture *fixture, struct world *world)
{
    plan(fixture, world->live, world->live_count);
    for (size_t t = 0; t < fixture->task_count; t++) {
        world->bytes_rewritten[fixture->tasks[t].target] += fixture->tasks[t].data_bytes;
    }
    size_t kept = 0;
    struct merge_candidate *next = malloc(WORLD_MAX * sizeof *next);
    assert_non_null(next);
    for (size_t i = 0; i < world->live_count; i++) {
        bool gone = false;
        for (size_t t = 0; t < fixture->task_count && !gone; t++) {
            gone = is_input(&fixture->tasks[t], &world->live[i]);
        }
        if (!gone) {
            next[kept++] = world->live[i];
        }
    }
    for (size_t t = 0; t < fixture->task_count; t++) {
        const struct merge_task *task = &fixture->tasks[t];
        next[kept++] = candidate(world->next_id++, task->min_timestamp_us, task->max_timestamp_us, task->data_bytes,
                                 task->merge_level);
    }
    memcpy(world->live, next, kept * sizeof *next);
    free(next);
    world->live_count = kept;
    return fixture->task_count;
}

static double amplification(const struct world *world, enum merge_target_id target)
{
    return (double)world->bytes_rewritten[target] / (double)world->bytes_written;
}

static void check_amplification(const struct world *world, double per_level)
{
    for (enum merge_target_id target = MERGE_SMALL; target < MERGE_TARGET_COUNT; target++) {
        double times = amplification(world, target);
        print_message("target %d rewrote each byte %.2f times\n", (int)target, times);
        if (times > per_level) {
            fail_msg("expected at most %.2f rewrites of a byte by target %d but found %.2f", per_level, (int)target, times);
        }
    }
}

static void a_backlog_planned_until_nothing_is_left_is_rewritten_once_per_level(void **state)
{
    struct fixture *fixture = *state;
    struct world *world = calloc(1, sizeof *world);
    random_state = 7;
    for (size_t i = 0; i < 6000; i++) {
        int64_t at_us = OLD + (int64_t)random_below(120 * 24) * CLOCK_HOUR_US;
        write_partition(world, at_us, at_us + (int64_t)random_below(3600) * CLOCK_SECOND_US, 1 + (int64_t)random_below(MIB));
    }
    size_t rounds = 0;
    while (merge_once(fixture, world) > 0) {
        assert_true(++rounds < 12);
    }
    check_amplification(world, 1.0);
    assert_true(world->live_count < 60);
    free(world);
}

/* Thirty days in which every ten minutes one partition of half a mebibyte comes in, a few of them late, with a plan
 * every ten minutes; then forty days of planning only. */
static void a_month_of_small_partitions_stays_small_in_number_and_rewrites(void **state)
{
    struct fixture *fixture = *state;
    struct world *world = calloc(1, sizeof *world);
    int64_t start_us = OLD + 3 * CLOCK_HOUR_US;
    int64_t step_us = 10 * CLOCK_MINUTE_US;
    size_t most_live = 0;
    random_state = 11;
    for (int64_t now_us = start_us; now_us < start_us + 70 * DAY; now_us += step_us) {
        if (now_us < start_us + 30 * DAY) {
            int64_t late_us = random_below(50) == 0 ? (int64_t)random_below(3 * 24) * CLOCK_HOUR_US : 0;
            int64_t begin_us = now_us - late_us;
            int64_t border_us = (begin_us / DAY + 1) * DAY - 1;
            write_partition(world, begin_us, begin_us + step_us - 1 < border_us ? begin_us + step_us - 1 : border_us,
                            MIB / 2);
        }
        fixture->options.now_us = now_us;
        (void)merge_once(fixture, world);
        most_live = world->live_count > most_live ? world->live_count : most_live;
    }
    print_message("%zu partitions written; at most %zu live, %zu at the end\n", (size_t)(30 * DAY / step_us), most_live,
                  world->live_count);
    check_amplification(world, 1.4);
    assert_true(most_live < 200);
    assert_true(world->live_count < 20);
    free(world);
}

int main(void)
{
#define PLAN_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        PLAN_TEST(nothing_gives_no_task),
        PLAN_TEST(neighbours_of_one_day_become_one),
        PLAN_TEST(pairs_that_are_merged_and_pairs_that_are_not),
        PLAN_TEST(a_growing_bucket_waits_for_min_inputs),
        PLAN_TEST(eight_small_outputs_of_a_level_are_merged_again_and_seven_are_not),
        PLAN_TEST(an_output_keeps_within_the_borders_of_larger_targets),
        PLAN_TEST(a_larger_target_waits_for_a_smaller_one_and_for_merges_under_way),
        PLAN_TEST(ages_outside_a_targets_bounds_are_left_alone),
        PLAN_TEST(schemas_that_cannot_be_reconciled_are_merged_each_among_themselves),
        PLAN_TEST(max_inputs_and_max_tasks_bound_the_plan),
        PLAN_TEST(random_plans_keep_every_promise_in_any_order_of_input),
        PLAN_TEST(a_backlog_planned_until_nothing_is_left_is_rewritten_once_per_level),
        PLAN_TEST(a_month_of_small_partitions_stays_small_in_number_and_rewrites),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
