/* A job runs once and exits, or again and again on a fixed grid: runs start at start + n * every, whatever they take, and
 * a start that passed during a run is left out. */
#include <stdio.h>

#include "common/base/clock.h"
#include "common/log/log.h"
#include "common/service/internal.h"

struct job {
    const struct job_spec *spec;
    struct service *service;
    void *state;
    struct metric *last_success;
    struct metric *duration;
    struct metric *done, *partial, *refused, *failed;
    enum err_code last_code; /* a failure is logged when it is a new one */
};

static void register_metrics(struct job *job)
{
    static const char name[] = "granary_job_runs_total";
    static const char help[] = "Runs by their result.";
    struct metrics *metrics = service_metrics(job->service);
    job->last_success = metrics_gauge(metrics, "granary_job_last_successful_run_timestamp_seconds", NULL,
                                      "End of the last run that did not fail, in seconds since 1970; idle ones too.");
    job->duration = metrics_histogram(metrics, "granary_job_run_duration_seconds", NULL, "How long runs take.");
    job->done = metrics_counter(metrics, name, "result=\"done\"", help);
    job->partial = metrics_counter(metrics, name, "result=\"partial\"", help);
    job->refused = metrics_counter(metrics, name, "result=\"refused\"", help);
    job->failed = metrics_counter(metrics, name, "result=\"failed\"", help);
}

/* What was asked for by a signal is no failure. */
static bool is_drained(const struct service *service, enum err_code code)
{
    return code == ERR_STOPPED && service_stopping(service);
}

static enum service_exit judge(const struct job *job, enum err_code code, enum service_exit asked)
{
    if (is_drained(job->service, code)) {
        return SERVICE_PARTIAL;
    }
    return code == OK ? asked : SERVICE_FAILED;
}

static void count(struct job *job, enum service_exit result)
{
    switch (result) {
    case SERVICE_DONE: metric_add(job->done, 1); break;
    case SERVICE_PARTIAL: metric_add(job->partial, 1); break;
    case SERVICE_REFUSED: metric_add(job->refused, 1); break;
    case SERVICE_FAILED:
    case SERVICE_BAD_CONFIG: metric_add(job->failed, 1); return;
    }
    metric_set(job->last_success, (double)clock_now_us() / CLOCK_SECOND_US);
}

static void report(struct job *job, enum err_code code, const struct error *err)
{
    if (is_drained(job->service, code)) {
        return;
    }
    if (code != OK && code != job->last_code) {
        log_error("run failed", LOG_ERR(err));
    } else if (code == OK && job->last_code != OK) {
        log_info("runs succeed again");
    }
    job->last_code = code;
}

static enum service_exit run_once(struct job *job)
{
    struct error err = {0};
    enum service_exit asked = SERVICE_DONE;
    int64_t start_us = clock_monotonic_us();
    enum err_code code = job->spec->run(job->service, job->state, &asked, &err);
    enum service_exit result = judge(job, code, asked);
    metric_observe_us(job->duration, clock_monotonic_us() - start_us);
    count(job, result);
    report(job, code, &err);
    return result;
}

static void run_on_grid(struct job *job, int64_t every_us)
{
    int64_t next_us = clock_monotonic_us();
    enum err_code wait = ERR_TIMEOUT;
    while (wait == ERR_TIMEOUT) {
        (void)run_once(job);
        int64_t now_us = clock_monotonic_us();
        next_us += (1 + (now_us - next_us) / every_us) * every_us; /* the first point of the grid still to come */
        wait = service_wait(job->service, next_us - now_us);
    }
}

static void close_job(struct job *job)
{
    service_unlisten(job->service); /* its checks may use the state */
    if (job->state != NULL && job->spec->close != NULL) {
        job->spec->close(job->state);
    }
}

static enum err_code open_job(struct job *job, const void *config, int64_t every_us, struct error *err)
{
    if (job->spec->open != NULL) {
        TRY(job->spec->open(job->service, config, &job->state, err));
    }
    if (every_us == 0) {
        return OK;
    }
    const struct config_http *http = (const void *)((const char *)config + job->spec->http_offset);
    return service_listen(job->service, http, NULL, 0, NULL, err);
}

static int run_job(const void *spec, struct service *service, const void *config, int64_t every_us)
{
    struct error err = {0};
    AUTO(close_job) struct job job = {.spec = spec, .service = service};
    register_metrics(&job);
    enum err_code code = open_job(&job, config, every_us, &err);
    if (is_drained(service, code)) {
        return every_us == 0 ? SERVICE_PARTIAL : SERVICE_DONE;
    }
    if (code != OK) {
        log_error("could not start", LOG_ERR(&err));
        return SERVICE_FAILED;
    }
    if (every_us == 0) {
        return (int)run_once(&job);
    }
    run_on_grid(&job, every_us);
    log_info("stopped");
    return SERVICE_DONE;
}

int job_main(int argc, char **argv, const struct job_spec *spec)
{
    return service_start(argc, argv,
                         &(struct service_program){
                             .name = spec->name,
                             .summary = spec->summary,
                             .settings = spec->settings,
                             .setting_count = spec->setting_count,
                             .config_size = spec->config_size,
                             .is_job = true,
                             .run = run_job,
                             .spec = spec,
                         });
}
