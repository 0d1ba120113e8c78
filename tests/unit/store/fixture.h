/* A file:// store in a directory of its own, and small objects in it. */
#ifndef GRANARY_TESTS_UNIT_STORE_FIXTURE_H
#define GRANARY_TESTS_UNIT_STORE_FIXTURE_H

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/store/store.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

struct store_fixture {
    char root[64];
    struct store *store;
    struct arena *arena;
};

__attribute__((unused)) static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info;
    (void)kind;
    (void)walk;
    return remove(path);
}

__attribute__((unused)) static int open_fixture(void **state)
{
    struct store_fixture *fixture = calloc(1, sizeof *fixture);
    const char *base = getenv("TMPDIR");
    char url[96];
    assert_non_null(fixture);
    (void)snprintf(fixture->root, sizeof fixture->root, "%.32s/granary-unit-XXXXXX", base == NULL ? "/tmp" : base);
    assert_non_null(mkdtemp(fixture->root));
    (void)snprintf(url, sizeof url, "file://%s", fixture->root);
    assert_int_equal(store_open(url, NULL, &fixture->store, NULL), OK);
    fixture->arena = arena_new(0);
    assert_non_null(fixture->arena);
    *state = fixture;
    return 0;
}

__attribute__((unused)) static int close_fixture(void **state)
{
    struct store_fixture *fixture = *state;
    store_close(fixture->store);
    arena_free(fixture->arena);
    assert_int_equal(nftw(fixture->root, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
    free(fixture);
    return 0;
}

__attribute__((unused)) static int64_t soon_us(void)
{
    return clock_monotonic_us() + CLOCK_MINUTE_US;
}

__attribute__((unused)) static enum err_code put_bytes(struct store *store, const char *key, const void *data,
                                                       size_t length, struct error *err)
{
    AUTO(store_upload_abort_auto) struct store_upload *upload = NULL;
    struct store_receipt receipt;
    TRY(store_upload_open(store, key, soon_us(), &upload, err));
    TRY(store_upload_write(upload, data, length, err));
    return store_upload_finish(TAKE(upload), &receipt, err);
}

__attribute__((unused)) static enum err_code put_text(struct store *store, const char *key, const char *text,
                                                      struct error *err)
{
    return put_bytes(store, key, text, strlen(text), err);
}

__attribute__((unused)) static bool object_exists(const struct store_fixture *fixture, const char *key)
{
    struct store_object object;
    return store_head(fixture->store, key, fixture->arena, &object, NULL) == OK;
}

__attribute__((unused)) static size_t entries_seen;
__attribute__((unused)) static int count_entry(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)path;
    (void)info;
    (void)kind;
    entries_seen += walk->level > 0;
    return 0;
}

/* Files and folders below the root, temporaries included. */
__attribute__((unused)) static size_t entries_on_disk(const struct store_fixture *fixture)
{
    entries_seen = 0;
    assert_int_equal(nftw(fixture->root, count_entry, 16, FTW_PHYS), 0);
    return entries_seen;
}

#endif
