/* Settings of a table: dotted names, in the catalog as a JSON object of texts, over the deployment's defaults, over the
 * built-in ones. One table of names makes parsing, checking, showing and docs/configuration.md. Pure. */
#ifndef GRANARY_LIFECYCLE_SETTINGS_H
#define GRANARY_LIFECYCLE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/error.h"
#include "common/lifecycle/state.h"

enum merge_target_id { MERGE_SMALL, MERGE_MEDIUM, MERGE_LARGE, MERGE_TARGET_COUNT };
struct merge_target {
    int64_t size_bytes; /* merge.<name>.size: 32MiB, 256MiB, 1GiB */
    int64_t width_us;   /* merge.<name>.width: 1d, 7d, 30d; no output crosses a border of it (counted from the epoch) */
    int64_t min_age_us; /* merge.<name>.min_age: 0, 2d, 14d: of the newest row, by the database's clock */
    int64_t max_age_us; /* merge.<name>.max_age: never */
    char pool[32];      /* merge.<name>.pool: small, medium, large */
};

struct table_settings {
    int64_t age_max_age_us;         /* age.max_age, never (also age.max_age_days; 0 = never) */
    int64_t reaper_max_age_us;      /* reaper.max_age, 1d (also reaper.max_age_days; 0 = never) */
    int64_t merge_cleanup_grace_us; /* merge.cleanup_grace, 1h; never is refused */
    int64_t abandoned_grace_us;     /* abandoned.grace, 1h; never is refused */
    int64_t partition_width_us;     /* partition.width, 1d */
    int64_t idempotency_horizon_us; /* idempotency.horizon, 24h; 1h..7d */
    int64_t retention_cooling_us;   /* retention.cooling, 24h */
    double breaker_max_share;       /* breaker.max_share, 0.5; 0..1 */
    bool merge_enabled;             /* merge.enabled, true */
    int64_t merge_max_tries;        /* merge.max_tries, 3 */
    int64_t merge_max_inputs;       /* merge.max_inputs, 100; 2..1000 */
    int64_t merge_min_inputs;       /* merge.min_inputs, 10; 2..1000: while a bucket is still filling */
    struct merge_target merge[MERGE_TARGET_COUNT];
    bool intake_unknown_ignored;  /* intake.unknown_columns: reject | ignore; reject */
    int64_t intake_max_past_us;   /* intake.max_past, never */
    int64_t intake_max_future_us; /* intake.max_future, 1d */
    int64_t rejects_max_age_us;   /* rejects.max_age, 30d: age.max_age of the companion table */
    int64_t backup_window_us;     /* reaper.backup_window, 0s (also reaper.backup_window_days) */
    /* Names of storages, for new partitions. The database reads them itself: granary.storage_for. */
    char storage_default[32]; /* storage.default, default */
    char storage_spread[64];  /* storage.spread, "": names with commas between them; instead of storage.default */
};

void table_settings_defaults(struct table_settings *settings);
/* One setting by name and text. ERR_INVALID: an unknown name (a hint names the nearest), or a value out of its bounds. */
MUST_CHECK enum err_code table_settings_set(struct table_settings *settings, const char *name, const char *value,
                                            struct error *err);
/* The name an alias stands for and the value in its form ("age.max_age_days","30" -> "age.max_age","30d"); what is no
 * alias is checked and comes back as it is. Values are written to value[64]. */
MUST_CHECK enum err_code table_settings_normalise(const char *name, const char *value, const char **out_name,
                                                  char out_value[64], struct error *err);
/* i = 0..count-1: name, help and default; value receives the text form from `settings`. */
size_t table_settings_count(void);
const char *table_settings_name(size_t i);
const char *table_settings_help(size_t i);
void table_settings_format(const struct table_settings *settings, size_t i, char value[64]);

/* --- retention -------------------------------------------------------------------------------------------------- */

/* Which age.max_age counts now: the former one (previous_us) while a shortening cools down. has_previous false: max_age. */
int64_t retention_effective_us(int64_t max_age_us, bool has_previous, int64_t previous_us, int64_t effective_at_us,
                               int64_t now_us);
/* What to store when age.max_age changes: a longer one counts at once, a shorter one after cooling. */
struct retention_change {
    bool has_previous;
    int64_t previous_us;
    int64_t effective_at_us;
};
struct retention_change retention_plan_change(int64_t effective_us, int64_t wanted_us, int64_t cooling_us,
                                              int64_t now_us);
/* Rows older than this decay: now - max_age, or INT64_MIN when max_age is never (or beyond all time). */
int64_t retention_cutoff_us(int64_t max_age_us, int64_t now_us);

/* --- breaker ---------------------------------------------------------------------------------------------------- */

struct breaker_input {
    int64_t rows_active;      /* now, including those about to decay */
    int64_t rows_deactivated; /* by decay in the last 24 h without an approved plan, reaped ones included */
    int64_t rows_to_deactivate;
    double max_share;
};
/* True when it may go on. *out_share: what the share would be. A table without rows may always. */
bool breaker_allows(const struct breaker_input *input, double *out_share);

/* --- grace ------------------------------------------------------------------------------------------------------ */

/* How long an inactive partition of this reason stays before it may be reaped; CLOCK_NEVER keeps it. Never shorter than
 * the backup window: a catalog backup of that age may still name it as live. */
int64_t reap_grace_us(const struct table_settings *settings, enum deactivation_reason reason);

#endif
