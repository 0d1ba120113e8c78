/* Deleting orphans: the one way, for the cleaner's schedule and for plans. */
#ifndef GRANARY_FSCK_REMOVE_H
#define GRANARY_FSCK_REMOVE_H

#include "common/catalog/cleaner.h"
#include "common/gate/gate.h"

enum fsck_removal {
    FSCK_REMOVED,
    FSCK_WAS_ABSENT,
    FSCK_KEPT_NAMED, /* a row names it now */
    FSCK_KEPT_HELD,
    FSCK_KEPT_FAILED, /* the store refused */
    FSCK_REMOVAL_COUNT
};
const char *fsck_removal_name(enum fsck_removal removal); /* "deleted", "absent", "kept: a row names it" */

struct fsck_remover {
    struct catalog *catalog;
    struct store *store;
    int32_t storage_id;         /* whose store it is */
    struct gate *gate;          /* asked by this thread alone */
    const struct uuid *plan_id; /* NULL: the cleaner's own schedule */
    const char *actor;          /* for the receipts */
};
enum { FSCK_MAX_REMOVE = 1000 };
/* Asks the gate and the catalog once more, writes receipts without an answer, deletes, and writes the answers.
 * outcomes[i] is what became of orphans[i] (1 to FSCK_MAX_REMOVE, of the remover's storage, sorted by path, no path
 * twice); texts of failures live in the arena: errors[i] is NULL for everything else. Fails as a whole when something could
 * not be asked: then nothing, or nothing more, was deleted. */
MUST_CHECK enum err_code fsck_remove(const struct fsck_remover *remover, const struct catalog_orphan *orphans,
                                     size_t count, struct arena *arena, enum fsck_removal *outcomes,
                                     const char **errors, struct error *err);

#endif
