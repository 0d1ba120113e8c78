/* The head: rows over HTTP, decoded as they come, on to the queue. */
#ifndef GRANARY_INTAKE_HEAD_HEAD_H
#define GRANARY_INTAKE_HEAD_HEAD_H

#include "common/bus/bus.h"
#include "common/http/http.h"
#include "common/metrics/metrics.h"
#include "services/intake/config.h"
#include "services/intake/tables.h"

struct head;

MUST_CHECK enum err_code head_open(const struct intake_config *config, const struct bus_options *bus,
                                   struct intake_tables *tables, struct metrics *metrics, struct head **out,
                                   struct error *err);
/* The listener may still be open: requests are answered with 503 from here on. */
void head_stop(struct head *head);
void head_close(struct head *head); /* after the listener was closed */
DEFINE_AUTO(struct head, head_close)

MUST_CHECK enum err_code head_check(struct head *head, struct error *err); /* is the broker there? */
const struct http_route *head_route(const struct head *head);              /* its context is the head */

#endif
