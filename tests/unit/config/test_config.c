#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/config/config.h"

struct sample {
    const char *name;
    int64_t batch;
    int64_t share;
    bool dry;
    int64_t wait_us;
    int64_t age_us;
    int64_t size_bytes;
    const char *mode;
    const char *key;
    struct config_store store;
};

static const struct setting settings[] = {
    {"GRANARY_REAPER_NAME", SETTING_TEXT, offsetof(struct sample, name), "", 0, 0, NULL, "name of a|b"},
    {"GRANARY_REAPER_BATCH", SETTING_INT, offsetof(struct sample, batch), "500", 1, 1000, NULL, "partitions at once"},
    {"GRANARY_REAPER_SHARE", SETTING_INT, offsetof(struct sample, share), "-3", 0, 0, NULL, "any number"},
    {"GRANARY_REAPER_DRY", SETTING_BOOL, offsetof(struct sample, dry), "false", 0, 0, NULL, "dry run"},
    {"GRANARY_REAPER_WAIT", SETTING_DURATION, offsetof(struct sample, wait_us), "5s", CLOCK_SECOND_US, CLOCK_HOUR_US,
     NULL, "pause"},
    {"GRANARY_REAPER_AGE", SETTING_DURATION, offsetof(struct sample, age_us), "1d", 0, CLOCK_NEVER, NULL, "age"},
    {"GRANARY_REAPER_SIZE", SETTING_BYTES, offsetof(struct sample, size_bytes), "64MiB", 1024, 1 << 30, NULL, "size"},
    {"GRANARY_REAPER_MODE", SETTING_CHOICE, offsetof(struct sample, mode), "slow", 0, 0, "slow|fast|faster", "mode"},
    {"GRANARY_REAPER_KEY", SETTING_SECRET, offsetof(struct sample, key), "", 0, 0, NULL, "key"},
    CONFIG_STORE_SETTINGS(struct sample, store),
};
enum { SETTINGS = sizeof settings / sizeof *settings };

static int clean_environment(void **state)
{
    (void)state;
    return clearenv() == 0 && setenv("GRANARY_STORE_URL", "file:///data", 1) == 0 ? 0 : -1;
}

struct load {
    struct arena *arena;
    struct buf faults;
    struct error err;
    struct sample sample;
    enum err_code code;
};

static void load_done(struct load *load)
{
    arena_free(load->arena);
    buf_done(&load->faults);
}

static void load(struct load *load)
{
    memset(&load->sample, 0x5a, sizeof load->sample);
    load->arena = arena_new(0);
    load->code = config_load(settings, SETTINGS, &load->sample, load->arena, &load->faults, &load->err);
}

static void assert_faults(struct load *load, const char *expected)
{
    struct sample untouched;
    memset(&untouched, 0x5a, sizeof untouched);
    assert_int_equal(load->code, ERR_INVALID);
    assert_string_equal(buf_text(&load->faults), expected);
    assert_memory_equal(&load->sample, &untouched, sizeof untouched);
}

static void defaults_fill_what_the_environment_leaves_out(void **state)
{
    (void)state;
    AUTO(load_done) struct load l = {0};
    load(&l);
    assert_int_equal(l.code, OK);
    assert_string_equal(l.sample.name, "");
    assert_int_equal(l.sample.batch, 500);
    assert_int_equal(l.sample.share, -3);
    assert_false(l.sample.dry);
    assert_int_equal(l.sample.wait_us, 5 * CLOCK_SECOND_US);
    assert_int_equal(l.sample.age_us, CLOCK_DAY_US);
    assert_int_equal(l.sample.size_bytes, 64 << 20);
    assert_string_equal(l.sample.mode, "slow");
    assert_string_equal(l.sample.key, "");
    assert_string_equal(l.sample.store.url, "file:///data");
}

static void the_environment_wins_over_defaults(void **state)
{
    (void)state;
    setenv("GRANARY_REAPER_NAME", "north", 1);
    setenv("GRANARY_REAPER_BATCH", "1000", 1);
    setenv("GRANARY_REAPER_DRY", "yes", 1);
    setenv("GRANARY_REAPER_WAIT", "1h", 1);
    setenv("GRANARY_REAPER_AGE", "never", 1);
    setenv("GRANARY_REAPER_SIZE", "1KiB", 1);
    setenv("GRANARY_REAPER_MODE", "faster", 1);
    setenv("GRANARY_REAPER_KEY", "hush", 1);
    AUTO(load_done) struct load l = {0};
    load(&l);
    assert_int_equal(l.code, OK);
    assert_string_equal(l.sample.name, "north");
    assert_int_equal(l.sample.batch, 1000);
    assert_true(l.sample.dry);
    assert_int_equal(l.sample.wait_us, CLOCK_HOUR_US);
    assert_true(l.sample.age_us == CLOCK_NEVER);
    assert_int_equal(l.sample.size_bytes, 1024);
    assert_string_equal(l.sample.mode, "faster");
    assert_string_equal(l.sample.key, "hush");
}

static const struct {
    const char *name;
    const char *value;
    const char *fault;
} bad_values[] = {
    {"GRANARY_STORE_URL", "", "expected a value but found an empty text"},
    {"GRANARY_REAPER_BATCH", "0", "expected a number from 1 to 1000 but found \"0\""},
    {"GRANARY_REAPER_BATCH", "1001", "expected a number from 1 to 1000 but found \"1001\""},
    {"GRANARY_REAPER_BATCH", "ten", "expected a number from 1 to 1000 but found \"ten\""},
    {"GRANARY_REAPER_DRY", "TRUE", "expected \"true\" or \"false\" but found \"TRUE\""},
    {"GRANARY_REAPER_WAIT", "0", "expected a duration from 1s to 1h but found \"0\""},
    {"GRANARY_REAPER_WAIT", "61m", "expected a duration from 1s to 1h but found \"61m\""},
    {"GRANARY_REAPER_WAIT", "never", "expected a duration that ends but found \"never\""},
    {"GRANARY_REAPER_SIZE", "2GiB", "expected a size from 1.0 KiB to 1.0 GiB but found \"2GiB\""},
    {"GRANARY_REAPER_SIZE", "5MB", "expected a size such as \"64MiB\" but found \"5MB\""},
    {"GRANARY_REAPER_MODE", "fas", "expected one of \"slow|fast|faster\" but found \"fas\""},
    {"GRANARY_REAPER_MODE", "", "expected one of \"slow|fast|faster\" but found \"\""},
    {"GRANARY_REAPER_MODE", "slow|fast", "expected one of \"slow|fast|faster\" but found \"slow|fast\""},
};

static void a_bad_value_is_named_and_leaves_the_config_untouched(void **state)
{
    for (size_t i = 0; i < sizeof bad_values / sizeof *bad_values; i++) {
        clean_environment(state);
        setenv(bad_values[i].name, bad_values[i].value, 1);
        AUTO(load_done) struct load l = {0};
        load(&l);
        AUTO(buf_done) struct buf expected = {0};
        assert_int_equal(buf_printf(&expected, NULL, "%s: %s\n", bad_values[i].name, bad_values[i].fault), OK);
        assert_faults(&l, buf_text(&expected));
        assert_string_equal(l.err.text, "expected good settings but found 1 fault");
    }
}

static void all_faults_are_reported_together(void **state)
{
    (void)state;
    unsetenv("GRANARY_STORE_URL");
    setenv("GRANARY_REAPER_BATCH", "x", 1);
    setenv("GRANARY_REAPER_BATHC", "7", 1);
    AUTO(load_done) struct load l = {0};
    load(&l);
    assert_faults(&l, "GRANARY_REAPER_BATCH: expected a number from 1 to 1000 but found \"x\"\n"
                      "GRANARY_STORE_URL: is required but not set\n"
                      "GRANARY_REAPER_BATHC: no setting has this name; hint: --help lists them\n");
    assert_string_equal(l.err.text, "expected good settings but found 3 faults");
}

static const struct {
    const char *name;
    bool known;
} names[] = {
    {"GRANARY_CATALOG_PASSWORD_FILE", true},
    {"GRANARY_LOG_LEVEL", true},
    {"GRANARY_DECAY_ANYTHING", true},
    {"GRANARY_URL", true},
    {"GRANARY_REAPER_KEY_FILE", true},
    {"OTHER_NAME", true},
    {"GRANARY_REAPER_BATCH_FILE", false},
    {"GRANARY_CATALOG_URI", false},
    {"GRANARY_", false},
    {"GRANARY_FAULTY", false},
    {"GRANARY_PORT", false},
};

static void names_of_other_services_pass_and_unknown_ones_do_not(void **state)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        clean_environment(state);
        setenv(names[i].name, "", 1);
        AUTO(load_done) struct load l = {0};
        load(&l);
        assert_int_equal(l.code, names[i].known ? OK : ERR_INVALID);
    }
}

static int secret_file(const char *content, size_t length, char path[64])
{
    int file = memfd_create("secret", 0);
    assert_true(file >= 0);
    assert_int_equal(write(file, content, length), length);
    (void)snprintf(path, 64, "/proc/self/fd/%d", file);
    return file;
}

static void a_secret_is_read_from_its_file_without_the_newline(void **state)
{
    (void)state;
    char path[64];
    int file = secret_file("pass word\r\n\n", 12, path);
    setenv("GRANARY_REAPER_KEY_FILE", path, 1);
    AUTO(load_done) struct load l = {0};
    load(&l);
    close(file);
    assert_int_equal(l.code, OK);
    assert_string_equal(l.sample.key, "pass word");
}

static void a_secret_file_that_cannot_serve_is_a_fault_that_tells_no_secret(void **state)
{
    char path[64];
    int file = secret_file("top\0secret", 10, path);
    setenv("GRANARY_REAPER_KEY_FILE", path, 1);
    AUTO(load_done) struct load with_nul = {0};
    load(&with_nul);
    close(file);
    assert_int_equal(with_nul.code, ERR_INVALID);
    assert_non_null(strstr(buf_text(&with_nul.faults), "GRANARY_REAPER_KEY: expected a text of at most 65536 bytes"));
    assert_null(strstr(buf_text(&with_nul.faults), "top"));

    clean_environment(state);
    setenv("GRANARY_REAPER_KEY_FILE", "/nowhere/key", 1);
    AUTO(load_done) struct load missing = {0};
    load(&missing);
    assert_faults(&missing, "GRANARY_REAPER_KEY: could not open \"/nowhere/key\": No such file or directory\n");

    setenv("GRANARY_REAPER_KEY", "hush", 1);
    AUTO(load_done) struct load both = {0};
    load(&both);
    assert_faults(&both, "GRANARY_REAPER_KEY: expected either this or GRANARY_REAPER_KEY_FILE but found both\n");
}

static const char *printed(void (*print)(const void *config, FILE *out), const void *config, char **text)
{
    size_t length;
    FILE *out = open_memstream(text, &length);
    assert_non_null(out);
    print(config, out);
    assert_int_equal(fclose(out), 0);
    return *text;
}

static void print_values(const void *config, FILE *out)
{
    config_print_values(settings, SETTINGS, config, out);
}

static void print_pages(const void *unused, FILE *out)
{
    (void)unused;
    config_print_help(settings, SETTINGS, out);
    config_print_markdown(settings, SETTINGS, out);
}

static void values_are_printed_as_they_are_written_and_secrets_never(void **state)
{
    (void)state;
    setenv("GRANARY_REAPER_KEY", "hush", 1);
    AUTO(load_done) struct load l = {0};
    load(&l);
    AUTO(free_auto) char *text = NULL;
    assert_string_equal(
        printed(print_values, &l.sample, &text),
        "GRANARY_REAPER_NAME=\nGRANARY_REAPER_BATCH=500\nGRANARY_REAPER_SHARE=-3\n"
        "GRANARY_REAPER_DRY=false\nGRANARY_REAPER_WAIT=5s\nGRANARY_REAPER_AGE=1d\n"
        "GRANARY_REAPER_SIZE=64MiB\nGRANARY_REAPER_MODE=slow\nGRANARY_REAPER_KEY=(set)\n"
        "GRANARY_STORE_URL=file:///data\nGRANARY_STORE_CA_FILE=\nGRANARY_STORE_CREDENTIALS_DIR=\n"
        "GRANARY_STORE_ACCESS_KEY_ID=\nGRANARY_STORE_SECRET_ACCESS_KEY=(not set)\n"
        "GRANARY_STORE_SESSION_TOKEN=(not set)\nGRANARY_STORE_PART_SIZE=16MiB\nGRANARY_STORE_CONNECTIONS=4\n"
        "GRANARY_STORE_CONNECT_TIMEOUT=5s\nGRANARY_STORE_STALL_TIMEOUT=30s\n"
        "GRANARY_STORE_RETRY_FOR=1m\nGRANARY_STORE_DELETE_RATE=3000\n");
}

static void help_and_markdown_show_kind_bounds_and_default(void **state)
{
    (void)state;
    static const char *const parts[] = {
        "  GRANARY_REAPER_WAIT  (duration, 1s to 1h; default 5s)\n      pause\n",
        "  GRANARY_STORE_URL  (text; required)\n",
        "  GRANARY_REAPER_NAME  (text; default empty)\n",
        "| `GRANARY_REAPER_NAME` | text | empty | name of a\\|b |\n",
        "| `GRANARY_REAPER_MODE` | one of slow\\|fast\\|faster | `slow` | mode |\n",
        "| `GRANARY_REAPER_SIZE` | size, 1KiB to 1GiB | `64MiB` | size |\n",
        "| `GRANARY_REAPER_AGE` | duration, 0s to never | `1d` | age |\n",
        "| `GRANARY_STORE_URL` | text | required |",
    };
    AUTO(free_auto) char *text = NULL;
    (void)printed(print_pages, NULL, &text);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        assert_non_null(strstr(text, parts[i]));
    }
}

#define TEST(name) cmocka_unit_test_setup(name, clean_environment)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(defaults_fill_what_the_environment_leaves_out),
        TEST(the_environment_wins_over_defaults),
        TEST(a_bad_value_is_named_and_leaves_the_config_untouched),
        TEST(all_faults_are_reported_together),
        TEST(names_of_other_services_pass_and_unknown_ones_do_not),
        TEST(a_secret_is_read_from_its_file_without_the_newline),
        TEST(a_secret_file_that_cannot_serve_is_a_fault_that_tells_no_secret),
        TEST(values_are_printed_as_they_are_written_and_secrets_never),
        TEST(help_and_markdown_show_kind_bounds_and_default),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
