#include "services/admin/config.h"

#include "common/base/clock.h"

const struct setting admin_settings[] = {
    CONFIG_CATALOG_SETTINGS(struct admin_config, catalog),
    CONFIG_BUS_SETTINGS(struct admin_config, bus),
    CONFIG_STORE_SETTINGS(struct admin_config, store),
    CONFIG_HTTP_SETTINGS(struct admin_config, http),
    {"GRANARY_ADMIN_CONNECTIONS", SETTING_INT, offsetof(struct admin_config, connections), "8", 1, 64, NULL,
     "catalog connections; more requests at once than that wait for one"},
    {"GRANARY_ADMIN_SCANS", SETTING_INT, offsetof(struct admin_config, scans), "4", 1, 1000, NULL,
     "scans and counts of rows at the same time; one more is answered with 429"},
    {"GRANARY_ADMIN_PLAN_LIFE", SETTING_DURATION, offsetof(struct admin_config, plan_life_us), "24h", CLOCK_MINUTE_US,
     30 * CLOCK_DAY_US, NULL, "how long a plan can be applied after it was made"},
    {"GRANARY_ADMIN_ORPHAN_GRACE", SETTING_DURATION, offsetof(struct admin_config, orphan_grace_us), "24h",
     CLOCK_HOUR_US, 400 * CLOCK_DAY_US, NULL,
     "age by the store's clock below which fsck and plans leave an object without a row alone"},
    {"GRANARY_ADMIN_APPLY_BATCH", SETTING_INT, offsetof(struct admin_config, apply_batch), "1000", 1, 100000, NULL,
     "partitions that applying a plan marks in one transaction"},
};
const size_t admin_setting_count = sizeof admin_settings / sizeof admin_settings[0];
