/* The table of states and the table of transitions. Both stand literally here, in migrations/0002_guard.sql and, as a
 * third opinion, in the unit test: a change is made in all three, or a test fails. */
#include "common/lifecycle/state.h"

#include <stddef.h>
#include <stdint.h>

static const struct {
    struct lifecycle_key key;
    const char *name;
    const char *description;
} states[STATE_COUNT] = {
    [STATE_INVALID] = {{false, LOCK_NONE, REASON_NONE}, "invalid", "This combination is no state."},
    [STATE_STAGED_WRITE] = {{false, LOCK_WRITE, REASON_NONE},
                            "staged_write",
                            "A writer is writing it; it becomes active when the writer commits."},
    [STATE_STAGED_ALTER] = {{false, LOCK_ALTER, REASON_NONE},
                            "staged_alter",
                            "An alter job has written it; it becomes active when the job is committed."},
    [STATE_ACTIVE] = {{true, LOCK_NONE, REASON_NONE}, "active", "Queries read it, and nobody holds it."},
    [STATE_MERGING] = {{true, LOCK_MERGE, REASON_NONE},
                       "merging",
                       "Queries read it; it is an input of a merge that has not committed yet."},
    [STATE_ALTERING] = {{true, LOCK_ALTER, REASON_NONE},
                        "altering",
                        "Queries read it; it is an input of an alter job that has not been committed yet."},
    [STATE_PINNED] = {{true, LOCK_MANUAL, REASON_NONE},
                      "pinned",
                      "Queries read it; an operator holds it, so that every service leaves it alone."},
    [STATE_ABANDONED] = {{false, LOCK_NONE, REASON_ABANDONED},
                         "abandoned",
                         "Its writer gave it up; it was never active, and is reaped after abandoned.grace."},
    [STATE_DECAY_INACTIVE] =
        {{false, LOCK_NONE, REASON_DECAY},
         "decay_inactive",
         "All of its rows were older than age.max_age; it is reaped after reaper.max_age, and can be "
         "undone until then."},
    [STATE_DROP_INACTIVE] = {{false, LOCK_NONE, REASON_DROP},
                             "drop_inactive",
                             "Its table was dropped; it is reaped after reaper.max_age."},
    [STATE_PARK_INACTIVE] =
        {{false, LOCK_NONE, REASON_PARK},
         "park_inactive",
         "It was parked and then released; it is reaped after reaper.max_age, and can be undone until "
         "then."},
    [STATE_ALTER_INACTIVE] = {{false, LOCK_NONE, REASON_ALTER},
                              "alter_inactive",
                              "An alter job replaced it; its rows live on in the job's outputs, and it is reaped after "
                              "reaper.max_age."},
    [STATE_MERGE_INACTIVE] = {{false, LOCK_NONE, REASON_MERGE},
                              "merge_inactive",
                              "A merge replaced it; its rows live on in the output, and it is reaped after "
                              "merge.cleanup_grace."},
    [STATE_RETIRED] = {{false, LOCK_MERGE, REASON_MERGE},
                       "retired",
                       "A merge replaced it; its rows live on in the output, and it waits for the merge cleanup."},
    [STATE_ABANDONED_REAPING] = {{false, LOCK_REAP, REASON_ABANDONED},
                                 "abandoned_reaping",
                                 "A reaper is deleting it; its writer had given it up."},
    [STATE_DECAY_REAPING] = {{false, LOCK_REAP, REASON_DECAY},
                             "decay_reaping",
                             "A reaper is deleting it; all of its rows were older than age.max_age."},
    [STATE_DROP_REAPING] = {{false, LOCK_REAP, REASON_DROP},
                            "drop_reaping",
                            "A reaper is deleting it; its table was dropped."},
    [STATE_PARK_REAPING] = {{false, LOCK_REAP, REASON_PARK},
                            "park_reaping",
                            "A reaper is deleting it; it had been parked and released."},
    [STATE_ALTER_REAPING] = {{false, LOCK_REAP, REASON_ALTER},
                             "alter_reaping",
                             "A reaper is deleting it; an alter job had replaced it."},
    [STATE_MERGE_REAPING] = {{false, LOCK_REAP, REASON_MERGE},
                             "merge_reaping",
                             "A reaper is deleting it; a merge had replaced it."},
    [STATE_PARKED] = {{false, LOCK_MANUAL, REASON_PARK},
                      "parked",
                      "An operator took it out of queries; its data stay until the operator decides."},
};

/* For each state the set of states that may follow it. A reap claim may follow a claim (the guard asks that the former
 * one has expired); every other state that stays as it is has made no transition. */
#define TO(state) (UINT32_C(1) << (state))
_Static_assert(STATE_COUNT <= 32, "a set of states is a 32-bit mask");

static const uint32_t followers[STATE_COUNT] = {
    [STATE_STAGED_WRITE] = TO(STATE_ACTIVE) | TO(STATE_ABANDONED),
    [STATE_STAGED_ALTER] = TO(STATE_ACTIVE) | TO(STATE_ABANDONED),
    [STATE_ACTIVE] = TO(STATE_MERGING) | TO(STATE_ALTERING) | TO(STATE_PINNED) | TO(STATE_DECAY_INACTIVE) |
                     TO(STATE_DROP_INACTIVE) | TO(STATE_PARKED),
    [STATE_MERGING] = TO(STATE_ACTIVE) | TO(STATE_RETIRED),
    [STATE_ALTERING] = TO(STATE_ACTIVE) | TO(STATE_ALTER_INACTIVE),
    [STATE_PINNED] = TO(STATE_ACTIVE) | TO(STATE_PARKED),
    [STATE_ABANDONED] = TO(STATE_ABANDONED_REAPING),
    [STATE_DECAY_INACTIVE] = TO(STATE_ACTIVE) | TO(STATE_DECAY_REAPING),
    [STATE_DROP_INACTIVE] = TO(STATE_ACTIVE) | TO(STATE_DROP_REAPING),
    [STATE_PARK_INACTIVE] = TO(STATE_ACTIVE) | TO(STATE_PARK_REAPING),
    [STATE_ALTER_INACTIVE] = TO(STATE_ALTER_REAPING),
    [STATE_MERGE_INACTIVE] = TO(STATE_MERGE_REAPING),
    [STATE_RETIRED] = TO(STATE_MERGE_INACTIVE),
    [STATE_ABANDONED_REAPING] = TO(STATE_ABANDONED_REAPING),
    [STATE_DECAY_REAPING] = TO(STATE_DECAY_REAPING),
    [STATE_DROP_REAPING] = TO(STATE_DROP_REAPING),
    [STATE_PARK_REAPING] = TO(STATE_PARK_REAPING),
    [STATE_ALTER_REAPING] = TO(STATE_ALTER_REAPING),
    [STATE_MERGE_REAPING] = TO(STATE_MERGE_REAPING),
    [STATE_PARKED] = TO(STATE_ACTIVE) | TO(STATE_PARK_INACTIVE),
};

enum lifecycle_state lifecycle_state_of(const struct lifecycle_key *key)
{
    for (enum lifecycle_state state = STATE_INVALID + 1; state < STATE_COUNT; state++) {
        const struct lifecycle_key *known = &states[state].key;
        if (known->active == key->active && known->lock == key->lock && known->reason == key->reason) {
            return state;
        }
    }
    return STATE_INVALID;
}

const char *lifecycle_state_name(enum lifecycle_state state)
{
    return states[state].name;
}

const char *lifecycle_state_description(enum lifecycle_state state)
{
    return states[state].description;
}

bool lifecycle_transition_allowed(const struct lifecycle_key *from, const struct lifecycle_key *to)
{
    enum lifecycle_state next = lifecycle_state_of(to);
    return next != STATE_INVALID && (followers[lifecycle_state_of(from)] & TO(next)) != 0;
}

bool lifecycle_insert_allowed(const struct lifecycle_key *key)
{
    enum lifecycle_state state = lifecycle_state_of(key);
    return state == STATE_STAGED_WRITE || state == STATE_STAGED_ALTER;
}

bool lifecycle_delete_allowed(const struct lifecycle_key *key)
{
    return lifecycle_state_of(key) != STATE_INVALID && key->lock == LOCK_REAP;
}
