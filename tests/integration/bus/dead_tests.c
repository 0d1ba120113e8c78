#include "tests/integration/bus/live.h"

struct script {
    const enum bus_dead_action *actions;
    size_t next;
    char seen[256]; /* bodies, each followed by a space */
    char reason[128], queue[128];
    int64_t dead_at_us;
};

static enum bus_dead_action follow_script(void *context, const struct bus_dead_message *message)
{
    struct script *script = context;
    (void)snprintf(script->seen + strlen(script->seen), sizeof script->seen - strlen(script->seen), "%.*s ",
                   (int)message->body_bytes, (const char *)message->body);
    (void)snprintf(script->reason, sizeof script->reason, "%s", message->reason);
    (void)snprintf(script->queue, sizeof script->queue, "%s", message->queue);
    script->dead_at_us = message->dead_at_us;
    assert_string_equal(message->type, "test.v1");
    assert_string_equal(message->message_id, "id-1");
    return script->actions[script->next++];
}

static void dead_letters_tell_why_and_can_be_kept_replayed_or_dropped(void **state)
{
    (void)state;
    struct names names = fresh_queue((struct bus_queue_spec){0});
    AUTO(bus_publisher_close_auto) struct bus_publisher *publisher = open_publisher(&options);
    AUTO(bus_consumer_close_auto) struct bus_consumer *consumer = open_consumer(&options, names.queue, 10);
    int64_t before_us = clock_now_us();
    static const char *const bodies[] = {"keep", "replay", "drop", "keep2"};
    for (size_t i = 0; i < 4; i++) {
        publish_text(publisher, names.queue, bodies[i]);
        bus_settle(consumer, next(consumer), BUS_DEAD, "expected a number but found \"x\"");
        await_depth(names.dead, i + 1);
    }
    static const enum bus_dead_action all[] = {BUS_DEAD_KEEP, BUS_DEAD_REPLAY, BUS_DEAD_DROP, BUS_DEAD_KEEP};
    struct script script = {.actions = all};
    size_t visited = 0;
    CHECK_OK(bus_dead_visit(&options, names.dead, 100, follow_script, &script, &visited, failure));
    assert_int_equal(visited, 4);
    assert_string_equal(script.seen, "keep replay drop keep2 ");
    assert_string_equal(script.reason, "expected a number but found \"x\"");
    assert_string_equal(script.queue, names.queue);
    assert_in_range(script.dead_at_us, before_us, clock_now_us());
    struct bus_delivery *delivery = next(consumer);
    assert_body(delivery, "replay");
    assert_int_equal(delivery->attempt, 0);
    assert_true(delivery->published_at_us >= before_us);
    bus_settle(consumer, delivery, BUS_ACK, NULL);
    await_depth(names.dead, 2);
    static const enum bus_dead_action drop[] = {BUS_DEAD_DROP, BUS_DEAD_DROP};
    script = (struct script){.actions = drop};
    CHECK_OK(bus_dead_visit(&options, names.dead, 1, follow_script, &script, &visited, failure));
    assert_int_equal(visited, 1);
    assert_string_equal(script.seen, "keep "); /* it kept its place */
    CHECK_OK(bus_dead_visit(&options, names.dead, 100, follow_script, &script, &visited, failure));
    await_depth(names.dead, 0);
    assert_nothing_comes(consumer);
}

static void a_message_redelivered_too_often_is_dead_lettered_by_the_broker(void **state)
{
    (void)state;
    struct names names = fresh_queue((struct bus_queue_spec){0});
    AUTO(bus_publisher_close_auto) struct bus_publisher *publisher = open_publisher(&options);
    AUTO(bus_consumer_close_auto) struct bus_consumer *consumer = open_consumer(&options, names.queue, 10);
    publish_text(publisher, names.queue, "poison");
    for (uint32_t i = 0; i <= 20; i++) {
        struct bus_delivery *delivery = next(consumer);
        assert_int_equal(delivery->delivery_count, i);
        bus_settle(consumer, delivery, BUS_REQUEUE, NULL);
    }
    await_depth(names.dead, 1);
    static const enum bus_dead_action drop[] = {BUS_DEAD_DROP};
    struct script script = {.actions = drop};
    size_t visited = 0;
    CHECK_OK(bus_dead_visit(&options, names.dead, 10, follow_script, &script, &visited, failure));
    assert_string_equal(script.reason, "delivery_limit");
    assert_string_equal(script.queue, names.queue);
    assert_int_equal(script.dead_at_us, 0);
}

static void a_dead_letter_without_headers_belongs_to_its_queues_name(void **state)
{
    (void)state;
    struct names names = fresh_queue((struct bus_queue_spec){0});
    AUTO(bus_publisher_close_auto) struct bus_publisher *publisher = open_publisher(&options);
    struct bus_message message = text_message(names.dead, "stray"); /* by hand: no header says where it came from */
    CHECK_OK(bus_publish(publisher, &message, PATIENCE_US, failure));
    static const enum bus_dead_action keep[] = {BUS_DEAD_KEEP};
    struct script script = {.actions = keep};
    size_t visited = 0;
    CHECK_OK(bus_dead_visit(&options, names.dead, 10, follow_script, &script, &visited, failure));
    assert_string_equal(script.queue, names.queue); /* so its name does */
    struct error err = {0};
    visited = 99;
    assert_int_equal(bus_dead_visit(&options, names.queue, 10, follow_script, &script, &visited, &err), ERR_INVALID);
    assert_int_equal(visited, 99);
    assert_int_equal(bus_dead_visit(&options, "test.absent.dead", 10, follow_script, &script, &visited, &err),
                     ERR_NOT_FOUND);
}

int run_dead_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dead_letters_tell_why_and_can_be_kept_replayed_or_dropped),
        cmocka_unit_test(a_message_redelivered_too_often_is_dead_lettered_by_the_broker),
        cmocka_unit_test(a_dead_letter_without_headers_belongs_to_its_queues_name),
    };
    return cmocka_run_group_tests(tests, read_environment, NULL);
}
