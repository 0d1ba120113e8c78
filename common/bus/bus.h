/* RabbitMQ. Each publisher and each consumer owns one thread and one connection (librabbitmq shares none and serves
 * heartbeats only inside its calls), reconnects by itself with back-off, and re-declares what it needs.
 *
 * Topology (quorum queues, durable, persistent messages):
 *   exchange granary (direct)           routing key = queue name -> that queue
 *   exchange granary.delay.<ladder> (fanout) -> queue granary.delay.<ladder> (message TTL, dead-lettered at-least-once
 *                                       to exchange granary under the message's own routing key); 10s 1m 10m 1h
 *   queue <q>.dead                      bound to exchange granary by its name
 * Work queues: intake, merge.result, rewrite.<pool>, alter.result, reap. */
#ifndef GRANARY_BUS_BUS_H
#define GRANARY_BUS_BUS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/config/config.h"

struct bus_options {
    const char *url; /* amqp://user@host:port/vhost or amqps:// */
    const char *password;
    const char *ca_file;     /* "" for the system's */
    const char *client_name; /* shown in RabbitMQ's management */
    int64_t delays_us[4];    /* the ladder; all zero: 10 s, 1 min, 10 min, 1 h */
};

/* From a service's settings, whose texts are borrowed. ERR_INVALID: the ladder is not four rising delays. */
MUST_CHECK enum err_code bus_options_of(const struct config_bus *config, const char *client_name,
                                        struct bus_options *out, struct error *err);

enum { BUS_MAX_MESSAGE_BYTES = 32 << 20, BUS_LADDER_STEPS = 4 };

struct bus_queue_spec {
    const char *name;         /* "reap" */
    int64_t max_length;       /* 0: no limit; else x-max-length with overflow reject-publish */
    int64_t max_length_bytes; /* likewise */
    bool unlimited_delivery;  /* no x-delivery-limit (intake); else 20 redeliveries, then <q>.dead */
};
/* Declares exchanges, delay queues, and each queue with its .dead. Repeatable. ERR_INVALID when a queue exists with
 * other arguments. */
MUST_CHECK enum err_code bus_declare(const struct bus_options *options, const struct bus_queue_spec *queues,
                                     size_t count, struct error *err);

/* bus_declare at the start of a service: tries every second while the broker cannot be reached, until wait (such as
 * service_wait) answers ERR_STOPPED. */
typedef enum err_code bus_wait_fn(void *context, int64_t timeout_us);
MUST_CHECK enum err_code bus_declare_patiently(const struct bus_options *options, const struct bus_queue_spec *queues,
                                               size_t count, bus_wait_fn *wait, void *context, struct error *err);

struct bus_message {
    const char *routing_key; /* the queue */
    const void *body;
    size_t body_bytes;
    const char *content_type; /* "application/json" or "application/x-granary-batches" */
    const char *type;         /* message type with version: "reap.v1" */
    const char *message_id;   /* UUID text, may be "" */
    int64_t published_at_us;  /* by whichever clock the consumer will ask; 0: the machine's, now */
};

/* --- publishing: with confirms --------------------------------------------------------------------------------- */

struct bus_publisher;
/* Starts the thread; does not wait for the broker. options' texts are copied. max_in_flight_bytes bounds what waits for
 * confirms (publish blocks beyond it, up to its time-out). */
MUST_CHECK enum err_code bus_publisher_open(const struct bus_options *options, size_t max_in_flight_bytes,
                                            struct bus_publisher **out, struct error *err);
void bus_publisher_close(struct bus_publisher *publisher); /* unconfirmed messages fail with ERR_STOPPED */
DEFINE_AUTO(struct bus_publisher, bus_publisher_close)

/* done(context, code, err): on the publisher's thread, exactly once. OK: the broker has it on disk. ERR_UNAVAILABLE: not
 * known to have it (may be published again). ERR_CONFLICT: the queue is full (nack). ERR_NOT_FOUND: no such queue
 * (returned). The body is borrowed until done is called. Thread safe. Messages wait 10 s for a connection, and 30 s for a
 * confirm, before they fail. */
typedef void bus_done_fn(void *context, enum err_code code, const struct error *err);
MUST_CHECK enum err_code bus_publish_async(struct bus_publisher *publisher, const struct bus_message *message,
                                           bus_done_fn *done, void *context, struct error *err);
/* Waits for the confirm. ERR_TIMEOUT is as uncertain as ERR_UNAVAILABLE. */
MUST_CHECK enum err_code bus_publish(struct bus_publisher *publisher, const struct bus_message *message,
                                     int64_t timeout_us, struct error *err);
bool bus_publisher_ready(struct bus_publisher *publisher, struct error *err); /* connected now? */

/* --- consuming -------------------------------------------------------------------------------------------------- */

struct bus_consumer;
struct bus_delivery {
    const void *body;
    size_t body_bytes;
    const char *type;
    const char *message_id;
    int64_t published_at_us; /* publisher's timestamp header (x-granary-published-us), 0 when absent */
    uint32_t delivery_count; /* redeliveries by the broker so far (x-delivery-count) */
    uint32_t attempt;        /* hops over delay queues so far (x-granary-attempt) */
    uint64_t tag;            /* of the broker, for logs */
};

struct bus_consumer_options {
    const char *queue;
    uint16_t prefetch; /* bounds what is unsettled */
};
MUST_CHECK enum err_code bus_consumer_open(const struct bus_options *options,
                                           const struct bus_consumer_options *consumer, struct bus_consumer **out,
                                           struct error *err);
/* Unsettled deliveries go back to the queue. Deliveries still held must be settled or freed before. */
void bus_consumer_close(struct bus_consumer *consumer);
DEFINE_AUTO(struct bus_consumer, bus_consumer_close)

/* The next delivery, owned by the caller until bus_settle. ERR_TIMEOUT: none came. Thread safe. */
MUST_CHECK enum err_code bus_next(struct bus_consumer *consumer, int64_t timeout_us, struct bus_delivery **out,
                                  struct error *err);
/* A connection lost since makes the delivery stale: settling it then does nothing, and it comes again. */
bool bus_delivery_is_stale(const struct bus_delivery *delivery);
/* Stop taking from the queue (cancels the consumer; what is unsettled stays unsettled, and what has arrived is still
 * handed out), and go on. Both return at once. */
void bus_consumer_pause(struct bus_consumer *consumer);
void bus_consumer_resume(struct bus_consumer *consumer);
bool bus_consumer_ready(struct bus_consumer *consumer, struct error *err);

/* What becomes of a delivery. BUS_DELAY publishes a copy to the ladder step min(attempt, 3) with attempt + 1, waits for
 * its confirm and then acknowledges; BUS_DEAD does so with <queue>.dead and headers x-granary-reason, x-granary-queue;
 * where that publish fails the delivery is requeued. Consumes the delivery; thread safe; returns at once. */
enum bus_fate { BUS_ACK, BUS_DELAY, BUS_DEAD, BUS_REQUEUE, BUS_FATE_COUNT };
void bus_settle(struct bus_consumer *consumer, struct bus_delivery *delivery_take, enum bus_fate fate,
                const char *reason);
/* As BUS_DELAY, but the copy carries `body` instead (a claim's renewed token). The body is copied. */
void bus_settle_delay_with(struct bus_consumer *consumer, struct bus_delivery *delivery_take, const void *body,
                           size_t body_bytes, const char *reason);

/* The one table: what a handler's result means for its message. ERR_UNAVAILABLE, ERR_TIMEOUT, ERR_NO_MEMORY, ERR_UNKNOWN:
 * delay. ERR_INVALID, ERR_CORRUPT, ERR_DENIED: dead. OK, ERR_NOT_FOUND, ERR_CONFLICT: acknowledge (the catalog has moved
 * on). ERR_STOPPED: requeue. */
enum bus_fate bus_fate_of(enum err_code code);

/* --- looking at queues (admin, collectors); own short-lived connection each ------------------------------------- */

struct bus_queue_depth {
    bool exists;
    uint64_t messages; /* ready */
    uint64_t consumers;
};
MUST_CHECK enum err_code bus_queue_inspect(const struct bus_options *options, const char *queue,
                                           struct bus_queue_depth *out, struct error *err);

/* Visits up to max messages of a .dead queue, oldest first. The visitor says for each: keep (it stays, in its place as
 * far as the broker can), replay (republished to its queue, confirmed, then removed) or drop. */
enum bus_dead_action { BUS_DEAD_KEEP, BUS_DEAD_REPLAY, BUS_DEAD_DROP };
struct bus_dead_message {
    const char *queue; /* where it came from */
    const char *reason;
    const char *type;
    const char *message_id;
    const void *body;
    size_t body_bytes;
    int64_t dead_at_us; /* 0 when the broker itself dead-lettered it */
};
typedef enum bus_dead_action bus_dead_visitor(void *context, const struct bus_dead_message *message);
MUST_CHECK enum err_code bus_dead_visit(const struct bus_options *options, const char *dead_queue, size_t max,
                                        bus_dead_visitor *visit, void *context, size_t *out_visited, struct error *err);

#endif
