#include "services/merge-controller/config.h"

#include "common/base/clock.h"

const struct setting merge_settings[] = {
    CONFIG_CATALOG_SETTINGS(struct merge_config, catalog),
    {"GRANARY_MERGE_LEADER_URL", SETTING_TEXT, offsetof(struct merge_config, leader_url), "", 0, 0, NULL,
     "direct connection to the catalog for the leader's lock, where GRANARY_CATALOG_URL goes through a pooler"},
    CONFIG_BUS_SETTINGS(struct merge_config, bus),
    CONFIG_HTTP_SETTINGS(struct merge_config, http),
    {"GRANARY_MERGE_INTERVAL", SETTING_DURATION, offsetof(struct merge_config, interval_us), "10s", 1000, CLOCK_HOUR_US,
     NULL, "time between two looks at all tables; after a commit the next look comes at once"},
    {"GRANARY_MERGE_LEASE", SETTING_DURATION, offsetof(struct merge_config, lease_us), "30s", CLOCK_SECOND_US,
     CLOCK_HOUR_US, NULL, "an attempt is abandoned when its rewriter has not renewed the lease for this long"},
    {"GRANARY_MERGE_START_LEASE", SETTING_DURATION, offsetof(struct merge_config, start_lease_us), "10m",
     CLOCK_SECOND_US, CLOCK_DAY_US, NULL, "an attempt is abandoned when no rewriter has started it for this long"},
    {"GRANARY_MERGE_AHEAD", SETTING_INT, offsetof(struct merge_config, ahead), "8", 1, 1000, NULL,
     "tasks that may wait for each rewriter of a pool"},
};
const size_t merge_setting_count = sizeof merge_settings / sizeof merge_settings[0];
