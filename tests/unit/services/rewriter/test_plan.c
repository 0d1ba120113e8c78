#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "services/rewriter/plan.h"

static void pools_become_queues(void **state)
{
    (void)state;
    struct rewriter_pools pools;
    assert_int_equal(rewriter_plan_pools("small,medium,night-shift_2", &pools, NULL), OK);
    assert_int_equal(pools.count, 3);
    assert_string_equal(pools.queues[0], "rewrite.small");
    assert_string_equal(pools.queues[1], "rewrite.medium");
    assert_string_equal(pools.queues[2], "rewrite.night-shift_2");
    assert_int_equal(rewriter_plan_pools("abcdefghijklmnopqrstuvwxyz12345", &pools, NULL),
                     OK); /* as long as a setting may be */
    assert_string_equal(pools.queues[0], "rewrite.abcdefghijklmnopqrstuvwxyz12345");
}

static void lists_that_are_no_pools_are_refused_and_nothing_is_set(void **state)
{
    (void)state;
    static const struct {
        const char *pools;
        const char *text;
    } cases[] = {
        {"", "but found \"\""},
        {"small,", "but found \"\""},
        {",small", "but found \"\""},
        {"small, medium", "but found \" medium\""},
        {"Small", "but found \"Small\""},
        {"rewrite.small", "but found \"rewrite.small\""},
        {"abcdefghijklmnopqrstuvwxyz123456", "expected names of pools"},
        {"small,medium,small", "expected each pool once but found \"small\" twice"},
        {"a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q", "expected at most 16 pools"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = {0};
        struct rewriter_pools pools = {.count = 42};
        assert_int_equal(rewriter_plan_pools(cases[i].pools, &pools, &err), ERR_INVALID);
        assert_non_null(strstr(err.text, cases[i].text));
        assert_int_equal(pools.count, 42);
    }
}

static void a_lease_is_renewed_after_a_third_and_sooner_after_a_failure(void **state)
{
    (void)state;
    struct rewriter_lease_state lease = {.confirmed_at_us = 1000, .lease_us = 30 * CLOCK_SECOND_US};
    assert_int_equal(rewriter_plan_renewal_us(&lease, 5000), 1000 + 10 * CLOCK_SECOND_US);
    assert_int_equal(rewriter_plan_end_us(&lease), 1000 + 30 * CLOCK_SECOND_US);
    lease.last_failed = true;
    assert_int_equal(rewriter_plan_renewal_us(&lease, 5000), 5000 + CLOCK_SECOND_US);
    lease.lease_us = CLOCK_SECOND_US;
    assert_int_equal(rewriter_plan_renewal_us(&lease, 5000), 5000 + CLOCK_SECOND_US / 12);
}

struct fixture {
    struct event_rewrite_input inputs[2];
    struct event_rewrite task;
};

static struct fixture make_fixture(void)
{
    struct fixture fixture = {
        .inputs = {{.partition_id = {{1}}, .row_count = 10}, {.partition_id = {{2}}, .row_count = 5}},
        .task = {.attempt_id = {{3}}, .output_id = {{4}}, .token = 7, .input_count = 2},
    };
    return fixture;
}

static void a_good_result_carries_the_facts(void **state)
{
    (void)state;
    struct fixture fixture = make_fixture();
    fixture.task.inputs = fixture.inputs;
    struct column_stats columns[1] = {{.column_id = 9}};
    const struct partition_facts facts = {
        .row_count = 15,
        .data_bytes = 100,
        .memory_bytes = 200,
        .min_timestamp_us = -1,
        .max_timestamp_us = 1,
        .sha256 = {1, 2, 3},
        .etag = "\"e\"",
        .column_count = 1,
        .columns = columns,
    };
    const struct rewriter_outcome outcome = {.code = OK, .facts = &facts, .bad_input = -1};
    struct event_rewrite_result result = rewriter_plan_result(&fixture.task, &outcome);
    assert_true(result.ok);
    assert_int_equal(result.token, 7);
    assert_true(uuid_equal(&result.attempt_id, &fixture.task.attempt_id));
    assert_true(uuid_equal(&result.output_id, &fixture.task.output_id));
    assert_true(uuid_is_nil(&result.bad_partition));
    assert_int_equal(result.row_count, 15);
    assert_int_equal(result.data_bytes, 100);
    assert_int_equal(result.memory_bytes, 200);
    assert_memory_equal(result.sha256, facts.sha256, 32);
    assert_string_equal(result.etag, "\"e\"");
    assert_ptr_equal(result.columns, columns);
    assert_string_equal(result.error_code, "");
}

static void a_failure_names_its_code_and_the_input_to_blame(void **state)
{
    (void)state;
    struct fixture fixture = make_fixture();
    fixture.task.inputs = fixture.inputs;
    struct error err = {.code = ERR_CORRUPT, .text = "page 3 is torn"};
    struct rewriter_outcome outcome = {.code = ERR_CORRUPT, .error = &err, .bad_input = 1};
    struct event_rewrite_result result = rewriter_plan_result(&fixture.task, &outcome);
    assert_false(result.ok);
    assert_string_equal(result.error_code, "corrupt");
    assert_string_equal(result.error_text, "page 3 is torn");
    assert_true(uuid_equal(&result.bad_partition, &fixture.inputs[1].partition_id));
    outcome.bad_input = -1;
    result = rewriter_plan_result(&fixture.task, &outcome);
    assert_true(uuid_is_nil(&result.bad_partition));
}

static void who_has_lost_the_lease_keeps_silent(void **state)
{
    (void)state;
    static const struct {
        enum err_code code;
        bool lease_lost, speaks;
    } cases[] = {
        {OK, false, true},          {ERR_CONFLICT, true, false}, {ERR_CONFLICT, false, true}, /* another object there */
        {ERR_TIMEOUT, true, false}, {ERR_CORRUPT, false, true},  {ERR_STOPPED, false, true},
        {ERR_CORRUPT, true, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct rewriter_outcome outcome = {.code = cases[i].code, .lease_lost = cases[i].lease_lost};
        assert_int_equal(rewriter_plan_speaks(&outcome), cases[i].speaks);
    }
}

static void an_output_that_lacks_rows_is_corrupt(void **state)
{
    (void)state;
    struct fixture fixture = make_fixture();
    fixture.task.inputs = fixture.inputs;
    struct error err = {0};
    assert_int_equal(rewriter_plan_check_rows(&fixture.task, 15, &err), OK);
    assert_int_equal(rewriter_plan_check_rows(&fixture.task, 14, &err), ERR_CORRUPT);
    assert_string_equal(err.text, "expected 15 rows of all inputs in the output but found 14");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pools_become_queues),
        cmocka_unit_test(lists_that_are_no_pools_are_refused_and_nothing_is_set),
        cmocka_unit_test(a_lease_is_renewed_after_a_third_and_sooner_after_a_failure),
        cmocka_unit_test(a_good_result_carries_the_facts),
        cmocka_unit_test(a_failure_names_its_code_and_the_input_to_blame),
        cmocka_unit_test(who_has_lost_the_lease_keeps_silent),
        cmocka_unit_test(an_output_that_lacks_rows_is_corrupt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
