/* Each service's role can do its own work and no other's; and who leads. */
#include <stdio.h>
#include <string.h>

#include "common/catalog/deployment.h"
#include "common/catalog/leader.h"
#include "common/catalog/partitions.h"
#include "tests/integration/catalog/fixture.h"

#define ROLES              \
    ROLE(intake)           \
    ROLE(merge_controller) \
    ROLE(rewriter)         \
    ROLE(alter) ROLE(decay) ROLE(merge_cleanup) ROLE(reap_collection) ROLE(reaper) ROLE(partition_cleaner) ROLE(admin)
enum role {
#define ROLE(name) role_##name,
    ROLES
#undef ROLE
        role_count
};
static const char *const role_names[] = {
#define ROLE(name) "granary_" #name,
    ROLES
#undef ROLE
};
#define MAY(name) (1u << role_##name)
#define EVERYONE  ((1u << role_count) - 1)
#define SERVICES  (EVERYONE & ~MAY(rewriter))

static void each_role_may_do_what_its_line_says_and_no_more(void **state)
{
    (void)state;
    static const struct {
        const char *sql; /* touches no row */
        unsigned may;
    } rights[] = {
        {"select from granary.schema_migrations", EVERYONE},
        {"select from granary.partitions where false", SERVICES},
        {"select from granary.holds where false", SERVICES},
        {"insert into granary.partitions select * from granary.partitions where false",
         MAY(intake) | MAY(merge_controller)},
        {"update granary.partitions set active = false where false",
         MAY(intake) | MAY(merge_controller) | MAY(decay) | MAY(admin)},
        {"update granary.partitions set path = '' where false", 0},
        {"update granary.partitions set deactivated_at = null where false", 0},
        {"update granary.partitions set sha256 = null where false", MAY(intake) | MAY(merge_controller)},
        {"delete from granary.partitions where false", MAY(reaper)},
        {"truncate granary.partitions cascade", 0},
        {"alter table granary.partitions disable trigger all", 0},
        {"insert into granary.tables select * from granary.tables where false", MAY(admin)},
        {"update granary.tables set settings = '{}' where false", MAY(admin)},
        {"delete from granary.tables where false", 0},
        {"update granary.deployment set settings = '{}' where false", MAY(admin)},
        {"update granary.deployment set deployment_id = gen_random_uuid() where false", 0},
        {"insert into granary.holds select * from granary.holds where false", MAY(admin)},
        {"delete from granary.holds where false", 0},
        {"insert into granary.receipts overriding user value select * from granary.receipts where false", MAY(reaper)},
        {"update granary.receipts set path = '' where false", 0},
        {"insert into granary.orphans select * from granary.orphans where false", MAY(partition_cleaner)},
        {"delete from granary.orphans where false", MAY(partition_cleaner) | MAY(admin)},
        {"insert into granary.orphan_receipts overriding user value select * from granary.orphan_receipts where false",
         MAY(partition_cleaner) | MAY(admin)},
        {"update granary.orphan_receipts set path = '' where false", 0},
        {"update granary.orphan_receipts set answer = '' where false", MAY(partition_cleaner) | MAY(admin)},
        {"delete from granary.orphan_receipts where false", MAY(merge_cleanup)},
        {"update granary.cleaner_runs set verdict = null where false", MAY(partition_cleaner)},
        {"delete from granary.cleaner_runs where false", MAY(merge_cleanup)},
        {"insert into granary.plan_orphans select * from granary.plan_orphans where false", MAY(admin)},
        {"update granary.plan_orphans set path = '' where false", 0},
        {"update granary.audit_log set actor = '' where false", 0},
        {"update granary.leaders set epoch = 1 where false", MAY(merge_controller)},
        {"update granary.locks set token = default where false", 0},
        {"select granary.intake_batches_maintain('2 days') where false", MAY(merge_cleanup)},
        {"select granary.attempt_renew(null, 0, '', 0, '1s') where false", MAY(rewriter)},
        {"create table granary.more ()", 0},
    };
    struct error err = {0};

    for (size_t role = 0; role < role_count; role++) {
        AUTO(catalog_close_auto) struct catalog *catalog = fixture_open_as(role_names[role]);
        for (size_t i = 0; i < sizeof rights / sizeof rights[0]; i++) {
            bool may = (rights[i].may >> role & 1u) != 0;
            char what[256];
            (void)snprintf(what, sizeof what, "%s: %s", role_names[role], rights[i].sql);
            enum err_code code = catalog_execute(catalog, rights[i].sql, CATALOG_NO_VALUES, NULL, &err);
            fixture_expect(may ? OK : ERR_DENIED, code, &err, what, __FILE__, __LINE__);
        }
    }
}

static void every_service_can_check_the_version(void **state)
{
    (void)state;
    struct error err = {0};
    for (size_t role = 0; role < role_count; role++) {
        AUTO(catalog_close_auto) struct catalog *catalog = fixture_open_as(role_names[role]);
        EXPECT(OK, catalog_check_version(catalog, &err), &err);
    }
}

static void the_admin_role_keeps_tables_and_the_intake_role_fills_them(void **state)
{
    (void)state;
    AUTO(catalog_close_auto) struct catalog *admin = fixture_open_as("granary_admin");
    AUTO(catalog_close_auto) struct catalog *intake = fixture_open_as("granary_intake");
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct error err = {0};
    struct fixture_table table = {.name = "kept"};
    struct table_record record;
    bool changed = false;
    fixture_create_table(admin, &table);
    struct catalog_table_change change = {.table_id = table.table_id,
                                          .actor = "tester",
                                          .setting_count = 1,
                                          .settings = &(struct catalog_setting){"rejects.max_age", "1d"}};
    EXPECT(OK, catalog_table_set(admin, &change, arena, &record, &err), &err);
    EXPECT(OK, catalog_table_add_schema(admin, &table.table_id, 1, "{}", "tester", &err), &err);
    EXPECT(OK, catalog_deployment_set(admin, &(struct catalog_setting){"merge.max_tries", "3"}, 1, "tester", &err),
           &err);
    EXPECT(OK, catalog_deployment_pause(admin, "why", "tester", &changed, &err), &err);
    EXPECT(OK, catalog_deployment_resume(admin, "tester", &changed, &err), &err);
    EXPECT(ERR_DENIED, catalog_table_drop(intake, &table.table_id, "tester", &err), &err);

    struct partition_record partition = {.partition_id = uuid_v7(),
                                         .table_id = table.table_id,
                                         .schema_version = 1,
                                         .path = "a/b/c",
                                         .origin = ORIGIN_INTAKE,
                                         .etag = "e"};
    struct catalog_stage stage = {
        .lock_id = uuid_v7(), .owner = "w", .lease_us = CLOCK_MINUTE_US, .partitions = &partition, .count = 1};
    struct catalog_lock lock;
    EXPECT(OK, catalog_partitions_stage(intake, &stage, &lock, &err), &err);
    EXPECT(OK, catalog_lock_renew(intake, &lock, CLOCK_MINUTE_US, &err), &err);
    struct column_stats stats = {.column_id = 1};
    struct catalog_publication publication = {&partition, &stats, 1};
    struct catalog_batch batch = {.batch_id = uuid_v7(), .table_id = table.table_id};
    struct catalog_publish publish = {.lock_id = lock.lock_id,
                                      .token = lock.token,
                                      .publications = &publication,
                                      .count = 1,
                                      .batches = &batch,
                                      .batch_count = 1,
                                      .actor = "w"};
    struct catalog_published published;
    EXPECT(OK, catalog_partitions_publish(intake, &publish, arena, &published, &err), &err);

    partition.partition_id = uuid_v7();
    partition.path = "a/b/d";
    stage.lock_id = uuid_v7();
    EXPECT(OK, catalog_partitions_stage(intake, &stage, &lock, &err), &err);
    EXPECT(OK, catalog_partitions_give_up(intake, &lock.lock_id, lock.token, "w", &err), &err);

    uint32_t column = 1;
    struct catalog_live live;
    struct catalog_live_page page = {.table_id = table.table_id,
                                     .min_timestamp_us = INT64_MIN,
                                     .limit = 9,
                                     .max_timestamp_us = INT64_MAX,
                                     .column_ids = &column,
                                     .column_count = 1};
    EXPECT(OK, catalog_partitions_live(admin, &page, arena, &live, &err), &err);
    assert_int_equal(live.count, 1);
    EXPECT(OK, catalog_table_drop(admin, &table.table_id, "tester", &err), &err);
}

/* --- leadership --------------------------------------------------------------------------------------------------- */

static void one_leads_and_a_later_epoch_refuses_the_former(void **state)
{
    (void)state;
    AUTO(catalog_close_auto) struct catalog *first = fixture_open_as("granary_merge_controller");
    AUTO(catalog_close_auto) struct catalog *second = fixture_open_as("granary_merge_controller");
    struct catalog_leadership former;
    struct catalog_leadership later = {.epoch = -1};
    struct error err = {0};
    bool leads = false;

    EXPECT(OK, catalog_leader_try(first, "tests", "a", &leads, &former, &err), &err);
    assert_true(leads);
    EXPECT(OK, catalog_leader_check(first, "tests", &former, &err), &err);
    EXPECT(OK, catalog_leader_try(second, "tests", "b", &leads, &later, &err), &err);
    assert_false(leads);
    assert_true(later.epoch == -1);

    fixture_kill_session(first);
    EXPECT(OK, catalog_leader_try(second, "tests", "b", &leads, &later, &err), &err);
    assert_true(leads && later.epoch == former.epoch + 1);
    EXPECT(OK, catalog_ping(first, &err), &err); /* connected again, without the lock */
    fixture_set_role(first, "granary_merge_controller");
    EXPECT_TEXT(ERR_CONFLICT, "session that held the lock is gone", catalog_leader_check(first, "tests", &former, &err),
                &err);
    {
        AUTO(catalog_rollback_auto) struct catalog_transaction *late = NULL;
        EXPECT(OK, catalog_begin(first, &late, &err), &err);
        EXPECT_TEXT(ERR_CONFLICT, "a later one has begun", catalog_leader_fence(late, "tests", former.epoch, &err),
                    &err);
    }
    AUTO(catalog_rollback_auto) struct catalog_transaction *good = NULL;
    EXPECT(OK, catalog_begin(second, &good, &err), &err);
    EXPECT(OK, catalog_leader_fence(good, "tests", later.epoch, &err), &err);
    EXPECT(OK, catalog_commit(TAKE(good), &err), &err);
    EXPECT(OK, catalog_leader_resign(second, "tests", &err), &err);
    EXPECT(OK, catalog_leader_try(first, "tests", "a", &leads, &former, &err), &err);
    assert_true(leads && former.epoch == later.epoch + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_role_may_do_what_its_line_says_and_no_more),
        cmocka_unit_test(every_service_can_check_the_version),
        cmocka_unit_test(the_admin_role_keeps_tables_and_the_intake_role_fills_them),
        cmocka_unit_test(one_leads_and_a_later_epoch_refuses_the_former),
    };
    return cmocka_run_group_tests(tests, fixture_setup, NULL);
}
