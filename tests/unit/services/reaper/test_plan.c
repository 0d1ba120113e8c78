#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "services/reaper/plan.h"

static const char *extra[] = {"t/d/a.pack"};

static struct catalog_claimed three[] = {
    {.partition_id = {{1}}, .deactivated_at_us = 11, .path = "t/d/a.parquet", .extra_count = 1, .extra_paths = extra},
    {.partition_id = {{2}}, .deactivated_at_us = 12, .path = "t/d/b.parquet"},
    {.partition_id = {{3}}, .deactivated_at_us = 13, .path = "t/d/c.parquet"},
};

static void a_partition_s_own_object_is_deleted_last(void **state)
{
    (void)state;
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct reap_keys keys;
    assert_int_equal(reap_plan_keys(three, 3, arena, &keys, NULL), OK);
    assert_int_equal(keys.count, 4);
    assert_string_equal(keys.keys[0], "t/d/a.pack");
    assert_string_equal(keys.keys[1], "t/d/a.parquet");
    assert_string_equal(keys.keys[2], "t/d/b.parquet");
    assert_string_equal(keys.keys[3], "t/d/c.parquet");
}

static void keys_of_one_storage_are_one_run(void **state)
{
    (void)state;
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct reap_keys keys;
    struct catalog_claimed spread[3] = {three[0], three[1], three[2]};
    spread[0].storage_id = 1;
    spread[1].storage_id = 4;
    spread[2].storage_id = 4;
    assert_int_equal(reap_plan_keys(spread, 3, arena, &keys, NULL), OK);
    assert_int_equal(keys.run_count, 2);
    assert_int_equal(keys.runs[0].storage_id, 1);
    assert_int_equal(keys.runs[0].first, 0);
    assert_int_equal(keys.runs[0].count, 2);
    assert_int_equal(keys.runs[1].storage_id, 4);
    assert_int_equal(keys.runs[1].first, 2);
    assert_int_equal(keys.runs[1].count, 2);
    assert_int_equal(reap_plan_keys(spread, 0, arena, &keys, NULL), OK);
    assert_int_equal(keys.run_count, 0);
}

static void one_in_so_many_answers_is_doubted_and_one_at_least(void **state)
{
    (void)state;
    static const struct {
        size_t total;
        uint64_t one_in;
        size_t least, most;
    } cases[] = {
        {0, 100, 0, 0},   {1, 100, 1, 1},      {99, 100, 1, 1}, {100, 100, 1, 1},
        {250, 100, 2, 3}, {1000, 100, 10, 10}, {7, 1, 7, 7},    {7, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool ever[1000] = {false};
        for (uint64_t seed = 0; seed < 2000; seed++) {
            size_t chosen = 0;
            for (size_t at = 0; at < cases[i].total; at++) {
                bool sampled = reap_plan_is_sampled(at, cases[i].total, cases[i].one_in, seed);
                chosen += sampled;
                ever[at] |= sampled;
            }
            assert_in_range(chosen, cases[i].least, cases[i].most);
        }
        for (size_t at = 0; at < cases[i].total && cases[i].one_in != 0; at++) {
            assert_true(ever[at]); /* no key is never doubted */
        }
    }
}

static void absent_counts_as_deleted_and_one_failed_object_fails_its_partition(void **state)
{
    (void)state;
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct reap_split split;
    struct store_delete_result results[4] = {{.outcome = STORE_DELETED},
                                             {.outcome = STORE_WAS_ABSENT},
                                             {.outcome = STORE_DELETE_FAILED},
                                             {.outcome = STORE_DELETED}};
    err_set(&results[2].error, ERR_UNAVAILABLE, "slow down");
    assert_int_equal(reap_plan_split(three, 3, results, arena, &split, NULL), OK);
    assert_int_equal(split.confirmed_count, 2);
    assert_string_equal(split.confirmed[0].answers_json, "{\"t/d/a.pack\":\"deleted\",\"t/d/a.parquet\":\"absent\"}");
    assert_string_equal(split.confirmed[1].answers_json, "{\"t/d/c.parquet\":\"deleted\"}");
    assert_true(uuid_equal(&split.confirmed_ids[1], &three[2].partition_id));
    assert_int_equal(split.absent, 1);
    assert_int_equal(split.failed_count, 1);
    assert_string_equal(split.failed[0].text, "slow down");
    assert_int_equal(split.failed_items[0].deactivated_at_us, 12);

    results[2].outcome = STORE_DELETED;
    results[0].outcome = STORE_DELETE_FAILED; /* the object beside the file fails: the row must stay */
    err_set(&results[0].error, ERR_UNAVAILABLE, "no");
    assert_int_equal(reap_plan_split(three, 3, results, arena, &split, NULL), OK);
    assert_int_equal(split.confirmed_count, 2);
    assert_true(uuid_equal(&split.failed[0].partition_id, &three[0].partition_id));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_partition_s_own_object_is_deleted_last),
        cmocka_unit_test(keys_of_one_storage_are_one_run),
        cmocka_unit_test(one_in_so_many_answers_is_doubted_and_one_at_least),
        cmocka_unit_test(absent_counts_as_deleted_and_one_failed_object_fails_its_partition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
