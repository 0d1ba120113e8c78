#include "tests/unit/store/fixture.h"

#include "common/gate/mark.h"

static const struct uuid ours = {{1, 2, 3, 4, 5, 6, 0x47, 8, 0x89, 10}};
static const struct uuid theirs = {{1, 2, 3, 4, 5, 6, 0x47, 8, 0x89, 11}};
static const struct uuid nonce = {{7, 7, 7}};

static void the_order_of_keys_is_the_order_of_numbers(void **state)
{
    (void)state;
    static const int64_t numbers[] = {1, 2, 9, 10, 99, 100, 1000000007, INT64_MAX};
    for (size_t i = 0; i < COUNT(numbers); i++) {
        char key[GATE_MARK_KEY_BYTES];
        char before[GATE_MARK_KEY_BYTES];
        int64_t back = 0;
        assert_true(gate_mark_parse(gate_mark_key(numbers[i], key), &back));
        assert_int_equal(back, numbers[i]);
        assert_true(i == 0 || strcmp(gate_mark_key(numbers[i - 1], before), key) < 0);
    }
}

static void what_is_no_key_of_a_mark_is_not_taken_for_one(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "",
        "granary-marks/",
        "granary-marks/1",
        "granary-marks/000000000000000001",
        "granary-marks/00000000000000000001",
        "granary-marks/0000000000000000000",
        "granary-marks/-000000000000000001",
        "granary-marks/ 000000000000000001",
        "granary-marks/9999999999999999999",
        "granary-marks/000000000000000000a",
        "granary-mark/0000000000000000001",
        "x/granary-marks/0000000000000000001",
    };
    for (size_t i = 0; i < COUNT(keys); i++) {
        int64_t number = 5;
        assert_false(gate_mark_parse(keys[i], &number));
    }
}

static void the_same_mark_twice_is_fine_and_another_of_its_number_is_denied(void **state)
{
    struct store_fixture *fixture = *state;
    const struct catalog_mark mark = {12, nonce};
    const struct {
        struct uuid deployment;
        struct catalog_mark mark;
    } others[] = {{ours, {12, theirs}}, {theirs, {12, nonce}}};
    assert_int_equal(gate_mark_compare(fixture->store, &ours, &mark, NULL), ERR_NOT_FOUND);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(gate_mark_put(fixture->store, &ours, &mark, NULL), OK);
        assert_int_equal(gate_mark_compare(fixture->store, &ours, &mark, NULL), OK);
    }
    for (size_t i = 0; i < COUNT(others); i++) {
        struct error err = {0};
        assert_int_equal(gate_mark_put(fixture->store, &others[i].deployment, &others[i].mark, &err), ERR_DENIED);
        assert_non_null(strstr(err.text, "expected mark 12"));
        assert_non_null(strstr(err.text, fixture->root));
        assert_non_null(strstr(err.text, "granary recover"));
        assert_int_equal(gate_mark_compare(fixture->store, &others[i].deployment, &others[i].mark, NULL), ERR_DENIED);
    }
    assert_int_equal(gate_mark_compare(fixture->store, &ours, &mark, NULL), OK);
}

static void higher_marks_are_found_however_many_there_are(void **state)
{
    struct store_fixture *fixture = *state;
    int64_t found = -1;
    assert_int_equal(gate_mark_above(fixture->store, 0, &found, NULL), OK);
    assert_int_equal(found, 0);
    assert_int_equal(gate_mark_newest(fixture->store, &found, NULL), OK);
    assert_int_equal(found, 0);
    for (int64_t number = 5; number < 260; number++) {
        const struct catalog_mark mark = {number, nonce};
        assert_int_equal(gate_mark_put(fixture->store, &ours, &mark, NULL), OK);
    }
    static const int64_t cases[][2] = {{0, 5}, {4, 5}, {5, 6}, {257, 258}, {259, 0}, {1000, 0}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(gate_mark_above(fixture->store, cases[i][0], &found, NULL), OK);
        assert_int_equal(found, cases[i][1]);
    }
    assert_int_equal(gate_mark_newest(fixture->store, &found, NULL), OK);
    assert_int_equal(found, 259);
}

static void old_marks_go_and_the_last_ones_stay(void **state)
{
    struct store_fixture *fixture = *state;
    int64_t found = 0;
    for (int64_t number = 1; number <= 40; number++) {
        const struct catalog_mark mark = {number, nonce};
        assert_int_equal(gate_mark_put(fixture->store, &ours, &mark, NULL), OK);
    }
    assert_int_equal(gate_mark_prune(fixture->store, 40, NULL), OK);
    assert_int_equal(gate_mark_above(fixture->store, 0, &found, NULL), OK);
    assert_int_equal(found, 40 - GATE_MARKS_KEPT);
    assert_int_equal(gate_mark_newest(fixture->store, &found, NULL), OK);
    assert_int_equal(found, 40);
    assert_int_equal(gate_mark_prune(fixture->store, 3, NULL), OK);
    assert_int_equal(gate_mark_newest(fixture->store, &found, NULL), OK);
    assert_int_equal(found, 40);
}

static void what_lies_among_the_marks_and_is_none_stops_deleting(void **state)
{
    struct store_fixture *fixture = *state;
    struct error err = {0};
    int64_t found = 7;
    assert_int_equal(put_text(fixture->store, GATE_MARK_PREFIX "zoo", "x", NULL), OK);
    assert_int_equal(gate_mark_above(fixture->store, 3, &found, &err), ERR_DENIED);
    assert_non_null(strstr(err.text, "granary-marks/zoo"));
    assert_int_equal(gate_mark_newest(fixture->store, &found, NULL), ERR_DENIED);
    assert_int_equal(found, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_of_keys_is_the_order_of_numbers),
        cmocka_unit_test(what_is_no_key_of_a_mark_is_not_taken_for_one),
        cmocka_unit_test_setup_teardown(the_same_mark_twice_is_fine_and_another_of_its_number_is_denied, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(higher_marks_are_found_however_many_there_are, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(old_marks_go_and_the_last_ones_stay, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(what_lies_among_the_marks_and_is_none_stops_deleting, open_fixture,
                                        close_fixture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
