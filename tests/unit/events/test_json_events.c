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

static struct uuid uuid_of(uint8_t byte)
{
    struct uuid uuid;
    memset(uuid.bytes, byte, sizeof uuid.bytes);
    return uuid;
}

/* --- reap -------------------------------------------------------------------------------------------------------- */

static struct event_reap_item reap_items[EVENT_REAP_MAX];

static struct event_reap reap_of(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        reap_items[i] = (struct event_reap_item){uuid_v7(), (int64_t)i - 5};
    }
    return (struct event_reap){.table_id = uuid_of(1), .count = count, .items = reap_items};
}

static void a_reap_event_comes_back_as_it_went(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 2, EVENT_REAP_MAX};
    for (size_t i = 0; i < sizeof counts / sizeof *counts * 2; i++) {
        AUTO(buf_done) struct buf text = {0};
        struct event_reap event = reap_of(counts[i / 2]), back;
        if (i % 2 == 1) {
            event.claim_lock_id = uuid_of(7);
            event.claim_token = INT64_MAX;
        }
        assert_int_equal(event_reap_encode(&event, &text, NULL), OK);
        assert_int_equal(event_reap_decode(text.data, text.length_bytes, arena, &back, NULL), OK);
        assert_true(uuid_equal(&back.table_id, &event.table_id));
        assert_true(uuid_equal(&back.claim_lock_id, &event.claim_lock_id));
        assert_int_equal(back.claim_token, event.claim_token);
        assert_int_equal(back.count, event.count);
        assert_memory_equal(back.items, event.items, event.count * sizeof *event.items);
    }
}

static void a_reap_event_that_nobody_would_take_is_not_encoded(void **state)
{
    (void)state;
    AUTO(buf_done) struct buf text = {0};
    struct error err = {0};
    struct event_reap event = reap_of(1);
    event.count = 0;
    assert_int_equal(event_reap_encode(&event, &text, &err), ERR_INVALID);
    event.count = EVENT_REAP_MAX + 1;
    assert_int_equal(event_reap_encode(&event, &text, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, "\"partitions\""));
    event.count = 1;
    event.claim_token = 3; /* of which lock? */
    assert_int_equal(event_reap_encode(&event, &text, &err), ERR_INVALID);
    assert_int_equal(text.length_bytes, 0);
}

#define ID   "\"01010101-0101-0101-0101-010101010101\""
#define ITEM "{\"id\":" ID ",\"deactivated_at_us\":5}"

static void a_hostile_reap_event_is_refused_by_the_member_at_fault(void **state)
{
    (void)state;
    static const struct {
        const char *text, *names;
    } cases[] = {
        {"", ""},
        {"[]", "object"},
        {"{}", "table"},
        {"{\"table\":5}", "table"},
        {"{\"table\":\"x\",\"partitions\":[" ITEM "]}", "table"},
        {"{\"table\":" ID "}", "partitions"},
        {"{\"table\":" ID ",\"partitions\":{}}", "partitions"},
        {"{\"table\":" ID ",\"partitions\":[]}", "partitions"},
        {"{\"table\":" ID ",\"partitions\":[5]}", "partitions[0]"},
        {"{\"table\":" ID ",\"partitions\":[" ITEM ",{\"id\":" ID "}]}", "partitions[1].deactivated_at_us"},
        {"{\"table\":" ID ",\"partitions\":[{\"id\":\"\",\"deactivated_at_us\":5}]}", "partitions[0].id"},
        {"{\"table\":" ID ",\"partitions\":[{\"id\":" ID ",\"deactivated_at_us\":5.5}]}", "deactivated_at_us"},
        {"{\"table\":" ID ",\"claim\":5,\"partitions\":[" ITEM "]}", "claim"},
        {"{\"table\":" ID ",\"claim\":{},\"partitions\":[" ITEM "]}", "claim.lock"},
        {"{\"table\":" ID ",\"claim\":{\"lock\":" ID ",\"token\":0},\"partitions\":[" ITEM "]}", "claim.token"},
        {"{\"table\":" ID ",\"claim\":{\"lock\":\"00000000-0000-0000-0000-000000000000\",\"token\":1},"
         "\"partitions\":[" ITEM "]}",
         "claim.lock"},
        {"{\"table\":" ID ",\"table\":" ID ",\"partitions\":[" ITEM "]}", ""},
        {"{\"table\":" ID ",\"partitions\":[" ITEM "]} x", ""},
        {"[[[[[[[[[[[[[[]]]]]]]]]]]]]]", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct event_reap out = {.count = 77};
        struct error err = {0};
        assert_int_equal(event_reap_decode(cases[i].text, strlen(cases[i].text), arena, &out, &err), ERR_INVALID);
        if (strstr(err.text, cases[i].names) == NULL) {
            fail_msg("case %zu: \"%s\" does not name %s", i, err.text, cases[i].names);
        }
        assert_int_equal(out.count, 77);
    }
}

static void members_that_a_newer_writer_adds_are_passed_over(void **state)
{
    (void)state;
    static const char text[] = "{\"table\":" ID ",\"note\":{\"a\":[1]},\"partitions\":[" ITEM "]}";
    struct event_reap out;
    assert_int_equal(event_reap_decode(text, strlen(text), arena, &out, NULL), OK);
    assert_int_equal(out.items[0].deactivated_at_us, 5);
}

static void one_partition_too_many_is_refused(void **state)
{
    (void)state;
    AUTO(buf_done) struct buf text = {0};
    assert_int_equal(buf_append_text(&text, "{\"table\":" ID ",\"partitions\":[" ITEM, NULL), OK);
    for (size_t i = 1; i < EVENT_REAP_MAX + 1; i++) {
        assert_int_equal(buf_append_text(&text, "," ITEM, NULL), OK);
    }
    assert_int_equal(buf_append_text(&text, "]}", NULL), OK);
    struct event_reap out;
    struct error err = {0};
    assert_int_equal(event_reap_decode(text.data, text.length_bytes, arena, &out, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, "1001"));
}

/* --- rewrite ----------------------------------------------------------------------------------------------------- */

static struct event_rewrite_input rewrite_inputs[EVENT_REWRITE_MAX_INPUTS];

static struct event_rewrite_storage rewrite_storages[] = {{2, "file:///two"}, {3, "s3://three/x?credentials=eu"}};

static struct event_rewrite rewrite_of(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        rewrite_inputs[i] = (struct event_rewrite_input){.partition_id = uuid_v7(),
                                                         .storage_id = 1 + (int32_t)(i % 2),
                                                         .path = "t/2026-11-30/p.parquet",
                                                         .data_bytes = i + 1,
                                                         .row_count = i * 3};
        memset(rewrite_inputs[i].sha256, (int)i, sizeof rewrite_inputs[i].sha256);
    }
    return (struct event_rewrite){
        .attempt_id = uuid_of(1),
        .table_id = uuid_of(2),
        .token = 9,
        .epoch = 4,
        .lease_us = 60000000,
        .result_queue = "merge.result",
        .schema_json = "{\"version\": 1}",
        .output_id = uuid_of(3),
        .output_storage_id = 3,
        .storage_count = 2,
        .storages = rewrite_storages,
        .output_path = "t/2026-11-30/\"o\u00fct\".parquet",
        .input_count = count,
        .inputs = rewrite_inputs,
    };
}

static void a_rewrite_task_comes_back_as_it_went(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 20, EVENT_REWRITE_MAX_INPUTS};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        AUTO(buf_done) struct buf text = {0};
        struct event_rewrite event = rewrite_of(counts[i]), back;
        assert_int_equal(event_rewrite_encode(&event, &text, NULL), OK);
        assert_int_equal(event_rewrite_decode(text.data, text.length_bytes, arena, &back, NULL), OK);
        assert_true(uuid_equal(&back.attempt_id, &event.attempt_id));
        assert_true(uuid_equal(&back.table_id, &event.table_id));
        assert_true(uuid_equal(&back.output_id, &event.output_id));
        assert_int_equal(back.token, 9);
        assert_int_equal(back.epoch, 4);
        assert_int_equal(back.lease_us, 60000000);
        assert_string_equal(back.result_queue, event.result_queue);
        assert_string_equal(back.schema_json, event.schema_json); /* byte for byte */
        assert_string_equal(back.output_path, event.output_path);
        assert_int_equal(back.input_count, counts[i]);
        assert_int_equal(back.output_storage_id, 3);
        assert_int_equal(back.storage_count, 2);
        assert_int_equal(back.storages[1].storage_id, 3);
        assert_string_equal(back.storages[1].url, rewrite_storages[1].url);
        const struct event_rewrite_input *last = &back.inputs[counts[i] - 1];
        const struct event_rewrite_input *sent = &rewrite_inputs[counts[i] - 1];
        assert_true(uuid_equal(&last->partition_id, &sent->partition_id));
        assert_int_equal(last->storage_id, sent->storage_id);
        assert_string_equal(last->path, sent->path);
        assert_int_equal(last->data_bytes, sent->data_bytes);
        assert_int_equal(last->row_count, sent->row_count);
        assert_memory_equal(last->sha256, sent->sha256, sizeof sent->sha256);
    }
}

/* Replaces the first `from` in an encoded event by `to`. */
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

static void a_hostile_rewrite_task_is_refused_by_the_member_at_fault(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *names;
    } cases[] = {
        {"\"attempt\"", "\"attemptt\"", "attempt"},
        {"\"token\":9", "\"token\":0", "token"},
        {"\"epoch\":4", "\"epoch\":-1", "epoch"},
        {"\"lease_us\":60000000", "\"lease_us\":0", "lease_us"},
        {"\"merge.result\"", "\"\"", "result_queue"},
        {"\"merge.result\"", "null", "result_queue"},
        {"\"schema\":", "\"skema\":", "schema"},
        {"\"output\":{", "\"output\":[],\"x\":{", "output"},
        {"\"path\":\"t/2026-11-30/\\\"", "\"path\":5,\"x\":\"\\\"", "output.path"},
        {"\"bytes\":2", "\"bytes\":-2", "inputs[1].bytes"},
        {"\"rows\":3", "\"rows\":1e3", "inputs[1].rows"},
        {"\"sha256\":\"00", "\"sha256\":\"0", "inputs[0].sha256"},
        {"\"sha256\":\"0101", "\"sha256\":\"01zz", "inputs[1].sha256"},
        {"\"path\":\"t/2026-11-30/p", "\"path\":\"\",\"x\":\"", "inputs[0].path"},
        {"\"storage\":3", "\"storage\":0", "output.storage"},
        {"\"storage\":2", "\"storage\":-2", "inputs[1].storage"},
        {"\"id\":2,", "\"id\":4294967296,", "storages[0].id"},
        {"\"url\":\"file:///two\"", "\"url\":\"\"", "storages[0].url"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO(buf_done) struct buf text = {0};
        struct event_rewrite event = rewrite_of(2), out = {.token = 77};
        struct error err = {0};
        assert_int_equal(event_rewrite_encode(&event, &text, NULL), OK);
        spoil(&text, cases[i].from, cases[i].to);
        assert_int_equal(event_rewrite_decode(text.data, text.length_bytes, arena, &out, &err), ERR_INVALID);
        if (strstr(err.text, cases[i].names) == NULL) {
            fail_msg("case %zu: \"%s\" does not name %s", i, err.text, cases[i].names);
        }
        assert_int_equal(out.token, 77);
    }
}

static void a_rewrite_task_without_storages_means_the_one_of_each_process(void **state)
{
    (void)state;
    AUTO(buf_done) struct buf text = {0};
    struct event_rewrite event = rewrite_of(1), back;
    event.output_storage_id = 1;
    event.storage_count = 0;
    assert_int_equal(event_rewrite_encode(&event, &text, NULL), OK);
    assert_null(strstr(buf_text(&text), "storage"));
    assert_int_equal(event_rewrite_decode(text.data, text.length_bytes, arena, &back, NULL), OK);
    assert_int_equal(back.output_storage_id, 1);
    assert_int_equal(back.inputs[0].storage_id, 1);
    assert_int_equal(back.storage_count, 0);
}

static void a_rewrite_task_with_no_or_too_many_inputs_is_not_encoded(void **state)
{
    (void)state;
    AUTO(buf_done) struct buf text = {0};
    struct event_rewrite event = rewrite_of(1);
    event.input_count = 0;
    assert_int_equal(event_rewrite_encode(&event, &text, NULL), ERR_INVALID);
    event.input_count = EVENT_REWRITE_MAX_INPUTS + 1;
    assert_int_equal(event_rewrite_encode(&event, &text, NULL), ERR_INVALID);
    event = rewrite_of(1);
    event.inputs[0].data_bytes = UINT64_MAX;
    assert_int_equal(event_rewrite_encode(&event, &text, NULL), ERR_INVALID);
    assert_int_equal(text.length_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reap_event_comes_back_as_it_went),
        cmocka_unit_test(a_reap_event_that_nobody_would_take_is_not_encoded),
        cmocka_unit_test(a_hostile_reap_event_is_refused_by_the_member_at_fault),
        cmocka_unit_test(members_that_a_newer_writer_adds_are_passed_over),
        cmocka_unit_test(one_partition_too_many_is_refused),
        cmocka_unit_test(a_rewrite_task_comes_back_as_it_went),
        cmocka_unit_test(a_hostile_rewrite_task_is_refused_by_the_member_at_fault),
        cmocka_unit_test(a_rewrite_task_without_storages_means_the_one_of_each_process),
        cmocka_unit_test(a_rewrite_task_with_no_or_too_many_inputs_is_not_encoded),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
