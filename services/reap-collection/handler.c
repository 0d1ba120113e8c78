/* Reads what may be claimed, table by table, and says so to the reaper. The catalog is only read: a second collector, or a
 * second run before the reaper came by, publishes the same hints again, and the reaper's claims take each partition once. */
#include "services/reap-collection/handler.h"

#include "common/base/clock.h"
#include "common/base/fault.h"
#include "common/catalog/deployment.h"
#include "common/catalog/jobs.h"
#include "common/catalog/tables.h"
#include "common/hints/hints.h"
#include "common/log/log.h"
#include "services/reap-collection/config.h"

enum { TABLES_PAGE = 100 };

struct collection {
    const struct reap_collection_config *config;
    struct catalog *catalog;
    struct bus_options bus;
    struct bus_publisher *publisher;
    struct metric *partitions, *events;
    bool declared;
};

struct progress {
    int64_t tables, events, partitions;
    bool backlog_full; /* the rest waits for the next run */
};

enum err_code reap_collection_open(struct service *service, const void *config_of_service, void **out_state,
                                   struct error *err)
{
    const struct reap_collection_config *config = config_of_service;
    struct collection *collection = calloc(1, sizeof *collection);
    if (collection == NULL) {
        return err_no_memory(err, sizeof *collection);
    }
    *out_state = collection; /* the frame closes it, whole or half */
    collection->config = config;
    collection->partitions = metrics_counter(service_metrics(service), "granary_collection_partitions_total", NULL,
                                             "Partitions named in reap events.");
    collection->events =
        metrics_counter(service_metrics(service), "granary_collection_events_total", NULL, "Reap events published.");
    const struct catalog_options options = {
        .url = config->catalog.url,
        .password = config->catalog.password,
        .application_name = "granary-reap-collection",
    };
    TRY(catalog_open(&options, &collection->catalog, err));
    TRY(bus_options_of(&config->bus, "granary-reap-collection", &collection->bus, err));
    return bus_publisher_open(&collection->bus, 4 << 20, &collection->publisher, err);
}

void reap_collection_close(void *state)
{
    struct collection *collection = state;
    if (collection != NULL) {
        bus_publisher_close(collection->publisher);
        catalog_close(collection->catalog);
        free(collection);
    }
}

static enum err_code collect_table(struct service *service, struct collection *collection, const struct uuid *table_id,
                                   struct progress *progress, struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(64 << 10);
    struct table_record table;
    struct catalog_reap_item last;
    const struct catalog_reap_item *after = NULL;
    const size_t limit = (size_t)collection->config->batch;
    if (arena == NULL) {
        return err_no_memory(err, 64 << 10);
    }
    TRY(catalog_table_load(collection->catalog, table_id, arena, &table, err));
    const struct catalog_reap_graces graces = catalog_reap_graces_of(&table.settings);
    while (!service_stopping(service)) {
        struct catalog_reap_item *items;
        size_t count;
        bool room;
        arena_reset(arena);
        TRY(catalog_reap_collect(collection->catalog, table_id, &graces, after, limit, arena, &items, &count, err));
        if (count == 0) {
            return OK;
        }
        TRY(hints_have_room(&collection->bus, collection->config->max_backlog, &room, err));
        if (!room) {
            progress->backlog_full = true;
            return OK;
        }
        FAULT_POINT("collection.before_publish");
        TRY(hints_publish(collection->publisher, table_id, items, count, err));
        FAULT_POINT("collection.after_publish");
        progress->events++;
        progress->partitions += (int64_t)count;
        if (count < limit) {
            return OK;
        }
        last = items[count - 1];
        after = &last;
    }
    return OK;
}

/* One table's failure does not keep the others from their turn. */
static enum err_code collect_all(struct service *service, struct collection *collection, struct progress *progress,
                                 enum service_exit *out_exit, struct error *err)
{
    struct uuid last;
    const struct uuid *after = NULL;
    for (;;) {
        AUTO(arena_free_auto) struct arena *arena = arena_new(0);
        struct uuid *tables;
        size_t count;
        if (arena == NULL) {
            return err_no_memory(err, 4096);
        }
        TRY(catalog_reap_tables(collection->catalog, after, TABLES_PAGE, arena, &tables, &count, err));
        for (size_t i = 0; i < count && !progress->backlog_full && !service_stopping(service); i++) {
            struct error table_err = {0};
            progress->tables++;
            if (collect_table(service, collection, &tables[i], progress, &table_err) != OK) {
                log_warn("a table could not be collected", LOG_UUID("table_id", &tables[i]), LOG_ERR(&table_err));
                *out_exit = SERVICE_PARTIAL;
            }
        }
        if (count < TABLES_PAGE || progress->backlog_full || service_stopping(service)) {
            return OK;
        }
        last = tables[count - 1];
        after = &last;
    }
}

static void tell(struct service *service, struct collection *collection, int64_t started_us,
                 const struct progress *progress, enum service_exit exit, enum err_code code, const struct error *err)
{
    char counts[160];
    struct error record_err = {0};
    metric_add(collection->events, progress->events);
    metric_add(collection->partitions, progress->partitions);
    (void)snprintf(counts, sizeof counts, "{\"tables\":%lld,\"events\":%lld,\"partitions\":%lld,\"backlog_full\":%s}",
                   (long long)progress->tables, (long long)progress->events, (long long)progress->partitions,
                   progress->backlog_full ? "true" : "false");
    log_info("reap collection ran", LOG_TEXT("counts", counts));
    const struct catalog_job_run run = {
        .job = service_name(service),
        .instance = service_instance(service),
        .started_at_us = started_us,
        .exit_code = code == OK ? (int)exit : (int)SERVICE_FAILED,
        .counts_json = counts,
        .error = code == OK ? NULL : err->text,
    };
    if (catalog_job_record(collection->catalog, &run, &record_err) != OK) {
        log_warn("the run could not be recorded", LOG_ERR(&record_err));
    }
}

enum err_code reap_collection_run(struct service *service, void *state, enum service_exit *out_exit, struct error *err)
{
    struct collection *collection = state;
    struct progress progress = {0};
    const int64_t started_us = clock_now_us();
    const struct bus_queue_spec queue = hints_queue();
    *out_exit = SERVICE_DONE;
    TRY(catalog_check_version(collection->catalog, err));
    enum err_code code = catalog_deployment_check_deleting(collection->catalog, err);
    const bool paused = code == ERR_DENIED;
    if (code != OK && !paused) {
        return code;
    }
    if (!collection->declared) {
        TRY(bus_declare(&collection->bus, &queue, 1, err));
        collection->declared = true;
    }
    if (paused) {
        log_info("deleting is paused; nothing is collected", LOG_TEXT("why", err->text));
        *out_exit = SERVICE_REFUSED;
    }
    code = paused ? OK : collect_all(service, collection, &progress, out_exit, err);
    tell(service, collection, started_us, &progress, *out_exit, code, err);
    return code;
}
