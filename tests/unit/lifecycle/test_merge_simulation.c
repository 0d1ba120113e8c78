/* How often rows are rewritten when what is planned is done, again and again. */
#include "tests/unit/lifecycle/planning.h"

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
    world->live[world->live_count++] = planning_candidate(world->next_id++, min_us, max_us, bytes, 0);
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
static size_t merge_once(struct planning *planning, struct world *world)
{
    planning_plan(planning, world->live, world->live_count);
    for (size_t t = 0; t < planning->task_count; t++) {
        world->bytes_rewritten[planning->tasks[t].target] += planning->tasks[t].data_bytes;
    }
    size_t kept = 0;
    struct merge_candidate *next = malloc((world->live_count + planning->task_count + 1) * sizeof *next);
    assert_non_null(next);
    for (size_t i = 0; i < world->live_count; i++) {
        bool gone = false;
        for (size_t t = 0; t < planning->task_count && !gone; t++) {
            gone = is_input(&planning->tasks[t], &world->live[i]);
        }
        if (!gone) {
            next[kept++] = world->live[i];
        }
    }
    for (size_t t = 0; t < planning->task_count; t++) {
        const struct merge_task *task = &planning->tasks[t];
        next[kept++] = planning_candidate(world->next_id++, task->min_timestamp_us, task->max_timestamp_us,
                                          task->data_bytes, task->merge_level);
    }
    memcpy(world->live, next, kept * sizeof *next);
    free(next);
    world->live_count = kept;
    return planning->task_count;
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
            fail_msg("expected at most %.2f rewrites of a byte by target %d but found %.2f", per_level, (int)target,
                     times);
        }
    }
}

static void a_backlog_planned_until_nothing_is_left_is_rewritten_once_per_level(void **state)
{
    struct planning *planning = *state;
    struct world *world = calloc(1, sizeof *world);
    planning_seed(7);
    for (size_t i = 0; i < 6000; i++) {
        int64_t at_us = OLD + (int64_t)planning_random(120 * 24) * CLOCK_HOUR_US;
        write_partition(world, at_us, at_us + (int64_t)planning_random(3600) * CLOCK_SECOND_US,
                        1 + (int64_t)planning_random(MIB));
    }
    size_t rounds = 0;
    while (merge_once(planning, world) > 0) {
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
    struct planning *planning = *state;
    struct world *world = calloc(1, sizeof *world);
    int64_t start_us = OLD + 3 * CLOCK_HOUR_US;
    int64_t step_us = 10 * CLOCK_MINUTE_US;
    size_t most_live = 0;
    planning_seed(11);
    for (int64_t now_us = start_us; now_us < start_us + 70 * DAY; now_us += step_us) {
        if (now_us < start_us + 30 * DAY) {
            int64_t late_us = planning_random(50) == 0 ? (int64_t)planning_random(3 * 24) * CLOCK_HOUR_US : 0;
            int64_t begin_us = now_us - late_us;
            int64_t border_us = (begin_us / DAY + 1) * DAY - 1;
            write_partition(world, begin_us, begin_us + step_us - 1 < border_us ? begin_us + step_us - 1 : border_us,
                            MIB / 2);
        }
        planning->options.now_us = now_us;
        (void)merge_once(planning, world);
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
    const struct CMUnitTest tests[] = {
        PLANNING_TEST(a_backlog_planned_until_nothing_is_left_is_rewritten_once_per_level),
        PLANNING_TEST(a_month_of_small_partitions_stays_small_in_number_and_rewrites),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
