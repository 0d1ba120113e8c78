/* Reads what may be claimed, an event of each table in turn, and says so to the reaper. The catalog is only read: a second collector, or a
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
#include "services/reap-collection/plan.h"

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

/* One event of a table. *out_last: how far it came, NULL when there is no more; in the arena. */
static enum err_code collect_some(struct collection *collection, const struct collection_turn *turn,
                                  struct progress *progress, struct arena *arena,
                                  const struct catalog_reap_item **out_last, struct error *err)
{
    struct table_record table;
    struct catalog_reap_item *items;
    const size_t limit = (size_t)collection->config->batch;
    size_t count;
    bool room;
    TRY(catalog_table_load(collection->catalog, &turn->table_id, arena, &table, err));
    const struct catalog_reap_graces graces = catalog_reap_graces_of(&table.settings);
    TRY(catalog_reap_collect(collection->catalog, &turn->table_id, &graces, turn->begun ? &turn->last : NULL, limit,
                             arena, &items, &count, err));
    *out_last = NULL;
    if (count == 0) {
        return OK;
    }
    TRY(hints_have_room(&collection->bus, collection->config->max_backlog, &room, err));
    if (!room) {
        progress->backlog_full = true;
        return OK;
    }
    FAULT_POINT("collection.before_publish");
    TRY(hints_publish(collection->publisher, &turn->table_id, items, count, err));
    FAULT_POINT("collection.after_publish");
    progress->events++;
    progress->partitions += (int64_t)count;
    *out_last = count < limit ? NULL : &items[count - 1];
    return OK;
}

static enum err_code list_tables(struct collection *collection, struct collection_turns *turns, struct error *err)
{
    struct uuid last;
    const struct uuid *after = NULL;
    for (size_t count = TABLES_PAGE; count == TABLES_PAGE;) {
        AUTO(arena_free_auto) struct arena *arena = arena_new(0);
        struct uuid *tables;
        if (arena == NULL) {
            return err_no_memory(err, 4096);
        }
        TRY(catalog_reap_tables(collection->catalog, after, TABLES_PAGE, arena, &tables, &count, err));
        for (size_t i = 0; i < count; i++) {
            TRY(collection_turns_add(turns, &tables[i], err));
            last = tables[i];
        }
        after = &last;
    }
    return OK;
}

/* One table's failure does not keep the others from their turn. */
static enum err_code collect_all(struct service *service, struct collection *collection, struct progress *progress,
                                 enum service_exit *out_exit, struct error *err)
{
    AUTO(collection_turns_done) struct collection_turns turns = {0};
    AUTO(arena_free_auto) struct arena *arena = arena_new(64 << 10);
    struct collection_turn *turn;
    if (arena == NULL) {
        return err_no_memory(err, 64 << 10);
    }
    TRY(list_tables(collection, &turns, err));
    progress->tables = (int64_t)turns.count;
    collection_turns_begin(&turns, (uint64_t)clock_monotonic_us());
    while ((turn = collection_turns_take(&turns)) != NULL && !progress->backlog_full && !service_stopping(service)) {
        const struct catalog_reap_item *last = NULL;
        struct error table_err = {0};
        arena_reset(arena);
        if (collect_some(collection, turn, progress, arena, &last, &table_err) != OK) {
            log_warn("a table could not be collected", LOG_UUID("table_id", &turn->table_id), LOG_ERR(&table_err));
            *out_exit = SERVICE_PARTIAL;
        }
        collection_turns_give(&turns, last);
    }
    return OK;
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
