#include "common/digest/digest.h"
#include "tests/unit/rows/fixture.h"

enum { HEADER_BYTES = 28, GUARD_BYTES = 8, MANY_BYTES = 1 << 20 };

static void batches_of_any_size_travel_unharmed(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {0, 1, 7, 8, 9, 64, 1000};
    AUTO(schema_free_auto) struct schema *schema = every_type_schema();
    AUTO(buf_done) struct buf bytes = {0};
    assert_int_equal(buf_append_text(&bytes, "before", NULL), OK);
    for (size_t s = 0; s < COUNT(sizes); s++) {
        AUTO(batch_free_auto) struct batch *batch = numbered_batch(schema, sizes[s]);
        AUTO(batch_free_auto) struct batch *back = NULL;
        size_t start = bytes.length_bytes;
        size_t used = 0;
        int32_t version = 0;
        uint32_t rows = 42;
        struct error err = {0};
        assert_int_equal(batch_encode(batch, &bytes, &err), OK);
        size_t length = bytes.length_bytes - start;
        assert_int_equal(batch_peek(bytes.data + start, length, &version, &rows, &err), OK);
        assert_int_equal(version, 3);
        assert_int_equal(rows, sizes[s]);
        assert_int_equal(batch_decode(bytes.data + start, length, schema, MANY_BYTES, &back, &used, &err), OK);
        assert_int_equal(used, length);
        assert_int_equal(back->row_count, sizes[s]);
        for (uint32_t i = 0; i < sizes[s]; i++) {
            assert_rows_equal(batch, i, back, i);
        }
        for (size_t c = 0; c < schema->column_count; c++) {
            assert_int_equal(batch->columns[c].null_count, back->columns[c].null_count);
        }
        AUTO(buf_done) struct buf again = {0};
        assert_int_equal(batch_encode(back, &again, &err), OK);
        assert_int_equal(again.length_bytes, length);
        assert_memory_equal(again.data, bytes.data + start, length);
    }
}

/* Puts the right guard behind bytes that were changed, so that what is behind the guard is reached. */
static void set_guard(struct buf *bytes)
{
    size_t guarded = bytes->length_bytes - GUARD_BYTES;
    uint64_t guard = digest_xxh3(bytes->data, guarded);
    memcpy(bytes->data + guarded, &guard, sizeof guard);
}

static void cut_or_changed_bytes_are_refused(void **state)
{
    (void)state;
    AUTO(schema_free_auto) struct schema *schema = every_type_schema();
    AUTO(batch_free_auto) struct batch *batch = numbered_batch(schema, 50);
    AUTO(buf_done) struct buf bytes = {0};
    assert_int_equal(batch_encode(batch, &bytes, NULL), OK);
    struct batch *back = NULL;
    size_t used = 42;
    for (size_t cut = 0; cut < bytes.length_bytes; cut++) {
        struct error err = {0};
        assert_int_equal(batch_decode(bytes.data, cut, schema, MANY_BYTES, &back, &used, &err), ERR_CORRUPT);
        assert_true(err.text[0] != '\0');
    }
    for (size_t i = 0; i < bytes.length_bytes; i++) {
        bytes.data[i] ^= 0x5a;
        assert_int_equal(batch_decode(bytes.data, bytes.length_bytes, schema, MANY_BYTES, &back, &used, NULL),
                         ERR_CORRUPT);
        bytes.data[i] ^= 0x5a;
    }
    assert_null(back);
    assert_int_equal(used, 42);
}

static void changed_bytes_under_a_right_guard_do_no_harm(void **state)
{
    (void)state;
    AUTO(schema_free_auto) struct schema *schema = every_type_schema();
    AUTO(batch_free_auto) struct batch *batch = numbered_batch(schema, 2); /* small: it travels uncompressed */
    AUTO(buf_done) struct buf bytes = {0};
    assert_int_equal(batch_encode(batch, &bytes, NULL), OK);
    for (size_t i = 0; i < bytes.length_bytes - GUARD_BYTES; i++) {
        for (int bit = 0; bit < 8; bit++) {
            AUTO(batch_free_auto) struct batch *back = NULL;
            size_t used;
            bytes.data[i] ^= (uint8_t)(1 << bit);
            set_guard(&bytes);
            enum err_code code = batch_decode(bytes.data, bytes.length_bytes, schema, MANY_BYTES, &back, &used, NULL);
            assert_true(code == OK || code == ERR_CORRUPT || code == ERR_INVALID);
            assert_true(code == OK || back == NULL);
            bytes.data[i] ^= (uint8_t)(1 << bit);
        }
    }
}

static void other_versions_and_sizes_are_invalid(void **state)
{
    (void)state;
    AUTO(schema_free_auto) struct schema *schema = every_type_schema();
    AUTO(batch_free_auto) struct batch *batch = numbered_batch(schema, 50);
    AUTO(buf_done) struct buf bytes = {0};
    struct schema later = *schema;
    struct batch *back = NULL;
    struct error err = {0};
    size_t used;
    later.version = 4;
    assert_int_equal(batch_encode(batch, &bytes, NULL), OK);
    assert_int_equal(batch_decode(bytes.data, bytes.length_bytes, &later, MANY_BYTES, &back, &used, &err), ERR_INVALID);
    assert_string_equal(err.text, "expected rows of schema version 4 but found version 3");
    assert_int_equal(batch_decode(bytes.data, bytes.length_bytes, schema, 100, &back, &used, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, "expected a batch of at most 100 bytes"));
    later.version = 3;
    later.column_count = 2;
    assert_int_equal(batch_decode(bytes.data, bytes.length_bytes, &later, MANY_BYTES, &back, &used, &err), ERR_CORRUPT);
    assert_null(back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_of_any_size_travel_unharmed),
        cmocka_unit_test(cut_or_changed_bytes_are_refused),
        cmocka_unit_test(changed_bytes_under_a_right_guard_do_no_harm),
        cmocka_unit_test(other_versions_and_sizes_are_invalid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
