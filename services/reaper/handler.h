/* One reap event: claim, delete the objects, delete the rows. */
#ifndef GRANARY_REAPER_HANDLER_H
#define GRANARY_REAPER_HANDLER_H

#include "common/bus/bus.h"
#include "common/catalog/catalog.h"
#include "common/gate/gate.h"
#include "common/metrics/metrics.h"

struct reaper_metrics {
    struct metric *deleted, *failed, *stale, *absent_objects, *kept_objects, *events, *malformed;
    struct metric *seconds;
};
void reaper_metrics_init(struct reaper_metrics *metrics, struct metrics *registry);

struct reaper {
    struct catalog *catalog; /* this worker's own */
    struct storages *storages;
    struct gate *gate;
    struct bus_consumer *consumer;
    const struct bus_options *bus;
    const char *owner;
    int64_t lease_us;
    uint64_t verify_one_in; /* of the objects that a store says it has deleted; 0: none */
    struct reaper_metrics *metrics;
};

/* Does what the event hints at and settles the delivery, whatever happens. */
void reaper_handle(struct reaper *reaper, struct bus_delivery *delivery_take);

#endif
