/* One run of the cleaner over all storages. */
#ifndef GRANARY_PARTITION_CLEANER_HANDLER_H
#define GRANARY_PARTITION_CLEANER_HANDLER_H

#include "common/service/service.h"

MUST_CHECK enum err_code partition_cleaner_open(struct service *service, const void *config, void **out_state,
                                                struct error *err);
MUST_CHECK enum err_code partition_cleaner_run(struct service *service, void *state, enum service_exit *out_exit,
                                               struct error *err);
void partition_cleaner_close(void *state);

#endif
