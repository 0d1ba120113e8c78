#include "tests/unit/lifecycle/planning.h"

static uint64_t random_state;

void planning_seed(uint64_t seed)
{
    random_state = seed;
}

uint64_t planning_random(uint64_t bound)
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

struct merge_candidate planning_candidate(uint64_t id, int64_t min_us, int64_t max_us, int64_t bytes, int32_t level)
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

int planning_set_up(void **state)
{
    struct planning *planning = calloc(1, sizeof *planning);
    table_settings_defaults(&planning->settings);
    planning->options = (struct merge_plan_options){
        .settings = &planning->settings, .now_us = NOW, .cutoff_us = INT64_MIN, .max_tasks = SIZE_MAX};
    planning->arena = arena_new(0);
    *state = planning;
    return planning->arena == NULL;
}

int planning_tear_down(void **state)
{
    struct planning *planning = *state;
    arena_free(planning->arena);
    free(planning);
    return 0;
}

void planning_plan(struct planning *planning, struct merge_candidate *candidates, size_t count)
{
    struct error err = {0};
    arena_reset(planning->arena);
    assert_int_equal(merge_plan(candidates, count, &planning->options, planning->arena, &planning->tasks,
                                &planning->task_count, &err),
                     OK);
}
