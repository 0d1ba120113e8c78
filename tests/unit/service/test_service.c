/* Each test runs the frame in a child, as a process of its own, and looks at what it prints, serves and exits with. */
#include <assert.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/log/log.h"
#include "common/net/net.h"
#include "common/service/service.h"

/* --- the programs -------------------------------------------------------------------------------------------------- */

struct sample_config {
    const char *mode;
    const char *key;
    struct config_http http;
};

static const struct setting settings[] = {
    {"GRANARY_DECAY_MODE", SETTING_CHOICE, offsetof(struct sample_config, mode), "serve", 0, 0,
     "serve|fail|return|partial|refused|wait|fail-open|flaky", "what to do"},
    {"GRANARY_DECAY_KEY", SETTING_SECRET, offsetof(struct sample_config, key), "", 0, 0, NULL, "a secret"},
    CONFIG_HTTP_SETTINGS(struct sample_config, http),
};

/* Shared with the children. */
static struct shared {
    int runs;
    int closed;
    int checks_asked;
    int healthy;
} * shared;

static int load_shared(const int *number)
{
    return __atomic_load_n(number, __ATOMIC_SEQ_CST);
}

static void add_shared(int *number)
{
    __atomic_fetch_add(number, 1, __ATOMIC_SEQ_CST);
}

static enum err_code check_health(void *context, struct error *err)
{
    (void)context;
    add_shared(&shared->checks_asked);
    return load_shared(&shared->healthy) != 0 ? OK : err_set(err, ERR_UNAVAILABLE, "could not reach \"db\"");
}

static enum err_code answer_hello(void *context, struct http_request *request, struct error *err)
{
    return http_reply(request, 200, "text/plain", context, strlen(context), err);
}

static enum err_code run_service(struct service *service, const void *config, struct error *err)
{
    static const struct http_route routes[] = {{.method = "GET", .pattern = "/hello", .handler = answer_hello}};
    static char hello[] = "hello";
    const struct sample_config *sample = config;
    if (strcmp(sample->mode, "fail") == 0) {
        return err_set(err, ERR_CORRUPT, "broken from the start");
    }
    if (strcmp(sample->mode, "return") == 0) {
        return OK;
    }
    service_add_check(service, "db", check_health, NULL);
    TRY(service_listen(service, &sample->http, routes, 1, hello, err));
    AUTO(service_unlisten_auto) struct service *listening = service;
    while (service_wait(service, CLOCK_HOUR_US) == ERR_TIMEOUT) {
    }
    assert(service_stopping(service));
    return err_set(err, ERR_STOPPED, "draining");
}

static const struct service_spec service_spec = {
    .name = "sample",
    .summary = "serves the tests.",
    .settings = settings,
    .setting_count = sizeof settings / sizeof *settings,
    .config_size = sizeof(struct sample_config),
    .run = run_service,
};

static enum err_code open_job(struct service *service, const void *config, void **out_state, struct error *err)
{
    const struct sample_config *sample = config;
    (void)service;
    if (strcmp(sample->mode, "fail-open") == 0) {
        return err_set(err, ERR_UNAVAILABLE, "no catalog");
    }
    *out_state = (void *)(uintptr_t)config;
    return OK;
}

static enum err_code run_job(struct service *service, void *state, enum service_exit *out_exit, struct error *err)
{
    const struct sample_config *sample = state;
    add_shared(&shared->runs);
    if (strcmp(sample->mode, "fail") == 0 ||
        (strcmp(sample->mode, "flaky") == 0 && load_shared(&shared->runs) % 2 == 1)) {
        return err_set(err, ERR_UNAVAILABLE, "could not reach \"db\"");
    }
    if (strcmp(sample->mode, "partial") == 0) {
        *out_exit = SERVICE_PARTIAL;
    } else if (strcmp(sample->mode, "refused") == 0) {
        *out_exit = SERVICE_REFUSED;
    } else if (strcmp(sample->mode, "wait") == 0) {
        if (service_wait(service, CLOCK_NEVER) == ERR_STOPPED) {
            return err_set(err, ERR_STOPPED, "draining");
        }
    }
    return OK;
}

static void close_job(void *state)
{
    (void)state;
    add_shared(&shared->closed);
}

static const struct job_spec job_spec = {
    .name = "sample",
    .summary = "runs for the tests.",
    .settings = settings,
    .setting_count = sizeof settings / sizeof *settings,
    .config_size = sizeof(struct sample_config),
    .open = open_job,
    .run = run_job,
    .close = close_job,
    .http_offset = offsetof(struct sample_config, http),
};

/* --- children ------------------------------------------------------------------------------------------------------ */

struct child {
    pid_t pid;
    int out;
    int err;
};

static char port_file[96];

/* arguments end with NULL. */
static struct child start(bool is_job, const char *const *arguments)
{
    struct child child = {.out = memfd_create("out", 0), .err = memfd_create("err", 0)};
    char *argv[8] = {(char[]){"granary-sample"}};
    int argc = 1;
    for (; arguments[argc - 1] != NULL; argc++) {
        argv[argc] = strdup(arguments[argc - 1]);
    }
    child.pid = fork();
    assert_true(child.pid >= 0);
    if (child.pid == 0) {
        dup2(child.out, STDOUT_FILENO);
        dup2(child.err, STDERR_FILENO);
        int code = is_job ? job_main(argc, argv, &job_spec) : service_main(argc, argv, &service_spec);
        while (argc > 1) {
            free(argv[--argc]);
        }
        exit(code);
    }
    while (argc > 1) {
        free(argv[--argc]);
    }
    return child;
}

#define START(is_job, ...) start((is_job), (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

static const char *read_whole(int file, struct buf *out)
{
    off_t length = lseek(file, 0, SEEK_END);
    assert_int_equal(buf_reserve(out, (size_t)length + 1, NULL), OK);
    assert_int_equal(pread(file, out->data, (size_t)length, 0), length);
    out->length_bytes = (size_t)length;
    (void)close(file);
    return buf_text(out);
}

/* Waits for the end; what the child printed and logged goes to out and err. */
static int finish(struct child child, struct buf *out, struct buf *err)
{
    int status = 0;
    assert_int_equal(waitpid(child.pid, &status, 0), child.pid);
    const char *log = read_whole(child.err, err);
    (void)read_whole(child.out, out);
    if (!WIFEXITED(status)) {
        print_error("%s\n", log);
    }
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void assert_finishes(struct child child, int code, const char *part)
{
    AUTO(buf_done) struct buf out = {0};
    AUTO(buf_done) struct buf err = {0};
    int found = finish(child, &out, &err);
    if (found != code || (part != NULL && strstr(buf_text(&err), part) == NULL)) {
        print_error("%s\n", buf_text(&err));
    }
    assert_int_equal(found, code);
    assert_true(part == NULL || strstr(buf_text(&err), part) != NULL);
}

static bool is_late(int64_t start_us)
{
    return clock_monotonic_us() - start_us > 20 * CLOCK_SECOND_US;
}

static unsigned wait_for_port(void)
{
    int64_t start_us = clock_monotonic_us();
    unsigned port = 0;
    while (port == 0 && !is_late(start_us)) {
        FILE *file = fopen(port_file, "r");
        if (file != NULL) {
            assert_int_equal(fscanf(file, "%u", &port), 1);
            (void)fclose(file);
        }
    }
    assert_int_not_equal(port, 0);
    return port;
}

static struct net_answer ask(unsigned port, const char *path)
{
    AUTO(net_client_close_auto) struct net_client *client = NULL;
    struct net_answer answer = {0};
    char url[64];
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u%s", port, path);
    assert_int_equal(net_client_open(&(struct net_client_options){0}, &client, NULL), OK);
    assert_int_equal(net_send(client, &(struct net_request){.method = "GET", .url = url}, &answer, NULL), OK);
    return answer;
}

static bool answers(unsigned port, const char *path, long status, const char *part)
{
    AUTO(net_answer_done) struct net_answer answer = ask(port, path);
    bool good = answer.status == status && strstr(buf_text(&answer.body), part) != NULL;
    if (!good) {
        print_error("%s: %ld %s\n", path, answer.status, buf_text(&answer.body));
    }
    return good;
}

static void wait_until(const int *number, int wanted)
{
    int64_t start_us = clock_monotonic_us();
    while (load_shared(number) < wanted && !is_late(start_us)) {
    }
    assert_true(load_shared(number) >= wanted);
}

static int setup(void **state)
{
    (void)state;
    if (clearenv() != 0) {
        return -1;
    }
    *shared = (struct shared){0};
    (void)snprintf(port_file, sizeof port_file, "%s/granary-service-test-%ld.port", P_tmpdir, (long)getpid());
    (void)unlink(port_file);
    return setenv("GRANARY_HTTP_PORT_FILE", port_file, 1);
}

/* --- options and settings ------------------------------------------------------------------------------------------ */

static const struct {
    const char *argument;
    int code;
    const char *out;
    const char *err;
} options[] = {
    {"--version", 0, "granary-sample " GRANARY_VERSION "\n", ""},
    {"--help", 0, "granary-sample: serves the tests.\n", ""},
    {"--help", 0, "  GRANARY_LOG_LEVEL  (one of debug|info|warn|error; default info)\n", ""},
    {"--print-config", 0, "GRANARY_DECAY_MODE=serve\nGRANARY_DECAY_KEY=(not set)\n", ""},
    {"--print-config", 0, "\nGRANARY_LOG_LEVEL=info\n", ""},
    {"--print-config-markdown", 0, "| `GRANARY_DECAY_KEY` | secret, or in the file NAME_FILE | empty | a secret |\n",
     ""},
    {"--frobnicate", 78, "", "expected an option but found \\\"--frobnicate\\\"; hint: --help lists them"},
    {"--every", 78, "", "expected an option but found \\\"--every\\\""},
};

static void options_print_and_unknown_ones_are_refused(void **state)
{
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        AUTO(buf_done) struct buf out = {0};
        AUTO(buf_done) struct buf err = {0};
        setup(state);
        assert_int_equal(finish(START(false, options[i].argument), &out, &err), options[i].code);
        assert_non_null(strstr(buf_text(&out), options[i].out));
        assert_non_null(strstr(buf_text(&err), options[i].err));
    }
}

static void every_fault_of_the_settings_is_logged_and_the_exit_code_is_78(void **state)
{
    (void)state;
    setenv("GRANARY_DECAY_MODE", "dance", 1);
    setenv("GRANARY_LOG_LEVEL", "loud", 1);
    setenv("GRANARY_DECAY_MODUS", "x", 1);
    AUTO(buf_done) struct buf out = {0};
    AUTO(buf_done) struct buf err = {0};
    assert_int_equal(finish(START(false), &out, &err), 78);
    assert_non_null(strstr(buf_text(&err), "\"fault\":\"GRANARY_DECAY_MODE: expected one of"));
    assert_non_null(strstr(buf_text(&err), "\"fault\":\"GRANARY_LOG_LEVEL: expected one of"));
    assert_non_null(strstr(buf_text(&err), "\"fault\":\"GRANARY_DECAY_MODUS: no setting has this name"));
}

/* --- services ------------------------------------------------------------------------------------------------------ */

static void a_service_that_fails_logs_it_once_and_exits_with_1(void **state)
{
    (void)state;
    setenv("GRANARY_DECAY_MODE", "fail", 1);
    assert_finishes(START(false), 1,
                    "\"message\":\"service failed\",\"code\":\"corrupt\",\"error\":\"broken from the start\"");
}

static void a_service_that_returns_exits_with_0(void **state)
{
    (void)state;
    setenv("GRANARY_DECAY_MODE", "return", 1);
    assert_finishes(START(false), 0, "\"message\":\"stopped\"");
}

static void a_service_serves_probes_and_its_own_routes_until_sigterm(void **state)
{
    (void)state;
    static const int signals[] = {SIGTERM, SIGINT};
    for (int i = 0; i < 2; i++) {
        setup(state);
        shared->healthy = 1;
        struct child child = START(false);
        unsigned port = wait_for_port();
        assert_true(answers(port, "/livez", 200, "{\"live\":true}"));
        assert_true(answers(port, "/readyz", 200, "{\"ready\":true,\"stopping\":false,\"checks\":{\"db\":\"ok\"}}"));
        assert_true(answers(port, "/version", 200, "{\"service\":\"sample\",\"version\":\"" GRANARY_VERSION "\"}"));
        assert_true(answers(port, "/metrics", 200, "\ngranary_process_resident_memory_bytes "));
        assert_true(answers(port, "/metrics", 200, "\ngranary_build_info{version=\"" GRANARY_VERSION "\"} 1\n"));
        assert_true(answers(port, "/hello", 200, "hello"));
        assert_true(answers(port, "/other", 404, "not_found"));
        assert_true(answers(port, "/metrics", 200, "\ngranary_http_requests_total{code=\"4xx\"} 1\n"));
        assert_true(answers(port, "/metrics", 200, "\ngranary_http_requests_in_progress "));
        assert_int_equal(kill(child.pid, signals[i]), 0);
        assert_finishes(child, 0, "\"message\":\"draining\"");
        assert_int_not_equal(access(port_file, F_OK), 0);
    }
}

static void readiness_asks_at_most_once_a_second_and_shows_the_failure(void **state)
{
    (void)state;
    struct child child = START(false);
    unsigned port = wait_for_port();
    int64_t start_us = clock_monotonic_us();
    for (int i = 0; i < 20; i++) {
        assert_true(answers(port, "/readyz", 503, "\"ready\":false"));
    }
    int64_t seconds = (clock_monotonic_us() - start_us) / CLOCK_SECOND_US;
    assert_in_range(load_shared(&shared->checks_asked), 1, seconds + 1);
    assert_true(answers(port, "/readyz", 503, "\"checks\":{\"db\":\"could not reach \\\"db\\\"\"}"));
    assert_true(answers(port, "/livez", 200, "true"));
    __atomic_store_n(&shared->healthy, 1, __ATOMIC_SEQ_CST);
    long status = 503;
    while (status != 200 && !is_late(start_us)) {
        AUTO(net_answer_done) struct net_answer answer = ask(port, "/readyz");
        status = answer.status;
    }
    assert_int_equal(status, 200);
    assert_int_equal(kill(child.pid, SIGTERM), 0);
    assert_finishes(child, 0, NULL);
}

/* --- jobs ---------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *mode;
    int code;
    int closed;
    const char *log;
} jobs[] = {
    {"serve", 0, 1, ""},
    {"partial", 2, 1, ""},
    {"refused", 3, 1, ""},
    {"fail", 1, 1, "\"message\":\"run failed\",\"code\":\"unavailable\",\"error\":\"could not reach \\\"db\\\"\""},
    {"fail-open", 1, 0, "\"message\":\"could not start\",\"code\":\"unavailable\",\"error\":\"no catalog\""},
};

static void a_job_runs_once_and_exits_with_its_result(void **state)
{
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        setup(state);
        setenv("GRANARY_DECAY_MODE", jobs[i].mode, 1);
        assert_finishes(START(true), jobs[i].code, jobs[i].log);
        assert_int_equal(shared->runs, jobs[i].closed);
        assert_int_equal(shared->closed, jobs[i].closed);
        assert_int_not_equal(access(port_file, F_OK), 0); /* no listener */
    }
}

static void a_job_with_every_runs_again_and_serves_its_metrics(void **state)
{
    (void)state;
    struct child child = START(true, "--every", "20ms");
    unsigned port = wait_for_port();
    wait_until(&shared->runs, 4);
    assert_true(answers(port, "/metrics", 200, "\ngranary_job_last_successful_run_timestamp_seconds 1"));
    assert_true(answers(port, "/metrics", 200, "granary_job_runs_total{result=\"failed\"} 0\n"));
    assert_true(answers(port, "/readyz", 200, "\"checks\":{}"));
    assert_int_equal(kill(child.pid, SIGTERM), 0);
    assert_finishes(child, 0, "\"message\":\"stopped\"");
    assert_int_equal(shared->closed, 1);
}

static int occurrences(const char *text, const char *part)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++) {
        count++;
    }
    return count;
}

static void a_failure_that_goes_on_is_logged_once(void **state)
{
    (void)state;
    setenv("GRANARY_DECAY_MODE", "fail", 1);
    AUTO(buf_done) struct buf out = {0};
    AUTO(buf_done) struct buf err = {0};
    struct child child = START(true, "--every=10ms");
    wait_until(&shared->runs, 4);
    assert_true(answers(wait_for_port(), "/metrics", 200, "granary_job_last_successful_run_timestamp_seconds 0\n"));
    assert_int_equal(kill(child.pid, SIGTERM), 0);
    assert_int_equal(finish(child, &out, &err), 0);
    assert_int_equal(occurrences(buf_text(&err), "run failed"), 1);
}

static void a_recovery_is_logged_and_so_is_the_next_failure(void **state)
{
    (void)state;
    setenv("GRANARY_DECAY_MODE", "flaky", 1);
    AUTO(buf_done) struct buf out = {0};
    AUTO(buf_done) struct buf err = {0};
    struct child child = START(true, "--every=10ms");
    wait_until(&shared->runs, 4);
    assert_int_equal(kill(child.pid, SIGTERM), 0);
    assert_int_equal(finish(child, &out, &err), 0);
    assert_true(occurrences(buf_text(&err), "run failed") >= 2);
    assert_true(occurrences(buf_text(&err), "runs succeed again") >= 1);
}

static void sigterm_ends_a_run_in_progress(void **state)
{
    static const struct {
        const char *argument;
        int code;
    } cases[] = {{NULL, 2}, {"--every=1h", 0}};
    for (size_t i = 0; i < 2; i++) {
        setup(state);
        setenv("GRANARY_DECAY_MODE", "wait", 1);
        struct child child = START(true, cases[i].argument);
        wait_until(&shared->runs, 1);
        assert_int_equal(kill(child.pid, SIGTERM), 0);
        AUTO(buf_done) struct buf out = {0};
        AUTO(buf_done) struct buf err = {0};
        assert_int_equal(finish(child, &out, &err), cases[i].code);
        assert_null(strstr(buf_text(&err), "\"level\":\"error\""));
        assert_int_equal(shared->closed, 1);
    }
}

static void a_bad_every_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"--every=", "--every=0", "--every=never", "--every=5", "--every"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_finishes(START(true, bad[i]), 78, "--every");
    }
    assert_int_equal(shared->runs, 0);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(options_print_and_unknown_ones_are_refused),
        TEST(every_fault_of_the_settings_is_logged_and_the_exit_code_is_78),
        TEST(a_service_that_fails_logs_it_once_and_exits_with_1),
        TEST(a_service_that_returns_exits_with_0),
        TEST(a_service_serves_probes_and_its_own_routes_until_sigterm),
        TEST(readiness_asks_at_most_once_a_second_and_shows_the_failure),
        TEST(a_job_runs_once_and_exits_with_its_result),
        TEST(a_job_with_every_runs_again_and_serves_its_metrics),
        TEST(a_failure_that_goes_on_is_logged_once),
        TEST(a_recovery_is_logged_and_so_is_the_next_failure),
        TEST(sigterm_ends_a_run_in_progress),
        TEST(a_bad_every_is_refused),
    };
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert(shared != MAP_FAILED);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
