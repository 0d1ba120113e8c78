#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/http/internal.h"

enum {
    DEFAULT_WORKERS = 8,
    DEFAULT_CONNECTIONS = 1024,
    CONNECTION_MEMORY_BYTES = 64 * 1024, /* the bound on headers, and the largest piece of a body */
    MEMORY_STEP_BYTES = 16 * 1024,
    LARGEST_PEM_BYTES = 1 << 20,
};
#define DEFAULT_IDLE_US CLOCK_MINUTE_US
#define UPLOAD_GRACE_US (5 * CLOCK_SECOND_US) /* how long http_server_close waits for bodies on their way */

static void close_file(int *file)
{
    if (*file >= 0) {
        (void)close(*file);
    }
}

static enum err_code read_pem(const char *path, char **out, struct error *err)
{
    AUTO(close_file) int file = open(path, O_RDONLY | O_CLOEXEC);
    AUTO(free_auto) char *text = calloc(1, LARGEST_PEM_BYTES + 1);
    if (text == NULL) {
        return err_no_memory(err, LARGEST_PEM_BYTES + 1);
    }
    ssize_t length = file < 0 ? -1 : read(file, text, LARGEST_PEM_BYTES);
    if (length < 0) {
        return err_set(err, ERR_INVALID, "could not read \"%.256s\": %s", path, strerror(errno));
    }
    *out = TAKE(text);
    return OK;
}

static bool is_set(const char *text)
{
    return text != NULL && *text != '\0';
}

static enum err_code load_tls(struct http_server *server, const struct http_options *options, struct error *err)
{
    if (is_set(options->tls_cert_file) != is_set(options->tls_key_file)) {
        return err_set(err, ERR_INVALID, "expected both a certificate and a key but found one of them");
    }
    if (is_set(options->tls_cert_file)) {
        TRY(read_pem(options->tls_cert_file, &server->tls_cert, err));
        TRY(read_pem(options->tls_key_file, &server->tls_key, err));
    }
    return OK;
}

/* Paths and arguments are decoded by us: see route.c. */
static size_t keep_escapes(void *unused, struct MHD_Connection *connection, char *text)
{
    (void)unused;
    (void)connection;
    return strlen(text);
}

static unsigned processors(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : (unsigned)count;
}

static unsigned or_default(unsigned value, unsigned fallback)
{
    return value == 0 ? fallback : value;
}

static enum err_code start_daemon(struct http_server *server, const struct http_options *options, int *listener_take,
                                  struct error *err)
{
    int64_t idle_us = options->idle_timeout_us == 0 ? DEFAULT_IDLE_US : options->idle_timeout_us;
    unsigned threads = or_default(options->event_threads, processors());
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, server->tls_cert},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, server->tls_key},
        {MHD_OPTION_END, 0, NULL},
    };
    struct MHD_OptionItem pool[] = {{MHD_OPTION_THREAD_POOL_SIZE, threads, NULL}, {MHD_OPTION_END, 0, NULL}};
    unsigned flags =
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | (server->tls_cert == NULL ? 0 : MHD_USE_TLS);
    server->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, http_on_request, server, /* */
        MHD_OPTION_LISTEN_SOCKET, *listener_take, MHD_OPTION_NOTIFY_COMPLETED, http_on_completed, server,
        MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL, MHD_OPTION_CONNECTION_LIMIT,
        or_default(options->max_connections, DEFAULT_CONNECTIONS), MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)((idle_us + CLOCK_SECOND_US - 1) / CLOCK_SECOND_US), MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_MEMORY_BYTES, MHD_OPTION_CONNECTION_MEMORY_INCREMENT, (size_t)MEMORY_STEP_BYTES,
        MHD_OPTION_ARRAY, threads > 1 ? pool : &pool[1], MHD_OPTION_ARRAY, server->tls_cert == NULL ? &tls[2] : tls,
        MHD_OPTION_END);
    if (server->daemon == NULL) {
        return err_set(err, ERR_UNAVAILABLE, "could not start the HTTP server; hint: check certificate and key");
    }
    *listener_take = -1;
    return OK;
}

/* Nothing new comes in. */
static void quiesce(struct http_server *server)
{
    AUTO(close_file) int listener = MHD_quiesce_daemon(server->daemon);
    atomic_store(&server->closing, true);
}

/* Waits for requests whose handler has started, and for a while for those whose body is still on its way. */
static void wait_for_requests(struct http_server *server)
{
    int64_t give_up_us = clock_now_us() + UPLOAD_GRACE_US;
    struct timespec deadline = {.tv_sec = give_up_us / CLOCK_SECOND_US, .tv_nsec = give_up_us % CLOCK_SECOND_US * 1000};
    (void)pthread_mutex_lock(&server->lock);
    while (atomic_load(&server->open) > 0 &&
           pthread_cond_timedwait(&server->over, &server->lock, &deadline) != ETIMEDOUT) {
    }
    /* A handler starts only if it counted itself before it read `refusing`; so none is missed below. */
    atomic_store(&server->refusing, true);
    while (atomic_load(&server->running) > 0) {
        (void)pthread_cond_wait(&server->over, &server->lock);
    }
    (void)pthread_mutex_unlock(&server->lock);
}

void http_server_close(struct http_server *server)
{
    if (server == NULL) {
        return;
    }
    if (server->daemon != NULL) {
        quiesce(server);
        wait_for_requests(server);
        MHD_stop_daemon(server->daemon);
    }
    http_pool_close(server->pool);
    http_tokens_close(server->tokens);
    (void)pthread_cond_destroy(&server->over);
    (void)pthread_mutex_destroy(&server->lock);
    free(server->tls_cert);
    free(server->tls_key);
    free(server);
}

enum err_code http_server_open(const struct http_options *options, const struct http_route *routes, size_t route_count,
                               void *context, struct http_server **out, struct error *err)
{
    AUTO(http_server_close_auto) struct http_server *server = calloc(1, sizeof *server);
    AUTO(close_file) int listener = -1;
    if (server == NULL) {
        return err_no_memory(err, sizeof *server);
    }
    (void)pthread_mutex_init(&server->lock, NULL);
    (void)pthread_cond_init(&server->over, NULL);
    server->tables[0] = (struct http_table){options->probe_routes, options->probe_route_count, options->probe_context};
    server->tables[1] = (struct http_table){routes, route_count, context};
    http_meter_init(&server->meter, options->metrics);
    TRY(load_tls(server, options, err));
    TRY(http_tokens_open(options->tokens_file == NULL ? "" : options->tokens_file, options->on_tokens_fault,
                         &server->tokens, err));
    TRY(http_pool_open(or_default(options->worker_threads, DEFAULT_WORKERS), &server->pool, err));
    TRY(http_listen(options->listen, &listener, &server->port, err));
    TRY(start_daemon(server, options, &listener, err));
    *out = TAKE(server);
    return OK;
}

uint16_t http_server_port(const struct http_server *server)
{
    return server->port;
}
