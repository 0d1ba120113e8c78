/* What the files of a load share.
 *
 *   load.c        its states, its bodies, its commit
 *   spill.c       rows that are gathered, and written where they have become too many
 *   view.c        what can be told of it */
#ifndef GRANARY_INTAKE_LOAD_INTERNAL_H
#define GRANARY_INTAKE_LOAD_INTERNAL_H

#include <pthread.h>

#include "common/publish/publish.h"
#include "services/intake/load/load.h"
#include "services/intake/shown.h"

struct load {
    struct load_options options;
    struct catalog *catalog; /* its own; opened when first asked */
    bool looked;             /* at the marker of the store: it is ours */

    pthread_mutex_t work;    /* of what follows; held while partitions are written. Taken before `lock` */
    struct publish *publish; /* NULL: nothing has been written yet */
    struct batch *rows, *rejects;
    struct load_bucket *buckets; /* of a dry run, ascending */
    size_t bucket_count, bucket_capacity;

    pthread_mutex_t lock; /* of what follows; never held for long */
    enum load_state state;
    struct error failure;
    struct load_totals totals;
    struct shown shown;
    unsigned bodies; /* under way */
    int64_t touched_us;
};

/* --- spill.c: under `work` ------------------------------------------------------------------------------------------ */

/* Takes rows in, and writes some when they have become too many. */
MUST_CHECK enum err_code load_gather(struct load *load, const struct batch *rows, struct error *err);
MUST_CHECK enum err_code load_gather_rejects(struct load *load, const struct ingest_reject *rejects, size_t count,
                                             const struct uuid *body_id, struct error *err);
/* There is a session to write in from then on. */
MUST_CHECK enum err_code load_need_publish(struct load *load, struct error *err);
/* Writes all that is gathered. */
MUST_CHECK enum err_code load_write_rest(struct load *load, struct error *err);
void load_drop_rows(struct load *load);

#endif
