/* The work queues that there are: fixed ones, and one for each pool of rewriters that a table's settings name. */
#ifndef GRANARY_ADMIN_QUEUES_H
#define GRANARY_ADMIN_QUEUES_H

#include "services/admin/admin.h"

/* Names in the arena, without those of dead letters. */
MUST_CHECK enum err_code queues_list(struct call *call, const char ***out, size_t *out_count, struct error *err);
/* "<queue>.dead", in the arena; NULL when out of memory. */
const char *queues_dead(struct call *call, const char *queue);

#endif
