#include "tests/integration/catalog/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *url(void)
{
    const char *text = getenv("GRANARY_CATALOG_URL");
    if (text == NULL || *text == '\0') {
        fail_msg("GRANARY_CATALOG_URL is not set");
    }
    return text;
}

void fixture_expect(enum err_code expected, enum err_code got, const struct error *err, const char *what,
                    const char *file, int line)
{
    if (expected != got) {
        print_error("%s gave %s, expected %s: %s\n", what, err_code_name(got), err_code_name(expected),
                    got != OK ? err->text : "");
        _fail(file, line);
    }
}

void fixture_expect_part(const char *part, const char *text, const char *file, int line)
{
    if (strstr(text, part) == NULL) {
        print_error("expected \"%s\" in \"%s\"\n", part, text);
        _fail(file, line);
    }
}

static struct catalog *open_with(const char *connection, const char *name)
{
    struct catalog *catalog = NULL;
    struct error err = {0};
    EXPECT(OK, catalog_open(&(struct catalog_options){.url = connection, .application_name = name}, &catalog, &err),
           &err);
    return catalog;
}

struct catalog *fixture_open(void)
{
    static int opened; /* tests run one after the other */
    char name[32];
    (void)snprintf(name, sizeof name, "live-%d", ++opened);
    return open_with(url(), name);
}

/* The owner of the database may create roles, and so give himself their rights. Another program may do the same at this
 * moment, which the server answers with an error: one of the tries is alone. */
static void join_role(struct catalog *catalog, const char *role)
{
    enum { MAX_TRIES = 20 };
    char sql[128];
    struct error err = {0};
    enum err_code code = ERR_CONFLICT;
    (void)snprintf(sql, sizeof sql, "grant %s to current_user", role);
    for (int i = 0; i < MAX_TRIES && code != OK; i++) {
        code = catalog_execute(catalog, sql, CATALOG_NO_VALUES, NULL, &err);
    }
    EXPECT(OK, code, &err);
}

void fixture_set_role(struct catalog *catalog, const char *role)
{
    char sql[128];
    (void)snprintf(sql, sizeof sql, "set role %s", role);
    fixture_sql(catalog, sql);
}

struct catalog *fixture_open_as(const char *role)
{
    struct catalog *catalog = fixture_open();
    join_role(catalog, role);
    fixture_set_role(catalog, role);
    return catalog;
}

void fixture_sql(struct catalog *catalog, const char *sql)
{
    struct error err = {0};
    fixture_expect(OK, catalog_execute(catalog, sql, CATALOG_NO_VALUES, NULL, &err), &err, sql, __FILE__, __LINE__);
}

int64_t fixture_number(struct catalog *catalog, const char *sql)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    struct error err = {0};
    fixture_expect(OK, catalog_query_one(catalog, sql, CATALOG_NO_VALUES, "number", &rows, &err), &err, sql, __FILE__,
                   __LINE__);
    return catalog_get_i64(rows, 0, 0);
}

void fixture_fault(const char *fault)
{
    assert_int_equal(fault != NULL ? setenv("GRANARY_FAULT", fault, 1) : unsetenv("GRANARY_FAULT"), 0);
}

int fixture_empty(void **state)
{
    AUTO(catalog_close_auto) struct catalog *catalog = fixture_open();
    fixture_sql(catalog, "drop schema if exists granary cascade");
    *state = NULL;
    return 0;
}

int fixture_setup(void **state)
{
    struct error err = {0};
    if (fixture_empty(state) != 0) {
        return -1;
    }
    AUTO(catalog_close_auto) struct catalog *catalog = fixture_open();
    EXPECT(OK, catalog_migrate(catalog, NULL, NULL, &err), &err);
    return 0;
}

void fixture_kill_session(struct catalog *victim)
{
    AUTO(catalog_close_auto) struct catalog *killer = fixture_open();
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    struct error err = {0};
    int64_t pid = fixture_number(victim, "select pg_backend_pid()::bigint");
    /* answers only when the session has ended, or after a time-out */
    EXPECT(OK,
           catalog_query_one(killer, "select pg_terminate_backend($1::int, 10000)", CATALOG_VALUES(catalog_i64(pid)),
                             "answer", &rows, &err),
           &err);
    assert_true(catalog_get_bool(rows, 0, 0));
}

void fixture_wait_blocked(struct catalog *observer, const char *application_name)
{
    static const char SQL[] = "select count(*) from pg_stat_activity where application_name = $1 and"
                              " wait_event_type = 'Lock'";
    struct error err = {0};
    int64_t deadline_us = clock_monotonic_us() + 10 * CLOCK_SECOND_US;
    for (;;) {
        AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
        EXPECT(OK, catalog_query(observer, SQL, CATALOG_VALUES(catalog_text(application_name)), &rows, &err), &err);
        if (catalog_get_i64(rows, 0, 0) > 0) {
            return;
        }
        assert_true(clock_monotonic_us() < deadline_us);
    }
}

void fixture_create_table(struct catalog *catalog, struct fixture_table *table)
{
    struct error err = {0};
    table->table_id = uuid_v7();
    table->rejects_id = uuid_v7();
    struct catalog_table_new new_table = {
        .table_id = table->table_id,
        .rejects_id = table->rejects_id,
        .project = table->project != NULL ? table->project : "p",
        .name = table->name,
        .schema_json = "{\"kind\":\"user\"}",
        .rejects_schema_json = "{\"kind\":\"rejects\"}",
        .settings = table->settings,
        .setting_count = table->setting_count,
        .actor = "fixture",
    };
    EXPECT(OK, catalog_table_create(catalog, &new_table, &err), &err);
}
