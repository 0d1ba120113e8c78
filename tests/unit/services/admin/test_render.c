#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "services/admin/base64.h"
#include "services/admin/dead.h"
#include "services/admin/render.h"

static void base64_is_padded(void **state)
{
    (void)state;
    static const struct {
        const char *plain, *coded;
    } cases[] = {{"", ""},
                 {"f", "Zg=="},
                 {"fo", "Zm8="},
                 {"foo", "Zm9v"},
                 {"foob", "Zm9vYg=="},
                 {"fooba", "Zm9vYmE="},
                 {"foobar", "Zm9vYmFy"},
                 {"\xff\xfe", "//4="}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO(buf_done) struct buf out = {0};
        assert_int_equal(base64_encode(cases[i].plain, strlen(cases[i].plain), &out, NULL), OK);
        assert_string_equal(buf_text(&out), cases[i].coded);
    }
}

static void set_bound(struct column_stats *stats, uint32_t id, const void *min, const void *max, size_t length)
{
    *stats = (struct column_stats){.column_id = id, .null_count = id, .has_min = true, .has_max = true};
    memcpy(stats->min, min, length);
    memcpy(stats->max, max, length);
    stats->min_length = stats->max_length = (uint8_t)length;
}

static void bounds_are_shown_as_values_of_their_type(void **state)
{
    (void)state;
    static const struct schema_column columns[] = {
        {.id = 1, .name = "t", .type = COLUMN_TIMESTAMP},
        {.id = 2, .name = "s", .type = COLUMN_STRING},
        {.id = 3, .name = "d", .type = COLUMN_DECIMAL, .precision = 9, .scale = 2},
        {.id = 4, .name = "b", .type = COLUMN_BYTES},
        {.id = 5, .name = "i", .type = COLUMN_INT32},
        {.id = 6, .name = "day", .type = COLUMN_DATE},
    };
    const struct schema schema = {.columns = columns, .column_count = 6};
    const int64_t times[] = {0, CLOCK_DAY_US};
    const int64_t decimals[] = {-5, 123456};
    const int32_t small[] = {-7, 8};
    struct column_stats stats[8];
    set_bound(&stats[0], 1, &times[0], &times[1], 8);
    set_bound(&stats[1], 2, "ab\xff", "z\xc3\xa9x", 3); /* a text cut within a character */
    set_bound(&stats[2], 3, &decimals[0], &decimals[1], 8);
    set_bound(&stats[3], 4, "\x01\xff", "\x02\x03", 2);
    set_bound(&stats[4], 5, &small[0], &small[1], 4);
    set_bound(&stats[5], 6, &small[0], &small[1], 4);
    set_bound(&stats[6], 9, "\x01", "\x02", 1); /* a column that the schema lacks */
    stats[7] = (struct column_stats){.column_id = 2, .null_count = 3};
    AUTO(json_free_auto) struct json *object = json_new_object();
    AUTO(free_auto) char *text = NULL;
    assert_int_equal(render_columns(object, stats, 8, &schema, NULL), OK);
    assert_int_equal(json_dump_text(object, JSON_STYLE_COMPACT, &text, NULL), OK);
    assert_string_equal(text, "{\"columns\":["
                              "{\"column\":\"t\",\"min\":\"1970-01-01T00:00:00.000000Z\",\"max\":\"1970-01-02T00:00:00."
                              "000000Z\",\"nulls\":1},"
                              "{\"column\":\"s\",\"min\":\"ab\",\"max\":\"z\xc3\xa9\",\"nulls\":2},"
                              "{\"column\":\"d\",\"min\":\"-0.05\",\"max\":\"1234.56\",\"nulls\":3},"
                              "{\"column\":\"b\",\"min\":\"01ff\",\"max\":\"0203\",\"nulls\":4},"
                              "{\"column\":\"i\",\"min\":-7,\"max\":8,\"nulls\":5},"
                              "{\"column\":\"day\",\"min\":\"1969-12-25\",\"max\":\"1970-01-09\",\"nulls\":6},"
                              "{\"column\":\"#9\",\"min\":\"01\",\"max\":\"02\",\"nulls\":9},"
                              "{\"column\":\"s\",\"min\":null,\"max\":null,\"nulls\":3}]}");
}

static void a_preview_of_nothing_has_no_times(void **state)
{
    (void)state;
    AUTO(json_free_auto) struct json *object = json_new_object();
    AUTO(free_auto) char *text = NULL;
    assert_int_equal(render_preview(object, &(struct catalog_preview){0}, NULL), OK);
    assert_int_equal(json_dump_text(object, JSON_STYLE_COMPACT, &text, NULL), OK);
    assert_string_equal(text,
                        "{\"preview\":{\"partitions\":0,\"rows\":0,\"bytes\":0,\"oldest\":null,\"newest\":null}}");
}

static void a_letter_without_an_id_is_known_by_its_body(void **state)
{
    (void)state;
    char id[DEAD_ID_BYTES];
    dead_id(&(struct bus_dead_message){.message_id = "m1", .body = "x", .body_bytes = 1}, id);
    assert_string_equal(id, "m1");
    dead_id(&(struct bus_dead_message){.message_id = "", .body = "abc", .body_bytes = 3}, id);
    assert_string_equal(id, "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    dead_id(&(struct bus_dead_message){.message_id = "\xff", .body = "abc", .body_bytes = 3}, id);
    assert_memory_equal(id, "sha256:ba78", 11);
}

static void letters_taken_down_are_found_again(void **state)
{
    (void)state;
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct dead_ids ids = {.arena = arena};
    char name[8];
    for (int i = 0; i < 200; i++) {
        (void)snprintf(name, sizeof name, "m%d", i * 7 % 200);
        assert_int_equal(dead_ids_add(&ids, &(struct bus_dead_message){.message_id = name}, NULL), OK);
    }
    dead_ids_sort(&ids);
    assert_int_equal(ids.count, 200);
    assert_true(dead_ids_have(&ids, &(struct bus_dead_message){.message_id = "m0"}));
    assert_true(dead_ids_have(&ids, &(struct bus_dead_message){.message_id = "m199"}));
    assert_false(dead_ids_have(&ids, &(struct bus_dead_message){.message_id = "m200"}));
    assert_false(dead_ids_have(&(struct dead_ids){0}, &(struct bus_dead_message){.message_id = "m1"}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(base64_is_padded),
        cmocka_unit_test(bounds_are_shown_as_values_of_their_type),
        cmocka_unit_test(a_preview_of_nothing_has_no_times),
        cmocka_unit_test(a_letter_without_an_id_is_known_by_its_body),
        cmocka_unit_test(letters_taken_down_are_found_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
