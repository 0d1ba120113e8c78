#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "services/merge-controller/plan.h"

static void a_pool_gets_as_many_tasks_as_its_rewriters_take(void **state)
{
    (void)state;
    static const struct {
        int64_t ahead, consumers, planned, running, budget;
    } cases[] = {
        {4, 0, 0, 0, 0}, /* nobody there */
        {4, 1, 0, 0, 4}, {4, 1, 3, 0, 1}, {4, 1, 4, 0, 0},
        {4, 1, 9, 0, 0}, {4, 0, 1, 1, 3}, /* the only one is at work and takes nothing from the queue */
        {1, 2, 0, 1, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct catalog_merge_pool pool = {"small", cases[i].planned, cases[i].running};
        assert_int_equal(merge_plan_budget(cases[i].ahead, cases[i].consumers, &pool), cases[i].budget);
    }
}

static void the_largest_target_bounds_what_is_looked_at(void **state)
{
    (void)state;
    struct table_settings settings;
    table_settings_defaults(&settings);
    assert_int_equal(merge_plan_max_bytes(&settings), INT64_C(1) << 30);
    settings.merge[MERGE_SMALL].size_bytes = INT64_C(1) << 31;
    assert_int_equal(merge_plan_max_bytes(&settings), INT64_C(1) << 31);
}

static void a_page_is_cut_at_the_last_border_of_the_widest_target(void **state)
{
    (void)state;
    struct table_settings settings;
    table_settings_defaults(&settings);
    struct merge_candidate page[5] = {0};
    const int64_t width_us = 30 * CLOCK_DAY_US;
    static const struct {
        int64_t buckets[5];
        size_t count, whole;
    } cases[] = {
        {{0}, 0, 0},
        {{5}, 1, 1},
        {{5, 5, 5, 5, 5}, 5, 5}, /* one bucket fills the page: it is cut somewhere */
        {{1, 1, 2, 2, 2}, 5, 2},
        {{-2, -2, -1, -1, 0}, 5, 4},
        {{1, 2, 3, 4, 5}, 5, 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t j = 0; j < cases[i].count; j++) {
            page[j].min_timestamp_us = cases[i].buckets[j] * width_us + (int64_t)j;
        }
        assert_int_equal(merge_plan_whole(page, cases[i].count, &settings), cases[i].whole);
    }
}

static void the_output_has_the_latest_schema_unless_its_inputs_cannot_be_read_so(void **state)
{
    (void)state;
    static const struct merge_schema items[] = {{3, true, "three"}, {1, false, "one"}, {2, true, "two"}};
    struct merge_schemas schemas = {.latest = 3, .count = 3, .items = items};
    struct merge_candidate candidate = {.schema_version = 2};
    const struct merge_candidate *inputs[] = {&candidate};
    const struct merge_task task = {.input_count = 1, .inputs = inputs};
    assert_string_equal(merge_plan_output_schema(&schemas, &task)->json, "three");
    candidate.schema_version = 1;
    assert_string_equal(merge_plan_output_schema(&schemas, &task)->json, "one");
    assert_true(merge_plan_reconcilable(&schemas, 2, 3));
    assert_false(merge_plan_reconcilable(&schemas, 1, 3));
    assert_false(merge_plan_reconcilable(&schemas, 2, 4));
    assert_null(merge_plan_find_schema(&schemas, 4));
}

struct fixture {
    struct event_rewrite_input sources[3];
    struct uuid inputs[3];
    struct event_rewrite task;
    struct catalog_merge_attempt attempt;
    struct event_rewrite_result result;
};

static void make_fixture(struct fixture *fixture)
{
    *fixture = (struct fixture){
        .sources = {{.partition_id = {{1}}, .row_count = 10},
                    {.partition_id = {{2}}, .row_count = 5},
                    {.partition_id = {{3}}, .row_count = 1}},
        .inputs = {{{1}}, {{2}}, {{3}}},
        .task = {.attempt_id = {{8}}, .output_id = {{9}}, .token = 7, .input_count = 3},
        .attempt = {.attempt_id = {{8}}, .output_id = {{9}}, .token = 7, .state = ATTEMPT_RUNNING},
        .result = {.attempt_id = {{8}},
                   .output_id = {{9}},
                   .token = 7,
                   .ok = true,
                   .error_code = "",
                   .error_text = "",
                   .row_count = 16,
                   .data_bytes = 100,
                   .memory_bytes = 100,
                   .min_timestamp_us = 1,
                   .max_timestamp_us = 2,
                   .etag = ""},
    };
    fixture->task.inputs = fixture->sources;
}

static struct merge_decision decide(const struct fixture *fixture)
{
    return merge_plan_result(&fixture->attempt, &fixture->task, fixture->inputs, &fixture->result);
}

static void a_good_result_of_an_attempt_under_way_is_committed(void **state)
{
    (void)state;
    struct fixture fixture;
    make_fixture(&fixture);
    assert_int_equal(decide(&fixture).verdict, MERGE_COMMIT);
    fixture.attempt.state = ATTEMPT_PLANNED; /* the first renewal's answer may have been all that was lost */
    assert_int_equal(decide(&fixture).verdict, MERGE_COMMIT);
}

static void a_late_doubled_or_foreign_result_is_ignored(void **state)
{
    (void)state;
    static const struct {
        enum catalog_attempt_state state;
        int64_t token;
        bool ok;
    } cases[] = {
        {ATTEMPT_DONE, 7, true},    {ATTEMPT_DONE, 7, false},    {ATTEMPT_ABANDONED, 7, true},
        {ATTEMPT_RUNNING, 8, true}, {ATTEMPT_RUNNING, 6, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture fixture;
        make_fixture(&fixture);
        fixture.attempt.state = cases[i].state;
        fixture.result.token = cases[i].token;
        fixture.result.ok = cases[i].ok;
        struct merge_decision decision = decide(&fixture);
        assert_int_equal(decision.verdict, MERGE_IGNORE);
        assert_non_null(decision.reason);
        assert_int_equal(decision.blamed_count, 0);
    }
}

static void a_failure_blames_the_one_that_it_names_or_all_or_nobody(void **state)
{
    (void)state;
    static const struct {
        const char *code;
        struct uuid bad;
        size_t blamed;
        uint8_t first;
    } cases[] = {
        {"corrupt", {{2}}, 1, 2},     {"not_found", {{1}}, 1, 1}, {"unavailable", {{3}}, 1, 3},
        {"corrupt", {{0}}, 3, 1},     {"invalid", {{0}}, 3, 1},   {"no_memory", {{0}}, 3, 1},
        {"corrupt", {{77}}, 3, 1}, /* names a stranger */
        {"unavailable", {{0}}, 0, 0}, {"stopped", {{0}}, 0, 0},   {"timeout", {{0}}, 0, 0},
        {"conflict", {{0}}, 0, 0},    {"nonsense", {{0}}, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture fixture;
        make_fixture(&fixture);
        fixture.result.ok = false;
        fixture.result.error_code = cases[i].code;
        fixture.result.error_text = "why";
        fixture.result.bad_partition = cases[i].bad;
        struct merge_decision decision = decide(&fixture);
        assert_int_equal(decision.verdict, MERGE_ABANDON);
        assert_string_equal(decision.reason, "why");
        assert_int_equal(decision.blamed_count, cases[i].blamed);
        if (cases[i].blamed > 0) {
            assert_int_equal(decision.blamed[0].bytes[0], cases[i].first);
        }
    }
}

static void an_output_that_cannot_be_right_is_not_committed(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        struct fixture fixture;
        make_fixture(&fixture);
        struct event_rewrite_result *result = &fixture.result;
        result->row_count -= i == 0;
        result->row_count += i == 1;
        result->output_id.bytes[0] += i == 2;
        result->data_bytes = i == 3 ? 0 : result->data_bytes;
        result->data_bytes = i == 4 ? UINT64_MAX : result->data_bytes;
        result->min_timestamp_us = i == 5 ? 3 : result->min_timestamp_us;
        struct merge_decision decision = decide(&fixture);
        assert_int_equal(decision.verdict, MERGE_ABANDON);
        assert_int_equal(decision.blamed_count, 3);
        assert_true(strlen(decision.reason) > 10);
    }
}

static void only_a_lease_that_ran_out_at_work_blames_the_inputs(void **state)
{
    (void)state;
    static const struct {
        enum catalog_attempt_state state;
        enum merge_verdict verdict;
        size_t blamed;
    } cases[] = {
        {ATTEMPT_PLANNED, MERGE_ABANDON, 0},
        {ATTEMPT_RUNNING, MERGE_ABANDON, 3},
        {ATTEMPT_DONE, MERGE_IGNORE, 0},
        {ATTEMPT_ABANDONED, MERGE_IGNORE, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture fixture;
        make_fixture(&fixture);
        fixture.attempt.state = cases[i].state;
        struct merge_decision decision = merge_plan_expired(&fixture.attempt, &fixture.task, fixture.inputs);
        assert_int_equal(decision.verdict, cases[i].verdict);
        assert_int_equal(decision.blamed_count, cases[i].blamed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_gets_as_many_tasks_as_its_rewriters_take),
        cmocka_unit_test(the_largest_target_bounds_what_is_looked_at),
        cmocka_unit_test(a_page_is_cut_at_the_last_border_of_the_widest_target),
        cmocka_unit_test(the_output_has_the_latest_schema_unless_its_inputs_cannot_be_read_so),
        cmocka_unit_test(a_good_result_of_an_attempt_under_way_is_committed),
        cmocka_unit_test(a_late_doubled_or_foreign_result_is_ignored),
        cmocka_unit_test(a_failure_blames_the_one_that_it_names_or_all_or_nobody),
        cmocka_unit_test(an_output_that_cannot_be_right_is_not_committed),
        cmocka_unit_test(only_a_lease_that_ran_out_at_work_blames_the_inputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
