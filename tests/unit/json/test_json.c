#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/json/json.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static struct json *parsed(const char *text)
{
    struct json *json = NULL;
    assert_int_equal(json_parse(text, strlen(text), NULL, &json, NULL), OK);
    return json;
}

static void documents_within_the_limits_parse_and_others_do_not(void **state)
{
    (void)state;
    static const struct json_limits small = {.max_bytes = 20, .max_depth = 2};
    static const struct {
        const char *text;
        const char *error; /* NULL: it parses */
    } cases[] = {
        {"{\"a\":[1]}", NULL},
        {"\"[[[[\\\"[[\"", NULL},
        {"[]", NULL},
        {"7", NULL},
        {"\"a\\u0000b\"", NULL},
        {"[[[]]]", "at most 2 levels deep"},
        {"[1,2,3,4,5,6,7,8,9,10]", "at most 20 bytes of JSON but found 22"},
        {"{\"a\":1,\"a\":2}", "duplicate"},
        {"[1] 2", "expected JSON"},
        {"[1,]", "expected JSON but found an error at line 1, column 4"},
        {"", "expected JSON"},
        {"\"\xff\"", "unable to decode byte 0xff"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_free_auto) struct json *json = NULL;
        struct error err = {0};
        enum err_code code = json_parse(cases[i].text, strlen(cases[i].text), &small, &json, &err);
        assert_int_equal(code, cases[i].error == NULL ? OK : ERR_INVALID);
        assert_int_equal(json == NULL, cases[i].error != NULL);
        if (cases[i].error != NULL && strstr(err.text, cases[i].error) == NULL) {
            fail_msg("expected \"%s\" but found \"%s\"", cases[i].error, err.text);
        }
    }
}

static void getters_take_the_right_kind_and_name_the_place_of_the_wrong_one(void **state)
{
    (void)state;
    AUTO(json_free_auto)
    struct json *root = parsed("{\"s\":\"x\",\"i\":-5,\"d\":0.5,\"b\":true,\"o\":{\"k\":[1,\"two\"]},\"a\":[1],\"n\":"
                               "null,\"z\":\"a\\u0000\"}");
    const char *text = NULL;
    int64_t number = 0;
    double real = 0;
    bool truth = false;
    struct json *object = NULL;
    struct json *array = NULL;
    struct error err = {0};
    assert_int_equal(json_get_string(root, NULL, "s", &text, &err), OK);
    assert_string_equal(text, "x");
    assert_int_equal(json_get_i64(root, NULL, "i", -5, 0, &number, &err), OK);
    assert_int_equal(number, -5);
    assert_int_equal(json_get_double(root, NULL, "d", &real, &err), OK);
    assert_true(real == 0.5);
    assert_int_equal(json_get_double(root, NULL, "i", &real, &err), OK);
    assert_int_equal(json_get_bool(root, NULL, "b", &truth, &err), OK);
    assert_true(truth);
    assert_int_equal(json_get_object(root, NULL, "o", &object, &err), OK);
    assert_int_equal(json_get_array(object, NULL, "k", &array, &err), OK);

    struct json_place o = {.member = "o"};
    struct json_place k = {.parent = &o, .member = "k"};
    assert_int_equal(json_string_at(array, &k, 1, &text, &err), OK);
    assert_string_equal(text, "two");
    assert_int_equal(json_string_at(array, &k, 0, &text, &err), ERR_INVALID);
    assert_string_equal(err.text, "expected a string at \"o.k[0]\" but found a number");
    assert_int_equal(json_string_at(array, &k, 2, &text, &err), ERR_INVALID);
    assert_string_equal(err.text, "expected a string at \"o.k[2]\" but found nothing");
    assert_int_equal(json_get_i64(root, NULL, "i", 0, 9, &number, &err), ERR_INVALID);
    assert_string_equal(err.text, "expected an integer from 0 to 9 at \"i\" but found -5");
    assert_int_equal(json_get_i64(root, NULL, "d", 0, 9, &number, &err), ERR_INVALID);
    assert_int_equal(json_get_bool(object, &o, "k", &truth, &err), ERR_INVALID);
    assert_string_equal(err.text, "expected a boolean at \"o.k\" but found an array");
    assert_int_equal(json_get_string(root, NULL, "n", &text, &err), ERR_INVALID);
    assert_string_equal(err.text, "expected a string at \"n\" but found null");
    assert_int_equal(json_get_string(root, NULL, "z", &text, &err), ERR_INVALID);
    assert_int_equal(json_opt_string(root, NULL, "n", &text, &err), OK);
    assert_int_equal(json_opt_string(root, NULL, "none", &text, &err), OK);
    assert_int_equal(json_opt_string(root, NULL, "i", &text, &err), ERR_INVALID);
    assert_string_equal(text, "two");
    assert_int_equal(number, -5);
    assert_int_equal(json_get_string(array, &k, "x", &text, &err), ERR_INVALID);
    assert_string_equal(err.text, "expected an object at \"o.k\" but found an array");
}

static void places_are_cut_at_the_front(void **state)
{
    (void)state;
    struct json_place places[40] = {{.member = "0123456789"}};
    for (size_t i = 1; i < COUNT(places); i++) {
        places[i] = (struct json_place){.parent = &places[i - 1], .member = "0123456789"};
    }
    char text[JSON_PLACE_TEXT_BYTES];
    (void)json_place_format(&places[1], text);
    assert_string_equal(text, "0123456789.0123456789");
    (void)json_place_format(&places[39], text);
    assert_memory_equal(text, "....", 4);
    assert_true(strlen(text) > 200);
}

static void what_is_built_dumps_and_parses_back(void **state)
{
    (void)state;
    AUTO(json_free_auto) struct json *root = json_new_object();
    AUTO(free_auto) char *compact = NULL;
    AUTO(free_auto) char *sorted = NULL;
    struct json *list = json_new_array();
    assert_int_equal(json_append(list, json_new_null(), NULL), OK);
    assert_int_equal(json_append(list, json_new_string("a\0b", 3), NULL), OK);
    assert_int_equal(json_set(root, "z", list, NULL), OK);
    assert_int_equal(json_set_i64(root, "i", INT64_MIN, NULL), OK);
    assert_int_equal(json_set_bool(root, "b", false, NULL), OK);
    assert_int_equal(json_set_string(root, "n", NULL, NULL), OK);
    assert_int_equal(json_set_double(root, "d", 2.5, NULL), OK);
    assert_int_equal(json_dump_text(root, JSON_STYLE_COMPACT, &compact, NULL), OK);
    assert_string_equal(compact,
                        "{\"z\":[null,\"a\\u0000b\"],\"i\":-9223372036854775808,\"b\":false,\"n\":null,\"d\":2.5}");
    assert_int_equal(json_dump_text(root, JSON_STYLE_SORTED, &sorted, NULL), OK);
    assert_string_equal(sorted,
                        "{\"b\":false,\"d\":2.5,\"i\":-9223372036854775808,\"n\":null,\"z\":[null,\"a\\u0000b\"]}");
    AUTO(json_free_auto) struct json *back = parsed(sorted);
    assert_true(json_same(root, back));
}

static void what_cannot_be_built_says_so(void **state)
{
    (void)state;
    AUTO(json_free_auto) struct json *root = json_new_object();
    struct error err = {0};
    double zero = 0;
    assert_int_equal(json_set_string(root, "s", "\xff", &err), ERR_INVALID);
    assert_string_equal(err.text, "expected UTF-8 text for \"s\"");
    assert_int_equal(json_set_double(root, "d", 1 / zero, &err), ERR_INVALID);
    assert_int_equal(json_set(root, "x", NULL, &err), ERR_NO_MEMORY);
    assert_int_equal(json_length(root), 0);
}

static void unknown_members_are_named_and_members_come_in_order(void **state)
{
    (void)state;
    static const char *const known[] = {"a", "b", NULL};
    AUTO(json_free_auto) struct json *root = parsed("{\"b\":1,\"a\":2}");
    AUTO(json_free_auto) struct json *other = parsed("{\"b\":1,\"c\":2}");
    struct json_place at = {.member = "x"};
    struct error err = {0};
    assert_int_equal(json_check_members(root, &at, known, &err), OK);
    assert_int_equal(json_check_members(other, &at, known, &err), ERR_INVALID);
    assert_string_equal(err.text, "expected no member \"x.c\"");
    void *iterator = NULL;
    const char *member;
    struct json *value;
    assert_true(json_next(root, &iterator, &member, &value));
    assert_string_equal(member, "b");
    assert_int_equal(json_as_i64(value), 1);
    assert_true(json_next(root, &iterator, &member, &value));
    assert_string_equal(member, "a");
    assert_false(json_next(root, &iterator, &member, &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_within_the_limits_parse_and_others_do_not),
        cmocka_unit_test(getters_take_the_right_kind_and_name_the_place_of_the_wrong_one),
        cmocka_unit_test(places_are_cut_at_the_front),
        cmocka_unit_test(what_is_built_dumps_and_parses_back),
        cmocka_unit_test(what_cannot_be_built_says_so),
        cmocka_unit_test(unknown_members_are_named_and_members_come_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
