/* One run of merge cleanup. */
#ifndef GRANARY_MERGE_CLEANUP_HANDLER_H
#define GRANARY_MERGE_CLEANUP_HANDLER_H

#include "common/service/service.h"

MUST_CHECK enum err_code merge_cleanup_open(struct service *service, const void *config, void **out_state,
                                            struct error *err);
MUST_CHECK enum err_code merge_cleanup_run(struct service *service, void *state, enum service_exit *out_exit,
                                           struct error *err);
void merge_cleanup_close(void *state);

#endif
