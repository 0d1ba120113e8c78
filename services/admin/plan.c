#include "services/admin/plan.h"

int64_t plan_cutoff_us(const struct table_record *table, int64_t now_us)
{
    return table->dropped ? INT64_MAX : retention_cutoff_us(table->retention_us, now_us);
}

int64_t plan_wanted_cutoff_us(const struct table_record *table, int64_t now_us)
{
    return table->dropped ? INT64_MAX : retention_cutoff_us(table->settings.age_max_age_us, now_us);
}

/* What the partition is now, as the reason why it is not what the change needs. */
static const char *state_as_reason(const struct catalog_admin_partition *partition)
{
    const struct lifecycle_key key = {partition->partition.active, partition->partition.lock_kind,
                                      partition->partition.reason};
    switch (lifecycle_state_of(&key)) {
    case STATE_STAGED_WRITE:
    case STATE_STAGED_ALTER: return "it is staged: its writer has not published it yet";
    case STATE_ACTIVE: return "it is active and unlocked";
    case STATE_MERGING: return "a merge has reserved it";
    case STATE_ALTERING: return "an alter job has reserved it";
    case STATE_PINNED: return "it is locked by hand; unlock it first";
    case STATE_ABANDONED: return "its writer gave it up: it was never live";
    case STATE_DECAY_INACTIVE: return "it has decayed; undo makes it active again";
    case STATE_DROP_INACTIVE: return "it went with its dropped table";
    case STATE_PARK_INACTIVE: return "it was parked and then released; undo makes it active again";
    case STATE_ALTER_INACTIVE: return "an alter job replaced it: its rows live on in the outputs";
    case STATE_MERGE_INACTIVE:
    case STATE_RETIRED: return "it was merged: its rows live on in the output";
    case STATE_ABANDONED_REAPING:
    case STATE_DECAY_REAPING:
    case STATE_DROP_REAPING:
    case STATE_PARK_REAPING:
    case STATE_ALTER_REAPING:
    case STATE_MERGE_REAPING: return "a reaper has claimed it: there is no way back";
    case STATE_PARKED: return "it is parked; unpark it";
    case STATE_INVALID:
    case STATE_COUNT: break;
    }
    return "its state is unknown";
}

static bool allowed(enum plan_change change, enum lifecycle_state state)
{
    switch (change) {
    case PLAN_UNDO:
        return state == STATE_DECAY_INACTIVE || state == STATE_DROP_INACTIVE || state == STATE_PARK_INACTIVE;
    case PLAN_PARK: return state == STATE_ACTIVE || state == STATE_PINNED;
    case PLAN_UNPARK_ACTIVE:
    case PLAN_UNPARK_INACTIVE: return state == STATE_PARKED;
    case PLAN_LOCK: return state == STATE_ACTIVE;
    case PLAN_UNLOCK: return state == STATE_PINNED;
    }
    return false;
}

const char *plan_refusal(enum plan_change change, const struct catalog_admin_partition *partition)
{
    const struct lifecycle_key key = {partition->partition.active, partition->partition.lock_kind,
                                      partition->partition.reason};
    if (!allowed(change, lifecycle_state_of(&key))) {
        return state_as_reason(partition);
    }
    bool makes_active = change == PLAN_UNDO || change == PLAN_UNPARK_ACTIVE;
    return makes_active && partition->table_dropped ? "its table is dropped" : NULL;
}

const char *plan_skip_reason(const struct catalog_plan_skip *skip)
{
    if (!skip->exists) {
        return "it is deleted";
    }
    if (skip->held) {
        return "a hold keeps it";
    }
    if (skip->lock_kind != LOCK_NONE) {
        return skip->active ? "it is locked" : "it is no longer active";
    }
    if (!skip->active) {
        return "it is no longer active";
    }
    return skip->same_version ? "it is no longer past retention, or deleting was paused"
                              : "it has changed since the plan was made";
}
