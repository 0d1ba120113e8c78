#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/bus/delivery.h"

static void assert_text(amqp_bytes_t text, const char *expected)
{
    assert_int_equal(text.len, strlen(expected));
    assert_memory_equal(text.bytes, expected, text.len);
}

static void headers_come_back_as_they_were_written(void **state)
{
    (void)state;
    struct bus_meta meta = {.published_us = 5,
                            .attempt = 3,
                            .sequence = INT64_MAX,
                            .dead_us = 7,
                            .reason = amqp_cstring_bytes("why"),
                            .queue = amqp_cstring_bytes("reap")};
    amqp_table_entry_t entries[BUS_META_ENTRIES];
    amqp_basic_properties_t properties = {._flags = AMQP_BASIC_HEADERS_FLAG, .headers = bus_meta_write(&meta, entries)};
    assert_int_equal(properties.headers.num_entries, BUS_META_ENTRIES);
    struct bus_meta back = bus_meta_read(&properties);
    assert_int_equal(back.published_us, 5);
    assert_int_equal(back.attempt, 3);
    assert_int_equal(back.sequence, INT64_MAX);
    assert_int_equal(back.dead_us, 7);
    assert_text(back.reason, "why");
    assert_text(back.queue, "reap");
    properties._flags = 0; /* then whatever the field holds does not count */
    assert_int_equal(bus_meta_read(&properties).published_us, 0);
}

static void absent_headers_are_not_written(void **state)
{
    (void)state;
    struct bus_meta meta = {.attempt = 1};
    amqp_table_entry_t entries[BUS_META_ENTRIES];
    assert_int_equal(bus_meta_write(&meta, entries).num_entries, 1);
}

static void numbers_of_any_width_are_read_and_odd_ones_count_as_absent(void **state)
{
    (void)state;
    const struct {
        amqp_field_value_t value;
        int64_t reads;
    } cases[] = {
        {{.kind = AMQP_FIELD_KIND_I8, .value.i8 = 5}, 5},
        {{.kind = AMQP_FIELD_KIND_U8, .value.u8 = 200}, 200},
        {{.kind = AMQP_FIELD_KIND_I16, .value.i16 = 300}, 300},
        {{.kind = AMQP_FIELD_KIND_U16, .value.u16 = 60000}, 60000},
        {{.kind = AMQP_FIELD_KIND_I32, .value.i32 = 70000}, 70000},
        {{.kind = AMQP_FIELD_KIND_U32, .value.u32 = UINT32_MAX}, UINT32_MAX},
        {{.kind = AMQP_FIELD_KIND_I64, .value.i64 = INT64_MAX}, INT64_MAX},
        {{.kind = AMQP_FIELD_KIND_U64, .value.u64 = UINT64_MAX}, 0},
        {{.kind = AMQP_FIELD_KIND_I64, .value.i64 = -1}, 0},
        {{.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = amqp_cstring_bytes("5")}, 0},
        {{.kind = AMQP_FIELD_KIND_F64, .value.f64 = 5.0}, 0},
        {{.kind = AMQP_FIELD_KIND_VOID}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        amqp_table_entry_t entry = {.key = amqp_cstring_bytes("x-delivery-count"), .value = cases[i].value};
        amqp_basic_properties_t properties = {._flags = AMQP_BASIC_HEADERS_FLAG,
                                              .headers = {.num_entries = 1, .entries = &entry}};
        assert_int_equal(bus_meta_read(&properties).delivery_count, cases[i].reads);
    }
}

static void the_newest_death_tells_queue_and_reason(void **state)
{
    (void)state;
    amqp_table_entry_t newest[] = {
        {amqp_cstring_bytes("count"), {.kind = AMQP_FIELD_KIND_I64, .value.i64 = 1}},
        {amqp_cstring_bytes("queue"), {.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = amqp_cstring_bytes("reap")}},
        {amqp_cstring_bytes("reason"), {.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = amqp_cstring_bytes("expired")}},
    };
    amqp_field_value_t deaths[] = {
        {.kind = AMQP_FIELD_KIND_TABLE, .value.table = {.num_entries = 3, .entries = newest}},
        {.kind = AMQP_FIELD_KIND_VOID},
    };
    const struct {
        amqp_field_value_t value;
        const char *queue, *reason;
    } cases[] = {
        {{.kind = AMQP_FIELD_KIND_ARRAY, .value.array = {.num_entries = 2, .entries = deaths}}, "reap", "expired"},
        {{.kind = AMQP_FIELD_KIND_ARRAY, .value.array = {.num_entries = 0}}, "", ""},
        {{.kind = AMQP_FIELD_KIND_ARRAY, .value.array = {.num_entries = 1, .entries = &deaths[1]}}, "", ""},
        {{.kind = AMQP_FIELD_KIND_I64, .value.i64 = 9}, "", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        amqp_table_entry_t entry = {.key = amqp_cstring_bytes("x-death"), .value = cases[i].value};
        amqp_basic_properties_t properties = {._flags = AMQP_BASIC_HEADERS_FLAG,
                                              .headers = {.num_entries = 1, .entries = &entry}};
        struct bus_meta meta = bus_meta_read(&properties);
        assert_text(meta.death_queue, cases[i].queue);
        assert_text(meta.death_reason, cases[i].reason);
    }
}

static void a_delivery_owns_its_texts(void **state)
{
    (void)state;
    char type[] = "reap.v1", id[] = "id-1";
    amqp_basic_properties_t properties = {._flags = AMQP_BASIC_TYPE_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG,
                                          .type = amqp_cstring_bytes(type),
                                          .message_id = amqp_cstring_bytes(id),
                                          .content_type = amqp_cstring_bytes("not flagged")};
    struct delivery *delivery = bus_delivery_new(&properties, 3, 9);
    assert_non_null(delivery);
    memset(type, 'x', sizeof type - 1);
    memset(id, 'x', sizeof id - 1);
    memcpy(bus_delivery_body(delivery), "abc", 3);
    assert_memory_equal(delivery->public.body, "abc", 3);
    assert_int_equal(delivery->public.body_bytes, 3);
    assert_string_equal(delivery->public.type, "reap.v1");
    assert_string_equal(delivery->public.message_id, "id-1");
    assert_string_equal(delivery->content_type, "");
    assert_int_equal(delivery->public.tag, 9);
    bus_delivery_free(delivery);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_come_back_as_they_were_written),
        cmocka_unit_test(absent_headers_are_not_written),
        cmocka_unit_test(numbers_of_any_width_are_read_and_odd_ones_count_as_absent),
        cmocka_unit_test(the_newest_death_tells_queue_and_reason),
        cmocka_unit_test(a_delivery_owns_its_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
