/* One worker of the writer: gather, flush, settle. */
#ifndef GRANARY_INTAKE_WRITER_WORKER_H
#define GRANARY_INTAKE_WRITER_WORKER_H

#include "common/metrics/metrics.h"
#include "common/service/service.h"
#include "services/intake/writer/flush.h"

struct worker_metrics {
    struct metric *rows, *rejects, *partitions, *bytes, *batches, *duplicates, *dead, *flush_seconds, *failed_flushes;
};
void worker_metrics_init(struct worker_metrics *metrics, struct metrics *registry);

struct worker {
    struct service *service;
    struct catalog *catalog; /* its own */
    struct storages *storages;
    struct bus_consumer *consumer;
    struct intake_tables *tables;
    struct intake_bounds bounds;
    int64_t lease_us;
    unsigned threads;
    struct worker_metrics *metrics;
    struct gather gather;
};

/* Runs until the service stops. */
void worker_run(struct worker *worker);

#endif
