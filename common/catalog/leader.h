/* Leadership: an advisory lock of a session, and an epoch that fences the commits of former leaders. The lock says who may
 * lead now; the epoch, which grows with every election, makes sure that one who has lost the lock without noticing commits
 * nothing. The connection must be a direct one: a pooler would hand the session, and the lock with it, to somebody else. */
#ifndef GRANARY_CATALOG_LEADER_H
#define GRANARY_CATALOG_LEADER_H

#include "common/catalog/catalog.h"

struct catalog_leadership {
    int64_t epoch;
    uint64_t session; /* of the connection that holds the lock */
};

/* Does not wait. *out_leads false: another leads; *out is untouched then. */
MUST_CHECK enum err_code catalog_leader_try(struct catalog *catalog, const char *name, const char *holder,
                                            bool *out_leads, struct catalog_leadership *out, struct error *err);
/* Really asks. ERR_CONFLICT: the session that held the lock is gone, or a later epoch has begun. */
MUST_CHECK enum err_code catalog_leader_check(struct catalog *catalog, const char *name,
                                              const struct catalog_leadership *leadership, struct error *err);
/* Gives the lock back, so that a standby need not wait for the session to end. */
MUST_CHECK enum err_code catalog_leader_resign(struct catalog *catalog, const char *name, struct error *err);
/* In every transaction that only a leader may commit: ERR_CONFLICT when a later epoch has begun. None begins before this
 * transaction ends. */
MUST_CHECK enum err_code catalog_leader_fence(struct catalog_transaction *transaction, const char *name, int64_t epoch,
                                              struct error *err);

#endif
