/* Migrations against a real server. */
#include <pthread.h>
#include <string.h>

#include "common/catalog/migrations.h"
#include "tests/integration/catalog/fixture.h"

struct seen {
    int applied, skipped, last_version;
};

static void note(void *context, int version, const char *name, bool applied)
{
    struct seen *seen = context;
    assert_non_null(name);
    assert_int_equal(version, seen->last_version + 1);
    seen->last_version = version;
    seen->applied += applied;
    seen->skipped += !applied;
}

static void a_new_catalog_is_migrated_once(void **state)
{
    AUTO(catalog_close_auto) struct catalog *catalog = fixture_open();
    struct error err = {0};
    struct seen first = {0};
    struct seen second = {0};
    assert_int_equal(fixture_empty(state), 0);
    EXPECT_TEXT(ERR_UNAVAILABLE, "hint: run \"granary migrate\"", catalog_check_version(catalog, &err), &err);
    EXPECT(OK, catalog_migrate(catalog, note, &first, &err), &err);
    assert_int_equal(first.applied, catalog_migration_count);
    EXPECT(OK, catalog_check_version(catalog, &err), &err);
    EXPECT(OK, catalog_migrate(catalog, note, &second, &err), &err);
    assert_int_equal(second.applied, 0);
    assert_int_equal(second.skipped, catalog_migration_count);
}

static void a_newer_catalog_is_not_migrated(void **state)
{
    AUTO(catalog_close_auto) struct catalog *catalog = fixture_open();
    struct error err = {0};
    assert_int_equal(fixture_setup(state), 0);
    fixture_sql(catalog, "insert into granary.schema_migrations values (9999, 'future', '\\x00')");
    EXPECT_TEXT(ERR_INVALID, "found version 9999", catalog_migrate(catalog, NULL, NULL, &err), &err);
    EXPECT(OK, catalog_check_version(catalog, &err), &err); /* services of the release before work on */
}

static void a_migration_whose_text_has_changed_is_refused(void **state)
{
    AUTO(catalog_close_auto) struct catalog *catalog = fixture_open();
    struct error err = {0};
    struct seen seen = {0};
    assert_int_equal(fixture_setup(state), 0);
    fixture_sql(catalog, "update granary.schema_migrations set sha256 = '\\x00' where version = 2");
    EXPECT_TEXT(ERR_INVALID, "migration 2 \"guard\"", catalog_migrate(catalog, note, &seen, &err), &err);
    assert_int_equal(seen.last_version, 1);
}

static void a_migration_that_fails_leaves_nothing(void **state)
{
    AUTO(catalog_close_auto) struct catalog *catalog = fixture_open();
    struct error err = {0};
    assert_int_equal(fixture_empty(state), 0);
    fixture_sql(catalog, "create schema granary");
    fixture_sql(catalog, "create table granary.audit_log (in_the_way int)");
    EXPECT_TEXT(ERR_INVALID, "migration 1 \"catalog\": ", catalog_migrate(catalog, NULL, NULL, &err), &err);
    assert_true(fixture_number(catalog, "select count(*) from granary.schema_migrations") == 0);
    assert_true(fixture_number(catalog, "select count(to_regclass('granary.tables'))") == 0);
    fixture_sql(catalog, "drop table granary.audit_log");
    EXPECT(OK, catalog_migrate(catalog, NULL, NULL, &err), &err);
}

struct migrator {
    struct catalog *catalog;
    struct seen seen;
    struct error err;
    enum err_code code;
};

static void *run_migrator(void *context)
{
    struct migrator *migrator = context;
    migrator->code = catalog_migrate(migrator->catalog, note, &migrator->seen, &migrator->err);
    return NULL;
}

static void two_at_once_apply_each_migration_once(void **state)
{
    struct migrator migrators[2] = {{.catalog = fixture_open()}, {.catalog = fixture_open()}};
    pthread_t threads[2];
    assert_int_equal(fixture_empty(state), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, run_migrator, &migrators[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    for (int i = 0; i < 2; i++) {
        EXPECT(OK, migrators[i].code, &migrators[i].err);
        catalog_close(migrators[i].catalog);
    }
    assert_int_equal(migrators[0].seen.applied + migrators[1].seen.applied, catalog_migration_count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_catalog_is_migrated_once),
        cmocka_unit_test(a_newer_catalog_is_not_migrated),
        cmocka_unit_test(a_migration_whose_text_has_changed_is_refused),
        cmocka_unit_test(a_migration_that_fails_leaves_nothing),
        cmocka_unit_test(two_at_once_apply_each_migration_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
