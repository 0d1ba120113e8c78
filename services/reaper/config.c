#include "services/reaper/config.h"

#include "common/base/clock.h"

const struct setting reaper_settings[] = {
    CONFIG_CATALOG_SETTINGS(struct reaper_config, catalog),
    CONFIG_BUS_SETTINGS(struct reaper_config, bus),
    CONFIG_STORE_SETTINGS(struct reaper_config, store),
    CONFIG_HTTP_SETTINGS(struct reaper_config, http),
    {"GRANARY_REAPER_WORKERS", SETTING_INT, offsetof(struct reaper_config, workers), "4", 1, 64, NULL,
     "events worked on at the same time, each with its own catalog connection"},
    {"GRANARY_REAPER_PREFETCH", SETTING_INT, offsetof(struct reaper_config, prefetch), "16", 1, 1000, NULL,
     "events taken from the queue ahead of the workers"},
    {"GRANARY_REAPER_LEASE", SETTING_DURATION, offsetof(struct reaper_config, lease_us), "10m", CLOCK_SECOND_US,
     CLOCK_DAY_US, NULL, "how long a claim lasts; a claim that nobody goes on with is taken over after it"},
    {"GRANARY_REAPER_GATE_INTERVAL", SETTING_DURATION, offsetof(struct reaper_config, gate_interval_us), "10s",
     CLOCK_SECOND_US, CLOCK_HOUR_US, NULL,
     "how often the stores are asked whose they are, and their high-water marks are raised"},
    {"GRANARY_REAPER_VERIFY_ONE_IN", SETTING_INT, offsetof(struct reaper_config, verify_one_in), "100", 0, 1000000,
     NULL,
     "of so many objects that a store says it has deleted, one is looked for, and one of each event at least; 0: none"},
};
const size_t reaper_setting_count = sizeof reaper_settings / sizeof reaper_settings[0];
