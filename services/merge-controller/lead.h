/* What the leader does, until it leads no more. */
#ifndef GRANARY_MERGE_CONTROLLER_LEAD_H
#define GRANARY_MERGE_CONTROLLER_LEAD_H

#include "services/merge-controller/controller.h"

/* Returns when the service stops (OK) or another may lead (ERR_CONFLICT). Troubles in between are told and waited out. */
MUST_CHECK enum err_code lead(struct controller *controller, struct error *err);

#endif
