/* One thread reads the signals; everybody else sees them as service_stopping() and as the end of a wait. */
#include "common/service/service.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/log/log.h"
#include "common/service/internal.h"

struct metrics *service_metrics(struct service *service)
{
    return service->metrics;
}

const char *service_name(const struct service *service)
{
    return service->name;
}

const char *service_instance(const struct service *service)
{
    return service->instance;
}

bool service_stopping(const struct service *service)
{
    return atomic_load(&service->stopping);
}

enum err_code service_wait(struct service *service, int64_t timeout_us)
{
    int64_t now_us = clock_monotonic_us();
    int64_t end_us = timeout_us > INT64_MAX - now_us ? INT64_MAX : now_us + timeout_us;
    struct timespec end = {.tv_sec = end_us / CLOCK_SECOND_US, .tv_nsec = end_us % CLOCK_SECOND_US * 1000};
    (void)pthread_mutex_lock(&service->lock);
    while (!service_stopping(service) && pthread_cond_timedwait(&service->woken, &service->lock, &end) != ETIMEDOUT) {
    }
    (void)pthread_mutex_unlock(&service->lock);
    return service_stopping(service) ? ERR_STOPPED : ERR_TIMEOUT;
}

void service_stop(struct service *service)
{
    atomic_store(&service->stopping, true);
    (void)pthread_mutex_lock(&service->lock);
    (void)pthread_cond_broadcast(&service->woken);
    (void)pthread_mutex_unlock(&service->lock);
}

static void take_signal(struct service *service, uint32_t signal)
{
    if (service_stopping(service)) {
        log_warn("second signal, ending at once", LOG_INT("signal", signal));
        _exit(SERVICE_FAILED);
    }
    log_info("draining", LOG_INT("signal", signal));
    service_stop(service);
}

static void *read_signals(void *context)
{
    struct service *service = context;
    struct pollfd files[] = {{.fd = service->signals, .events = POLLIN}, {.fd = service->quit, .events = POLLIN}};
    while (files[1].revents == 0) {
        if (poll(files, 2, -1) < 0) {
            files[1].revents = 0; /* interrupted: nothing was filled in */
            continue;
        }
        struct signalfd_siginfo info;
        if (files[0].revents != 0 && read(service->signals, &info, sizeof info) == (ssize_t)sizeof info) {
            take_signal(service, info.ssi_signo);
        }
    }
    return NULL;
}

static enum err_code start_signal_thread(struct service *service, struct error *err)
{
    sigset_t ending;
    (void)sigemptyset(&ending);
    (void)sigaddset(&ending, SIGTERM);
    (void)sigaddset(&ending, SIGINT);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)pthread_sigmask(SIG_BLOCK, &ending, NULL); /* threads inherit it */
    service->signals = signalfd(-1, &ending, SFD_CLOEXEC);
    service->quit = eventfd(0, EFD_CLOEXEC);
    if (service->signals < 0 || service->quit < 0) {
        return err_set(err, ERR_UNAVAILABLE, "could not open a signalfd: %s", strerror(errno));
    }
    int failure = pthread_create(&service->signal_thread, NULL, read_signals, service);
    if (failure != 0) {
        return err_set(err, ERR_UNAVAILABLE, "could not start the signal thread: %s", strerror(failure));
    }
    service->has_signal_thread = true;
    return OK;
}

static void name_instance(struct service *service)
{
    char host[64] = "";
    uint32_t random = 0;
    (void)gethostname(host, sizeof host - 1);
    (void)!getrandom(&random, sizeof random, 0);
    (void)snprintf(service->instance, sizeof service->instance, "%s:%ld:%08x", host, (long)getpid(), random);
}

static void init_locks(struct service *service)
{
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&service->woken, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    (void)pthread_mutex_init(&service->lock, NULL);
}

enum err_code service_open(const char *name, struct service **out, struct error *err)
{
    AUTO(service_close_auto) struct service *service = calloc(1, sizeof *service);
    if (service == NULL) {
        return err_no_memory(err, sizeof *service);
    }
    service->name = name;
    service->signals = service->quit = -1;
    init_locks(service);
    name_instance(service);
    service->metrics = metrics_new();
    service_register_process_metrics(service);
    TRY(start_signal_thread(service, err));
    *out = TAKE(service);
    return OK;
}

void service_close(struct service *service)
{
    if (service == NULL) {
        return;
    }
    service_unlisten(service);
    if (service->has_signal_thread) {
        (void)!write(service->quit, &(uint64_t){1}, sizeof(uint64_t));
        (void)pthread_join(service->signal_thread, NULL);
    }
    if (service->signals >= 0) {
        (void)close(service->signals);
    }
    if (service->quit >= 0) {
        (void)close(service->quit);
    }
    for (size_t i = 0; i < service->check_count; i++) {
        (void)pthread_mutex_destroy(&service->checks[i].lock);
    }
    metrics_free(service->metrics);
    (void)pthread_cond_destroy(&service->woken);
    (void)pthread_mutex_destroy(&service->lock);
    free(service);
}

void service_add_check(struct service *service, const char *name, service_check_fn *check, void *context)
{
    assert(service->check_count < SERVICE_MAX_CHECKS && service->server == NULL);
    struct service_check *added = &service->checks[service->check_count++];
    *added = (struct service_check){.name = name, .check = check, .context = context};
    (void)pthread_mutex_init(&added->lock, NULL);
}

/* --- the listener ------------------------------------------------------------------------------------------------ */

static void report_tokens_fault(const struct error *fault)
{
    log_error("tokens file cannot be used, the former tokens stay", LOG_ERR(fault));
}

/* Appears whole, under its name: who waits for the file never reads half a number. */
static enum err_code write_port_file(struct service *service, const char *path, struct error *err)
{
    AUTO(buf_done) struct buf next = {0};
    TRY(buf_printf(&next, err, "%s.%ld", path, (long)getpid()));
    const char *next_path = buf_text(&next);
    service->port_file = strdup(path);
    if (next_path == NULL || service->port_file == NULL) {
        return err_no_memory(err, strlen(path));
    }
    FILE *file = fopen(next_path, "we");
    bool good = file != NULL && fprintf(file, "%u\n", http_server_port(service->server)) > 0;
    good = (file == NULL || fclose(file) == 0) && good;
    if (!good || rename(next_path, path) != 0) {
        return err_set(err, ERR_INVALID, "could not write port file \"%.256s\": %s", path, strerror(errno));
    }
    return OK;
}

enum err_code service_listen(struct service *service, const struct config_http *http, const struct http_route *routes,
                             size_t route_count, void *context, struct error *err)
{
    assert(service->server == NULL);
    struct http_options options = {
        .listen = http->listen,
        .tls_cert_file = http->tls_cert_file,
        .tls_key_file = http->tls_key_file,
        .tokens_file = http->tokens_file,
        .probe_routes = service_probe_routes,
        .probe_route_count = service_probe_route_count,
        .probe_context = service,
        .metrics = service->metrics,
        .on_tokens_fault = report_tokens_fault,
    };
    TRY(http_server_open(&options, routes, route_count, context, &service->server, err));
    if (http->port_file != NULL && *http->port_file != '\0') {
        TRY(write_port_file(service, http->port_file, err));
    }
    log_info("listening", LOG_TEXT("address", http->listen), LOG_INT("port", http_server_port(service->server)));
    return OK;
}

void service_unlisten(struct service *service)
{
    if (service != NULL) {
        if (service->port_file != NULL) {
            (void)unlink(service->port_file);
            free(TAKE(service->port_file));
        }
        http_server_close(TAKE(service->server));
    }
}
