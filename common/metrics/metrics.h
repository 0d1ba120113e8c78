/* Prometheus metrics (text format 0.0.4). Registering happens at start; updates are atomic and lock free.
 * Names: granary_<component>_..., base units, counters end in _total. */
#ifndef GRANARY_METRICS_METRICS_H
#define GRANARY_METRICS_METRICS_H

#include <stdint.h>

#include "common/base/buf.h"

struct metrics; /* a registry; one per process, owned by common/service */
struct metric;  /* one series; lives as long as its registry */

struct metrics *metrics_new(void);
void metrics_free(struct metrics *metrics);
DEFINE_AUTO(struct metrics, metrics_free)

/* labels: NULL or a literal list such as "kind=\"merge\",pool=\"small\"" (values already safe). The same name and labels
 * give the same metric. Never NULL: ends the process when out of memory or when a name is malformed or clashes in kind. */
struct metric *metrics_counter(struct metrics *metrics, const char *name, const char *labels, const char *help);
struct metric *metrics_gauge(struct metrics *metrics, const char *name, const char *labels, const char *help);
/* Seconds, buckets 1 ms .. 60 s in steps of 1-2.5-5. */
struct metric *metrics_histogram(struct metrics *metrics, const char *name, const char *labels, const char *help);

void metric_add(struct metric *metric, int64_t by);                 /* counter, gauge */
void metric_set(struct metric *metric, double value);               /* gauge */
void metric_observe_us(struct metric *metric, int64_t duration_us); /* histogram */
int64_t metric_value(const struct metric *metric);                  /* counter or gauge, for tests and status */

MUST_CHECK enum err_code metrics_format(struct metrics *metrics, struct buf *out, struct error *err);

#endif
