/* The names that the catalog's enums give to kinds, reasons and origins. */
#include <string.h>

#include "common/lifecycle/records.h"

static const char *const lock_kinds[LOCK_KIND_COUNT] = {
    [LOCK_NONE] = "",       [LOCK_WRITE] = "write",   [LOCK_MERGE] = "merge",
    [LOCK_ALTER] = "alter", [LOCK_MANUAL] = "manual", [LOCK_REAP] = "reap",
};
static const char *const reasons[REASON_COUNT] = {
    [REASON_NONE] = "",     [REASON_ABANDONED] = "abandoned", [REASON_DECAY] = "decay", [REASON_DROP] = "drop",
    [REASON_PARK] = "park", [REASON_ALTER] = "alter",         [REASON_MERGE] = "merge",
};
static const char *const origins[ORIGIN_COUNT] = {
    [ORIGIN_INTAKE] = "intake",
    [ORIGIN_LOAD] = "load",
    [ORIGIN_MERGE] = "merge",
    [ORIGIN_ALTER] = "alter",
};

static MUST_CHECK enum err_code find_name(const char *text, const char *const *names, size_t count, const char *what,
                                          size_t *out, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], text) == 0) {
            *out = i;
            return OK;
        }
    }
    return err_set(err, ERR_INVALID, "expected a %s but found \"%.64s\"", what, text);
}

const char *lock_kind_name(enum lock_kind kind)
{
    return lock_kinds[kind];
}

const char *deactivation_reason_name(enum deactivation_reason reason)
{
    return reasons[reason];
}

const char *partition_origin_name(enum partition_origin origin)
{
    return origins[origin];
}

enum err_code lock_kind_parse(const char *text, enum lock_kind *out, struct error *err)
{
    size_t found = LOCK_NONE;
    TRY(find_name(text == NULL ? "" : text, lock_kinds, LOCK_KIND_COUNT, "kind of lock", &found, err));
    *out = (enum lock_kind)found;
    return OK;
}

enum err_code deactivation_reason_parse(const char *text, enum deactivation_reason *out, struct error *err)
{
    size_t found = REASON_NONE;
    TRY(find_name(text == NULL ? "" : text, reasons, REASON_COUNT, "reason of deactivation", &found, err));
    *out = (enum deactivation_reason)found;
    return OK;
}

enum err_code partition_origin_parse(const char *text, enum partition_origin *out, struct error *err)
{
    size_t found = ORIGIN_INTAKE;
    TRY(find_name(text == NULL ? "" : text, origins, ORIGIN_COUNT, "partition's origin", &found, err));
    *out = (enum partition_origin)found;
    return OK;
}
