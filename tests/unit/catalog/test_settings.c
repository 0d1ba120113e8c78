#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/catalog/tables_private.h"

static void unknown_names_and_bad_values_are_passed_over(void **state)
{
    (void)state;
    struct table_settings settings;
    struct error err = {0};
    table_settings_defaults(&settings);
    assert_int_equal(catalog_settings_overlay(&settings,
                                              "{\"no.such\":\"1\",\"age.max_age\":\"rot\",\"merge.max_tries\":5,"
                                              "\"reaper.max_age\":\"2d\",\"age.max_age_days\":\"3\"}",
                                              &err),
                     OK);
    assert_true(settings.age_max_age_us == 3 * CLOCK_DAY_US);
    assert_true(settings.reaper_max_age_us == 2 * CLOCK_DAY_US);
    assert_true(settings.merge_max_tries == 3);
}

static void settings_that_are_no_json_are_corrupt(void **state)
{
    (void)state;
    struct table_settings settings;
    struct table_settings before;
    struct error err = {0};
    table_settings_defaults(&settings);
    before = settings;
    assert_int_equal(catalog_settings_overlay(&settings, "{", &err), ERR_CORRUPT);
    assert_non_null(strstr(err.text, "expected settings as JSON"));
    assert_memory_equal(&settings, &before, sizeof settings);
}

static void changes_are_normalised_and_described(void **state)
{
    (void)state;
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    AUTO(free_auto) char *text = NULL;
    const struct catalog_setting changes[] = {{"age.max_age_days", "7"},
                                              {"reaper.max_age_days", NULL},
                                              {"merge.max_tries", "4"},
                                              {"gone.in.this.version", NULL}};
    struct settings_arrays arrays;
    struct error err = {0};
    assert_int_equal(catalog_settings_arrays(changes, 4, arena, &arrays, &err), OK);
    assert_int_equal(arrays.put_count, 2);
    assert_int_equal(arrays.removed_count, 2);
    assert_int_equal(catalog_settings_describe(&arrays, &text, &err), OK);
    assert_string_equal(text, "{\"age.max_age\":\"7d\",\"gone.in.this.version\":null,\"merge.max_tries\":\"4\","
                              "\"reaper.max_age\":null}");
}

static void a_wrong_change_is_refused_and_named(void **state)
{
    (void)state;
    static const struct catalog_setting wrong[] = {{"age.max_agee", "7d"}, {"merge.max_tries", "many"}};
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    for (size_t i = 0; i < 2; i++) {
        struct settings_arrays arrays = {.put_count = 77};
        struct error err = {0};
        assert_int_equal(catalog_settings_arrays(&wrong[i], 1, arena, &arrays, &err), ERR_INVALID);
        assert_non_null(strstr(err.text, wrong[i].name));
        assert_int_equal(arrays.put_count, 77);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_names_and_bad_values_are_passed_over),
        cmocka_unit_test(settings_that_are_no_json_are_corrupt),
        cmocka_unit_test(changes_are_normalised_and_described),
        cmocka_unit_test(a_wrong_change_is_refused_and_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
