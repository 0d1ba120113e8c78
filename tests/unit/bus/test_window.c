#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/bus/delivery.h"

static int items[100000];

static uint64_t push(struct bus_window *window, int *item)
{
    assert_int_equal(bus_window_reserve(window, NULL), OK);
    return bus_window_push(window, item);
}

static void tags_count_from_one_and_find_their_item(void **state)
{
    (void)state;
    AUTO(bus_window_done) struct bus_window window;
    bus_window_init(&window);
    assert_null(bus_window_oldest(&window));
    assert_null(bus_window_take_oldest(&window));
    for (uint64_t i = 1; i <= 1000; i++) { /* grows several times */
        assert_int_equal(push(&window, &items[i]), i);
    }
    assert_ptr_equal(bus_window_peek(&window, 500), &items[500]);
    assert_ptr_equal(bus_window_take(&window, 500), &items[500]);
    assert_null(bus_window_take(&window, 500)); /* once only */
    assert_null(bus_window_take(&window, 0));
    assert_null(bus_window_take(&window, 1001));
    assert_null(bus_window_take(&window, UINT64_MAX));
    assert_ptr_equal(bus_window_oldest(&window), &items[1]);
}

static void taking_oldest_passes_over_what_was_confirmed_out_of_order(void **state)
{
    (void)state;
    AUTO(bus_window_done) struct bus_window window;
    bus_window_init(&window);
    for (uint64_t i = 1; i <= 6; i++) {
        push(&window, &items[i]);
    }
    assert_ptr_equal(bus_window_take(&window, 2), &items[2]);
    assert_ptr_equal(bus_window_take(&window, 3), &items[3]);
    assert_ptr_equal(bus_window_take(&window, 1), &items[1]);
    assert_int_equal(window.first_tag, 4);
    assert_ptr_equal(bus_window_take_oldest(&window), &items[4]);
    assert_ptr_equal(bus_window_take(&window, 6), &items[6]);
    assert_ptr_equal(bus_window_take_oldest(&window), &items[5]);
    assert_null(bus_window_take_oldest(&window));
    assert_int_equal(push(&window, &items[7]), 7); /* tags go on */
    bus_window_restart(&window);
    assert_null(bus_window_oldest(&window));
    assert_int_equal(push(&window, &items[8]), 1);
}

static void a_long_run_in_random_order_loses_nothing(void **state)
{
    (void)state;
    enum { ROUNDS = 100000, OPEN = 300 };
    AUTO(bus_window_done) struct bus_window window;
    bus_window_init(&window);
    uint64_t open[OPEN];
    size_t count = 0;
    uint32_t x = 1;
    for (size_t i = 0; i < ROUNDS; i++) {
        x = x * 1664525 + 1013904223;
        if (count < OPEN && (x >> 16) % 2 == 0) {
            open[count++] = push(&window, &items[i]);
            items[i] = (int)open[count - 1];
        } else if (count > 0) {
            size_t at = (x >> 17) % count;
            int *item = bus_window_take(&window, open[at]);
            assert_non_null(item);
            assert_int_equal(*item, open[at]);
            open[at] = open[--count];
        }
    }
    for (size_t i = 0; i < count; i++) {
        assert_non_null(bus_window_take_oldest(&window));
    }
    assert_null(bus_window_take_oldest(&window));
}

static struct delivery *delivery_of(uint64_t tag)
{
    amqp_basic_properties_t properties = {0};
    struct delivery *delivery = bus_delivery_new(&properties, 0, tag);
    assert_non_null(delivery);
    return delivery;
}

static void acknowledgements_from_the_oldest_onwards_become_one(void **state)
{
    (void)state;
    struct delivery_list list = {0};
    struct delivery *deliveries[6];
    for (uint64_t i = 1; i < 6; i++) {
        deliveries[i] = delivery_of(i);
        bus_delivery_list_append(&list, deliveries[i]);
    }
    assert_int_equal(bus_delivery_list_pop_acknowledged(&list), 0);
    deliveries[2]->acknowledged = true;
    assert_int_equal(bus_delivery_list_pop_acknowledged(&list), 0); /* 1 is still open */
    deliveries[1]->acknowledged = true;
    bus_delivery_list_remove(&list, deliveries[3]); /* requeued: an ack beyond it does not touch it */
    deliveries[4]->acknowledged = true;
    assert_int_equal(bus_delivery_list_pop_acknowledged(&list), 4);
    assert_false(deliveries[4]->unsettled);
    assert_true(deliveries[5]->unsettled);
    assert_ptr_equal(list.first, deliveries[5]);
    assert_ptr_equal(list.last, deliveries[5]);
    bus_delivery_list_remove(&list, deliveries[5]);
    bus_delivery_list_remove(&list, deliveries[5]); /* nothing the second time */
    assert_null(list.first);
    assert_null(list.last);
    for (size_t i = 1; i < 6; i++) {
        bus_delivery_free(deliveries[i]);
    }
}

static void a_queue_of_deliveries_keeps_their_order(void **state)
{
    (void)state;
    struct delivery_queue queue = {0};
    assert_null(bus_delivery_queue_pop(&queue));
    for (uint64_t round = 0; round < 3; round++) {
        for (uint64_t i = 0; i < 3; i++) {
            bus_delivery_queue_push(&queue, delivery_of(round * 3 + i));
        }
        for (uint64_t i = 0; i < 3; i++) {
            struct delivery *delivery = bus_delivery_queue_pop(&queue);
            assert_int_equal(delivery->public.tag, round * 3 + i);
            bus_delivery_free(delivery);
        }
        assert_null(bus_delivery_queue_pop(&queue));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tags_count_from_one_and_find_their_item),
        cmocka_unit_test(taking_oldest_passes_over_what_was_confirmed_out_of_order),
        cmocka_unit_test(a_long_run_in_random_order_loses_nothing),
        cmocka_unit_test(acknowledgements_from_the_oldest_onwards_become_one),
        cmocka_unit_test(a_queue_of_deliveries_keeps_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
