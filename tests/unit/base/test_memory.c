#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/base/checked.h"

static void an_arena_gives_aligned_memory_of_any_size(void **state)
{
    (void)state;
    AUTO(arena_free_auto) struct arena *arena = arena_new(64);
    static const size_t sizes[] = {0, 1, 15, 16, 17, 63, 64, 65, 4096, 3 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        unsigned char *memory = arena_alloc(arena, sizes[i]);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % 16, 0);
        memset(memory, 0xa5, sizes[i]);
    }
    assert_true(arena_bytes(arena) >= 3 << 20);
}

static void an_arena_that_is_reset_keeps_one_block_and_uses_it_again(void **state)
{
    (void)state;
    AUTO(arena_free_auto) struct arena *arena = arena_new(64);
    assert_non_null(arena_alloc(arena, 1000));
    assert_non_null(arena_alloc(arena, 100000));
    arena_reset(arena);
    const size_t kept_bytes = arena_bytes(arena);
    assert_true(kept_bytes >= 100000);
    assert_non_null(arena_alloc(arena, 90000));
    assert_int_equal(arena_bytes(arena), kept_bytes);
}

static void an_arena_copies_text_and_refuses_what_cannot_be(void **state)
{
    (void)state;
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    assert_string_equal(arena_strndup(arena, "granary", 4), "gran");
    assert_string_equal(arena_strdup(arena, ""), "");
    assert_string_equal(arena_printf(arena, "%d of %s", 3, "seven"), "3 of seven");
    const unsigned char *zeros = arena_zalloc(arena, 100, 3);
    for (size_t i = 0; i < 300; i++) {
        assert_int_equal(zeros[i], 0);
    }
    assert_null(arena_zalloc(arena, SIZE_MAX / 2, 3));
    assert_null(arena_alloc(arena, SIZE_MAX));
}

static void a_buffer_grows_and_keeps_its_bytes(void **state)
{
    (void)state;
    AUTO(buf_done) struct buf buf = {0};
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(buf_append_byte(&buf, (uint8_t)i, NULL), OK);
    }
    assert_int_equal(buf.length_bytes, 1000);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(buf.data[i], (uint8_t)i);
    }
    buf_clear(&buf);
    assert_int_equal(buf_printf(&buf, NULL, "%s=%d", "rows", 12), OK);
    assert_int_equal(buf_append_text(&buf, ";", NULL), OK);
    assert_int_equal(buf_append(&buf, NULL, 0, NULL), OK);
    assert_string_equal(buf_text(&buf), "rows=12;");
    AUTO(buf_done) struct buf held = {0};
    assert_string_equal(buf_held_text(&held), "");
    assert_int_equal(buf_set_text(&held, "the first, which is longer", NULL), OK);
    assert_int_equal(buf_set_text(&held, "second", NULL), OK);
    assert_string_equal(buf_held_text(&held), "second");
    assert_int_equal(held.length_bytes, sizeof "second");
    assert_int_equal(buf.length_bytes, 8); /* the NUL does not count */
}

static void a_buffer_that_cannot_grow_stays_as_it_was(void **state)
{
    (void)state;
    AUTO(buf_done) struct buf buf = {0};
    struct error err = {0};
    assert_int_equal(buf_append_text(&buf, "kept", &err), OK);
    assert_int_equal(buf_reserve(&buf, SIZE_MAX, &err), ERR_NO_MEMORY);
    assert_non_null(strstr(err.text, "could not allocate"));
    assert_string_equal(buf_text(&buf), "kept");
}

static void arithmetic_that_overflows_changes_nothing(void **state)
{
    (void)state;
    size_t size = 42;
    int64_t i64 = 42;
    assert_false(checked_add_size(SIZE_MAX, 1, &size));
    assert_false(checked_mul_size(SIZE_MAX / 2, 3, &size));
    assert_false(checked_sub_size(1, 2, &size));
    assert_int_equal(size, 42);
    assert_false(checked_add_i64(INT64_MAX, 1, &i64));
    assert_false(checked_sub_i64(INT64_MIN, 1, &i64));
    assert_false(checked_mul_i64(INT64_MIN, -1, &i64));
    assert_int_equal(i64, 42);
    assert_true(checked_add_size(40, 2, &size));
    assert_int_equal(size, 42);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_arena_gives_aligned_memory_of_any_size),
        cmocka_unit_test(an_arena_that_is_reset_keeps_one_block_and_uses_it_again),
        cmocka_unit_test(an_arena_copies_text_and_refuses_what_cannot_be),
        cmocka_unit_test(a_buffer_grows_and_keeps_its_bytes),
        cmocka_unit_test(a_buffer_that_cannot_grow_stays_as_it_was),
        cmocka_unit_test(arithmetic_that_overflows_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
