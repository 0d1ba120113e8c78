/* One rewrite task: lease, acknowledge, merge, publish the result. */
#ifndef GRANARY_REWRITER_HANDLER_H
#define GRANARY_REWRITER_HANDLER_H

#include "common/bus/bus.h"
#include "common/catalog/catalog.h"
#include "common/service/service.h"
#include "common/storages/storages.h"

struct rewriter_metrics {
    struct metric *done, *failed, *refused, *lost, *malformed;
    struct metric *rows, *bytes, *running;
    struct metric *seconds;
};
void rewriter_metrics_init(struct rewriter_metrics *metrics, struct metrics *registry);

struct rewriter {
    struct service *service;
    struct catalog *catalog; /* this worker's own */
    struct storages *storages;
    struct bus_consumer *consumer; /* likewise */
    struct bus_publisher *publisher;
    const char *name; /* of this worker: the holder of its leases */
    struct rewriter_metrics *metrics;
};

/* Does the task and settles the delivery, whatever happens. */
void rewriter_handle(struct rewriter *rewriter, struct bus_delivery *delivery_take);

#endif
