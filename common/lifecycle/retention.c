/* How long things stay: the retention that counts, the breaker against decaying too much, the grace before reaping. */
#include "common/base/checked.h"
#include "common/base/clock.h"
#include "common/lifecycle/settings.h"

int64_t retention_effective_us(int64_t max_age_us, bool has_previous, int64_t previous_us, int64_t effective_at_us,
                               int64_t now_us)
{
    bool cooling = has_previous && now_us < effective_at_us;
    return cooling && previous_us > max_age_us ? previous_us : max_age_us;
}

struct retention_change retention_plan_change(int64_t effective_us, int64_t wanted_us, int64_t cooling_us,
                                              int64_t now_us)
{
    if (wanted_us >= effective_us || cooling_us <= 0) {
        return (struct retention_change){false, 0, 0};
    }
    struct retention_change change = {true, effective_us, INT64_MAX};
    (void)!checked_add_i64(now_us, cooling_us, &change.effective_at_us);
    return change;
}

int64_t retention_cutoff_us(int64_t max_age_us, int64_t now_us)
{
    int64_t cutoff_us = INT64_MIN;
    if (max_age_us != CLOCK_NEVER) {
        (void)!checked_sub_i64(now_us, max_age_us, &cutoff_us);
    }
    return cutoff_us;
}

bool breaker_allows(const struct breaker_input *input, double *out_share)
{
    double all = (double)input->rows_active + (double)input->rows_deactivated;
    double gone = (double)input->rows_deactivated + (double)input->rows_to_deactivate;
    *out_share = all > 0 ? gone / all : 0;
    return input->rows_to_deactivate <= 0 || *out_share <= input->max_share;
}

static int64_t grace_of_reason(const struct table_settings *settings, enum deactivation_reason reason)
{
    switch (reason) {
    case REASON_DECAY:
    case REASON_DROP:
    case REASON_PARK:
    case REASON_ALTER: return settings->reaper_max_age_us;
    case REASON_MERGE: return settings->merge_cleanup_grace_us;
    case REASON_ABANDONED: return settings->abandoned_grace_us;
    case REASON_NONE:
    case REASON_COUNT: break;
    }
    return CLOCK_NEVER;
}

int64_t reap_grace_us(const struct table_settings *settings, enum deactivation_reason reason)
{
    int64_t grace_us = grace_of_reason(settings, reason);
    return grace_us > settings->backup_window_us ? grace_us : settings->backup_window_us;
}
