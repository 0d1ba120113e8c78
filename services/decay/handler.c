/* Table by table, oldest data first, in short transactions. Each batch reads the table again under the fence, so that a
 * retention made longer, a hold or a drop that came in between counts for all that is still to go. */
#include "services/decay/handler.h"

#include <stdio.h>

#include "common/base/clock.h"
#include "common/base/fault.h"
#include "common/catalog/deployment.h"
#include "common/catalog/jobs.h"
#include "common/catalog/tables.h"
#include "common/log/log.h"
#include "services/decay/config.h"
#include "services/decay/plan.h"

enum { TABLES_PAGE = 100 };

struct decay {
    const struct decay_config *config;
    struct service *service;
    struct catalog *catalog;
    struct metric *partitions, *rows, *bytes, *refused, *overdue_partitions, *overdue_rows;
};

struct progress {
    int64_t tables, partitions, rows, bytes, refused, overdue_partitions, overdue_rows;
};

enum err_code decay_open(struct service *service, const void *config_of_service, void **out_state, struct error *err)
{
    const struct decay_config *config = config_of_service;
    struct metrics *registry = service_metrics(service);
    struct decay *decay = calloc(1, sizeof *decay);
    if (decay == NULL) {
        return err_no_memory(err, sizeof *decay);
    }
    *out_state = decay; /* the frame closes it, whole or half */
    decay->config = config;
    decay->service = service;
    decay->partitions = metrics_counter(registry, "granary_decay_partitions_total", NULL, "Partitions decayed.");
    decay->rows = metrics_counter(registry, "granary_decay_rows_total", NULL, "Rows in decayed partitions.");
    decay->bytes = metrics_counter(registry, "granary_decay_bytes_total", NULL, "Bytes of decayed partitions.");
    decay->refused = metrics_gauge(registry, "granary_decay_tables_refused", NULL,
                                   "Tables whose decay the breaker refused in the last run.");
    decay->overdue_partitions = metrics_gauge(registry, "granary_decay_overdue_partitions", NULL,
                                              "Partitions past retention that are locked or held.");
    decay->overdue_rows = metrics_gauge(registry, "granary_decay_overdue_rows", NULL,
                                        "Rows past retention in partitions that are locked or held.");
    const struct catalog_options options = {
        .url = config->catalog.url,
        .password = config->catalog.password,
        .application_name = "granary-decay",
    };
    return catalog_open(&options, &decay->catalog, err);
}

void decay_close(void *state)
{
    struct decay *decay = state;
    if (decay != NULL) {
        catalog_close(decay->catalog);
        free(decay);
    }
}

/* One batch under the fence; *out_more says whether there may be another. */
static enum err_code decay_batch(struct decay *decay, const struct uuid *table_id, struct progress *progress,
                                 bool *out_more, struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct table_record table;
    struct catalog_decay_outcome outcome = {0};
    int64_t now_us;
    if (arena == NULL) {
        return err_no_memory(err, 4096);
    }
    TRY(catalog_begin(decay->catalog, &transaction, err));
    TRY(catalog_fence_shared(transaction, table_id, err));
    TRY(catalog_table_load(decay->catalog, table_id, arena, &table, err));
    TRY(catalog_now(decay->catalog, &now_us, err));
    const struct decay_scope scope = decay_plan_scope(&table, now_us);
    *out_more = false;
    if (!scope.due) {
        return OK;
    }
    TRY(catalog_decay_batch(transaction, table_id, scope.cutoff_us, scope.reason, service_instance(decay->service),
                            decay->config->batch, &outcome, err));
    FAULT_POINT("decay.in_batch");
    TRY(catalog_commit(TAKE(transaction), err));
    FAULT_POINT("decay.after_batch");
    progress->partitions += outcome.partitions;
    progress->rows += outcome.rows;
    progress->bytes += outcome.bytes;
    *out_more = outcome.partitions == decay->config->batch;
    return OK;
}

static void tell_refusal(const struct table_record *table, const struct catalog_decay_measure *measure, double share)
{
    log_error("decay is refused by the breaker until a plan is approved", LOG_UUID("table_id", &table->table_id),
              LOG_TEXT("project", table->project), LOG_TEXT("table", table->name),
              LOG_INT("partitions", measure->partitions), LOG_INT("rows", measure->rows), LOG_REAL("share", share),
              LOG_REAL("max_share", table->settings.breaker_max_share),
              LOG_TEXT("hint", "granary plan retention, look, granary apply"));
}

static enum err_code decay_table(struct decay *decay, const struct table_record *table, struct progress *progress,
                                 struct error *err)
{
    int64_t now_us;
    bool any;
    struct catalog_decay_measure measure;
    double share;
    TRY(catalog_now(decay->catalog, &now_us, err));
    const struct decay_scope scope = decay_plan_scope(table, now_us);
    if (!scope.due) {
        return OK;
    }
    TRY(catalog_decay_any(decay->catalog, &table->table_id, scope.cutoff_us, &any, err));
    if (!any) {
        return OK;
    }
    TRY(catalog_decay_measure(decay->catalog, &table->table_id, scope.cutoff_us, &measure, err));
    progress->overdue_partitions += measure.overdue_partitions;
    progress->overdue_rows += measure.overdue_rows;
    switch (decay_plan_verdict(table, &scope, &measure, &share)) {
    case DECAY_NOTHING: return OK;
    case DECAY_REFUSED:
        progress->refused++;
        tell_refusal(table, &measure, share);
        return OK;
    case DECAY_GO: break;
    }
    for (bool more = true; more && !service_stopping(decay->service);) {
        TRY(decay_batch(decay, &table->table_id, progress, &more, err));
    }
    return OK;
}

/* One table's failure does not keep the others from their turn. */
static enum err_code decay_all(struct decay *decay, struct progress *progress, enum service_exit *out_exit,
                               struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0); /* grows with the number of tables, not with their data */
    struct catalog_table_page page = {.with_dropped = true, .limit = TABLES_PAGE};
    if (arena == NULL) {
        return err_no_memory(err, 4096);
    }
    for (;;) {
        struct table_record *tables;
        size_t count;
        TRY(catalog_table_list(decay->catalog, &page, arena, &tables, &count, err));
        for (size_t i = 0; i < count && !service_stopping(decay->service); i++) {
            struct error table_err = {0};
            progress->tables++;
            if (decay_table(decay, &tables[i], progress, &table_err) != OK) {
                log_warn("a table could not be decayed", LOG_UUID("table_id", &tables[i].table_id),
                         LOG_ERR(&table_err));
                *out_exit = SERVICE_PARTIAL;
            }
        }
        if (count < TABLES_PAGE || service_stopping(decay->service)) {
            return OK;
        }
        page.after = &tables[count - 1];
    }
}

static void tell(struct decay *decay, int64_t started_us, const struct progress *progress, enum service_exit exit,
                 enum err_code code, const struct error *err)
{
    char counts[256];
    struct error record_err = {0};
    metric_add(decay->partitions, progress->partitions);
    metric_add(decay->rows, progress->rows);
    metric_add(decay->bytes, progress->bytes);
    metric_set(decay->refused, (double)progress->refused);
    metric_set(decay->overdue_partitions, (double)progress->overdue_partitions);
    metric_set(decay->overdue_rows, (double)progress->overdue_rows);
    (void)snprintf(counts, sizeof counts,
                   "{\"tables\":%lld,\"partitions\":%lld,\"rows\":%lld,\"bytes\":%lld,\"refused\":%lld,"
                   "\"overdue_partitions\":%lld,\"overdue_rows\":%lld}",
                   (long long)progress->tables, (long long)progress->partitions, (long long)progress->rows,
                   (long long)progress->bytes, (long long)progress->refused, (long long)progress->overdue_partitions,
                   (long long)progress->overdue_rows);
    log_info("decay ran", LOG_TEXT("counts", counts));
    const struct catalog_job_run run = {
        .job = service_name(decay->service),
        .instance = service_instance(decay->service),
        .started_at_us = started_us,
        .exit_code = code == OK ? (int)exit : (int)SERVICE_FAILED,
        .counts_json = counts,
        .error = code == OK ? NULL : err->text,
    };
    if (catalog_job_record(decay->catalog, &run, &record_err) != OK) {
        log_warn("the run could not be recorded", LOG_ERR(&record_err));
    }
}

enum err_code decay_run(struct service *service, void *state, enum service_exit *out_exit, struct error *err)
{
    struct decay *decay = state;
    struct progress progress = {0};
    const int64_t started_us = clock_now_us();
    (void)service;
    *out_exit = SERVICE_DONE;
    TRY(catalog_check_version(decay->catalog, err));
    enum err_code code = catalog_deployment_check_deleting(decay->catalog, err);
    const bool paused = code == ERR_DENIED;
    if (code != OK && !paused) {
        return code;
    }
    if (paused) {
        log_info("deleting is paused; nothing decays", LOG_TEXT("why", err->text));
    }
    code = paused ? OK : decay_all(decay, &progress, out_exit, err);
    if (paused || progress.refused != 0) {
        *out_exit = SERVICE_REFUSED;
    }
    tell(decay, started_us, &progress, *out_exit, code, err);
    return code;
}
