#include "tests/unit/ingest/fixture.h"

static struct ingest *new_csv(const struct ingest_csv *csv, enum ingest_unknown unknown)
{
    const struct ingest_options options = {.format = INGEST_CSV, .csv = *csv};
    struct ingest_limits limits = fixture_limits;
    struct ingest *ingest = NULL;
    struct error err = {0};
    limits.unknown = unknown;
    if (ingest_new(&fixture_schema, &options, &limits, &ingest, &err) != OK) {
        fail_msg("%s", err.text);
    }
    return ingest;
}

static const struct ingest_csv plain = {0};
static const struct ingest_csv lenient = {.is_lenient = true};

#define T "2024-01-01T00:00:00Z"

static void any_pieces_give_the_same_rows_and_rejects(void **state)
{
    (void)state;
    static const struct {
        struct ingest_csv csv;
        enum ingest_unknown unknown;
        const char *body, *expected;
    } cases[] = {
        {.body = "\xef\xbb\xbfs,ts,i64\r\n"
                 "one," T ",1\r\n"
                 "\r\n"
                 "\"two, \"\"2\"\"\r\nand more\"," T ",2\n"
                 "," T ",\n"
                 "\"\"," T ",\"3\"\r\n"
                 "a text that takes more than one wide step to find," T ",4\n"
                 "\xc3\xa9\xe2\x82\xac," T ",5",
         .expected = "ok 1 one\n"
                     "ok 2 two, \"2\"\r\nand more\n"
                     "ok null null\n"
                     "ok 3 \n"
                     "ok 4 a text that takes more than one wide step to find\n"
                     "ok 5 \xc3\xa9\xe2\x82\xac\n"},
        {.body =
             "ts,i64,s\n" T ",x,bad\n" T ",1\n" T ",1,a,b\n,1,a\n" T ",1,a\"b\n" T ",1,\"a\"b\n" T ",\"\",a\n" T
             ",1,\"\xff\"\n" T ",1,\xed\xa0\x80 after a text of more than one step\n" T ",7,\"good\"\n\"" T ",1,open\n",
         .expected = "ok 7 good\n"
                     "1 i64: expected an integer but found \"x\" | " T ",x,bad\n"
                     "2 -: expected 3 fields but found 2 | " T ",1\n"
                     "3 -: expected 3 fields but found 4 | " T ",1,a,b\n"
                     "4 ts: expected a value but found none | ,1,a\n"
                     "5 -: expected quotes around a whole field, or doubled inside one | " T ",1,a\"b\n"
                     "6 -: expected quotes around a whole field, or doubled inside one | " T ",1,\"a\"b\n"
                     "7 i64: expected an integer but found \"\" | " T ",\"\",a\n"
                     "8 s: expected UTF-8 but found byte 0xff at byte 1 of a text | " T ",1,\"\xff\"\n"
                     "9 s: expected UTF-8 but found byte 0xed at byte 1 of a text | " T
                     ",1,\xed\xa0\x80 after a text of more than one step\n"
                     "11 -: expected a closing quote but found the end of the row | \"" T ",1,open\n\n"},
        {.csv = {.is_lenient = true},
         .body = "ts,i64,s\n" T "\n" T ", 1 ,a,b\n" T ",1,a\"b\n" T ",1,\"a \"\"q\"\"\"b\"c\n" T ",\"\",a\n" T
                 ", ,a\n" T ",2, a \n1,,\n\n",
         .expected = "ok null null\n"
                     "ok 1 a\n"
                     "ok 1 a\"b\n"
                     "ok 1 a \"q\"b\"c\n"
                     "ok null a\n"
                     "ok null a\n"
                     "ok 2  a \n"
                     "8 ts: expected a time from 2000-01-01T00:00:00.000000Z to 2099-12-31T23:59:59.999999Z but found "
                     "\"1\" | 1,,\n"},
        {.csv = {.delimiter = '\t', .quote = '\'', .null_text = "\\N"},
         .body = "i64\ts\tts\n1\t\t" T "\n\\N\t\\N\t" T "\n2\t'it''s\t\n'\t'" T "'\n3\t'\\N'\t" T "\n\t\t" T "\n",
         .expected = "ok 1 \n"
                     "ok null null\n"
                     "ok 2 it's\t\n\n"
                     "ok 3 \\N\n"
                     "5 i64: expected an integer but found \"\" | \t\t" T "\n"},
        {.unknown = INGEST_UNKNOWN_IGNORE,
         .body = "what,ts,\"i64\",else,s\nx," T ",1,\"y\nz\",a\n",
         .expected = "ok 1 a\n"},
        {.body = "ts\n" T "\n\n\"" T "\"\n\"\"\n",
         .expected = "ok null null\nok null null\n"
                     "3 ts: expected a time in RFC 3339 or whole microseconds but found \"\" | \"\"\n"},
    };
    for (size_t c = 0; c < COUNT(cases); c++) {
        size_t length = strlen(cases[c].body);
        for (size_t piece = 1; piece <= length; piece++) {
            AUTO(ingest_free_auto) struct ingest *ingest = new_csv(&cases[c].csv, cases[c].unknown);
            AUTO(buf_done) struct buf text = {0};
            struct error err = {0};
            if (feed_pieces(ingest, cases[c].body, length, piece, &err) != OK) {
                fail_msg("%s", err.text);
            }
            describe(ingest, &text);
            assert_string_equal((const char *)text.data, cases[c].expected);
        }
    }
}

static void without_a_header_fields_are_columns_in_order(void **state)
{
    (void)state;
    static const char body[] =
        T ",true,1,2,0.5,1e3,text,aGVsbG8=,1,2024-01-02,1.5,01234567-89ab-cdef-0123-456789abcdef,"
          "\"{\"\"a\"\": [1], \"\"\\n\"\": \"\"\\t\\u00e9 b\"\", \"\"c\"\": 2}\",5,f\n";
    static const char *const expected[COLUMNS] = {"1704067200000000",
                                                  "1",
                                                  "1",
                                                  "2",
                                                  "0.5",
                                                  "1000",
                                                  "text",
                                                  "hello",
                                                  "1",
                                                  "19724",
                                                  "150",
                                                  "01234567-89ab-cdef-0123-456789abcdef",
                                                  "{\"a\": [1], \"\\n\": \"\\t\\u00e9 b\", \"c\": 2}",
                                                  "5",
                                                  "0"};
    const struct ingest_csv csv = {.has_no_header = true};
    AUTO(ingest_free_auto) struct ingest *ingest = new_csv(&csv, INGEST_UNKNOWN_REJECT);
    assert_int_equal(feed_pieces(ingest, body, strlen(body), 7, NULL), OK);
    assert_int_equal(ingest_batch(ingest)->row_count, 1);
    for (uint32_t c = 0; c < COLUMNS; c++) {
        char text[256];
        value_text(ingest_batch(ingest), c, 0, text, sizeof text);
        assert_string_equal(text, expected[c]);
    }
}

/* Decodes ts,<column> with one row. */
static struct ingest *decode(const struct ingest_csv *csv, uint32_t column, const char *field)
{
    struct ingest *ingest = new_csv(csv, INGEST_UNKNOWN_REJECT);
    char body[512];
    (void)snprintf(body, sizeof body, column == TS ? "%s\n%s\n" : "%s,ts\n%s," T "\n", fixture_columns[column].name,
                   field);
    assert_int_equal(feed_pieces(ingest, body, strlen(body), sizeof body, NULL), OK);
    assert_int_equal(ingest_rows_seen(ingest), 1);
    return ingest;
}

static void good_values_arrive_exactly(void **state)
{
    (void)state;
    static const struct {
        uint32_t column;
        const char *field, *expected;
    } cases[] = {
        {TS, "2024-02-29T12:00:00.123456789+01:00", "1709204400123456"},
        {TS, "2024-02-29 12:00:00", "1709208000000000"},
        {TS, "2024-02-29", "1709164800000000"},
        {TS, "1709204400000001", "1709204400000001"},
        {TIME, "-1", "-1"},
        {BOOL, "TRUE", "1"},
        {BOOL, "False", "0"},
        {BOOL, "t", "1"},
        {BOOL, "F", "0"},
        {BOOL, "1", "1"},
        {BOOL, "\"0\"", "0"},
        {BOOL, "", "null"},
        {I32, "-2147483648", "-2147483648"},
        {I32, "+2147483647", "2147483647"},
        {I32, "007", "7"},
        {I32, "-007", "-7"},
        {I32, "3.0", "3"},
        {I32, "3.", "3"},
        {I32, "-0", "0"},
        {I64, "9007199254740993", "9007199254740993"},
        {I64, "-9223372036854775808", "-9223372036854775808"},
        {I64, "0000000000000000000000000000009223372036854775807", "9223372036854775807"},
        {FLOAT, ".5", "0.5"},
        {FLOAT, "NaN", "nan"},
        {DOUBLE, "5.", "5"},
        {DOUBLE, "-00.5e1", "-5"},
        {DOUBLE, "+1e400x", NULL},
        {DOUBLE, "-inf", "-inf"},
        {DOUBLE, "Infinity", "inf"},
        {DOUBLE, "-0.0", "-0"},
        {DOUBLE, "000123456789012345678901234567890", "1.2345678901234568e+29"},
        {STRING, "null", "null"},
        {STRING, " a b ", " a b "},
        {STRING, "\"\"\"\"", "\""},
        {STRING, "\"a\rb\"", "a\rb"},
        {BYTES, "aGVsbG8=", "hello"},
        {BYTES, "\"\"", ""},
        {DATE, "1969-12-31", "-1"},
        {DECIMAL, "-12.34", "-1234"},
        {DECIMAL, "+.5", "50"},
        {UUID, "01234567-89AB-cdef-0123-456789abcdef", "01234567-89ab-cdef-0123-456789abcdef"},
        {JSON, "5", "5"},
        {JSON, "null", "null"},
        {JSON, "\" [1,\"\"a\"\"] \"", "[1,\"a\"]"},
        {JSON, "\"\"\"as long as the memory behind it: .............................\"\"\"",
         "\"as long as the memory behind it: .............................\""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(ingest_free_auto) struct ingest *ingest = decode(&plain, cases[i].column, cases[i].field);
        size_t rejects;
        const struct ingest_reject *reject = ingest_rejects(ingest, &rejects);
        if (cases[i].expected == NULL) {
            assert_int_equal(rejects, 1);
            continue;
        }
        if (rejects != 0) {
            fail_msg("%s: %s", cases[i].field, reject->reason);
        }
        char text[256];
        value_text(ingest_batch(ingest), cases[i].column, 0, text, sizeof text);
        assert_string_equal(text, cases[i].expected);
    }
}

static void bad_values_are_rejects_with_column_and_reason(void **state)
{
    (void)state;
    static const struct {
        uint32_t column;
        const char *field, *reason;
    } cases[] = {
        {TS, "1709204400",
         "expected a time from 2000-01-01T00:00:00.000000Z to 2099-12-31T23:59:59.999999Z but found "
         "\"1709204400\""},
        {TS, "today", "expected a time in RFC 3339 or whole microseconds but found \"today\""},
        {TS, "1.5", "expected a time in RFC 3339 or whole microseconds but found \"1.5\""},
        {TS, "2024-02-30", "expected a day and a time of day that exist but found \"2024-02-30\""},
        {BOOL, "yes", "expected true or false but found \"yes\""},
        {BOOL, "\"\"", "expected true or false but found \"\""},
        {I32, "2147483648", "expected an integer from -2147483648 to 2147483647 but found \"2147483648\""},
        {I32, "1.5", "expected an integer but found \"1.5\""},
        {I32, "0x10", "expected an integer but found \"0x10\""},
        {I32, " 1", "expected an integer but found \" 1\""},
        {I32, "1 ", "expected an integer but found \"1 \""},
        {I32, "1_000", "expected an integer but found \"1_000\""},
        {I32, "+-1", "expected an integer but found \"+-1\""},
        {I32, ".", "expected an integer but found \".\""},
        {I32, "NaN", "expected an integer but found \"NaN\""},
        {I32, "\"1,000\"", "expected an integer but found \"1,000\""},
        {I32, "\"1\"\"\"", "expected an integer but found \"1\"\"\""},
        {DOUBLE, "1e309", "expected a number within the range of a double but found \"1e309\""},
        {DOUBLE, "nan(1)", "expected a number but found \"nan(1)\""},
        {DOUBLE, "1d", "expected a number but found \"1d\""},
        {BYTES, "aGVsbG8", "expected bytes in padded base64 but found \"aGVsbG8\""},
        {DATE, "2024-02-30", "expected a date such as \"2026-11-30\" but found \"2024-02-30\""},
        {DECIMAL, "12.345", "expected a decimal(9,2) without rounding but found \"12.345\""},
        {DECIMAL, "12x", "expected a decimal number but found \"12x\""},
        {UUID, "1", "expected a UUID but found \"1\""},
        {JSON, "[1", "expected \",\" or \"]\" but found the end of the row"},
        {JSON, "1 2", "expected the end of the field but found 2"},
        {JSON, "{a}", "expected a name in quotes but found a"},
        {STRING, "\"\xff\"", "expected UTF-8 but found byte 0xff at byte 1 of a text"},
        {I32, "12345678901234567890123456789012345678901234567890",
         "expected an integer from -2147483648 to 2147483647 but found "
         "\"1234567890123456789012345678901234567890...\""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(ingest_free_auto) struct ingest *ingest = decode(&plain, cases[i].column, cases[i].field);
        size_t count;
        const struct ingest_reject *reject = ingest_rejects(ingest, &count);
        if (count != 1) {
            fail_msg("expected \"%s\" to be a reject", cases[i].field);
        }
        assert_int_equal(ingest_batch(ingest)->row_count, 0);
        assert_string_equal(reject->reason, cases[i].reason);
        assert_string_equal(reject->column, fixture_columns[cases[i].column].name);
    }
}

static void space_around_values_is_nothing_to_who_is_lenient(void **state)
{
    (void)state;
    static const struct {
        uint32_t column;
        const char *field, *expected;
    } cases[] = {
        {I32, " 1\t", "1"},     {I32, "  ", "null"},  {DOUBLE, "\" 1.5 \"", "1.5"}, {TS, " " T " ", NULL},
        {STRING, " a ", " a "}, {BOOL, " true", "1"}, {DATE, "\"\"", "null"},       {STRING, "\"a\"\"b\"c", "a\"bc"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(ingest_free_auto) struct ingest *ingest = decode(&lenient, cases[i].column, cases[i].field);
        assert_int_equal(ingest_batch(ingest)->row_count, 1);
        char text[256];
        value_text(ingest_batch(ingest), cases[i].column, 0, text, sizeof text);
        assert_string_equal(text, cases[i].expected == NULL ? "1704067200000000" : cases[i].expected);
    }
}

static void headers_that_cannot_be_the_table_s_are_errors(void **state)
{
    (void)state;
    static const struct {
        const char *body, *error;
    } cases[] = {
        {"ts,nothing\n", "expected the header to name columns of the table but found \"nothing\""},
        {"ts,i64\r" T ",1\r" T ",2\r", "expected the header to name columns of the table but found \"i64\"; hint: "
                                       "lines end in LF or CR LF, and not in CR "
                                       "alone"},
        {"ts,\"no\r\nthing\"\n", "expected the header to name columns of the table but found \"no\r\nthing\""},
        {"ts,i64,i64\n", "expected the header to name each column once but found \"i64\" twice"},
        {"i64,s\n1,a\n",
         "expected the header to name \"ts\", which must not be null; hint: does the file have a header?"},
        {"ts,a\"b\n", "could not read the header: expected quotes around a whole field, or doubled inside one"},
        {"ts,\"s", "could not read the header: expected a closing quote but found the end of the row"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(ingest_free_auto) struct ingest *ingest = new_csv(&plain, INGEST_UNKNOWN_REJECT);
        struct error err = {0};
        assert_int_equal(feed_pieces(ingest, cases[i].body, strlen(cases[i].body), 3, &err), ERR_INVALID);
        assert_string_equal(err.text, cases[i].error);
        assert_int_equal(ingest_rows_seen(ingest), 0);
    }
}

static void names_that_are_no_identifiers_meet_what_was_made_of_them(void **state)
{
    (void)state;
    static const char csv[] = "ts,\"a name of (more than) sixteen-bytes \"\n" T ",5\n";
    static const char json[] = "{\"ts\":\"" T "\",\" a name: of-more than.sixteen bytes\":5}\n";
    AUTO(ingest_free_auto) struct ingest *ingest = new_csv(&plain, INGEST_UNKNOWN_REJECT);
    struct error err = {0};
    assert_int_equal(feed_pieces(ingest, csv, strlen(csv), 5, &err), OK);
    assert_int_equal(ingest_batch(ingest)->columns[LONG].values.i64[0], 5);
    AUTO(ingest_free_auto) struct ingest *other = new_ingest(INGEST_NDJSON, INGEST_PLAIN, &fixture_limits);
    assert_int_equal(feed_pieces(other, json, strlen(json), 5, &err), OK);
    assert_int_equal(ingest_batch(other)->row_count, 1);
    assert_int_equal(ingest_batch(other)->columns[LONG].values.i64[0], 5);
}

static void options_that_contradict_each_other_are_refused(void **state)
{
    (void)state;
    static const struct ingest_csv cases[] = {
        {.delimiter = '"'}, {.delimiter = 'a'}, {.delimiter = '\n'},   {.delimiter = '.'},
        {.quote = ','},     {.quote = '5'},     {.delimiter = '\xc3'},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct ingest_options options = {.format = INGEST_CSV, .csv = cases[i]};
        struct ingest *ingest = NULL;
        struct error err = {0};
        assert_int_equal(ingest_new(&fixture_schema, &options, &fixture_limits, &ingest, &err), ERR_INVALID);
        assert_non_null(strstr(err.text, "expected delimiter and quote of CSV to differ"));
        assert_null(ingest);
    }
}

static void a_row_that_never_ends_is_one_reject(void **state)
{
    (void)state;
    struct ingest_limits limits = fixture_limits;
    const struct ingest_options options = {.format = INGEST_CSV};
    struct ingest *ingest_raw = NULL;
    limits.max_row_bytes = 64;
    limits.max_reject_text_bytes = 32;
    assert_int_equal(ingest_new(&fixture_schema, &options, &limits, &ingest_raw, NULL), OK);
    AUTO(ingest_free_auto) struct ingest *ingest = ingest_raw;
    AUTO(buf_done) struct buf body = {0};
    assert_int_equal(buf_append_text(&body, "ts,s\n" T ",\"open", NULL), OK);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(buf_append_text(&body, "\n" T ",more", NULL), OK);
    }
    assert_int_equal(feed_pieces(ingest, body.data, body.length_bytes, 13, NULL), OK);
    size_t count;
    const struct ingest_reject *reject = ingest_rejects(ingest, &count);
    assert_int_equal(count, 1);
    assert_int_equal(reject->text_bytes, 32);
    assert_non_null(strstr(reject->reason, "expected a row of at most 64 bytes but found"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_pieces_give_the_same_rows_and_rejects),
        cmocka_unit_test(without_a_header_fields_are_columns_in_order),
        cmocka_unit_test(good_values_arrive_exactly),
        cmocka_unit_test(bad_values_are_rejects_with_column_and_reason),
        cmocka_unit_test(space_around_values_is_nothing_to_who_is_lenient),
        cmocka_unit_test(headers_that_cannot_be_the_table_s_are_errors),
        cmocka_unit_test(names_that_are_no_identifiers_meet_what_was_made_of_them),
        cmocka_unit_test(options_that_contradict_each_other_are_refused),
        cmocka_unit_test(a_row_that_never_ends_is_one_reject),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
