#include "tests/unit/store/fixture.h"

#include <pthread.h>

#include "common/digest/digest.h"

static void an_object_is_whole_and_described_by_its_receipt(void **state)
{
    struct store_fixture *fixture = *state;
    AUTO(store_upload_abort_auto) struct store_upload *upload = NULL;
    AUTO(free_auto) uint8_t *data = malloc(3000000);
    AUTO(free_auto) uint8_t *back = malloc(3000000);
    struct store_receipt receipt;
    uint8_t sha256[32];
    size_t sizes[] = {0, 1, 4, 100000, 262144, 1000000, 37, 262143, 700000};
    size_t length = 0;
    for (size_t i = 0; i < 3000000; i++) {
        data[i] = (uint8_t)(i * 31 + i / 251);
    }
    assert_int_equal(store_upload_open(fixture->store, "t/2026-01-01/p.parquet", soon_us(), &upload, NULL), OK);
    for (size_t i = 0; i < COUNT(sizes); i++) {
        assert_int_equal(store_upload_write(upload, data + length, sizes[i], NULL), OK);
        length += sizes[i];
        assert_false(object_exists(fixture, "t/2026-01-01/p.parquet"));
    }
    assert_int_equal(store_upload_finish(TAKE(upload), &receipt, NULL), OK);
    digest_sha256(data, length, sha256);
    assert_int_equal(receipt.size_bytes, length);
    assert_memory_equal(receipt.sha256, sha256, sizeof sha256);
    assert_string_equal(receipt.etag, "");
    assert_int_equal(store_get(fixture->store, "t/2026-01-01/p.parquet", 0, length, back, NULL), OK);
    assert_memory_equal(back, data, length);
    assert_int_equal(entries_on_disk(fixture), 3);
}

static void an_aborted_upload_leaves_no_file(void **state)
{
    struct store_fixture *fixture = *state;
    struct store_upload *upload = NULL;
    assert_int_equal(store_upload_open(fixture->store, "t/d/p", soon_us(), &upload, NULL), OK);
    assert_int_equal(store_upload_write(upload, "x", 1, NULL), OK);
    assert_int_equal(entries_on_disk(fixture), 3);
    store_upload_abort(TAKE(upload));
    assert_int_equal(entries_on_disk(fixture), 2);
    store_upload_abort(NULL);
}

static void past_its_deadline_nothing_becomes_visible(void **state)
{
    struct store_fixture *fixture = *state;
    struct store_upload *upload = NULL;
    struct store_receipt receipt = {.size_bytes = 77};
    struct error err = {0};
    assert_int_equal(store_upload_open(fixture->store, "t/d/p", soon_us(), &upload, NULL), OK);
    const _Atomic int64_t past_us = clock_monotonic_us() - 1;
    store_upload_follow_deadline(upload, &past_us);
    assert_int_equal(store_upload_finish(TAKE(upload), &receipt, &err), ERR_TIMEOUT);
    assert_non_null(strstr(err.text, "deadline passed"));
    assert_non_null(strstr(err.text, "t/d/p"));
    assert_int_equal(receipt.size_bytes, 77);
    assert_int_equal(entries_on_disk(fixture), 2);
}

static void a_deadline_moved_in_time_counts(void **state)
{
    struct store_fixture *fixture = *state;
    struct store_upload *upload = NULL;
    struct store_receipt receipt;
    assert_int_equal(store_upload_open(fixture->store, "k", clock_monotonic_us() - 1, &upload, NULL), OK);
    _Atomic int64_t moving_us = clock_monotonic_us() - 1;
    store_upload_follow_deadline(upload, &moving_us);
    moving_us = soon_us();
    assert_int_equal(store_upload_finish(TAKE(upload), &receipt, NULL), OK);
}

static void equal_bytes_under_the_key_are_success_and_others_a_conflict(void **state)
{
    struct store_fixture *fixture = *state;
    static const struct {
        const char *text;
        enum err_code code;
    } cases[] = {
        {"granary", OK}, {"granary", OK}, {"Granary", ERR_CONFLICT}, {"granary!", ERR_CONFLICT}, {"", ERR_CONFLICT}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct error err = {0};
        char back[7];
        assert_int_equal(put_text(fixture->store, "t/d/p", cases[i].text, &err), cases[i].code);
        assert_int_equal(store_get(fixture->store, "t/d/p", 0, 7, back, NULL), OK);
        assert_memory_equal(back, "granary", 7);
        if (cases[i].code != OK) {
            assert_non_null(strstr(err.text, "other bytes"));
        }
        assert_int_equal(entries_on_disk(fixture), 3);
    }
}

static void of_two_uploads_of_a_key_the_later_takes_the_temporary(void **state)
{
    struct store_fixture *fixture = *state;
    struct store_upload *first = NULL;
    struct store_upload *second = NULL;
    struct store_receipt receipt;
    struct error err = {0};
    assert_int_equal(store_upload_open(fixture->store, "t/d/p", soon_us(), &first, NULL), OK);
    assert_int_equal(store_upload_write(first, "half", 4, NULL), OK);
    assert_int_equal(store_upload_open(fixture->store, "t/d/p", soon_us(), &second, NULL), OK);
    assert_int_equal(entries_on_disk(fixture), 3);
    assert_int_equal(store_upload_finish(TAKE(first), &receipt, &err), ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "another upload"));
    assert_false(object_exists(fixture, "t/d/p"));
    assert_int_equal(store_upload_write(second, "whole", 5, NULL), OK);
    assert_int_equal(store_upload_finish(TAKE(second), &receipt, NULL), OK);
    assert_true(object_exists(fixture, "t/d/p"));
    assert_int_equal(entries_on_disk(fixture), 3);
}

static void the_slower_of_two_equal_uploads_succeeds_as_well(void **state)
{
    struct store_fixture *fixture = *state;
    struct store_upload *slow = NULL;
    struct store_receipt receipt;
    assert_int_equal(store_upload_open(fixture->store, "t/d/p", soon_us(), &slow, NULL), OK);
    assert_int_equal(store_upload_write(slow, "same", 4, NULL), OK);
    assert_int_equal(put_text(fixture->store, "t/d/p", "same", NULL), OK);
    assert_int_equal(store_upload_finish(TAKE(slow), &receipt, NULL), OK);
    assert_int_equal(entries_on_disk(fixture), 3);
}

static void what_a_crash_left_is_replaced(void **state)
{
    struct store_fixture *fixture = *state;
    char path[128];
    assert_int_equal(put_text(fixture->store, "t/d/other", "x", NULL), OK);
    (void)snprintf(path, sizeof path, "%s/t/d/.p.tmp", fixture->root);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fputs("garbage", file) >= 0, 1);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(put_text(fixture->store, "t/d/p", "good", NULL), OK);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void a_full_disk_is_said_with_path_and_reason(void **state)
{
#ifdef GRANARY_FAULTS
    struct store_fixture *fixture = *state;
    struct store_upload *upload = NULL;
    struct store_receipt receipt;
    struct error err = {0};
    assert_int_equal(store_upload_open(fixture->store, "t/d/p", soon_us(), &upload, NULL), OK);
    assert_int_equal(store_upload_write(upload, "x", 1, NULL), OK);
    assert_int_equal(setenv("GRANARY_FAULT", "store.disk_full=fail", 1), 0);
    assert_int_equal(store_upload_finish(TAKE(upload), &receipt, &err), ERR_UNAVAILABLE);
    assert_int_equal(unsetenv("GRANARY_FAULT"), 0);
    assert_non_null(strstr(err.text, fixture->root));
    assert_non_null(strstr(err.text, "t/d/p"));
    assert_non_null(strstr(err.text, "No space left on device"));
    assert_int_equal(entries_on_disk(fixture), 2);
    assert_int_equal(put_text(fixture->store, "t/d/p", "x", NULL), OK);
#else
    (void)state;
    skip();
#endif
}

static void hostile_keys_are_refused_by_every_call(void **state)
{
    struct store_fixture *fixture = *state;
    static char too_long[1026];
    static char part_too_long[260];
    memset(too_long, 'k', sizeof too_long - 1);
    for (size_t i = 100; i < sizeof too_long - 1; i += 100) {
        too_long[i] = '/';
    }
    memset(part_too_long, 'k', sizeof part_too_long - 1);
    const char *const keys[] = {"",   "/", "/etc/passwd", "..",      "../x",     "a/../b", "a//b",
                                "a/", ".", "a/./b",       ".hidden", "a/.p.tmp", too_long};
    for (size_t i = 0; i < COUNT(keys); i++) {
        struct store_upload *upload = NULL;
        struct store_object object;
        struct store_delete_result result = {0};
        struct error err = {0};
        char byte;
        assert_int_equal(store_upload_open(fixture->store, keys[i], soon_us(), &upload, &err), ERR_INVALID);
        assert_non_null(strstr(err.text, "expected an object key with"));
        assert_null(upload);
        assert_int_equal(store_get(fixture->store, keys[i], 0, 1, &byte, NULL), ERR_INVALID);
        assert_int_equal(store_head(fixture->store, keys[i], fixture->arena, &object, NULL), ERR_INVALID);
        assert_int_equal(store_delete(fixture->store, &keys[i], 1, &result, NULL), OK);
        assert_int_equal(result.outcome, STORE_DELETE_FAILED);
        assert_int_equal(result.error.code, ERR_INVALID);
    }
    struct store_upload *upload = NULL;
    assert_int_equal(store_upload_open(fixture->store, part_too_long, soon_us(), &upload, NULL), ERR_INVALID);
    assert_int_equal(entries_on_disk(fixture), 0);
}

/* --- threads ------------------------------------------------------------------------------------------------------ */

enum { THREADS = 6, EACH = 40 };

struct uploader {
    struct store *store;
    int id;
};

static void *upload_many(void *argument)
{
    const struct uploader *uploader = argument;
    for (int i = 0; i < EACH; i++) {
        char key[64];
        struct store_delete_result result = {0};
        const char *keys[] = {key};
        (void)snprintf(key, sizeof key, "table/day-%d/%d-%d", i % 7, uploader->id, i);
        if (put_text(uploader->store, key, key, NULL) != OK ||
            (i % 2 == 1 &&
             (store_delete(uploader->store, keys, 1, &result, NULL) != OK || result.outcome != STORE_DELETED))) {
            return argument;
        }
    }
    return NULL;
}

static void threads_upload_and_delete_in_folders_that_come_and_go(void **state)
{
    struct store_fixture *fixture = *state;
    pthread_t threads[THREADS];
    struct uploader uploaders[THREADS];
    struct store_object *objects;
    size_t count;
    bool more;
    for (int i = 0; i < THREADS; i++) {
        uploaders[i] = (struct uploader){.store = fixture->store, .id = i};
        assert_int_equal(pthread_create(&threads[i], NULL, upload_many, &uploaders[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    assert_int_equal(store_list(fixture->store, "", "", 1000000, fixture->arena, &objects, &count, &more, NULL), OK);
    assert_int_equal(count, THREADS * EACH / 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
    const struct CMUnitTest tests[] = {
        TEST(an_object_is_whole_and_described_by_its_receipt),
        TEST(an_aborted_upload_leaves_no_file),
        TEST(past_its_deadline_nothing_becomes_visible),
        TEST(a_deadline_moved_in_time_counts),
        TEST(equal_bytes_under_the_key_are_success_and_others_a_conflict),
        TEST(of_two_uploads_of_a_key_the_later_takes_the_temporary),
        TEST(the_slower_of_two_equal_uploads_succeeds_as_well),
        TEST(what_a_crash_left_is_replaced),
        TEST(a_full_disk_is_said_with_path_and_reason),
        TEST(hostile_keys_are_refused_by_every_call),
        TEST(threads_upload_and_delete_in_folders_that_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
