/* What the tests of the bus share: a broker from the environment, queues of their own, and waits for conditions.
 * Time-outs only bound a failure. */
#ifndef GRANARY_TESTS_BUS_LIVE_H
#define GRANARY_TESTS_BUS_LIVE_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/base/uuid.h"
#include "common/bus/bus.h"

enum { PATIENCE_US = 20000000, DELAY_US = 40000, SHORT_US = 50000 };

extern struct bus_options options; /* of the broker under test; delays of a few tens of milliseconds */

#define CHECK_OK(expression)                                \
    do {                                                    \
        struct error failure_ = {0};                        \
        struct error *failure = &failure_;                  \
        if ((expression) != OK) {                           \
            fail_msg("%s: %s", #expression, failure->text); \
        }                                                   \
    } while (0)

struct names {
    char queue[64], dead[80];
};

/* Confirms of asynchronous messages. */
struct tally {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t done, by_code[ERR_COUNT];
    char text[ERROR_TEXT_BYTES]; /* of the last failure */
};

/* Reads GRANARY_BUS_URL and GRANARY_BUS_PASSWORD; 0 when they are there. */
int read_environment(void **state);
struct names fresh_queue(struct bus_queue_spec spec);
struct bus_message text_message(const char *queue, const char *body);
void publish_text(struct bus_publisher *publisher, const char *queue, const char *body);
struct bus_publisher *open_publisher(const struct bus_options *with);
struct bus_consumer *open_consumer(const struct bus_options *with, const char *queue, uint16_t prefetch);
struct bus_delivery *next(struct bus_consumer *consumer);
void assert_body(const struct bus_delivery *delivery, const char *text);
void assert_nothing_comes(struct bus_consumer *consumer);
void await_depth(const char *queue, uint64_t messages);
void await_ready(bool (*ready)(void *), void *what, bool wanted);
bool publisher_is_ready(void *publisher);
bool consumer_is_ready(void *consumer);
void tally_init(struct tally *tally);
void count_done(void *context, enum err_code code, const struct error *err);
void await_tally(struct tally *tally, size_t done);

int run_publish_tests(void);
int run_consume_tests(void);
int run_dead_tests(void);

#endif
