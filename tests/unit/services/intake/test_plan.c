#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "services/intake/head/recent.h"
#include "services/intake/plan.h"

static void content_types_and_encodings_are_met_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        enum err_code code;
        enum ingest_format format;
    } types[] = {
        {NULL, OK, INGEST_NDJSON},
        {"application/x-ndjson", OK, INGEST_NDJSON},
        {"Application/X-NDJSON; charset=utf-8", OK, INGEST_NDJSON},
        {"application/json", OK, INGEST_JSON_ARRAY},
        {"application/json5", ERR_INVALID, 0},
        {"text/csv; header=present", OK, INGEST_CSV},
        {"application/vnd.apache.parquet", OK, INGEST_PARQUET},
        {"text/plain", ERR_INVALID, 0},
        {"", ERR_INVALID, 0},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        enum ingest_format format = INGEST_FORMAT_COUNT;
        struct error err = {0};
        assert_int_equal(intake_plan_format(types[i].type, &format, &err), types[i].code);
        assert_int_equal(format, types[i].code == OK ? types[i].format : INGEST_FORMAT_COUNT);
    }
    enum ingest_compression compression = INGEST_COMPRESSION_COUNT;
    struct error err = {0};
    assert_int_equal(intake_plan_compression("br", &compression, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, "\"br\""));
    assert_int_equal(compression, INGEST_COMPRESSION_COUNT);
    assert_int_equal(intake_plan_compression("ZSTD", &compression, &err), OK);
    assert_int_equal(compression, INGEST_ZSTD);
}

static void keys_are_short_and_printable(void **state)
{
    (void)state;
    char longest[202];
    memset(longest, 'k', sizeof longest);
    longest[200] = '\0';
    assert_int_equal(intake_plan_key(longest, NULL), OK);
    longest[200] = 'k';
    longest[201] = '\0';
    assert_int_equal(intake_plan_key(longest, NULL), ERR_INVALID);
    assert_int_equal(intake_plan_key("", NULL), ERR_INVALID);
    assert_int_equal(intake_plan_key("a\tb", NULL), ERR_INVALID);
    assert_int_equal(intake_plan_key("caf\xc3\xa9", NULL), ERR_INVALID);
}

static void the_window_stays_within_the_years_that_there_are(void **state)
{
    (void)state;
    struct table_settings settings;
    int64_t min_us;
    int64_t max_us;
    char text[CLOCK_TEXT_BYTES];
    table_settings_defaults(&settings);
    const int64_t now_us = INT64_C(1764460800000000);
    intake_plan_window(&settings, now_us, &min_us, &max_us);
    assert_string_equal(clock_format(min_us, text), "0001-01-01T00:00:00.000000Z");
    assert_int_equal(max_us, now_us + CLOCK_DAY_US);
    settings.intake_max_past_us = CLOCK_HOUR_US;
    settings.intake_max_future_us = CLOCK_NEVER;
    intake_plan_window(&settings, now_us, &min_us, &max_us);
    assert_int_equal(min_us, now_us - CLOCK_HOUR_US);
    assert_string_equal(clock_format(max_us, text), "9999-12-31T23:59:59.999999Z");
}

static void a_message_goes_when_it_is_full_or_old_or_nobody_else_may_come(void **state)
{
    (void)state;
    static const struct {
        struct intake_gathered gathered;
        bool send;
    } cases[] = {
        {{.bytes = 100, .waited_us = 0, .decoding = 0, .messages_in_flight = 0}, true},
        {{.bytes = 100, .waited_us = 0, .decoding = 1, .messages_in_flight = 0}, false},
        {{.bytes = 100, .waited_us = 2000, .decoding = 1, .messages_in_flight = 9}, true},
        {{.bytes = 100, .waited_us = 1999, .decoding = 0, .messages_in_flight = 2}, false},
        {{.bytes = INTAKE_MESSAGE_BYTES, .waited_us = 0, .decoding = 5, .messages_in_flight = 9}, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(intake_plan_send(&cases[i].gathered, 2000), cases[i].send);
    }
}

static void a_flush_begins_at_the_first_bound_that_is_reached(void **state)
{
    (void)state;
    static const struct intake_bounds bounds = {
        .max_rows = 100, .max_bytes = 1000, .max_open_us = 50, .max_messages = 10};
    static const struct {
        struct intake_load load;
        bool flush;
    } cases[] = {
        {{.messages = 1, .rows = 99, .bytes = 999, .open_us = 49}, false},
        {{.messages = 1, .rows = 100}, true},
        {{.messages = 1, .bytes = 1000}, true},
        {{.messages = 1, .open_us = 50}, true},
        {{.messages = 10}, true},
        {{.messages = 0, .open_us = 50}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(intake_plan_flush(&cases[i].load, &bounds), cases[i].flush);
    }
}

static void a_message_is_too_old_in_the_last_eighth_of_its_horizon(void **state)
{
    (void)state;
    const int64_t horizon_us = 24 * CLOCK_HOUR_US;
    assert_false(intake_plan_too_old(CLOCK_HOUR_US, 22 * CLOCK_HOUR_US, horizon_us));
    assert_true(intake_plan_too_old(CLOCK_HOUR_US, 22 * CLOCK_HOUR_US + 1, horizon_us));
    assert_false(intake_plan_too_old(0, INT64_MAX, horizon_us));
    assert_false(intake_plan_alone(2));
    assert_true(intake_plan_alone(3));
}

static void a_key_with_another_body_is_refused_for_a_minute(void **state)
{
    (void)state;
    struct recent *recent = calloc(1, sizeof *recent);
    const struct uuid id = {{1, 2, 3}};
    const uint8_t one[DIGEST_SHA256_BYTES] = {1};
    const uint8_t other[DIGEST_SHA256_BYTES] = {2};
    assert_non_null(recent);
    assert_true(recent_admit(recent, &id, one, 1000));
    assert_true(recent_admit(recent, &id, one, 2000));
    assert_false(recent_admit(recent, &id, other, 3000));
    assert_true(recent_admit(recent, &id, other, 2000 + CLOCK_MINUTE_US));
    free(recent);
}

/* Letters are buckets; those chosen stand in order. */
static void a_load_spills_its_largest_buckets_until_half_of_the_rows_are_gone(void **state)
{
    (void)state;
    static const struct {
        uint32_t rows[6];
        size_t count;
        const char *chosen;
    } cases[] = {
        {{10}, 1, "a"},
        {{10, 90}, 2, "b"},
        {{50, 50}, 2, "a"},                  /* of equal ones the oldest */
        {{100, 100, 100, 100, 7}, 5, "abc"}, /* in order of time: the day being filled stays */
        {{1, 2, 3, 4, 5, 6}, 6, "ef"},
        {{60, 1, 1, 1, 1, 60}, 6, "af"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(arena_free_auto) struct arena *arena = arena_new(0);
        struct publish_range ranges[6];
        bool *chosen = NULL;
        char text[8] = "";
        for (size_t j = 0; j < cases[i].count; j++) {
            ranges[j] = (struct publish_range){.count = cases[i].rows[j], .bucket = (int64_t)j};
        }
        assert_int_equal(intake_plan_spill(ranges, cases[i].count, arena, &chosen, NULL), OK);
        for (size_t j = 0, length = 0; j < cases[i].count; j++) {
            if (chosen[j]) {
                text[length++] = (char)('a' + j);
            }
        }
        assert_string_equal(text, cases[i].chosen);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_types_and_encodings_are_met_by_name),
        cmocka_unit_test(keys_are_short_and_printable),
        cmocka_unit_test(the_window_stays_within_the_years_that_there_are),
        cmocka_unit_test(a_message_goes_when_it_is_full_or_old_or_nobody_else_may_come),
        cmocka_unit_test(a_flush_begins_at_the_first_bound_that_is_reached),
        cmocka_unit_test(a_message_is_too_old_in_the_last_eighth_of_its_horizon),
        cmocka_unit_test(a_key_with_another_body_is_refused_for_a_minute),
        cmocka_unit_test(a_load_spills_its_largest_buckets_until_half_of_the_rows_are_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
