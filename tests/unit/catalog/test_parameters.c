#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/catalog/session.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static void every_value_has_its_binary_form(void **state)
{
    (void)state;
    static const struct uuid id = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}};
    const struct {
        struct catalog_value value;
        unsigned type;
        const char *bytes; /* NULL: SQL null */
        int length;
    } cases[] = {
        {catalog_bool(true), OID_BOOL, "\1", 1},
        {catalog_i32(-2), OID_INT4, "\xff\xff\xff\xfe", 4},
        {catalog_i64(258), OID_INT8, "\0\0\0\0\0\0\1\2", 8},
        {catalog_f64(1.0), OID_FLOAT8, "\x3f\xf0\0\0\0\0\0\0", 8},
        {catalog_text("ab"), OID_TEXT, "ab", 2},
        {catalog_text(""), OID_TEXT, "", 0},
        {catalog_text(NULL), OID_TEXT, NULL, 0},
        {catalog_json("{}"), OID_JSONB, "\1{}", 3},
        {catalog_bytes("\0", 1), OID_BYTEA, "\0", 1},
        {catalog_uuid(&id), OID_UUID, (const char *)id.bytes, 16},
        {catalog_uuid(NULL), OID_UUID, NULL, 0},
        {catalog_timestamp(INT64_C(946684800000001)), OID_TIMESTAMPTZ, "\0\0\0\0\0\0\0\1", 8},
        {catalog_bound(INT64_MIN), OID_TIMESTAMPTZ, "\x80\0\0\0\0\0\0\0", 8},
        {catalog_bound(INT64_MAX), OID_TIMESTAMPTZ, "\x7f\xff\xff\xff\xff\xff\xff\xff", 8},
        {catalog_interval(1), OID_INTERVAL, "\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0", 16},
        {catalog_array(CATALOG_INT32, NULL, 4, 0), 1007, "\0\0\0\0\0\0\0\1\0\0\0\x17", 12},
    };
    struct error err = {0};

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO(catalog_parameters_done) struct session_parameters parameters = {0};
        assert_int_equal(catalog_parameters_encode(&parameters, &cases[i].value, 1, &err), OK);
        assert_int_equal(parameters.count, 1);
        assert_int_equal(parameters.types[0], cases[i].type);
        assert_int_equal(parameters.formats[0], 1);
        assert_int_equal(parameters.values[0] == NULL, cases[i].bytes == NULL);
        assert_int_equal(parameters.lengths[0], cases[i].length);
        if (cases[i].bytes != NULL) {
            assert_memory_equal(parameters.values[0], cases[i].bytes, (size_t)cases[i].length);
        }
    }
}

static void arrays_hold_lengths_and_nulls(void **state)
{
    (void)state;
    static const char *const texts[] = {"xy", NULL};
    static const char expected[] = "\0\0\0\1\0\0\0\1\0\0\0\x19\0\0\0\2\0\0\0\1\0\0\0\2xy\xff\xff\xff\xff";
    const struct catalog_value values[] = {catalog_i64(1), catalog_array(CATALOG_TEXT, texts, sizeof texts[0], 2)};
    AUTO(catalog_parameters_done) struct session_parameters parameters = {0};
    struct error err = {0};

    assert_int_equal(catalog_parameters_encode(&parameters, values, 2, &err), OK);
    assert_int_equal(parameters.types[1], 1009);
    assert_int_equal(parameters.lengths[1], sizeof expected - 1);
    assert_memory_equal(parameters.values[1], expected, sizeof expected - 1);
}

static void what_the_catalog_cannot_take_is_refused(void **state)
{
    (void)state;
    static const int64_t times[] = {0, INT64_MIN};
    const struct {
        struct catalog_value value;
        const char *part;
    } cases[] = {
        {catalog_timestamp(INT64_MAX), "4713 BC"},
        {catalog_array(CATALOG_TIMESTAMP, times, sizeof times[0], 2), "4713 BC"},
        {catalog_array(CATALOG_INT32, times, 0, (size_t)INT32_MAX + 1), "2147483648 elements"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO(catalog_parameters_done) struct session_parameters parameters = {0};
        struct error err = {0};
        assert_int_equal(catalog_parameters_encode(&parameters, &cases[i].value, 1, &err), ERR_INVALID);
        assert_non_null(strstr(err.text, cases[i].part));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_has_its_binary_form),
        cmocka_unit_test(arrays_hold_lengths_and_nulls),
        cmocka_unit_test(what_the_catalog_cannot_take_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
