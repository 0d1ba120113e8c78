#include "services/reaper/run.h"

#include <pthread.h>
#include <stdatomic.h>

#include "common/base/clock.h"
#include "common/hints/hints.h"
#include "common/log/log.h"
#include "services/reaper/config.h"
#include "services/reaper/handler.h"

enum { MAX_WORKERS = 64 };
#define GATE_ASK_US     CLOCK_SECOND_US
#define NEXT_TIMEOUT_US (CLOCK_SECOND_US / 4)

struct worker {
    pthread_t thread;
    struct service *service;
    const atomic_bool *open;
    struct reaper reaper;
};

struct fleet {
    struct worker workers[MAX_WORKERS];
    size_t started;
};

struct shared {
    struct catalog *catalog; /* of the readiness check */
    pthread_mutex_t catalog_lock;
    struct catalog *gate_catalog; /* the main thread's */
    struct storages *storages;
    struct gate *gate;
    struct bus_consumer *consumer;
};

static void *work(void *context)
{
    struct worker *worker = context;
    while (!service_stopping(worker->service)) {
        struct bus_delivery *delivery = NULL;
        if (!atomic_load(worker->open)) {
            (void)!service_wait(worker->service, NEXT_TIMEOUT_US);
        } else if (bus_next(worker->reaper.consumer, NEXT_TIMEOUT_US, &delivery, NULL) == OK) {
            reaper_handle(&worker->reaper, delivery);
        }
    }
    return NULL;
}

static void fleet_done(struct fleet *fleet)
{
    if (fleet->started != 0) {
        service_stop(fleet->workers[0].service); /* it is stopping already, unless it could not start */
    }
    for (size_t i = 0; i < fleet->started; i++) {
        (void)pthread_join(fleet->workers[i].thread, NULL);
        catalog_close(fleet->workers[i].reaper.catalog);
    }
    free(fleet);
}

static void fleet_done_auto(struct fleet **fleet)
{
    if (*fleet != NULL) {
        fleet_done(*fleet);
    }
}

static enum err_code start_worker(struct fleet *fleet, const struct reaper_config *config, const struct worker *pattern,
                                  struct error *err)
{
    struct worker *worker = &fleet->workers[fleet->started];
    *worker = *pattern;
    const struct catalog_options options = {
        .url = config->catalog.url,
        .password = config->catalog.password,
        .application_name = "granary-reaper",
    };
    TRY(catalog_open(&options, &worker->reaper.catalog, err));
    if (pthread_create(&worker->thread, NULL, work, worker) != 0) {
        catalog_close(worker->reaper.catalog);
        return err_set(err, ERR_NO_MEMORY, "could not start a worker thread");
    }
    fleet->started++;
    return OK;
}

static enum err_code check_catalog(void *context, struct error *err)
{
    struct shared *shared = context;
    pthread_mutex_lock(&shared->catalog_lock);
    enum err_code code = catalog_check_version(shared->catalog, err);
    pthread_mutex_unlock(&shared->catalog_lock);
    return code;
}

static enum err_code check_bus(void *context, struct error *err)
{
    struct shared *shared = context;
    return bus_consumer_ready(shared->consumer, err) ? OK : ERR_UNAVAILABLE;
}

static enum err_code check_store(void *context, struct error *err)
{
    struct shared *shared = context;
    struct error reason;
    enum gate_state state = gate_last(shared->gate, &reason);
    if (state == GATE_OPEN || state == GATE_PAUSED) {
        return OK; /* a pause is an operator's wish, not a fault */
    }
    return err_set(err, reason.code, "%s", reason.text);
}

/* Opens and shuts the gate; tells each change once. */
static void mind_the_gate(struct service *service, struct shared *shared, atomic_bool *open, struct metric *gauge)
{
    bool told_shut = false;
    do {
        struct error reason;
        const bool now_open = gate_ask(shared->gate, shared->gate_catalog, &reason) == GATE_OPEN;
        if (now_open != atomic_load(open)) {
            atomic_store(open, now_open);
            metric_set(gauge, now_open);
            if (now_open) {
                bus_consumer_resume(shared->consumer);
                log_info("deleting goes on");
            } else {
                bus_consumer_pause(shared->consumer);
            }
        }
        if (!now_open && !told_shut) {
            log_warn("deleting is stopped", LOG_ERR(&reason));
        }
        told_shut = !now_open;
    } while (service_wait(service, GATE_ASK_US) != ERR_STOPPED);
}

static enum err_code wait_for(void *service, int64_t timeout_us)
{
    return service_wait(service, timeout_us);
}

static enum err_code open_shared(const struct reaper_config *config, const struct bus_options *bus,
                                 struct metrics *metrics, struct shared *shared, struct error *err)
{
    struct store_options store;
    const struct catalog_options options = {
        .url = config->catalog.url,
        .password = config->catalog.password,
        .application_name = "granary-reaper",
    };
    const struct bus_consumer_options consumer = {.queue = HINTS_QUEUE, .prefetch = (uint16_t)config->prefetch};
    store_options_of(&config->store, metrics, &store);
    TRY(catalog_open(&options, &shared->catalog, err));
    TRY(catalog_open(&options, &shared->gate_catalog, err));
    TRY(storages_open(config->store.url, &store, &shared->storages, err));
    const struct gate_options gate = {shared->storages, config->gate_interval_us, metrics};
    TRY(gate_new(&gate, &shared->gate, err));
    return bus_consumer_open(bus, &consumer, &shared->consumer, err);
}

static void shared_done(struct shared *shared)
{
    bus_consumer_close(shared->consumer);
    gate_free(shared->gate);
    storages_close(shared->storages);
    catalog_close(shared->gate_catalog);
    catalog_close(shared->catalog);
}

enum err_code reaper_run(struct service *service, const void *config_of_service, struct error *err)
{
    const struct reaper_config *config = config_of_service;
    struct bus_options bus;
    struct reaper_metrics metrics;
    atomic_bool open = false;
    AUTO(shared_done) struct shared shared = {.catalog_lock = PTHREAD_MUTEX_INITIALIZER};
    AUTO(fleet_done_auto) struct fleet *fleet = calloc(1, sizeof *fleet);
    if (fleet == NULL) {
        return err_no_memory(err, sizeof *fleet);
    }
    const struct bus_queue_spec queue = hints_queue();
    TRY(bus_options_of(&config->bus, "granary-reaper", &bus, err));
    TRY(open_shared(config, &bus, service_metrics(service), &shared, err));
    reaper_metrics_init(&metrics, service_metrics(service));
    struct metric *gauge = metrics_gauge(service_metrics(service), "granary_reaper_deleting", NULL,
                                         "1 while this reaper may delete, 0 while it is paused or stopped by a rule.");
    service_add_check(service, "catalog", check_catalog, &shared);
    service_add_check(service, "bus", check_bus, &shared);
    service_add_check(service, "store", check_store, &shared);
    const struct worker pattern = {
        .service = service,
        .open = &open,
        .reaper = {.storages = shared.storages,
                   .gate = shared.gate,
                   .consumer = shared.consumer,
                   .bus = &bus,
                   .owner = service_instance(service),
                   .lease_us = config->lease_us,
                   .verify_one_in = (uint64_t)config->verify_one_in,
                   .metrics = &metrics},
    };
    AUTO(service_unlisten_auto) struct service *listening = service; /* the checks use what this function frees */
    TRY(service_listen(listening, &config->http, NULL, 0, NULL, err));
    TRY(bus_declare_patiently(&bus, &queue, 1, wait_for, service, err));
    for (int64_t i = 0; i < config->workers; i++) {
        enum err_code code = start_worker(fleet, config, &pattern, err);
        if (code != OK && i == 0) {
            return code; /* nothing runs yet; with fewer workers than asked for, the work is done more slowly */
        }
    }
    mind_the_gate(service, &shared, &open, gauge);
    return OK;
}
