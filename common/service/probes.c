/* What Kubernetes and Prometheus ask. Liveness says only that the process answers: a dependency that is down is no reason
 * to restart it. Readiness really asks the dependencies, on a thread that may block. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/quote.h"
#include "common/service/internal.h"

#define ASK_EVERY_US CLOCK_SECOND_US

static enum err_code answer_live(void *context, struct http_request *request, struct error *err)
{
    (void)context;
    return http_reply_json(request, 200, "{\"live\":true}", err);
}

static enum err_code answer_version(void *context, struct http_request *request, struct error *err)
{
    const struct service *service = context;
    const char *json =
        arena_printf(http_arena(request), "{\"service\":\"%s\",\"version\":\"" GRANARY_VERSION "\"}", service->name);
    return json == NULL ? err_no_memory(err, 1) : http_reply_json(request, 200, json, err);
}

/* --- readiness --------------------------------------------------------------------------------------------------- */

static void unlock(pthread_mutex_t **lock)
{
    (void)pthread_mutex_unlock(*lock);
}

/* Asks, unless the last answer is fresh. Who comes meanwhile waits for the same answer. */
static enum err_code ask(struct service_check *check, struct error *out)
{
    AUTO(unlock) pthread_mutex_t *lock = &check->lock;
    (void)pthread_mutex_lock(lock);
    int64_t now_us = clock_monotonic_us();
    if (check->asked_at_us == 0 || now_us - check->asked_at_us >= ASK_EVERY_US) {
        check->err = (struct error){0};
        check->code = check->check(check->context, &check->err);
        check->asked_at_us = clock_monotonic_us();
    }
    *out = check->err;
    return check->code;
}

/* {"ready":false,"checks":{"catalog":"ok","bus":"could not ..."}} */
static enum err_code format_checks(struct service *service, bool *out_ready, struct buf *out, struct error *err)
{
    bool ready = !service_stopping(service);
    AUTO(buf_done) struct buf list = {0};
    for (size_t i = 0; i < service->check_count; i++) {
        struct service_check *check = &service->checks[i];
        struct error answer;
        bool good = ask(check, &answer) == OK;
        const char *text = good ? "ok" : answer.text;
        ready = ready && good;
        TRY(buf_printf(&list, err, "%s\"%s\":", i == 0 ? "" : ",", check->name));
        TRY(quote_json(text, strlen(text), &list, err));
    }
    TRY(buf_printf(out, err, "{\"ready\":%s,\"stopping\":%s,\"checks\":{", ready ? "true" : "false",
                   service_stopping(service) ? "true" : "false"));
    TRY(buf_append(out, list.data, list.length_bytes, err));
    *out_ready = ready;
    return buf_append_text(out, "}}", err);
}

static enum err_code answer_ready(void *context, struct http_request *request, struct error *err)
{
    AUTO(buf_done) struct buf body = {0};
    bool ready;
    TRY(format_checks(context, &ready, &body, err));
    return http_reply(request, ready ? 200 : 503, "application/json", body.data, body.length_bytes, err);
}

/* --- metrics ----------------------------------------------------------------------------------------------------- */

void service_register_process_metrics(struct service *service)
{
    struct metrics *metrics = service->metrics;
    service->resident_bytes =
        metrics_gauge(metrics, "granary_process_resident_memory_bytes", NULL, "Memory of the process in RAM.");
    service->open_files = metrics_gauge(metrics, "granary_process_open_fds", NULL, "Open file descriptors.");
    metric_set(metrics_gauge(metrics, "granary_process_start_time_seconds", NULL, "Start, in seconds since 1970."),
               (double)clock_now_us() / CLOCK_SECOND_US);
    metric_set(metrics_gauge(metrics, "granary_build_info", "version=\"" GRANARY_VERSION "\"", "Always 1."), 1);
}

static int64_t resident_bytes(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file != NULL) {
        if (fscanf(file, "%*d %ld", &pages) != 1) {
            pages = 0;
        }
        (void)fclose(file);
    }
    return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

static int64_t open_files(void)
{
    int64_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    if (folder != NULL) {
        while (readdir(folder) != NULL) {
            count++;
        }
        (void)closedir(folder);
    }
    return count > 3 ? count - 3 : 0; /* ".", ".." and the folder itself */
}

static enum err_code answer_metrics(void *context, struct http_request *request, struct error *err)
{
    struct service *service = context;
    AUTO(buf_done) struct buf body = {0};
    metric_set(service->resident_bytes, (double)resident_bytes());
    metric_set(service->open_files, (double)open_files());
    TRY(metrics_format(service->metrics, &body, err));
    return http_reply(request, 200, "text/plain; version=0.0.4; charset=utf-8", body.data, body.length_bytes, err);
}

const struct http_route service_probe_routes[] = {
    {.method = "GET", .pattern = "/livez", .handler = answer_live},
    {.method = "GET", .pattern = "/readyz", .handler = answer_ready, .blocking = true},
    {.method = "GET", .pattern = "/metrics", .handler = answer_metrics},
    {.method = "GET", .pattern = "/version", .handler = answer_version},
};
const size_t service_probe_route_count = sizeof service_probe_routes / sizeof *service_probe_routes;
