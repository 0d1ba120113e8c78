/* A consumer's inside, shared by consumer.c (the connection) and settle.c (what becomes of deliveries). Private to bus.
 */
#ifndef GRANARY_BUS_CONSUMER_H
#define GRANARY_BUS_CONSUMER_H

#include "common/bus/delivery.h"

struct bus_consumer {
    struct bus_link link;           /* its lock guards the next lines */
    struct delivery_queue arrived;  /* not yet given to a caller */
    struct delivery_queue verdicts; /* settled by callers, or by a copy's confirm */
    size_t settling;                /* settled and not yet gone to the broker */
    bool paused;
    pthread_cond_t on_arrival, on_settled;

    _Atomic uint64_t epoch; /* counts connections: a delivery of an older one is stale */

    char *queue; /* set once, as the next lines */
    uint16_t prefetch;

    struct bus_publisher *copies; /* the thread's own, as the next lines; opened when first needed */
    struct delivery_list unsettled;
    bool consuming;
    enum { CONTENT_NONE, CONTENT_HEADER, CONTENT_BODY } content; /* what the next frame belongs to */
    uint64_t content_tag;
    struct delivery *incoming; /* NULL while a message that is too large passes by */
    uint64_t incoming_bytes, incoming_wanted_bytes;
};

/* On the consumer's thread: carries out what callers decided. */
MUST_CHECK enum err_code bus_consumer_settle_all(struct bus_consumer *consumer, struct error *err);
/* After the connection is gone: nothing of it can be settled any more. */
void bus_consumer_forget_unsettled(struct bus_consumer *consumer);
bool bus_consumer_is_stale(const struct delivery *delivery);

#endif
