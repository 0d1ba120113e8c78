#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "services/admin/explain.h"

#define NOW (1000 * CLOCK_DAY_US)

/* An explanation of one partition, and all that it follows from. */
struct scene {
    struct arena *arena;
    struct catalog_admin_partition partition;
    struct table_record table;
    struct catalog_hold hold;
    struct catalog_admin_failure failure;
    struct explain_input input;
    struct explanation told;
};

static void scene_done(struct scene *scene)
{
    arena_free(scene->arena);
}

static void set_scene(struct scene *scene, bool active, enum lock_kind lock, enum deactivation_reason reason)
{
    *scene = (struct scene){.arena = arena_new(0)};
    assert_non_null(scene->arena);
    table_settings_defaults(&scene->table.settings);
    scene->table.retention_us = 30 * CLOCK_DAY_US;
    scene->partition.partition = (struct partition_record){
        .active = active,
        .lock_kind = lock,
        .reason = reason,
        .max_timestamp_us = NOW - 10 * CLOCK_DAY_US,
        .deactivated_at_us = active ? 0 : NOW - CLOCK_MINUTE_US,
    };
    if (lock != LOCK_NONE) {
        scene->partition.lock = (struct lock_record){.lock_id = uuid_v4(),
                                                     .kind = lock,
                                                     .owner = "holder",
                                                     .reason = "test",
                                                     .acquired_at_us = NOW - CLOCK_HOUR_US,
                                                     .expires_at_us = NOW + CLOCK_HOUR_US};
    }
    scene->hold = (struct catalog_hold){.reason = "court", .placed_by = "lawyer"};
    scene->input = (struct explain_input){.partition = &scene->partition,
                                          .table = &scene->table,
                                          .holds = &scene->hold,
                                          .failure = &scene->failure,
                                          .missing_since_us = CLOCK_NEVER,
                                          .now_us = NOW};
}

static void tell(struct scene *scene)
{
    struct error err = {0};
    if (explain_partition(&scene->input, scene->arena, &scene->told, &err) != OK) {
        fail_msg("%s", err.text);
    }
}

static bool says(const struct scene *scene, const char *part)
{
    for (size_t i = 0; i < scene->told.detail_count; i++) {
        if (strstr(scene->told.details[i], part) != NULL) {
            return true;
        }
    }
    return false;
}

static void each_state_says_who_acts_next(void **state)
{
    (void)state;
    static const struct {
        bool active;
        enum lock_kind lock;
        enum deactivation_reason reason;
        const char *name, *who;
        int64_t when_us;
    } cases[] = {
        {false, LOCK_WRITE, REASON_NONE, "staged_write", "holder", NOW + CLOCK_HOUR_US},
        {true, LOCK_NONE, REASON_NONE, "active", "granary-decay", NOW + 20 * CLOCK_DAY_US},
        {true, LOCK_MERGE, REASON_NONE, "merging", "holder", NOW + CLOCK_HOUR_US},
        {true, LOCK_ALTER, REASON_NONE, "altering", "holder", NOW + CLOCK_HOUR_US},
        {true, LOCK_MANUAL, REASON_NONE, "pinned", "operator", EXPLAIN_NO_TIME},
        {false, LOCK_NONE, REASON_ABANDONED, "abandoned", "granary-reaper", NOW - CLOCK_MINUTE_US + CLOCK_HOUR_US},
        {false, LOCK_NONE, REASON_DECAY, "decay_inactive", "granary-reaper", NOW - CLOCK_MINUTE_US + CLOCK_DAY_US},
        {false, LOCK_NONE, REASON_DROP, "drop_inactive", "granary-reaper", NOW - CLOCK_MINUTE_US + CLOCK_DAY_US},
        {false, LOCK_NONE, REASON_PARK, "park_inactive", "granary-reaper", NOW - CLOCK_MINUTE_US + CLOCK_DAY_US},
        {false, LOCK_NONE, REASON_MERGE, "merge_inactive", "granary-reaper", NOW - CLOCK_MINUTE_US + CLOCK_HOUR_US},
        {false, LOCK_MERGE, REASON_MERGE, "retired", "granary-merge-cleanup", NOW - CLOCK_MINUTE_US + CLOCK_HOUR_US},
        {false, LOCK_REAP, REASON_DECAY, "decay_reaping", "holder", NOW + CLOCK_HOUR_US},
        {false, LOCK_MANUAL, REASON_PARK, "parked", "operator", EXPLAIN_NO_TIME},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO(scene_done) struct scene scene;
        set_scene(&scene, cases[i].active, cases[i].lock, cases[i].reason);
        tell(&scene);
        assert_string_equal(scene.told.state, cases[i].name);
        assert_non_null(scene.told.summary);
        assert_string_equal(scene.told.next_who, cases[i].who);
        assert_int_equal(scene.told.next_when_us, cases[i].when_us);
        assert_int_equal(says(&scene, "\"holder\" has locked it"), cases[i].lock != LOCK_NONE);
    }
}

static void a_lease_that_has_run_out_is_somebody_elses_to_end(void **state)
{
    (void)state;
    static const struct {
        bool active;
        enum lock_kind lock;
        enum deactivation_reason reason;
        const char *who;
    } cases[] = {
        {false, LOCK_WRITE, REASON_NONE, "granary-merge-cleanup"},
        {true, LOCK_MERGE, REASON_NONE, "granary-merge-controller"},
        {false, LOCK_REAP, REASON_DECAY, "granary-reap-collection"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO(scene_done) struct scene scene;
        set_scene(&scene, cases[i].active, cases[i].lock, cases[i].reason);
        scene.partition.lock.expires_at_us = NOW;
        tell(&scene);
        assert_string_equal(scene.told.next_who, cases[i].who);
        assert_true(says(&scene, "has run out"));
    }
}

static void a_hold_comes_before_the_brake_and_both_before_time(void **state)
{
    (void)state;
    AUTO(scene_done) struct scene scene;
    set_scene(&scene, false, LOCK_NONE, REASON_DECAY);
    scene.input.hold_count = 1;
    scene.input.deleting_paused = true;
    scene.input.paused_by = "somebody";
    tell(&scene);
    assert_string_equal(scene.told.next_what, "Nothing, until every hold over it is released.");
    assert_true(says(&scene, "A hold over its table by \"lawyer\" keeps it: court."));
    assert_true(says(&scene, "paused by \"somebody\""));
    scene.input.hold_count = 0;
    tell(&scene);
    assert_string_equal(scene.told.next_what, "Nothing, until deleting is resumed.");
}

static void never_is_said_as_such(void **state)
{
    (void)state;
    AUTO(scene_done) struct scene active;
    AUTO(scene_done) struct scene decayed;
    set_scene(&active, true, LOCK_NONE, REASON_NONE);
    active.table.retention_us = CLOCK_NEVER;
    tell(&active);
    assert_null(active.told.next_who);
    assert_int_equal(active.told.next_when_us, EXPLAIN_NO_TIME);
    set_scene(&decayed, false, LOCK_NONE, REASON_DECAY);
    decayed.table.settings.reaper_max_age_us = CLOCK_NEVER;
    tell(&decayed);
    assert_string_equal(decayed.told.next_what, "Nothing: reaper.max_age is never.");
    assert_string_equal(decayed.told.grace_setting, "reaper.max_age");
    assert_int_equal(decayed.told.grace_over_at_us, EXPLAIN_NO_TIME);
}

static void what_is_due_is_said_to_be_due(void **state)
{
    (void)state;
    AUTO(scene_done) struct scene old;
    AUTO(scene_done) struct scene over;
    set_scene(&old, true, LOCK_NONE, REASON_NONE);
    old.partition.partition.max_timestamp_us = NOW - 31 * CLOCK_DAY_US;
    tell(&old);
    assert_non_null(strstr(old.told.next_what, "the next run of decay makes it inactive"));
    set_scene(&over, false, LOCK_NONE, REASON_DECAY);
    over.partition.partition.deactivated_at_us = NOW - 2 * CLOCK_DAY_US;
    tell(&over);
    assert_string_equal(over.told.next_who, "granary-reap-collection");
}

static void failures_and_lineage_are_told(void **state)
{
    (void)state;
    AUTO(scene_done) struct scene scene;
    set_scene(&scene, true, LOCK_NONE, REASON_NONE);
    scene.failure = (struct catalog_admin_failure){.known = true, .tries = 3, .last_error = "torn", .set_aside = true};
    scene.input.parent_count = 4;
    tell(&scene);
    assert_true(says(&scene, "Merging it failed 3 times, last: torn."));
    assert_true(says(&scene, "Merging goes on around it"));
    assert_true(says(&scene, "It was made of 4 others."));
}

static void a_deleted_one_is_told_by_its_receipt(void **state)
{
    (void)state;
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct explanation told;
    const struct catalog_receipt receipt = {
        .reason = REASON_DECAY, .deleted_at_us = NOW, .deactivated_by = "plan:1", .deleted_by = "reaper"};
    assert_int_equal(explain_deleted(&receipt, arena, &told, NULL), OK);
    assert_string_equal(told.state, "deleted");
    assert_non_null(strstr(told.summary, "older than age.max_age"));
    assert_non_null(strstr(told.details[0], "plan:1"));
    assert_null(told.grace_setting);
    assert_null(told.next_who);
}

static void a_missing_object_is_told_with_the_time_since_when(void **state)
{
    (void)state;
    AUTO(scene_done) struct scene scene;
    set_scene(&scene, true, LOCK_NONE, REASON_NONE);
    tell(&scene);
    assert_false(says(&scene, "missing from the store"));
    scene.input.missing_since_us = 0;
    tell(&scene);
    assert_true(says(&scene, "missing from the store since 1970-01-01T00:00:00"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_state_says_who_acts_next),
        cmocka_unit_test(a_missing_object_is_told_with_the_time_since_when),
        cmocka_unit_test(a_lease_that_has_run_out_is_somebody_elses_to_end),
        cmocka_unit_test(a_hold_comes_before_the_brake_and_both_before_time),
        cmocka_unit_test(never_is_said_as_such),
        cmocka_unit_test(what_is_due_is_said_to_be_due),
        cmocka_unit_test(failures_and_lineage_are_told),
        cmocka_unit_test(a_deleted_one_is_told_by_its_receipt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
