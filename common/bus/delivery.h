/* One delivery, and the list of those that the broker waits for. Private to bus. */
#ifndef GRANARY_BUS_DELIVERY_H
#define GRANARY_BUS_DELIVERY_H

#include "common/bus/internal.h"

struct delivery {
    struct bus_delivery public; /* first: what callers hold */
    struct bus_consumer *consumer;
    uint64_t epoch; /* of the consumer's connection that brought it */
    const char *content_type;

    struct delivery *previous, *next; /* among the unsettled, in the broker's order; the consumer's thread only */
    bool unsettled, acknowledged;     /* likewise */

    struct delivery *queue_next; /* in the one queue that has it now */
    enum bus_fate fate;
    char *reason;     /* owned, or NULL */
    void *other_body; /* owned: what the delayed copy carries instead; NULL for the same */
    size_t other_body_bytes;
    char storage[];
};

/* With room for body_bytes, which the caller fills at bus_delivery_body. NULL when out of memory. */
struct delivery *bus_delivery_new(const amqp_basic_properties_t *properties, size_t body_bytes, uint64_t tag);
uint8_t *bus_delivery_body(struct delivery *delivery);
void bus_delivery_free(struct delivery *delivery);

struct delivery_queue {
    struct delivery *first, *last;
};
void bus_delivery_queue_push(struct delivery_queue *queue, struct delivery *delivery);
struct delivery *bus_delivery_queue_pop(struct delivery_queue *queue); /* NULL when empty */

/* Unsettled deliveries, oldest first. */
struct delivery_list {
    struct delivery *first, *last;
};
void bus_delivery_list_append(struct delivery_list *list, struct delivery *delivery);
void bus_delivery_list_remove(struct delivery_list *list, struct delivery *delivery); /* nothing when it is not in it */
/* Removes the acknowledged ones at the front: all up to the returned tag can be acknowledged at once. 0: none. */
uint64_t bus_delivery_list_pop_acknowledged(struct delivery_list *list);

#endif
