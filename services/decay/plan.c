#include "services/decay/plan.h"

struct decay_scope decay_plan_scope(const struct table_record *table, int64_t now_us)
{
    if (table->dropped) {
        return (struct decay_scope){.due = true, .cutoff_us = INT64_MAX, .reason = REASON_DROP};
    }
    int64_t cutoff_us = retention_cutoff_us(table->retention_us, now_us);
    return (struct decay_scope){.due = cutoff_us != INT64_MIN, .cutoff_us = cutoff_us, .reason = REASON_DECAY};
}

enum decay_verdict decay_plan_verdict(const struct table_record *table, const struct decay_scope *scope,
                                      const struct catalog_decay_measure *measure, double *out_share)
{
    double share = 0;
    const struct breaker_input input = {
        .rows_active = measure->rows_active,
        .rows_deactivated = measure->rows_deactivated,
        .rows_to_deactivate = measure->rows,
        .max_share = table->settings.breaker_max_share,
    };
    bool allowed = breaker_allows(&input, &share);
    if (out_share != NULL) {
        *out_share = share;
    }
    if (!scope->due || measure->partitions == 0) {
        return DECAY_NOTHING;
    }
    return allowed || scope->reason == REASON_DROP ? DECAY_GO : DECAY_REFUSED;
}
