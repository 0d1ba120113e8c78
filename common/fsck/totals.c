#include <string.h>

#include "common/base/clock.h"
#include "common/fsck/fsck.h"

const char *fsck_class_name(enum fsck_class class)
{
    switch (class) {
    case FSCK_OK: return "ok";
    case FSCK_MARK: return "mark";
    case FSCK_FOLDER: return "folder";
    case FSCK_FOREIGN: return "foreign";
    case FSCK_YOUNG: return "young";
    case FSCK_ORPHAN: return "orphan";
    case FSCK_MISSING: return "missing";
    case FSCK_SIZE: return "wrong size";
    case FSCK_CLASS_COUNT: break;
    }
    return "";
}

const char *fsck_owner_name(enum fsck_owner owner)
{
    switch (owner) {
    case FSCK_OWNER_NONE: return "none";
    case FSCK_OWNER_LATE_UPLOAD: return "late upload";
    case FSCK_OWNER_SURVIVOR: return "survived its deletion";
    case FSCK_OWNER_LOST_ROW: return "lost row";
    case FSCK_OWNER_OTHER_DEPLOYMENT: return "other deployment";
    case FSCK_OWNER_PROBE: return "probe";
    case FSCK_OWNER_COUNT: break;
    }
    return "";
}

void fsck_totals_init(struct fsck_totals *totals)
{
    *totals = (struct fsck_totals){0};
    for (int i = 0; i < FSCK_CLASS_COUNT; i++) {
        totals->classes[i].oldest_us = CLOCK_NEVER;
    }
    for (int i = 0; i < FSCK_OWNER_COUNT; i++) {
        totals->owners[i].oldest_us = CLOCK_NEVER;
    }
}

static void add_tally(struct fsck_tally *sum, const struct fsck_tally *part)
{
    sum->count += part->count;
    sum->bytes += part->bytes;
    sum->oldest_us = part->oldest_us < sum->oldest_us ? part->oldest_us : sum->oldest_us;
}

void fsck_totals_add(struct fsck_totals *sum, const struct fsck_totals *part)
{
    for (int i = 0; i < FSCK_CLASS_COUNT; i++) {
        add_tally(&sum->classes[i], &part->classes[i]);
    }
    for (int i = 0; i < FSCK_OWNER_COUNT; i++) {
        add_tally(&sum->owners[i], &part->owners[i]);
    }
    sum->held += part->held;
    sum->rows += part->rows;
    sum->objects += part->objects;
    sum->lagging += part->lagging;
    sum->missing_active += part->missing_active;
}

int64_t fsck_totals_findings(const struct fsck_totals *totals)
{
    return totals->classes[FSCK_ORPHAN].count + totals->classes[FSCK_MISSING].count + totals->classes[FSCK_SIZE].count;
}

/* --- as JSON ------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    size_t offset;
} numbers[] = {
    {"rows", offsetof(struct fsck_totals, rows)},
    {"objects", offsetof(struct fsck_totals, objects)},
    {"lagging", offsetof(struct fsck_totals, lagging)},
    {"held", offsetof(struct fsck_totals, held)},
    {"missing_active", offsetof(struct fsck_totals, missing_active)},
};

/* Tallies without anything in them are left out. */
static enum err_code encode_tally(struct json *object, const char *name, const struct fsck_tally *tally,
                                  struct error *err)
{
    struct json *item;
    if (tally->count == 0) {
        return OK;
    }
    TRY(json_set(object, name, json_new_object(), err));
    TRY(json_get_object(object, NULL, name, &item, err));
    TRY(json_set_i64(item, "count", tally->count, err));
    TRY(json_set_i64(item, "bytes", tally->bytes, err));
    return json_set_i64(item, "oldest_us", tally->oldest_us, err);
}

enum err_code fsck_totals_encode(const struct fsck_totals *totals, struct json *object, struct error *err)
{
    struct json *owners;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        int64_t value;
        memcpy(&value, (const char *)totals + numbers[i].offset, sizeof value);
        TRY(json_set_i64(object, numbers[i].name, value, err));
    }
    for (int i = 0; i < FSCK_CLASS_COUNT; i++) {
        TRY(encode_tally(object, fsck_class_name((enum fsck_class)i), &totals->classes[i], err));
    }
    TRY(json_set(object, "owners", json_new_object(), err));
    TRY(json_get_object(object, NULL, "owners", &owners, err));
    for (int i = 0; i < FSCK_OWNER_COUNT; i++) {
        TRY(encode_tally(owners, fsck_owner_name((enum fsck_owner)i), &totals->owners[i], err));
    }
    return OK;
}

static enum err_code decode_tally(struct json *object, const char *name, struct fsck_tally *out, struct error *err)
{
    struct json *item = NULL;
    TRY(json_opt_object(object, NULL, name, &item, err));
    if (item == NULL) {
        return OK;
    }
    TRY(json_get_i64(item, NULL, "count", 0, INT64_MAX, &out->count, err));
    TRY(json_get_i64(item, NULL, "bytes", 0, INT64_MAX, &out->bytes, err));
    return json_get_i64(item, NULL, "oldest_us", INT64_MIN, INT64_MAX, &out->oldest_us, err);
}

enum err_code fsck_totals_decode(const char *text, struct fsck_totals *out, struct error *err)
{
    AUTO(json_free_auto) struct json *object = NULL;
    struct json *owners = NULL;
    struct fsck_totals totals;
    fsck_totals_init(&totals);
    TRY(json_parse(text, strlen(text), NULL, &object, err));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        int64_t value = 0;
        TRY(json_opt_i64(object, NULL, numbers[i].name, 0, INT64_MAX, &value, err));
        memcpy((char *)&totals + numbers[i].offset, &value, sizeof value);
    }
    for (int i = 0; i < FSCK_CLASS_COUNT; i++) {
        TRY(decode_tally(object, fsck_class_name((enum fsck_class)i), &totals.classes[i], err));
    }
    TRY(json_opt_object(object, NULL, "owners", &owners, err));
    for (int i = 0; i < FSCK_OWNER_COUNT && owners != NULL; i++) {
        TRY(decode_tally(owners, fsck_owner_name((enum fsck_owner)i), &totals.owners[i], err));
    }
    *out = totals;
    return OK;
}
