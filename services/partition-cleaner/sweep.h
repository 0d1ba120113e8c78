/* Uploads in parts that a killed writer has left open. */
#ifndef GRANARY_PARTITION_CLEANER_SWEEP_H
#define GRANARY_PARTITION_CLEANER_SWEEP_H

#include "services/partition-cleaner/cleaning.h"

/* Counts those that were begun before the grace, and ends them if told to. No row can name what was never finished, so that
 * nothing is compared. A store that does not let us is told of and no failure: a lifecycle rule does the same.
 * ERR_STOPPED: the process drains. */
MUST_CHECK enum err_code sweep_uploads(struct cleaner *cleaner, const struct fsck_place *place, bool ends,
                                       struct cleaner_progress *progress, struct error *err);

#endif
