#include "tests/unit/http/peer.h"

static char filler[9 << 20];

static const struct {
    const char *method;
    const char *path;
    const char *token;
    size_t body_bytes; /* of filler */
    long status;
    const char *answer;
} exchanges[] = {
    {"GET", "/open", NULL, 0, 200, "open"},
    {"PUT", "/open", NULL, 10, 200, "open"},
    {"GET", "/echo/one/x/two", NULL, 0, 200, "one|two|(none)||no writer"},
    {"GET", "/echo/a%2Fb/x/%C3%BC%zz%00?q=1%26+2&r=3", NULL, 0, 200, "a/b|\xc3\xbc%zz%00|1& 2||no writer"},
    {"GET", "/read/1/2", "r-secret", 0, 200, "1|2|(none)|reader|no writer"},
    {"POST", "/operate/1/2", "o-secret", 0, 200, "1|2|(none)|operator|writer"},
    {"POST", "/body", NULL, 5, 201, "....."},
    {"POST", "/body", NULL, 0, 201, ""},
    {"POST", "/blocking-body", NULL, 5, 201, "....."},
    {"POST", "/rows/a.b", NULL, 0, 202, "{\"bytes\":0}"},
    {"POST", "/rows/a.b", NULL, 5000000, 202, "{\"bytes\":5000000}"},
    {"POST", "/blocking-rows/a.b", NULL, 0, 202, "{\"bytes\":0}"},
    {"POST", "/blocking-rows/a.b", NULL, 5000000, 202, "{\"bytes\":5000000}"},
    {"GET", "/context", NULL, 0, 200, "of the route"},
    {"GET", "/now", NULL, 0, 200, "{\"now\":true}"},
    {"GET", "/blocking-now", NULL, 0, 200, "{\"now\":true}"},
    /* refused */
    {"GET", "/nothing", NULL, 0, 404,
     "{\"error\":{\"code\":\"not_found\",\"message\":\"expected a known path but found \\\"/nothing\\\"\"}}"},
    {"GET", "/echo//x/two", NULL, 0, 404, NULL},
    {"GET", "/echo/one/x/two/", NULL, 0, 404, NULL},
    {"GET", "/open/", NULL, 0, 404, NULL},
    {"DELETE", "/open", NULL, 0, 405,
     "{\"error\":{\"code\":\"invalid\",\"message\":\"expected method GET, PUT but found \\\"DELETE\\\"\"}}"},
    {"GET", "/read/1/2", NULL, 0, 401,
     "{\"error\":{\"code\":\"denied\",\"message\":\"expected a bearer token but found none\","
     "\"hint\":\"send \\\"Authorization: Bearer TOKEN\\\"\"}}"},
    {"GET", "/read/1/2", "r-secreT", 0, 401,
     "{\"error\":{\"code\":\"denied\",\"message\":\"expected a known bearer token but found another\"}}"},
    {"GET", "/read/1/2", "r-secret ", 0, 401, NULL},
    {"GET", "/read/1/2", "o-secret", 0, 403,
     "{\"error\":{\"code\":\"denied\",\"message\":\"expected a token with role \\\"read\\\" but \\\"operator\\\" has "
     "it "
     "not\"}}"},
    {"POST", "/operate/1/2", "r-secret", 0, 403, NULL},
    {"POST", "/body", NULL, BODY_LIMIT, 201, NULL},
    {"POST", "/body", NULL, BODY_LIMIT + 1, 413,
     "{\"error\":{\"code\":\"invalid\",\"message\":\"expected a body of at most 1000 bytes but found more\"}}"},
    {"POST", "/body", NULL, 900000, 413, NULL},
    {"POST", "/body", NULL, 5000000, 413, NULL}, /* libcurl waits for 100 Continue with this one */
    {"POST", "/rows/a.b", NULL, ROWS_LIMIT + 1, 413, NULL},
    {"POST", "/rows/refused", NULL, 300000, 422, "{\"error\":{\"code\":\"invalid\",\"message\":\"not this table\"}}"},
    {"POST", "/operate/1/2", "o-secret", 1, 413, NULL},
};

static void every_request_gets_its_status_and_body(void **state)
{
    (void)state;
    memset(filler, '.', sizeof filler);
    for (size_t i = 0; i < sizeof exchanges / sizeof *exchanges; i++) {
        AUTO(net_answer_done)
        struct net_answer answer = peer_ask(exchanges[i].method, exchanges[i].path, exchanges[i].token,
                                            exchanges[i].body_bytes == 0 ? NULL : filler, exchanges[i].body_bytes);
        if (answer.status != exchanges[i].status) {
            print_error("%s %s\n", exchanges[i].method, exchanges[i].path);
        }
        assert_int_equal(answer.status, exchanges[i].status);
        if (exchanges[i].answer != NULL) {
            assert_string_equal(buf_text(&answer.body), exchanges[i].answer);
        }
        assert_true(answer.status < 400 || strcmp(answer.content_type, "application/json") == 0);
    }
}

static const struct {
    enum err_code code;
    long status;
    const char *name;
} failures[] = {
    {ERR_INVALID, 400, "invalid"},     {ERR_NOT_FOUND, 404, "not_found"}, {ERR_CONFLICT, 409, "conflict"},
    {ERR_DENIED, 403, "denied"},       {ERR_STOPPED, 503, "stopped"},     {ERR_UNAVAILABLE, 503, "unavailable"},
    {ERR_TIMEOUT, 504, "timeout"},     {ERR_CORRUPT, 500, "corrupt"},     {ERR_UNKNOWN, 500, "unknown"},
    {ERR_NO_MEMORY, 500, "no_memory"},
};

static void an_error_becomes_a_status_and_one_shape(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        char path[32];
        char expected[160];
        (void)snprintf(path, sizeof path, "/fail/%d", (int)failures[i].code);
        (void)snprintf(expected, sizeof expected,
                       "{\"error\":{\"code\":\"%s\",\"message\":\"could not \\\"x\\\"\\n\",\"hint\":\"try y\"}}",
                       failures[i].name);
        AUTO(net_answer_done) struct net_answer answer = peer_ask("GET", path, NULL, NULL, 0);
        assert_int_equal(answer.status, failures[i].status);
        assert_string_equal(buf_text(&answer.body), expected);
    }
}

static void a_handler_without_an_answer_is_an_error(void **state)
{
    (void)state;
    AUTO(net_answer_done) struct net_answer answer = peer_ask("GET", "/fail/0", NULL, NULL, 0);
    assert_int_equal(answer.status, 500);
    assert_non_null(strstr(buf_text(&answer.body), "expected an answer from the handler but found none"));
}

static const struct {
    const char *request;
    const char *status;
    const char *part;
} raw_exchanges[] = {
    {"GET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "404", "{\"error\":"},
    {"PATCH /open HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "405", "Allow: GET, PUT\r\n"},
    {"GET /read/1/2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "401",
     "WWW-Authenticate: Bearer realm=\"granary\"\r\n"},
    {"GET /read/1/2 HTTP/1.1\r\nHost: x\r\nAuthorization: Basic cjpy\r\nConnection: close\r\n\r\n", "401",
     "WWW-Authenticate"},
    {"GET /read/1/2 HTTP/1.1\r\nHost: x\r\nauthorization: bearer r-secret\r\nConnection: close\r\n\r\n", "200",
     "|reader|"},
    {"HEAD /open HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "200", "Content-Length: 4\r\n"},
    {"POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\nab", "201", "X-Seen: twice\r\n"},
    {"POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\nConnection: close\r\n\r\nab", "400", ""},
    {"POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\nConnection: close\r\n\r\nab", "4",
     ""},
    {"POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\nConnection: close\r\n\r\n", "413", ""},
    {"POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n",
     "413", ""},
    {"POST /body HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: "
     "close\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
     "201", "\r\n\r\nabcde"},
    {"POST /rows/a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: "
     "close\r\n\r\n3\r\na!c\r\n2\r\nde\r\n0\r\n\r\n",
     "500", "found a \\\"!\\\""},
    {"POST /rows/refused HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\nab", "422",
     "Retry-After: 7\r\n"},
    {"GET /id HTTP/1.1\r\nHost: x\r\nX-Request-Id: abc-1.2_Z\r\nConnection: close\r\n\r\n", "200",
     "X-Request-Id: abc-1.2_Z\r\n"},
    {"GET /open HTTP/1.1\r\nHost: x\r\nX-Request-Id: abc-1\r\nConnection: close\r\n\r\n", "200",
     "X-Request-Id: abc-1\r\n"},
};

static void the_bytes_on_the_wire_are_as_they_should_be(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof raw_exchanges / sizeof *raw_exchanges; i++) {
        AUTO(buf_done) struct buf out = {0};
        const char *answer = peer_exchange(raw_exchanges[i].request, &out);
        bool good = strncmp(answer, "HTTP/1.", 7) == 0 &&
                    strncmp(answer + 9, raw_exchanges[i].status, strlen(raw_exchanges[i].status)) == 0 &&
                    strstr(answer, raw_exchanges[i].part) != NULL;
        if (!good) {
            print_error("%s\n---\n%s\n", raw_exchanges[i].request, answer);
        }
        assert_true(good);
    }
}

static void a_chunked_body_over_the_limit_is_refused_and_the_connection_lives(void **state)
{
    (void)state;
    AUTO(buf_done) struct buf out = {0};
    int fd = peer_connect();
    peer_send(fd, "POST /body HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    char chunk[512 + 16];
    (void)snprintf(chunk, sizeof chunk, "200\r\n%512s\r\n", "");
    for (int i = 0; i < 4; i++) {
        peer_send(fd, chunk);
    }
    peer_send(fd, "0\r\n\r\nGET /open HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    const char *answer = peer_receive_all(fd, &out);
    close(fd);
    assert_memory_equal(answer, "HTTP/1.1 413", 12);
    assert_non_null(strstr(answer, "HTTP/1.1 200"));
}

/* Many small chunks in one segment of the wire: what is left with the library comes again, once. */
static void a_chunked_body_of_a_blocking_route_is_fed_whole(void **state)
{
    (void)state;
    enum { CHUNKS = 9000, CHUNK_BYTES = 100 };
    AUTO(buf_done) struct buf request = {0};
    AUTO(buf_done) struct buf out = {0};
    assert_int_equal(buf_append_text(&request,
                                     "POST /blocking-rows/t HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                                     "Transfer-Encoding: chunked\r\n\r\n",
                                     NULL),
                     OK);
    for (int i = 0; i < CHUNKS; i++) {
        assert_int_equal(buf_printf(&request, NULL, "%x\r\n%*s\r\n", CHUNK_BYTES, CHUNK_BYTES, ""), OK);
    }
    assert_int_equal(buf_append_text(&request, "0\r\n\r\n", NULL), OK);
    int fd = peer_connect();
    peer_send(fd, buf_text(&request));
    const char *answer = peer_receive_all(fd, &out);
    close(fd);
    assert_non_null(strstr(answer, "{\"bytes\":900000}"));
}

static void a_blocking_route_that_refuses_a_piece_is_not_asked_again(void **state)
{
    (void)state;
    static const size_t places[] = {0, 300000, 2999999};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        AUTO(free_auto) char *body = malloc(3000000);
        assert_non_null(body);
        memset(body, '.', 3000000);
        body[places[i]] = '!';
        AUTO(net_answer_done) struct net_answer answer = peer_ask("POST", "/blocking-rows/t", NULL, body, 3000000);
        assert_int_equal(answer.status, 500);
        assert_non_null(strstr(buf_text(&answer.body), "found a"));
    }
}

static void an_unfit_request_id_is_replaced(void **state)
{
    (void)state;
    static const char *const unfit[] = {"a b", "a\"b", "",
                                        "0123456789012345678901234567890123456789012345678901234567890123x"};
    for (size_t i = 0; i < sizeof unfit / sizeof *unfit; i++) {
        AUTO(buf_done) struct buf out = {0};
        char request[256];
        (void)snprintf(request, sizeof request,
                       "GET /id HTTP/1.1\r\nHost: x\r\nX-Request-Id: %s\r\nConnection: close\r\n\r\n", unfit[i]);
        const char *answer = peer_exchange(request, &out);
        const char *id = strstr(answer, "X-Request-Id: ");
        assert_non_null(id);
        struct uuid uuid;
        assert_int_equal(uuid_parse(id + 14, 36, &uuid, NULL), OK);
        assert_memory_equal(id + 14 + 36, "\r\n", 2);
        assert_memory_equal(answer + strlen(answer) - 36, id + 14, 36);
    }
}

static void headers_beyond_the_limit_are_refused(void **state)
{
    (void)state;
    AUTO(buf_done) struct buf request = {0};
    AUTO(buf_done) struct buf out = {0};
    assert_int_equal(buf_printf(&request, NULL, "GET /open HTTP/1.1\r\nHost: x\r\nX-Long: %070000d\r\n\r\n", 0), OK);
    int fd = peer_connect();
    (void)!send(fd, request.data, request.length_bytes, MSG_NOSIGNAL);
    assert_int_equal(buf_reserve(&out, 4096, NULL), OK);
    ssize_t got = recv(fd, out.data, 4095, 0); /* a reset may come before the answer is read */
    close(fd);
    if (got > 0) {
        out.length_bytes = (size_t)got;
        assert_memory_equal(buf_text(&out), "HTTP/1.1 431", 12);
    }
    AUTO(net_answer_done) struct net_answer answer = peer_ask("GET", "/open", NULL, NULL, 0);
    assert_int_equal(answer.status, 200);
}

static void a_streamed_answer_arrives_whole(void **state)
{
    (void)state;
    static const char *const paths[] = {"/stream/whole", "/blocking-stream/whole"};
    for (size_t i = 0; i < 2; i++) {
        AUTO(net_answer_done) struct net_answer answer = peer_ask("GET", paths[i], NULL, NULL, 0);
        assert_int_equal(answer.status, 200);
        assert_int_equal(answer.body.length_bytes, STREAM_PIECES * STREAM_PIECE_BYTES);
        for (size_t at = 0; at < answer.body.length_bytes; at++) {
            size_t left = STREAM_PIECES - at / STREAM_PIECE_BYTES;
            assert_int_equal(answer.body.data[at], 'a' + left % 26);
        }
    }
}

static void a_stream_that_fails_is_cut_so_that_nobody_takes_it_for_whole(void **state)
{
    (void)state;
    static const char *const paths[] = {"/stream/cut", "/blocking-stream/cut"};
    for (size_t i = 0; i < 2; i++) {
        AUTO(net_client_close_auto) struct net_client *client = NULL;
        struct net_answer answer = {.status = 77};
        struct error err;
        char url[64];
        (void)snprintf(url, sizeof url, "http://127.0.0.1:%u%s", http_server_port(peer.server), paths[i]);
        assert_int_equal(net_client_open(&(struct net_client_options){0}, &client, &err), OK);
        assert_int_equal(net_send(client, &(struct net_request){.method = "GET", .url = url}, &answer, &err),
                         ERR_UNAVAILABLE);
        assert_int_equal(answer.status, 77);
    }
}

static long status_with(const char *token)
{
    AUTO(net_answer_done) struct net_answer answer = peer_ask("GET", "/read/1/2", token, NULL, 0);
    return answer.status;
}

static bool becomes(const char *token, long status)
{
    int64_t deadline_us = clock_monotonic_us() + 10 * CLOCK_SECOND_US;
    while (clock_monotonic_us() < deadline_us) {
        if (status_with(token) == status) {
            return true;
        }
    }
    return false;
}

static void a_changed_tokens_file_is_read_again_and_a_broken_one_changes_nothing(void **state)
{
    (void)state;
    assert_int_equal(status_with("fresh"), 401);
    AUTO(buf_done) struct buf tokens = {0};
    peer_token_line(&tokens, "newcomer", "fresh", "\"read\"");
    peer_write_file(peer.tokens_file, buf_text(&tokens));
    assert_true(becomes("fresh", 200));
    assert_int_equal(status_with("r-secret"), 401);
    peer_write_file(peer.tokens_file, "{\"name\":\"x\",\"sha256\":\"12\",\"roles\":[]}\n");
    while (status_with("fresh") == 200 && __atomic_load_n(&peer.faults, __ATOMIC_SEQ_CST) == 0) {
    }
    peer_wait_for(&peer.faults, 1);
    assert_int_equal(status_with("fresh"), 200);
}

static const struct {
    const char *listen;
    const char *tokens; /* content of the file; NULL: absent */
    const char *text;
} bad_options[] = {
    {"127.0.0.1", "", "expected an address such as \"127.0.0.1:8080\" but found \"127.0.0.1\""},
    {"127.0.0.1:http", "", "expected an address such as \"127.0.0.1:8080\" but found \"127.0.0.1:http\""},
    {"192.0.2.1:80", "", "could not listen on \"192.0.2.1:80\": Cannot assign requested address"},
    {"127.0.0.1:0", NULL, "could not open: No such file or directory"},
    {"127.0.0.1:0", "\n{\"name\":\"x\"}\n", "line 2: "},
    {"127.0.0.1:0", "{\"name\":\"x\",\"sha256\":\"ab\",\"roles\":[\"read\"]}", "line 1: expected 64 hex digits"},
    {"127.0.0.1:0", "{\"name\":\"x\",\"sha256\":\"ab\",\"roles\":[\"root\"]}",
     "line 1: expected a role of read, write or operate but found \"root\""},
};

static void a_server_that_cannot_open_says_why(void **state)
{
    (void)state;
    char path[96];
    (void)snprintf(path, sizeof path, "%s/other", peer.dir);
    for (size_t i = 0; i < sizeof bad_options / sizeof *bad_options; i++) {
        struct error err = {0};
        struct http_server *server = NULL;
        if (bad_options[i].tokens != NULL) {
            peer_write_file(path, bad_options[i].tokens);
        }
        struct http_options options = {.listen = bad_options[i].listen, .tokens_file = path};
        assert_int_not_equal(http_server_open(&options, NULL, 0, NULL, &server, &err), OK);
        (void)unlink(path);
        assert_null(server);
        if (strstr(err.text, bad_options[i].text) == NULL) {
            print_error("%s\n", err.text);
        }
        assert_non_null(strstr(err.text, bad_options[i].text));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_request_gets_its_status_and_body),
        cmocka_unit_test(an_error_becomes_a_status_and_one_shape),
        cmocka_unit_test(a_handler_without_an_answer_is_an_error),
        cmocka_unit_test(the_bytes_on_the_wire_are_as_they_should_be),
        cmocka_unit_test(a_chunked_body_over_the_limit_is_refused_and_the_connection_lives),
        cmocka_unit_test(a_chunked_body_of_a_blocking_route_is_fed_whole),
        cmocka_unit_test(a_blocking_route_that_refuses_a_piece_is_not_asked_again),
        cmocka_unit_test(an_unfit_request_id_is_replaced),
        cmocka_unit_test(headers_beyond_the_limit_are_refused),
        cmocka_unit_test(a_streamed_answer_arrives_whole),
        cmocka_unit_test(a_stream_that_fails_is_cut_so_that_nobody_takes_it_for_whole),
        cmocka_unit_test(a_server_that_cannot_open_says_why),
        cmocka_unit_test(
            a_changed_tokens_file_is_read_again_and_a_broken_one_changes_nothing), /* last: changes the file */
    };
    return cmocka_run_group_tests(tests, peer_setup, peer_teardown);
}
