/* What the files of a publish session share. */
#ifndef GRANARY_PUBLISH_INTERNAL_H
#define GRANARY_PUBLISH_INTERNAL_H

#include <stdatomic.h>

#include "common/partition/writer.h"
#include "common/publish/publish.h"

struct piece {
    struct publish_piece given;
    struct partition_record record; /* as staged; with measurements once written */
    char path[PARTITION_PATH_BYTES];
    struct store *store; /* known once staged */
    struct partition_facts facts;
};

enum publish_state {
    PUBLISH_OPEN,
    PUBLISH_FAILED,    /* what is staged is to be given up */
    PUBLISH_UNCERTAIN, /* a commit may have landed: nothing may be given up */
    PUBLISH_COMMITTED
};

struct publish {
    struct publish_options options;
    char *owner, *reason;
    enum publish_state state;
    struct piece **pieces; /* owned; they do not move */
    size_t piece_count, piece_capacity;
    size_t staged_count, written_count; /* of the first pieces */

    struct catalog_lock lock;    /* nil id: nothing is staged */
    int64_t renew_at_us;         /* of the monotonic clock */
    _Atomic int64_t deadline_us; /* likewise: end of the last confirmed lease; read by the threads that write */
};

/* Notes a lease that was asked for at `asked_us`. What is left of it is counted from the asking, so that it never ends later
 * for us than for the database. */
void publish_note_lease(struct publish *publish, const struct catalog_lock *lock, int64_t asked_us);

/* Renews where it is due. A catalog that is away is asked again later: until the lease is over, nothing is lost. */
MUST_CHECK enum err_code publish_renew(struct publish *publish, struct error *err);

/* Writes the pieces that are staged and not written; the calling thread sees to the lease. */
MUST_CHECK enum err_code publish_write_pieces(struct publish *publish, struct error *err);

#endif
