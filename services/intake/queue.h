/* The queue between head and writer. */
#ifndef GRANARY_INTAKE_QUEUE_H
#define GRANARY_INTAKE_QUEUE_H

#include "common/bus/bus.h"

#define INTAKE_QUEUE "intake"

static inline struct bus_queue_spec intake_queue(int64_t max_bytes)
{
    return (struct bus_queue_spec){.name = INTAKE_QUEUE, .max_length_bytes = max_bytes, .unlimited_delivery = true};
}

#endif
