/* One run of decay over all tables. */
#ifndef GRANARY_DECAY_HANDLER_H
#define GRANARY_DECAY_HANDLER_H

#include "common/service/service.h"

MUST_CHECK enum err_code decay_open(struct service *service, const void *config, void **out_state, struct error *err);
MUST_CHECK enum err_code decay_run(struct service *service, void *state, enum service_exit *out_exit,
                                   struct error *err);
void decay_close(void *state);

#endif
