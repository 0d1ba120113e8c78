/* The rewriter as a process: one worker for each pool, so that memory is bounded by the number of pools. */
#ifndef GRANARY_REWRITER_RUN_H
#define GRANARY_REWRITER_RUN_H

#include "common/service/service.h"

MUST_CHECK enum err_code rewriter_run(struct service *service, const void *config, struct error *err);

#endif
