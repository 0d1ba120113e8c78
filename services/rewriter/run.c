#include "services/rewriter/run.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "common/base/clock.h"
#include "common/publish/marker.h"
#include "services/rewriter/config.h"
#include "services/rewriter/handler.h"
#include "services/rewriter/plan.h"

#define NEXT_TIMEOUT_US (CLOCK_SECOND_US / 4)
/* A lease must not hang on one slow answer. */
#define STATEMENT_TIMEOUT_US (10 * CLOCK_SECOND_US)
enum { PUBLISH_WINDOW_BYTES = 64 << 20, WORKER_NAME_BYTES = 160 };

struct worker {
    pthread_t thread;
    bool started;
    const atomic_bool *closing;
    char name[WORKER_NAME_BYTES];
    struct rewriter rewriter;
};

struct fleet {
    struct rewriter_pools pools;
    struct bus_options bus;
    struct rewriter_metrics metrics;
    struct storages *storages;
    struct bus_publisher *publisher;
    struct catalog *catalog; /* of the readiness check */
    atomic_bool closing;
    struct worker workers[REWRITER_MAX_POOLS];
};

static void fleet_free(struct fleet *fleet)
{
    if (fleet == NULL) {
        return;
    }
    atomic_store(&fleet->closing, true);
    for (size_t i = 0; i < REWRITER_MAX_POOLS; i++) {
        struct worker *worker = &fleet->workers[i];
        if (worker->started) {
            (void)pthread_join(worker->thread, NULL);
        }
        bus_consumer_close(worker->rewriter.consumer);
        catalog_close(worker->rewriter.catalog);
    }
    bus_publisher_close(fleet->publisher);
    storages_close(fleet->storages);
    catalog_close(fleet->catalog);
    free(fleet);
}
DEFINE_AUTO(struct fleet, fleet_free)

static void *work(void *context)
{
    struct worker *worker = context;
    while (!service_stopping(worker->rewriter.service) && !atomic_load(worker->closing)) {
        struct bus_delivery *delivery = NULL;
        if (bus_next(worker->rewriter.consumer, NEXT_TIMEOUT_US, &delivery, NULL) == OK) {
            rewriter_handle(&worker->rewriter, delivery);
        }
    }
    return NULL;
}

/* --- readiness ----------------------------------------------------------------------------------------------------- */

static enum err_code check_catalog(void *context, struct error *err)
{
    return catalog_check_version(((struct fleet *)context)->catalog, err);
}

static enum err_code check_bus(void *context, struct error *err)
{
    struct fleet *fleet = context;
    if (!bus_publisher_ready(fleet->publisher, err)) {
        return ERR_UNAVAILABLE;
    }
    for (size_t i = 0; i < fleet->pools.count; i++) {
        if (!bus_consumer_ready(fleet->workers[i].rewriter.consumer, err)) {
            return ERR_UNAVAILABLE;
        }
    }
    return OK;
}

/* The marker is looked at, as writers do: every few seconds, and where stores are paid for by the request a listing costs
 * twelve times as much. Before there is one, a listing tells a store that is empty from one that is not there. */
static enum err_code check_store(void *context, struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct store *store = storages_own(((struct fleet *)context)->storages);
    struct store_object *objects = NULL;
    struct store_object marker;
    size_t count = 0;
    bool more = false;
    if (arena == NULL) {
        return err_no_memory(err, 4 << 10);
    }
    enum err_code code = store_head(store, PUBLISH_MARKER_KEY, arena, &marker, err);
    return code == ERR_NOT_FOUND ? store_list(store, "", "", 1, arena, &objects, &count, &more, err) : code;
}

/* --- start --------------------------------------------------------------------------------------------------------- */

static enum err_code open_catalog(const struct rewriter_config *config, struct catalog **out, struct error *err)
{
    const struct catalog_options options = {
        .url = config->catalog.url,
        .password = config->catalog.password,
        .application_name = "granary-rewriter",
        .statement_timeout_us = STATEMENT_TIMEOUT_US,
    };
    return catalog_open(&options, out, err);
}

static enum err_code wait_for(void *service, int64_t timeout_us)
{
    return service_wait(service, timeout_us);
}

static enum err_code declare(struct service *service, const struct fleet *fleet, struct error *err)
{
    struct bus_queue_spec queues[REWRITER_MAX_POOLS];
    for (size_t i = 0; i < fleet->pools.count; i++) {
        queues[i] = (struct bus_queue_spec){.name = fleet->pools.queues[i]};
    }
    return bus_declare_patiently(&fleet->bus, queues, fleet->pools.count, wait_for, service, err);
}

static enum err_code open_worker(struct service *service, const struct rewriter_config *config, struct fleet *fleet,
                                 size_t i, struct error *err)
{
    struct worker *worker = &fleet->workers[i];
    const struct bus_consumer_options consumer = {.queue = fleet->pools.queues[i], .prefetch = 1};
    (void)snprintf(worker->name, sizeof worker->name, "%s %s", service_instance(service), fleet->pools.queues[i]);
    worker->closing = &fleet->closing;
    worker->rewriter = (struct rewriter){
        .service = service,
        .storages = fleet->storages,
        .publisher = fleet->publisher,
        .name = worker->name,
        .metrics = &fleet->metrics,
    };
    TRY(open_catalog(config, &worker->rewriter.catalog, err));
    return bus_consumer_open(&fleet->bus, &consumer, &worker->rewriter.consumer, err);
}

static enum err_code open_fleet(struct service *service, const struct rewriter_config *config, struct fleet *fleet,
                                struct error *err)
{
    struct store_options store;
    rewriter_metrics_init(&fleet->metrics, service_metrics(service));
    TRY(rewriter_plan_pools(config->pools, &fleet->pools, err));
    TRY(bus_options_of(&config->bus, "granary-rewriter", &fleet->bus, err));
    TRY(open_catalog(config, &fleet->catalog, err));
    store_options_of(&config->store, service_metrics(service), &store);
    TRY(storages_open(config->store.url, &store, &fleet->storages, err));
    TRY(bus_publisher_open(&fleet->bus, PUBLISH_WINDOW_BYTES, &fleet->publisher, err));
    for (size_t i = 0; i < fleet->pools.count; i++) {
        TRY(open_worker(service, config, fleet, i, err));
    }
    return OK;
}

enum err_code rewriter_run(struct service *service, const void *config_of_service, struct error *err)
{
    const struct rewriter_config *config = config_of_service;
    AUTO(fleet_free_auto) struct fleet *fleet = calloc(1, sizeof *fleet);
    if (fleet == NULL) {
        return err_no_memory(err, sizeof *fleet);
    }
    TRY(open_fleet(service, config, fleet, err));
    service_add_check(service, "catalog", check_catalog, fleet);
    service_add_check(service, "bus", check_bus, fleet);
    service_add_check(service, "store", check_store, fleet);
    AUTO(service_unlisten_auto) struct service *listening = service; /* the checks use what this function frees */
    TRY(service_listen(listening, &config->http, NULL, 0, NULL, err));
    TRY(declare(service, fleet, err));
    for (size_t i = 0; i < fleet->pools.count; i++) {
        struct worker *worker = &fleet->workers[i];
        if (pthread_create(&worker->thread, NULL, work, worker) != 0) {
            return err_set(err, ERR_NO_MEMORY, "could not start a worker thread");
        }
        worker->started = true;
    }
    while (service_wait(service, CLOCK_HOUR_US) != ERR_STOPPED) {
    }
    return OK;
}
