#include "tests/unit/store/fixture.h"

#include <pthread.h>

#include "common/publish/marker.h"

static const struct uuid ours = {{1, 2, 3, 4, 5, 6, 0x47, 8, 0x89, 10}};
static const struct uuid theirs = {{1, 2, 3, 4, 5, 6, 0x47, 8, 0x89, 11}};

static void a_writer_marks_a_store_that_has_no_marker(void **state)
{
    struct store_fixture *fixture = *state;
    assert_int_equal(publish_marker_ensure(fixture->store, &ours, NULL), OK);
    assert_true(object_exists(fixture, PUBLISH_MARKER_KEY));
    assert_int_equal(publish_marker_ensure(fixture->store, &ours, NULL), OK);
    assert_int_equal(publish_marker_verify(fixture->store, &ours, NULL), OK);
}

static void a_deleter_stops_where_there_is_no_marker(void **state)
{
    struct store_fixture *fixture = *state;
    struct error err = {0};
    assert_int_equal(publish_marker_verify(fixture->store, &ours, &err), ERR_DENIED);
    assert_non_null(strstr(err.text, "found none"));
    assert_non_null(strstr(err.text, fixture->root));
    assert_non_null(strstr(err.text, "hint"));
    assert_int_equal(entries_on_disk(fixture), 0);
}

static void both_stop_at_the_marker_of_another_deployment(void **state)
{
    struct store_fixture *fixture = *state;
    assert_int_equal(publish_marker_ensure(fixture->store, &theirs, NULL), OK);
    for (int i = 0; i < 2; i++) {
        struct error err = {0};
        char text[UUID_TEXT_BYTES];
        assert_int_equal(i == 0 ? publish_marker_ensure(fixture->store, &ours, &err)
                                : publish_marker_verify(fixture->store, &ours, &err),
                         ERR_DENIED);
        assert_non_null(strstr(err.text, uuid_format(&ours, text)));
        assert_non_null(strstr(err.text, uuid_format(&theirs, text)));
    }
    assert_int_equal(publish_marker_verify(fixture->store, &theirs, NULL), OK);
}

static void a_marker_that_cannot_be_understood_stops_both(void **state)
{
    struct store_fixture *fixture = *state;
    static char large[5000];
    memset(large, ' ', sizeof large - 1);
    const char *const texts[] = {"",     "{}", "[1]", "{\"deployment_id\":7}", "{\"deployment_id\":\"0102\"}",
                                 "\xff", large};
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct store_delete_result result;
        struct error err = {0};
        assert_int_equal(put_text(fixture->store, PUBLISH_MARKER_KEY, texts[i], NULL), OK);
        assert_int_equal(publish_marker_ensure(fixture->store, &ours, &err), ERR_DENIED);
        assert_non_null(strstr(err.text, "expected a deployment marker"));
        assert_int_equal(publish_marker_verify(fixture->store, &ours, NULL), ERR_DENIED);
        assert_int_equal(store_delete(fixture->store, &(const char *){PUBLISH_MARKER_KEY}, 1, &result, NULL), OK);
    }
}

static void a_store_that_is_full_is_not_a_wrong_one(void **state)
{
#ifdef GRANARY_FAULTS
    struct store_fixture *fixture = *state;
    struct error err = {0};
#define TWICE(text) text "," text
#define FULL        "store.disk_full=fail"
    /* each rule fires once: at every try one of them */
    assert_int_equal(setenv("GRANARY_FAULT", TWICE(TWICE(TWICE(TWICE(FULL)))), 1), 0);
    assert_int_equal(publish_marker_ensure(fixture->store, &ours, &err), ERR_UNAVAILABLE);
    assert_int_equal(unsetenv("GRANARY_FAULT"), 0);
    assert_non_null(strstr(err.text, "No space left"));
    assert_int_equal(publish_marker_ensure(fixture->store, &ours, NULL), OK);
#else
    (void)state;
    skip();
#endif
}

static void *ensure(void *store)
{
    return publish_marker_ensure(store, &ours, NULL) == OK ? NULL : store;
}

static void writers_that_race_all_succeed(void **state)
{
    struct store_fixture *fixture = *state;
    pthread_t threads[8];
    for (size_t i = 0; i < COUNT(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, ensure, fixture->store), 0);
    }
    for (size_t i = 0; i < COUNT(threads); i++) {
        void *failed;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
    const struct CMUnitTest tests[] = {
        TEST(a_writer_marks_a_store_that_has_no_marker),     TEST(a_deleter_stops_where_there_is_no_marker),
        TEST(both_stop_at_the_marker_of_another_deployment), TEST(a_marker_that_cannot_be_understood_stops_both),
        TEST(a_store_that_is_full_is_not_a_wrong_one),       TEST(writers_that_race_all_succeed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
