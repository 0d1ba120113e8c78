#include <stdlib.h>

#include "tests/unit/ingest/fixture.h"

/* Feeds {"ts":"2024-01-01T00:00:00Z","<column>":<value>} and gives back the decoder. */
static struct ingest *decode(uint32_t column, const char *value)
{
    struct ingest *ingest = new_ingest(INGEST_NDJSON, INGEST_PLAIN, &fixture_limits);
    char body[2048];
    if (column == TS) {
        (void)snprintf(body, sizeof body, "{\"ts\":%s}", value);
    } else {
        (void)snprintf(body, sizeof body, "{\"ts\":\"2024-01-01T00:00:00Z\",\"%s\":%s}", fixture_columns[column].name,
                       value);
    }
    assert_int_equal(ingest_feed(ingest, body, strlen(body), NULL), OK);
    assert_int_equal(ingest_finish(ingest, NULL), OK);
    assert_int_equal(ingest_rows_seen(ingest), 1);
    return ingest;
}

static void good_values_arrive_exactly(void **state)
{
    (void)state;
    static const struct {
        uint32_t column;
        const char *value;
        const char *expected;
    } cases[] = {
        {TS, "\"2024-02-29T12:00:00.000001+01:00\"", "1709204400000001"},
        {TS, "\"2024-02-29T12:00:00.123456999Z\"", "1709208000123456"},
        {TS, "\"2024-02-29 12:00:00.5\"", "1709208000500000"},
        {TS, "\"2016-12-31T23:59:60.5Z\"", "1483228800500000"},
        {TS, "1709204400000001", "1709204400000001"},
        {TS, "\"2000-01-01T00:00:00Z\"", "946684800000000"},
        {TS, "4102444799999999", "4102444799999999"},
        {BOOL, "true", "1"},
        {BOOL, "false", "0"},
        {BOOL, "null", "null"},
        {I32, "-2147483648", "-2147483648"},
        {I32, "2147483647", "2147483647"},
        {I32, "3.0", "3"},
        {I32, "30e-1", "3"},
        {I32, "-0", "0"},
        {I64, "9007199254740993", "9007199254740993"},
        {I64, "9223372036854775807", "9223372036854775807"},
        {I64, "-9223372036854775808", "-9223372036854775808"},
        {I64, "1e18", "1000000000000000000"},
        {I64, "10000000000000000000000e-10", "1000000000000"},
        {FLOAT, "0.1", "0.100000001"},
        {FLOAT, "16777217", "16777216"},
        {FLOAT, "1.00000017881393432617187499", "1.00000012"}, /* just below the middle: two roundings would go up */
        {FLOAT, "1e-45", "1.40129846e-45"},
        {DOUBLE, "0.1", "0.10000000000000001"},
        {DOUBLE, "-0.0", "-0"},
        {DOUBLE, "\"NaN\"", "nan"},
        {DOUBLE, "\"-Infinity\"", "-inf"},
        {FLOAT, "\"Infinity\"", "inf"},
        {FLOAT, "-0", "-0"},
        {DOUBLE, "1e400e", NULL},
        {DOUBLE, "1.7976931348623157e308", "1.7976931348623157e+308"},
        {DOUBLE, "5e-324", "4.9406564584124654e-324"},
        {DOUBLE, "1e-400", "0"},
        {DOUBLE, "9007199254740993", "9007199254740992"},
        {DOUBLE, "9007199254740993.00000000000000000000001", "9007199254740994"},
        {DOUBLE, "123456789012345678901234567890", "1.2345678901234568e+29"},
        {STRING, "\"\"", ""},
        {STRING, "\"null\"", "null"},
        {STRING, "\"a\\\"\\\\\\/\\b\\f\\n\\r\\tz\"", "a\"\\/\b\f\n\r\tz"},
        {STRING, "\"\\u0000x\\u00e9\\u20AC\\ud83d\\ude00\"", "0x00x\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
        {STRING, "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 and a longer tail of plain text\"",
         "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 and a longer tail of plain text"},
        {STRING, "\"exactly sixteen.\"", "exactly sixteen."},
        {STRING, "\"plain text first, then \\u0041 and \\u0042 far behind it\"",
         "plain text first, then A and B far behind it"},
        {BYTES, "\"\"", ""},
        {BYTES, "\"aGVsbG8=\"", "hello"},
        {BYTES, "\"aGVsbA==\"", "hell"},
        {BYTES, "\"AGEA\"", "0x00a0x00"},
        {BYTES, "\"fn5+Pz8\\/\"", "~~~???"},
        {TIME, "-1", "-1"},
        {TIME, "\"1969-12-31T23:59:59.999999Z\"", "-1"},
        {TIME, "\"2024-01-01\"", "1704067200000000"},
        {TIME, "\"0001-01-01T00:00:00Z\"", "-62135596800000000"},
        {TIME, "\"0001-01-01T01:00:00+01:00\"", "-62135596800000000"},
        {TIME, "\"9999-12-31T23:59:59.999999999Z\"", "253402300799999999"},
        {TIME, "\"9999-12-31T22:59:59.999999-01:00\"", "253402300799999999"},
        {TIME, "-62135596800000000", "-62135596800000000"},
        {TIME, "253402300799999999", "253402300799999999"},
        {TIME, "\"2016-12-31T23:59:60Z\"", "1483228800000000"},
        {TIME, "\"2017-01-01T00:59:60.25+01:00\"", "1483228800250000"},
        {TIME, "\"1972-06-30 23:59:60\"", "78796800000000"},
        {TIME, "1e3", "1000"},
        {DATE, "\"1970-01-02\"", "1"},
        {DATE, "\"1969-12-31\"", "-1"},
        {DECIMAL, "12.34", "1234"},
        {DECIMAL, "\"-12.34\"", "-1234"},
        {DECIMAL, "12.3400", "1234"},
        {DECIMAL, "\"\\u0031\"", "100"},
        {DECIMAL, "1234e-2", "1234"},
        {DECIMAL, "9999999.99", "999999999"},
        {DECIMAL, "1.00000000000000000000000000000", "100"},
        {DECIMAL, "0.000", "0"},
        {UUID, "\"0123456789ab-cdef\"", NULL},
        {UUID, "\"01234567-89AB-cdef-0123-456789abcdef\"", "01234567-89ab-cdef-0123-456789abcdef"},
        {JSON, " {\"a\" : [1, 2.50 ,{\"a\":1,\"a\":2}], \"b\":\"\\u00e9\xc3\xa9\"} ",
         "{\"a\" : [1, 2.50 ,{\"a\":1,\"a\":2}], \"b\":\"\\u00e9\xc3\xa9\"}"},
        {JSON, "\"text\"", "\"text\""},
        {JSON, "-1.5e+7", "-1.5e+7"},
        {JSON, "[[[[[[[[]]]]]]]]", "[[[[[[[[]]]]]]]]"},
        {JSON, "[ ]", "[ ]"},
        {JSON, "{ }", "{ }"},
        {JSON, "true", "true"},
        {JSON, "null", "null"},
        {LONG, "5", "5"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(ingest_free_auto) struct ingest *ingest = decode(cases[i].column, cases[i].value);
        size_t rejects;
        const struct ingest_reject *reject = ingest_rejects(ingest, &rejects);
        if (cases[i].expected == NULL) {
            assert_int_equal(rejects, 1);
            continue;
        }
        if (rejects != 0) {
            fail_msg("%s: %s", cases[i].value, reject->reason);
        }
        char text[256];
        value_text(ingest_batch(ingest), cases[i].column, 0, text, sizeof text);
        assert_string_equal(text, cases[i].expected);
    }
}

#define RANGE_I32 "expected an integer from -2147483648 to 2147483647 but found "
#define RANGE_I64 "expected an integer from -9223372036854775808 to 9223372036854775807 but found "
#define WINDOW    "expected a time from 2000-01-01T00:00:00.000000Z to 2099-12-31T23:59:59.999999Z but found "
#define TIME_FORM "expected a time in RFC 3339 or whole microseconds but found "

static void bad_values_are_rejects_with_column_and_reason(void **state)
{
    (void)state;
    static const struct {
        uint32_t column;
        const char *value;
        const char *reason;
    } cases[] = {
        {TS, "null", "expected a value but found null"},
        {TS, "\"1999-12-31T23:59:59.999999Z\"", WINDOW "\"1999-12-31T23:59:59.999999Z\""},
        {TS, "4102444800000000", WINDOW "4102444800000000"},
        {TS, "\"yesterday\"", TIME_FORM "\"yesterday\""},
        {TS, "\"2024-01-01T00:00:00.Z\"", TIME_FORM "\"2024-01-01T00:00:00.Z\""},
        {TS, "\"2024-01-01 00:00:00 CET\"",
         "expected an offset such as Z or +01:00 (zone names mean different things to different people) but found "
         "\"2024-01-01 00:00:00 CET\""},
        {TS, "\"2024-02-30T00:00:00Z\"",
         "expected a day and a time of day that exist but found \"2024-02-30T00:00:00Z\""},
        {TS, "\"2024-01-01T00:00:60Z\"", "expected second 60 only behind 23:59 UTC but found \"2024-01-01T00:00:60Z\""},
        {TIME, "253402300800000000", "expected a time in the years 0001 to 9999 but found 253402300800000000"},
        {TIME, "\"0000-01-01\"", "expected a time in the years 0001 to 9999 but found \"0000-01-01\""},
        {TIME, "-62135596800000001", "expected a time in the years 0001 to 9999 but found -62135596800000001"},
        {TIME, "\"0001-01-01T00:00:00+00:01\"",
         "expected a time in the years 0001 to 9999 but found \"0001-01-01T00:00:00+00:01\""},
        {TIME, "\"9999-12-31T23:59:60Z\"",
         "expected a time in the years 0001 to 9999 but found \"9999-12-31T23:59:60Z\""},
        {TIME, "\"2016-12-31T23:59:60+01:00\"",
         "expected second 60 only behind 23:59 UTC but found \"2016-12-31T23:59:60+01:00\""},
        {TIME, "\"2016-12-31T23:59:61Z\"",
         "expected a day and a time of day that exist but found \"2016-12-31T23:59:61Z\""},
        {TIME, "\"2024-01-01T24:00:00Z\"",
         "expected a day and a time of day that exist but found \"2024-01-01T24:00:00Z\""},
        {TIME, "\"1709204400\"", TIME_FORM "\"1709204400\""},
        {TS, "true", TIME_FORM "true"},
        {TS, "1.5", TIME_FORM "1.5"},
        {BOOL, "1", "expected true or false but found 1"},
        {BOOL, "\"true\"", "expected true or false but found \"true\""},
        {BOOL, "tru", "expected true or false but found tru"},
        {BOOL, "nul", "expected a value but found nul"},
        {BOOL, "", "expected true or false but found }"},
        {I32, "2147483648", RANGE_I32 "2147483648"},
        {I32, "-2147483649", RANGE_I32 "-2147483649"},
        {I32, "1.5", "expected an integer but found 1.5"},
        {I32, "\"5\"", "expected an integer but found \"5\""},
        {I32, "{\"a\":1}", "expected an integer but found an object"},
        {I32, "[1]", "expected an integer but found an array"},
        {I32, "01", "expected an integer but found 01"},
        {I32, "-", "expected an integer but found -"},
        {I32, "+1", "expected an integer but found +1"},
        {I32, "1e", "expected an integer but found 1e"},
        {I32, "1.", "expected an integer but found 1."},
        {I64, "9223372036854775808", RANGE_I64 "9223372036854775808"},
        {I64, "-9223372036854775809", RANGE_I64 "-9223372036854775809"},
        {I64, "1e19", RANGE_I64 "1e19"},
        {I64, "1e999999999999", RANGE_I64 "1e999999999999"},
        {I64, "1e-999999999999", "expected an integer but found 1e-999999999999"},
        {FLOAT, "1e39", "expected a number within the range of a float but found 1e39"},
        {DOUBLE, "1e309", "expected a number within the range of a double but found 1e309"},
        {DOUBLE, "NaN", "expected a number but found NaN"},
        {DOUBLE, "\"1.5\"", "expected a number but found \"1.5\""},
        {STRING, "5", "expected a string but found 5"},
        {STRING, "[\"a\"]", "expected a string but found an array"},
        {STRING, "\"a\xff\"", "expected UTF-8 but found byte 0xff at byte 2 of a text"},
        {STRING, "\"long enough for a wide step \xed\xa0\x80\"",
         "expected UTF-8 but found byte 0xed at byte 29 of a text"},
        {STRING, "\"\\ud800\"", "expected a JSON escape (surrogates in pairs) but found \"\\ud800\""},
        {STRING, "\"\\udc00\\ud800\"", "expected a JSON escape (surrogates in pairs) but found \"\\udc00\""},
        {STRING, "\"\\x41\"", "expected a JSON escape (surrogates in pairs) but found \"\\x41\"}\""},
        {STRING, "\"\\u12g4\"", "expected a JSON escape (surrogates in pairs) but found \"\\u12g4\""},
        {STRING, "\"a\tb\"", "expected no control character in a string but found 0x09"},
        {STRING, "\"open", "expected a closing quote but found the end of the row"},
        {STRING, "\"open\\", "expected a JSON escape (surrogates in pairs) but found \"\\}\""},
        {BYTES, "\"aGVsbG8\"", "expected bytes in padded base64 but found \"aGVsbG8\""},
        {BYTES, "\"aGVsbG9=\"", "expected bytes in padded base64 but found \"aGVsbG9=\""},
        {BYTES, "\"a===\"", "expected bytes in padded base64 but found \"a===\""},
        {BYTES, "\"aG=sbG8=\"", "expected bytes in padded base64 but found \"aG=sbG8=\""},
        {BYTES, "7", "expected bytes in base64 but found 7"},
        {DATE, "\"2024-02-30\"", "expected a date such as \"2026-11-30\" but found \"2024-02-30\""},
        {DATE, "\"2024-01-01T00:00:00Z\"", "expected a date such as \"2026-11-30\" but found \"2024-01-01T00:00:00Z\""},
        {DATE, "7", "expected a date such as \"2026-11-30\" but found 7"},
        {DECIMAL, "12.345", "expected a decimal(9,2) without rounding but found 12.345"},
        {DECIMAL, "1e-3", "expected a decimal(9,2) without rounding but found 1e-3"},
        {DECIMAL, "10000000", "expected a number within the range of decimal(9,2) but found 10000000"},
        {DECIMAL, "\"\"", "expected a decimal number but found \"\""},
        {DECIMAL, "\"1x\"", "expected a decimal number but found \"1x\""},
        {DECIMAL, "\"\\u0031x\"", "expected a decimal number but found \"\\u0031x\""},
        {UUID, "\"0123456789abcdef0123456789abcdef\"",
         "expected a UUID but found \"0123456789abcdef0123456789abcdef\""},
        {JSON, "[1,]", "expected a JSON value but found ]"},
        {JSON, "{\"a\"}", "expected \":\" but found }"},
        {JSON, "{a:1}", "expected a name in quotes but found a"},
        {JSON, "[1 2]", "expected \",\" or \"]\" but found 2"},
        {JSON, "[[[[[[[[[]]]]]]]]]", "expected at most 8 levels of nesting"},
        {JSON, "[\"\xff\"]", "expected UTF-8 but found byte 0xff at byte 1 of a text"},
        {JSON, "truth", "expected a JSON value but found truth"},
        {JSON, "\"\\ud800\"", "expected a JSON escape (surrogates in pairs) but found \"\\ud800\""},
        {JSON, "{\"\\udfff\":1}", "expected a JSON escape (surrogates in pairs) but found \"\\udfff\""},
        {JSON, "[\"\\ud83d\\u0041\"]", "expected a JSON escape (surrogates in pairs) but found \"\\ud83d\""},
        {JSON, "01", "expected a JSON number but found 01"},
        {JSON, "[1", "expected \",\" or \"]\" but found }"},
        {STRING, "12345678901234567890123456789012345678901234567890",
         "expected a string but found 1234567890123456789012345678901234567890..."},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(ingest_free_auto) struct ingest *ingest = decode(cases[i].column, cases[i].value);
        size_t count;
        const struct ingest_reject *reject = ingest_rejects(ingest, &count);
        if (count != 1) {
            fail_msg("expected \"%s\" to be a reject", cases[i].value);
        }
        assert_int_equal(ingest_batch(ingest)->row_count, 0);
        if (strcmp(reject->reason, cases[i].reason) != 0) {
            fail_msg("%s: expected \"%s\" but found \"%s\"", cases[i].value, cases[i].reason, reject->reason);
        }
        assert_string_equal(reject->column, fixture_columns[cases[i].column].name);
    }
}

/* The same moment in each unit, as a number and as text, in JSON and in CSV; and what is not even a number. */
static void columns_say_in_which_unit_their_numbers_are(void **state)
{
    (void)state;
    static const struct schema_column columns[] = {
        {.id = 1, .name = "ts", .type = COLUMN_TIMESTAMP, .format = "epoch_s"},
        {.id = 2, .name = "ms", .type = COLUMN_TIMESTAMP, .nullable = true, .format = "epoch_ms"},
        {.id = 3, .name = "us", .type = COLUMN_TIMESTAMP, .nullable = true, .format = "epoch_us"},
        {.id = 4, .name = "ns", .type = COLUMN_TIMESTAMP, .nullable = true, .format = "epoch_ns"},
    };
    const struct schema built = {.version = 1, .column_count = COUNT(columns), .columns = columns, .sort_key_count = 1};
    static const struct {
        enum ingest_format format;
        const char *body;
    } cases[] = {
        {INGEST_NDJSON,
         "{\"ts\":1709204400.25,\"ms\":1709204400250,\"us\":1709204400250000,\"ns\":1709204400250000999}\n"
         "{\"ts\":\"1709204400.25\",\"ms\":\"1709204400250\",\"us\":\"1709204400250000\",\"ns\":"
         "\"1.70920440025e18\"}\n"
         "{\"ts\":1709204400,\"ms\":\"2024-02-29T11:00:00Z\"}\n"},
        {INGEST_CSV, "ts,ms,us,ns\n1709204400.25,1709204400250,1709204400250000,1709204400250000999\n"
                     "\"1709204400.25\",1709204400250.0,+1709204400250000,1709204400250000000\n"
                     "1709204400,2024-02-29T11:00:00Z,,\n"},
    };
    for (size_t c = 0; c < COUNT(cases); c++) {
        AUTO(schema_free_auto) struct schema *schema = NULL;
        struct ingest *made = NULL;
        const struct ingest_options options = {.format = cases[c].format};
        size_t count;
        assert_int_equal(schema_new(&built, &schema, NULL), OK);
        assert_int_equal(ingest_new(schema, &options, &fixture_limits, &made, NULL), OK);
        AUTO(ingest_free_auto) struct ingest *ingest = made;
        assert_int_equal(feed_pieces(ingest, cases[c].body, strlen(cases[c].body), 11, NULL), OK);
        const struct batch *batch = ingest_batch(ingest);
        assert_int_equal(batch->row_count, 2);
        for (uint32_t i = 0; i < COUNT(columns); i++) {
            assert_true(batch->columns[i].values.i64[0] == INT64_C(1709204400250000));
            assert_true(batch->columns[i].values.i64[1] == INT64_C(1709204400250000));
        }
        const struct ingest_reject *reject = ingest_rejects(ingest, &count);
        assert_int_equal(count, 1);
        assert_string_equal(reject->column, "ms");
        assert_string_equal(reject->reason,
                            "expected a time in milliseconds since 1970 but found \"2024-02-29T11:00:00Z\"");
    }
}

static uint64_t next_random(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random;
}

/* Checks the quick ways of number_to_double against the C library, on doubles printed in full and on wild digits. */
static void random_doubles_are_the_nearest(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    uint64_t random = 88172645463325252U;
    struct ingest_limits limits = fixture_limits;
    limits.max_decoded_bytes = SIZE_MAX;
    AUTO(ingest_free_auto) struct ingest *ingest = new_ingest(INGEST_NDJSON, INGEST_PLAIN, &limits);
    double *expected = calloc(MANY, sizeof *expected);
    float *expected_floats = calloc(MANY, sizeof *expected_floats);
    for (size_t i = 0; i < MANY; i++) {
        char number[64];
        char body[160];
        uint64_t digits = next_random(&random) >> (next_random(&random) % 60);
        int exponent = (int)(next_random(&random) % 60) - 30;
        if (i % 2 == 0) {
            (void)snprintf(number, sizeof number, "%.17g", (double)(int64_t)digits / 3 * 0x1p-40);
        } else {
            (void)snprintf(number, sizeof number, "%" PRIu64 "e%d", digits, exponent);
        }
        expected[i] = strtod(number, NULL);
        expected_floats[i] = strtof(number, NULL);
        int length = snprintf(body, sizeof body, "{\"ts\":1700000000000000,\"d\":%s,\"f\":%.40s}\n", number,
                              expected_floats[i] * 0 == 0 ? number : "0");
        assert_int_equal(ingest_feed(ingest, body, (size_t)length, NULL), OK);
    }
    const struct batch *batch = ingest_batch(ingest);
    assert_int_equal(batch->row_count, MANY);
    for (size_t i = 0; i < MANY; i++) {
        assert_memory_equal(&batch->columns[DOUBLE].values.f64[i], &expected[i], sizeof expected[i]);
        if (expected_floats[i] * 0 == 0) {
            assert_memory_equal(&batch->columns[FLOAT].values.f32[i], &expected_floats[i], sizeof expected_floats[i]);
        }
    }
    free(expected);
    free(expected_floats);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_values_arrive_exactly),
        cmocka_unit_test(bad_values_are_rejects_with_column_and_reason),
        cmocka_unit_test(columns_say_in_which_unit_their_numbers_are),
        cmocka_unit_test(random_doubles_are_the_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
