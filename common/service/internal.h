/* What the files of this module share. */
#ifndef GRANARY_SERVICE_INTERNAL_H
#define GRANARY_SERVICE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "common/service/service.h"

enum { SERVICE_MAX_CHECKS = 16, SERVICE_INSTANCE_BYTES = 96 };

struct service_check {
    const char *name;
    service_check_fn *check;
    void *context;
    pthread_mutex_t lock; /* around what follows, and so around asking */
    int64_t asked_at_us;  /* 0: never */
    enum err_code code;
    struct error err;
};

struct service {
    const char *name;
    char instance[SERVICE_INSTANCE_BYTES];
    struct metrics *metrics;
    struct metric *resident_bytes;
    struct metric *open_files;

    atomic_bool stopping;
    pthread_mutex_t lock; /* with `woken`, for service_wait */
    pthread_cond_t woken; /* on the monotonic clock */
    int signals;          /* signalfd */
    int quit;             /* eventfd: ends the signal thread */
    pthread_t signal_thread;
    bool has_signal_thread;

    struct service_check checks[SERVICE_MAX_CHECKS];
    size_t check_count;
    struct http_server *server;
    char *port_file; /* NULL: none was written */
};

/* --- service.c: signals and waiting. Blocks SIGTERM and SIGINT for the whole process. ------------------------------ */
MUST_CHECK enum err_code service_open(const char *name, struct service **out, struct error *err);
void service_close(struct service *service);
DEFINE_AUTO(struct service, service_close)

/* --- probes.c ---------------------------------------------------------------------------------------------------- */
extern const struct http_route service_probe_routes[];
extern const size_t service_probe_route_count;
void service_register_process_metrics(struct service *service);

/* --- start.c: what service_main and job_main have in common -------------------------------------------------------- */
struct service_program {
    const char *name;
    const char *summary;
    const struct setting *settings;
    size_t setting_count;
    size_t config_size;
    bool is_job; /* takes --every */
    /* Returns the exit code. every_us 0: run once. */
    int (*run)(const void *spec, struct service *service, const void *config, int64_t every_us);
    const void *spec;
};
int service_start(int argc, char **argv, const struct service_program *program);

#endif
