/* One table of names; everything else here walks it. */
#include "common/lifecycle/settings.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/text.h"

enum kind {
    KIND_DURATION,
    KIND_BYTES,
    KIND_INT,
    KIND_SHARE,
    KIND_BOOL,
    KIND_UNKNOWN_COLUMNS,
    KIND_POOL,
    KIND_STORAGE,
    KIND_STORAGES
};

enum {
    VALUE_BYTES = 64,
    NAME_BYTES = 32, /* of a pool or a storage, its end included */
};

#define DAY        CLOCK_DAY_US
#define YEAR       (366 * CLOCK_DAY_US)
#define MAX_INPUTS 1000 /* as many as one rewrite task may name */

struct entry {
    const char *name;
    enum kind kind;
    size_t offset;
    const char *default_value;
    int64_t min, max; /* durations: a max of CLOCK_NEVER admits "never" */
    const char *help;
};

#define FIELD(member) offsetof(struct table_settings, member)

/* Widths are at least a minute, so that a row's bucket is never a matter of clock noise. */
#define MERGE_TARGET(text, id, size, width, min_age)                                             \
    {"merge." text ".size",                                                                      \
     KIND_BYTES,                                                                                 \
     FIELD(merge[id].size_bytes),                                                                \
     size,                                                                                       \
     1,                                                                                          \
     INT64_C(1) << 40,                                                                           \
     "size of a well-filled output of the " text " target"},                                     \
        {"merge." text ".width",                                                                 \
         KIND_DURATION,                                                                          \
         FIELD(merge[id].width_us),                                                              \
         width,                                                                                  \
         CLOCK_MINUTE_US,                                                                        \
         10 * YEAR,                                                                              \
         "no output of the " text " target crosses a multiple of this, counted from the epoch"}, \
        {"merge." text ".min_age",                                                               \
         KIND_DURATION,                                                                          \
         FIELD(merge[id].min_age_us),                                                            \
         min_age,                                                                                \
         0,                                                                                      \
         10 * YEAR,                                                                              \
         "the " text " target takes a partition once its newest row is this old"},               \
        {"merge." text ".max_age",                                                               \
         KIND_DURATION,                                                                          \
         FIELD(merge[id].max_age_us),                                                            \
         "never",                                                                                \
         0,                                                                                      \
         CLOCK_NEVER,                                                                            \
         "the " text " target leaves a partition alone once its newest row is older than this"}, \
    {                                                                                            \
        "merge." text ".pool", KIND_POOL, FIELD(merge[id].pool), text, 0, 0,                     \
            "pool of rewriters that does the merges of the " text " target"                      \
    }

static const struct entry entries[] = {
    {"age.max_age", KIND_DURATION, FIELD(age_max_age_us), "never", CLOCK_SECOND_US, CLOCK_NEVER,
     "partitions whose newest row is older than this decay"},
    {"reaper.max_age", KIND_DURATION, FIELD(reaper_max_age_us), "1d", 0, CLOCK_NEVER,
     "decayed, dropped, altered and released partitions are reaped after this"},
    {"merge.cleanup_grace", KIND_DURATION, FIELD(merge_cleanup_grace_us), "1h", 0, YEAR,
     "merged partitions are reaped after this; at least the longest query"},
    {"abandoned.grace", KIND_DURATION, FIELD(abandoned_grace_us), "1h", 0, YEAR,
     "partitions given up by their writer are reaped after this; more than the longest upload"},
    {"partition.width", KIND_DURATION, FIELD(partition_width_us), "1d", CLOCK_MINUTE_US, 10 * YEAR,
     "intake writes one partition per bucket of this width"},
    {"idempotency.horizon", KIND_DURATION, FIELD(idempotency_horizon_us), "24h", CLOCK_HOUR_US, 7 * DAY,
     "how long the ids of committed batches are remembered"},
    {"retention.cooling", KIND_DURATION, FIELD(retention_cooling_us), "24h", 0, YEAR,
     "a shortened age.max_age takes effect after this"},
    {"breaker.max_share", KIND_SHARE, FIELD(breaker_max_share), "0.5", 0, 1,
     "share of a table's rows that may decay within 24 hours without an approved plan"},
    {"merge.enabled", KIND_BOOL, FIELD(merge_enabled), "true", 0, 0, "whether partitions are merged"},
    {"merge.max_tries", KIND_INT, FIELD(merge_max_tries), "3", 1, 1000,
     "a partition is set aside after this many failed merges"},
    {"merge.max_inputs", KIND_INT, FIELD(merge_max_inputs), "100", 2, MAX_INPUTS, "most inputs of one merge"},
    {"merge.min_inputs", KIND_INT, FIELD(merge_min_inputs), "10", 2, MAX_INPUTS,
     "fewest inputs of a merge that does not fill its target, while its bucket still grows"},
    MERGE_TARGET("small", MERGE_SMALL, "32MiB", "1d", "0s"),
    MERGE_TARGET("medium", MERGE_MEDIUM, "256MiB", "7d", "2d"),
    MERGE_TARGET("large", MERGE_LARGE, "1GiB", "30d", "14d"),
    {"intake.unknown_columns", KIND_UNKNOWN_COLUMNS, FIELD(intake_unknown_ignored), "reject", 0, 0,
     "what becomes of a row with an unknown column: reject, or ignore the column"},
    {"intake.max_past", KIND_DURATION, FIELD(intake_max_past_us), "never", CLOCK_SECOND_US, CLOCK_NEVER,
     "rows older than this are rejected"},
    {"intake.max_future", KIND_DURATION, FIELD(intake_max_future_us), "1d", 0, CLOCK_NEVER,
     "rows further ahead of the clock than this are rejected"},
    {"rejects.max_age", KIND_DURATION, FIELD(rejects_max_age_us), "30d", CLOCK_SECOND_US, CLOCK_NEVER,
     "age.max_age of the companion table of rejected rows"},
    {"reaper.backup_window", KIND_DURATION, FIELD(backup_window_us), "0s", 0, 10 * YEAR,
     "nothing is reaped that was live within this, so that a catalog backup of that age still finds its objects"},
    {"storage.default", KIND_STORAGE, FIELD(storage_default), "default", 0, 0, "the storage that new partitions go to"},
    {"storage.spread", KIND_STORAGES, FIELD(storage_spread), "", 0, 0,
     "storages, with commas between them, that new partitions are spread over instead"},
};
enum { ENTRY_COUNT = sizeof entries / sizeof *entries };

/* Days as a plain number, and what none of them mean. */
static const struct {
    const char *alias, *name, *zero;
} day_aliases[] = {
    {"age.max_age_days", "age.max_age", "never"},
    {"reaper.max_age_days", "reaper.max_age", "never"},
    {"reaper.backup_window_days", "reaper.backup_window", "0s"},
};
enum { DAY_ALIAS_COUNT = sizeof day_aliases / sizeof *day_aliases, MAX_DAYS = 100000 };

/* --- values ------------------------------------------------------------------------------------------------------- */

static MUST_CHECK enum err_code parse_duration(const struct entry *entry, const char *value, int64_t *out,
                                               struct error *err)
{
    int64_t parsed_us = 0;
    TRY(clock_parse_duration(value, &parsed_us, err));
    if (parsed_us < entry->min || parsed_us > entry->max) {
        char min[CLOCK_TEXT_BYTES];
        char max[CLOCK_TEXT_BYTES];
        return err_set(err, ERR_INVALID, "expected a duration from %s to %s but found \"%.64s\"",
                       clock_format_duration(entry->min, min), clock_format_duration(entry->max, max), value);
    }
    *out = parsed_us;
    return OK;
}

static MUST_CHECK enum err_code parse_bytes(const struct entry *entry, const char *value, int64_t *out,
                                            struct error *err)
{
    int64_t parsed_bytes = 0;
    TRY(text_parse_bytes(value, &parsed_bytes, err));
    if (parsed_bytes < entry->min || parsed_bytes > entry->max) {
        return err_set(err, ERR_INVALID, "expected a size from %lld to %lld bytes but found \"%.64s\"",
                       (long long)entry->min, (long long)entry->max, value);
    }
    *out = parsed_bytes;
    return OK;
}

static MUST_CHECK enum err_code parse_share(const struct entry *entry, const char *value, double *out,
                                            struct error *err)
{
    char *end = NULL;
    bool plain = *value != '\0' && strspn(value, "0123456789.") == strlen(value);
    double parsed = plain ? strtod(value, &end) : NAN;
    if (!plain || *end != '\0' || !(parsed >= (double)entry->min && parsed <= (double)entry->max)) {
        return err_set(err, ERR_INVALID, "expected a number from 0 to 1 but found \"%.64s\"", value);
    }
    *out = parsed;
    return OK;
}

static MUST_CHECK enum err_code parse_choice(const char *value, const char *no, const char *yes, bool *out,
                                             struct error *err)
{
    if (strcmp(value, no) != 0 && strcmp(value, yes) != 0) {
        return err_set(err, ERR_INVALID, "expected \"%s\" or \"%s\" but found \"%.64s\"", no, yes, value);
    }
    *out = strcmp(value, yes) == 0;
    return OK;
}

/* The name of a pool ends a queue's name; that of a storage stands in lists. */
static bool is_name(const char *text, size_t length)
{
    return length != 0 && length < NAME_BYTES && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_-") >= length;
}

static MUST_CHECK enum err_code parse_name(const char *what, const char *value, char *out, struct error *err)
{
    size_t length = strlen(value);
    if (!is_name(value, length)) {
        return err_set(err, ERR_INVALID,
                       "expected a %s's name of 1 to %d lower-case letters, digits, \"_\" or \"-\" but found \"%.64s\"",
                       what, NAME_BYTES - 1, value);
    }
    memcpy(out, value, length + 1);
    return OK;
}

static MUST_CHECK enum err_code parse_storages(const char *value, char *out, struct error *err)
{
    bool more = *value != '\0';
    for (const char *name = value; more;) {
        size_t length = strcspn(name, ",");
        if (!is_name(name, length)) {
            return err_set(err, ERR_INVALID, "expected names of storages with commas between them but found \"%.64s\"",
                           value);
        }
        more = name[length] == ',';
        name += length + 1;
    }
    memcpy(out, value, strlen(value) + 1); /* values are shorter than VALUE_BYTES */
    return OK;
}

static MUST_CHECK enum err_code parse_value(const struct entry *entry, const char *value,
                                            struct table_settings *settings, struct error *err)
{
    void *field = (char *)settings + entry->offset;
    switch (entry->kind) {
    case KIND_DURATION: return parse_duration(entry, value, field, err);
    case KIND_BYTES: return parse_bytes(entry, value, field, err);
    case KIND_INT: return text_parse_i64(value, entry->min, entry->max, "a number", field, err);
    case KIND_SHARE: return parse_share(entry, value, field, err);
    case KIND_BOOL: return parse_choice(value, "false", "true", field, err);
    case KIND_UNKNOWN_COLUMNS: return parse_choice(value, "reject", "ignore", field, err);
    case KIND_POOL: return parse_name("pool", value, field, err);
    case KIND_STORAGE: return parse_name("storage", value, field, err);
    case KIND_STORAGES: return parse_storages(value, field, err);
    }
    return err_set(err, ERR_INVALID, "setting \"%s\" has no kind", entry->name);
}

static void format_bytes(int64_t bytes, char value[VALUE_BYTES])
{
    static const char *const units[] = {"", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < sizeof units / sizeof *units) {
        bytes /= 1024;
        unit++;
    }
    (void)snprintf(value, VALUE_BYTES, "%lld%s", (long long)bytes, units[unit]);
}

/* --- names -------------------------------------------------------------------------------------------------------- */

static MUST_CHECK enum err_code find_entry(const char *name, const struct entry **out, struct error *err)
{
    const struct entry *nearest = NULL;
    size_t nearest_distance = TEXT_DISTANCE_MAX;
    for (size_t i = 0; i < ENTRY_COUNT; i++) {
        if (strcmp(entries[i].name, name) == 0) {
            *out = &entries[i];
            return OK;
        }
        size_t edits = text_distance(name, entries[i].name);
        if (edits < nearest_distance) {
            nearest_distance = edits;
            nearest = &entries[i];
        }
    }
    if (nearest == NULL) {
        return err_set(err, ERR_INVALID, "expected the name of a setting but found \"%.64s\"", name);
    }
    return err_set(err, ERR_INVALID, "expected the name of a setting but found \"%.64s\"; hint: the nearest is \"%s\"",
                   name, nearest->name);
}

static MUST_CHECK enum err_code normalise_days(const char *days_text, const char *zero, char out_value[VALUE_BYTES],
                                               struct error *err)
{
    int64_t days = 0;
    TRY(text_parse_i64(days_text, 0, MAX_DAYS, "a number of days", &days, err));
    if (days == 0) {
        (void)snprintf(out_value, VALUE_BYTES, "%s", zero);
    } else {
        (void)snprintf(out_value, VALUE_BYTES, "%lldd", (long long)days);
    }
    return OK;
}

/* Resolves an alias and checks the value by parsing it into `scratch`. */
static MUST_CHECK enum err_code normalise(const char *name, const char *value, struct table_settings *scratch,
                                          const struct entry **out_entry, char out_value[VALUE_BYTES],
                                          struct error *err)
{
    char text[VALUE_BYTES];
    const struct entry *entry = NULL;
    for (size_t i = 0; i < DAY_ALIAS_COUNT && entry == NULL; i++) {
        if (strcmp(day_aliases[i].alias, name) == 0) {
            TRY(normalise_days(value, day_aliases[i].zero, text, err));
            TRY(find_entry(day_aliases[i].name, &entry, err));
        }
    }
    if (entry == NULL) {
        TRY(find_entry(name, &entry, err));
        if (strlen(value) >= VALUE_BYTES) {
            return err_set(err, ERR_INVALID, "expected at most %d characters but found \"%.64s...\"", VALUE_BYTES - 1,
                           value);
        }
        memcpy(text, value, strlen(value) + 1);
    }
    TRY(parse_value(entry, text, scratch, err));
    *out_entry = entry;
    memcpy(out_value, text, strlen(text) + 1);
    return OK;
}

/* --- interface ---------------------------------------------------------------------------------------------------- */

void table_settings_defaults(struct table_settings *settings)
{
    memset(settings, 0, sizeof *settings);
    for (size_t i = 0; i < ENTRY_COUNT; i++) {
        enum err_code code = parse_value(&entries[i], entries[i].default_value, settings, NULL);
        if (code != OK) {
            abort(); /* a default out of its own bounds is a fault of the table above; a test walks it */
        }
    }
}

enum err_code table_settings_set(struct table_settings *settings, const char *name, const char *value,
                                 struct error *err)
{
    const struct entry *entry = NULL;
    char text[VALUE_BYTES];
    if (normalise(name, value, settings, &entry, text, err) != OK) {
        return err_wrap(err, "setting \"%.64s\"", name);
    }
    return OK;
}

enum err_code table_settings_normalise(const char *name, const char *value, const char **out_name,
                                       char out_value[VALUE_BYTES], struct error *err)
{
    struct table_settings scratch;
    const struct entry *entry = NULL;
    if (normalise(name, value, &scratch, &entry, out_value, err) != OK) {
        return err_wrap(err, "setting \"%.64s\"", name);
    }
    *out_name = entry->name;
    return OK;
}

size_t table_settings_count(void)
{
    return ENTRY_COUNT;
}

const char *table_settings_name(size_t i)
{
    return entries[i].name;
}

const char *table_settings_help(size_t i)
{
    return entries[i].help;
}

void table_settings_format(const struct table_settings *settings, size_t i, char value[VALUE_BYTES])
{
    const void *field = (const char *)settings + entries[i].offset;
    switch (entries[i].kind) {
    case KIND_DURATION: {
        char text[CLOCK_TEXT_BYTES];
        (void)snprintf(value, VALUE_BYTES, "%s", clock_format_duration(*(const int64_t *)field, text));
        break;
    }
    case KIND_BYTES: format_bytes(*(const int64_t *)field, value); break;
    case KIND_INT: (void)snprintf(value, VALUE_BYTES, "%lld", (long long)*(const int64_t *)field); break;
    case KIND_SHARE: (void)snprintf(value, VALUE_BYTES, "%.12g", *(const double *)field); break;
    case KIND_BOOL: (void)snprintf(value, VALUE_BYTES, "%s", *(const bool *)field ? "true" : "false"); break;
    case KIND_UNKNOWN_COLUMNS:
        (void)snprintf(value, VALUE_BYTES, "%s", *(const bool *)field ? "ignore" : "reject");
        break;
    case KIND_POOL:
    case KIND_STORAGE:
    case KIND_STORAGES: (void)snprintf(value, VALUE_BYTES, "%s", (const char *)field); break;
    }
}
