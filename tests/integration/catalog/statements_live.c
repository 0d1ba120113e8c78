/* Parameters, results, errors, streams and pipelines against a real server. */
#include <stdlib.h>
#include <string.h>

#include "tests/integration/catalog/fixture.h"

static void every_type_goes_there_and_back(void **state)
{
    (void)state;
    AUTO(catalog_close_auto) struct catalog *catalog = fixture_open();
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct error err = {0};
    struct uuid id = uuid_v7();
    struct uuid found;
    const char *text = NULL;

    EXPECT(
        OK,
        catalog_query(
            catalog,
            "select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11 = interval '90 minutes', 'merge'::text, $12 is null,"
            " $13::uuid is null",
            CATALOG_VALUES(catalog_bool(true), catalog_i32(-7), catalog_i64(INT64_MIN), catalog_f64(-0.5),
                           catalog_text("gr\xc3\xbc\xc3\x9f"), catalog_json("{\"a\":1}"), catalog_bytes("\0\1", 2),
                           catalog_uuid(&id), catalog_timestamp(-1), catalog_bound(INT64_MAX),
                           catalog_interval(90 * CLOCK_MINUTE_US), catalog_text(NULL),
                           catalog_uuid(&(struct uuid){{0}})),
            &rows, &err),
        &err);
    assert_int_equal(catalog_rows_count(rows), 1);
    assert_true(catalog_get_bool(rows, 0, 0));
    assert_int_equal(catalog_get_i32(rows, 0, 1), -7);
    assert_true(catalog_get_i64(rows, 0, 2) == INT64_MIN);
    assert_true(catalog_get_f64(rows, 0, 3) == -0.5);
    assert_string_equal(catalog_get_text(rows, 0, 4), "gr\xc3\xbc\xc3\x9f");
    assert_string_equal(catalog_get_text(rows, 0, 5), "{\"a\": 1}");
    assert_int_equal(catalog_get_bytes(rows, 0, 6).length, 2);
    assert_memory_equal(catalog_get_bytes(rows, 0, 6).data, "\0\1", 2);
    found = catalog_get_uuid(rows, 0, 7);
    assert_true(uuid_equal(&found, &id));
    assert_true(catalog_get_timestamp(rows, 0, 8) == -1);
    assert_true(catalog_get_timestamp(rows, 0, 9) == INT64_MAX);
    assert_true(catalog_get_bool(rows, 0, 10));
    EXPECT(OK, catalog_load_text(rows, 0, 11, arena, &text, &err), &err);
    assert_string_equal(text, "merge");
    assert_true(catalog_get_bool(rows, 0, 12));
    assert_true(catalog_get_bool(rows, 0, 13));
}

static void arrays_are_taken_out_of_structs(void **state)
{
    (void)state;
    static const struct item {
        struct uuid id;
        int64_t number, time_us;
        int32_t small;
        bool flag;
        const char *text;
        struct catalog_bytes bytes;
        uint8_t hash[4];
    } items[] = {
        {{{1}}, 10, 1000000, 1, true, "one", {"x", 1}, {1, 2, 3, 4}},
        {{{0}}, -1, -1000000, -2, false, NULL, {NULL, 0}, {5, 6, 7, 8}},
    };
    enum { STRIDE = sizeof items[0], COUNT = 2 };
    AUTO(catalog_close_auto) struct catalog *catalog = fixture_open();
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    struct error err = {0};

    EXPECT(OK,
           catalog_query(catalog, "select * from unnest($1, $2, $3, $4, $5, $6, $7, $8)",
                         CATALOG_VALUES(catalog_array(CATALOG_UUID, &items[0].id, STRIDE, COUNT),
                                        catalog_array(CATALOG_INT64, &items[0].number, STRIDE, COUNT),
                                        catalog_array(CATALOG_TIMESTAMP, &items[0].time_us, STRIDE, COUNT),
                                        catalog_array(CATALOG_INT32, &items[0].small, STRIDE, COUNT),
                                        catalog_array(CATALOG_BOOL, &items[0].flag, STRIDE, COUNT),
                                        catalog_array(CATALOG_TEXT, &items[0].text, STRIDE, COUNT),
                                        catalog_array(CATALOG_BYTES, &items[0].bytes, STRIDE, COUNT),
                                        catalog_fixed_bytes_array(items[0].hash, 4, STRIDE, COUNT)),
                         &rows, &err),
           &err);
    assert_int_equal(catalog_rows_count(rows), COUNT);
    assert_int_equal(catalog_get_uuid(rows, 0, 0).bytes[0], 1);
    assert_true(catalog_is_null(rows, 1, 0));
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(catalog_get_i64(rows, i, 1) == items[i].number);
        assert_true(catalog_get_timestamp(rows, i, 2) == items[i].time_us);
        assert_int_equal(catalog_get_i32(rows, i, 3), items[i].small);
        assert_int_equal(catalog_get_bool(rows, i, 4), items[i].flag);
        assert_memory_equal(catalog_get_bytes(rows, i, 7).data, items[i].hash, 4);
    }
    assert_string_equal(catalog_get_text(rows, 0, 5), "one");
    assert_true(catalog_is_null(rows, 1, 5));
    assert_true(catalog_is_null(rows, 1, 6));

    AUTO(catalog_rows_free_auto) struct catalog_rows *none = NULL;
    EXPECT(OK,
           catalog_query(catalog, "select cardinality($1::uuid[])::bigint",
                         CATALOG_VALUES(catalog_array(CATALOG_UUID, NULL, 16, 0)), &none, &err),
           &err);
    assert_true(catalog_get_i64(none, 0, 0) == 0);
}

static void times_that_the_catalog_cannot_hold_are_refused(void **state)
{
    (void)state;
    static const int64_t beyond[] = {INT64_MIN, INT64_C(-210866803200000001), INT64_MAX};
    AUTO(catalog_close_auto) struct catalog *catalog = fixture_open();
    struct error err = {0};

    for (size_t i = 0; i < sizeof beyond / sizeof beyond[0]; i++) {
        struct catalog_rows *rows = NULL;
        EXPECT_TEXT(ERR_INVALID, "4713 BC",
                    catalog_query(catalog, "select $1", CATALOG_VALUES(catalog_timestamp(beyond[i])), &rows, &err),
                    &err);
        assert_null(rows);
        EXPECT(OK, catalog_query(catalog, "select $1", CATALOG_VALUES(catalog_bound(beyond[i])), &rows, &err), &err);
        assert_true(catalog_get_timestamp(rows, 0, 0) == (beyond[i] > 0 ? INT64_MAX : INT64_MIN));
        catalog_rows_free(rows);
    }
    AUTO(catalog_rows_free_auto) struct catalog_rows *first = NULL;
    EXPECT(OK,
           catalog_query(catalog, "select $1", CATALOG_VALUES(catalog_timestamp(INT64_C(-210866803200000000))), &first,
                         &err),
           &err);
    assert_true(catalog_get_timestamp(first, 0, 0) == INT64_C(-210866803200000000));
}

static void codes_say_what_the_caller_can_do(void **state)
{
    (void)state;
    static const struct {
        const char *sql;
        enum err_code code;
        const char *part;
    } cases[] = {
        {"select 1/0", ERR_INVALID, "division by zero"},
        {"select nothing", ERR_INVALID, "42703"},
        {"insert into granary.deployment default values", ERR_CONFLICT, "duplicate key"},
        {"truncate granary.partitions cascade", ERR_CONFLICT, "GR001"},
        {"do $$ begin perform pg_sleep(10); end $$", ERR_TIMEOUT, "57014"},
        {"do $$ begin raise exception 'x' using errcode = '40P01'; end $$", ERR_CONFLICT, "40P01"},
        {"do $$ begin raise exception 'x' using errcode = '53300'; end $$", ERR_UNAVAILABLE, "53300"},
        {"do $$ begin raise exception 'x' using errcode = '42501', hint = 'ask'; end $$", ERR_DENIED, "hint: ask"},
        {"do $$ begin raise exception 'x' using errcode = 'GR002'; end $$", ERR_CONFLICT, "GR002"},
        {"do $$ begin raise exception 'x' using errcode = 'XX001'; end $$", ERR_CORRUPT, "XX001"},
    };
    AUTO(catalog_close_auto) struct catalog *catalog = NULL;
    struct error err = {0};
    EXPECT(OK,
           catalog_open(&(struct catalog_options){.url = getenv("GRANARY_CATALOG_URL"), .statement_timeout_us = 200000},
                        &catalog, &err),
           &err);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t rows = 77;
        EXPECT_TEXT(cases[i].code, cases[i].part,
                    catalog_execute(catalog, cases[i].sql, CATALOG_NO_VALUES, &rows, &err), &err);
        assert_true(rows == 77);
        EXPECT(OK, catalog_ping(catalog, &err), &err);
    }
}

static void a_stream_gives_all_rows_and_can_be_left_early(void **state)
{
    (void)state;
    AUTO(catalog_close_auto) struct catalog *catalog = fixture_open();
    struct error err = {0};
    static const struct {
        int64_t wanted, sum;
    } cases[] = {{INT64_MAX, INT64_C(500000500000)}, {3, 6}, {0, 0}};
    for (size_t i = 0; i < 3; i++) {
        AUTO(catalog_stream_close_auto) struct catalog_stream *stream = NULL;
        const struct catalog_rows *row = NULL;
        int64_t sum = 0;
        EXPECT(OK,
               catalog_stream_open(catalog, "select g from generate_series(1, $1::bigint) g",
                                   CATALOG_VALUES(catalog_i64(1000000)), &stream, &err),
               &err);
        for (int64_t n = 0; n < cases[i].wanted; n++) {
            EXPECT(OK, catalog_stream_next(stream, &row, &err), &err);
            if (row == NULL) {
                break;
            }
            sum += catalog_get_i64(row, 0, 0);
        }
        assert_true(sum == cases[i].sum);
        catalog_stream_close(TAKE(stream));
        EXPECT(OK, catalog_ping(catalog, &err), &err);
    }
    AUTO(catalog_stream_close_auto) struct catalog_stream *failing = NULL;
    const struct catalog_rows *row = NULL;
    EXPECT(OK,
           catalog_stream_open(catalog, "select 1 / (2 - g) from generate_series(1, 3) g", CATALOG_NO_VALUES, &failing,
                               &err),
           &err);
    EXPECT(OK, catalog_stream_next(failing, &row, &err), &err);
    EXPECT_TEXT(ERR_INVALID, "division by zero", catalog_stream_next(failing, &row, &err), &err);
    EXPECT(OK, catalog_stream_next(failing, &row, &err), &err);
    assert_null(row);
}

static void a_pipeline_runs_all_or_tells_the_first_failure(void **state)
{
    (void)state;
    static const char SQL_INSERT[] = "insert into granary.piped values ($1)";
    AUTO(catalog_close_auto) struct catalog *catalog = fixture_open();
    struct error err = {0};
    fixture_sql(catalog, "create table if not exists granary.piped (n bigint primary key)");

    struct catalog_transaction *transaction = NULL;
    struct catalog_pipeline *pipeline = NULL;
    EXPECT(OK, catalog_begin(catalog, &transaction, &err), &err);
    EXPECT(OK, catalog_pipeline_open(transaction, &pipeline, &err), &err);
    for (int64_t i = 0; i < 5000; i++) {
        EXPECT(OK, catalog_pipeline_add(pipeline, SQL_INSERT, CATALOG_VALUES(catalog_i64(i)), 1, &err), &err);
    }
    EXPECT(OK, catalog_pipeline_finish(pipeline, &err), &err);
    EXPECT(OK, catalog_commit(transaction, &err), &err);
    assert_true(fixture_number(catalog, "select count(*) from granary.piped") == 5000);

    static const struct {
        int64_t value, expected_rows;
        const char *part;
    } cases[] = {{17, 1, "duplicate key"}, {9000, 2, "expected 2 catalog rows"}};
    for (size_t i = 0; i < 2; i++) {
        AUTO(catalog_rollback_auto) struct catalog_transaction *failing = NULL;
        EXPECT(OK, catalog_begin(catalog, &failing, &err), &err);
        EXPECT(OK, catalog_pipeline_open(failing, &pipeline, &err), &err);
        EXPECT(OK,
               catalog_pipeline_add(pipeline, SQL_INSERT, CATALOG_VALUES(catalog_i64(cases[i].value)),
                                    cases[i].expected_rows, &err),
               &err);
        EXPECT(OK,
               catalog_pipeline_add(pipeline, SQL_INSERT, CATALOG_VALUES(catalog_i64(8000)), CATALOG_ANY_ROWS, &err),
               &err);
        EXPECT_TEXT(ERR_CONFLICT, cases[i].part, catalog_pipeline_finish(pipeline, &err), &err);
    }
    {
        AUTO(catalog_rollback_auto) struct catalog_transaction *left = NULL;
        AUTO(catalog_pipeline_abort_auto) struct catalog_pipeline *aborted = NULL;
        EXPECT(OK, catalog_begin(catalog, &left, &err), &err);
        EXPECT(OK, catalog_pipeline_open(left, &aborted, &err), &err);
        EXPECT(OK, catalog_pipeline_add(aborted, SQL_INSERT, CATALOG_VALUES(catalog_i64(8001)), 1, &err), &err);
    }
    assert_true(fixture_number(catalog, "select count(*) from granary.piped") == 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_goes_there_and_back),
        cmocka_unit_test(arrays_are_taken_out_of_structs),
        cmocka_unit_test(times_that_the_catalog_cannot_hold_are_refused),
        cmocka_unit_test(codes_say_what_the_caller_can_do),
        cmocka_unit_test(a_stream_gives_all_rows_and_can_be_left_early),
        cmocka_unit_test(a_pipeline_runs_all_or_tells_the_first_failure),
    };
    return cmocka_run_group_tests(tests, fixture_setup, NULL);
}
