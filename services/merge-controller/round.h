/* One look at all tables: plan, reserve, publish. */
#ifndef GRANARY_MERGE_CONTROLLER_ROUND_H
#define GRANARY_MERGE_CONTROLLER_ROUND_H

#include "services/merge-controller/controller.h"

struct round_totals {
    size_t tables, planned, reserved;
};
/* A table that cannot be planned is told and passed over; ERR_CONFLICT: this process does not lead any more. */
MUST_CHECK enum err_code round_run(struct controller *controller, struct round_totals *out, struct error *err);

#endif
