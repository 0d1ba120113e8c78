/* Results of rewriters, and leases that have run out. */
#ifndef GRANARY_MERGE_CONTROLLER_HANDLER_H
#define GRANARY_MERGE_CONTROLLER_HANDLER_H

#include "services/merge-controller/controller.h"

/* Commits or abandons what the result is about and settles the delivery, whatever happens. ERR_CONFLICT: this process does
 * not lead any more; the result went back to the queue. Everything else is dealt with here. */
MUST_CHECK enum err_code handler_result(struct controller *controller, struct bus_consumer *consumer,
                                        struct bus_delivery *delivery_take, struct error *err);
/* Abandons the attempts whose lease has run out. Call only when the results that had come before were handled. */
MUST_CHECK enum err_code handler_leases(struct controller *controller, struct error *err);
/* Publishes the tasks again that a former leader reserved and, perhaps, did not publish. A task that comes twice is refused
 * by its lease. */
MUST_CHECK enum err_code handler_republish(struct controller *controller, struct error *err);
/* Publishes one task. */
MUST_CHECK enum err_code handler_publish(struct controller *controller, const struct uuid *attempt_id, const char *pool,
                                         const char *task, struct error *err);

#endif
