/* Tables, settings, retention and the deployment against a real server. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/catalog/deployment.h"
#include "common/catalog/jobs.h"
#include "common/catalog/tables.h"
#include "tests/integration/catalog/fixture.h"

struct world {
    struct catalog *catalog;
    struct arena *arena;
    struct error err;
};

static void world_done(struct world *world)
{
    catalog_close(world->catalog);
    arena_free(world->arena);
}

static struct world world_open(void)
{
    return (struct world){.catalog = fixture_open(), .arena = arena_new(0)};
}

static int64_t audits(struct world *world, const char *action)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    EXPECT(OK,
           catalog_query_one(world->catalog, "select count(*) from granary.audit_log where action = $1",
                             CATALOG_VALUES(catalog_text(action)), "count", &rows, &world->err),
           &world->err);
    return catalog_get_i64(rows, 0, 0);
}

static struct table_record load(struct world *world, const struct uuid *id)
{
    struct table_record table;
    EXPECT(OK, catalog_table_load(world->catalog, id, world->arena, &table, &world->err), &world->err);
    return table;
}

static struct table_record set(struct world *world, const struct uuid *id, const char *name, const char *value)
{
    struct table_record table;
    struct catalog_table_change change = {
        .table_id = *id, .settings = &(struct catalog_setting){name, value}, .setting_count = 1, .actor = "tester"};
    EXPECT(OK, catalog_table_set(world->catalog, &change, world->arena, &table, &world->err), &world->err);
    return table;
}

static void creating_a_table_makes_its_companion(void **state)
{
    (void)state;
    AUTO(world_done) struct world world = world_open();
    const struct catalog_setting settings[] = {{"age.max_age_days", "30"}, {"rejects.max_age", "5d"}};
    struct fixture_table made = {.name = "made", .settings = settings, .setting_count = 2};
    fixture_create_table(world.catalog, &made);
    struct table_record table;
    struct table_record companion;

    EXPECT(OK, catalog_table_find(world.catalog, "p", "made", world.arena, &table, &world.err), &world.err);
    assert_true(uuid_equal(&table.table_id, &made.table_id));
    assert_false(table.is_rejects);
    assert_int_equal(table.schema_version, 1);
    assert_string_equal(table.settings_json, "{\"age.max_age\": \"30d\", \"rejects.max_age\": \"5d\"}");
    assert_true(table.retention_us == 30 * CLOCK_DAY_US);
    assert_false(table.retention_cooling);
    EXPECT(OK, catalog_table_load_rejects(world.catalog, &made.table_id, world.arena, &companion, &world.err),
           &world.err);
    assert_string_equal(companion.name, "made$rejects");
    assert_true(companion.is_rejects && uuid_equal(&companion.parent_id, &made.table_id));
    assert_true(companion.retention_us == 5 * CLOCK_DAY_US);

    const char *schema = NULL;
    int32_t version = 0;
    EXPECT(OK,
           catalog_table_load_schema(world.catalog, &made.rejects_id, 0, world.arena, &schema, &version, &world.err),
           &world.err);
    assert_string_equal(schema, "{\"kind\": \"rejects\"}");
    assert_int_equal(version, 1);
}

static void a_name_is_given_once_until_it_is_dropped(void **state)
{
    (void)state;
    AUTO(world_done) struct world world = world_open();
    struct fixture_table first = {.name = "twice"};
    fixture_create_table(world.catalog, &first);
    int64_t before = fixture_number(world.catalog, "select count(*) from granary.tables");
    struct catalog_table_new again = {.table_id = uuid_v7(),
                                      .rejects_id = uuid_v7(),
                                      .project = "p",
                                      .name = "twice",
                                      .schema_json = "{}",
                                      .rejects_schema_json = "{}",
                                      .actor = "tester"};
    EXPECT_TEXT(ERR_CONFLICT, "table \"p.twice\" exists already",
                catalog_table_create(world.catalog, &again, &world.err), &world.err);
    assert_true(fixture_number(world.catalog, "select count(*) from granary.tables") == before);

    EXPECT(OK, catalog_table_drop(world.catalog, &first.table_id, "tester", &world.err), &world.err);
    assert_true(load(&world, &first.table_id).dropped);
    assert_true(load(&world, &first.rejects_id).dropped);
    assert_true(load(&world, &first.table_id).dropped_at_us > 0);
    struct table_record none;
    EXPECT_TEXT(ERR_NOT_FOUND, "p.twice",
                catalog_table_find(world.catalog, "p", "twice", world.arena, &none, &world.err), &world.err);
    EXPECT(ERR_NOT_FOUND, catalog_table_drop(world.catalog, &first.table_id, "tester", &world.err), &world.err);
    EXPECT(OK, catalog_table_create(world.catalog, &again, &world.err), &world.err);
    EXPECT(ERR_INVALID, catalog_table_drop(world.catalog, &again.rejects_id, "tester", &world.err), &world.err);
    assert_true(audits(&world, "table.drop") == 1);
}

static void wrong_settings_create_nothing(void **state)
{
    (void)state;
    AUTO(world_done) struct world world = world_open();
    int64_t before = fixture_number(world.catalog, "select count(*) from granary.tables");
    static const struct catalog_setting wrong[] = {{"age.max_agee", "1d"}, {"age.max_age", "soon"}};
    for (size_t i = 0; i < 2; i++) {
        struct catalog_table_new table = {.table_id = uuid_v7(),
                                          .rejects_id = uuid_v7(),
                                          .project = "p",
                                          .name = "wrong",
                                          .schema_json = "{}",
                                          .rejects_schema_json = "{}",
                                          .actor = "tester",
                                          .settings = &wrong[i],
                                          .setting_count = 1};
        EXPECT_TEXT(ERR_INVALID, wrong[i].name, catalog_table_create(world.catalog, &table, &world.err), &world.err);
    }
    assert_true(fixture_number(world.catalog, "select count(*) from granary.tables") == before);
}

static void tables_are_listed_in_pages(void **state)
{
    (void)state;
    AUTO(world_done) struct world world = world_open();
    static const char *const names[] = {"a", "b", "c"};
    for (size_t i = 0; i < 3; i++) {
        fixture_create_table(world.catalog, &(struct fixture_table){.project = "listed", .name = names[i]});
    }
    struct catalog_table_page page = {.project = "listed", .limit = 4};
    struct table_record *tables = NULL;
    size_t count = 0;
    EXPECT(OK, catalog_table_list(world.catalog, &page, world.arena, &tables, &count, &world.err), &world.err);
    assert_int_equal(count, 4);
    assert_string_equal(tables[0].name, "a");
    assert_string_equal(tables[1].name, "a$rejects");
    page.after = &tables[3];
    EXPECT(OK, catalog_table_list(world.catalog, &page, world.arena, &tables, &count, &world.err), &world.err);
    assert_int_equal(count, 2);
    assert_string_equal(tables[1].name, "c$rejects");
}

static void a_shortened_retention_cools_down_and_a_longer_one_counts_at_once(void **state)
{
    (void)state;
    AUTO(world_done) struct world world = world_open();
    struct fixture_table made = {.name = "cooling"};
    fixture_create_table(world.catalog, &made);
    int64_t now_us = 0;

    struct table_record table = set(&world, &made.table_id, "age.max_age", "30d"); /* from never */
    assert_true(table.retention_cooling && table.retention_us == CLOCK_NEVER);
    EXPECT(OK, catalog_now(world.catalog, &now_us, &world.err), &world.err);
    assert_true(table.retention_effective_at_us > now_us + 23 * CLOCK_HOUR_US);
    assert_true(table.retention_effective_at_us <= now_us + 24 * CLOCK_HOUR_US);

    int64_t effective_at_us = table.retention_effective_at_us;
    table = set(&world, &made.table_id, "merge.enabled", "false"); /* starts nothing anew */
    assert_true(table.retention_effective_at_us == effective_at_us && !table.settings.merge_enabled);

    fixture_sql(world.catalog,
                "update granary.tables set retention_effective_at = clock_timestamp() where name = 'cooling'");
    table = load(&world, &made.table_id);
    assert_true(!table.retention_cooling && table.retention_us == 30 * CLOCK_DAY_US);

    table = set(&world, &made.table_id, "age.max_age_days", "60");
    assert_true(!table.retention_cooling && table.retention_us == 60 * CLOCK_DAY_US);
    table = set(&world, &made.table_id, "age.max_age_days", NULL); /* an alias names what it stands for */
    assert_true(!table.retention_cooling && table.retention_us == CLOCK_NEVER);
    assert_null(strstr(table.settings_json, "age.max_age"));
}

static void the_age_of_rejects_follows_its_setting(void **state)
{
    (void)state;
    AUTO(world_done) struct world world = world_open();
    struct fixture_table made = {.name = "followed"};
    fixture_create_table(world.catalog, &made);
    assert_true(load(&world, &made.rejects_id).retention_us == 30 * CLOCK_DAY_US);
    (void)set(&world, &made.table_id, "rejects.max_age", "1d");
    struct table_record companion = load(&world, &made.rejects_id);
    assert_true(companion.retention_cooling && companion.retention_us == 30 * CLOCK_DAY_US);
    assert_true(companion.settings.age_max_age_us == CLOCK_DAY_US);
}

static void a_change_from_an_old_version_is_refused(void **state)
{
    (void)state;
    AUTO(world_done) struct world world = world_open();
    struct fixture_table made = {.name = "versions"};
    fixture_create_table(world.catalog, &made);
    struct table_record table = load(&world, &made.table_id);
    struct table_record after = {.version = -1};
    struct catalog_table_change change = {.table_id = made.table_id,
                                          .version = table.version,
                                          .actor = "tester",
                                          .settings = &(struct catalog_setting){"merge.max_tries", "7"},
                                          .setting_count = 1,
                                          .dry_run = true};
    EXPECT(OK, catalog_table_set(world.catalog, &change, world.arena, &after, &world.err), &world.err);
    assert_true(after.settings.merge_max_tries == 7);
    assert_true(load(&world, &made.table_id).settings.merge_max_tries == 3); /* a dry run */
    change.dry_run = false;
    EXPECT(OK, catalog_table_set(world.catalog, &change, world.arena, &after, &world.err), &world.err);
    after.version = -1;
    EXPECT_TEXT(ERR_CONFLICT, "expected version",
                catalog_table_set(world.catalog, &change, world.arena, &after, &world.err), &world.err);
    assert_true(after.version == -1);
}

static void settings_that_nobody_knows_are_passed_over(void **state)
{
    (void)state;
    AUTO(world_done) struct world world = world_open();
    struct fixture_table made = {.name = "strange"};
    fixture_create_table(world.catalog, &made);
    fixture_sql(world.catalog,
                "update granary.tables set settings = '{\"from.the.future\": \"x\", \"age.max_age\": \"bad\","
                " \"merge.max_tries\": 9, \"reaper.max_age\": \"2d\"}' where name = 'strange'");
    struct table_record table = load(&world, &made.table_id);
    assert_true(table.settings.age_max_age_us == CLOCK_NEVER && table.settings.merge_max_tries == 3);
    assert_true(table.settings.reaper_max_age_us == 2 * CLOCK_DAY_US);
}

static void schemas_grow_by_one_version_at_a_time(void **state)
{
    (void)state;
    AUTO(world_done) struct world world = world_open();
    struct fixture_table made = {.name = "schemas"};
    fixture_create_table(world.catalog, &made);
    const char *schema = NULL;
    int32_t version = 0;
    EXPECT(OK, catalog_table_add_schema(world.catalog, &made.table_id, 1, "{\"v\":2}", "tester", &world.err),
           &world.err);
    EXPECT_TEXT(ERR_CONFLICT, "schema 1 is not the latest",
                catalog_table_add_schema(world.catalog, &made.table_id, 1, "{\"v\":2}", "tester", &world.err),
                &world.err);
    EXPECT(OK, catalog_table_load_schema(world.catalog, &made.table_id, 0, world.arena, &schema, &version, &world.err),
           &world.err);
    assert_int_equal(version, 2);
    assert_string_equal(schema, "{\"v\": 2}");
    EXPECT(OK, catalog_table_load_schema(world.catalog, &made.table_id, 1, world.arena, &schema, &version, &world.err),
           &world.err);
    assert_string_equal(schema, "{\"kind\": \"user\"}");
    EXPECT_TEXT(ERR_NOT_FOUND, "schema 3",
                catalog_table_load_schema(world.catalog, &made.table_id, 3, world.arena, &schema, &version, &world.err),
                &world.err);
    assert_int_equal(version, 1);
}

static void deployment_defaults_lie_under_the_tables_own(void **state)
{
    (void)state;
    AUTO(world_done) struct world world = world_open();
    struct fixture_table plain = {.name = "plain"};
    struct fixture_table own = {
        .name = "own", .settings = &(struct catalog_setting){"age.max_age", "10d"}, .setting_count = 1};
    fixture_create_table(world.catalog, &plain);
    fixture_create_table(world.catalog, &own);
    const struct catalog_setting changes[] = {{"age.max_age", "90d"}, {"merge.max_tries", "8"}};
    EXPECT(OK, catalog_deployment_set(world.catalog, changes, 2, "tester", &world.err), &world.err);

    struct table_record table = load(&world, &plain.table_id);
    assert_true(table.settings.merge_max_tries == 8);
    assert_true(table.retention_cooling && table.retention_us == CLOCK_NEVER); /* it was never: shortened for all */
    table = load(&world, &own.table_id);
    assert_true(!table.retention_cooling && table.retention_us == 10 * CLOCK_DAY_US);
    EXPECT(ERR_INVALID,
           catalog_deployment_set(world.catalog, &(struct catalog_setting){"nonsense", "1"}, 1, "tester", &world.err),
           &world.err);

    const struct catalog_setting back[] = {{"age.max_age", NULL}, {"merge.max_tries", NULL}};
    EXPECT(OK, catalog_deployment_set(world.catalog, back, 2, "tester", &world.err), &world.err);
    assert_false(load(&world, &plain.table_id).retention_cooling);
    assert_true(audits(&world, "deployment.set") == 2);
}

static void deleting_is_paused_once_and_resumed_once(void **state)
{
    (void)state;
    AUTO(world_done) struct world world = world_open();
    struct catalog_deployment deployment;
    bool changed = false;
    EXPECT(OK, catalog_deployment_check_deleting(world.catalog, &world.err), &world.err);
    EXPECT(OK, catalog_deployment_pause(world.catalog, "an \"audit\"", "ann", &changed, &world.err), &world.err);
    assert_true(changed);
    EXPECT(OK, catalog_deployment_pause(world.catalog, "again", "bob", &changed, &world.err), &world.err);
    assert_false(changed);
    EXPECT_TEXT(ERR_DENIED, "by \"ann\": an \"audit\"", catalog_deployment_check_deleting(world.catalog, &world.err),
                &world.err);
    EXPECT(OK, catalog_deployment_load(world.catalog, world.arena, &deployment, &world.err), &world.err);
    assert_true(deployment.deleting_paused && deployment.paused_at_us > 0);
    assert_string_equal(deployment.paused_by, "ann");
    assert_false(uuid_is_nil(&deployment.deployment_id));
    EXPECT(OK, catalog_deployment_resume(world.catalog, "bob", &changed, &world.err), &world.err);
    assert_true(changed);
    EXPECT(OK, catalog_deployment_resume(world.catalog, "bob", &changed, &world.err), &world.err);
    assert_false(changed);
    EXPECT(OK, catalog_deployment_check_deleting(world.catalog, &world.err), &world.err);
    assert_true(audits(&world, "deleting.pause") == 1 && audits(&world, "deleting.resume") == 1);
}

static void runs_of_jobs_are_recorded_by_those_who_may_only_read(void **state)
{
    (void)state;
    AUTO(world_done) struct world world = world_open();
    AUTO(catalog_close_auto) struct catalog *reader = fixture_open_as("granary_reap_collection");
    struct catalog_job_run run = {.job = "reap-collection",
                                  .instance = "h:1:a",
                                  .started_at_us = 1000000,
                                  .exit_code = 2,
                                  .counts_json = "{\"events\":3}",
                                  .error = "half"};
    EXPECT(OK, catalog_job_record(reader, &run, &world.err), &world.err);
    assert_true(fixture_number(world.catalog, "select count(*) from granary.job_runs where job = 'reap-collection' and"
                                              " exit_code = 2 and counts->>'events' = '3' and error = 'half' and"
                                              " started_at = '1970-01-01 00:00:01Z'") == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(creating_a_table_makes_its_companion),
        cmocka_unit_test(a_name_is_given_once_until_it_is_dropped),
        cmocka_unit_test(wrong_settings_create_nothing),
        cmocka_unit_test(tables_are_listed_in_pages),
        cmocka_unit_test(a_shortened_retention_cools_down_and_a_longer_one_counts_at_once),
        cmocka_unit_test(the_age_of_rejects_follows_its_setting),
        cmocka_unit_test(a_change_from_an_old_version_is_refused),
        cmocka_unit_test(settings_that_nobody_knows_are_passed_over),
        cmocka_unit_test(schemas_grow_by_one_version_at_a_time),
        cmocka_unit_test(deployment_defaults_lie_under_the_tables_own),
        cmocka_unit_test(deleting_is_paused_once_and_resumed_once),
        cmocka_unit_test(runs_of_jobs_are_recorded_by_those_who_may_only_read),
    };
    return cmocka_run_group_tests(tests, fixture_setup, NULL);
}
