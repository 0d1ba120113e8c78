#include "tests/unit/store/fixture.h"

/* --- opening ------------------------------------------------------------------------------------------------------ */

static void urls_that_are_no_store_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *url, *text;
    } cases[] = {
        {"", "file://"},
        {"/var/lib/x", "file://"},
        {"ftp://host/x", "ftp"},
        {"file://", "absolute"},
        {"file:///", "absolute"},
        {"file://relative/x", "absolute"},
        {"file:///a//b", "absolute"},
        {"file:///a/../b", "absolute"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct store *store = NULL;
        struct error err = {0};
        assert_int_equal(store_open(cases[i].url, NULL, &store, &err), ERR_INVALID);
        assert_non_null(strstr(err.text, cases[i].text));
        assert_null(store);
    }
}

static void a_store_is_created_with_the_folders_above_it(void **state)
{
    struct store_fixture *fixture = *state;
    char url[128];
    struct store *store = NULL;
    (void)snprintf(url, sizeof url, "file://%s/deep/er/store/", fixture->root);
    assert_int_equal(store_open(url, NULL, &store, NULL), OK);
    url[strlen(url) - 1] = '\0';
    assert_string_equal(store_url(store), url);
    assert_int_equal(put_text(store, "k", "v", NULL), OK);
    store_close(store);
    assert_true(object_exists(fixture, "deep/er/store/k"));
}

static void a_store_where_a_file_stands_is_refused(void **state)
{
    struct store_fixture *fixture = *state;
    char url[128];
    struct store *store = NULL;
    struct error err = {0};
    assert_int_equal(put_text(fixture->store, "file", "v", NULL), OK);
    (void)snprintf(url, sizeof url, "file://%s/file", fixture->root);
    assert_int_equal(store_open(url, NULL, &store, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, "/file"));
    assert_null(store);
}

static void the_probe_finds_what_the_driver_can_and_leaves_nothing(void **state)
{
    struct store_fixture *fixture = *state;
    struct store_probe probe;
    assert_int_equal(store_probe(fixture->store, &probe, NULL), OK);
    assert_true(probe.create_if_absent);
    assert_true(probe.bulk_delete);
    assert_true(probe.lists_own_writes);
    assert_int_equal(probe.versioned, STORE_NO);
    assert_int_equal(probe.object_lock, STORE_NO);
    assert_in_range(probe.clock_skew_us + CLOCK_SECOND_US, 0, 2 * CLOCK_SECOND_US);
    assert_int_equal(entries_on_disk(fixture), 0);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static void ranges_are_exact(void **state)
{
    struct store_fixture *fixture = *state;
    static const struct {
        uint64_t offset;
        size_t length;
        enum err_code code;
        const char *bytes;
    } cases[] = {
        {0, 10, OK, "0123456789"}, {3, 4, OK, "3456"},        {9, 1, OK, "9"},
        {10, 0, OK, ""},           {9, 2, ERR_CORRUPT, NULL}, {UINT32_MAX, 1, ERR_CORRUPT, NULL},
    };
    assert_int_equal(put_text(fixture->store, "t/p", "0123456789", NULL), OK);
    for (size_t i = 0; i < COUNT(cases); i++) {
        char out[16] = {0};
        assert_int_equal(store_get(fixture->store, "t/p", cases[i].offset, cases[i].length, out, NULL), cases[i].code);
        if (cases[i].code == OK) {
            assert_string_equal(out, cases[i].bytes);
        }
    }
}

static void what_is_absent_or_a_folder_is_not_found(void **state)
{
    struct store_fixture *fixture = *state;
    static const char *const keys[] = {"absent", "t", "t/absent", "t/p/below"};
    assert_int_equal(put_text(fixture->store, "t/p", "x", NULL), OK);
    for (size_t i = 0; i < COUNT(keys); i++) {
        struct store_object object = {.size_bytes = 5};
        struct error err = {0};
        char byte;
        assert_int_equal(store_get(fixture->store, keys[i], 0, 1, &byte, &err), ERR_NOT_FOUND);
        assert_non_null(strstr(err.text, keys[i]));
        assert_int_equal(store_head(fixture->store, keys[i], fixture->arena, &object, NULL), ERR_NOT_FOUND);
        assert_int_equal(object.size_bytes, 5);
    }
}

static void head_tells_size_and_time(void **state)
{
    struct store_fixture *fixture = *state;
    struct store_object object;
    assert_int_equal(put_text(fixture->store, "t/p", "12345", NULL), OK);
    assert_int_equal(store_head(fixture->store, "t/p", fixture->arena, &object, NULL), OK);
    assert_string_equal(object.key, "t/p");
    assert_int_equal(object.size_bytes, 5);
    assert_in_range(clock_now_us() - object.modified_at_us + CLOCK_SECOND_US, 0, 10 * CLOCK_SECOND_US);
}

/* --- listing ------------------------------------------------------------------------------------------------------ */

/* '!' '-' '.' sort before '/', '0' and letters after it. */
static const char *const awkward[] = {
    "a",    "a!",      "a!/x",   "a-b",      "a-b/z", "a.b", "a/1", "a/b/c",      "a/b0", "a0",
    "aa/b", "b/\x01z", "b/\xff", "b/ space", "b/%2e", "b/+", "b/~", "b/\xc3\xa9", "c",    "zz/y/x/w/v",
};

static int compare_keys(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The keys that a folder and a file cannot both have are left out by being put first. */
static size_t put_awkward(struct store_fixture *fixture, const char **kept)
{
    size_t count = 0;
    for (size_t i = 0; i < COUNT(awkward); i++) {
        if (put_text(fixture->store, awkward[i], awkward[i], NULL) == OK) {
            kept[count++] = awkward[i];
        }
    }
    qsort(kept, count, sizeof *kept, compare_keys);
    return count;
}

static void keys_come_in_byte_order_whatever_the_page(void **state)
{
    struct store_fixture *fixture = *state;
    const char *kept[COUNT(awkward)];
    size_t kept_count = put_awkward(fixture, kept);
    char path[128];
    assert_true(kept_count >= 14);
    (void)snprintf(path, sizeof path, "%s/b/.p.tmp", fixture->root);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);

    for (size_t page = 1; page <= kept_count + 1; page++) {
        const char *after = "";
        size_t seen = 0;
        bool more = true;
        while (more) {
            struct store_object *objects;
            size_t count;
            assert_int_equal(store_list(fixture->store, "", after, page, fixture->arena, &objects, &count, &more, NULL),
                             OK);
            assert_true(count == page || !more);
            for (size_t i = 0; i < count; i++) {
                assert_string_equal(objects[i].key, kept[seen + i]);
                assert_int_equal(objects[i].size_bytes, strlen(kept[seen + i]));
            }
            seen += count;
            after = count > 0 ? objects[count - 1].key : after;
        }
        assert_int_equal(seen, kept_count);
    }
}

static void a_prefix_and_a_start_choose_as_on_a_sorted_list(void **state)
{
    struct store_fixture *fixture = *state;
    const char *kept[COUNT(awkward)];
    size_t kept_count = put_awkward(fixture, kept);
    static const char *const prefixes[] = {"",   "a",      "a!", "a-", "aa",     "aa/",       "b",
                                           "b/", "b/\xff", "c",  "d",  "zz/y/x", "none/such/"};
    static const char *const starts[] = {"",     "a", "a!",  "a!/", "a-b/z", "aa", "aa/b",
                                         "aa/c", "b", "b/~", "b0",  "zzz",   "~"};
    for (size_t p = 0; p < COUNT(prefixes); p++) {
        for (size_t s = 0; s < COUNT(starts); s++) {
            struct store_object *objects;
            size_t count;
            bool more;
            size_t next = 0;
            assert_int_equal(store_list(fixture->store, prefixes[p], starts[s], 1000000, fixture->arena, &objects,
                                        &count, &more, NULL),
                             OK);
            assert_false(more);
            for (size_t i = 0; i < kept_count; i++) {
                if (strncmp(kept[i], prefixes[p], strlen(prefixes[p])) == 0 && strcmp(kept[i], starts[s]) > 0) {
                    assert_true(next < count);
                    assert_string_equal(objects[next++].key, kept[i]);
                }
            }
            assert_int_equal(next, count);
        }
    }
}

static void a_prefix_does_not_lead_out_of_the_store(void **state)
{
    struct store_fixture *fixture = *state;
    static const char *const prefixes[] = {"../", "/", "a/../../", "a//", ".x", "./"};
    for (size_t i = 0; i < COUNT(prefixes); i++) {
        struct store_object *objects = NULL;
        size_t count = 99;
        bool more;
        assert_int_equal(store_list(fixture->store, prefixes[i], "", 10, fixture->arena, &objects, &count, &more, NULL),
                         ERR_INVALID);
        assert_null(objects);
        assert_int_equal(count, 99);
    }
}

/* --- deleting ----------------------------------------------------------------------------------------------------- */

static void each_key_has_its_answer_and_empty_folders_go(void **state)
{
    struct store_fixture *fixture = *state;
    static const char *const keys[] = {"t/d1/a", "t/d1/b", "t/d2/c", "u/d1/d", "top"};
    static const char *const asked[] = {"t/d2/c", "t/d1/a", "../x", "t/d1/a", "t/d9/z", "top", "t", "u/d1/d"};
    static const enum store_deletion answers[] = {STORE_DELETED,    STORE_DELETED,    STORE_DELETE_FAILED,
                                                  STORE_WAS_ABSENT, STORE_WAS_ABSENT, STORE_DELETED,
                                                  STORE_WAS_ABSENT, STORE_DELETED};
    struct store_delete_result results[COUNT(asked)];
    for (size_t i = 0; i < COUNT(keys); i++) {
        assert_int_equal(put_text(fixture->store, keys[i], "x", NULL), OK);
    }
    assert_int_equal(entries_on_disk(fixture), 10);
    assert_int_equal(store_delete(fixture->store, asked, COUNT(asked), results, NULL), OK);
    for (size_t i = 0; i < COUNT(asked); i++) {
        assert_int_equal(results[i].outcome, answers[i]);
    }
    assert_true(object_exists(fixture, "t/d1/b"));
    assert_int_equal(entries_on_disk(fixture), 3); /* t, t/d1, t/d1/b */
}

static void deleting_takes_the_temporary_of_the_key_along(void **state)
{
    struct store_fixture *fixture = *state;
    struct store_upload *upload = NULL;
    struct store_receipt receipt;
    struct store_delete_result result;
    struct error err = {0};
    assert_int_equal(store_upload_open(fixture->store, "t/d/p", soon_us(), &upload, NULL), OK);
    assert_int_equal(store_delete(fixture->store, &(const char *){"t/d/p"}, 1, &result, NULL), OK);
    assert_int_equal(result.outcome, STORE_WAS_ABSENT);
    assert_int_equal(entries_on_disk(fixture), 0);
    assert_int_equal(store_upload_finish(TAKE(upload), &receipt, &err), ERR_UNAVAILABLE);
    assert_int_equal(entries_on_disk(fixture), 0);
}

static void deleting_nothing_is_fine(void **state)
{
    struct store_fixture *fixture = *state;
    assert_int_equal(store_delete(fixture->store, NULL, 0, NULL, NULL), OK);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
    const struct CMUnitTest tests[] = {
        TEST(urls_that_are_no_store_are_refused),
        TEST(a_store_is_created_with_the_folders_above_it),
        TEST(a_store_where_a_file_stands_is_refused),
        TEST(the_probe_finds_what_the_driver_can_and_leaves_nothing),
        TEST(ranges_are_exact),
        TEST(what_is_absent_or_a_folder_is_not_found),
        TEST(head_tells_size_and_time),
        TEST(keys_come_in_byte_order_whatever_the_page),
        TEST(a_prefix_and_a_start_choose_as_on_a_sorted_list),
        TEST(a_prefix_does_not_lead_out_of_the_store),
        TEST(each_key_has_its_answer_and_empty_folders_go),
        TEST(deleting_takes_the_temporary_of_the_key_along),
        TEST(deleting_nothing_is_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
