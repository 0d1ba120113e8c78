/* Reap events: what cleanup and collection tell the reaper. They are hints: any may be lost, doubled or stale, because the
 * reaper asks the catalog again. */
#ifndef GRANARY_HINTS_HINTS_H
#define GRANARY_HINTS_HINTS_H

#include "common/bus/bus.h"
#include "common/catalog/reap.h"

#define HINTS_QUEUE "reap"

/* The queue that carries them, for bus_declare. */
struct bus_queue_spec hints_queue(void);

/* May more be added? False at max_backlog waiting events. */
MUST_CHECK enum err_code hints_have_room(const struct bus_options *options, int64_t max_backlog, bool *out_room,
                                         struct error *err);
/* One event of at most 1,000 partitions of one table, confirmed by the broker. */
MUST_CHECK enum err_code hints_publish(struct bus_publisher *publisher, const struct uuid *table_id,
                                       const struct catalog_reap_item *items, size_t count, struct error *err);

#endif
