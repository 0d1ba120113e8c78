#include <stdio.h>

#include "tests/unit/fsck/world.h"

#define OLD (2 * CLOCK_DAY_US)

/* Every size of page must find the same. */
static void compare_by_every_page(struct script *script, struct outcome *out)
{
    compare(script, 1000, "", out);
    for (size_t page = 1; page < 8; page++) {
        struct outcome again;
        compare(script, page, "", &again);
        assert_int_equal(again.code, out->code);
        assert_int_equal(again.count, out->count);
        assert_memory_equal(&again.totals, &out->totals, sizeof out->totals);
        for (size_t i = 0; i < out->count; i++) {
            assert_string_equal(again.paths[i], out->paths[i]);
            assert_int_equal(again.findings[i].class, out->findings[i].class);
        }
    }
}

static void what_both_sides_have_is_no_finding(void **state)
{
    (void)state;
    struct script script = {0};
    struct outcome out;
    for (unsigned i = 0; i < 9; i++) {
        add_object(&script, key_of(1, i), 100 + i, OLD);
        add_row(&script, key_of(1, i), 100 + (int64_t)i);
    }
    compare_by_every_page(&script, &out);
    assert_int_equal(out.code, OK);
    assert_int_equal(out.count, 0);
    assert_int_equal(out.totals.classes[FSCK_OK].count, 9);
    assert_int_equal(out.totals.objects, 9);
    assert_int_equal(out.totals.rows, 9);
    assert_int_equal(fsck_totals_findings(&out.totals), 0);
    assert_string_equal(out.position, key_of(1, 8));
}

static void an_object_without_a_row_is_an_orphan_once_it_is_old_by_the_stores_clock(void **state)
{
    (void)state;
    static const struct {
        int64_t age_us;
        enum fsck_class class;
    } cases[] = {
        {0, FSCK_YOUNG},
        {CLOCK_DAY_US - 1, FSCK_YOUNG},
        {CLOCK_DAY_US, FSCK_ORPHAN},
        {-CLOCK_DAY_US, FSCK_YOUNG}, /* from the future */
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct script script = {0};
        struct outcome out;
        add_object(&script, key_of(1, 1), 7, cases[i].age_us);
        compare_by_every_page(&script, &out);
        assert_int_equal(out.code, OK);
        assert_int_equal(out.count, 1);
        assert_int_equal(out.findings[0].class, cases[i].class);
        assert_int_equal(out.findings[0].bytes, 7);
        assert_int_equal(out.findings[0].at_us, NOW_US - cases[i].age_us);
    }
}

static void names_that_are_not_ours_are_never_orphans(void **state)
{
    (void)state;
    static char long_key[1025];
    memset(long_key, 'z', sizeof long_key - 1);
    static const struct {
        const char *key;
        enum fsck_class class;
    } cases[] = {
        {"Folder/", FSCK_FOLDER},
        {"a b+c%20&d/\xc3\xa4//x", FSCK_FOREIGN},
        {"backup/01930000-0000-7000-8000-000000000001/2026-11-30/01930000-0000-7000-8000-000000000001.parquet",
         FSCK_FOREIGN}, /* another deployment, whose prefix begins with ours */
        {"granary-deployment.json", FSCK_MARK},
        {"granary-marks/0000000000000000001", FSCK_MARK},
        {"not utf-8 \xff", FSCK_FOREIGN},
        {"other/granary-deployment.json", FSCK_FOREIGN},
        {long_key, FSCK_FOREIGN},
    };
    struct script script = {0};
    struct outcome out;
    for (size_t i = 0; i < COUNT(cases); i++) {
        add_object(&script, cases[i].key, 1, OLD);
    }
    compare_by_every_page(&script, &out);
    assert_int_equal(out.code, OK);
    assert_int_equal(out.count, COUNT(cases));
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_string_equal(out.paths[i], cases[i].key);
        assert_int_equal(out.findings[i].class, cases[i].class);
    }
    assert_int_equal(script.look_ups, 0); /* the catalog is not asked about names that it could not hold */
    assert_int_equal(fsck_totals_findings(&out.totals), 0);
}

static void the_owner_of_an_orphan_is_guessed_from_what_knows_it(void **state)
{
    (void)state;
    static const struct {
        struct catalog_object_answer answer;
        enum fsck_owner owner;
    } cases[] = {
        {{.table_known = true, .receipt_at_us = NOW_US - 3 * CLOCK_DAY_US}, FSCK_OWNER_LATE_UPLOAD},
        {{.table_known = true, .receipt_at_us = NOW_US - CLOCK_DAY_US}, FSCK_OWNER_SURVIVOR},
        {{.table_known = false, .receipt_at_us = CLOCK_NEVER}, FSCK_OWNER_OTHER_DEPLOYMENT},
        {{.table_known = true, .receipt_at_us = CLOCK_NEVER}, FSCK_OWNER_LATE_UPLOAD}, /* its id is an hour old */
        {{.table_known = true, .traced = true, .receipt_at_us = CLOCK_NEVER}, FSCK_OWNER_LOST_ROW},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct script script = {.answer = cases[i].answer};
        struct outcome out;
        add_object(&script, key_of(1, 1), 7, OLD);
        compare_by_every_page(&script, &out);
        assert_int_equal(out.count, 1);
        assert_string_equal(fsck_owner_name(out.findings[0].owner), fsck_owner_name(cases[i].owner));
        assert_int_equal(out.totals.owners[cases[i].owner].count, 1);
    }
    struct script probe = {.answer = {.receipt_at_us = CLOCK_NEVER, .held = true}};
    struct outcome out;
    add_object(&probe, STORE_PROBE_PREFIX "01930000-0000-7000-8000-000000000001", 5, OLD);
    compare(&probe, 10, "", &out);
    assert_int_equal(out.findings[0].owner, FSCK_OWNER_PROBE);
    assert_true(out.findings[0].held);
    assert_int_equal(out.totals.held, 1);
}

static void a_row_that_came_while_the_pages_were_read_saves_its_object(void **state)
{
    (void)state;
    const char *key = key_of(1, 1);
    struct script script = {.named_later = key};
    struct outcome out;
    add_object(&script, key, 7, OLD);
    compare_by_every_page(&script, &out);
    assert_int_equal(out.count, 0);
    assert_int_equal(out.totals.classes[FSCK_OK].count, 1);
}

static void a_row_misses_its_object_only_when_asking_for_it_says_so(void **state)
{
    (void)state;
    const char *key = key_of(1, 1);
    struct script gone = {0};
    struct outcome out;
    add_row(&gone, key, 7);
    compare_by_every_page(&gone, &out);
    assert_int_equal(out.count, 1);
    assert_int_equal(out.findings[0].class, FSCK_MISSING);
    assert_int_equal(out.findings[0].bytes, 7);
    assert_int_equal(out.totals.missing_active, 1);

    struct script lagging = {.hidden = key};
    add_object(&lagging, key, 7, 0);
    add_row(&lagging, key, 7);
    compare_by_every_page(&lagging, &out);
    assert_int_equal(out.count, 0);
    assert_int_equal(out.totals.lagging, 1);

    struct script reaped = {.reaped_later = key};
    add_row(&reaped, key, 7);
    compare_by_every_page(&reaped, &out);
    assert_int_equal(out.count, 0);
}

static void a_staged_row_promises_neither_an_object_nor_its_size(void **state)
{
    (void)state;
    struct script script = {0};
    struct outcome out;
    add_row(&script, key_of(1, 1), 0);
    add_row(&script, key_of(1, 2), 0);
    script.rows[0].must_exist = script.rows[1].must_exist = false;
    add_object(&script, key_of(1, 2), 55, OLD);
    compare_by_every_page(&script, &out);
    assert_int_equal(out.count, 0);
    assert_int_equal(out.totals.rows, 2);
    assert_int_equal(script.heads, 0);
}

static void an_object_of_another_size_than_its_row_says_is_told(void **state)
{
    (void)state;
    struct script script = {0};
    struct outcome out;
    add_row(&script, key_of(1, 1), 100);
    add_object(&script, key_of(1, 1), 99, OLD);
    compare_by_every_page(&script, &out);
    assert_int_equal(out.count, 1);
    assert_int_equal(out.findings[0].class, FSCK_SIZE);
    assert_int_equal(out.findings[0].bytes, 99);
    assert_int_equal(out.findings[0].expected_bytes, 100);
}

static void two_tables_whose_ids_share_a_beginning_are_kept_apart(void **state)
{
    (void)state;
    struct script script = {.answer = {.table_known = true, .receipt_at_us = CLOCK_NEVER}};
    struct outcome out;
    add_object(&script, key_of(0x10, 1), 1, OLD);
    add_object(&script, key_of(0x11, 1), 1, OLD);
    add_row(&script, key_of(0x11, 1), 1);
    compare_by_every_page(&script, &out);
    assert_int_equal(out.count, 1);
    assert_string_equal(out.paths[0], key_of(0x10, 1));
}

static void a_side_that_is_not_in_order_stops_the_comparison(void **state)
{
    (void)state;
    static const struct {
        struct script script;
        const char *part;
    } cases[] = {
        {{.page_twice = true}, "expected the listing to go on behind"},
        {{.empty_page = true}, "an empty page that says more follow"},
        {{.out_of_order = true}, "expected the catalog to go on behind"},
        {{.list_fails = ERR_UNAVAILABLE, .fail_at = 2}, "a script says so"},
        {{.rows_fail = ERR_UNAVAILABLE, .fail_at = 2}, "a script says so"},
        {{.look_up_fails = ERR_TIMEOUT, .fail_at = 1}, "a script says so"},
        {{.head_fails = ERR_DENIED, .fail_at = 1}, "a script says so"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct script script = cases[i].script;
        struct outcome out;
        for (unsigned number = 0; number < 8; number++) {
            add_object(&script, key_of(1, 2 * number), 1, OLD);
            add_row(&script, key_of(1, 2 * number + 1), 1);
        }
        compare(&script, 3, "", &out);
        assert_int_not_equal(out.code, OK);
        assert_non_null(strstr(out.err.text, cases[i].part));
    }
}

static void a_comparison_goes_on_where_another_was_interrupted(void **state)
{
    (void)state;
    struct script script = {.answer = {.table_known = true, .receipt_at_us = CLOCK_NEVER}};
    struct outcome whole;
    for (unsigned i = 0; i < 8; i++) {
        add_object(&script, key_of(1, i), 1, OLD);
    }
    for (unsigned i = 4; i < 12; i++) {
        add_row(&script, key_of(1, i), 1);
    }
    compare(&script, 1000, "", &whole);
    assert_int_equal(whole.count, 8);
    for (size_t cut = 0; cut < whole.count; cut++) {
        struct outcome rest;
        compare(&script, 3, whole.paths[cut], &rest);
        assert_int_equal(rest.count, whole.count - cut - 1);
        for (size_t i = 0; i < rest.count; i++) {
            assert_string_equal(rest.paths[i], whole.paths[cut + 1 + i]);
        }
    }
}

static void a_position_moves_on_only_with_what_is_settled(void **state)
{
    (void)state;
    struct script script = {.look_up_fails = ERR_UNAVAILABLE, .fail_at = 2};
    struct outcome out;
    for (unsigned i = 0; i < 8; i++) {
        add_object(&script, key_of(1, i), 1, OLD);
    }
    compare(&script, 2, "", &out);
    assert_int_equal(out.code, ERR_UNAVAILABLE);
    assert_string_equal(out.position, key_of(1, 1));
    assert_int_equal(out.count, 2);
}

static void totals_come_back_as_they_were_kept(void **state)
{
    (void)state;
    AUTO(json_free_auto) struct json *object = json_new_object();
    AUTO(free_auto) char *text = NULL;
    struct fsck_totals totals;
    struct fsck_totals again;
    fsck_totals_init(&totals);
    for (int i = 0; i < FSCK_CLASS_COUNT; i++) {
        totals.classes[i] = (struct fsck_tally){.count = i + 1, .bytes = INT64_MAX - i, .oldest_us = -i};
    }
    for (int i = 0; i < FSCK_OWNER_COUNT - 1; i++) {
        totals.owners[i] = (struct fsck_tally){.count = 7, .bytes = i, .oldest_us = CLOCK_NEVER};
    }
    totals.rows = 1;
    totals.objects = 2;
    totals.lagging = 3;
    totals.held = 4;
    totals.missing_active = 5;
    assert_int_equal(fsck_totals_encode(&totals, object, NULL), OK);
    assert_int_equal(json_dump_text(object, JSON_STYLE_COMPACT, &text, NULL), OK);
    assert_int_equal(fsck_totals_decode(text, &again, NULL), OK);
    assert_memory_equal(&again, &totals, sizeof totals);

    fsck_totals_init(&totals);
    assert_int_equal(fsck_totals_decode("{}", &again, NULL), OK);
    assert_memory_equal(&again, &totals, sizeof totals);
    assert_int_equal(fsck_totals_decode("{\"orphan\":{\"count\":-1}}", &again, NULL), ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_both_sides_have_is_no_finding),
        cmocka_unit_test(an_object_without_a_row_is_an_orphan_once_it_is_old_by_the_stores_clock),
        cmocka_unit_test(names_that_are_not_ours_are_never_orphans),
        cmocka_unit_test(the_owner_of_an_orphan_is_guessed_from_what_knows_it),
        cmocka_unit_test(a_row_that_came_while_the_pages_were_read_saves_its_object),
        cmocka_unit_test(a_row_misses_its_object_only_when_asking_for_it_says_so),
        cmocka_unit_test(a_staged_row_promises_neither_an_object_nor_its_size),
        cmocka_unit_test(an_object_of_another_size_than_its_row_says_is_told),
        cmocka_unit_test(two_tables_whose_ids_share_a_beginning_are_kept_apart),
        cmocka_unit_test(a_side_that_is_not_in_order_stops_the_comparison),
        cmocka_unit_test(a_comparison_goes_on_where_another_was_interrupted),
        cmocka_unit_test(a_position_moves_on_only_with_what_is_settled),
        cmocka_unit_test(totals_come_back_as_they_were_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
