/* The states of a partition and the transitions between them: the same table as the guard in migrations/0002_guard.sql.
 * Pure. Source: docs/architecture.md, "The life of a partition". */
#ifndef GRANARY_LIFECYCLE_STATE_H
#define GRANARY_LIFECYCLE_STATE_H

#include <stdbool.h>

#include "common/base/error.h"

enum lock_kind { LOCK_NONE, LOCK_WRITE, LOCK_MERGE, LOCK_ALTER, LOCK_MANUAL, LOCK_REAP, LOCK_KIND_COUNT };
enum deactivation_reason {
    REASON_NONE,
    REASON_ABANDONED,
    REASON_DECAY,
    REASON_DROP,
    REASON_PARK,
    REASON_ALTER,
    REASON_MERGE,
    REASON_COUNT
};
enum partition_origin { ORIGIN_INTAKE, ORIGIN_LOAD, ORIGIN_MERGE, ORIGIN_ALTER, ORIGIN_COUNT };

/* The key of a state. */
struct lifecycle_key {
    bool active;
    enum lock_kind lock;
    enum deactivation_reason reason;
};

enum lifecycle_state {
    STATE_INVALID, /* a key that is no state */
    STATE_STAGED_WRITE,
    STATE_STAGED_ALTER,
    STATE_ACTIVE,
    STATE_MERGING,
    STATE_ALTERING,
    STATE_PINNED,
    STATE_ABANDONED,
    STATE_DECAY_INACTIVE,
    STATE_DROP_INACTIVE,
    STATE_PARK_INACTIVE,
    STATE_ALTER_INACTIVE,
    STATE_MERGE_INACTIVE,
    STATE_RETIRED,
    STATE_ABANDONED_REAPING,
    STATE_DECAY_REAPING,
    STATE_DROP_REAPING,
    STATE_PARK_REAPING,
    STATE_ALTER_REAPING,
    STATE_MERGE_REAPING,
    STATE_PARKED,
    STATE_COUNT
};

enum lifecycle_state lifecycle_state_of(const struct lifecycle_key *key);
const char *lifecycle_state_name(enum lifecycle_state state); /* as granary.partition_state says: "staged_write" */
const char *lifecycle_state_description(enum lifecycle_state state); /* one sentence for `granary explain` */
/* May a partition go from one to the other? A claim taken over by another reaper counts as a transition to itself. */
bool lifecycle_transition_allowed(const struct lifecycle_key *from, const struct lifecycle_key *to);
bool lifecycle_insert_allowed(const struct lifecycle_key *key);
bool lifecycle_delete_allowed(const struct lifecycle_key *key);

/* Names as the catalog's enums have them; "" for NONE. parse of NULL or "" gives NONE. */
const char *lock_kind_name(enum lock_kind kind);
const char *deactivation_reason_name(enum deactivation_reason reason);
const char *partition_origin_name(enum partition_origin origin);
MUST_CHECK enum err_code lock_kind_parse(const char *text, enum lock_kind *out, struct error *err);
MUST_CHECK enum err_code deactivation_reason_parse(const char *text, enum deactivation_reason *out, struct error *err);
MUST_CHECK enum err_code partition_origin_parse(const char *text, enum partition_origin *out, struct error *err);

#endif
