/* Housekeeping in short transactions, in an order in which nothing waits for the next run: what ran out is given up, what
 * was merged long enough ago is unlocked and named to the reaper, locks that hold nothing go, and what grows is pruned.
 * Killed between an unlock and its event, the partition is one that the collector finds. */
#include "services/merge-cleanup/handler.h"

#include <stdio.h>

#include "common/base/clock.h"
#include "common/base/fault.h"
#include "common/catalog/cleanup.h"
#include "common/catalog/deployment.h"
#include "common/catalog/jobs.h"
#include "common/catalog/tables.h"
#include "common/hints/hints.h"
#include "common/log/log.h"
#include "services/merge-cleanup/config.h"

enum { TABLES_PAGE = 100 };

struct cleanup {
    const struct merge_cleanup_config *config;
    struct service *service;
    struct catalog *catalog;
    struct bus_options bus;
    struct bus_publisher *publisher;
    struct metric *unlocked, *given_up, *abandoned, *locks;
    bool declared;
};

struct progress {
    int64_t unlocked, given_up, abandoned, locks;
    struct catalog_pruned pruned;
    bool backlog_full; /* no more hints for now: the collector finds the rest */
};

enum err_code merge_cleanup_open(struct service *service, const void *config_of_service, void **out_state,
                                 struct error *err)
{
    const struct merge_cleanup_config *config = config_of_service;
    struct metrics *registry = service_metrics(service);
    struct cleanup *cleanup = calloc(1, sizeof *cleanup);
    if (cleanup == NULL) {
        return err_no_memory(err, sizeof *cleanup);
    }
    *out_state = cleanup; /* the frame closes it, whole or half */
    cleanup->config = config;
    cleanup->service = service;
    cleanup->unlocked =
        metrics_counter(registry, "granary_cleanup_unlocked_total", NULL, "Merged partitions unlocked.");
    cleanup->given_up = metrics_counter(registry, "granary_cleanup_given_up_total", NULL,
                                        "Staged partitions given up because their writer's lock ran out.");
    cleanup->abandoned = metrics_counter(registry, "granary_cleanup_attempts_abandoned_total", NULL,
                                         "Merge attempts abandoned because their lease ran out.");
    cleanup->locks = metrics_counter(registry, "granary_cleanup_locks_total", NULL,
                                     "Locks deleted that had run out and held nothing.");
    const struct catalog_options options = {
        .url = config->catalog.url,
        .password = config->catalog.password,
        .application_name = "granary-merge-cleanup",
    };
    TRY(catalog_open(&options, &cleanup->catalog, err));
    TRY(bus_options_of(&config->bus, "granary-merge-cleanup", &cleanup->bus, err));
    return bus_publisher_open(&cleanup->bus, 4 << 20, &cleanup->publisher, err);
}

void merge_cleanup_close(void *state)
{
    struct cleanup *cleanup = state;
    if (cleanup != NULL) {
        bus_publisher_close(cleanup->publisher);
        catalog_close(cleanup->catalog);
        free(cleanup);
    }
}

/* Calls again until a call takes fewer than a whole batch. */
static enum err_code sweep(struct cleanup *cleanup, struct progress *progress, struct error *err)
{
    const char *actor = service_instance(cleanup->service);
    const size_t limit = (size_t)cleanup->config->batch;
    size_t count = limit;
    while (count == limit && !service_stopping(cleanup->service)) {
        TRY(catalog_cleanup_sweep_attempts(cleanup->catalog, actor, limit, &count, err));
        progress->abandoned += (int64_t)count;
    }
    FAULT_POINT("cleanup.after_attempts");
    for (count = limit; count == limit && !service_stopping(cleanup->service);) {
        TRY(catalog_cleanup_sweep_staged(cleanup->catalog, actor, limit, &count, err));
        progress->given_up += (int64_t)count;
    }
    return OK;
}

static enum err_code sweep_locks(struct cleanup *cleanup, struct progress *progress, struct error *err)
{
    const size_t limit = (size_t)cleanup->config->batch;
    for (size_t count = limit; count == limit && !service_stopping(cleanup->service);) {
        TRY(catalog_cleanup_sweep_locks(cleanup->catalog, limit, &count, err));
        progress->locks += (int64_t)count;
    }
    return OK;
}

static enum err_code unlock_table(struct cleanup *cleanup, const struct uuid *table_id, struct progress *progress,
                                  struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct table_record table;
    const size_t limit = (size_t)cleanup->config->batch;
    if (arena == NULL) {
        return err_no_memory(err, 4096);
    }
    TRY(catalog_table_load(cleanup->catalog, table_id, arena, &table, err));
    for (size_t count = limit; count == limit && !service_stopping(cleanup->service);) {
        struct catalog_reap_item *items;
        arena_reset(arena);
        TRY(catalog_cleanup_unlock_merged(cleanup->catalog, table_id, reap_grace_us(&table.settings, REASON_MERGE),
                                          limit, arena, &items, &count, err));
        progress->unlocked += (int64_t)count;
        FAULT_POINT("cleanup.after_unlock");
        if (count != 0 && !progress->backlog_full) {
            bool room;
            TRY(hints_have_room(&cleanup->bus, cleanup->config->max_backlog, &room, err));
            progress->backlog_full = !room;
            if (room) {
                TRY(hints_publish(cleanup->publisher, table_id, items, count, err));
            }
        }
        FAULT_POINT("cleanup.after_publish");
    }
    return OK;
}

/* One table's failure does not keep the others from their turn. */
static enum err_code unlock_all(struct cleanup *cleanup, struct progress *progress, enum service_exit *out_exit,
                                struct error *err)
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
        TRY(catalog_cleanup_tables(cleanup->catalog, after, TABLES_PAGE, arena, &tables, &count, err));
        for (size_t i = 0; i < count && !service_stopping(cleanup->service); i++) {
            struct error table_err = {0};
            if (unlock_table(cleanup, &tables[i], progress, &table_err) != OK) {
                log_warn("a table could not be cleaned up", LOG_UUID("table_id", &tables[i]), LOG_ERR(&table_err));
                *out_exit = SERVICE_PARTIAL;
            }
        }
        if (count < TABLES_PAGE || service_stopping(cleanup->service)) {
            return OK;
        }
        last = tables[count - 1];
        after = &last;
    }
}

static enum err_code clean(struct cleanup *cleanup, bool paused, struct progress *progress, enum service_exit *out_exit,
                           struct error *err)
{
    const struct catalog_prune_ages ages = {
        .attempts_us = cleanup->config->keep_attempts_us,
        .receipts_us = cleanup->config->keep_receipts_us,
        .audit_us = cleanup->config->keep_audit_us,
        .job_runs_us = cleanup->config->keep_job_runs_us,
        .batch_ids_us = cleanup->config->keep_batch_ids_us,
    };
    TRY(sweep(cleanup, progress, err));
    if (!paused) {
        TRY(unlock_all(cleanup, progress, out_exit, err));
    }
    TRY(sweep_locks(cleanup, progress, err));
    return catalog_cleanup_prune(cleanup->catalog, &ages, (size_t)cleanup->config->batch * 10, &progress->pruned, err);
}

static void tell(struct cleanup *cleanup, int64_t started_us, const struct progress *progress, enum service_exit exit,
                 enum err_code code, const struct error *err)
{
    char counts[256];
    struct error record_err = {0};
    metric_add(cleanup->unlocked, progress->unlocked);
    metric_add(cleanup->given_up, progress->given_up);
    metric_add(cleanup->abandoned, progress->abandoned);
    metric_add(cleanup->locks, progress->locks);
    (void)snprintf(
        counts, sizeof counts,
        "{\"unlocked\":%lld,\"given_up\":%lld,\"attempts_abandoned\":%lld,\"locks\":%lld,\"receipts_pruned\":%llu,"
        "\"batch_days_dropped\":%lld}",
        (long long)progress->unlocked, (long long)progress->given_up, (long long)progress->abandoned,
        (long long)progress->locks, (unsigned long long)progress->pruned.receipts,
        (long long)progress->pruned.batch_days);
    log_info("merge cleanup ran", LOG_TEXT("counts", counts));
    const struct catalog_job_run run = {
        .job = service_name(cleanup->service),
        .instance = service_instance(cleanup->service),
        .started_at_us = started_us,
        .exit_code = code == OK ? (int)exit : (int)SERVICE_FAILED,
        .counts_json = counts,
        .error = code == OK ? NULL : err->text,
    };
    if (catalog_job_record(cleanup->catalog, &run, &record_err) != OK) {
        log_warn("the run could not be recorded", LOG_ERR(&record_err));
    }
}

enum err_code merge_cleanup_run(struct service *service, void *state, enum service_exit *out_exit, struct error *err)
{
    struct cleanup *cleanup = state;
    struct progress progress = {0};
    const int64_t started_us = clock_now_us();
    const struct bus_queue_spec queue = hints_queue();
    (void)service;
    *out_exit = SERVICE_DONE;
    TRY(catalog_check_version(cleanup->catalog, err));
    enum err_code code = catalog_deployment_check_deleting(cleanup->catalog, err);
    const bool paused = code == ERR_DENIED;
    if (code != OK && !paused) {
        return code;
    }
    if (!cleanup->declared) {
        TRY(bus_declare(&cleanup->bus, &queue, 1, err));
        cleanup->declared = true;
    }
    if (paused) {
        log_info("deleting is paused; merged partitions stay locked", LOG_TEXT("why", err->text));
        *out_exit = SERVICE_REFUSED;
    }
    code = clean(cleanup, paused, &progress, out_exit, err);
    tell(cleanup, started_us, &progress, *out_exit, code, err);
    return code;
}
