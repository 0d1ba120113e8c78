#include "tests/unit/parquet/support.h"

#include "common/parquet/thrift.h"

static void put_everything(struct buf *buf)
{
    struct thrift_out out = parquet_thrift_out(buf, NULL);
    parquet_thrift_put_bool(&out, 1, true);
    parquet_thrift_put_i8(&out, 2, -3);
    parquet_thrift_put_i16(&out, 3, INT16_MIN);
    parquet_thrift_put_i32(&out, 40, INT32_MAX); /* a jump of more than 15 */
    parquet_thrift_put_i64(&out, 41, INT64_MIN);
    parquet_thrift_put_text(&out, 42, "text");
    parquet_thrift_put_struct(&out, 43);
    parquet_thrift_put_i32(&out, 1, 1);
    parquet_thrift_end_struct(&out);
    parquet_thrift_put_list(&out, 44, THRIFT_I64, 20);
    for (int64_t i = 0; i < 20; i++) {
        parquet_thrift_element_int(&out, -i);
    }
    parquet_thrift_put_list(&out, 45, THRIFT_STRUCT, 2);
    for (int i = 0; i < 2; i++) {
        parquet_thrift_element_struct(&out);
        parquet_thrift_put_bool(&out, 2, false);
        parquet_thrift_end_struct(&out);
    }
    parquet_thrift_put_list(&out, 46, THRIFT_TRUE, 2);
    parquet_thrift_element_bool(&out, true);
    parquet_thrift_element_bool(&out, false);
    parquet_thrift_put_i32(&out, 47, 99);
    assert_int_equal(parquet_thrift_out_end(&out), OK);
}

static void everything_written_is_read_back(void **state)
{
    (void)state;
    AUTO(buf_done) struct buf buf = {0};
    put_everything(&buf);
    struct thrift_in in = parquet_thrift_in(buf.data, buf.length_bytes, NULL);
    struct thrift_field field, element;
    uint32_t length;
    int seen = 0;
    for (; parquet_thrift_next(&in, &field); seen++) {
        switch (field.id) {
        case 1: assert_true(parquet_thrift_get_bool(&in, field)); break;
        case 2: assert_int_equal(parquet_thrift_get_i32(&in, field), -3); break;
        case 3: assert_int_equal(parquet_thrift_get_i32(&in, field), INT16_MIN); break;
        case 40: assert_int_equal(parquet_thrift_get_i32(&in, field), INT32_MAX); break;
        case 41: assert_true(parquet_thrift_get_i64(&in, field) == INT64_MIN); break;
        case 42: assert_memory_equal(parquet_thrift_get_binary(&in, field, &length), "text", 4); break;
        case 44:
            assert_int_equal(parquet_thrift_get_list(&in, field, &element), 20);
            for (int64_t i = 0; i < 20; i++) {
                assert_true(parquet_thrift_get_i64(&in, element) == -i);
            }
            break;
        case 47: assert_int_equal(parquet_thrift_get_i32(&in, field), 99); break;
        default: parquet_thrift_skip(&in, field);
        }
    }
    assert_int_equal(in.code, OK);
    assert_int_equal(seen, 11);
    assert_true(in.at == in.end);
}

static void everything_can_be_skipped_and_a_cut_is_noticed_anywhere(void **state)
{
    (void)state;
    AUTO(buf_done) struct buf buf = {0};
    put_everything(&buf);
    for (size_t cut = 0; cut <= buf.length_bytes; cut++) {
        struct error err = {0};
        struct thrift_in in = parquet_thrift_in(buf.data, cut, &err);
        struct thrift_field field;
        while (parquet_thrift_next(&in, &field)) {
            parquet_thrift_skip(&in, field);
        }
        bool is_whole = cut == buf.length_bytes;
        assert_int_equal(in.code, is_whole ? OK : ERR_CORRUPT);
        assert_int_equal(in.cut_off, !is_whole);
        assert_true(is_whole || strstr(err.text, "could not read thrift") != NULL);
    }
}

static void hostile_bytes_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t length;
        const char *said;
    } cases[] = {
        {"\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c", 19, "too deeply"},
        {"\x19\x19\x19\x19\x19\x19\x19\x19\x19\x19\x19\x19\x19\x19\x19\x19\x19\x19\x19", 19, "too deeply"},
        {"\x15\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12, "at most 64 bits"},
        {"\x18\xff\xff\xff\xff\x0f", 6, "runs past the end"},
        {"\x19\xfc\xff\xff\xff\x0f", 6, "a list runs past the end"},
        {"\x1d\x00", 2, "unknown type"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = {0};
        struct thrift_in in = parquet_thrift_in(cases[i].bytes, cases[i].length, &err);
        struct thrift_field field;
        while (parquet_thrift_next(&in, &field)) {
            parquet_thrift_skip(&in, field);
        }
        assert_int_equal(in.code, ERR_CORRUPT);
        if (strstr(err.text, cases[i].said) == NULL) {
            fail_msg("case %zu: %s", i, err.text);
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_written_is_read_back),
        cmocka_unit_test(everything_can_be_skipped_and_a_cut_is_noticed_anywhere),
        cmocka_unit_test(hostile_bytes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
