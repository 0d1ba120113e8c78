/* How many more tasks each pool of rewriters may be given in this round. */
#ifndef GRANARY_MERGE_CONTROLLER_POOLS_H
#define GRANARY_MERGE_CONTROLLER_POOLS_H

#include "services/merge-controller/controller.h"

struct pools;

/* Memory is the arena's. Queues are looked at when they are first asked for. */
MUST_CHECK enum err_code pools_open(struct controller *controller, struct arena *arena, struct pools **out,
                                    struct error *err);
/* Borrowed; what is taken from *out_budget is taken for the round. */
MUST_CHECK enum err_code pools_budget(struct pools *pools, const char *pool, int64_t **out_budget, struct error *err);

#endif
