#include "cli/config.h"

#include "common/base/clock.h"

#define FIELD(member) offsetof(struct cli_config, member)

const struct setting cli_settings[] = {
    {"GRANARY_URL", SETTING_TEXT, FIELD(url), "", 0, 0, NULL, "address of the admin service: http://host:port"},
    {"GRANARY_INTAKE_URL", SETTING_TEXT, FIELD(intake_url), "", 0, 0, NULL, "address of intake: http://host:port"},
    {"GRANARY_TOKEN", SETTING_SECRET, FIELD(token), "", 0, 0, NULL, "bearer token for both"},
    {"GRANARY_CA_FILE", SETTING_TEXT, FIELD(ca_file), "", 0, 0, NULL, "CA file for https://; empty for the system's"},
    {"GRANARY_TIMEOUT", SETTING_DURATION, FIELD(timeout_us), "60s", CLOCK_SECOND_US, CLOCK_HOUR_US, NULL,
     "time for one answer; scans, loads and exports have their own"},
    {"GRANARY_MIGRATE_URL", SETTING_TEXT, FIELD(migrate.url), "", 0, 0, NULL,
     "libpq connection string of the catalog's owner, for migrate"},
    {"GRANARY_MIGRATE_PASSWORD", SETTING_SECRET, FIELD(migrate.password), "", 0, 0, NULL,
     "password of the catalog's owner, for migrate"},
};
const size_t cli_setting_count = sizeof cli_settings / sizeof *cli_settings;
