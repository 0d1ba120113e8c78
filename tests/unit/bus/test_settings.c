#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/bus/internal.h"

static struct bus_options options_of(const char *url)
{
    return (struct bus_options){.url = url, .password = "", .ca_file = "", .client_name = "test"};
}

static void a_url_is_taken_apart_and_decoded(void **state)
{
    (void)state;
    static const struct {
        const char *url, *host, *user, *password, *vhost;
        int port;
        bool tls;
    } cases[] = {
        {"amqp://broker", "broker", "guest", "", "/", 5672, false},
        {"amqp://broker/", "broker", "guest", "", "/", 5672, false},
        {"amqps://broker", "broker", "guest", "", "/", 5671, true},
        {"amqp://ann@broker:77/v", "broker", "ann", "", "v", 77, false},
        {"amqp://ann:se%3Acret@broker/v", "broker", "ann", "se:cret", "v", 5672, false},
        {"amqp://a%40b:p@ss@broker/%2Fgranary%2f", "broker", "a@b", "p@ss", "/granary/", 5672, false},
        {"amqp://[::1]:5673/v", "::1", "guest", "", "v", 5673, false},
        {"amqps://[fe80::1]", "fe80::1", "guest", "", "/", 5671, true},
        {"amqp://ann:@10.0.0.1:65535", "10.0.0.1", "ann", "", "/", 65535, false},
        {"amqp://broker/%C3%A9", "broker", "guest", "", "\xc3\xa9", 5672, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO(bus_settings_done) struct bus_settings settings = {0};
        struct bus_options options = options_of(cases[i].url);
        assert_int_equal(bus_settings_parse(&options, &settings, NULL), OK);
        assert_string_equal(settings.host, cases[i].host);
        assert_string_equal(settings.user, cases[i].user);
        assert_string_equal(settings.password, cases[i].password);
        assert_string_equal(settings.vhost, cases[i].vhost);
        assert_int_equal(settings.port, cases[i].port);
        assert_int_equal(settings.tls, cases[i].tls);
    }
}

static void a_wrong_url_is_refused_without_telling_its_password(void **state)
{
    (void)state;
    static const char *const urls[] = {
        NULL,
        "",
        "broker",
        "http://ann:hidden@broker",
        "AMQP://broker",
        "amqp://",
        "amqp:///v",
        "amqp://ann:hidden@",
        "amqp://ann:hidden@broker:0",
        "amqp://ann:hidden@broker:65536",
        "amqp://ann:hidden@broker:x",
        "amqp://ann:hidden@broker:",
        "amqp://ann:hidden@broker:123456789",
        "amqp://ann:hidden@broker/a/b",
        "amqp://ann:hidden@broker/v?heartbeat=1",
        "amqp://ann:hidden%@broker",
        "amqp://ann:hidden%zz@broker",
        "amqp://ann:hidden@bro%00ker",
        "amqp://ann:hidden@broker/%0a",
        "amqp://ann:hidden@[::1",
        "amqp://ann:hidden@[::1]x",
    };
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        struct bus_settings settings = {.port = 77};
        struct error err = {0};
        struct bus_options options = options_of(urls[i]);
        if (bus_settings_parse(&options, &settings, &err) != ERR_INVALID) {
            fail_msg("\"%s\" was taken", urls[i]);
        }
        assert_null(strstr(err.text, "hidden"));
        assert_int_equal(settings.port, 77);
    }
}

static void the_password_setting_wins_over_the_url(void **state)
{
    (void)state;
    AUTO(bus_settings_done) struct bus_settings settings = {0}, copy = {0};
    struct bus_options options = options_of("amqp://ann:url@broker");
    options.password = "setting";
    assert_int_equal(bus_settings_parse(&options, &settings, NULL), OK);
    assert_string_equal(settings.password, "setting");
    assert_int_equal(bus_settings_copy(&settings, &copy, NULL), OK);
    assert_string_equal(copy.password, "setting");
    assert_ptr_not_equal(copy.password, settings.password);
    assert_int_equal(copy.port, settings.port);
    assert_memory_equal(copy.delays_us, settings.delays_us, sizeof copy.delays_us);
}

static void the_ladder_has_its_defaults_its_names_and_its_last_step(void **state)
{
    (void)state;
    static const char *const names[] = {"granary.delay.10s", "granary.delay.1m", "granary.delay.10m",
                                        "granary.delay.1h"};
    AUTO(bus_settings_done) struct bus_settings settings = {0};
    struct bus_options options = options_of("amqp://broker");
    assert_int_equal(bus_settings_parse(&options, &settings, NULL), OK);
    char name[BUS_LADDER_NAME_BYTES];
    for (unsigned i = 0; i < BUS_LADDER_STEPS; i++) {
        assert_string_equal(bus_ladder_name(&settings, i, name), names[i]);
        assert_int_equal(bus_ladder_step(i), i);
    }
    assert_int_equal(bus_ladder_step(BUS_LADDER_STEPS), BUS_LADDER_STEPS - 1);
    assert_int_equal(bus_ladder_step(UINT32_MAX), BUS_LADDER_STEPS - 1);
}

static void delays_that_the_broker_cannot_keep_are_refused(void **state)
{
    (void)state;
    static const int64_t wrong_us[] = {0, -1, 999, INT64_MAX, (INT64_C(1) << 32) * 1000};
    for (size_t i = 0; i < sizeof wrong_us / sizeof *wrong_us; i++) {
        struct bus_settings settings = {0};
        struct error err = {0};
        struct bus_options options = options_of("amqp://broker");
        options.delays_us[0] = 20000;
        options.delays_us[1] = options.delays_us[2] = options.delays_us[3] = wrong_us[i];
        assert_int_equal(bus_settings_parse(&options, &settings, &err), ERR_INVALID);
        assert_non_null(strstr(err.text, "delay"));
    }
}

static void names_of_queues_are_plain_and_short(void **state)
{
    (void)state;
    char longest[252], too_long[253];
    memset(longest, 'q', sizeof longest);
    longest[250] = '\0';
    memset(too_long, 'q', sizeof too_long);
    too_long[251] = '\0';
    const struct {
        const char *name;
        enum err_code code;
    } cases[] = {
        {"reap", OK},       {"rewrite.pool-1_a", OK},  {longest, OK},        {too_long, ERR_INVALID},
        {"", ERR_INVALID},  {"a b", ERR_INVALID},      {"a/b", ERR_INVALID}, {"a\nb", ERR_INVALID},
        {"#", ERR_INVALID}, {"\xc3\xa9", ERR_INVALID},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = {0};
        assert_int_equal(bus_name_check(cases[i].name, "a queue's name", &err), cases[i].code);
        assert_int_equal(strstr(err.text, "a queue's name") != NULL, cases[i].code != OK);
    }
}

static void short_texts_are_checked_for_length_and_control_characters(void **state)
{
    (void)state;
    char longest[256], too_long[257];
    memset(longest, 'a', 255);
    longest[255] = '\0';
    memset(too_long, 'a', 256);
    too_long[256] = '\0';
    assert_int_equal(bus_short_check(NULL, "a type", NULL), OK);
    assert_int_equal(bus_short_check("", "a type", NULL), OK);
    assert_int_equal(bus_short_check("reap.v1 \xc3\xa9", "a type", NULL), OK);
    assert_int_equal(bus_short_check(longest, "a type", NULL), OK);
    assert_int_equal(bus_short_check(too_long, "a type", NULL), ERR_INVALID);
    assert_int_equal(bus_short_check("a\x7f", "a type", NULL), ERR_INVALID);
    assert_int_equal(bus_short_check("\x1f", "a type", NULL), ERR_INVALID);
}

static void waiting_for_the_broker_doubles_up_to_five_seconds_with_jitter(void **state)
{
    (void)state;
    static const int64_t whole_us[] = {100000, 200000, 400000, 800000, 1600000, 3200000, 5000000, 5000000};
    for (unsigned tries = 0; tries < sizeof whole_us / sizeof *whole_us; tries++) {
        assert_int_equal(bus_backoff_us(tries, 0), whole_us[tries] / 2);
        assert_int_equal(bus_backoff_us(tries, UINT32_MAX), whole_us[tries]);
        assert_in_range(bus_backoff_us(tries, UINT32_MAX / 3), whole_us[tries] / 2, whole_us[tries]);
    }
    assert_int_equal(bus_backoff_us(UINT32_MAX, UINT32_MAX), 5000000);
}

static void each_code_has_one_fate(void **state)
{
    (void)state;
    static const enum bus_fate fates[ERR_COUNT] = {
        [OK] = BUS_ACK,           [ERR_NO_MEMORY] = BUS_DELAY, [ERR_INVALID] = BUS_DEAD,      [ERR_NOT_FOUND] = BUS_ACK,
        [ERR_CONFLICT] = BUS_ACK, [ERR_TIMEOUT] = BUS_DELAY,   [ERR_UNAVAILABLE] = BUS_DELAY, [ERR_CORRUPT] = BUS_DEAD,
        [ERR_DENIED] = BUS_DEAD,  [ERR_STOPPED] = BUS_REQUEUE, [ERR_UNKNOWN] = BUS_DELAY,
    };
    for (enum err_code code = OK; code < ERR_COUNT; code++) {
        assert_int_equal(bus_fate_of(code), fates[code]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_url_is_taken_apart_and_decoded),
        cmocka_unit_test(a_wrong_url_is_refused_without_telling_its_password),
        cmocka_unit_test(the_password_setting_wins_over_the_url),
        cmocka_unit_test(the_ladder_has_its_defaults_its_names_and_its_last_step),
        cmocka_unit_test(delays_that_the_broker_cannot_keep_are_refused),
        cmocka_unit_test(names_of_queues_are_plain_and_short),
        cmocka_unit_test(short_texts_are_checked_for_length_and_control_characters),
        cmocka_unit_test(waiting_for_the_broker_doubles_up_to_five_seconds_with_jitter),
        cmocka_unit_test(each_code_has_one_fate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
