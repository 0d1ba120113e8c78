/* The peer is common/http, whose handlers fail as often as a test wants. */
#include <arpa/inet.h>
#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/http/http.h"
#include "common/net/net.h"

static struct http_server *server;
static struct net_client *client;
static int asked;
static int failures; /* how many answers are failures before the first good one */

static enum err_code answer_flaky(void *context, struct http_request *request, struct error *err)
{
    (void)context;
    int64_t count = __atomic_fetch_add(&asked, 1, __ATOMIC_SEQ_CST);
    if (count < failures) {
        const char *status = http_path(request, "status");
        http_set_error_status(request, (unsigned)(status[0] - '0') * 100 + (unsigned)(status[1] - '0') * 10 +
                                           (unsigned)(status[2] - '0'));
        if (http_query(request, "after") != NULL) {
            http_set_header(request, "Retry-After", http_query(request, "after"));
        }
        return err_set(err, ERR_UNAVAILABLE, "not now");
    }
    return http_reply(request, 200, "text/plain; charset=utf-8", "good", 4, err);
}

/* Method, two headers and the body, as they came. */
static enum err_code answer_mirror(void *context, struct http_request *request, struct error *err)
{
    (void)context;
    size_t length;
    const char *body = http_body(request, &length);
    const char *one = http_header(request, "X-One");
    const char *empty = http_header(request, "X-Empty");
    const char *text = arena_printf(http_arena(request), "%s|%s|%s|%s|%s", http_header(request, "User-Agent"),
                                    http_header(request, "Authorization"), one == NULL ? "(none)" : one,
                                    empty == NULL ? "(none)" : empty, body);
    return text == NULL ? err_no_memory(err, 1) : http_reply(request, 200, "text/plain", text, strlen(text), err);
}

static enum err_code fill_some(void *state, struct buf *out, bool *done, struct error *err)
{
    int *left = state;
    if (*left == -1) {
        return err_set(err, ERR_UNAVAILABLE, "cut");
    }
    *done = --*left == 0;
    if (*left == 1 && asked < 0) {
        *left = -1;
    }
    return buf_append_text(out, "0123456789", err);
}

/* asked < 0: cut before the end. */
static enum err_code answer_stream(void *context, struct http_request *request, struct error *err)
{
    (void)context;
    int *left = arena_alloc(http_arena(request), sizeof *left);
    if (left == NULL) {
        return err_no_memory(err, sizeof *left);
    }
    *left = 100;
    return http_reply_stream(request, 200, "text/plain", fill_some, NULL, left, err);
}

/* Never answers before the test lets it. */
static struct http_request *silent;

static enum err_code answer_never(void *context, struct http_request *request, struct error *err)
{
    (void)context;
    (void)err;
    http_suspend(request);
    __atomic_store_n(&silent, request, __ATOMIC_SEQ_CST);
    return OK;
}

static const struct http_route routes[] = {
    {.method = "GET", .pattern = "/flaky/{status}", .handler = answer_flaky},
    {.method = "GET", .pattern = "/mirror", .handler = answer_mirror},
    {.method = "POST", .pattern = "/mirror", .max_body_bytes = 100, .handler = answer_mirror},
    {.method = "PUT", .pattern = "/mirror", .max_body_bytes = 100, .handler = answer_mirror},
    {.method = "DELETE", .pattern = "/mirror", .max_body_bytes = 100, .handler = answer_mirror},
    {.method = "GET", .pattern = "/stream", .handler = answer_stream},
    {.method = "GET", .pattern = "/never", .handler = answer_never},
};

static int setup(void **state)
{
    (void)state;
    asked = failures = 0;
    silent = NULL;
    struct http_options options = {.listen = "127.0.0.1:0", .event_threads = 1};
    struct net_client_options client_options = {.bearer_token = "token", .user_agent = "tester/1"};
    return http_server_open(&options, routes, sizeof routes / sizeof *routes, NULL, &server, NULL) == OK &&
                   net_client_open(&client_options, &client, NULL) == OK
               ? 0
               : -1;
}

static int teardown(void **state)
{
    (void)state;
    net_client_close(client);
    http_server_close(server);
    return 0;
}

static const char *url(const char *path)
{
    static char text[128];
    (void)snprintf(text, sizeof text, "http://127.0.0.1:%u%s", http_server_port(server), path);
    return text;
}

static const struct {
    const char *method;
    const char *body;
    const char *answer;
} mirrored[] = {
    {"GET", NULL, "tester/1|Bearer token|1 2||"},    {"POST", "abc", "tester/1|Bearer token|1 2||abc"},
    {"POST", NULL, "tester/1|Bearer token|1 2||"},   {"PUT", "xyz", "tester/1|Bearer token|1 2||xyz"},
    {"DELETE", NULL, "tester/1|Bearer token|1 2||"},
};

static void method_headers_and_body_arrive_as_they_were_given(void **state)
{
    (void)state;
    static const struct net_header headers[] = {{"X-One", "1 2"}, {"X-Empty", ""}};
    for (size_t i = 0; i < sizeof mirrored / sizeof *mirrored; i++) {
        AUTO(net_answer_done) struct net_answer answer = {0};
        struct net_request request = {.method = mirrored[i].method,
                                      .url = url("/mirror"),
                                      .headers = headers,
                                      .header_count = 2,
                                      .body = mirrored[i].body,
                                      .body_bytes = mirrored[i].body == NULL ? 0 : strlen(mirrored[i].body)};
        assert_int_equal(net_send(client, &request, &answer, NULL), OK);
        assert_int_equal(answer.status, 200);
        assert_string_equal(buf_text(&answer.body), mirrored[i].answer);
    }
}

/* "ab", "ab", "ab", and then the end; or a failure, when `context` says so. */
static int given;

static enum err_code give_ab(void *context, void *out, size_t capacity, size_t *out_length, struct error *err)
{
    assert_true(capacity >= 2);
    if (given++ == 3) {
        return context == NULL ? OK : err_set(err, ERR_CORRUPT, "the source broke");
    }
    memcpy(out, "ab", 2);
    *out_length = 2;
    return OK;
}

static void a_body_can_be_given_as_it_comes(void **state)
{
    (void)state;
    struct net_answer answer = {0};
    struct error err;
    struct net_request request = {.method = "POST", .url = url("/mirror"), .on_body = give_ab};
    given = 0;
    assert_int_equal(net_send(client, &request, &answer, NULL), OK);
    assert_int_equal(answer.status, 200);
    assert_string_equal(buf_text(&answer.body), "tester/1|Bearer token|(none)|(none)|ababab");
    net_answer_done(&answer);
    given = 0;
    request.context = &given;
    request.retry_for_us = CLOCK_SECOND_US;
    assert_int_equal(net_send(client, &request, &answer, &err), ERR_CORRUPT);
    assert_string_equal(err.text, "the source broke");
}

static void a_header_with_a_line_break_is_refused(void **state)
{
    (void)state;
    static const struct net_header headers[] = {{"X-One", "1\r\nX-Two: 2"}};
    struct net_answer answer = {.status = 77};
    struct error err;
    struct net_request request = {.method = "GET", .url = url("/mirror"), .headers = headers, .header_count = 1};
    assert_int_equal(net_send(client, &request, &answer, &err), ERR_INVALID);
    assert_string_equal(err.text, "expected a header on one line but found \"X-One\"");
    assert_int_equal(answer.status, 77);
}

static const struct {
    int failures;
    const char *path;
    int64_t retry_for_us;
    long status;
    int asked;
} retries[] = {
    {3, "/flaky/503", 20 * CLOCK_SECOND_US, 200, 4},
    {2, "/flaky/429", 20 * CLOCK_SECOND_US, 200, 3},
    {1, "/flaky/502", 20 * CLOCK_SECOND_US, 200, 2},
    {1, "/flaky/504", 20 * CLOCK_SECOND_US, 200, 2},
    {1, "/flaky/503", 0, 503, 1},
    {1, "/flaky/500", 20 * CLOCK_SECOND_US, 500, 1},
    {1, "/flaky/409", 20 * CLOCK_SECOND_US, 409, 1},
    {1, "/flaky/503?after=30", 20 * CLOCK_SECOND_US, 503, 1},
};

static void what_can_heal_is_tried_again_until_the_deadline(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof retries / sizeof *retries; i++) {
        AUTO(net_answer_done) struct net_answer answer = {0};
        asked = 0;
        failures = retries[i].failures;
        struct net_request request = {
            .method = "GET", .url = url(retries[i].path), .retry_for_us = retries[i].retry_for_us};
        assert_int_equal(net_send(client, &request, &answer, NULL), OK);
        assert_int_equal(answer.status, retries[i].status);
        assert_int_equal(asked, retries[i].asked);
        if (answer.status == 200) {
            assert_string_equal(answer.content_type, "text/plain; charset=utf-8");
            assert_string_equal(buf_text(&answer.body), "good");
        } else if (strstr(retries[i].path, "after") != NULL) {
            assert_string_equal(answer.retry_after, "30");
        }
    }
}

/* A port that was free a moment ago. */
static unsigned closed_port(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    close(fd);
    return ntohs(address.sin_port);
}

static void a_server_that_is_not_there_is_unavailable_and_the_tries_are_counted(void **state)
{
    (void)state;
    char text[64];
    struct net_answer answer = {.status = 77};
    struct error err;
    (void)snprintf(text, sizeof text, "http://127.0.0.1:%u/", closed_port());
    struct net_request request = {.method = "GET", .url = text};
    assert_int_equal(net_send(client, &request, &answer, &err), ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "could not GET \"http://127.0.0.1:"));
    assert_null(strstr(err.text, "tries"));
    request.retry_for_us = 2 * CLOCK_SECOND_US;
    assert_int_equal(net_send(client, &request, &answer, &err), ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, " tries in "));
    assert_non_null(strstr(err.text, " ms, last: could not GET"));
    assert_int_equal(answer.status, 77);
}

static void an_answer_that_does_not_come_is_a_time_out(void **state)
{
    (void)state;
    struct net_answer answer = {.status = 77};
    struct error err;
    struct net_request request = {.method = "GET", .url = url("/never"), .timeout_us = 200000};
    assert_int_equal(net_send(client, &request, &answer, &err), ERR_TIMEOUT);
    assert_int_equal(answer.status, 77);
    struct http_request *request_there;
    while ((request_there = __atomic_load_n(&silent, __ATOMIC_SEQ_CST)) == NULL) {
    }
    http_complete(request_there, 200, "{}", OK, NULL);
}

static const struct {
    const char *url;
    enum err_code code;
} bad_urls[] = {
    {"file:///etc/passwd", ERR_INVALID},
    {"ftp://127.0.0.1/", ERR_INVALID},
    {"http://", ERR_INVALID},
};

static void only_http_urls_are_accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_urls / sizeof *bad_urls; i++) {
        struct net_answer answer;
        struct error err;
        struct net_request request = {.method = "GET", .url = bad_urls[i].url};
        assert_int_equal(net_send(client, &request, &answer, &err), bad_urls[i].code);
    }
}

struct taken {
    size_t bytes;
    size_t most;
};

static enum err_code take(void *context, const void *data, size_t length, struct error *err)
{
    struct taken *taken = context;
    (void)data;
    taken->bytes += length;
    return taken->bytes <= taken->most ? OK : err_set(err, ERR_STOPPED, "enough");
}

static void a_streamed_answer_goes_piece_by_piece_and_can_be_stopped(void **state)
{
    (void)state;
    AUTO(net_answer_done) struct net_answer answer = {0};
    struct error err;
    struct taken all = {.most = SIZE_MAX};
    struct taken some = {.most = 0};
    struct net_request request = {.method = "GET", .url = url("/stream"), .on_data = take, .context = &all};
    assert_int_equal(net_send(client, &request, &answer, &err), OK);
    assert_int_equal(all.bytes, 1000);
    assert_int_equal(answer.body.length_bytes, 0);
    request.context = &some;
    request.retry_for_us = 20 * CLOCK_SECOND_US;
    assert_int_equal(net_send(client, &request, &answer, &err), ERR_STOPPED);
    assert_string_equal(err.text, "enough");
}

static void a_cut_stream_is_unavailable_and_not_tried_again(void **state)
{
    (void)state;
    struct net_answer answer = {.status = 77};
    struct error err;
    struct taken all = {.most = SIZE_MAX};
    asked = -1;
    struct net_request request = {
        .method = "GET", .url = url("/stream"), .on_data = take, .context = &all, .retry_for_us = 20 * CLOCK_SECOND_US};
    assert_int_equal(net_send(client, &request, &answer, &err), ERR_UNAVAILABLE);
    assert_true(all.bytes > 0 && all.bytes < 1000);
    assert_null(strstr(err.text, "tries"));
    assert_int_equal(answer.status, 77);
}

static void an_error_answer_is_kept_and_not_streamed(void **state)
{
    (void)state;
    AUTO(net_answer_done) struct net_answer answer = {0};
    struct taken all = {.most = 0};
    struct net_request request = {.method = "GET", .url = url("/nowhere"), .on_data = take, .context = &all};
    assert_int_equal(net_send(client, &request, &answer, NULL), OK);
    assert_int_equal(answer.status, 404);
    assert_int_equal(all.bytes, 0);
    assert_non_null(strstr(buf_text(&answer.body), "not_found"));
}

static void an_answer_over_the_limit_is_refused(void **state)
{
    (void)state;
    struct net_answer answer = {.status = 77};
    struct error err;
    struct net_request request = {.method = "GET", .url = url("/stream"), .max_answer_bytes = 999};
    assert_int_equal(net_send(client, &request, &answer, &err), ERR_NO_MEMORY);
    assert_string_equal(err.text, "expected an answer of at most 999 bytes but found more");
    assert_int_equal(answer.status, 77);
    request.max_answer_bytes = 1000;
    assert_int_equal(net_send(client, &request, &answer, &err), OK);
    assert_int_equal(answer.body.length_bytes, 1000);
    net_answer_done(&answer);
}

static void a_token_with_a_line_break_is_refused(void **state)
{
    (void)state;
    struct net_client *other = NULL;
    struct error err;
    assert_int_equal(net_client_open(&(struct net_client_options){.bearer_token = "a\nb"}, &other, &err), ERR_INVALID);
    assert_string_equal(err.text, "expected a bearer token on one line but found a line break");
    assert_null(other);
}

static void url_escape_keeps_only_unreserved_characters(void **state)
{
    (void)state;
    AUTO(buf_done) struct buf out = {0};
    assert_int_equal(net_url_escape("aZ09-._~ /%?&\xc3\xbc", &out, NULL), OK);
    assert_string_equal(buf_text(&out), "aZ09-._~%20%2F%25%3F%26%C3%BC");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(method_headers_and_body_arrive_as_they_were_given),
        TEST(a_body_can_be_given_as_it_comes),
        TEST(a_header_with_a_line_break_is_refused),
        TEST(what_can_heal_is_tried_again_until_the_deadline),
        TEST(a_server_that_is_not_there_is_unavailable_and_the_tries_are_counted),
        TEST(an_answer_that_does_not_come_is_a_time_out),
        TEST(only_http_urls_are_accepted),
        TEST(a_streamed_answer_goes_piece_by_piece_and_can_be_stopped),
        TEST(a_cut_stream_is_unavailable_and_not_tried_again),
        TEST(an_error_answer_is_kept_and_not_streamed),
        TEST(an_answer_over_the_limit_is_refused),
        TEST(a_token_with_a_line_break_is_refused),
        TEST(url_escape_keeps_only_unreserved_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
