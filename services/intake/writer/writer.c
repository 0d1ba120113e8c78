#include "services/intake/writer/writer.h"

#include <pthread.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/catalog/deployment.h"
#include "common/log/log.h"
#include "common/publish/marker.h"
#include "services/intake/queue.h"
#include "services/intake/writer/worker.h"

enum { MAX_WORKERS = 32 };

struct slot {
    struct writer *writer;
    pthread_t thread;
    bool running;
    struct worker worker;
};

struct writer {
    struct service *service;
    const struct intake_config *config;
    struct storages *storages;
    struct bus_consumer *consumer;
    struct worker_metrics metrics;
    struct slot slots[MAX_WORKERS];
};

enum err_code writer_see_to_marker(struct catalog *catalog, struct storages *storages, struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct catalog_deployment deployment;
    if (arena == NULL) {
        return err_no_memory(err, 4096);
    }
    TRY(catalog_deployment_load(catalog, arena, &deployment, err));
    return publish_marker_ensure(storages_own(storages), &deployment.deployment_id, err);
}

/* Once in a process: from then on uploads rely on it. A folder has nothing that its first upload would not find out. */
static void probe_store(struct writer *writer)
{
    struct store_probe probe;
    struct error err = {0};
    char text[STORE_PROBE_TEXT_BYTES];
    struct store *store = storages_own(writer->storages);
    if (strncmp(store_url(store), "file://", strlen("file://")) == 0) {
        return;
    }
    if (store_probe(store, &probe, &err) != OK) {
        log_warn("the store could not be asked what it can do", LOG_TEXT("store", store_url(store)), LOG_ERR(&err));
        return;
    }
    log_info("the store has been asked what it can do", LOG_TEXT("store", store_url(store)),
             LOG_TEXT("found", store_probe_format(&probe, text)), LOG_INT("clock_skew_ms", probe.clock_skew_us / 1000),
             LOG_INT("noncurrent_bytes", probe.noncurrent_bytes));
}

static void *work(void *context)
{
    struct slot *slot = context;
    struct error err = {0};
    bool told = false;
    while (writer_see_to_marker(slot->worker.catalog, slot->worker.storages, &err) != OK) {
        if (!told) {
            log_warn("rows cannot be written yet", LOG_ERR(&err));
            told = true;
        }
        if (service_wait(slot->writer->service, CLOCK_SECOND_US) == ERR_STOPPED) {
            return NULL;
        }
    }
    if (slot == &slot->writer->slots[0]) {
        probe_store(slot->writer);
    }
    worker_run(&slot->worker);
    return NULL;
}

static enum err_code start(struct writer *writer, struct intake_tables *tables, struct slot *slot, struct error *err)
{
    const struct intake_config *config = writer->config;
    const struct catalog_options catalog = {
        .url = config->catalog.url,
        .password = config->catalog.password,
        .application_name = "granary-intake-writer",
    };
    slot->writer = writer;
    slot->worker = (struct worker){
        .service = writer->service,
        .storages = writer->storages,
        .consumer = writer->consumer,
        .tables = tables,
        .bounds = {.max_rows = config->max_rows,
                   .max_bytes = config->max_bytes,
                   .max_open_us = config->max_open_us,
                   .max_messages = (config->prefetch + config->workers - 1) / config->workers},
        .lease_us = config->lease_us,
        .threads = (unsigned)config->threads,
        .metrics = &writer->metrics,
    };
    TRY(catalog_open(&catalog, &slot->worker.catalog, err));
    if (pthread_create(&slot->thread, NULL, work, slot) != 0) {
        return err_set(err, ERR_NO_MEMORY, "could not start a writer's thread");
    }
    slot->running = true;
    return OK;
}

enum err_code writer_open(struct service *service, const struct intake_config *config, const struct bus_options *bus,
                          struct intake_tables *tables, struct writer **out, struct error *err)
{
    AUTO(writer_close_auto) struct writer *writer = calloc(1, sizeof *writer);
    if (writer == NULL) {
        return err_no_memory(err, sizeof *writer);
    }
    const struct bus_consumer_options consumer = {.queue = INTAKE_QUEUE, .prefetch = (uint16_t)config->prefetch};
    struct store_options store;
    writer->service = service;
    writer->config = config;
    worker_metrics_init(&writer->metrics, service_metrics(service));
    store_options_of(&config->store, service_metrics(service), &store);
    TRY(storages_open(config->store.url, &store, &writer->storages, err));
    TRY(bus_consumer_open(bus, &consumer, &writer->consumer, err));
    for (int64_t i = 0; i < config->workers; i++) {
        TRY(start(writer, tables, &writer->slots[i], err));
    }
    *out = TAKE(writer);
    return OK;
}

void writer_close(struct writer *writer)
{
    if (writer == NULL) {
        return;
    }
    service_stop(writer->service); /* it is stopping already, unless it could not start */
    for (size_t i = 0; i < MAX_WORKERS; i++) {
        if (writer->slots[i].running) {
            (void)pthread_join(writer->slots[i].thread, NULL);
        }
        catalog_close(writer->slots[i].worker.catalog);
    }
    bus_consumer_close(writer->consumer);
    storages_close(writer->storages);
    free(writer);
}

struct storages *writer_storages(struct writer *writer)
{
    return writer->storages;
}

enum err_code writer_check_bus(struct writer *writer, struct error *err)
{
    return bus_consumer_ready(writer->consumer, err) ? OK : ERR_UNAVAILABLE;
}

enum err_code writer_check_store(struct writer *writer, struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct store_object marker;
    if (arena == NULL) {
        return err_no_memory(err, 4096);
    }
    return store_head(storages_own(writer->storages), PUBLISH_MARKER_KEY, arena, &marker, err);
}
