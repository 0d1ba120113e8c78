/* The frame of every process: settings, logs, signals, probes, drain, exit codes. A service's main is a table and one
 * call. SIGTERM and SIGINT drain: service_stopping() turns true, waits wake up, run() returns; a second signal ends at
 * once. SIGPIPE is ignored. Signals are blocked in all threads and read from a signalfd by a thread of the frame. */
#ifndef GRANARY_SERVICE_SERVICE_H
#define GRANARY_SERVICE_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/cleanup.h"
#include "common/base/error.h"
#include "common/config/config.h"
#include "common/http/http.h"
#include "common/metrics/metrics.h"

enum service_exit {
    SERVICE_DONE = 0,
    SERVICE_FAILED = 1,
    SERVICE_PARTIAL = 2, /* done in part, or with findings */
    SERVICE_REFUSED = 3, /* by a safety rule */
    SERVICE_BAD_CONFIG = 78,
};

struct service;

/* --- what a process may use -------------------------------------------------------------------------------------- */
struct metrics *service_metrics(struct service *service);
const char *service_name(const struct service *service);     /* "reaper" */
const char *service_instance(const struct service *service); /* "host:pid:hex", unique; the owner in locks and leases */
bool service_stopping(const struct service *service);
/* Begins to drain, as SIGTERM does: for a run() that fails while threads of its own are at work. */
void service_stop(struct service *service);
/* Waits; ERR_TIMEOUT when the time is over (the normal case), ERR_STOPPED when draining. */
MUST_CHECK enum err_code service_wait(struct service *service, int64_t timeout_us);

/* Readiness: /readyz answers 200 when every check says OK, else 503 with the texts. Checks really ask, at most once a
 * second each (the answer is kept for that long), with a time-out of their own. */
typedef enum err_code service_check_fn(void *context, struct error *err);
void service_add_check(struct service *service, const char *name, service_check_fn *check, void *context);
/* Opens the HTTP listener with the probes (/livez /readyz /metrics /version) and these routes (may be none). Call when the
 * process can serve, after the checks were added, and at most once. The frame closes it after run() has returned; where
 * routes or checks use what run() itself frees, run() closes it before, with service_unlisten. */
MUST_CHECK enum err_code service_listen(struct service *service, const struct config_http *http,
                                        const struct http_route *routes, size_t route_count, void *context,
                                        struct error *err);
/* Closes the listener: waits for requests in progress. Harmless without one. As the last AUTO of run() it goes first:
 * AUTO(service_unlisten_auto) struct service *listening = service; */
void service_unlisten(struct service *service);
DEFINE_AUTO(struct service, service_unlisten)

/* --- long-running ------------------------------------------------------------------------------------------------ */
struct service_spec {
    const char *name;    /* "reaper"; the binary is granary-reaper */
    const char *summary; /* one sentence for --help */
    const struct setting *settings;
    size_t setting_count;
    size_t config_size; /* of the config struct that run receives */
    enum err_code (*run)(struct service *service, const void *config, struct error *err);
};
/* --help, --version, --print-config, --print-config-markdown; anything else is refused with 78. The exit code is 0 when
 * run returned OK, or ERR_STOPPED while draining; else the failure is logged, and it is 1. */
int service_main(int argc, char **argv, const struct service_spec *spec);

/* --- jobs: run once and exit, or loop with --every 30s ----------------------------------------------------------- */
struct job_spec {
    const char *name;
    const char *summary;
    const struct setting *settings;
    size_t setting_count;
    size_t config_size;
    /* One run. *out_exit is SERVICE_DONE unless it is set. The exit code is *out_exit when OK, SERVICE_PARTIAL for
     * ERR_STOPPED while draining, else SERVICE_FAILED.
     * With --every a failed run is logged and the next one comes; the HTTP listener (http_offset of struct config_http in
     * the config) then serves probes and metrics. `state` is what open returned. */
    enum err_code (*open)(struct service *service, const void *config, void **out_state, struct error *err);
    enum err_code (*run)(struct service *service, void *state, enum service_exit *out_exit, struct error *err);
    void (*close)(void *state);
    size_t http_offset;
};
int job_main(int argc, char **argv, const struct job_spec *spec);

#endif
