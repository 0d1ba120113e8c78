/* Sessions, transactions and lost commits against a real server. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/integration/catalog/fixture.h"

static void a_lock_that_does_not_come_is_a_timeout(void **state)
{
    (void)state;
    AUTO(catalog_close_auto) struct catalog *holder = fixture_open();
    AUTO(catalog_close_auto) struct catalog *waiter = NULL;
    AUTO(catalog_rollback_auto) struct catalog_transaction *held = NULL;
    AUTO(catalog_rollback_auto) struct catalog_transaction *waiting = NULL;
    struct error err = {0};
    struct uuid table = uuid_v7();

    EXPECT(OK,
           catalog_open(&(struct catalog_options){.url = getenv("GRANARY_CATALOG_URL"), .lock_timeout_us = 50000},
                        &waiter, &err),
           &err);
    EXPECT(OK, catalog_begin(holder, &held, &err), &err);
    EXPECT(OK, catalog_fence_exclusive(held, &table, &err), &err);
    EXPECT(OK, catalog_begin(waiter, &waiting, &err), &err);
    EXPECT_TEXT(ERR_TIMEOUT, "55P03", catalog_fence_shared(waiting, &table, &err), &err);
    EXPECT_TEXT(ERR_CONFLICT, "earlier statement", catalog_commit(TAKE(waiting), &err), &err);
    EXPECT(OK, catalog_ping(waiter, &err), &err);
}

static void nobody_listening_is_unavailable(void **state)
{
    (void)state;
    AUTO(catalog_close_auto) struct catalog *catalog = NULL;
    struct error err = {0};
    EXPECT(OK, catalog_open(&(struct catalog_options){.url = "host=127.0.0.1 port=1 user=x"}, &catalog, &err), &err);
    EXPECT_TEXT(ERR_UNAVAILABLE, "could not connect", catalog_ping(catalog, &err), &err);
    struct catalog *none = NULL;
    EXPECT_TEXT(ERR_INVALID, "connection string", catalog_open(&(struct catalog_options){.url = "host"}, &none, &err),
                &err);
    assert_null(none);
}

static void an_idle_session_that_was_ended_is_opened_again(void **state)
{
    (void)state;
    AUTO(catalog_close_auto) struct catalog *catalog = fixture_open();
    struct error err = {0};
    EXPECT(OK, catalog_ping(catalog, &err), &err);
    uint64_t session = catalog_session(catalog);
    fixture_kill_session(catalog);
    EXPECT(OK, catalog_ping(catalog, &err), &err);
    assert_true(catalog_session(catalog) == session + 1);
}

static void a_transaction_that_lost_its_session_stays_lost(void **state)
{
    (void)state;
    AUTO(catalog_close_auto) struct catalog *catalog = fixture_open();
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    struct error err = {0};
    EXPECT(OK, catalog_begin(catalog, &transaction, &err), &err);
    fixture_kill_session(catalog);
    EXPECT(ERR_UNAVAILABLE, catalog_ping(catalog, &err), &err);
    EXPECT_TEXT(ERR_UNAVAILABLE, "within the transaction", catalog_ping(catalog, &err), &err);
    EXPECT(ERR_UNAVAILABLE, catalog_commit(TAKE(transaction), &err), &err);
    EXPECT(OK, catalog_ping(catalog, &err), &err);
}

static void commit_and_rollback_do_what_they_say(void **state)
{
    (void)state;
    AUTO(catalog_close_auto) struct catalog *catalog = fixture_open();
    struct error err = {0};
    fixture_sql(catalog, "create table if not exists granary.scratch (n bigint)");
    {
        AUTO(catalog_rollback_auto) struct catalog_transaction *dropped = NULL;
        EXPECT(OK, catalog_begin(catalog, &dropped, &err), &err);
        fixture_sql(catalog, "insert into granary.scratch values (1)");
    }
    struct catalog_transaction *kept = NULL;
    EXPECT(OK, catalog_begin(catalog, &kept, &err), &err);
    EXPECT(OK, catalog_execute_expect(kept, "insert into granary.scratch values (2), (3)", CATALOG_NO_VALUES, 2, &err),
           &err);
    EXPECT_TEXT(ERR_CONFLICT, "expected 1 catalog rows to change but 2 did",
                catalog_execute_expect(kept, "update granary.scratch set n = n", CATALOG_NO_VALUES, 1, &err), &err);
    EXPECT(OK, catalog_commit(kept, &err), &err);
    assert_true(fixture_number(catalog, "select sum(n)::bigint from granary.scratch") == 5);
}

static void a_lost_commit_is_unknown_and_its_outcome_is_found(void **state)
{
    (void)state;
    static const struct {
        const char *fault;
        bool committed;
    } cases[] = {{"catalog.commit_lost=fail", true}, {"catalog.commit_never_sent=fail@2", false}};
    struct error err = {0};

    for (size_t i = 0; i < 2; i++) {
        AUTO(catalog_close_auto) struct catalog *catalog = fixture_open();
        struct catalog_transaction *transaction = NULL;
        uint64_t xid = 0;
        bool committed = !cases[i].committed;
        EXPECT(OK, catalog_begin(catalog, &transaction, &err), &err);
        EXPECT(OK, catalog_transaction_id(transaction, &xid, &err), &err);
        assert_true(xid > 0);
        fixture_fault(cases[i].fault);
        EXPECT_TEXT(ERR_UNKNOWN, "not known", catalog_commit(transaction, &err), &err);
        fixture_fault(NULL);
        EXPECT(OK, catalog_transaction_outcome(catalog, xid, 10 * CLOCK_SECOND_US, &committed, &err), &err);
        assert_int_equal(committed, cases[i].committed);
    }
}

static void a_session_ended_during_commit_is_unknown(void **state)
{
    (void)state;
    AUTO(catalog_close_auto) struct catalog *catalog = fixture_open();
    struct catalog_transaction *transaction = NULL;
    struct error err = {0};
    uint64_t xid = 0;
    bool committed = true;
    EXPECT(OK, catalog_begin(catalog, &transaction, &err), &err);
    EXPECT(OK, catalog_transaction_id(transaction, &xid, &err), &err);
    fixture_kill_session(catalog); /* nothing has told the client yet */
    EXPECT(ERR_UNKNOWN, catalog_commit(transaction, &err), &err);
    EXPECT(OK, catalog_transaction_outcome(catalog, xid, 10 * CLOCK_SECOND_US, &committed, &err), &err);
    assert_false(committed);
}

static void a_statement_that_was_its_own_commit_is_unknown_when_lost(void **state)
{
    (void)state;
    static const char SQL_SUICIDE[] = "select pg_terminate_backend(pg_backend_pid())";
    AUTO(catalog_close_auto) struct catalog *catalog = fixture_open();
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    struct error err = {0};
    EXPECT_TEXT(ERR_UNKNOWN, "57P01", catalog_execute(catalog, SQL_SUICIDE, CATALOG_NO_VALUES, NULL, &err), &err);
    EXPECT_TEXT(ERR_UNAVAILABLE, "57P01", catalog_query(catalog, SQL_SUICIDE, CATALOG_NO_VALUES, &rows, &err), &err);
    assert_null(rows);
    EXPECT(OK, catalog_begin(catalog, &transaction, &err), &err);
    EXPECT_TEXT(ERR_UNAVAILABLE, "57P01", catalog_execute(catalog, SQL_SUICIDE, CATALOG_NO_VALUES, NULL, &err), &err);
}

static void the_outcome_of_an_open_transaction_times_out(void **state)
{
    (void)state;
    AUTO(catalog_close_auto) struct catalog *catalog = fixture_open();
    AUTO(catalog_close_auto) struct catalog *other = fixture_open();
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    struct error err = {0};
    uint64_t xid = 0;
    bool committed = true;
    EXPECT(OK, catalog_begin(catalog, &transaction, &err), &err);
    EXPECT(OK, catalog_transaction_id(transaction, &xid, &err), &err);
    EXPECT_TEXT(ERR_TIMEOUT, "still in progress", catalog_transaction_outcome(other, xid, 20000, &committed, &err),
                &err);
    assert_true(committed);
}

static void the_session_is_as_the_sql_expects(void **state)
{
    (void)state;
    AUTO(catalog_close_auto) struct catalog *catalog = fixture_open();
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    struct error err = {0};
    EXPECT(OK,
           catalog_query(catalog,
                         "select current_setting('search_path'), current_setting('timezone'),"
                         " current_setting('statement_timeout'), current_setting('lock_timeout'),"
                         " current_setting('idle_in_transaction_session_timeout')",
                         CATALOG_NO_VALUES, &rows, &err),
           &err);
    static const char *const expected[] = {"", "UTC", "1min", "5s", "1min"};
    for (int i = 0; i < 5; i++) {
        assert_string_equal(catalog_get_text(rows, 0, i), expected[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lock_that_does_not_come_is_a_timeout),
        cmocka_unit_test(nobody_listening_is_unavailable),
        cmocka_unit_test(an_idle_session_that_was_ended_is_opened_again),
        cmocka_unit_test(a_transaction_that_lost_its_session_stays_lost),
        cmocka_unit_test(commit_and_rollback_do_what_they_say),
        cmocka_unit_test(a_lost_commit_is_unknown_and_its_outcome_is_found),
        cmocka_unit_test(a_session_ended_during_commit_is_unknown),
        cmocka_unit_test(a_statement_that_was_its_own_commit_is_unknown_when_lost),
        cmocka_unit_test(the_outcome_of_an_open_transaction_times_out),
        cmocka_unit_test(the_session_is_as_the_sql_expects),
    };
    return cmocka_run_group_tests(tests, fixture_setup, NULL);
}
