/* Plans of orphans, as far as showing and applying them differ from plans of retention. */
#ifndef GRANARY_ADMIN_ORPHANS_H
#define GRANARY_ADMIN_ORPHANS_H

#include "common/catalog/admin_plans.h"
#include "services/admin/admin.h"

bool orphans_is_plan(const struct catalog_plan *plan);
MUST_CHECK enum err_code orphans_reply_plan(struct call *call, const struct catalog_plan *plan, struct error *err);
/* Deletes what the plan names, each looked up again, and replies. The plan is claimed first: ERR_CONFLICT when it was
 * applied before, or when marker or mark say no. */
MUST_CHECK enum err_code orphans_apply(struct call *call, const struct catalog_plan *plan, struct error *err);

#endif
