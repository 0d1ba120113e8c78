#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "services/admin/plan.h"

#define NOW (1000 * CLOCK_DAY_US)

static struct catalog_admin_partition partition_in(bool active, enum lock_kind lock, enum deactivation_reason reason)
{
    return (struct catalog_admin_partition){.partition = {.active = active, .lock_kind = lock, .reason = reason}};
}

/* Each key of a state, and the changes that an operator may make from there. */
static const struct {
    bool active;
    enum lock_kind lock;
    enum deactivation_reason reason;
    const char *allowed; /* U undo, P park, A unpark to active, I unpark to inactive, L lock, X unlock */
    const char *why;     /* part of the reason why undo is refused; NULL where it is not */
} states[] = {
    {false, LOCK_WRITE, REASON_NONE, "", "staged"},
    {false, LOCK_ALTER, REASON_NONE, "", "staged"},
    {true, LOCK_NONE, REASON_NONE, "PL", "active"},
    {true, LOCK_MERGE, REASON_NONE, "", "merge has reserved"},
    {true, LOCK_ALTER, REASON_NONE, "", "alter job has reserved"},
    {true, LOCK_MANUAL, REASON_NONE, "PX", "locked by hand"},
    {false, LOCK_NONE, REASON_ABANDONED, "", "gave it up"},
    {false, LOCK_NONE, REASON_DECAY, "U", NULL},
    {false, LOCK_NONE, REASON_DROP, "U", NULL},
    {false, LOCK_NONE, REASON_PARK, "U", NULL},
    {false, LOCK_NONE, REASON_ALTER, "", "alter job replaced"},
    {false, LOCK_NONE, REASON_MERGE, "", "merged"},
    {false, LOCK_MERGE, REASON_MERGE, "", "merged"},
    {false, LOCK_REAP, REASON_DECAY, "", "claimed"},
    {false, LOCK_REAP, REASON_DROP, "", "claimed"},
    {false, LOCK_REAP, REASON_PARK, "", "claimed"},
    {false, LOCK_REAP, REASON_MERGE, "", "claimed"},
    {false, LOCK_REAP, REASON_ABANDONED, "", "claimed"},
    {false, LOCK_MANUAL, REASON_PARK, "AI", "parked"},
    {true, LOCK_REAP, REASON_NONE, "", "unknown"},
};
static const struct {
    enum plan_change change;
    char mark;
} changes[] = {{PLAN_UNDO, 'U'}, {PLAN_PARK, 'P'},  {PLAN_UNPARK_ACTIVE, 'A'}, {PLAN_UNPARK_INACTIVE, 'I'},
               {PLAN_LOCK, 'L'}, {PLAN_UNLOCK, 'X'}};

static void each_state_allows_just_its_changes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        const struct catalog_admin_partition partition =
            partition_in(states[i].active, states[i].lock, states[i].reason);
        for (size_t j = 0; j < sizeof changes / sizeof *changes; j++) {
            bool allowed = strchr(states[i].allowed, changes[j].mark) != NULL;
            const char *refusal = plan_refusal(changes[j].change, &partition);
            if ((refusal == NULL) != allowed) {
                fail_msg("state %zu, change %c: %s", i, changes[j].mark, refusal == NULL ? "allowed" : refusal);
            }
        }
    }
}

static void a_refused_undo_names_the_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        const struct catalog_admin_partition partition =
            partition_in(states[i].active, states[i].lock, states[i].reason);
        const char *refusal = plan_refusal(PLAN_UNDO, &partition);
        if (states[i].why != NULL && (refusal == NULL || strstr(refusal, states[i].why) == NULL)) {
            fail_msg("state %zu: expected \"%s\" in \"%s\"", i, states[i].why, refusal == NULL ? "" : refusal);
        }
    }
}

/* The verdict and the table of states agree: what is allowed here, the guard allows too. */
static void no_change_is_allowed_that_the_state_table_forbids(void **state)
{
    (void)state;
    const struct lifecycle_key to[] = {
        [PLAN_UNDO] = {true, LOCK_NONE, REASON_NONE},          [PLAN_PARK] = {false, LOCK_MANUAL, REASON_PARK},
        [PLAN_UNPARK_ACTIVE] = {true, LOCK_NONE, REASON_NONE}, [PLAN_UNPARK_INACTIVE] = {false, LOCK_NONE, REASON_PARK},
        [PLAN_LOCK] = {true, LOCK_MANUAL, REASON_NONE},        [PLAN_UNLOCK] = {true, LOCK_NONE, REASON_NONE},
    };
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        const struct lifecycle_key from = {states[i].active, states[i].lock, states[i].reason};
        const struct catalog_admin_partition partition = partition_in(from.active, from.lock, from.reason);
        for (size_t j = 0; j < sizeof changes / sizeof *changes; j++) {
            if (plan_refusal(changes[j].change, &partition) == NULL) {
                assert_true(lifecycle_transition_allowed(&from, &to[changes[j].change]));
            }
        }
    }
}

static void nothing_of_a_dropped_table_becomes_active(void **state)
{
    (void)state;
    struct catalog_admin_partition decayed = partition_in(false, LOCK_NONE, REASON_DECAY);
    struct catalog_admin_partition parked = partition_in(false, LOCK_MANUAL, REASON_PARK);
    decayed.table_dropped = parked.table_dropped = true;
    assert_string_equal(plan_refusal(PLAN_UNDO, &decayed), "its table is dropped");
    assert_string_equal(plan_refusal(PLAN_UNPARK_ACTIVE, &parked), "its table is dropped");
    assert_null(plan_refusal(PLAN_UNPARK_INACTIVE, &parked));
}

static void the_cutoff_is_that_of_the_retention_that_counts(void **state)
{
    (void)state;
    struct table_record table = {.retention_us = 30 * CLOCK_DAY_US};
    table.settings.age_max_age_us = CLOCK_DAY_US; /* a shortening that cools down */
    assert_int_equal(plan_cutoff_us(&table, NOW), NOW - 30 * CLOCK_DAY_US);
    assert_int_equal(plan_wanted_cutoff_us(&table, NOW), NOW - CLOCK_DAY_US);
    table.retention_us = CLOCK_NEVER;
    assert_int_equal(plan_cutoff_us(&table, NOW), INT64_MIN);
    table.dropped = true;
    assert_int_equal(plan_cutoff_us(&table, NOW), INT64_MAX);
    assert_int_equal(plan_wanted_cutoff_us(&table, NOW), INT64_MAX);
}

static void a_plan_tells_why_it_passed_over_a_partition(void **state)
{
    (void)state;
    static const struct {
        struct catalog_plan_skip skip;
        const char *reason;
    } cases[] = {
        {{.exists = false}, "it is deleted"},
        {{.exists = true, .active = true, .same_version = true, .held = true}, "a hold keeps it"},
        {{.exists = true, .active = true, .lock_kind = LOCK_MERGE}, "it is locked"},
        {{.exists = true, .active = false, .lock_kind = LOCK_MANUAL}, "it is no longer active"},
        {{.exists = true, .active = false}, "it is no longer active"},
        {{.exists = true, .active = true, .same_version = false}, "it has changed since the plan was made"},
        {{.exists = true, .active = true, .same_version = true},
         "it is no longer past retention, or deleting was paused"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(plan_skip_reason(&cases[i].skip), cases[i].reason);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_state_allows_just_its_changes),
        cmocka_unit_test(a_refused_undo_names_the_reason),
        cmocka_unit_test(no_change_is_allowed_that_the_state_table_forbids),
        cmocka_unit_test(nothing_of_a_dropped_table_becomes_active),
        cmocka_unit_test(the_cutoff_is_that_of_the_retention_that_counts),
        cmocka_unit_test(a_plan_tells_why_it_passed_over_a_partition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
