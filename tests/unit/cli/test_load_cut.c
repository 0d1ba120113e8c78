#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/file.h"
#include "cli/load.h"

static int file_of(const char *text, size_t length)
{
    int file = memfd_create("input", MFD_CLOEXEC);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, length), length);
    assert_int_equal(lseek(file, 0, SEEK_SET), 0);
    return file;
}

static void bodies_end_at_line_ends_and_know_their_place(void **state)
{
    static const char text[] = "aaaa\n\n \r\nbb\ncccccccc\nd";
    static const struct {
        const char *text;
        int64_t offset, rows_before;
    } expected[] = {{"aaaa\n", 0, 0}, {"\n \r\nbb\n", 5, 1}, {"cccccccc\n", 12, 2}, {"d", 21, 3}};
    AUTO(cli_file_close) int file = file_of(text, sizeof text - 1);
    AUTO(load_cutter_done) struct load_cutter cutter = {.file = file, .target_bytes = 5, .most_bytes = 100};
    struct error err;
    (void)state;

    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        AUTO(load_body_free_auto) struct load_body *body = NULL;
        assert_int_equal(load_cut(&cutter, &body, &err), OK);
        assert_non_null(body);
        assert_string_equal(buf_text(&body->data), expected[i].text);
        assert_int_equal(body->offset, expected[i].offset);
        assert_int_equal(body->rows_before, expected[i].rows_before);
    }
    struct load_body *end = (struct load_body *)&err;
    assert_int_equal(load_cut(&cutter, &end, &err), OK);
    assert_null(end);
    assert_int_equal(cutter.rows, 4);
}

static void bodies_put_together_are_the_input(void **state)
{
    AUTO(buf_done) struct buf input = {0};
    AUTO(buf_done) struct buf output = {0};
    struct error err;
    (void)state;

    for (int i = 0; i < 60000; i++) {
        assert_int_equal(buf_printf(&input, &err, "{\"row\":%d,\"text\":\"%.*s\"}\n", i, i % 40,
                                    "0123456789012345678901234567890123456789"),
                         OK);
    }
    AUTO(cli_file_close) int file = file_of((const char *)input.data, input.length_bytes);
    AUTO(load_cutter_done) struct load_cutter cutter = {.file = file, .target_bytes = 10000, .most_bytes = 1 << 20};
    size_t bodies = 0;
    for (bool more = true; more;) {
        AUTO(load_body_free_auto) struct load_body *body = NULL;
        assert_int_equal(load_cut(&cutter, &body, &err), OK);
        more = body != NULL;
        if (more) {
            assert_int_equal(body->offset, output.length_bytes);
            assert_int_equal(body->data.data[body->data.length_bytes - 1], '\n');
            assert_int_equal(buf_append(&output, body->data.data, body->data.length_bytes, &err), OK);
            bodies++;
        }
    }
    assert_int_equal(output.length_bytes, input.length_bytes);
    assert_memory_equal(output.data, input.data, input.length_bytes);
    assert_true(bodies > input.length_bytes / 11000 && bodies <= input.length_bytes / 10000 + 1);
    assert_int_equal(cutter.rows, 60000);
}

static void an_empty_input_has_no_body(void **state)
{
    AUTO(cli_file_close) int file = file_of("", 0);
    AUTO(load_cutter_done) struct load_cutter cutter = {.file = file, .target_bytes = 5, .most_bytes = 100};
    struct load_body *body = (struct load_body *)&cutter;
    (void)state;
    assert_int_equal(load_cut(&cutter, &body, NULL), OK);
    assert_null(body);
}

static void a_line_without_end_is_refused(void **state)
{
    AUTO(buf_done) struct buf input = {0};
    AUTO(load_body_free_auto) struct load_body *body = NULL;
    struct error err = {0};
    (void)state;

    assert_int_equal(buf_append_text(&input, "{}\n", &err), OK);
    for (int i = 0; i < 400000; i++) {
        assert_int_equal(buf_append_byte(&input, 'x', &err), OK);
    }
    AUTO(cli_file_close) int file = file_of((const char *)input.data, input.length_bytes);
    AUTO(load_cutter_done) struct load_cutter cutter = {.file = file, .target_bytes = 10, .most_bytes = 1000};
    assert_int_equal(load_cut(&cutter, &body, &err), ERR_INVALID);
    assert_null(body);
    assert_string_equal(err.text,
                        "expected lines of at most 1000 bytes but found a longer one behind row 0; hint: is it "
                        "NDJSON?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_end_at_line_ends_and_know_their_place),
        cmocka_unit_test(bodies_put_together_are_the_input),
        cmocka_unit_test(an_empty_input_has_no_body),
        cmocka_unit_test(a_line_without_end_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
