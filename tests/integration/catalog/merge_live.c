/* Leadership, merge attempts and leases against a real server, with the rights of the services that use them. */
#include <stdio.h>
#include <string.h>

#include "common/catalog/leader.h"
#include "common/catalog/merge.h"
#include "common/catalog/rewrite.h"
#include "tests/integration/catalog/staging.h"

enum { INPUTS = 3 };
static const size_t of_table[INPUTS] = {0, 2, 3}; /* the second staged one belongs to the rejects */

/* A table with three active partitions, a leader, and what an attempt to merge them would be. */
struct merging {
    struct staging staging;
    struct catalog *controller, *rewriter;
    struct catalog_leadership leadership;
    struct catalog_merge_wanted wanted[INPUTS];
    struct uuid inputs[INPUTS];
    struct catalog_merge_reservation reservation;
    struct catalog_merge_attempt attempt;
    struct error err;
};

static void merging_done(struct merging *world)
{
    (void)!catalog_leader_resign(world->controller, CATALOG_MERGE_LEADER, NULL); /* the next test leads at once */
    catalog_close(world->controller);
    catalog_close(world->rewriter);
    staging_done(&world->staging);
}

/* SQL over one id, as the owner. */
static int64_t number(struct merging *world, const char *sql, const struct uuid *id)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    EXPECT(OK, catalog_query(world->staging.catalog, sql, CATALOG_VALUES(catalog_uuid(id)), &rows, &world->err),
           &world->err);
    return catalog_get_i64(rows, 0, 0);
}

static void run_sql(struct merging *world, const char *sql, const struct uuid *id)
{
    EXPECT(OK, catalog_execute(world->staging.catalog, sql, CATALOG_VALUES(catalog_uuid(id)), NULL, &world->err),
           &world->err);
}

static void describe(struct merging *world)
{
    struct arena *arena = world->staging.arena;
    char *path = arena_alloc(arena, PARTITION_PATH_BYTES);
    assert_non_null(path);
    for (size_t i = 0; i < INPUTS; i++) {
        struct partition_record record = staging_load(&world->staging, of_table[i]);
        world->inputs[i] = record.partition_id;
        world->wanted[i] = (struct catalog_merge_wanted){record.partition_id, record.version};
    }
    world->reservation = (struct catalog_merge_reservation){
        .epoch = world->leadership.epoch,
        .attempt_id = uuid_v7(),
        .table_id = world->staging.table.table_id,
        .lock_id = uuid_v7(),
        .output_lock_id = uuid_v7(),
        .owner = "controller",
        .target = "small",
        .pool = "small",
        .lease_us = CLOCK_MINUTE_US,
        .input_count = INPUTS,
        .inputs = world->wanted,
        .output_id = uuid_v7(),
        .output_path = path,
        .schema_version = 1,
        .merge_level = 1,
        .min_timestamp_us = 0,
        .max_timestamp_us = 4 * CLOCK_HOUR_US,
        .row_count = 65,
        .data_bytes = 3000,
    };
    (void)partition_path(&world->reservation.table_id, 0, &world->reservation.output_id, path);
}

static void merging_open(struct merging *world)
{
    *world = (struct merging){.staging = staging_open()};
    struct catalog_published published;
    bool leads = false;
    staging_stage(&world->staging, MAX_STAGED, CLOCK_MINUTE_US);
    struct catalog_publish what = staging_measured(&world->staging, MAX_STAGED);
    EXPECT(OK, staging_publish(&world->staging, &what, &published), &world->staging.err);
    world->controller = fixture_open_as("granary_merge_controller");
    world->rewriter = fixture_open_as("granary_rewriter");
    EXPECT(OK,
           catalog_leader_try(world->controller, CATALOG_MERGE_LEADER, "me", &leads, &world->leadership, &world->err),
           &world->err);
    assert_true(leads);
    describe(world);
}

static enum err_code reserve(struct merging *world)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    struct catalog_merge_reserved reserved;
    struct error *err = &world->err;
    TRY(catalog_begin(world->controller, &transaction, err));
    TRY(catalog_fence_shared(transaction, &world->reservation.table_id, err));
    TRY(catalog_merge_reserve(transaction, &world->reservation, world->staging.arena, &reserved, err));
    assert_int_equal(reserved.output_storage_id, STORAGE_OWN);
    const struct catalog_merge_input *inputs = reserved.inputs;
    for (size_t i = 0; i < INPUTS; i++) {
        assert_int_equal(inputs[i].storage_id, STORAGE_OWN);
        const struct partition_record *record = &world->staging.records[of_table[i]];
        assert_true(uuid_equal(&inputs[i].partition_id, &record->partition_id));
        assert_string_equal(inputs[i].path, record->path);
        assert_true(inputs[i].row_count == record->row_count && inputs[i].data_bytes == 1000);
        assert_memory_equal(inputs[i].sha256, record->sha256, 32);
    }
    TRY(catalog_merge_attempt_insert(transaction, &world->reservation, reserved.token, "{\"task\":1}", err));
    TRY(catalog_commit(TAKE(transaction), err));
    return catalog_merge_attempt_load(world->controller, &world->reservation.attempt_id, world->staging.arena,
                                      &world->attempt, err);
}

static enum err_code commit(struct merging *world)
{
    static const uint8_t sha256[32] = {9};
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    const struct catalog_merge_swap swap = {
        .epoch = world->reservation.epoch,
        .actor = "controller",
        .attempt = &world->attempt,
        .input_count = INPUTS,
        .inputs = world->inputs,
        .row_count = 65,
        .data_bytes = 2500,
        .memory_bytes = 9000,
        .min_timestamp_us = 1,
        .max_timestamp_us = 3 * CLOCK_HOUR_US,
        .sha256 = sha256,
        .etag = "etag",
        .column_count = 2,
        .columns = world->staging.stats,
    };
    struct error *err = &world->err;
    TRY(catalog_begin(world->controller, &transaction, err));
    TRY(catalog_fence_shared(transaction, &world->attempt.table_id, err));
    TRY(catalog_merge_commit(transaction, &swap, err));
    return catalog_commit(TAKE(transaction), err);
}

static enum err_code abandon(struct merging *world, bool expired_only, size_t blamed, int64_t max_tries,
                             size_t *out_set_aside)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    const struct catalog_merge_failure failure = {
        .epoch = world->reservation.epoch,
        .actor = "controller",
        .attempt = &world->attempt,
        .reason = "it broke",
        .expired_only = expired_only,
        .blamed_count = blamed,
        .blamed = world->inputs,
        .max_tries = max_tries,
    };
    struct error *err = &world->err;
    TRY(catalog_begin(world->controller, &transaction, err));
    TRY(catalog_merge_abandon(transaction, &failure, out_set_aside, err));
    return catalog_commit(TAKE(transaction), err);
}

static enum err_code renew(struct merging *world, const char *worker, int64_t token)
{
    const struct catalog_rewrite_lease lease = {world->attempt.attempt_id, token, worker, 10 * CLOCK_SECOND_US};
    return catalog_rewrite_renew(world->rewriter, &lease, 5, &world->err);
}

static void expect_untouched(struct merging *world)
{
    for (size_t i = 0; i < INPUTS; i++) {
        struct partition_record record = staging_load(&world->staging, of_table[i]);
        assert_true(record.active && uuid_is_nil(&record.lock_id));
    }
    assert_true(number(world, "select count(*) from granary.partitions where partition_id = $1",
                       &world->reservation.output_id) == 0);
    assert_true(
        number(world, "select count(*) from granary.locks where attempt_id = $1", &world->reservation.attempt_id) == 0);
    assert_true(number(world, "select count(*) from granary.attempts where attempt_id = $1",
                       &world->reservation.attempt_id) == 0);
}

static size_t count_candidates(struct merging *world, int64_t max_bytes, size_t *out_busy)
{
    struct merge_candidate *candidates = NULL;
    size_t count = 0;
    EXPECT(OK,
           catalog_merge_candidates(world->controller, &world->staging.table.table_id, max_bytes, NULL, 100,
                                    world->staging.arena, &candidates, &count, &world->err),
           &world->err);
    *out_busy = 0;
    for (size_t i = 0; i < count; i++) {
        *out_busy += candidates[i].busy;
    }
    return count;
}

/* --- tests --------------------------------------------------------------------------------------------------------- */

static void a_commit_swaps_the_inputs_for_the_output(void **state)
{
    (void)state;
    AUTO(merging_done) struct merging world;
    merging_open(&world);
    size_t busy = 0;
    EXPECT(OK, reserve(&world), &world.err);
    assert_int_equal(world.attempt.state, ATTEMPT_PLANNED);
    assert_string_equal(world.attempt.task, "{\"task\":1}");
    for (size_t i = 0; i < INPUTS; i++) {
        struct partition_record record = staging_load(&world.staging, of_table[i]);
        assert_true(record.active && record.lock_kind == LOCK_MERGE);
    }
    assert_int_equal(count_candidates(&world, INT64_MAX, &busy), INPUTS);
    assert_int_equal(busy, INPUTS);

    EXPECT(OK, renew(&world, "worker", world.attempt.token), &world.err);
    EXPECT(OK, commit(&world), &world.err);
    for (size_t i = 0; i < INPUTS; i++) {
        struct partition_record record = staging_load(&world.staging, of_table[i]);
        assert_false(record.active);
        assert_int_equal(record.lock_kind, LOCK_MERGE);
        assert_int_equal(record.reason, REASON_MERGE);
        assert_string_equal(record.deactivated_by, "controller");
    }
    struct partition_record output;
    EXPECT(OK,
           catalog_partition_load(world.staging.catalog, &world.reservation.output_id, world.staging.arena, &output,
                                  &world.err),
           &world.err);
    assert_true(output.active && uuid_is_nil(&output.lock_id));
    assert_true(output.row_count == 65 && output.data_bytes == 2500 && output.memory_bytes == 9000);
    assert_true(output.min_timestamp_us == 1 && output.max_timestamp_us == 3 * CLOCK_HOUR_US);
    assert_int_equal(output.origin, ORIGIN_MERGE);
    assert_int_equal(output.merge_level, 1);
    assert_int_equal(output.sha256[0], 9);
    assert_true(number(&world, "select count(*) from granary.lineage where child_id = $1", &output.partition_id) ==
                INPUTS);
    assert_true(number(&world, "select count(*) from granary.partition_columns where partition_id = $1",
                       &output.partition_id) == 2);
    assert_true(number(&world, "select count(*) from granary.locks where attempt_id = $1", &world.attempt.attempt_id) ==
                1); /* of the retired inputs */
    assert_true(number(&world,
                       "select count(*) from granary.attempts where attempt_id = $1 and state = 'done'"
                       " and finished_at is not null and rows_done = rows_total and worker = 'worker'",
                       &world.attempt.attempt_id) == 1);
    EXPECT_TEXT(ERR_CONFLICT, "it is over", commit(&world), &world.err);
    EXPECT_TEXT(ERR_CONFLICT, "not this worker's", renew(&world, "worker", world.attempt.token), &world.err);
}

static void what_is_not_as_planned_is_not_reserved_and_nothing_changes(void **state)
{
    (void)state;
    static const struct {
        const char *before, *after; /* SQL over an input's id */
    } cases[] = {
        {"insert into granary.holds (table_id, partition_id, reason, placed_by)"
         " select table_id, partition_id, 'r', 'x' from granary.partitions where partition_id = $1",
         "update granary.holds set released_at = now(), released_by = 'x' where partition_id = $1"},
        {"insert into granary.merge_failures (partition_id, tries, last_error, set_aside_at) values ($1, 3, 'e', "
         "now())",
         "delete from granary.merge_failures where partition_id = $1"},
    };
    AUTO(merging_done) struct merging world;
    merging_open(&world);
    size_t busy = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run_sql(&world, cases[i].before, &world.inputs[1]);
        assert_int_equal(count_candidates(&world, INT64_MAX, &busy), INPUTS - 1);
        EXPECT_TEXT(ERR_CONFLICT, "expected to lock 3 partitions as planned but 2 were so", reserve(&world),
                    &world.err);
        expect_untouched(&world);
        run_sql(&world, cases[i].after, &world.inputs[1]);
    }
    world.wanted[2].version++;
    EXPECT_TEXT(ERR_CONFLICT, "but 2 were so", reserve(&world), &world.err);
    world.wanted[2].version--;
    world.reservation.epoch--;
    EXPECT_TEXT(ERR_CONFLICT, "a later one has begun", reserve(&world), &world.err);
    world.reservation.epoch++;
    expect_untouched(&world);
    assert_int_equal(count_candidates(&world, 1000, &busy), 0); /* all of them are as large as that */
    run_sql(&world, "update granary.tables set dropped_at = now(), dropped_by = 'x' where table_id = $1",
            &world.reservation.table_id);
    EXPECT_TEXT(ERR_NOT_FOUND, "not dropped", reserve(&world), &world.err);
    expect_untouched(&world);
}

static void a_hold_on_the_table_lets_merges_go_on(void **state)
{
    (void)state;
    AUTO(merging_done) struct merging world;
    merging_open(&world);
    run_sql(&world, "insert into granary.holds (table_id, reason, placed_by) values ($1, 'r', 'x')",
            &world.reservation.table_id);
    EXPECT(OK, reserve(&world), &world.err);
    EXPECT(OK, commit(&world), &world.err);
}

static void abandoning_touches_only_the_output(void **state)
{
    (void)state;
    AUTO(merging_done) struct merging world;
    merging_open(&world);
    size_t set_aside = 42;
    EXPECT(OK, reserve(&world), &world.err);
    EXPECT_TEXT(ERR_CONFLICT, "it was renewed", abandon(&world, true, 0, 3, &set_aside), &world.err);
    EXPECT(OK, abandon(&world, false, 2, 2, &set_aside), &world.err);
    assert_int_equal(set_aside, 0);
    for (size_t i = 0; i < INPUTS; i++) {
        struct partition_record record = staging_load(&world.staging, of_table[i]);
        assert_true(record.active && uuid_is_nil(&record.lock_id));
    }
    assert_true(number(&world,
                       "select count(*) from granary.partitions where partition_id = $1 and not active"
                       " and lock_id is null and deactivation_reason = 'abandoned'"
                       " and deactivated_by = 'controller' and deactivated_at is not null",
                       &world.reservation.output_id) == 1);
    assert_true(number(&world,
                       "select count(*) from granary.attempts where attempt_id = $1 and state = 'abandoned'"
                       " and error = 'it broke'",
                       &world.attempt.attempt_id) == 1);
    assert_true(number(&world, "select count(*) from granary.locks where attempt_id = $1", &world.attempt.attempt_id) ==
                0);
    EXPECT_TEXT(ERR_CONFLICT, "it is over", abandon(&world, false, 0, 3, &set_aside), &world.err);
    EXPECT_TEXT(ERR_CONFLICT, "it is over", commit(&world), &world.err);
    EXPECT_TEXT(ERR_CONFLICT, "not this worker's", renew(&world, "worker", world.attempt.token), &world.err);
}

static void partitions_that_fail_too_often_are_set_aside_unless_it_was_long_ago(void **state)
{
    (void)state;
    AUTO(merging_done) struct merging world;
    merging_open(&world);
    size_t set_aside = 0;
    for (int try = 1; try <= 3; try++) {
        describe(&world);
        EXPECT(OK, reserve(&world), &world.err);
        EXPECT(OK, abandon(&world, false, 1, 2, &set_aside), &world.err);
        assert_int_equal(set_aside, try == 3);
        if (try == 1) {
            run_sql(&world,
                    "update granary.merge_failures set last_at = now() - interval '25 hours'"
                    " where partition_id = $1",
                    &world.inputs[0]);
        }
    }
    size_t busy = 0;
    assert_int_equal(count_candidates(&world, INT64_MAX, &busy), INPUTS - 1);
}

static void a_lease_belongs_to_the_first_worker_with_the_right_token_until_it_runs_out(void **state)
{
    (void)state;
    AUTO(merging_done) struct merging world;
    merging_open(&world);
    struct catalog_merge_attempt *found = NULL;
    struct catalog_merge_pool *pools = NULL;
    size_t count = 0;
    size_t set_aside = 0;
    EXPECT(OK, reserve(&world), &world.err);
    EXPECT(OK, catalog_merge_pools(world.controller, world.staging.arena, &pools, &count, &world.err), &world.err);
    assert_true(count == 1 && pools[0].planned == 1 && pools[0].running == 0);
    EXPECT(OK,
           catalog_merge_attempts_waiting(world.controller, NULL, 10, world.staging.arena, &found, &count, &world.err),
           &world.err);
    assert_int_equal(count, 1);

    EXPECT_TEXT(ERR_CONFLICT, "not this worker's", renew(&world, "first", world.attempt.token + 1), &world.err);
    EXPECT(OK, renew(&world, "first", world.attempt.token), &world.err);
    EXPECT(OK, renew(&world, "first", world.attempt.token), &world.err);
    EXPECT_TEXT(ERR_CONFLICT, "not this worker's", renew(&world, "second", world.attempt.token), &world.err);
    EXPECT(OK, catalog_merge_pools(world.controller, world.staging.arena, &pools, &count, &world.err), &world.err);
    assert_true(count == 1 && pools[0].planned == 0 && pools[0].running == 1);
    EXPECT(OK, catalog_merge_attempts_expired(world.controller, 10, world.staging.arena, &found, &count, &world.err),
           &world.err);
    assert_int_equal(count, 0);

    run_sql(&world, "update granary.locks set expires_at = clock_timestamp() where attempt_id = $1",
            &world.attempt.attempt_id);
    EXPECT_TEXT(ERR_CONFLICT, "has run out", renew(&world, "first", world.attempt.token), &world.err);
    EXPECT(OK, catalog_merge_attempts_expired(world.controller, 10, world.staging.arena, &found, &count, &world.err),
           &world.err);
    assert_int_equal(count, 1);
    assert_true(uuid_equal(&found[0].attempt_id, &world.attempt.attempt_id));
    assert_int_equal(found[0].state, ATTEMPT_RUNNING);
    assert_string_equal(found[0].worker, "first");
    EXPECT(OK, abandon(&world, true, 0, 3, &set_aside), &world.err);
    EXPECT_TEXT(ERR_CONFLICT, "it is over", commit(&world), &world.err); /* the late result */
}

static void a_result_of_an_attempt_that_nobody_has_judged_is_not_thrown_away(void **state)
{
    (void)state;
    AUTO(merging_done) struct merging world;
    merging_open(&world);
    EXPECT(OK, reserve(&world), &world.err);
    EXPECT(OK, renew(&world, "worker", world.attempt.token), &world.err);
    run_sql(&world, "update granary.locks set expires_at = clock_timestamp() where attempt_id = $1",
            &world.attempt.attempt_id);
    EXPECT(OK, commit(&world), &world.err);
}

static void there_is_one_leader_and_a_former_one_commits_nothing(void **state)
{
    (void)state;
    AUTO(merging_done) struct merging world;
    merging_open(&world);
    AUTO(catalog_close_auto) struct catalog *standby = fixture_open_as("granary_merge_controller");
    struct catalog_leadership second = {.epoch = -1};
    bool leads = true;
    EXPECT(OK, catalog_leader_try(standby, CATALOG_MERGE_LEADER, "standby", &leads, &second, &world.err), &world.err);
    assert_false(leads);
    assert_true(second.epoch == -1);
    EXPECT(OK, catalog_leader_check(world.controller, CATALOG_MERGE_LEADER, &world.leadership, &world.err), &world.err);
    EXPECT(OK, reserve(&world), &world.err);

    fixture_kill_session(world.controller);
    EXPECT(OK, catalog_leader_try(standby, CATALOG_MERGE_LEADER, "standby", &leads, &second, &world.err), &world.err);
    assert_true(leads);
    assert_true(second.epoch == world.leadership.epoch + 1);
    enum err_code code = catalog_ping(world.controller, &world.err);
    assert_true(code == OK || code == ERR_UNAVAILABLE);
    fixture_set_role(world.controller, "granary_merge_controller");
    EXPECT(ERR_CONFLICT, catalog_leader_check(world.controller, CATALOG_MERGE_LEADER, &world.leadership, &world.err),
           &world.err);
    EXPECT_TEXT(ERR_CONFLICT, "a later one has begun", commit(&world), &world.err);
    EXPECT(OK, catalog_leader_resign(standby, CATALOG_MERGE_LEADER, &world.err), &world.err);
    EXPECT(OK, catalog_leader_try(world.controller, CATALOG_MERGE_LEADER, "me", &leads, &world.leadership, &world.err),
           &world.err);
    assert_true(leads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_commit_swaps_the_inputs_for_the_output),
        cmocka_unit_test(what_is_not_as_planned_is_not_reserved_and_nothing_changes),
        cmocka_unit_test(a_hold_on_the_table_lets_merges_go_on),
        cmocka_unit_test(abandoning_touches_only_the_output),
        cmocka_unit_test(partitions_that_fail_too_often_are_set_aside_unless_it_was_long_ago),
        cmocka_unit_test(a_lease_belongs_to_the_first_worker_with_the_right_token_until_it_runs_out),
        cmocka_unit_test(a_result_of_an_attempt_that_nobody_has_judged_is_not_thrown_away),
        cmocka_unit_test(there_is_one_leader_and_a_former_one_commits_nothing),
    };
    return cmocka_run_group_tests(tests, fixture_setup, NULL);
}
