#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/events/events.h"

static struct arena *arena;

static int open_arena(void **state)
{
    (void)state;
    arena = arena_new(0);
    return arena == NULL;
}

static int close_arena(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

static const uint8_t width_bytes[COLUMN_TYPE_COUNT] = {
    [COLUMN_BOOL] = 1,   [COLUMN_INT32] = 4,  [COLUMN_INT64] = 8,   [COLUMN_FLOAT] = 4,
    [COLUMN_DOUBLE] = 8, [COLUMN_STRING] = 5, [COLUMN_BYTES] = 64,  [COLUMN_TIMESTAMP] = 8,
    [COLUMN_DATE] = 4,   [COLUMN_UUID] = 16,  [COLUMN_DECIMAL] = 8, [COLUMN_JSON] = 0,
};

static struct column_stats columns[COLUMN_TYPE_COUNT];

/* One column of each type; every third lacks its maximum. */
static struct event_rewrite_result good_result(void)
{
    for (size_t i = 0; i < COLUMN_TYPE_COUNT; i++) {
        columns[i] = (struct column_stats){.column_id = (uint32_t)i + 1,
                                           .type = (enum column_type)i,
                                           .null_count = i * 11,
                                           .has_min = true,
                                           .has_max = i % 3 != 0,
                                           .min_length = width_bytes[i],
                                           .max_length = i % 3 != 0 ? width_bytes[i] : 0};
        memset(columns[i].min, (int)i, width_bytes[i]);
        memset(columns[i].max, 0xf0 + (int)i, columns[i].max_length);
    }
    struct event_rewrite_result event = {
        .token = 5,
        .ok = true,
        .row_count = 100,
        .data_bytes = 2000,
        .memory_bytes = 30000,
        .min_timestamp_us = -7,
        .max_timestamp_us = 8,
        .etag = "\"abc\"",
        .column_count = COLUMN_TYPE_COUNT,
        .columns = columns,
    };
    memset(event.attempt_id.bytes, 1, sizeof event.attempt_id.bytes);
    memset(event.output_id.bytes, 2, sizeof event.output_id.bytes);
    memset(event.sha256, 0xab, sizeof event.sha256);
    return event;
}

static struct event_rewrite_result failed_result(const char *text)
{
    struct event_rewrite_result event = {.token = 5, .error_code = "corrupt", .error_text = text};
    memset(event.attempt_id.bytes, 1, sizeof event.attempt_id.bytes);
    return event;
}

static void a_result_comes_back_with_the_bounds_of_every_type(void **state)
{
    (void)state;
    AUTO(buf_done) struct buf text = {0};
    struct event_rewrite_result event = good_result(), back;
    assert_int_equal(event_rewrite_result_encode(&event, &text, NULL), OK);
    assert_int_equal(event_rewrite_result_decode(text.data, text.length_bytes, arena, &back, NULL), OK);
    assert_true(uuid_equal(&back.attempt_id, &event.attempt_id));
    assert_true(uuid_equal(&back.output_id, &event.output_id));
    assert_true(back.ok);
    assert_int_equal(back.token, 5);
    assert_int_equal(back.row_count, 100);
    assert_int_equal(back.data_bytes, 2000);
    assert_int_equal(back.memory_bytes, 30000);
    assert_int_equal(back.min_timestamp_us, -7);
    assert_int_equal(back.max_timestamp_us, 8);
    assert_memory_equal(back.sha256, event.sha256, sizeof event.sha256);
    assert_string_equal(back.etag, "\"abc\"");
    assert_string_equal(back.error_code, "");
    assert_string_equal(back.error_text, "");
    assert_true(uuid_is_nil(&back.bad_partition));
    assert_int_equal(back.column_count, COLUMN_TYPE_COUNT);
    for (size_t i = 0; i < COLUMN_TYPE_COUNT; i++) {
        const struct column_stats *stats = &back.columns[i];
        assert_int_equal(stats->column_id, columns[i].column_id);
        assert_int_equal(stats->type, columns[i].type);
        assert_int_equal(stats->null_count, columns[i].null_count);
        assert_int_equal(stats->has_min, columns[i].has_min);
        assert_int_equal(stats->has_max, columns[i].has_max);
        assert_int_equal(stats->min_length, columns[i].min_length);
        assert_int_equal(stats->max_length, columns[i].max_length);
        assert_memory_equal(stats->min, columns[i].min, sizeof stats->min);
        assert_memory_equal(stats->max, columns[i].max, sizeof stats->max);
    }
}

static void a_failure_comes_back_with_its_text_made_printable(void **state)
{
    (void)state;
    static const struct {
        const char *sent, *comes;
    } cases[] = {
        {"expected 5 but found \"x\"", "expected 5 but found \"x\""},
        {"", ""},
        {"page \xff\xfe bad", "page ?? bad"},
        {"cut \xe2\x82", "cut ??"},
        {"fine \xe2\x82\xac\n", "fine \xe2\x82\xac\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO(buf_done) struct buf text = {0};
        struct event_rewrite_result event = failed_result(cases[i].sent), back;
        memset(event.bad_partition.bytes, i % 2 == 0 ? 0 : 9, sizeof event.bad_partition.bytes);
        assert_int_equal(event_rewrite_result_encode(&event, &text, NULL), OK);
        assert_int_equal(event_rewrite_result_decode(text.data, text.length_bytes, arena, &back, NULL), OK);
        assert_false(back.ok);
        assert_string_equal(back.error_code, "corrupt");
        assert_string_equal(back.error_text, cases[i].comes);
        assert_true(uuid_equal(&back.bad_partition, &event.bad_partition));
        assert_string_equal(back.etag, "");
        assert_int_equal(back.column_count, 0);
    }
}

static void spoil(struct buf *text, const char *from, const char *to)
{
    const char *whole = buf_text(text);
    const char *at = strstr(whole, from);
    assert_non_null(at);
    AUTO(buf_done) struct buf spoiled = {0};
    assert_int_equal(buf_append(&spoiled, whole, (size_t)(at - whole), NULL), OK);
    assert_int_equal(buf_append_text(&spoiled, to, NULL), OK);
    assert_int_equal(buf_append_text(&spoiled, at + strlen(from), NULL), OK);
    buf_clear(text);
    assert_int_equal(buf_append(text, spoiled.data, spoiled.length_bytes, NULL), OK);
}

static void a_hostile_result_is_refused_by_the_member_at_fault(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *names;
    } cases[] = {
        {"\"ok\":true", "\"ok\":1", "ok"},
        {"\"ok\":true", "\"ok\":false", "error"},
        {"\"token\":5", "\"token\":0", "token"},
        {"\"rows\":100", "\"rows\":-100", "output.rows"},
        {"\"max_us\":8", "\"max_us\":-8", "output.max_us"},
        {"\"sha256\":\"abab", "\"sha256\":\"ab", "output.sha256"},
        {"\"etag\":", "\"etagg\":", "output.etag"},
        {"\"columns\":[", "\"columns\":[],\"x\":[", "columns"},
        {"\"id\":1,", "\"id\":0,", "columns[0].id"},
        {"\"id\":1,", "\"id\":4294967296,", "columns[0].id"},
        {"\"type\":\"int32\"", "\"type\":\"int33\"", "columns[1].type"},
        {"\"nulls\":11", "\"nulls\":-11", "columns[1].nulls"},
        {"\"type\":\"int32\"", "\"type\":\"int64\"", "columns[1].min"},
        {"\"min\":\"0505050505\"", "\"min\":\"050505050\"", "columns[5].min"},
        {"\"min\":\"06", "\"min\":\"0606", "columns[6].min"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO(buf_done) struct buf text = {0};
        struct event_rewrite_result event = good_result(), out = {.token = 77};
        struct error err = {0};
        assert_int_equal(event_rewrite_result_encode(&event, &text, NULL), OK);
        spoil(&text, cases[i].from, cases[i].to);
        assert_int_equal(event_rewrite_result_decode(text.data, text.length_bytes, arena, &out, &err), ERR_INVALID);
        if (strstr(err.text, cases[i].names) == NULL) {
            fail_msg("case %zu: \"%s\" does not name %s", i, err.text, cases[i].names);
        }
        assert_int_equal(out.token, 77);
    }
}

static void a_result_of_the_most_columns_fits(void **state)
{
    (void)state;
    AUTO(buf_done) struct buf text = {0};
    AUTO(free_auto) struct column_stats *many = calloc(SCHEMA_MAX_COLUMNS, sizeof *many);
    struct event_rewrite_result event = good_result(), back;
    for (uint32_t i = 0; i < SCHEMA_MAX_COLUMNS; i++) {
        many[i] = (struct column_stats){.column_id = i + 1,
                                        .type = COLUMN_STRING,
                                        .has_min = true,
                                        .has_max = true,
                                        .min_length = COLUMN_STATS_VALUE_BYTES,
                                        .max_length = COLUMN_STATS_VALUE_BYTES};
    }
    event.columns = many;
    event.column_count = SCHEMA_MAX_COLUMNS;
    assert_int_equal(event_rewrite_result_encode(&event, &text, NULL), OK);
    assert_int_equal(event_rewrite_result_decode(text.data, text.length_bytes, arena, &back, NULL), OK);
    assert_int_equal(back.column_count, SCHEMA_MAX_COLUMNS);
    event.column_count++;
    size_t before = text.length_bytes;
    assert_int_equal(event_rewrite_result_encode(&event, &text, NULL), ERR_INVALID);
    assert_int_equal(text.length_bytes, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_comes_back_with_the_bounds_of_every_type),
        cmocka_unit_test(a_failure_comes_back_with_its_text_made_printable),
        cmocka_unit_test(a_hostile_result_is_refused_by_the_member_at_fault),
        cmocka_unit_test(a_result_of_the_most_columns_fits),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
