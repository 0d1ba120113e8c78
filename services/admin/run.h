/* The life of the process. */
#ifndef GRANARY_ADMIN_RUN_H
#define GRANARY_ADMIN_RUN_H

#include "common/service/service.h"

MUST_CHECK enum err_code admin_run(struct service *service, const void *config, struct error *err);

#endif
