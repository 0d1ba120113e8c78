/* Whose turn it is: pure. The queue is short and the reaper takes it from the front, so that a table with a million
 * partitions must not fill it alone: tables take turns, one event each. */
#ifndef GRANARY_REAP_COLLECTION_PLAN_H
#define GRANARY_REAP_COLLECTION_PLAN_H

#include "common/catalog/reap.h"

struct collection_turn {
    struct uuid table_id;
    bool begun;                    /* `last` counts */
    struct catalog_reap_item last; /* how far it has been collected */
};
struct collection_turns {
    struct collection_turn *turns; /* those that may have more, in order */
    size_t count, capacity;
    size_t next;
};
void collection_turns_done(struct collection_turns *turns);

MUST_CHECK enum err_code collection_turns_add(struct collection_turns *turns, const struct uuid *table_id,
                                              struct error *err);
/* Begins at any place, so that no table is always the last of a run that ends early. */
void collection_turns_begin(struct collection_turns *turns, uint64_t random);
/* Whose turn it is; NULL when all are through. */
struct collection_turn *collection_turns_take(struct collection_turns *turns);
/* After a turn: `last` of what was collected; NULL when the table is through. */
void collection_turns_give(struct collection_turns *turns, const struct catalog_reap_item *last);

#endif
