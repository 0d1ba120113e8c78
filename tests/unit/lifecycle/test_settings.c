#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/lifecycle/settings.h"

static const char *format_named(const struct table_settings *settings, const char *name, char value[64])
{
    for (size_t i = 0; i < table_settings_count(); i++) {
        if (strcmp(table_settings_name(i), name) == 0) {
            table_settings_format(settings, i, value);
            return value;
        }
    }
    fail_msg("no setting \"%s\"", name);
    return NULL;
}

static void defaults_are_the_documented_ones(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *value;
    } cases[] = {
        {"age.max_age", "never"},          {"reaper.max_age", "1d"},
        {"merge.cleanup_grace", "1h"},     {"abandoned.grace", "1h"},
        {"partition.width", "1d"},         {"idempotency.horizon", "1d"},
        {"retention.cooling", "1d"},       {"breaker.max_share", "0.5"},
        {"merge.enabled", "true"},         {"merge.max_tries", "3"},
        {"merge.max_inputs", "100"},       {"merge.min_inputs", "10"},
        {"merge.small.size", "32MiB"},     {"merge.small.width", "1d"},
        {"merge.small.min_age", "0s"},     {"merge.small.max_age", "never"},
        {"merge.small.pool", "small"},     {"merge.medium.size", "256MiB"},
        {"merge.medium.width", "7d"},      {"merge.medium.min_age", "2d"},
        {"merge.medium.max_age", "never"}, {"merge.medium.pool", "medium"},
        {"merge.large.size", "1GiB"},      {"merge.large.width", "30d"},
        {"merge.large.min_age", "14d"},    {"merge.large.max_age", "never"},
        {"merge.large.pool", "large"},     {"intake.unknown_columns", "reject"},
        {"intake.max_past", "never"},      {"intake.max_future", "1d"},
        {"rejects.max_age", "30d"},        {"reaper.backup_window", "0s"},
        {"storage.default", "default"},    {"storage.spread", ""},
    };
    struct table_settings settings;
    table_settings_defaults(&settings);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char value[64];
        assert_string_equal(format_named(&settings, cases[i].name, value), cases[i].value);
    }
    assert_int_equal(table_settings_count(), sizeof cases / sizeof *cases);
}

static void every_setting_has_help_and_its_text_sets_it_again(void **state)
{
    (void)state;
    struct table_settings settings;
    struct table_settings again;
    table_settings_defaults(&settings);
    table_settings_defaults(&again);
    for (size_t i = 0; i < table_settings_count(); i++) {
        char value[64];
        assert_true(strlen(table_settings_help(i)) > 10);
        table_settings_format(&settings, i, value);
        assert_int_equal(table_settings_set(&again, table_settings_name(i), value, NULL), OK);
    }
    assert_memory_equal(&settings, &again, sizeof settings);
}

static void values_within_bounds_are_set(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *value;
        const char *stored_name;
        const char *stored;
    } cases[] = {
        {"age.max_age", "30d", "age.max_age", "30d"},
        {"age.max_age", "1s", "age.max_age", "1s"},
        {"age.max_age", "never", "age.max_age", "never"},
        {"age.max_age_days", "30", "age.max_age", "30d"},
        {"age.max_age_days", "0", "age.max_age", "never"},
        {"reaper.max_age_days", "2", "reaper.max_age", "2d"},
        {"reaper.max_age_days", "0", "reaper.max_age", "never"},
        {"reaper.max_age", "0", "reaper.max_age", "0s"},
        {"merge.cleanup_grace", "0s", "merge.cleanup_grace", "0s"},
        {"idempotency.horizon", "168h", "idempotency.horizon", "7d"},
        {"breaker.max_share", "0", "breaker.max_share", "0"},
        {"breaker.max_share", "1", "breaker.max_share", "1"},
        {"breaker.max_share", "0.125", "breaker.max_share", "0.125"},
        {"merge.enabled", "false", "merge.enabled", "false"},
        {"merge.max_inputs", "1000", "merge.max_inputs", "1000"},
        {"merge.small.size", "1500KiB", "merge.small.size", "1500KiB"},
        {"merge.large.pool", "night-shift_2", "merge.large.pool", "night-shift_2"},
        {"reaper.backup_window", "36h", "reaper.backup_window", "36h"},
        {"reaper.backup_window_days", "7", "reaper.backup_window", "7d"},
        {"reaper.backup_window_days", "0", "reaper.backup_window", "0s"},
        {"storage.default", "eu-1", "storage.default", "eu-1"},
        {"storage.spread", "eu-1,eu-2", "storage.spread", "eu-1,eu-2"},
        {"storage.spread", "", "storage.spread", ""},
        {"intake.unknown_columns", "ignore", "intake.unknown_columns", "ignore"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct table_settings settings;
        struct error err = {0};
        char value[64];
        const char *name = NULL;
        table_settings_defaults(&settings);
        assert_int_equal(table_settings_set(&settings, cases[i].name, cases[i].value, &err), OK);
        assert_string_equal(format_named(&settings, cases[i].stored_name, value), cases[i].stored);
        assert_int_equal(table_settings_normalise(cases[i].name, cases[i].value, &name, value, &err), OK);
        assert_string_equal(name, cases[i].stored_name);
    }
}

static void an_alias_becomes_the_name_and_form_it_stands_for(void **state)
{
    (void)state;
    const char *name = NULL;
    char value[64];
    assert_int_equal(table_settings_normalise("age.max_age_days", "30", &name, value, NULL), OK);
    assert_string_equal(name, "age.max_age");
    assert_string_equal(value, "30d");
    assert_int_equal(table_settings_normalise("partition.width", "24h", &name, value, NULL), OK);
    assert_string_equal(name, "partition.width");
    assert_string_equal(value, "24h");
}

static void wrong_names_and_values_are_refused_and_nothing_changes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *value;
        const char *text;
    } cases[] = {
        {"age.maxage", "30d", "the nearest is \"age.max_age\""},
        {"merge.medium.sizes", "1GiB", "the nearest is \"merge.medium.size\""},
        {"", "1", "expected the name of a setting but found \"\""},
        {"a.name.that.is.far.too.long.to.be.worth.any.hint.at.all", "1", "expected the name of a setting"},
        {"age.max_age", "0", "expected a duration from 1s to never but found \"0\""},
        {"age.max_age", "-1d", "expected a duration"},
        {"age.max_age_days", "-1", "expected a number of days from 0 to 100000 but found \"-1\""},
        {"age.max_age_days", "1.5", "expected a number of days"},
        {"age.max_age_days", "", "expected a number of days"},
        {"merge.cleanup_grace", "never", "expected a duration from 0s to 366d but found \"never\""},
        {"abandoned.grace", "never", "expected a duration from 0s to 366d but found \"never\""},
        {"partition.width", "59s", "expected a duration from 1m"},
        {"idempotency.horizon", "59m", "expected a duration from 1h to 7d but found \"59m\""},
        {"idempotency.horizon", "8d", "expected a duration from 1h to 7d but found \"8d\""},
        {"breaker.max_share", "1.01", "expected a number from 0 to 1 but found \"1.01\""},
        {"breaker.max_share", "nan", "expected a number from 0 to 1 but found \"nan\""},
        {"breaker.max_share", "0x1", "expected a number from 0 to 1"},
        {"breaker.max_share", "", "expected a number from 0 to 1"},
        {"breaker.max_share", "1..0", "expected a number from 0 to 1"},
        {"merge.enabled", "yes", "expected \"false\" or \"true\" but found \"yes\""},
        {"merge.max_inputs", "1", "from 2 to 1000 but found \"1\""},
        {"merge.max_inputs", "1001", "from 2 to 1000 but found \"1001\""},
        {"merge.small.size", "0", "expected a size from 1 to 1099511627776 bytes but found \"0\""},
        {"merge.small.size", "2TiB", "but found \"2TiB\""},
        {"merge.small.pool", "", "expected a pool's name"},
        {"merge.small.pool", "Small", "expected a pool's name"},
        {"merge.small.pool", "a23456789012345678901234567890123", "expected a pool's name of 1 to 31"},
        {"reaper.backup_window", "never", "expected a duration from 0s to 3660d but found \"never\""},
        {"storage.default", "", "expected a storage's name"},
        {"storage.default", "a b", "expected a storage's name"},
        {"storage.spread", "a,,b", "expected names of storages with commas between them but found \"a,,b\""},
        {"storage.spread", "a,", "expected names of storages"},
        {"storage.spread", "a23456789012345678901234567890123", "expected names of storages"},
        {"intake.unknown_columns", "drop", "expected \"reject\" or \"ignore\" but found \"drop\""},
        {"partition.width", "1111111111111111111111111111111111111111111111111111111111111111d",
         "at most 63 characters"},
    };
    struct table_settings defaults;
    table_settings_defaults(&defaults);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct table_settings settings = defaults;
        struct error err = {0};
        char value[64] = "untouched";
        const char *name = "untouched";
        assert_int_equal(table_settings_set(&settings, cases[i].name, cases[i].value, &err), ERR_INVALID);
        assert_memory_equal(&settings, &defaults, sizeof settings);
        assert_int_equal(strncmp(err.text, "setting \"", 9), 0);
        if (strstr(err.text, cases[i].text) == NULL) {
            fail_msg("expected \"%s\" in \"%s\"", cases[i].text, err.text);
        }
        assert_int_equal(table_settings_normalise(cases[i].name, cases[i].value, &name, value, &err), ERR_INVALID);
        assert_string_equal(name, "untouched");
        assert_string_equal(value, "untouched");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_the_documented_ones),
        cmocka_unit_test(every_setting_has_help_and_its_text_sets_it_again),
        cmocka_unit_test(values_within_bounds_are_set),
        cmocka_unit_test(an_alias_becomes_the_name_and_form_it_stands_for),
        cmocka_unit_test(wrong_names_and_values_are_refused_and_nothing_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
