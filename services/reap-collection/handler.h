/* One run of reap collection over all tables. */
#ifndef GRANARY_REAP_COLLECTION_HANDLER_H
#define GRANARY_REAP_COLLECTION_HANDLER_H

#include "common/service/service.h"

MUST_CHECK enum err_code reap_collection_open(struct service *service, const void *config, void **out_state,
                                              struct error *err);
MUST_CHECK enum err_code reap_collection_run(struct service *service, void *state, enum service_exit *out_exit,
                                             struct error *err);
void reap_collection_close(void *state);

#endif
