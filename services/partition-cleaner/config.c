#include "services/partition-cleaner/config.h"

#include "common/base/clock.h"
#include "common/fsck/remove.h"

#define FIELD(member) offsetof(struct partition_cleaner_config, member)

const struct setting partition_cleaner_settings[] = {
    CONFIG_CATALOG_SETTINGS(struct partition_cleaner_config, catalog),
    CONFIG_STORE_SETTINGS(struct partition_cleaner_config, store),
    CONFIG_HTTP_SETTINGS(struct partition_cleaner_config, http),
    {"GRANARY_CLEANER_DELETE", SETTING_BOOL, FIELD(deletes), "false", 0, 0, NULL,
     "delete orphans; without it a run only reports them"},
    {"GRANARY_CLEANER_GRACE", SETTING_DURATION, FIELD(grace_us), "24h", CLOCK_HOUR_US, 400 * CLOCK_DAY_US, NULL,
     "age by the store's clock below which an object without a row is left alone; longer than the longest upload"},
    {"GRANARY_CLEANER_QUARANTINE", SETTING_DURATION, FIELD(quarantine_us), "0", 0, 400 * CLOCK_DAY_US, NULL,
     "how long an object must have been known as an orphan before it is deleted; 0 for no waiting"},
    {"GRANARY_CLEANER_MAX_ORPHAN_PERCENT", SETTING_INT, FIELD(max_orphan_percent), "10", 0, 100, NULL,
     "share of partition files that may be orphans; with more of them nothing is deleted but by a plan"},
    {"GRANARY_CLEANER_MAX_SHRINK_PERCENT", SETTING_INT, FIELD(max_shrink_percent), "20", 0, 100, NULL,
     "share of the rows of the run before that may be gone without a receipt; with more nothing is deleted"},
    {"GRANARY_CLEANER_MAX_CLOCK_SKEW", SETTING_DURATION, FIELD(max_skew_us), "5m", CLOCK_SECOND_US, CLOCK_HOUR_US, NULL,
     "how far the clocks of store and catalog may be apart; with more nothing is deleted"},
    {"GRANARY_CLEANER_RESUME_WITHIN", SETTING_DURATION, FIELD(resume_within_us), "24h", 0, 30 * CLOCK_DAY_US, NULL,
     "how old a run that was interrupted may be to be gone on with"},
    {"GRANARY_CLEANER_PAGE", SETTING_INT, FIELD(page), "1000", 1, 1000, NULL, "objects and rows asked for at once"},
    {"GRANARY_CLEANER_BATCH", SETTING_INT, FIELD(batch), "500", 1, FSCK_MAX_REMOVE, NULL,
     "orphans deleted at once, after one look-up"},
};
const size_t partition_cleaner_setting_count = sizeof partition_cleaner_settings / sizeof partition_cleaner_settings[0];
