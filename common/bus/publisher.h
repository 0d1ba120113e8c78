/* A publisher's inside, shared by publisher.c (the connection) and outbox.c (what waits). Private to bus. */
#ifndef GRANARY_BUS_PUBLISHER_H
#define GRANARY_BUS_PUBLISHER_H

#include "common/bus/internal.h"

struct entry {
    struct entry *next;
    struct bus_outgoing message; /* its texts are in `storage` */
    bus_done_fn *done;
    void *context;
    int64_t since_us; /* queued, then sent */
    size_t cost_bytes;
    bool returned; /* no queue took it */
    char storage[];
};

struct bus_publisher {
    struct bus_link link; /* its lock guards the next lines */
    struct entry *first, **last_next;
    size_t in_flight_bytes;
    bool blocked; /* the broker is in alarm */
    pthread_cond_t room;

    size_t max_in_flight_bytes;
    char *queue;              /* declare the ladder and <queue>.dead for this one; may be NULL */
    struct bus_window window; /* the thread's own, as the next lines */
    bool in_return;           /* a returned message's header and body follow */
};

/* The entry and its texts; its body too when the message says so. NULL when out of memory. */
struct entry *bus_outbox_entry_new(const struct bus_outgoing *message);
/* Calls done and frees the entry. The lock is not held. */
void bus_outbox_complete(struct bus_publisher *publisher, struct entry *entry, enum err_code code,
                         const struct error *err);
/* The first queued entry if it was queued before the time; NULL otherwise. */
struct entry *bus_outbox_pop(struct bus_publisher *publisher, int64_t before_us);
bool bus_outbox_is_empty(struct bus_publisher *publisher);
void bus_outbox_fail(struct bus_publisher *publisher, int64_t before_us, const struct error *err);

#endif
