#include "services/merge-controller/controller.h"

#include "common/base/clock.h"
#include "common/catalog/merge.h"

#define OUTCOME_TIMEOUT_US (20 * CLOCK_SECOND_US)

void merge_metrics_init(struct merge_metrics *metrics, struct metrics *registry)
{
    static const char name[] = "granary_merge_attempts_total";
    static const char help[] = "Merge attempts, by what became of them.";
    metrics->leading = metrics_gauge(registry, "granary_merge_leading", NULL, "1 while this process leads.");
    metrics->reserved = metrics_counter(registry, name, "event=\"reserved\"", help);
    metrics->conflicts = metrics_counter(registry, name, "event=\"conflict\"", help);
    metrics->unpublished = metrics_counter(registry, name, "event=\"unpublished\"", help);
    metrics->committed = metrics_counter(registry, name, "event=\"committed\"", help);
    metrics->failed = metrics_counter(registry, name, "event=\"failed\"", help);
    metrics->expired = metrics_counter(registry, name, "event=\"expired\"", help);
    metrics->refused = metrics_counter(registry, name, "event=\"refused\"", help);
    metrics->malformed = metrics_counter(registry, name, "event=\"malformed\"", help);
    metrics->inputs = metrics_counter(registry, "granary_merge_inputs_total", NULL, "Partitions replaced by merges.");
    metrics->rows = metrics_counter(registry, "granary_merge_rows_total", NULL, "Rows of committed outputs.");
    metrics->bytes = metrics_counter(registry, "granary_merge_output_bytes_total", NULL, "Bytes of committed outputs.");
    metrics->set_aside = metrics_counter(registry, "granary_merge_set_aside_total", NULL,
                                         "Partitions set aside after too many failed merges.");
    metrics->round_seconds =
        metrics_histogram(registry, "granary_merge_round_seconds", NULL, "Time of one look at all tables.");
    metrics->last_round = metrics_gauge(registry, "granary_merge_last_successful_run_timestamp_seconds", NULL,
                                        "When all tables were last looked at, in seconds since 1970.");
}

enum err_code controller_commit(struct controller *controller, struct catalog_transaction *transaction_take,
                                struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = transaction_take;
    uint64_t xid = 0;
    bool committed = false;
    TRY(catalog_transaction_id(transaction, &xid, err));
    enum err_code code = catalog_commit(TAKE(transaction), err);
    if (code != ERR_UNKNOWN) {
        return code;
    }
    if (catalog_transaction_outcome(controller->catalog, xid, OUTCOME_TIMEOUT_US, &committed, err) != OK) {
        return err_set(err, ERR_UNKNOWN, "could not find out whether a commit landed");
    }
    return committed ? OK : err_set(err, ERR_UNAVAILABLE, "the connection was lost before the commit landed");
}

enum err_code controller_check_lead(struct controller *controller, struct error *err)
{
    return catalog_leader_check(controller->leader_catalog, CATALOG_MERGE_LEADER, &controller->leadership, err);
}
