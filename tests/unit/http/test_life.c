/* Requests that wait, come slowly, or lose their client. The tear-down of each test finds out whether anything was kept. */
#include "tests/unit/http/peer.h"

/* --- a client on a thread of its own ------------------------------------------------------------------------------ */

struct asking {
    const char *method;
    const char *path;
    const char *body;
    struct net_answer answer;
};

static void *ask(void *context)
{
    struct asking *asking = context;
    asking->answer = peer_ask(asking->method, asking->path, NULL, asking->body, strlen(asking->body));
    return NULL;
}

static const struct {
    const char *path;
    unsigned status;
    enum err_code code;
    const char *text;
    long expected_status;
    const char *expected;
} completions[] = {
    {"/later/t", 202, OK, "{\"done\":1}", 202, "{\"done\":1}"},
    {"/blocking-later/t", 202, OK, "{\"done\":1}", 202, "{\"done\":1}"},
    {"/later/t", 0, ERR_UNAVAILABLE, "no broker", 503,
     "{\"error\":{\"code\":\"unavailable\",\"message\":\"no broker\"}}"},
    {"/later/t", 429, ERR_UNAVAILABLE, "full", 429, "{\"error\":{\"code\":\"unavailable\",\"message\":\"full\"}}"},
    {"/blocking-later/t", 0, ERR_CONFLICT, "other", 409, "{\"error\":{\"code\":\"conflict\",\"message\":\"other\"}}"},
};

static void a_suspended_request_is_answered_by_another_thread(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof completions / sizeof *completions; i++) {
        struct asking asking = {.method = "POST", .path = completions[i].path, .body = "rows"};
        pthread_t client;
        assert_int_equal(pthread_create(&client, NULL, ask, &asking), 0);
        peer_wait_for(&peer.arrivals, (int)i + 1);
        struct error err;
        (void)err_set(&err, completions[i].code, "%s", completions[i].text);
        http_complete(peer.later, completions[i].status, completions[i].text, completions[i].code, &err);
        assert_int_equal(pthread_join(client, NULL), 0);
        assert_int_equal(asking.answer.status, completions[i].expected_status);
        assert_string_equal(buf_text(&asking.answer.body), completions[i].expected);
        net_answer_done(&asking.answer);
    }
    peer_wait_for(&peer.states, 0);
}

static void other_requests_are_served_while_handlers_block(void **state)
{
    (void)state;
    enum { BLOCKED = 5 }; /* more than the pool has threads */
    struct asking asking[BLOCKED];
    pthread_t clients[BLOCKED];
    for (int i = 0; i < BLOCKED; i++) {
        asking[i] = (struct asking){.method = "POST", .path = "/gate/t", .body = "rows"};
        assert_int_equal(pthread_create(&clients[i], NULL, ask, &asking[i]), 0);
    }
    peer_wait_for(&peer.arrivals, 2);
    for (int i = 0; i < 20; i++) {
        AUTO(net_answer_done) struct net_answer answer = peer_ask("GET", "/open", NULL, NULL, 0);
        assert_int_equal(answer.status, 200);
    }
    (void)pthread_mutex_lock(&peer.lock);
    peer.gate_open = true;
    (void)pthread_cond_broadcast(&peer.changed);
    (void)pthread_mutex_unlock(&peer.lock);
    for (int i = 0; i < BLOCKED; i++) {
        assert_int_equal(pthread_join(clients[i], NULL), 0);
        assert_int_equal(asking[i].answer.status, 200);
        net_answer_done(&asking[i].answer);
    }
}

/* --- slow and lost clients ----------------------------------------------------------------------------------------- */

static void a_client_that_sends_byte_by_byte_is_served(void **state)
{
    (void)state;
    static const char request[] =
        "POST /rows/t HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\nConnection: close\r\n\r\n0123456789";
    AUTO(buf_done) struct buf out = {0};
    int fd = peer_connect();
    for (const char *at = request; *at != '\0'; at++) {
        assert_int_equal(send(fd, at, 1, MSG_NOSIGNAL), 1);
    }
    const char *answer = peer_receive_all(fd, &out);
    close(fd);
    assert_memory_equal(answer, "HTTP/1.1 202", 12);
    assert_non_null(strstr(answer, "{\"bytes\":10}"));
}

static void a_client_that_falls_silent_is_cut_off(void **state)
{
    (void)state;
    AUTO(buf_done) struct buf out = {0};
    int fd = peer_connect();
    peer_send(fd, "POST /rows/t HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n01234");
    peer_wait_for(&peer.states, 1);
    (void)peer_receive_all(fd, &out); /* returns when the server closes, or fails after 20 s */
    close(fd);
    peer_wait_for(&peer.states, 0);
}

static void a_client_that_leaves_in_the_body_leaves_nothing_behind(void **state)
{
    (void)state;
    int fd = peer_connect();
    peer_send(fd, "POST /rows/t HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n01234");
    peer_wait_for(&peer.states, 1);
    close(fd);
    peer_wait_for(&peer.states, 0);
}

static void a_client_that_leaves_while_its_request_is_suspended_leaves_nothing_behind(void **state)
{
    (void)state;
    static const char *const paths[] = {"later", "blocking-later"};
    for (int i = 0; i < 2; i++) {
        char request[128];
        (void)snprintf(request, sizeof request, "POST /%s/t HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n01",
                       paths[i]);
        int fd = peer_connect();
        peer_send(fd, request);
        peer_wait_for(&peer.arrivals, i + 1);
        close(fd);
        http_complete(peer.later, 200, "{}", OK, NULL);
        peer_wait_for(&peer.states, 0);
    }
}

static void a_client_that_leaves_while_its_handler_blocks_leaves_nothing_behind(void **state)
{
    (void)state;
    int fd = peer_connect();
    peer_send(fd, "POST /gate/t HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n01");
    peer_wait_for(&peer.arrivals, 1);
    close(fd);
    (void)pthread_mutex_lock(&peer.lock);
    peer.gate_open = true;
    (void)pthread_cond_broadcast(&peer.changed);
    (void)pthread_mutex_unlock(&peer.lock);
    peer_wait_for(&peer.states, 0);
}

/* While the route is at work with a piece, other requests are served. That the client has left is noticed afterwards, at
 * the latest when the connection has been idle for too long: the library may overlook an end that comes with data. */
static void a_body_may_wait_on_a_blocking_route(void **state)
{
    (void)state;
    static char body[1 << 20];
    memset(body, '.', sizeof body);
    int fd = peer_connect();
    peer_send(fd, "POST /gated-rows/t HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\n");
    assert_int_equal(send(fd, body, sizeof body / 2, MSG_NOSIGNAL), sizeof body / 2);
    peer_wait_for(&peer.arrivals, 1);
    AUTO(net_answer_done) struct net_answer answer = peer_ask("GET", "/open", NULL, NULL, 0);
    assert_int_equal(answer.status, 200);
    close(fd);
    (void)pthread_mutex_lock(&peer.lock);
    peer.gate_open = true;
    (void)pthread_cond_broadcast(&peer.changed);
    (void)pthread_mutex_unlock(&peer.lock);
    peer_wait_for(&peer.states, 0);
}

static void a_client_that_leaves_in_a_stream_leaves_nothing_behind(void **state)
{
    (void)state;
    static const char *const paths[] = {"stream", "blocking-stream"};
    for (int i = 0; i < 2; i++) {
        char request[128];
        char first[100];
        (void)snprintf(request, sizeof request, "GET /%s/whole HTTP/1.1\r\nHost: x\r\n\r\n", paths[i]);
        int fd = peer_connect();
        peer_send(fd, request);
        assert_true(recv(fd, first, sizeof first, 0) > 0);
        close(fd);
        peer_wait_for(&peer.states, 0);
    }
}

/* --- many --------------------------------------------------------------------------------------------------------- */

enum { CLIENTS = 16, ROUNDS = 125 };

static void *ask_many(void *failures)
{
    static const char *const paths[] = {"/rows/t", "/body", "/blocking-body"};
    AUTO(net_client_close_auto) struct net_client *client = NULL;
    if (net_client_open(&(struct net_client_options){0}, &client, NULL) != OK) {
        __atomic_fetch_add((int *)failures, ROUNDS, __ATOMIC_SEQ_CST);
        return NULL;
    }
    for (int i = 0; i < ROUNDS; i++) {
        AUTO(net_answer_done) struct net_answer answer = {0};
        char url[64];
        char body[BODY_LIMIT];
        memset(body, 'a' + i % 26, sizeof body);
        (void)snprintf(url, sizeof url, "http://127.0.0.1:%u%s", http_server_port(peer.server), paths[i % 3]);
        struct net_request request = {.method = "POST", .url = url, .body = body, .body_bytes = sizeof body};
        bool good = net_send(client, &request, &answer, NULL) == OK &&
                    (i % 3 == 0 ? answer.status == 202 && strcmp(buf_text(&answer.body), "{\"bytes\":1000}") == 0
                                : answer.status == 201 && answer.body.length_bytes == sizeof body &&
                                      memcmp(answer.body.data, body, sizeof body) == 0);
        __atomic_fetch_add((int *)failures, !good, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

static void two_thousand_requests_over_sixteen_connections_are_all_answered(void **state)
{
    (void)state;
    pthread_t clients[CLIENTS];
    int failures = 0;
    for (int i = 0; i < CLIENTS; i++) {
        assert_int_equal(pthread_create(&clients[i], NULL, ask_many, &failures), 0);
    }
    for (int i = 0; i < CLIENTS; i++) {
        assert_int_equal(pthread_join(clients[i], NULL), 0);
    }
    assert_int_equal(failures, 0);
    peer_wait_for(&peer.states, 0);
}

/* --- closing ------------------------------------------------------------------------------------------------------ */

static void *close_server(void *server)
{
    http_server_close(server);
    return NULL;
}

static bool refuses_connections(uint16_t port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bool refused = connect(fd, (struct sockaddr *)&address, sizeof address) != 0;
    close(fd);
    return refused;
}

static void closing_answers_what_is_in_progress_and_takes_nothing_new(void **state)
{
    (void)state;
    AUTO(buf_done) struct buf out = {0};
    struct asking asking = {.method = "POST", .path = "/later/t", .body = "rows"};
    pthread_t client;
    pthread_t closer;
    int idle = peer_connect();
    peer_send(idle, "GET /open HTTP/1.1\r\nHost: x\r\n\r\n");
    char byte;
    assert_int_equal(recv(idle, &byte, 1, 0), 1);
    assert_int_equal(pthread_create(&client, NULL, ask, &asking), 0);
    peer_wait_for(&peer.arrivals, 1);
    uint16_t port = http_server_port(peer.server);
    assert_int_equal(pthread_create(&closer, NULL, close_server, peer.server), 0);
    peer.server = NULL;
    while (!refuses_connections(port)) {
    }
    /* A connection that was there before is told so, and closed. */
    peer_send(idle, "GET /open HTTP/1.1\r\nHost: x\r\n\r\n");
    const char *answer = peer_receive_all(idle, &out);
    close(idle);
    assert_non_null(strstr(answer, "HTTP/1.1 503"));
    assert_non_null(strstr(answer, "shutting down"));
    http_complete(peer.later, 200, "{\"last\":true}", OK, NULL);
    assert_int_equal(pthread_join(client, NULL), 0);
    assert_int_equal(pthread_join(closer, NULL), 0);
    assert_int_equal(asking.answer.status, 200);
    assert_string_equal(buf_text(&asking.answer.body), "{\"last\":true}");
    net_answer_done(&asking.answer);
}

/* --- TLS ---------------------------------------------------------------------------------------------------------- */

static void a_server_with_a_certificate_speaks_tls_to_those_who_trust_it(void **state)
{
    (void)state;
    char command[512];
    char cert[96];
    char key[96];
    char url[64];
    (void)snprintf(cert, sizeof cert, "%s/cert.pem", peer.dir);
    (void)snprintf(key, sizeof key, "%s/key.pem", peer.dir);
    (void)snprintf(
        command, sizeof command,
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=granary "
        "-addext subjectAltName=IP:127.0.0.1 -keyout %s -out %s 2>/dev/null",
        key, cert);
    assert_int_equal(system(command), 0);
    http_server_close(peer.server);
    peer.server = NULL;
    assert_int_equal(peer_open_with(&(struct http_options){.tls_cert_file = cert, .tls_key_file = key}), 0);
    (void)snprintf(url, sizeof url, "https://127.0.0.1:%u/open", http_server_port(peer.server));
    struct net_request request = {.method = "GET", .url = url};
    AUTO(net_client_close_auto) struct net_client *trusting = NULL;
    AUTO(net_client_close_auto) struct net_client *wary = NULL;
    AUTO(net_answer_done) struct net_answer answer = {0};
    struct error err;
    assert_int_equal(net_client_open(&(struct net_client_options){.ca_file = cert}, &trusting, &err), OK);
    assert_int_equal(net_client_open(&(struct net_client_options){0}, &wary, &err), OK);
    assert_int_equal(net_send(wary, &request, &answer, &err), ERR_DENIED);
    assert_int_equal(net_send(trusting, &request, &answer, &err), OK);
    assert_int_equal(answer.status, 200);
    (void)unlink(cert);
    (void)unlink(key);
}

static int setup_impatient(void **state)
{
    if (peer_setup(state) != 0) {
        return -1;
    }
    http_server_close(peer.server);
    return peer_open_with(&(struct http_options){.idle_timeout_us = CLOCK_SECOND_US});
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, peer_setup, peer_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_suspended_request_is_answered_by_another_thread),
        TEST(other_requests_are_served_while_handlers_block),
        TEST(a_client_that_sends_byte_by_byte_is_served),
        cmocka_unit_test_setup_teardown(a_client_that_falls_silent_is_cut_off, setup_impatient, peer_teardown),
        TEST(a_client_that_leaves_in_the_body_leaves_nothing_behind),
        TEST(a_client_that_leaves_while_its_request_is_suspended_leaves_nothing_behind),
        TEST(a_client_that_leaves_while_its_handler_blocks_leaves_nothing_behind),
        cmocka_unit_test_setup_teardown(a_body_may_wait_on_a_blocking_route, setup_impatient, peer_teardown),
        TEST(a_client_that_leaves_in_a_stream_leaves_nothing_behind),
        TEST(two_thousand_requests_over_sixteen_connections_are_all_answered),
        TEST(closing_answers_what_is_in_progress_and_takes_nothing_new),
        TEST(a_server_with_a_certificate_speaks_tls_to_those_who_trust_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
