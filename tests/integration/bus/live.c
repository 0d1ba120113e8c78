#include "tests/integration/bus/live.h"

#include <stdlib.h>
#include <time.h>

struct bus_options options;
static char url[512];

int read_environment(void **state)
{
    (void)state;
    const char *given = getenv("GRANARY_BUS_URL");
    if (given == NULL) {
        (void)fprintf(stderr, "GRANARY_BUS_URL is not set\n");
        return -1;
    }
    (void)snprintf(url, sizeof url, "%s", given);
    const char *password = getenv("GRANARY_BUS_PASSWORD");
    options = (struct bus_options){.url = url,
                                   .password = password == NULL ? "" : password,
                                   .ca_file = "",
                                   .client_name = "bus_live",
                                   .delays_us = {DELAY_US, DELAY_US + 1000, DELAY_US + 2000, DELAY_US + 3000}};
    return 0;
}

struct names fresh_queue(struct bus_queue_spec spec)
{
    struct names names;
    struct uuid id = uuid_v4();
    char text[UUID_TEXT_BYTES];
    (void)snprintf(names.queue, sizeof names.queue, "test.%s", uuid_format(&id, text));
    (void)snprintf(names.dead, sizeof names.dead, "%s.dead", names.queue);
    spec.name = names.queue;
    CHECK_OK(bus_declare(&options, &spec, 1, failure));
    return names;
}

struct bus_message text_message(const char *queue, const char *body)
{
    return (struct bus_message){.routing_key = queue,
                                .body = body,
                                .body_bytes = strlen(body),
                                .content_type = "application/json",
                                .type = "test.v1",
                                .message_id = "id-1"};
}

void publish_text(struct bus_publisher *publisher, const char *queue, const char *body)
{
    struct bus_message message = text_message(queue, body);
    CHECK_OK(bus_publish(publisher, &message, PATIENCE_US, failure));
}

struct bus_publisher *open_publisher(const struct bus_options *with)
{
    struct bus_publisher *publisher = NULL;
    CHECK_OK(bus_publisher_open(with, 64 << 20, &publisher, failure));
    return publisher;
}

struct bus_consumer *open_consumer(const struct bus_options *with, const char *queue, uint16_t prefetch)
{
    struct bus_consumer *consumer = NULL;
    struct bus_consumer_options wanted = {.queue = queue, .prefetch = prefetch};
    CHECK_OK(bus_consumer_open(with, &wanted, &consumer, failure));
    return consumer;
}

struct bus_delivery *next(struct bus_consumer *consumer)
{
    struct bus_delivery *delivery = NULL;
    CHECK_OK(bus_next(consumer, PATIENCE_US, &delivery, failure));
    return delivery;
}

void assert_body(const struct bus_delivery *delivery, const char *text)
{
    assert_int_equal(delivery->body_bytes, strlen(text));
    assert_memory_equal(delivery->body, text, strlen(text));
}

void assert_nothing_comes(struct bus_consumer *consumer)
{
    struct bus_delivery *delivery = NULL;
    struct error err = {0};
    assert_int_equal(bus_next(consumer, SHORT_US, &delivery, &err), ERR_TIMEOUT);
    assert_null(delivery);
    assert_non_null(strstr(err.text, "no message came"));
}

/* The broker tells depths with a little delay. */
void await_depth(const char *queue, uint64_t messages)
{
    struct bus_queue_depth depth = {0};
    int64_t deadline_us = clock_monotonic_us() + PATIENCE_US;
    do {
        CHECK_OK(bus_queue_inspect(&options, queue, &depth, failure));
        assert_true(depth.exists);
    } while (depth.messages != messages && clock_monotonic_us() < deadline_us);
    assert_int_equal(depth.messages, messages);
}

void await_ready(bool (*ready)(void *), void *what, bool wanted)
{
    int64_t deadline_us = clock_monotonic_us() + PATIENCE_US;
    while (ready(what) != wanted && clock_monotonic_us() < deadline_us) {
    }
    assert_int_equal(ready(what), wanted);
}

bool publisher_is_ready(void *publisher)
{
    return bus_publisher_ready(publisher, NULL);
}

bool consumer_is_ready(void *consumer)
{
    return bus_consumer_ready(consumer, NULL);
}

void tally_init(struct tally *tally)
{
    *tally = (struct tally){.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
}

void count_done(void *context, enum err_code code, const struct error *err)
{
    struct tally *tally = context;
    pthread_mutex_lock(&tally->lock);
    tally->done++;
    tally->by_code[code]++;
    if (code != OK) {
        (void)snprintf(tally->text, sizeof tally->text, "%s", err->text);
    }
    pthread_cond_signal(&tally->changed);
    pthread_mutex_unlock(&tally->lock);
}

void await_tally(struct tally *tally, size_t done)
{
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += 60;
    pthread_mutex_lock(&tally->lock);
    while (tally->done < done && pthread_cond_timedwait(&tally->changed, &tally->lock, &deadline) == 0) {
    }
    size_t reached = tally->done;
    pthread_mutex_unlock(&tally->lock);
    assert_int_equal(reached, done);
}
