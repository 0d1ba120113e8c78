#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/buf.h"
#include "common/log/log.h"

/* Standard error goes to a file in memory while a test logs. */
struct capture {
    int file;
    int saved;
};

static struct capture capture_begin(void)
{
    struct capture capture = {.file = memfd_create("log", MFD_CLOEXEC), .saved = dup(STDERR_FILENO)};
    assert_true(capture.file >= 0 && capture.saved >= 0);
    assert_int_equal(fcntl(capture.file, F_SETFL, O_APPEND), 0);
    assert_int_equal(dup2(capture.file, STDERR_FILENO), STDERR_FILENO);
    return capture;
}

static const char *capture_end(struct capture capture, struct buf *out)
{
    assert_int_equal(dup2(capture.saved, STDERR_FILENO), STDERR_FILENO);
    close(capture.saved);
    off_t length = lseek(capture.file, 0, SEEK_END);
    assert_int_equal(buf_reserve(out, (size_t)length + 1, NULL), OK);
    assert_int_equal(pread(capture.file, out->data, (size_t)length, 0), length);
    out->length_bytes = (size_t)length;
    close(capture.file);
    return buf_text(out);
}

static int init(void **state)
{
    (void)state;
    log_init("reaper", LOG_INFO);
    return 0;
}

/* What follows the time, which differs each run. */
static const char *after_time(const char *line)
{
    static const char start[] = "{\"time\":\"2";
    assert_memory_equal(line, start, sizeof start - 1);
    const char *comma = strchr(line, ',');
    assert_non_null(comma);
    assert_memory_equal(comma - 2, "Z\"", 2);
    return comma;
}

static void a_line_holds_level_service_message_and_fields(void **state)
{
    (void)state;
    AUTO(buf_done) struct buf out = {0};
    struct uuid uuid = {.bytes = {0x01, 0x02}};
    struct error err;
    (void)err_set(&err, ERR_TIMEOUT, "could not reach \"db\"");
    struct capture capture = capture_begin();
    log_warn("claim lost", LOG_TEXT("table", "a.b"), LOG_TEXT("none", NULL), LOG_INT("rows", -5),
             LOG_REAL("share", 0.25), LOG_REAL("odd", NAN), LOG_UUID("id", &uuid), LOG_ERR(&err));
    assert_string_equal(after_time(capture_end(capture, &out)),
                        ",\"level\":\"warn\",\"service\":\"reaper\",\"message\":\"claim lost\",\"table\":\"a.b\","
                        "\"none\":null,\"rows\":-5,\"share\":0.25,\"odd\":null,"
                        "\"id\":\"01020000-0000-0000-0000-000000000000\",\"code\":\"timeout\","
                        "\"error\":\"could not reach \\\"db\\\"\"}\n");
}

static void a_message_needs_no_fields_and_a_low_level_is_silent(void **state)
{
    (void)state;
    AUTO(buf_done) struct buf out = {0};
    struct capture capture = capture_begin();
    log_debug("not seen", LOG_INT("rows", 1));
    log_info("started");
    assert_string_equal(after_time(capture_end(capture, &out)),
                        ",\"level\":\"info\",\"service\":\"reaper\",\"message\":\"started\"}\n");
}

static void hostile_text_stays_one_line_of_valid_json(void **state)
{
    (void)state;
    AUTO(buf_done) struct buf out = {0};
    struct capture capture = capture_begin();
    log_error("bad row", LOG_TEXT("text", "a\n{\"level\":\"info\"}\x1b[2J\xff"));
    const char *line = capture_end(capture, &out);
    assert_non_null(strstr(line, "\"text\":\"a\\n{\\\"level\\\":\\\"info\\\"}\\u001b[2J\\ufffd\"}\n"));
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
}

static void a_long_field_is_cut_between_characters(void **state)
{
    (void)state;
    char text[6000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    memcpy(text + 4095, "\xc3\xbc", 2); /* would be cut in the middle */
    AUTO(buf_done) struct buf out = {0};
    struct capture capture = capture_begin();
    log_error("long", LOG_TEXT("text", text), LOG_INT("after", 1));
    const char *line = capture_end(capture, &out);
    assert_non_null(strstr(line, "xxx...\",\"after\":1}\n"));
    assert_null(strstr(line, "\\ufffd"));
    const char *field = strstr(line, "\"text\":\"");
    assert_non_null(field);
    assert_int_equal(strspn(field + 8, "x"), 4095);
}

enum { THREADS = 4, LINES = 200 };

static void *log_many(void *unused)
{
    char text[3000];
    memset(text, 'y', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (int i = 0; i < LINES; i++) {
        log_info("many", LOG_TEXT("text", text));
    }
    return unused;
}

static void lines_of_several_threads_do_not_mix(void **state)
{
    (void)state;
    AUTO(buf_done) struct buf out = {0};
    struct capture capture = capture_begin();
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, log_many, NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    const char *line = capture_end(capture, &out);
    size_t lines = 0;
    size_t length = (size_t)(strchr(line, '\n') - line);
    for (; *line != '\0'; line += length + 1, lines++) {
        (void)after_time(line);
        assert_int_equal(strcspn(line, "\n"), length);
    }
    assert_int_equal(lines, THREADS * LINES);
}

static void levels_are_parsed_by_name(void **state)
{
    (void)state;
    enum log_level level = LOG_ERROR;
    struct error err;
    assert_int_equal(log_level_parse("debug", &level, &err), OK);
    assert_int_equal(level, LOG_DEBUG);
    assert_int_equal(log_level_parse("loud", &level, &err), ERR_INVALID);
    assert_string_equal(err.text, "expected a log level of debug, info, warn or error but found \"loud\"");
    assert_int_equal(level, LOG_DEBUG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_holds_level_service_message_and_fields),
        cmocka_unit_test(a_message_needs_no_fields_and_a_low_level_is_silent),
        cmocka_unit_test(hostile_text_stays_one_line_of_valid_json),
        cmocka_unit_test(a_long_field_is_cut_between_characters),
        cmocka_unit_test(lines_of_several_threads_do_not_mix),
        cmocka_unit_test(levels_are_parsed_by_name),
    };
    return cmocka_run_group_tests(tests, init, NULL);
}
