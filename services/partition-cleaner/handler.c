/* Storage by storage: compare, judge, delete. A storage that cannot be asked does not keep the others from their turn. */
#include "services/partition-cleaner/handler.h"

#include <stdio.h>

#include "common/base/clock.h"
#include "common/catalog/jobs.h"
#include "common/log/log.h"
#include "services/partition-cleaner/cleaning.h"

#define GATE_EVERY_US (10 * CLOCK_SECOND_US)

static void register_metrics(struct cleaner *cleaner, struct metrics *registry)
{
    cleaner->compared = metrics_counter(registry, "granary_cleaner_objects_compared_total", NULL,
                                        "Objects of listings that were compared with the catalog.");
    cleaner->deleted =
        metrics_counter(registry, "granary_cleaner_orphans_deleted_total", NULL, "Objects without a row deleted.");
    cleaner->deleted_bytes =
        metrics_counter(registry, "granary_cleaner_deleted_bytes_total", NULL, "Bytes of deleted orphans.");
    cleaner->failed = metrics_counter(registry, "granary_cleaner_failed_deletes_total", NULL,
                                      "Orphans that the store did not delete.");
    cleaner->ended_uploads = metrics_counter(registry, "granary_cleaner_uploads_ended_total", NULL,
                                             "Uploads in parts that were begun before the grace, and ended.");
    cleaner->orphans = metrics_gauge(registry, "granary_cleaner_orphans", NULL,
                                     "Objects without a row that the last run found and did not delete.");
    cleaner->orphan_bytes = metrics_gauge(registry, "granary_cleaner_orphan_bytes", NULL, "Bytes of those orphans.");
    cleaner->missing = metrics_gauge(registry, "granary_cleaner_missing_objects", NULL,
                                     "Published partitions whose object the last run found to be gone.");
    cleaner->missing_live =
        metrics_gauge(registry, "granary_cleaner_missing_live_objects", NULL, "Those of them that queries want.");
    cleaner->wrong_size =
        metrics_gauge(registry, "granary_cleaner_wrong_sizes", NULL, "Objects that are not as long as their row says.");
    cleaner->refused = metrics_gauge(registry, "granary_cleaner_refused_storages", NULL,
                                     "Storages in which a safety rule stopped the last run's deleting.");
    cleaner->open_uploads = metrics_gauge(registry, "granary_cleaner_open_uploads", NULL,
                                          "Uploads begun before the grace that the last run found and did not end.");
}

enum err_code partition_cleaner_open(struct service *service, const void *config_of_service, void **out_state,
                                     struct error *err)
{
    const struct partition_cleaner_config *config = config_of_service;
    struct store_options store;
    struct cleaner *cleaner = calloc(1, sizeof *cleaner);
    if (cleaner == NULL) {
        return err_no_memory(err, sizeof *cleaner);
    }
    *out_state = cleaner; /* the frame closes it, whole or half */
    cleaner->config = config;
    cleaner->service = service;
    register_metrics(cleaner, service_metrics(service));
    const struct catalog_options options = {
        .url = config->catalog.url,
        .password = config->catalog.password,
        .application_name = "granary-partition-cleaner",
    };
    TRY(catalog_open(&options, &cleaner->catalog, err));
    store_options_of(&config->store, service_metrics(service), &store);
    TRY(storages_open(config->store.url, &store, &cleaner->storages, err));
    const struct gate_options gate = {
        .storages = cleaner->storages, .every_us = GATE_EVERY_US, .metrics = service_metrics(service)};
    return gate_new(&gate, &cleaner->gate, err);
}

void partition_cleaner_close(void *state)
{
    struct cleaner *cleaner = state;
    if (cleaner != NULL) {
        gate_free(cleaner->gate);
        storages_close(cleaner->storages);
        catalog_close(cleaner->catalog);
        free(cleaner);
    }
}

static enum err_code clean_all(struct cleaner *cleaner, bool may_delete, struct cleaner_progress *progress,
                               enum service_exit *out_exit, struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct catalog_storage *storages;
    size_t count;
    enum err_code last = OK;
    if (arena == NULL) {
        return err_no_memory(err, 4096);
    }
    TRY(storages_refresh(cleaner->storages, cleaner->catalog, err));
    TRY(catalog_storages_load(cleaner->catalog, arena, &storages, &count, err));
    for (size_t i = 0; i < count; i++) {
        enum err_code code = cleaning_run(cleaner, storages[i].storage_id, may_delete, progress, err);
        if (code == ERR_STOPPED || (code != OK && count == 1)) {
            return code;
        }
        if (code != OK) {
            log_warn("a storage could not be cleaned", LOG_TEXT("storage", storages[i].name), LOG_ERR(err));
            *out_exit = SERVICE_PARTIAL;
            last = code;
        }
    }
    return progress->storages == 0 ? last : OK;
}

static void set_metrics(struct cleaner *cleaner, const struct cleaner_progress *progress)
{
    int64_t left = progress->orphans - progress->deleted;
    metric_set(cleaner->orphans, (double)left);
    metric_set(cleaner->orphan_bytes, (double)(progress->orphan_bytes - progress->deleted_bytes));
    metric_set(cleaner->missing, (double)progress->missing);
    metric_set(cleaner->missing_live, (double)progress->missing_live);
    metric_set(cleaner->wrong_size, (double)progress->wrong_size);
    metric_set(cleaner->refused, (double)progress->refused);
    metric_set(cleaner->open_uploads, (double)(progress->open_uploads - progress->ended_uploads));
    if (progress->missing_live != 0 && progress->missing_live != cleaner->told_missing) {
        log_error("objects of live partitions are missing from the store",
                  LOG_INT("partitions", progress->missing_live),
                  LOG_TEXT("hint", "granary fsck names them; restore them from a copy of the store"));
    }
    cleaner->told_missing = progress->missing_live;
}

static void tell(struct cleaner *cleaner, int64_t started_us, const struct cleaner_progress *progress,
                 enum service_exit exit, enum err_code code, const struct error *why)
{
    char counts[640];
    struct error record_err = {0};
    (void)snprintf(counts, sizeof counts,
                   "{\"objects\":%lld,\"rows\":%lld,\"orphans\":%lld,\"orphan_bytes\":%lld,\"missing\":%lld,"
                   "\"wrong_size\":%lld,\"foreign\":%lld,\"deleted\":%lld,\"deleted_bytes\":%lld,\"kept\":%lld,"
                   "\"failed\":%lld,\"refused\":%lld,\"resumed\":%lld,\"open_uploads\":%lld,"
                   "\"ended_uploads\":%lld}",
                   (long long)progress->objects, (long long)progress->rows, (long long)progress->orphans,
                   (long long)progress->orphan_bytes, (long long)progress->missing, (long long)progress->wrong_size,
                   (long long)progress->foreign, (long long)progress->deleted, (long long)progress->deleted_bytes,
                   (long long)progress->kept, (long long)progress->failed, (long long)progress->refused,
                   (long long)progress->resumed, (long long)progress->open_uploads, (long long)progress->ended_uploads);
    log_info("the cleaner ran", LOG_TEXT("counts", counts));
    const struct catalog_job_run run = {
        .job = service_name(cleaner->service),
        .instance = service_instance(cleaner->service),
        .started_at_us = started_us,
        .exit_code = code == OK ? (int)exit : (int)SERVICE_FAILED,
        .counts_json = counts,
        .error = why->code == OK ? NULL : why->text,
    };
    if (catalog_job_record(cleaner->catalog, &run, &record_err) != OK) {
        log_warn("the run could not be recorded", LOG_ERR(&record_err));
    }
}

/* A rule that stops the deleting outweighs findings: they are what it was stopped by. */
static enum service_exit judge(const struct cleaner_progress *progress, bool stopped, enum service_exit exit)
{
    if (stopped || progress->refused != 0) {
        return SERVICE_REFUSED;
    }
    return progress->orphans > progress->deleted || progress->missing != 0 || progress->wrong_size != 0
               ? SERVICE_PARTIAL
               : exit;
}

enum err_code partition_cleaner_run(struct service *service, void *state, enum service_exit *out_exit,
                                    struct error *err)
{
    struct cleaner *cleaner = state;
    struct cleaner_progress progress = {0};
    struct error closed = {0}; /* why the gate is */
    const int64_t started_us = clock_now_us();
    (void)service;
    *out_exit = SERVICE_DONE;
    TRY(catalog_check_version(cleaner->catalog, err));
    enum gate_state gate = gate_ask(cleaner->gate, cleaner->catalog, &closed);
    enum err_code code = OK;
    if (gate == GATE_UNKNOWN) {
        code = err_set(err, closed.code, "%s", closed.text);
    } else if (gate == GATE_REFUSED) {
        log_error("deleting is refused, and comparing would compare the wrong things", LOG_TEXT("why", closed.text));
    } else {
        const bool may_delete = cleaner->config->deletes && gate == GATE_OPEN;
        code = clean_all(cleaner, may_delete, &progress, out_exit, err);
        set_metrics(cleaner, &progress);
    }
    if (code == OK) {
        const bool stopped = gate == GATE_REFUSED || (gate == GATE_PAUSED && cleaner->config->deletes);
        *out_exit = judge(&progress, stopped, *out_exit);
    }
    tell(cleaner, started_us, &progress, *out_exit, code,
         code != OK          ? err
         : closed.code != OK ? &closed
                             : &progress.verdict);
    return code;
}
