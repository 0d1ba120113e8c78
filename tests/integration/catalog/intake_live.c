/* Rows that land exactly once: publishing with batch ids, against a real server. */
#include <pthread.h>
#include <string.h>

#include "tests/integration/catalog/staging.h"

static struct catalog_batch batch_of(const struct staging *world, uint8_t hash)
{
    struct catalog_batch batch = {
        .batch_id = uuid_v7(), .table_id = world->table.table_id, .keyed = true, .row_count = 19, .reject_count = 1};
    memset(batch.body_sha256, hash, sizeof batch.body_sha256);
    return batch;
}

static void batches_are_filed_with_their_rows(void **state)
{
    (void)state;
    AUTO(staging_done) struct staging world = staging_open();
    struct catalog_published published;
    struct catalog_batch batches[3] = {batch_of(&world, 1), batch_of(&world, 2), batch_of(&world, 3)};
    batches[1].keyed = false;
    staging_stage(&world, 1, CLOCK_MINUTE_US);
    struct catalog_publish what = staging_measured(&world, 1);
    what.batches = batches;
    what.batch_count = 2;
    EXPECT(OK, staging_publish(&world, &what, &published), &world.err);

    struct uuid ids[3] = {batches[2].batch_id, batches[1].batch_id, batches[0].batch_id};
    struct catalog_batch_state states[3];
    EXPECT(OK, catalog_intake_find(world.catalog, ids, 3, states, &world.err), &world.err);
    assert_false(states[0].known);
    assert_true(states[1].known && !states[1].keyed);
    assert_true(states[2].known && states[2].keyed && states[2].row_count == 19 && states[2].reject_count == 1);
    assert_memory_equal(states[2].body_sha256, batches[0].body_sha256, 32);
    assert_true(states[2].committed_at_us > 0);
    /* under one day, or two near midnight */
    assert_true(fixture_number(world.catalog, "select count(*) - 2 * (select count(*) from granary.intake_days()) from"
                                              " granary.intake_batches") == 0);

    /* all again, with one more: nothing lands, and the caller is told which were there */
    staging_stage(&world, 1, CLOCK_MINUTE_US);
    what = staging_measured(&world, 1);
    what.batches = batches;
    what.batch_count = 3;
    EXPECT_TEXT(ERR_CONFLICT, "2 of 3 batches were committed before", staging_publish(&world, &what, &published),
                &world.err);
    assert_int_equal(published.known_count, 2);
    assert_false(staging_load(&world, 0).active);
    what.batches = &batches[2];
    what.batch_count = 1;
    EXPECT(OK, staging_publish(&world, &what, &published), &world.err); /* the lock still stands */
    assert_true(staging_load(&world, 0).active);
}

static void batches_without_rows_are_filed_too(void **state)
{
    (void)state;
    AUTO(staging_done) struct staging world = staging_open();
    struct catalog_published published;
    struct catalog_batch batch = batch_of(&world, 1);
    struct catalog_publish what = {.batches = &batch, .batch_count = 1, .actor = "writer"};
    EXPECT(OK, staging_publish(&world, &what, &published), &world.err);
    assert_true(published.xid > 0);
    EXPECT(ERR_CONFLICT, staging_publish(&world, &what, &published), &world.err);
    assert_int_equal(published.known_count, 1);
    assert_true(uuid_equal(&published.known[0], &batch.batch_id));
}

/* The other has filed the id and not committed yet: nothing to see, and the index decides. */
static void race_for_one_batch(bool other_commits)
{
    AUTO(staging_done) struct staging world = staging_open();
    AUTO(catalog_close_auto) struct catalog *mine = fixture_open();
    AUTO(catalog_rollback_auto) struct catalog_transaction *other = NULL;
    const char *name = staging_session_name(mine, world.arena);
    struct catalog_batch batches[2] = {batch_of(&world, 1), batch_of(&world, 2)};
    staging_stage(&world, 1, CLOCK_MINUTE_US);

    EXPECT(OK, catalog_begin(world.catalog, &other, &world.err), &world.err);
    EXPECT(OK, catalog_intake_insert(other, &batches[1], 1, &world.err), &world.err);
    struct staging_publisher publisher = {.world = &world, .catalog = mine, .what = staging_measured(&world, 1)};
    publisher.what.batches = batches;
    publisher.what.batch_count = 2;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, staging_run_publisher, &publisher), 0);
    AUTO(catalog_close_auto) struct catalog *observer = fixture_open();
    fixture_wait_blocked(observer, name);
    if (other_commits) {
        EXPECT(OK, catalog_commit(TAKE(other), &world.err), &world.err);
    } else {
        catalog_rollback(TAKE(other));
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    EXPECT(other_commits ? ERR_CONFLICT : OK, publisher.code, &publisher.err);
    assert_int_equal(publisher.published.known_count, other_commits ? 1 : 0);
    if (other_commits) {
        assert_true(uuid_equal(&publisher.published.known[0], &batches[1].batch_id));
    }
    assert_int_equal(staging_load(&world, 0).active, !other_commits);
}

static void of_two_commits_of_one_batch_one_lands(void **state)
{
    (void)state;
    race_for_one_batch(true);
    race_for_one_batch(false);
}

static void a_lost_publish_is_looked_up(void **state)
{
    (void)state;
    static const struct {
        const char *fault;
        bool landed;
    } cases[] = {{"catalog.commit_lost=fail", true}, {"catalog.commit_never_sent=fail@2", false}};
    for (size_t i = 0; i < 2; i++) {
        AUTO(staging_done) struct staging world = staging_open();
        struct catalog_published published;
        struct catalog_batch batch = batch_of(&world, 1);
        struct catalog_batch_state batch_state;
        bool committed = !cases[i].landed;
        staging_stage(&world, 1, CLOCK_MINUTE_US);
        struct catalog_publish what = staging_measured(&world, 1);
        what.batches = &batch;
        what.batch_count = 1;
        fixture_fault(cases[i].fault);
        EXPECT(ERR_UNKNOWN, staging_publish(&world, &what, &published), &world.err);
        fixture_fault(NULL);
        EXPECT(OK,
               catalog_transaction_outcome(world.catalog, published.xid, 10 * CLOCK_SECOND_US, &committed, &world.err),
               &world.err);
        assert_int_equal(committed, cases[i].landed);
        EXPECT(OK, catalog_intake_find(world.catalog, &batch.batch_id, 1, &batch_state, &world.err), &world.err);
        assert_int_equal(batch_state.known, cases[i].landed);
        assert_int_equal(staging_load(&world, 0).active, cases[i].landed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_are_filed_with_their_rows),
        cmocka_unit_test(batches_without_rows_are_filed_too),
        cmocka_unit_test(of_two_commits_of_one_batch_one_lands),
        cmocka_unit_test(a_lost_publish_is_looked_up),
    };
    return cmocka_run_group_tests(tests, fixture_setup, NULL);
}
