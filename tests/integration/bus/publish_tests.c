#include "tests/integration/bus/live.h"

static void a_message_arrives_as_it_was_published(void **state)
{
    (void)state;
    struct names names = fresh_queue((struct bus_queue_spec){0});
    AUTO(bus_publisher_close_auto) struct bus_publisher *publisher = open_publisher(&options);
    AUTO(bus_consumer_close_auto) struct bus_consumer *consumer = open_consumer(&options, names.queue, 10);
    int64_t before_us = clock_now_us();
    publish_text(publisher, names.queue, "{\"a\":1}");
    struct bus_delivery *delivery = next(consumer);
    assert_body(delivery, "{\"a\":1}");
    assert_string_equal(delivery->type, "test.v1");
    assert_string_equal(delivery->message_id, "id-1");
    assert_in_range(delivery->published_at_us, before_us, clock_now_us());
    assert_int_equal(delivery->delivery_count, 0);
    assert_int_equal(delivery->attempt, 0);
    assert_true(delivery->tag > 0);
    assert_false(bus_delivery_is_stale(delivery));
    bus_settle(consumer, delivery, BUS_ACK, NULL);
    assert_nothing_comes(consumer);
}

static void bodies_of_every_size_arrive_whole(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 4096, 131064, 131065, 1 << 20, 9 << 20};
    struct names names = fresh_queue((struct bus_queue_spec){0});
    AUTO(bus_publisher_close_auto) struct bus_publisher *publisher = open_publisher(&options);
    AUTO(bus_consumer_close_auto) struct bus_consumer *consumer = open_consumer(&options, names.queue, 10);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        AUTO(free_auto) uint8_t *body = malloc(sizes[i] + 1);
        for (size_t at = 0; at < sizes[i]; at++) {
            body[at] = (uint8_t)(at * 31 + i);
        }
        struct bus_message message = text_message(names.queue, "");
        message.body = body;
        message.body_bytes = sizes[i];
        CHECK_OK(bus_publish(publisher, &message, PATIENCE_US, failure));
        struct bus_delivery *delivery = next(consumer);
        assert_int_equal(delivery->body_bytes, sizes[i]);
        assert_memory_equal(delivery->body, body, sizes[i]);
        bus_settle(consumer, delivery, BUS_ACK, NULL);
    }
}

static void ten_thousand_messages_arrive_in_order_each_confirmed_once(void **state)
{
    (void)state;
    enum { MESSAGES = 10000 };
    struct names names = fresh_queue((struct bus_queue_spec){0});
    AUTO(bus_publisher_close_auto) struct bus_publisher *publisher = open_publisher(&options);
    AUTO(free_auto) uint32_t *bodies = calloc(MESSAGES, sizeof *bodies);
    struct tally tally;
    tally_init(&tally);
    for (uint32_t i = 0; i < MESSAGES; i++) {
        bodies[i] = i;
        struct bus_message message = text_message(names.queue, "");
        message.body = &bodies[i];
        message.body_bytes = sizeof bodies[i];
        CHECK_OK(bus_publish_async(publisher, &message, count_done, &tally, failure));
    }
    await_tally(&tally, MESSAGES);
    assert_int_equal(tally.by_code[OK], MESSAGES);
    AUTO(bus_consumer_close_auto) struct bus_consumer *consumer = open_consumer(&options, names.queue, 500);
    for (uint32_t i = 0; i < MESSAGES; i++) {
        struct bus_delivery *delivery = next(consumer);
        assert_memory_equal(delivery->body, &i, sizeof i);
        bus_settle(consumer, delivery, BUS_ACK, NULL);
    }
    assert_nothing_comes(consumer);
}

static void a_full_queue_is_a_conflict(void **state)
{
    (void)state;
    struct names names = fresh_queue((struct bus_queue_spec){.max_length = 5});
    AUTO(bus_publisher_close_auto) struct bus_publisher *publisher = open_publisher(&options);
    struct bus_message message = text_message(names.queue, "x");
    struct error err = {0};
    enum err_code code = OK;
    for (int i = 0; i < 1000 && code == OK; i++) { /* the limit is soft */
        code = bus_publish(publisher, &message, PATIENCE_US, &err);
    }
    assert_int_equal(code, ERR_CONFLICT);
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_non_null(strstr(err.text, "is full"));
}

static void a_queue_that_is_not_there_is_not_found(void **state)
{
    (void)state;
    AUTO(bus_publisher_close_auto) struct bus_publisher *publisher = open_publisher(&options);
    struct names names = fresh_queue((struct bus_queue_spec){0});
    struct bus_message message = text_message("test.absent", "nobody reads this");
    struct error err = {0};
    for (int i = 0; i < 3; i++) { /* the connection goes on */
        assert_int_equal(bus_publish(publisher, &message, PATIENCE_US, &err), ERR_NOT_FOUND);
        assert_non_null(strstr(err.text, "test.absent"));
        publish_text(publisher, names.queue, "x");
    }
}

static void returned_messages_are_told_apart_from_taken_ones(void **state)
{
    (void)state;
    enum { MESSAGES = 1000 };
    struct names names = fresh_queue((struct bus_queue_spec){0});
    AUTO(bus_publisher_close_auto) struct bus_publisher *publisher = open_publisher(&options);
    struct tally present, absent;
    tally_init(&present);
    tally_init(&absent);
    for (int i = 0; i < MESSAGES; i++) {
        struct bus_message message = text_message(i % 3 == 0 ? "test.absent" : names.queue, "x");
        CHECK_OK(bus_publish_async(publisher, &message, count_done, i % 3 == 0 ? &absent : &present, failure));
    }
    await_tally(&absent, (MESSAGES + 2) / 3);
    await_tally(&present, MESSAGES - (MESSAGES + 2) / 3);
    assert_int_equal(absent.by_code[ERR_NOT_FOUND], absent.done);
    assert_int_equal(present.by_code[OK], present.done);
}

static void hostile_names_and_sizes_are_refused_before_they_are_sent(void **state)
{
    (void)state;
    char long_text[300];
    memset(long_text, 'a', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    const struct {
        struct bus_message message;
        const char *says;
    } cases[] = {
        {{.routing_key = ""}, "a queue's name"},
        {{.routing_key = "a b"}, "a queue's name"},
        {{.routing_key = long_text}, "a queue's name"},
        {{.routing_key = "q", .type = long_text}, "a message type"},
        {{.routing_key = "q", .message_id = "a\nb"}, "0x0a"},
        {{.routing_key = "q", .body = "", .body_bytes = (size_t)BUS_MAX_MESSAGE_BYTES + 1}, "at most"},
    };
    AUTO(bus_publisher_close_auto) struct bus_publisher *publisher = open_publisher(&options);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = {0};
        assert_int_equal(bus_publish(publisher, &cases[i].message, PATIENCE_US, &err), ERR_INVALID);
        assert_non_null(strstr(err.text, cases[i].says));
    }
}

static void a_broker_that_cannot_be_reached_fails_within_the_time_out(void **state)
{
    (void)state;
    struct bus_options nowhere = options;
    nowhere.url = "amqp://guest@127.0.0.1:1/";
    AUTO(bus_publisher_close_auto) struct bus_publisher *publisher = open_publisher(&nowhere);
    struct bus_message message = text_message("q", "x");
    struct error err = {0};
    int64_t before_us = clock_monotonic_us();
    assert_int_equal(bus_publish(publisher, &message, SHORT_US, &err), ERR_UNAVAILABLE);
    assert_true(clock_monotonic_us() - before_us < PATIENCE_US / 4);
    assert_false(bus_publisher_ready(publisher, &err));
    assert_int_equal(err.code, ERR_UNAVAILABLE);
    struct bus_queue_depth depth = {.messages = 77};
    assert_int_equal(bus_queue_inspect(&nowhere, "q", &depth, &err), ERR_UNAVAILABLE);
    assert_int_equal(depth.messages, 77);
}

static void a_wrong_password_is_denied(void **state)
{
    (void)state;
    struct bus_options wrong = options;
    wrong.password = "not-the-password";
    struct bus_queue_depth depth;
    struct error err = {0};
    assert_int_equal(bus_queue_inspect(&wrong, "q", &depth, &err), ERR_DENIED);
    assert_null(strstr(err.text, "not-the-password"));
}

static void closing_stops_what_is_not_confirmed(void **state)
{
    (void)state;
    struct bus_options nowhere = options;
    nowhere.url = "amqp://guest@127.0.0.1:1/";
    struct bus_publisher *publisher = open_publisher(&nowhere);
    struct bus_message message = text_message("q", "x");
    struct tally tally;
    tally_init(&tally);
    CHECK_OK(bus_publish_async(publisher, &message, count_done, &tally, failure));
    bus_publisher_close(publisher);
    assert_int_equal(tally.by_code[ERR_STOPPED], 1);
}

static void bytes_in_flight_are_bounded(void **state)
{
    (void)state;
    struct bus_options nowhere = options;
    nowhere.url = "amqp://guest@127.0.0.1:1/";
    AUTO(bus_publisher_close_auto) struct bus_publisher *publisher = NULL;
    CHECK_OK(bus_publisher_open(&nowhere, 10000, &publisher, failure));
    static char body[9000];
    struct bus_message message = text_message("q", "");
    message.body = body;
    message.body_bytes = sizeof body;
    struct tally tally;
    tally_init(&tally);
    CHECK_OK(bus_publish_async(publisher, &message, count_done, &tally, failure));
    struct error err = {0};
    assert_int_equal(bus_publish(publisher, &message, SHORT_US, &err), ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "wait for the broker's confirm"));
    bus_publisher_close(TAKE(publisher)); /* the tally must outlive its message */
}

static void declaring_again_is_fine_and_with_other_arguments_invalid(void **state)
{
    (void)state;
    struct names names = fresh_queue((struct bus_queue_spec){.max_length = 10});
    struct bus_queue_spec spec = {.name = names.queue, .max_length = 10};
    CHECK_OK(bus_declare(&options, &spec, 1, failure));
    spec.max_length = 11;
    struct error err = {0};
    assert_int_equal(bus_declare(&options, &spec, 1, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, names.queue));
    spec.name = "not a name";
    assert_int_equal(bus_declare(&options, &spec, 1, &err), ERR_INVALID);
}

static void inspecting_tells_messages_consumers_and_absence(void **state)
{
    (void)state;
    struct names names = fresh_queue((struct bus_queue_spec){0});
    AUTO(bus_publisher_close_auto) struct bus_publisher *publisher = open_publisher(&options);
    publish_text(publisher, names.queue, "1");
    publish_text(publisher, names.queue, "2");
    await_depth(names.queue, 2);
    struct bus_queue_depth depth = {0};
    CHECK_OK(bus_queue_inspect(&options, names.queue, &depth, failure));
    assert_int_equal(depth.consumers, 0);
    AUTO(bus_consumer_close_auto) struct bus_consumer *consumer = open_consumer(&options, names.queue, 1);
    struct bus_delivery *delivery = next(consumer);
    CHECK_OK(bus_queue_inspect(&options, names.queue, &depth, failure));
    assert_int_equal(depth.consumers, 1);
    await_depth(names.queue, 1);
    bus_settle(consumer, delivery, BUS_ACK, NULL);
    CHECK_OK(bus_queue_inspect(&options, "test.absent", &depth, failure));
    assert_false(depth.exists);
}

int run_publish_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_arrives_as_it_was_published),
        cmocka_unit_test(bodies_of_every_size_arrive_whole),
        cmocka_unit_test(ten_thousand_messages_arrive_in_order_each_confirmed_once),
        cmocka_unit_test(a_full_queue_is_a_conflict),
        cmocka_unit_test(a_queue_that_is_not_there_is_not_found),
        cmocka_unit_test(returned_messages_are_told_apart_from_taken_ones),
        cmocka_unit_test(hostile_names_and_sizes_are_refused_before_they_are_sent),
        cmocka_unit_test(a_broker_that_cannot_be_reached_fails_within_the_time_out),
        cmocka_unit_test(a_wrong_password_is_denied),
        cmocka_unit_test(closing_stops_what_is_not_confirmed),
        cmocka_unit_test(bytes_in_flight_are_bounded),
        cmocka_unit_test(declaring_again_is_fine_and_with_other_arguments_invalid),
        cmocka_unit_test(inspecting_tells_messages_consumers_and_absence),
    };
    return cmocka_run_group_tests(tests, read_environment, NULL);
}
