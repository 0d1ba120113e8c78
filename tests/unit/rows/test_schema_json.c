#include "tests/unit/rows/fixture.h"

static const struct uuid table_id = {{1, 2, 3}};

static enum err_code parse(const char *text, struct schema **out, struct error *err)
{
    return schema_parse(text, strlen(text), &table_id, out, err);
}

static void a_definition_may_leave_out_what_goes_without_saying(void **state)
{
    (void)state;
    AUTO(schema_free_auto) struct schema *schema = NULL;
    AUTO(free_auto) char *text = NULL;
    struct error err = {0};
    assert_int_equal(parse("{\"timestamp\":\"ts\",\"columns\":[{\"name\":\"path\",\"type\":\"string\",\"bloom\":true},"
                           "{\"name\":\"ts\",\"type\":\"timestamp\"},{\"name\":\"d\",\"type\":\"decimal(9,3)\"}]}",
                           &schema, &err),
                     OK);
    assert_true(uuid_equal(&schema->table_id, &table_id));
    assert_int_equal(schema_format(schema, &text, &err), OK);
    static const char expected[] =
        "{\"version\":1,\"timestamp\":\"ts\",\"columns\":["
        "{\"id\":1,\"name\":\"path\",\"type\":\"string\",\"nullable\":true,\"bloom\":true},"
        "{\"id\":2,\"name\":\"ts\",\"type\":\"timestamp\",\"nullable\":false,\"bloom\":false},"
        "{\"id\":3,\"name\":\"d\",\"type\":\"decimal(9,3)\",\"nullable\":true,\"bloom\":false}],"
        "\"sort\":[{\"column\":\"ts\",\"descending\":false}]}";
    assert_string_equal(text, expected);
}

static void the_full_form_round_trips(void **state)
{
    (void)state;
    static const char full[] =
        "{\"version\":7,\"timestamp\":\"ts\",\"columns\":["
        "{\"id\":4,\"name\":\"ts\",\"type\":\"timestamp\",\"nullable\":false,\"bloom\":false},"
        "{\"id\":2,\"name\":\"owner\",\"type\":\"string\",\"nullable\":true,\"bloom\":true,\"bloom_fpp\":0.125,"
        "\"bloom_distinct\":5000},"
        "{\"id\":5,\"name\":\"day\",\"type\":\"date\",\"nullable\":true,\"bloom\":false,\"format\":\"strftime:%d.%m.%"
        "Y\"}],"
        "\"sort\":[{\"column\":\"owner\",\"descending\":true},{\"column\":\"ts\",\"descending\":false}]}";
    AUTO(schema_free_auto) struct schema *schema = NULL;
    AUTO(free_auto) char *text = NULL;
    assert_int_equal(parse(full, &schema, NULL), OK);
    assert_int_equal(schema->version, 7);
    assert_int_equal(schema->sort_keys[0].column, 1);
    assert_int_equal(schema->columns[1].bloom_distinct, 5000);
    assert_int_equal(schema_format(schema, &text, NULL), OK);
    assert_string_equal(text, full);
}

#define TS "{\"name\":\"ts\",\"type\":\"timestamp\"}"

static void wrong_definitions_are_refused_with_the_place(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *error;
    } cases[] = {
        {"{", "expected JSON but found an error at line 1"},
        {"[]", "expected an object but found an array"},
        {"{\"columns\":[" TS "]}", "expected a string at \"timestamp\" but found nothing"},
        {"{\"timestamp\":\"ts\"}", "expected an array at \"columns\" but found nothing"},
        {"{\"timestamp\":\"ts\",\"columns\":[]}", "expected 1 to 2000 columns but found 0"},
        {"{\"timestamp\":\"ts\",\"columns\":[" TS ",{\"name\":7}]}",
         "expected a string at \"columns[1].name\" but found a number"},
        {"{\"timestamp\":\"ts\",\"columns\":[" TS ",7]}", "expected an object at \"columns[1]\" but found a number"},
        {"{\"timestamp\":\"ts\",\"columns\":[" TS ",{\"name\":\"a\",\"type\":\"text\"}]}",
         "column \"a\": expected a type (bool"},
        {"{\"timestamp\":\"ts\",\"columns\":[" TS ",{\"name\":\"a\",\"type\":\"bool\",\"nul\":1}]}",
         "expected no member \"columns[1].nul\""},
        {"{\"timestamp\":\"ts\",\"columns\":[" TS ",{\"name\":\"a\",\"type\":\"string\",\"format\":\"rfc3339\"}]}",
         "expected a format at timestamps and dates only but found one at \"a\""},
        {"{\"timestamp\":\"ts\",\"columns\":[" TS ",{\"name\":\"a\",\"type\":\"date\",\"format\":\"epoch_s\"}]}",
         "expected the format of the date \"a\" to be a pattern without a time of day but found \"epoch_s\""},
        {"{\"timestamp\":\"ts\",\"columns\":[" TS ",{\"name\":\"a\",\"type\":\"timestamp\",\"format\":\"unix\"}]}",
         "column \"a\": expected a format (rfc3339, epoch_s"},
        {"{\"timestamp\":\"ts\",\"columns\":[" TS ",{\"id\":2,\"name\":\"a\",\"type\":\"bool\"}]}",
         "an id in each column or in none"},
        {"{\"timestamp\":\"ts\",\"columns\":[" TS ",{\"name\":\"a\",\"type\":\"string\",\"bloom_fpp\":0.1}]}",
         "expected bloom_fpp and bloom_distinct at columns with a bloom filter only but found one at \"a\""},
        {"{\"timestamp\":\"ts\",\"columns\":[" TS
         ",{\"name\":\"a\",\"type\":\"string\",\"bloom\":true,\"bloom_fpp\":1}]}",
         "expected the bloom_fpp of \"a\" above 0 and below 1 but found 1"},
        {"{\"timestamp\":\"t\",\"columns\":[" TS "]}", "expected the timestamp column \"t\" among the columns"},
        {"{\"timestamp\":\"ts\",\"columns\":[" TS "],\"sort\":[{\"column\":\"x\"}]}", "expected the sort column \"x\""},
        {"{\"timestamp\":\"ts\",\"columns\":[" TS "],\"sort\":[]}", "expected 1 to 8 sort columns but found 0"},
        {"{\"timestamp\":\"ts\",\"columns\":[" TS "],\"extra\":1}", "expected no member \"extra\""},
        {"{\"timestamp\":\"ts\",\"timestamp\":\"ts\",\"columns\":[" TS "]}", "duplicate"},
        {"{\"version\":0,\"timestamp\":\"ts\",\"columns\":[" TS "]}",
         "expected an integer from 1 to 2147483647 at \"version\" but found 0"},
        {"{\"timestamp\":\"ts\",\"columns\":[" TS ",{\"name\":\"a\\u0000\",\"type\":\"bool\"}]}",
         "expected text at \"columns[1].name\" but found a NUL"},
        {"{\"timestamp\":\"ts\",\"columns\":[[[[[1]]]]]}", "at most 4 levels deep"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct schema *schema = NULL;
        struct error err = {0};
        assert_int_equal(parse(cases[i].text, &schema, &err), ERR_INVALID);
        assert_null(schema);
        if (strstr(err.text, cases[i].error) == NULL) {
            fail_msg("expected \"%s\" but found \"%s\"", cases[i].error, err.text);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_definition_may_leave_out_what_goes_without_saying),
        cmocka_unit_test(the_full_form_round_trips),
        cmocka_unit_test(wrong_definitions_are_refused_with_the_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
