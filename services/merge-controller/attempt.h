/* The end of an attempt: commit or abandon. */
#ifndef GRANARY_MERGE_CONTROLLER_ATTEMPT_H
#define GRANARY_MERGE_CONTROLLER_ATTEMPT_H

#include "services/merge-controller/controller.h"
#include "services/merge-controller/plan.h"

/* The swap. ERR_CONFLICT, ERR_NOT_FOUND: the catalog has moved on; nothing changed. */
MUST_CHECK enum err_code attempt_commit(struct controller *controller, const struct catalog_merge_attempt *attempt,
                                        const struct event_rewrite *task, const struct uuid *inputs,
                                        const struct event_rewrite_result *result, struct error *err);
/* Inputs unlocked, output given up. `max_tries` of the table. */
MUST_CHECK enum err_code attempt_abandon(struct controller *controller, const struct catalog_merge_attempt *attempt,
                                         const struct merge_decision *decision, bool expired_only, struct error *err);

#endif
