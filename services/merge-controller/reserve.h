/* One planned merge becomes an attempt: rows first, then the task. */
#ifndef GRANARY_MERGE_CONTROLLER_RESERVE_H
#define GRANARY_MERGE_CONTROLLER_RESERVE_H

#include "common/lifecycle/merge_plan.h"
#include "services/merge-controller/controller.h"
#include "services/merge-controller/plan.h"

struct reserve_request {
    const struct table_record *table;
    const struct merge_task *task;
    const struct merge_schema *schema; /* of the output */
};
/* Locks the inputs, stages the output, publishes the task. ERR_CONFLICT: an input is not as planned any more, or this
 * process does not lead; ERR_NOT_FOUND: the table was dropped. Where the task cannot be published, the attempt is abandoned
 * again. */
MUST_CHECK enum err_code reserve_and_publish(struct controller *controller, const struct reserve_request *request,
                                             struct error *err);

#endif
