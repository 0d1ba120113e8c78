/* Intake as a process: the roles it has, and in which order they start and stop. */
#ifndef GRANARY_INTAKE_RUN_H
#define GRANARY_INTAKE_RUN_H

#include "common/service/service.h"

MUST_CHECK enum err_code intake_run(struct service *service, const void *config, struct error *err);

#endif
