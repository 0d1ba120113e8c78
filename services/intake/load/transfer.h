/* Requests that bring rows of a load: handlers of routes, whose context is the loads. */
#ifndef GRANARY_INTAKE_LOAD_TRANSFER_H
#define GRANARY_INTAKE_LOAD_TRANSFER_H

#include "common/http/http.h"

/* A body of a session. */
MUST_CHECK enum err_code load_transfer_begin_rows(void *context, struct http_request *http, void **out,
                                                  struct error *err);
MUST_CHECK enum err_code load_transfer_handle_rows(void *context, struct http_request *http, struct error *err);
/* A load of one request. */
MUST_CHECK enum err_code load_transfer_begin_whole(void *context, struct http_request *http, void **out,
                                                   struct error *err);
MUST_CHECK enum err_code load_transfer_handle_whole(void *context, struct http_request *http, struct error *err);
/* Of both. */
MUST_CHECK enum err_code load_transfer_take(void *context, void *state, const void *data, size_t length,
                                            struct error *err);
void load_transfer_end(void *context, void *state);

#endif
