/* Staging, publishing and giving up, with fences, against a real server. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/integration/catalog/staging.h"

static void a_staged_partition_is_not_live_until_it_is_published(void **state)
{
    (void)state;
    AUTO(staging_done) struct staging world = staging_open();
    struct catalog_published published;
    staging_stage(&world, 2, CLOCK_MINUTE_US);
    assert_true(world.lock.expires_at_us - world.lock.now_us > 59 * CLOCK_SECOND_US);
    struct partition_record record = staging_load(&world, 0);
    assert_false(record.active || record.published);
    assert_int_equal(record.lock_kind, LOCK_WRITE);
    assert_true(record.row_count == 10 && record.data_bytes == 0);

    struct catalog_publish what = staging_measured(&world, 2);
    EXPECT(OK, staging_publish(&world, &what, &published), &world.err);
    assert_true(published.xid > 0 && published.known_count == 0);
    for (size_t i = 0; i < 2; i++) {
        record = staging_load(&world, i);
        assert_true(record.active && record.published && uuid_is_nil(&record.lock_id));
        assert_int_equal(record.reason, REASON_NONE);
        assert_true(record.row_count == 20 + (int64_t)i && record.data_bytes == 1000);
        assert_memory_equal(record.sha256, world.records[i].sha256, 32);
        assert_string_equal(record.etag, "etag");
        assert_string_equal(record.path, world.records[i].path);
        assert_int_equal(record.origin, ORIGIN_INTAKE);
    }
    assert_true(fixture_number(world.catalog, "select count(*) from granary.locks") == 0);
    EXPECT(ERR_CONFLICT, staging_publish(&world, &what, &published), &world.err); /* its lock is gone */
}

static void what_is_not_published_under_a_lock_is_given_up_with_it(void **state)
{
    (void)state;
    AUTO(staging_done) struct staging world = staging_open();
    struct catalog_published published;
    staging_stage(&world, 3, CLOCK_MINUTE_US);
    struct catalog_publish what = staging_measured(&world, 2);
    EXPECT(OK, staging_publish(&world, &what, &published), &world.err);
    struct partition_record left = staging_load(&world, 2);
    assert_false(left.active);
    assert_int_equal(left.reason, REASON_ABANDONED);
    assert_string_equal(left.deactivated_by, "writer");
    assert_true(left.deactivated_at_us > 0);
}

static void times_beyond_the_catalog_are_not_staged(void **state)
{
    (void)state;
    AUTO(staging_done) struct staging world = staging_open();
    struct catalog_lock lock = {.token = -1};
    staging_make_record(&world, 0, false);
    world.records[0].min_timestamp_us = INT64_MIN;
    struct catalog_stage staged = {
        .lock_id = uuid_v7(), .owner = "writer", .lease_us = CLOCK_MINUTE_US, .partitions = world.records, .count = 1};
    EXPECT(ERR_INVALID, catalog_partitions_stage(world.catalog, &staged, &lock, &world.err), &world.err);
    assert_true(lock.token == -1);
    assert_true(fixture_number(world.catalog, "select count(*) from granary.locks") == 0);
}

static void a_lease_is_renewed_until_it_has_run_out(void **state)
{
    (void)state;
    AUTO(staging_done) struct staging world = staging_open();
    struct catalog_published published;
    staging_stage(&world, 1, CLOCK_MINUTE_US);
    int64_t before_us = world.lock.expires_at_us;
    EXPECT(OK, catalog_lock_renew(world.catalog, &world.lock, 5 * CLOCK_MINUTE_US, &world.err), &world.err);
    assert_true(world.lock.expires_at_us >= before_us + 4 * CLOCK_MINUTE_US);
    before_us = world.lock.expires_at_us;
    EXPECT(OK, catalog_lock_renew(world.catalog, &world.lock, CLOCK_SECOND_US, &world.err), &world.err);
    assert_true(world.lock.expires_at_us == before_us); /* never to an earlier time */

    struct catalog_lock late = world.lock;
    late.token--;
    EXPECT_TEXT(ERR_CONFLICT, "expired or is gone",
                catalog_lock_renew(world.catalog, &late, CLOCK_MINUTE_US, &world.err), &world.err);
    fixture_sql(world.catalog, "update granary.locks set expires_at = clock_timestamp()");
    EXPECT(ERR_CONFLICT, catalog_lock_renew(world.catalog, &world.lock, CLOCK_MINUTE_US, &world.err), &world.err);
    struct catalog_publish what = staging_measured(&world, 1);
    EXPECT_TEXT(ERR_CONFLICT, "has run out", staging_publish(&world, &what, &published), &world.err);
    assert_false(staging_load(&world, 0).active);
    EXPECT(OK, catalog_partitions_give_up(world.catalog, &world.lock.lock_id, world.lock.token, "writer", &world.err),
           &world.err);
    assert_int_equal(staging_load(&world, 0).reason, REASON_ABANDONED);
}

static void a_wrong_token_changes_nothing(void **state)
{
    (void)state;
    AUTO(staging_done) struct staging world = staging_open();
    struct catalog_published published;
    staging_stage(&world, 1, CLOCK_MINUTE_US);
    struct catalog_publish what = staging_measured(&world, 1);
    what.token++;
    EXPECT(ERR_CONFLICT, staging_publish(&world, &what, &published), &world.err);
    EXPECT(ERR_NOT_FOUND, catalog_partitions_give_up(world.catalog, &world.lock.lock_id, what.token, "x", &world.err),
           &world.err);
    assert_int_equal(staging_load(&world, 0).lock_kind, LOCK_WRITE);
    EXPECT(OK, catalog_partitions_give_up(world.catalog, &world.lock.lock_id, world.lock.token, "x", &world.err),
           &world.err);
    EXPECT(ERR_NOT_FOUND,
           catalog_partitions_give_up(world.catalog, &world.lock.lock_id, world.lock.token, "x", &world.err),
           &world.err);
}

static void publishing_needs_every_partition_to_be_staged_under_the_lock(void **state)
{
    (void)state;
    AUTO(staging_done) struct staging world = staging_open();
    struct catalog_published published;
    staging_stage(&world, 1, CLOCK_MINUTE_US);
    staging_make_record(&world, 1, false); /* never staged */
    struct catalog_publish what = staging_measured(&world, 2);
    EXPECT_TEXT(ERR_CONFLICT, "expected 2 catalog rows to change but 1 did", staging_publish(&world, &what, &published),
                &world.err);
    assert_false(staging_load(&world, 0).active);
    EXPECT(OK, catalog_partitions_give_up(world.catalog, &world.lock.lock_id, world.lock.token, "x", &world.err),
           &world.err);
}

static void nothing_is_published_into_a_dropped_table(void **state)
{
    (void)state;
    AUTO(staging_done) struct staging world = staging_open();
    struct catalog_published published;
    staging_stage(&world, 2, CLOCK_MINUTE_US);
    EXPECT(OK, catalog_table_drop(world.catalog, &world.table.table_id, "tester", &world.err), &world.err);
    struct catalog_publish what = staging_measured(&world, 2);
    EXPECT_TEXT(ERR_NOT_FOUND, "expected 2 tables to publish into but found 0",
                staging_publish(&world, &what, &published), &world.err);
    assert_false(staging_load(&world, 0).active);
    EXPECT(OK, catalog_partitions_give_up(world.catalog, &world.lock.lock_id, world.lock.token, "x", &world.err),
           &world.err);
}

/* --- two at once ------------------------------------------------------------------------------------------------- */

static void a_drop_under_way_makes_a_publish_wait_and_fail(void **state)
{
    (void)state;
    AUTO(staging_done) struct staging world = staging_open();
    AUTO(catalog_close_auto) struct catalog *other = fixture_open();
    AUTO(catalog_rollback_auto) struct catalog_transaction *drop = NULL;
    const char *name = staging_session_name(other, world.arena);
    staging_stage(&world, 1, CLOCK_MINUTE_US);

    EXPECT(OK, catalog_begin(world.catalog, &drop, &world.err), &world.err);
    EXPECT(OK, catalog_fence_exclusive(drop, &world.table.table_id, &world.err), &world.err);
    struct staging_publisher publisher = {.world = &world, .catalog = other, .what = staging_measured(&world, 1)};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, staging_run_publisher, &publisher), 0);
    AUTO(catalog_close_auto) struct catalog *observer = fixture_open();
    fixture_wait_blocked(observer, name);
    char id[UUID_TEXT_BYTES];
    char sql[160];
    (void)snprintf(sql, sizeof sql,
                   "update granary.tables set dropped_at = clock_timestamp(), dropped_by = 'x' where"
                   " table_id = '%s'",
                   uuid_format(&world.table.table_id, id));
    fixture_sql(world.catalog, sql);
    EXPECT(OK, catalog_commit(TAKE(drop), &world.err), &world.err);
    assert_int_equal(pthread_join(thread, NULL), 0);
    EXPECT(ERR_NOT_FOUND, publisher.code, &publisher.err); /* it read after the fence */
    assert_false(staging_load(&world, 0).active);
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

static void live_partitions_are_paged_by_time_with_their_bounds(void **state)
{
    (void)state;
    AUTO(staging_done) struct staging world = staging_open();
    struct catalog_published published;
    static const uint32_t columns[] = {7, 1, 99};
    staging_stage(&world, 4, CLOCK_MINUTE_US); /* 0, 2, 3 in the table; 1 in its companion */
    struct catalog_publish what = staging_measured(&world, 4);
    EXPECT(OK, staging_publish(&world, &what, &published), &world.err);

    struct catalog_live live;
    struct catalog_live_page page = {.table_id = world.table.table_id,
                                     .min_timestamp_us = INT64_MIN,
                                     .max_timestamp_us = INT64_MAX,
                                     .limit = 2,
                                     .column_ids = columns,
                                     .column_count = 3};
    AUTO(catalog_rollback_auto) struct catalog_transaction *snapshot = NULL;
    EXPECT(OK, catalog_begin_snapshot(world.catalog, &snapshot, &world.err), &world.err);
    EXPECT(OK, catalog_partitions_live(world.catalog, &page, world.arena, &live, &world.err), &world.err);
    assert_int_equal(live.count, 2);
    assert_true(uuid_equal(&live.partitions[1].partition_id, &world.records[2].partition_id));
    const struct column_stats *unbounded = live.columns[0];
    const struct column_stats *bounded = live.columns[1];
    assert_int_equal(bounded->column_id, 1);
    assert_true(bounded->has_min && bounded->min_length == 2 && memcmp(bounded->min, "ab", 2) == 0);
    assert_true(bounded->has_max && bounded->max_length == 1 && bounded->max[0] == 'z' && bounded->null_count == 3);
    assert_true(!unbounded->has_min && unbounded->open_min && unbounded->open_max);
    assert_null(live.columns[2]);
    page.after = &live.partitions[1];
    EXPECT(OK, catalog_partitions_live(world.catalog, &page, world.arena, &live, &world.err), &world.err);
    assert_int_equal(live.count, 1);
    assert_true(uuid_equal(&live.partitions[0].partition_id, &world.records[3].partition_id));
    catalog_rollback(TAKE(snapshot));

    /* both ends are included */
    static const struct {
        int64_t min_us, max_us;
        size_t count;
    } ranges[] = {
        {CLOCK_HOUR_US / 2, CLOCK_HOUR_US / 2, 1},
        {CLOCK_HOUR_US / 2 + 1, 2 * CLOCK_HOUR_US - 1, 0},
        {CLOCK_HOUR_US / 2 + 1, 2 * CLOCK_HOUR_US, 1},
        {INT64_MIN, -1, 0},
        {INT64_MIN, 0, 1},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        page = (struct catalog_live_page){.table_id = world.table.table_id,
                                          .min_timestamp_us = ranges[i].min_us,
                                          .max_timestamp_us = ranges[i].max_us,
                                          .limit = 10};
        EXPECT(OK, catalog_partitions_live(world.catalog, &page, world.arena, &live, &world.err), &world.err);
        assert_int_equal(live.count, ranges[i].count);
    }
    struct catalog_live_count count;
    EXPECT(OK, catalog_partitions_count(world.catalog, &world.table.table_id, &count, &world.err), &world.err);
    assert_true(count.partitions == 3 && count.rows == 20 + 22 + 23 && count.bytes == 3000);
    EXPECT_TEXT(
        ERR_NOT_FOUND, "partition",
        catalog_partition_load(world.catalog, &world.table.table_id, world.arena, &world.records[0], &world.err),
        &world.err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_staged_partition_is_not_live_until_it_is_published),
        cmocka_unit_test(what_is_not_published_under_a_lock_is_given_up_with_it),
        cmocka_unit_test(times_beyond_the_catalog_are_not_staged),
        cmocka_unit_test(a_lease_is_renewed_until_it_has_run_out),
        cmocka_unit_test(a_wrong_token_changes_nothing),
        cmocka_unit_test(publishing_needs_every_partition_to_be_staged_under_the_lock),
        cmocka_unit_test(nothing_is_published_into_a_dropped_table),
        cmocka_unit_test(a_drop_under_way_makes_a_publish_wait_and_fail),
        cmocka_unit_test(live_partitions_are_paged_by_time_with_their_bounds),
    };
    return cmocka_run_group_tests(tests, fixture_setup, NULL);
}
