/* What the files of bus share. Types of librabbitmq stay behind this header.
 *
 * url.c         options -> checked settings             headers.c   our message headers, read and written
 * connection.c  one logged-in connection                topology.c  exchanges, ladder, queues
 * link.c        a thread that keeps one connection up   window.c    what waits for confirms
 * publisher.c, outbox.c, publish.c   a link that publishes
 * consumer.c, delivery.c, settle.c   a link that consumes
 * inspect.c, dead.c                  short-lived connections */
#ifndef GRANARY_BUS_INTERNAL_H
#define GRANARY_BUS_INTERNAL_H

#include <amqp.h>
#include <amqp_framing.h>
#include <pthread.h>

#include "common/bus/bus.h"

#define BUS_EXCHANGE    "granary"
#define BUS_DEAD_SUFFIX ".dead"

enum {
    BUS_CHANNEL = 1,            /* each connection uses one channel */
    BUS_NAME_MAX_BYTES = 255,   /* AMQP 0-9-1, short string */
    BUS_HEARTBEAT_S = 10,       /* a dead peer is noticed within two of them */
    BUS_VISIT_HEARTBEAT_S = 60, /* where a caller's code runs between two calls */
    BUS_REASON_MAX_BYTES = 1000,
    BUS_QUEUE_PATIENCE_US = 10000000, /* how long a message waits for a connection, or for room, before it fails */
};

/* --- settings ---------------------------------------------------------------------------------------------------- */

struct bus_settings { /* all texts owned, none NULL */
    char *host, *user, *password, *vhost, *ca_file, *client_name;
    int port;
    bool tls;
    int64_t delays_us[BUS_LADDER_STEPS]; /* never zero */
};
/* ERR_INVALID names what is wrong with the URL, without the password. */
MUST_CHECK enum err_code bus_settings_parse(const struct bus_options *options, struct bus_settings *out,
                                            struct error *err);
MUST_CHECK enum err_code bus_settings_copy(const struct bus_settings *from, struct bus_settings *out,
                                           struct error *err);
void bus_settings_done(struct bus_settings *settings);

/* Names of queues that a caller gives: 1..(255 - suffix) of [A-Za-z0-9._-]. */
MUST_CHECK enum err_code bus_name_check(const char *name, const char *what, struct error *err);
/* Values of short strings: at most 255 bytes, no control characters. NULL counts as "". */
MUST_CHECK enum err_code bus_short_check(const char *text, const char *what, struct error *err);

/* --- one connection ---------------------------------------------------------------------------------------------- */

/* Connected, logged in, channel BUS_CHANNEL open. */
MUST_CHECK enum err_code bus_connect(const struct bus_settings *settings, int heartbeat_s, amqp_connection_state_t *out,
                                     struct error *err);
void bus_disconnect(amqp_connection_state_t connection);      /* says goodbye; NULL is fine */
void bus_drop_connection(amqp_connection_state_t connection); /* closes the socket; NULL is fine */
void bus_disconnect_auto(amqp_connection_state_t *connection);

/* Codes from a library status, a reply, or a close that the broker sent. `what` completes "could not ...". */
MUST_CHECK enum err_code bus_status_check(int status, const char *what, struct error *err);
MUST_CHECK enum err_code bus_reply_check(amqp_rpc_reply_t reply, const char *what, struct error *err);
/* ERR_UNAVAILABLE or the close's own code when the frame is connection.close or channel.close; else OK. */
MUST_CHECK enum err_code bus_frame_check(const amqp_frame_t *frame, struct error *err);

/* --- a thread that keeps one connection up ------------------------------------------------------------------------ */

struct bus_link;
struct bus_link_role {
    enum err_code (*setup)(void *self, struct error *err); /* after each connect */
    enum err_code (*frame)(void *self, const amqp_frame_t *frame, struct error *err);
    enum err_code (*round)(void *self, struct error *err); /* after the frames at hand; sets again or want_write */
    void (*idle)(void *self);                              /* about once a second while down */
    void (*lost)(void *self, const struct error *err);     /* the connection is gone; ERR_STOPPED: for good */
};
struct bus_link {
    struct bus_settings settings;
    const struct bus_link_role *role;
    void *self;
    pthread_t thread;
    bool started;
    int wake_fd; /* an eventfd */

    pthread_mutex_t lock; /* guards what follows, and the role's shared state */
    bool woken, stopping, up, ended;
    pthread_cond_t on_end;
    int socket_fd; /* -1 while there is none */
    struct error down_because;

    amqp_connection_state_t connection; /* the thread's own, as what follows */
    bool again;                         /* the role has more to do now */
    bool want_write;                    /* the role waits for room in the socket */
};
/* link is zeroed memory; settings are taken over. */
MUST_CHECK enum err_code bus_link_init(struct bus_link *link, struct bus_settings *settings_take,
                                       const struct bus_link_role *role, void *self, struct error *err);
MUST_CHECK enum err_code bus_link_start(struct bus_link *link, struct error *err);
void bus_link_stop(struct bus_link *link); /* ends and joins the thread */
void bus_link_done(struct bus_link *link);
void bus_link_wake_locked(struct bus_link *link); /* lock held; makes the thread do a round */
bool bus_link_writable(struct bus_link *link);
void bus_link_cork(struct bus_link *link, bool on); /* gather small writes into full segments */
bool bus_link_ready(struct bus_link *link, struct error *err);

/* 100 ms doubling to 5 s, of which between half and all by `random`. */
int64_t bus_backoff_us(unsigned tries, uint32_t random);

/* Condition variables on the monotonic clock. False once the deadline passed. */
MUST_CHECK enum err_code bus_cond_init(pthread_cond_t *cond, struct error *err);
bool bus_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t deadline_us);

/* --- topology ---------------------------------------------------------------------------------------------------- */

enum { BUS_LADDER_NAME_BYTES = 64 };
char *bus_ladder_name(const struct bus_settings *settings, unsigned step, char name[BUS_LADDER_NAME_BYTES]);
unsigned bus_ladder_step(uint32_t attempt);
MUST_CHECK enum err_code bus_declare_exchange(amqp_connection_state_t connection, struct error *err);
MUST_CHECK enum err_code bus_declare_ladder(amqp_connection_state_t connection, const struct bus_settings *settings,
                                            struct error *err);
MUST_CHECK enum err_code bus_declare_dead(amqp_connection_state_t connection, const char *queue, struct error *err);

/* --- headers ----------------------------------------------------------------------------------------------------- */

/* Our headers of a message. Zero and NULL are absent. Read texts are borrowed, not ended by NUL, in amqp_bytes_t. */
struct bus_meta {
    int64_t published_us;   /* x-granary-published-us */
    int64_t attempt;        /* x-granary-attempt */
    int64_t sequence;       /* x-granary-sequence: the confirm's tag, to know a returned message again */
    int64_t dead_us;        /* x-granary-dead-us */
    int64_t delivery_count; /* x-delivery-count; read only */
    amqp_bytes_t reason;    /* x-granary-reason */
    amqp_bytes_t queue;     /* x-granary-queue */
    amqp_bytes_t death_reason, death_queue; /* the newest of x-death; read only */
};
enum { BUS_META_ENTRIES = 6 };
/* entries backs the table; the texts stay borrowed. */
amqp_table_t bus_meta_write(const struct bus_meta *meta, amqp_table_entry_t entries[BUS_META_ENTRIES]);
struct bus_meta bus_meta_read(const amqp_basic_properties_t *properties);
/* The property's bytes, empty when its flag is not set. */
amqp_bytes_t bus_property(const amqp_basic_properties_t *properties, amqp_flags_t flag, amqp_bytes_t value);
/* Copies with a NUL to *cursor and moves it on. */
const char *bus_text_take(char **cursor, amqp_bytes_t text);

/* --- confirms ---------------------------------------------------------------------------------------------------- */

/* What was sent and not yet confirmed, by the tag that the broker counts: 1, 2, 3 ... on each channel. */
struct bus_window {
    void **slots; /* a ring; NULL where confirmed out of order */
    size_t capacity, head, count;
    uint64_t first_tag;
};
void bus_window_init(struct bus_window *window);
void bus_window_done(struct bus_window *window);
MUST_CHECK enum err_code bus_window_reserve(struct bus_window *window, struct error *err); /* room for one more */
uint64_t bus_window_push(struct bus_window *window, void *item);                           /* after a reserve */
void *bus_window_peek(const struct bus_window *window, uint64_t tag);                      /* NULL when unknown */
void *bus_window_take(struct bus_window *window, uint64_t tag);                            /* NULL when unknown */
void *bus_window_oldest(const struct bus_window *window);                                  /* NULL when empty */
void *bus_window_take_oldest(struct bus_window *window);
void bus_window_restart(struct bus_window *window); /* empty, and tags begin at 1 */

/* --- publishing with everything in hand --------------------------------------------------------------------------- */

struct bus_outgoing {
    const char *exchange, *routing_key, *content_type, *type, *message_id; /* copied */
    const void *body;
    size_t body_bytes;
    bool copy_body;
    struct bus_meta meta; /* texts are copied; published_us 0 means now */
};
/* wait_us bounds the wait for room. done as for bus_publish_async. */
MUST_CHECK enum err_code bus_publisher_submit(struct bus_publisher *publisher, const struct bus_outgoing *message,
                                              int64_t wait_us, bus_done_fn *done, void *context, struct error *err);
/* Submits a copy of the message and waits for its confirm. */
MUST_CHECK enum err_code bus_publisher_send(struct bus_publisher *publisher, const struct bus_outgoing *message,
                                            int64_t timeout_us, struct error *err);
/* A publisher whose connections also declare the ladder and <queue>.dead. queue NULL: neither. Settings are copied. */
MUST_CHECK enum err_code bus_publisher_open_for(const struct bus_settings *settings, size_t max_in_flight_bytes,
                                                const char *queue, struct bus_publisher **out, struct error *err);

#endif
