/* Publish sessions over a real catalog and a file store. */
#include "tests/integration/catalog/publish_world.h"

#include <pthread.h>

/* --- sessions ----------------------------------------------------------------------------------------------------- */

static void partitions_appear_together_with_their_measurements(void **state)
{
    AUTO(world_done) struct world world = world_open(state);
    AUTO(publish_close_auto) struct publish *publish = session(&world, CLOCK_MINUTE_US);
    AUTO(batch_free_auto) struct batch *batch = rows_from(&world, 5 * CLOCK_DAY_US, 1000, 1000);
    add_hundreds(&world, publish, batch);
    assert_int_equal(count_where(&world, "true"), 0);
    EXPECT(OK, publish_write(publish, &world.err), &world.err);
    assert_int_equal(count_where(&world, "not active and lock_kind = 'write' and sha256 is null"), 10);
    assert_int_equal(publish_totals(publish).partitions, 10);
    assert_int_equal(publish_totals(publish).rows, 1000);
    EXPECT(OK, publish_write(publish, &world.err), &world.err); /* nothing is left to write */
    EXPECT(OK, commit_plain(&world, publish), &world.err);
    assert_int_equal(count_where(&world, "active and lock_id is null and row_count = 100 and length(sha256) = 32"), 10);
    assert_int_equal(fixture_number(world.owner, "select count(*) from granary.locks where owner = 'writer'"), 0);
    EXPECT_TEXT(ERR_INVALID, "over", publish_write(publish, &world.err), &world.err);
    publish_close(TAKE(publish));
    assert_int_equal(count_where(&world, "active"), 10);
}

static void what_a_session_does_not_commit_is_given_up_when_it_closes(void **state)
{
    AUTO(world_done) struct world world = world_open(state);
    struct publish *publish = session(&world, CLOCK_MINUTE_US);
    AUTO(batch_free_auto) struct batch *batch = rows_from(&world, 0, 1000, 300);
    add_hundreds(&world, publish, batch);
    EXPECT(OK, publish_write(publish, &world.err), &world.err);
    publish_close(TAKE(publish));
    assert_int_equal(count_where(&world, "not active and lock_id is null and deactivation_reason = 'abandoned'"), 3);
}

static void a_load_writes_many_times_and_appears_at_once(void **state)
{
    AUTO(world_done) struct world world = world_open(state);
    AUTO(publish_close_auto) struct publish *publish = session(&world, CLOCK_MINUTE_US);
    for (int i = 0; i < 4; i++) {
        AUTO(batch_free_auto) struct batch *batch = rows_from(&world, i * CLOCK_DAY_US, 1000, 250);
        add_hundreds(&world, publish, batch);
        EXPECT(OK, publish_write(publish, &world.err), &world.err);
        EXPECT(OK, publish_keep(publish, &world.err), &world.err);
        assert_int_equal(count_where(&world, "active"), 0);
    }
    assert_int_equal(fixture_number(world.owner, "select count(*) from granary.locks where owner = 'writer'"), 1);
    EXPECT(OK, commit_plain(&world, publish), &world.err);
    assert_int_equal(count_where(&world, "active"), 12);
}

static void pieces_that_were_not_written_are_not_committed(void **state)
{
    AUTO(world_done) struct world world = world_open(state);
    AUTO(publish_close_auto) struct publish *publish = session(&world, CLOCK_MINUTE_US);
    AUTO(batch_free_auto) struct batch *batch = rows_from(&world, 0, 1000, 100);
    add_hundreds(&world, publish, batch);
    struct uuid *known;
    size_t known_count;
    assert_int_equal(commit(&world, publish, NULL, 0, &known, &known_count), ERR_INVALID);
    assert_int_equal(count_where(&world, "true"), 0);
}

static void a_batch_that_was_committed_before_is_named(void **state)
{
    AUTO(world_done) struct world world = world_open(state);
    AUTO(batch_free_auto) struct batch *batch = rows_from(&world, 0, 1000, 100);
    struct catalog_batch batches[] = {
        {.batch_id = uuid_v7(), .table_id = world.table.table_id, .row_count = 60},
        {.batch_id = uuid_v7(), .table_id = world.table.table_id, .row_count = 40},
    };
    struct uuid *known = NULL;
    size_t known_count = 9;
    for (size_t commits = 0; commits < 2; commits++) {
        struct publish *publish = session(&world, CLOCK_MINUTE_US);
        add_hundreds(&world, publish, batch);
        EXPECT(OK, publish_write(publish, &world.err), &world.err);
        EXPECT(commits == 0 ? OK : ERR_CONFLICT, commit(&world, publish, batches, 1 + commits, &known, &known_count),
               &world.err);
        assert_int_equal(known_count, commits);
        publish_close(TAKE(publish));
    }
    assert_true(uuid_equal(&known[0], &batches[0].batch_id));
    assert_int_equal(count_where(&world, "active"), 1);
    assert_int_equal(count_where(&world, "deactivation_reason = 'abandoned'"), 1);

    AUTO(publish_close_auto) struct publish *empty = session(&world, CLOCK_MINUTE_US);
    EXPECT(OK, commit(&world, empty, &batches[1], 1, &known, &known_count), &world.err);
    assert_int_equal(count_where(&world, "active"), 1);
}

static void a_lost_answer_of_the_commit_is_looked_up(void **state)
{
#ifdef GRANARY_FAULTS
    /* each rule counts its hits by its place */
    static const char *const faults[] = {"catalog.commit_lost=fail", "none=fail,catalog.commit_never_sent=fail"};
    AUTO(world_done) struct world world = world_open(state);
    for (size_t i = 0; i < COUNT(faults); i++) {
        struct publish *publish = session(&world, CLOCK_MINUTE_US);
        AUTO(batch_free_auto) struct batch *batch = rows_from(&world, (int64_t)i * CLOCK_DAY_US, 1000, 200);
        const struct catalog_batch filed = {.batch_id = uuid_v7(), .table_id = world.table.table_id, .row_count = 200};
        struct uuid *known;
        size_t known_count;
        add_hundreds(&world, publish, batch);
        EXPECT(OK, publish_write(publish, &world.err), &world.err);
        fixture_fault(faults[i]);
        EXPECT(OK, commit(&world, publish, &filed, 1, &known, &known_count), &world.err);
        fixture_fault(NULL);
        publish_close(TAKE(publish));
        assert_int_equal(count_where(&world, "active"), 2 * ((int64_t)i + 1));
        assert_int_equal(count_where(&world, "not active"), 0);
    }
#else
    (void)state;
    skip();
#endif
}

static void a_lease_that_ran_out_commits_nothing(void **state)
{
    AUTO(world_done) struct world world = world_open(state);
    AUTO(publish_close_auto) struct publish *publish = session(&world, CLOCK_MINUTE_US);
    AUTO(batch_free_auto) struct batch *batch = rows_from(&world, 0, 1000, 200);
    add_hundreds(&world, publish, batch);
    EXPECT(OK, publish_write(publish, &world.err), &world.err);
    fixture_sql(world.owner, "update granary.locks set expires_at = clock_timestamp() where owner = 'writer'");
    EXPECT_TEXT(ERR_CONFLICT, "run out", commit_plain(&world, publish), &world.err);
    assert_int_equal(count_where(&world, "active"), 0);
}

static void a_table_that_was_dropped_takes_nothing_more(void **state)
{
    AUTO(world_done) struct world world = world_open(state);
    AUTO(publish_close_auto) struct publish *publish = session(&world, CLOCK_MINUTE_US);
    AUTO(batch_free_auto) struct batch *batch = rows_from(&world, 0, 1000, 100);
    add_hundreds(&world, publish, batch);
    EXPECT(OK, publish_write(publish, &world.err), &world.err);
    EXPECT(OK, catalog_table_drop(world.owner, &world.table.table_id, "test", &world.err), &world.err);
    EXPECT(ERR_NOT_FOUND, commit_plain(&world, publish), &world.err);
    assert_int_equal(count_where(&world, "active"), 0);
}

static void a_full_disk_fails_the_session_and_leaves_nothing_live(void **state)
{
#ifdef GRANARY_FAULTS
    AUTO(world_done) struct world world = world_open(state);
    struct publish *publish = session(&world, CLOCK_MINUTE_US);
    AUTO(batch_free_auto) struct batch *batch = rows_from(&world, 0, 1000, 500);
    add_hundreds(&world, publish, batch);
    fixture_fault("none=fail,none=fail,store.disk_full=fail");
    EXPECT_TEXT(ERR_UNAVAILABLE, "No space left", publish_write(publish, &world.err), &world.err);
    fixture_fault(NULL);
    EXPECT(ERR_INVALID, publish_keep(publish, &world.err), &world.err);
    publish_close(TAKE(publish));
    assert_int_equal(count_where(&world, "deactivation_reason = 'abandoned'"), 5);
#else
    (void)state;
    skip();
#endif
}

/* --- leases ------------------------------------------------------------------------------------------------------- */

struct watcher {
    const char *hold; /* the writer is held while this file is there */
    int64_t renewed;
};

/* Lets the writer go on once its lock has been renewed. */
static void *watch_lease(void *argument)
{
    struct watcher *watcher = argument;
    AUTO(catalog_close_auto) struct catalog *catalog = fixture_open();
    int64_t until_us = clock_monotonic_us() + 20 * CLOCK_SECOND_US;
    while (watcher->renewed == 0 && clock_monotonic_us() < until_us) {
        watcher->renewed = fixture_number(catalog, "select count(*) from granary.locks where owner = 'writer' and"
                                                   " expires_at > acquired_at + interval '2100 milliseconds'");
    }
    (void)unlink(watcher->hold);
    return NULL;
}

static void a_slow_write_keeps_its_lease(void **state)
{
#ifdef GRANARY_FAULTS
    AUTO(world_done) struct world world = world_open(state);
    AUTO(publish_close_auto) struct publish *publish = session(&world, 2 * CLOCK_SECOND_US);
    AUTO(batch_free_auto) struct batch *batch = rows_from(&world, 0, 1000, 100);
    char hold[128];
    char fault[240];
    pthread_t thread;
    (void)snprintf(hold, sizeof hold, "%s/hold", world.store->root);
    (void)snprintf(fault, sizeof fault, "none=fail,none=fail,none=fail,publish.mid_write=hold:%s", hold);
    struct watcher watcher = {.hold = hold};
    add_hundreds(&world, publish, batch);
    fixture_fault(fault);
    assert_int_equal(pthread_create(&thread, NULL, watch_lease, &watcher), 0);
    EXPECT(OK, publish_write(publish, &world.err), &world.err);
    assert_int_equal(pthread_join(thread, NULL), 0);
    fixture_fault(NULL);
    assert_int_equal(watcher.renewed, 1);
    EXPECT(OK, commit_plain(&world, publish), &world.err);
    assert_int_equal(count_where(&world, "active"), 1);
#else
    (void)state;
    skip();
#endif
}

static void a_lease_that_was_taken_away_ends_the_write(void **state)
{
#ifdef GRANARY_FAULTS
    AUTO(world_done) struct world world = world_open(state);
    struct publish *publish = session(&world, CLOCK_SECOND_US);
    AUTO(batch_free_auto) struct batch *batch = rows_from(&world, 0, 1000, 100);
    add_hundreds(&world, publish, batch);
    EXPECT(OK, publish_write(publish, &world.err), &world.err);
    fixture_sql(world.owner, "update granary.locks set expires_at = clock_timestamp() where owner = 'writer'");
    add_hundreds(&world, publish, batch);
    EXPECT(ERR_CONFLICT, publish_write(publish, &world.err), &world.err);
    publish_close(TAKE(publish));
    assert_int_equal(count_where(&world, "active"), 0);
#else
    (void)state;
    skip();
#endif
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
    const struct CMUnitTest tests[] = {
        TEST(partitions_appear_together_with_their_measurements),
        TEST(what_a_session_does_not_commit_is_given_up_when_it_closes),
        TEST(a_load_writes_many_times_and_appears_at_once),
        TEST(pieces_that_were_not_written_are_not_committed),
        TEST(a_batch_that_was_committed_before_is_named),
        TEST(a_lost_answer_of_the_commit_is_looked_up),
        TEST(a_lease_that_ran_out_commits_nothing),
        TEST(a_table_that_was_dropped_takes_nothing_more),
        TEST(a_full_disk_fails_the_session_and_leaves_nothing_live),
        TEST(a_slow_write_keeps_its_lease),
        TEST(a_lease_that_was_taken_away_ends_the_write),
    };
    return cmocka_run_group_tests(tests, fixture_setup, NULL);
}
