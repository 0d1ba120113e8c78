/* The reaper as a process: workers, and the gate that lets them work. */
#ifndef GRANARY_REAPER_RUN_H
#define GRANARY_REAPER_RUN_H

#include "common/service/service.h"

MUST_CHECK enum err_code reaper_run(struct service *service, const void *config, struct error *err);

#endif
