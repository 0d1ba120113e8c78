#include "tests/unit/store/fixture.h"

#include "common/storages/storages.h"

/* Storages in folders below the fixture's. */
static const char *url_below(const struct store_fixture *fixture, const char *name, char url[160])
{
    (void)snprintf(url, 160, "file://%s/%s", fixture->root, name);
    return url;
}

static struct storages *open_own(const struct store_fixture *fixture)
{
    struct storages *storages = NULL;
    char url[160];
    assert_int_equal(storages_open(url_below(fixture, "one", url), NULL, &storages, NULL), OK);
    return storages;
}

static void the_own_storage_is_there_from_the_start_and_stays_what_it_is(void **state)
{
    AUTO(storages_close_auto) struct storages *storages = open_own(*state);
    struct store *store = NULL;
    assert_int_equal(storages_get(storages, NULL, STORAGE_OWN, &store, NULL), OK);
    assert_ptr_equal(store, storages_own(storages));
    assert_int_equal(storages_declare(storages, STORAGE_OWN, NULL, NULL), OK);
    assert_int_equal(storages_declare(storages, STORAGE_OWN, "file:///elsewhere", NULL), OK);
    assert_int_equal(storages_get(storages, NULL, STORAGE_OWN, &store, NULL), OK);
    assert_ptr_equal(store, storages_own(storages));
}

static void a_storage_is_opened_once_and_anew_where_its_url_has_changed(void **state)
{
    AUTO(storages_close_auto) struct storages *storages = open_own(*state);
    char url[160];
    struct store *first = NULL;
    struct store *again = NULL;
    struct store *moved = NULL;
    struct store_object object;
    const struct store_fixture *fixture = *state;
    assert_int_equal(storages_declare(storages, 2, url_below(fixture, "two", url), NULL), OK);
    assert_int_equal(storages_get(storages, NULL, 2, &first, NULL), OK);
    assert_ptr_not_equal(first, storages_own(storages));
    assert_int_equal(put_text(first, "t/a", "x", NULL), OK);
    assert_int_equal(store_head(storages_own(storages), "t/a", fixture->arena, &object, NULL), ERR_NOT_FOUND);
    for (int32_t id = 3; id < 40; id++) { /* the list moves in memory; stores do not */
        assert_int_equal(storages_declare(storages, id, url, NULL), OK);
    }
    assert_int_equal(storages_declare(storages, 2, url, NULL), OK);
    assert_int_equal(storages_get(storages, NULL, 2, &again, NULL), OK);
    assert_ptr_equal(again, first);
    assert_int_equal(storages_declare(storages, 2, url_below(fixture, "new", url), NULL), OK);
    assert_int_equal(storages_get(storages, NULL, 2, &moved, NULL), OK);
    assert_ptr_not_equal(moved, first);
    assert_int_equal(store_head(first, "t/a", fixture->arena, &object, NULL), OK); /* whoever has it keeps it */
    assert_int_equal(store_head(moved, "t/a", fixture->arena, &object, NULL), ERR_NOT_FOUND);
}

static void what_cannot_be_had_now_can_be_tried_again(void **state)
{
    AUTO(storages_close_auto) struct storages *storages = open_own(*state);
    struct store *store = (struct store *)storages;
    struct error err = {0};
    assert_int_equal(storages_get(storages, NULL, 9, &store, &err), ERR_UNAVAILABLE);
    assert_string_equal(err.text, "storage 9 is not known");
    assert_int_equal(storages_declare(storages, 9, "ftp://host/x", NULL), OK);
    assert_int_equal(storages_get(storages, NULL, 9, &store, &err), ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "could not open storage 9: expected a store url"));
    assert_ptr_equal(store, storages);
}

static void without_an_own_storage_there_is_none(void **state)
{
    (void)state;
    struct storages *storages = NULL;
    assert_int_equal(storages_open("nonsense", NULL, &storages, NULL), ERR_INVALID);
    assert_null(storages);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_own_storage_is_there_from_the_start_and_stays_what_it_is, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(a_storage_is_opened_once_and_anew_where_its_url_has_changed, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(what_cannot_be_had_now_can_be_tried_again, open_fixture, close_fixture),
        cmocka_unit_test(without_an_own_storage_there_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
