/* The decisions of this service: pure. The rows are locked, the clock is the database's. */
#ifndef GRANARY_ADMIN_PLAN_H
#define GRANARY_ADMIN_PLAN_H

#include "common/catalog/admin_partitions.h"
#include "common/catalog/admin_plans.h"

/* What is past retention at now_us is older than this: INT64_MIN for nothing, INT64_MAX for everything of a dropped
 * table. The same as decay takes. */
int64_t plan_cutoff_us(const struct table_record *table, int64_t now_us);
/* The cutoff by the age.max_age of the settings, as if no shortening had to cool down. */
int64_t plan_wanted_cutoff_us(const struct table_record *table, int64_t now_us);

enum plan_change { PLAN_UNDO, PLAN_PARK, PLAN_UNPARK_ACTIVE, PLAN_UNPARK_INACTIVE, PLAN_LOCK, PLAN_UNLOCK };
/* Why the change is refused (a sentence without its full stop), or NULL when it may be made. */
const char *plan_refusal(enum plan_change change, const struct catalog_admin_partition *partition);

/* Why applying a plan has passed over a partition. */
const char *plan_skip_reason(const struct catalog_plan_skip *skip);

#endif
