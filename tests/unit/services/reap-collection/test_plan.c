#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "services/reap-collection/plan.h"

static struct uuid table(uint8_t number)
{
    return (struct uuid){{number}};
}

/* Goes through turns of tables that have so many events each; writes whose turn it was. */
static size_t play(const size_t *events, size_t tables, uint64_t random, uint8_t *order)
{
    AUTO(collection_turns_done) struct collection_turns turns = {0};
    size_t left[8] = {0};
    size_t count = 0;
    struct collection_turn *turn;
    for (size_t i = 0; i < tables; i++) {
        struct uuid id = table((uint8_t)i);
        left[i] = events[i];
        assert_int_equal(collection_turns_add(&turns, &id, NULL), OK);
    }
    collection_turns_begin(&turns, random);
    while ((turn = collection_turns_take(&turns)) != NULL) {
        uint8_t who = turn->table_id.bytes[0];
        const struct catalog_reap_item last = {.deactivated_at_us = who};
        assert_true(!turn->begun || turn->last.deactivated_at_us == who);
        order[count++] = who;
        left[who]--;
        collection_turns_give(&turns, left[who] == 0 ? NULL : &last);
    }
    return count;
}

static void tables_take_turns_until_each_is_through(void **state)
{
    (void)state;
    static const struct {
        size_t events[4], tables;
        uint64_t random;
        const char *order;
    } cases[] = {
        {{5, 1, 2}, 3, 0, "01202000"}, {{5, 1, 2}, 3, 1, "12020000"}, {{5, 1, 2}, 3, 5, "20120000"},
        {{1, 1, 1, 1}, 4, 3, "3012"},  {{3}, 1, 77, "000"},           {{0}, 0, 9, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t order[16] = {0};
        size_t count = play(cases[i].events, cases[i].tables, cases[i].random, order);
        assert_int_equal(count, __builtin_strlen(cases[i].order));
        for (size_t k = 0; k < count; k++) {
            assert_int_equal(order[k], cases[i].order[k] - '0');
        }
    }
}

static void thousands_of_tables_have_their_turn(void **state)
{
    (void)state;
    AUTO(collection_turns_done) struct collection_turns turns = {0};
    const struct uuid id = table(1);
    size_t count = 0;
    for (size_t i = 0; i < 5000; i++) {
        assert_int_equal(collection_turns_add(&turns, &id, NULL), OK);
    }
    collection_turns_begin(&turns, 4999);
    for (; collection_turns_take(&turns) != NULL; count++) {
        collection_turns_give(&turns, NULL);
    }
    assert_int_equal(count, 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_take_turns_until_each_is_through),
        cmocka_unit_test(thousands_of_tables_have_their_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
