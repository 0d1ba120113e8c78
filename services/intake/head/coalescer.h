/* Requests that arrive together share one message and one confirm. A thread of its own gathers segments by table and schema
 * version and publishes them; each request is answered, or handed to the asker, when the broker has confirmed. */
#ifndef GRANARY_INTAKE_HEAD_COALESCER_H
#define GRANARY_INTAKE_HEAD_COALESCER_H

#include <stdatomic.h>

#include "common/bus/bus.h"
#include "common/metrics/metrics.h"
#include "services/intake/head/request.h"

struct asker;
struct coalescer;

struct coalescer_options {
    struct bus_publisher *publisher;
    struct intake_tables *tables; /* for its clock */
    struct asker *asker;          /* takes requests that wait for the commit */
    const atomic_uint *decoding;  /* requests being read now */
    int64_t linger_us;
    struct metric *messages, *segments, *queue_full;
};
MUST_CHECK enum err_code coalescer_open(const struct coalescer_options *options, struct coalescer **out,
                                        struct error *err);
/* The publisher must be closed before: its answers come here. */
void coalescer_close(struct coalescer *coalescer);
/* First step of closing: publishes what is gathered, waits a few seconds for its confirms, and ends the thread. From here on
 * what is submitted fails with ERR_STOPPED. */
void coalescer_stop(struct coalescer *coalescer);
void coalescer_submit(struct coalescer *coalescer, struct request *request_take);
/* A request has been read or has gone away: perhaps nobody is to be waited for any more. */
void coalescer_wake(struct coalescer *coalescer);

#endif
