/* Why a partition is where it is, and what happens next: pure. Texts live in the arena given. */
#ifndef GRANARY_ADMIN_EXPLAIN_H
#define GRANARY_ADMIN_EXPLAIN_H

#include "common/catalog/admin_history.h"
#include "common/catalog/admin_holds.h"
#include "common/catalog/admin_partitions.h"

struct explain_input {
    const struct catalog_admin_partition *partition;
    const struct table_record *table;
    const struct catalog_hold *holds; /* that stand over it */
    size_t hold_count;
    const struct catalog_admin_failure *failure;
    size_t parent_count, child_count;
    int64_t missing_since_us; /* its object was found to be gone; CLOCK_NEVER: it was not */
    bool deleting_paused;
    const char *paused_by;
    int64_t now_us; /* of the database */
};

enum { EXPLAIN_MAX_DETAILS = 12 };
#define EXPLAIN_NO_TIME INT64_MIN

struct explanation {
    const char *state, *summary;
    const char *details[EXPLAIN_MAX_DETAILS];
    size_t detail_count;
    const char *grace_setting;          /* NULL: no grace applies */
    int64_t grace_us, grace_over_at_us; /* CLOCK_NEVER, EXPLAIN_NO_TIME: it never ends */
    const char *next_what, *next_who;   /* who NULL: nobody */
    int64_t next_when_us;               /* EXPLAIN_NO_TIME: not known, or never */
};
MUST_CHECK enum err_code explain_partition(const struct explain_input *input, struct arena *arena,
                                           struct explanation *out, struct error *err);
/* Of a partition that is gone. */
MUST_CHECK enum err_code explain_deleted(const struct catalog_receipt *receipt, struct arena *arena,
                                         struct explanation *out, struct error *err);

#endif
