#include "services/partition-cleaner/plan.h"

/* Partition files, by their names. */
static int64_t files_of(const struct fsck_totals *totals)
{
    return totals->classes[FSCK_OK].count + totals->classes[FSCK_SIZE].count + totals->classes[FSCK_YOUNG].count +
           totals->classes[FSCK_ORPHAN].count;
}

/* part > percent of whole, without rounding; both are counts of things in memory once, far from 2^63 / 100. */
static bool is_above(int64_t part, int64_t percent, int64_t whole)
{
    return part * 100 > percent * whole;
}

static enum err_code check_clocks(const struct cleaner_evidence *evidence, const struct cleaner_limits *limits,
                                  struct error *err)
{
    int64_t apart_us = evidence->skew_us < 0 ? -evidence->skew_us : evidence->skew_us;
    if (apart_us <= limits->max_skew_us) {
        return OK;
    }
    return err_set(err, ERR_DENIED,
                   "expected the clocks of store and catalog within %lld s of each other but found %lld s; hint: put "
                   "the clocks right, or raise GRANARY_CLEANER_MAX_CLOCK_SKEW",
                   (long long)(limits->max_skew_us / 1000000), (long long)(apart_us / 1000000));
}

static enum err_code check_rows(const struct cleaner_evidence *evidence, const struct cleaner_limits *limits,
                                struct error *err)
{
    int64_t files = files_of(evidence->now);
    if (evidence->now->rows == 0 && files > 0) {
        return err_set(err, ERR_DENIED,
                       "expected rows for %lld partition files but the catalog has none; hint: is this the right "
                       "catalog?",
                       (long long)files);
    }
    if (evidence->past == NULL) {
        return OK;
    }
    int64_t lost = evidence->past->rows - evidence->now->rows - evidence->receipts_since;
    if (lost > 0 && is_above(lost, limits->max_shrink_percent, evidence->past->rows)) {
        return err_set(err, ERR_DENIED,
                       "expected %lld rows less at most than the %lld of the run before but found %lld, and receipts "
                       "for %lld only; hint: was the catalog restored? if not, once with "
                       "GRANARY_CLEANER_MAX_SHRINK_PERCENT=100",
                       (long long)(evidence->past->rows * limits->max_shrink_percent / 100),
                       (long long)evidence->past->rows, (long long)evidence->now->rows,
                       (long long)evidence->receipts_since);
    }
    return OK;
}

static enum err_code check_orphans(const struct cleaner_evidence *evidence, const struct cleaner_limits *limits,
                                   struct error *err)
{
    int64_t orphans = evidence->now->classes[FSCK_ORPHAN].count;
    int64_t files = files_of(evidence->now);
    if (!is_above(orphans, limits->max_orphan_percent, files)) {
        return OK;
    }
    return err_set(err, ERR_DENIED,
                   "expected %lld %% orphans at most but found %lld of %lld partition files; hint: granary plan "
                   "orphans, look, granary apply",
                   (long long)limits->max_orphan_percent, (long long)orphans, (long long)files);
}

enum err_code cleaner_plan_verdict(const struct cleaner_evidence *evidence, const struct cleaner_limits *limits,
                                   struct error *err)
{
    TRY(check_clocks(evidence, limits, err));
    TRY(check_rows(evidence, limits, err));
    return check_orphans(evidence, limits, err);
}

int64_t cleaner_plan_modified_before_us(int64_t store_now_us, int64_t grace_us)
{
    return store_now_us - grace_us;
}
