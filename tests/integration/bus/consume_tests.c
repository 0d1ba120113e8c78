#include "tests/integration/bus/live.h"
#include "tests/integration/bus/proxy.h"

static void a_requeued_message_comes_again_and_is_counted(void **state)
{
    (void)state;
    struct names names = fresh_queue((struct bus_queue_spec){0});
    AUTO(bus_publisher_close_auto) struct bus_publisher *publisher = open_publisher(&options);
    AUTO(bus_consumer_close_auto) struct bus_consumer *consumer = open_consumer(&options, names.queue, 10);
    publish_text(publisher, names.queue, "again");
    for (uint32_t i = 0; i < 4; i++) {
        struct bus_delivery *delivery = next(consumer);
        assert_int_equal(delivery->delivery_count, i);
        bus_settle(consumer, delivery, i < 3 ? BUS_REQUEUE : BUS_ACK, NULL);
    }
    assert_nothing_comes(consumer);
}

static void the_prefetch_bounds_what_is_unsettled(void **state)
{
    (void)state;
    struct names names = fresh_queue((struct bus_queue_spec){0});
    AUTO(bus_publisher_close_auto) struct bus_publisher *publisher = open_publisher(&options);
    for (int i = 0; i < 5; i++) {
        publish_text(publisher, names.queue, "x");
    }
    AUTO(bus_consumer_close_auto) struct bus_consumer *consumer = open_consumer(&options, names.queue, 2);
    struct bus_delivery *first = next(consumer), *second = next(consumer);
    assert_nothing_comes(consumer);
    bus_settle(consumer, second, BUS_ACK, NULL); /* out of order */
    struct bus_delivery *third = next(consumer);
    assert_nothing_comes(consumer);
    bus_settle(consumer, third, BUS_ACK, NULL);
    bus_settle(consumer, first, BUS_ACK, NULL);
    for (int i = 0; i < 2; i++) {
        bus_settle(consumer, next(consumer), BUS_ACK, NULL);
    }
    assert_nothing_comes(consumer);
}

static void closing_writes_acknowledgements_and_gives_back_the_rest(void **state)
{
    (void)state;
    struct names names = fresh_queue((struct bus_queue_spec){0});
    AUTO(bus_publisher_close_auto) struct bus_publisher *publisher = open_publisher(&options);
    publish_text(publisher, names.queue, "settled");
    publish_text(publisher, names.queue, "prefetched");
    struct bus_consumer *consumer = open_consumer(&options, names.queue, 10);
    struct bus_delivery *delivery = next(consumer);
    assert_body(delivery, "settled");
    bus_settle(consumer, delivery, BUS_ACK, NULL);
    bus_consumer_close(consumer);
    await_depth(names.queue, 1);
    AUTO(bus_consumer_close_auto) struct bus_consumer *second = open_consumer(&options, names.queue, 10);
    delivery = next(second);
    assert_body(delivery, "prefetched");
    bus_settle(second, delivery, BUS_ACK, NULL);
}

static void a_delayed_message_climbs_the_ladder_and_keeps_its_first_time(void **state)
{
    (void)state;
    struct names names = fresh_queue((struct bus_queue_spec){0});
    AUTO(bus_publisher_close_auto) struct bus_publisher *publisher = open_publisher(&options);
    AUTO(bus_consumer_close_auto) struct bus_consumer *consumer = open_consumer(&options, names.queue, 10);
    publish_text(publisher, names.queue, "later");
    struct bus_delivery *delivery = next(consumer);
    int64_t published_us = delivery->published_at_us;
    for (uint32_t attempt = 1; attempt <= BUS_LADDER_STEPS + 1; attempt++) { /* beyond the last step it stays there */
        int64_t settled_us = clock_monotonic_us();
        bus_settle(consumer, delivery, BUS_DELAY, "not yet");
        delivery = next(consumer);
        assert_true(clock_monotonic_us() - settled_us >= DELAY_US);
        assert_body(delivery, "later");
        assert_int_equal(delivery->attempt, attempt);
        assert_int_equal(delivery->delivery_count, 0);
        assert_string_equal(delivery->type, "test.v1");
        assert_string_equal(delivery->message_id, "id-1");
        assert_int_equal(delivery->published_at_us, published_us);
    }
    bus_settle(consumer, delivery, BUS_ACK, NULL);
    assert_nothing_comes(consumer);
}

static void a_delayed_message_can_carry_another_body(void **state)
{
    (void)state;
    struct names names = fresh_queue((struct bus_queue_spec){0});
    AUTO(bus_publisher_close_auto) struct bus_publisher *publisher = open_publisher(&options);
    AUTO(bus_consumer_close_auto) struct bus_consumer *consumer = open_consumer(&options, names.queue, 10);
    publish_text(publisher, names.queue, "token 1");
    char body[] = "token 2";
    bus_settle_delay_with(consumer, next(consumer), body, strlen(body), "renewed");
    memset(body, 'x', sizeof body); /* it was copied */
    struct bus_delivery *delivery = next(consumer);
    assert_body(delivery, "token 2");
    assert_int_equal(delivery->attempt, 1);
    bus_settle(consumer, delivery, BUS_ACK, NULL);
    assert_nothing_comes(consumer);
}

static void pausing_stops_deliveries_and_resuming_goes_on(void **state)
{
    (void)state;
    struct names names = fresh_queue((struct bus_queue_spec){0});
    AUTO(bus_publisher_close_auto) struct bus_publisher *publisher = open_publisher(&options);
    AUTO(bus_consumer_close_auto) struct bus_consumer *consumer = open_consumer(&options, names.queue, 10);
    publish_text(publisher, names.queue, "1");
    struct bus_delivery *held = next(consumer);
    bus_consumer_pause(consumer);
    assert_false(bus_delivery_is_stale(held)); /* what is unsettled stays so, and can be settled */
    bus_settle(consumer, held, BUS_ACK, NULL);
    struct bus_queue_depth depth = {.consumers = 1};
    int64_t deadline_us = clock_monotonic_us() + PATIENCE_US;
    while (depth.consumers != 0 && clock_monotonic_us() < deadline_us) { /* counted while it has unsettled messages */
        CHECK_OK(bus_queue_inspect(&options, names.queue, &depth, failure));
    }
    assert_int_equal(depth.consumers, 0);
    publish_text(publisher, names.queue, "2");
    assert_nothing_comes(consumer);
    assert_true(bus_consumer_ready(consumer, NULL));
    bus_consumer_resume(consumer);
    struct bus_delivery *delivery = next(consumer);
    assert_body(delivery, "2");
    bus_settle(consumer, delivery, BUS_ACK, NULL);
    assert_nothing_comes(consumer);
}

static void a_consumer_waits_for_a_queue_that_comes_later(void **state)
{
    (void)state;
    struct uuid id = uuid_v4();
    char text[UUID_TEXT_BYTES], queue[64];
    (void)snprintf(queue, sizeof queue, "test.%s", uuid_format(&id, text));
    AUTO(bus_consumer_close_auto) struct bus_consumer *consumer = open_consumer(&options, queue, 10);
    struct error err = {0};
    int64_t deadline_us = clock_monotonic_us() + PATIENCE_US;
    do {
        assert_false(bus_consumer_ready(consumer, &err));
    } while (strstr(err.text, "404") == NULL && clock_monotonic_us() < deadline_us);
    assert_non_null(strstr(err.text, queue));
    struct bus_queue_spec spec = {.name = queue};
    CHECK_OK(bus_declare(&options, &spec, 1, failure));
    await_ready(consumer_is_ready, consumer, true);
}

static void a_lost_connection_makes_deliveries_stale_and_brings_them_again(void **state)
{
    (void)state;
    struct names names = fresh_queue((struct bus_queue_spec){0});
    AUTO(bus_publisher_close_auto) struct bus_publisher *publisher = open_publisher(&options);
    AUTO(proxy_close_auto) struct proxy *proxy = proxy_open(options.url);
    struct bus_options through = options;
    through.url = proxy_url(proxy);
    AUTO(bus_consumer_close_auto) struct bus_consumer *consumer = open_consumer(&through, names.queue, 10);
    publish_text(publisher, names.queue, "1");
    publish_text(publisher, names.queue, "2");
    publish_text(publisher, names.queue, "3");
    struct bus_delivery *first = next(consumer), *second = next(consumer);
    proxy_cut(proxy);
    int64_t deadline_us = clock_monotonic_us() + PATIENCE_US;
    while (!bus_delivery_is_stale(first) && clock_monotonic_us() < deadline_us) {
    }
    assert_true(bus_delivery_is_stale(first));
    assert_true(bus_delivery_is_stale(second));
    bus_settle(consumer, first, BUS_ACK, NULL); /* does nothing */
    bus_settle(consumer, second, BUS_DEAD, "does nothing either");
    /* In any order: the broker may notice the loss only after it has handed the rest to the new connection. */
    unsigned came[3] = {0};
    for (size_t i = 0; i < 3; i++) {
        struct bus_delivery *again = next(consumer);
        assert_int_equal(again->body_bytes, 1);
        int which = *(const char *)again->body - '1';
        assert_in_range(which, 0, 2);
        came[which]++;
        assert_false(bus_delivery_is_stale(again));
        bus_settle(consumer, again, BUS_ACK, NULL);
    }
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(came[i], 1);
    }
    await_depth(names.dead, 0);
    assert_nothing_comes(consumer);
}

static void no_message_is_lost_when_connections_break_again_and_again(void **state)
{
    (void)state;
    enum { MESSAGES = 3000, CUTS = 5 };
    struct names names = fresh_queue((struct bus_queue_spec){.unlimited_delivery = true});
    AUTO(proxy_close_auto) struct proxy *proxy = proxy_open(options.url);
    struct bus_options through = options;
    through.url = proxy_url(proxy);
    AUTO(bus_publisher_close_auto) struct bus_publisher *publisher = open_publisher(&through);
    AUTO(bus_consumer_close_auto) struct bus_consumer *consumer = open_consumer(&through, names.queue, 100);
    AUTO(free_auto) uint32_t *bodies = calloc(MESSAGES, sizeof *bodies);
    AUTO(free_auto) struct tally *tallies = calloc(MESSAGES, sizeof *tallies);
    for (uint32_t i = 0; i < MESSAGES; i++) {
        bodies[i] = i;
        tally_init(&tallies[i]);
        struct bus_message message = text_message(names.queue, "");
        message.body = &bodies[i];
        message.body_bytes = sizeof bodies[i];
        CHECK_OK(bus_publish_async(publisher, &message, count_done, &tallies[i], failure));
        if (i % (MESSAGES / CUTS) == MESSAGES / CUTS / 2) {
            await_ready(publisher_is_ready, publisher, true);
            proxy_cut(proxy);
        }
    }
    AUTO(free_auto) bool *seen = calloc(MESSAGES, sizeof *seen);
    size_t confirmed = 0, uncertain = 0, missing = 0;
    for (uint32_t i = 0; i < MESSAGES; i++) {
        await_tally(&tallies[i], 1);
        confirmed += tallies[i].by_code[OK];
        uncertain += tallies[i].by_code[ERR_UNAVAILABLE];
    }
    assert_int_equal(confirmed + uncertain, MESSAGES);
    assert_true(confirmed > 0);
    missing = confirmed;
    while (missing > 0) { /* each confirmed one comes at least once */
        struct bus_delivery *delivery = next(consumer);
        uint32_t number;
        memcpy(&number, delivery->body, sizeof number);
        assert_true(number < MESSAGES);
        if (!seen[number]) {
            seen[number] = true;
            missing -= tallies[number].by_code[OK];
        }
        bus_settle(consumer, delivery, BUS_ACK, NULL);
    }
}

int run_consume_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_requeued_message_comes_again_and_is_counted),
        cmocka_unit_test(the_prefetch_bounds_what_is_unsettled),
        cmocka_unit_test(closing_writes_acknowledgements_and_gives_back_the_rest),
        cmocka_unit_test(a_delayed_message_climbs_the_ladder_and_keeps_its_first_time),
        cmocka_unit_test(a_delayed_message_can_carry_another_body),
        cmocka_unit_test(pausing_stops_deliveries_and_resuming_goes_on),
        cmocka_unit_test(a_consumer_waits_for_a_queue_that_comes_later),
        cmocka_unit_test(a_lost_connection_makes_deliveries_stale_and_brings_them_again),
        cmocka_unit_test(no_message_is_lost_when_connections_break_again_and_again),
    };
    return cmocka_run_group_tests(tests, read_environment, NULL);
}
