#include "common/codec/codec.h"
#include "tests/unit/ingest/fixture.h"

#define TS_OK "\"ts\":\"2024-01-01T00:00:00Z\""

static const char lines[] =
    "\xef\xbb\xbf{" TS_OK ",\"i64\":1,\"s\":\"one\"}\n"
    "\n"
    "{\"s\":\"two \\u00e9\",\"i64\":2," TS_OK "}\r\n"
    "  \t\r\n"
    "{" TS_OK ",\"i64\":3,\"s\":\"a text that takes more than one wide step to scan\"}\n"
    "{" TS_OK ",\"i64\":\"x\",\"s\":\"bad\"}\r\n"
    "not json at all\n"
    " { " TS_OK " , \"i64\" : 4 , \"a_name_of_more_than_sixteen_bytes\" : 7 , \"s\" : \"four\" } \n"
    "{" TS_OK ",\"i64\":5}{}\n"
    "{\"i64\":6}\n"
    "{}\n"
    "{" TS_OK ",\"i64\":7,\"i64\":8}\n"
    "{" TS_OK ",\"i64\":null,\"i64\":8}\n"
    "{" TS_OK ",\"i6\":1}\n"
    "{" TS_OK ",\"i64\":9,\"\\u0073\":\"escaped name\"}\n"
    "{" TS_OK ",}\n"
    "{" TS_OK " \"i64\":1}\n"
    "{" TS_OK ",\"i64\" 1}\n"
    "[" TS_OK "]\n"
    "{" TS_OK ",\"i64\":10";

static const char lines_expected[] =
    "ok 1 one\n"
    "ok 2 two \xc3\xa9\n"
    "ok 3 a text that takes more than one wide step to scan\n"
    "ok 4 four\n"
    "ok 9 escaped name\n"
    "4 i64: expected an integer but found \"x\" | {" TS_OK ",\"i64\":\"x\",\"s\":\"bad\"}\n"
    "5 -: expected an object but found not | not json at all\n"
    "7 -: expected the end of the row but found an object | {" TS_OK ",\"i64\":5}{}\n"
    "8 ts: expected a value but found none | {\"i64\":6}\n"
    "9 ts: expected a value but found none | {}\n"
    "10 i64: expected each column once but found it twice | {" TS_OK ",\"i64\":7,\"i64\":8}\n"
    "11 i64: expected each column once but found it twice | {" TS_OK ",\"i64\":null,\"i64\":8}\n"
    "12 -: expected a column of the table but found \"i6\" | {" TS_OK ",\"i6\":1}\n"
    "14 -: expected a column name in quotes but found } | {" TS_OK ",}\n"
    "15 -: expected \",\" or \"}\" but found \"i64\" | {" TS_OK " \"i64\":1}\n"
    "16 i64: expected \":\" but found 1 | {" TS_OK ",\"i64\" 1}\n"
    "17 -: expected an object but found an array | [" TS_OK "]\n"
    "18 -: expected \",\" or \"}\" but found the end of the row | {" TS_OK ",\"i64\":10\n";

static const char array[] =
    "\xef\xbb\xbf \r\n[ {" TS_OK ",\"i64\":1,\"s\":\"one\"} ,\n{" TS_OK ",\"i64\":2,\n\"s\":\"],[{\\\"\\\\\"},7,"
    "{" TS_OK ",\"i64\":[3,{}]},,{" TS_OK ",\"s\":\"x\"]},}, {" TS_OK ",\"i64\":4,\"s\":\"a text that takes more than "
    "one wide step to scan\"}, ] \n";

static const char array_expected[] = "ok 1 one\n"
                                     "ok 2 ],[{\"\\\n"
                                     "ok 4 a text that takes more than one wide step to scan\n"
                                     "3 -: expected an object but found 7 | 7\n"
                                     "4 i64: expected an integer but found an array | {" TS_OK ",\"i64\":[3,{}]}\n"
                                     "5 -: expected an object but found the end of the row | \n"
                                     "6 -: expected \",\" or \"}\" but found ] | {" TS_OK ",\"s\":\"x\"]}\n"
                                     "7 -: expected an object but found } | }\n"
                                     "9 -: expected an object but found the end of the row | \n";

static void any_pieces_give_the_same_rows_and_rejects(void **state)
{
    (void)state;
    static const struct {
        enum ingest_format format;
        const char *body;
        const char *expected;
    } cases[] = {{INGEST_NDJSON, lines, lines_expected}, {INGEST_JSON_ARRAY, array, array_expected}};
    for (size_t c = 0; c < COUNT(cases); c++) {
        size_t length = strlen(cases[c].body);
        for (size_t piece = 1; piece <= length; piece++) {
            AUTO(ingest_free_auto) struct ingest *ingest = new_ingest(cases[c].format, INGEST_PLAIN, &fixture_limits);
            AUTO(buf_done) struct buf text = {0};
            struct error err = {0};
            assert_int_equal(feed_pieces(ingest, cases[c].body, length, piece, &err), OK);
            describe(ingest, &text);
            assert_string_equal((const char *)text.data, cases[c].expected);
        }
    }
}

static void compressed_bodies_give_the_same_rows_and_rejects(void **state)
{
    (void)state;
    static const struct {
        enum ingest_compression compression;
        enum codec_kind kind;
    } cases[] = {{INGEST_GZIP, CODEC_GZIP}, {INGEST_ZSTD, CODEC_ZSTD}};
    AUTO(codec_free_auto) struct codec *codec = NULL;
    assert_int_equal(codec_new(3, &codec, NULL), OK);
    for (size_t c = 0; c < COUNT(cases); c++) {
        AUTO(buf_done) struct buf body = {0};
        assert_int_equal(codec_compress(codec, cases[c].kind, lines, strlen(lines), &body, NULL), OK);
        for (size_t piece = 1; piece <= body.length_bytes; piece += 7) {
            AUTO(ingest_free_auto)
            struct ingest *ingest = new_ingest(INGEST_NDJSON, cases[c].compression, &fixture_limits);
            AUTO(buf_done) struct buf text = {0};
            assert_int_equal(feed_pieces(ingest, body.data, body.length_bytes, piece, NULL), OK);
            describe(ingest, &text);
            assert_string_equal((const char *)text.data, lines_expected);
        }
        for (size_t cut = 1; cut < body.length_bytes; cut += 5) {
            AUTO(ingest_free_auto)
            struct ingest *ingest = new_ingest(INGEST_NDJSON, cases[c].compression, &fixture_limits);
            assert_int_equal(feed_pieces(ingest, body.data, body.length_bytes - cut, 50, NULL), ERR_INVALID);
        }
        AUTO(ingest_free_auto)
        struct ingest *garbage = new_ingest(INGEST_NDJSON, cases[c].compression, &fixture_limits);
        struct error err = {0};
        assert_int_equal(feed_pieces(garbage, lines, strlen(lines), 100, &err), ERR_INVALID);
        assert_int_equal(ingest_feed(garbage, "x", 1, &err), ERR_INVALID);
        assert_string_equal(err.text, "expected no more of a body that has failed");
    }
}

static void a_bomb_is_stopped_at_its_limit(void **state)
{
    (void)state;
    enum { BOMB_BYTES = 8 << 20 };
    AUTO(codec_free_auto) struct codec *codec = NULL;
    AUTO(free_auto) char *spaces = malloc(BOMB_BYTES);
    AUTO(buf_done) struct buf body = {0};
    AUTO(ingest_free_auto) struct ingest *ingest = new_ingest(INGEST_NDJSON, INGEST_ZSTD, &fixture_limits);
    struct error err = {0};
    memset(spaces, '\n', BOMB_BYTES);
    assert_int_equal(codec_new(3, &codec, NULL), OK);
    assert_int_equal(codec_compress(codec, CODEC_ZSTD, spaces, BOMB_BYTES, &body, NULL), OK);
    assert_int_equal(ingest_feed(ingest, body.data, body.length_bytes, &err), ERR_INVALID);
    assert_string_equal(err.text, "expected a body of at most 1048576 bytes, decompressed, but found more");
}

static void broken_arrays_fail_as_a_whole(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        const char *error;
    } cases[] = {
        {"", "expected an array of rows but the body is empty"},
        {" \n", "expected an array of rows but the body is empty"},
        {"{}", "expected an array of rows but the body begins with byte 0x7b"},
        {"[", "expected the array of rows to close but the body ended"},
        {"[{" TS_OK "}", "expected the array of rows to close but the body ended"},
        {"[{\"s\":\"]", "expected the array of rows to close but the body ended"},
        {"[]]", "expected the body to end with its array but found byte 0x5d"},
        {"[] []", "expected the body to end with its array but found byte 0x5b"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        for (size_t piece = 1; piece < 16; piece++) {
            AUTO(ingest_free_auto) struct ingest *ingest = new_ingest(INGEST_JSON_ARRAY, INGEST_PLAIN, &fixture_limits);
            struct error err = {0};
            assert_int_equal(feed_pieces(ingest, cases[i].body, strlen(cases[i].body), piece, &err), ERR_INVALID);
            assert_string_equal(err.text, cases[i].error);
        }
    }
}

static void empty_bodies_and_arrays_have_no_rows(void **state)
{
    (void)state;
    static const struct {
        enum ingest_format format;
        const char *body;
    } cases[] = {{INGEST_NDJSON, ""},
                 {INGEST_NDJSON, "\n\r\n \t\n"},
                 {INGEST_NDJSON, "\xef\xbb\xbf"},
                 {INGEST_JSON_ARRAY, "[]"},
                 {INGEST_JSON_ARRAY, " [ \n] "}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(ingest_free_auto) struct ingest *ingest = new_ingest(cases[i].format, INGEST_PLAIN, &fixture_limits);
        assert_int_equal(feed_pieces(ingest, cases[i].body, strlen(cases[i].body), 2, NULL), OK);
        assert_int_equal(ingest_rows_seen(ingest), 0);
    }
}

static void half_a_byte_order_mark_belongs_to_a_bad_row(void **state)
{
    (void)state;
    static const char *const bodies[] = {"\xef\xbb{}", "\xef", "\xef\xbb\n"};
    for (size_t i = 0; i < COUNT(bodies); i++) {
        AUTO(ingest_free_auto) struct ingest *ingest = new_ingest(INGEST_NDJSON, INGEST_PLAIN, &fixture_limits);
        size_t count;
        assert_int_equal(feed_pieces(ingest, bodies[i], strlen(bodies[i]), 1, NULL), OK);
        const struct ingest_reject *reject = ingest_rejects(ingest, &count);
        assert_int_equal(count, 1);
        assert_string_equal(reject->reason, "expected an object but found byte 0xef");
    }
}

/* Rows of every length around the limit, in one piece and in small ones. */
static void a_row_over_the_limit_is_a_reject_with_its_text_cut(void **state)
{
    (void)state;
    enum { LIMIT = 100, KEPT = 150 };
    struct ingest_limits limits = fixture_limits;
    limits.max_row_bytes = LIMIT;
    limits.max_reject_text_bytes = KEPT;
    static const size_t pieces[] = {7, 64, 1 << 20};
    for (size_t length = LIMIT - 3; length < 3 * LIMIT; length += 3) {
        AUTO(buf_done) struct buf body = {0};
        assert_int_equal(buf_append_text(&body, "{" TS_OK ",\"s\":\"", NULL), OK);
        while (body.length_bytes < length - 2) {
            assert_int_equal(buf_append_byte(&body, 'x', NULL), OK);
        }
        assert_int_equal(buf_append_text(&body, "\"}\n{" TS_OK "}\n", NULL), OK);
        for (size_t p = 0; p < COUNT(pieces); p++) {
            AUTO(ingest_free_auto) struct ingest *ingest = new_ingest(INGEST_NDJSON, INGEST_PLAIN, &limits);
            size_t count;
            assert_int_equal(feed_pieces(ingest, body.data, body.length_bytes, pieces[p], NULL), OK);
            const struct ingest_reject *reject = ingest_rejects(ingest, &count);
            assert_int_equal(count, length > LIMIT);
            assert_int_equal(ingest_batch(ingest)->row_count, 2 - count);
            if (count != 0) {
                char reason[80];
                (void)snprintf(reason, sizeof reason, "expected a row of at most 100 bytes but found %zu", length);
                assert_string_equal(reject->reason, reason);
                assert_int_equal(reject->text_bytes, length < KEPT ? length : KEPT);
                assert_memory_equal(reject->text, body.data, reject->text_bytes);
            }
        }
    }
}

static void unknown_members_may_be_ignored_but_must_be_well_formed(void **state)
{
    (void)state;
    static const char body[] = "{\"x\":{\"a\":[1,\"]\"]},\"i64\":1," TS_OK ",\"y\":null}\n"
                               "{\"x\":[1,,2],\"i64\":2," TS_OK "}\n"
                               "{\"\xff\":1," TS_OK "}\n";
    struct ingest_limits limits = fixture_limits;
    limits.unknown = INGEST_UNKNOWN_IGNORE;
    AUTO(ingest_free_auto) struct ingest *ingest = new_ingest(INGEST_NDJSON, INGEST_PLAIN, &limits);
    size_t count;
    assert_int_equal(feed_pieces(ingest, body, strlen(body), 9, NULL), OK);
    const struct ingest_reject *rejects = ingest_rejects(ingest, &count);
    assert_int_equal(ingest_batch(ingest)->row_count, 1);
    assert_int_equal(count, 2);
    assert_string_equal(rejects[0].reason, "expected a JSON value but found ,");
    assert_string_equal(rejects[1].reason, "expected UTF-8 but found byte 0xff at byte 1 of a text");
    assert_null(rejects[0].column);
}

static void a_batch_can_be_taken_in_the_middle(void **state)
{
    (void)state;
    static const char half[] = "{" TS_OK ",\"i64\":1}\n{" TS_OK ",\"i6";
    static const char rest[] = "4\":2}\nbad\n";
    AUTO(ingest_free_auto) struct ingest *ingest = new_ingest(INGEST_NDJSON, INGEST_PLAIN, &fixture_limits);
    size_t count;
    assert_int_equal(ingest_feed(ingest, half, strlen(half), NULL), OK);
    AUTO(batch_free_auto) struct batch *first = ingest_batch_take(ingest);
    assert_int_equal(first->row_count, 1);
    assert_int_equal(ingest_batch(ingest)->row_count, 0);
    assert_int_equal(ingest_feed(ingest, rest, strlen(rest), NULL), OK);
    assert_int_equal(ingest_finish(ingest, NULL), OK);
    assert_int_equal(ingest_batch(ingest)->columns[I64].values.i64[0], 2);
    (void)ingest_rejects(ingest, &count);
    assert_int_equal(count, 1);
    ingest_rejects_clear(ingest);
    (void)ingest_rejects(ingest, &count);
    assert_int_equal(count, 0);
    assert_int_equal(ingest_rows_seen(ingest), 3);
}

static void rejects_become_rows_of_the_companion_table(void **state)
{
    (void)state;
    static const struct ingest_reject rejects[] = {
        {.row = 3, .column = "size", .reason = "because", .text = "a\0\xff", .text_bytes = 3},
        {.row = 9, .reason = "so", .text = "", .text_bytes = 0},
    };
    struct uuid table_id = uuid_v7();
    struct uuid batch_id = uuid_v7();
    AUTO(schema_free_auto) struct schema *schema = NULL;
    AUTO(batch_free_auto) struct batch *batch = NULL;
    char text[64];
    assert_int_equal(ingest_rejects_schema(&table_id, &schema, NULL), OK);
    assert_true(uuid_equal(&schema->table_id, &table_id));
    assert_int_equal(ingest_rejects_batch(rejects, COUNT(rejects), schema, 77, &batch_id, &batch, NULL), OK);
    assert_int_equal(batch->row_count, 2);
    static const char *const expected[2][6] = {{"77", "", "3", "size", "because", "a0x00\xff"},
                                               {"77", "", "9", "null", "so", ""}};
    for (uint32_t row = 0; row < 2; row++) {
        for (uint32_t column = 0; column < 6; column++) {
            value_text(batch, column, row, text, sizeof text);
            char uuid[UUID_TEXT_BYTES];
            assert_string_equal(text, column == 1 ? uuid_format(&batch_id, uuid) : expected[row][column]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_pieces_give_the_same_rows_and_rejects),
        cmocka_unit_test(compressed_bodies_give_the_same_rows_and_rejects),
        cmocka_unit_test(a_bomb_is_stopped_at_its_limit),
        cmocka_unit_test(broken_arrays_fail_as_a_whole),
        cmocka_unit_test(empty_bodies_and_arrays_have_no_rows),
        cmocka_unit_test(half_a_byte_order_mark_belongs_to_a_bad_row),
        cmocka_unit_test(a_row_over_the_limit_is_a_reject_with_its_text_cut),
        cmocka_unit_test(unknown_members_may_be_ignored_but_must_be_well_formed),
        cmocka_unit_test(a_batch_can_be_taken_in_the_middle),
        cmocka_unit_test(rejects_become_rows_of_the_companion_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
