/* The merge controller as a process: one leads, the others stand by. */
#ifndef GRANARY_MERGE_CONTROLLER_RUN_H
#define GRANARY_MERGE_CONTROLLER_RUN_H

#include "common/service/service.h"

MUST_CHECK enum err_code merge_run(struct service *service, const void *config, struct error *err);

#endif
