#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/digest/digest.h"
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

static struct event_intake_segment segments[EVENT_INTAKE_MAX_SEGMENTS];

static struct event_intake intake_of(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool rows = i % 3 != 1, rejects = i % 3 != 0;
        segments[i] = (struct event_intake_segment){.batch_id = uuid_v4(),
                                                    .keyed = i % 2 == 1,
                                                    .row_count = rows ? 10 + (uint32_t)i : 0,
                                                    .reject_count = rejects ? 3 : 0,
                                                    .rows = rows ? "some rows" : NULL,
                                                    .rows_bytes = rows ? 9 : 0,
                                                    .rejects = rejects ? "bad" : NULL,
                                                    .rejects_bytes = rejects ? 3 : 0};
        memset(segments[i].body_sha256, segments[i].keyed ? 0x5a : 0, sizeof segments[i].body_sha256);
    }
    return (struct event_intake){
        .table_id = {{1, 2, 3}}, .schema_version = 7, .segment_count = count, .segments = segments};
}

static void an_intake_message_comes_back_as_it_went(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 2, 3, EVENT_INTAKE_MAX_SEGMENTS};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        AUTO(buf_done) struct buf message = {0};
        struct event_intake event = intake_of(counts[i]), back;
        assert_int_equal(event_intake_encode(&event, &message, NULL), OK);
        assert_int_equal(event_intake_decode(message.data, message.length_bytes, arena, &back, NULL), OK);
        assert_true(uuid_equal(&back.table_id, &event.table_id));
        assert_int_equal(back.schema_version, 7);
        assert_int_equal(back.segment_count, counts[i]);
        for (size_t at = 0; at < counts[i]; at++) {
            const struct event_intake_segment *sent = &segments[at], *got = &back.segments[at];
            assert_true(uuid_equal(&got->batch_id, &sent->batch_id));
            assert_int_equal(got->keyed, sent->keyed);
            assert_memory_equal(got->body_sha256, sent->body_sha256, sizeof sent->body_sha256);
            assert_int_equal(got->row_count, sent->row_count);
            assert_int_equal(got->reject_count, sent->reject_count);
            assert_int_equal(got->rows_bytes, sent->rows_bytes);
            assert_int_equal(got->rejects_bytes, sent->rejects_bytes);
            assert_memory_equal(got->rows, "some rows", got->rows_bytes);
            assert_memory_equal(got->rejects, "bad", got->rejects_bytes);
        }
    }
}

static void encoding_appends_and_leaves_the_buffer_alone_on_failure(void **state)
{
    (void)state;
    AUTO(buf_done) struct buf message = {0};
    assert_int_equal(buf_append_text(&message, "before", NULL), OK);
    struct event_intake event = intake_of(1), back;
    assert_int_equal(event_intake_encode(&event, &message, NULL), OK);
    assert_memory_equal(message.data, "beforeGRI1", 10);
    assert_int_equal(event_intake_decode(message.data + 6, message.length_bytes - 6, arena, &back, NULL), OK);
    size_t length = message.length_bytes;
    struct error err = {0};
    event.segment_count = 0;
    assert_int_equal(event_intake_encode(&event, &message, &err), ERR_INVALID);
    event.segment_count = EVENT_INTAKE_MAX_SEGMENTS + 1;
    assert_int_equal(event_intake_encode(&event, &message, &err), ERR_INVALID);
    event = intake_of(1);
    event.schema_version = 0;
    assert_int_equal(event_intake_encode(&event, &message, &err), ERR_INVALID);
    event = intake_of(1);
    segments[0].row_count = 0;
    assert_int_equal(event_intake_encode(&event, &message, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, "rows"));
    event = intake_of(1);
    segments[0].rows_bytes = SIZE_MAX - 5;
    assert_int_equal(event_intake_encode(&event, &message, &err), ERR_INVALID);
    assert_int_equal(message.length_bytes, length);
}

static void a_message_cut_anywhere_is_refused(void **state)
{
    (void)state;
    AUTO(buf_done) struct buf message = {0};
    struct event_intake event = intake_of(3), out = {.schema_version = 77};
    assert_int_equal(event_intake_encode(&event, &message, NULL), OK);
    for (size_t cut = 0; cut < message.length_bytes; cut++) {
        AUTO(free_auto) uint8_t *copy = malloc(cut + 1); /* exact, so that a sanitizer sees a step too far */
        memcpy(copy, message.data, cut);
        assert_int_not_equal(event_intake_decode(copy, cut, arena, &out, NULL), OK);
        assert_int_equal(out.schema_version, 77);
    }
}

static void a_flipped_bit_is_corrupt(void **state)
{
    (void)state;
    AUTO(buf_done) struct buf message = {0};
    struct event_intake event = intake_of(2), out;
    assert_int_equal(event_intake_encode(&event, &message, NULL), OK);
    for (size_t at = 4; at < message.length_bytes; at++) {
        struct error err = {0};
        message.data[at] ^= 0x10;
        assert_int_equal(event_intake_decode(message.data, message.length_bytes, arena, &out, &err), ERR_CORRUPT);
        assert_non_null(strstr(err.text, "checksum"));
        message.data[at] ^= 0x10;
    }
}

/* A sender who can compute the checksum. */
static void seal(struct buf *message)
{
    uint64_t sum = digest_xxh3(message->data, message->length_bytes - 8);
    for (size_t i = 0; i < 8; i++) {
        message->data[message->length_bytes - 8 + i] = (uint8_t)(sum >> (8 * i));
    }
}

static void a_hostile_message_with_a_right_checksum_is_refused_by_the_field_at_fault(void **state)
{
    (void)state;
    enum { VERSION = 20, COUNT = 24, SEGMENT = 28, KEYED = SEGMENT + 16, ROW_COUNT = KEYED + 33, ROWS = ROW_COUNT + 8 };
    static const struct {
        size_t at;
        uint32_t value;
        size_t bytes;
        const char *names;
    } cases[] = {
        {0, 'X', 1, "GRI1"},
        {VERSION, 0, 4, "schema version"},
        {VERSION, UINT32_MAX, 4, "schema version"},
        {COUNT, 0, 4, "segments"},
        {COUNT, EVENT_INTAKE_MAX_SEGMENTS + 1, 4, "segments"},
        {COUNT, UINT32_MAX, 4, "segments"},
        {COUNT, 2, 4, "batch id"},
        {KEYED, 2, 1, "keyed"},
        {ROW_COUNT, 0, 4, "rows"},
        {ROW_COUNT + 4, 1, 4, "rejects"},
        {ROWS, UINT32_MAX, 4, "rows"},
        {ROWS, 10, 4, "rejects"},
        {ROWS, 8, 4, "rejects"},
        {ROWS + 4 + 9, 1, 4, "rejects"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO(buf_done) struct buf message = {0};
        struct event_intake event = intake_of(1), out = {.schema_version = 77};
        struct error err = {0};
        assert_int_equal(event_intake_encode(&event, &message, NULL), OK);
        for (size_t byte = 0; byte < cases[i].bytes; byte++) {
            message.data[cases[i].at + byte] = (uint8_t)(cases[i].value >> (8 * byte));
        }
        seal(&message);
        assert_int_equal(event_intake_decode(message.data, message.length_bytes, arena, &out, &err), ERR_INVALID);
        if (strstr(err.text, cases[i].names) == NULL) {
            fail_msg("case %zu: \"%s\" does not name %s", i, err.text, cases[i].names);
        }
        assert_int_equal(out.schema_version, 77);
    }
}

static void bytes_after_the_last_segment_are_refused(void **state)
{
    (void)state;
    AUTO(buf_done) struct buf message = {0};
    struct event_intake event = intake_of(1), out;
    struct error err = {0};
    assert_int_equal(event_intake_encode(&event, &message, NULL), OK);
    assert_int_equal(buf_append_byte(&message, 0, NULL), OK);
    seal(&message);
    assert_int_equal(event_intake_decode(message.data, message.length_bytes, arena, &out, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, "1 bytes more"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_intake_message_comes_back_as_it_went),
        cmocka_unit_test(encoding_appends_and_leaves_the_buffer_alone_on_failure),
        cmocka_unit_test(a_message_cut_anywhere_is_refused),
        cmocka_unit_test(a_flipped_bit_is_corrupt),
        cmocka_unit_test(a_hostile_message_with_a_right_checksum_is_refused_by_the_field_at_fault),
        cmocka_unit_test(bytes_after_the_last_segment_are_refused),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
