/* A thread that keeps one connection up.
 *
 * librabbitmq neither shares a connection among threads nor has a loop of its own: heartbeats are sent and missed ones
 * noticed only inside its calls. So each connection has one thread that sleeps in poll on the socket and on an eventfd;
 * whoever has work for it queues the work under the lock and writes the eventfd, so that nothing waits for a tick.
 * What the connection is for (the role) is told by callbacks, all on this thread. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/bus/internal.h"

enum {
    TICK_MS = 1000, /* how late a heartbeat or an expiry may be */
    BACKOFF_FIRST_US = 100000,
    BACKOFF_MAX_US = 5000000,
    BACKOFF_DOUBLINGS = 6,      /* 100 ms << 6 is beyond the maximum */
    FRAMES_A_ROUND = 1000,      /* then the role has its turn */
    STOP_PATIENCE_US = 2000000, /* for a thread inside a write, before its socket is shut */
};

int64_t bus_backoff_us(unsigned tries, uint32_t random)
{
    int64_t whole_us = (int64_t)BACKOFF_FIRST_US << (tries > BACKOFF_DOUBLINGS ? BACKOFF_DOUBLINGS : tries);
    if (whole_us > BACKOFF_MAX_US) {
        whole_us = BACKOFF_MAX_US;
    }
    return whole_us / 2 + (int64_t)((uint64_t)(whole_us / 2) * random / UINT32_MAX);
}

enum err_code bus_cond_init(pthread_cond_t *cond, struct error *err)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    int failure = pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
    return failure == 0 ? OK : err_no_memory(err, sizeof(pthread_cond_t));
}

static struct timespec timespec_of(int64_t time_us)
{
    return (struct timespec){.tv_sec = time_us / CLOCK_SECOND_US, .tv_nsec = (time_us % CLOCK_SECOND_US) * 1000};
}

bool bus_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t deadline_us)
{
    struct timespec deadline = timespec_of(deadline_us);
    return pthread_cond_timedwait(cond, lock, &deadline) != ETIMEDOUT;
}

void bus_link_wake_locked(struct bus_link *link)
{
    if (!link->woken) {
        link->woken = true;
        (void)eventfd_write(link->wake_fd, 1);
    }
}

static bool is_stopping(struct bus_link *link)
{
    pthread_mutex_lock(&link->lock);
    bool stopping = link->stopping;
    pthread_mutex_unlock(&link->lock);
    return stopping;
}

static void sleep_until_work(struct bus_link *link, int timeout_ms)
{
    struct pollfd fds[] = {{.fd = link->wake_fd, .events = POLLIN},
                           {.fd = link->connection == NULL ? -1 : amqp_get_sockfd(link->connection),
                            .events = (short)(POLLIN | (link->want_write ? POLLOUT : 0))}};
    (void)poll(fds, 2, timeout_ms);
    if ((fds[0].revents & POLLIN) != 0) {
        eventfd_t count;
        pthread_mutex_lock(&link->lock);
        (void)eventfd_read(link->wake_fd, &count);
        link->woken = false;
        pthread_mutex_unlock(&link->lock);
    }
}

bool bus_link_writable(struct bus_link *link)
{
    struct pollfd fd = {.fd = amqp_get_sockfd(link->connection), .events = POLLOUT};
    return poll(&fd, 1, 0) == 1;
}

void bus_link_cork(struct bus_link *link, bool on)
{
    int value = on;
    (void)setsockopt(amqp_get_sockfd(link->connection), IPPROTO_TCP, TCP_CORK, &value, sizeof value);
}

static enum err_code take_frames(struct bus_link *link, struct error *err)
{
    for (int i = 0; i < FRAMES_A_ROUND; i++) {
        amqp_frame_t frame;
        struct timeval now = {0};
        int status = amqp_simple_wait_frame_noblock(link->connection, &frame, &now);
        if (status == AMQP_STATUS_TIMEOUT) {
            amqp_maybe_release_buffers(link->connection);
            return OK;
        }
        TRY(bus_status_check(status, "stay connected", err));
        TRY(bus_frame_check(&frame, err));
        TRY(link->role->frame(link->self, &frame, err));
        amqp_maybe_release_buffers(link->connection);
    }
    link->again = true;
    return OK;
}

static enum err_code serve(struct bus_link *link, struct error *err)
{
    while (!is_stopping(link)) {
        link->again = link->want_write = false;
        TRY(take_frames(link, err));
        TRY(link->role->round(link->self, err));
        sleep_until_work(link, link->again ? 0 : TICK_MS);
    }
    return err_set(err, ERR_STOPPED, "the connection was closed");
}

static enum err_code establish(struct bus_link *link, struct error *err)
{
    TRY(bus_connect(&link->settings, BUS_HEARTBEAT_S, &link->connection, err));
    TRY(link->role->setup(link->self, err));
    pthread_mutex_lock(&link->lock);
    link->up = true;
    link->socket_fd = amqp_get_sockfd(link->connection);
    pthread_mutex_unlock(&link->lock);
    return OK;
}

/* Returns whether the connection had been up. */
static bool tear_down(struct bus_link *link, const struct error *err)
{
    pthread_mutex_lock(&link->lock);
    bool was_up = link->up;
    link->up = false;
    link->socket_fd = -1;
    link->down_because = *err;
    pthread_mutex_unlock(&link->lock);
    amqp_connection_state_t connection = TAKE(link->connection);
    if (err->code == ERR_STOPPED) {
        bus_disconnect(connection);
    } else {
        bus_drop_connection(connection);
    }
    return was_up;
}

static void wait_before_retry(struct bus_link *link, unsigned tries)
{
    uint32_t random;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random) {
        random = UINT32_MAX; /* no jitter is still a back-off */
    }
    int64_t until_us = clock_monotonic_us() + bus_backoff_us(tries, random);
    for (;;) {
        link->role->idle(link->self);
        int64_t left_us = until_us - clock_monotonic_us();
        if (left_us <= 0 || is_stopping(link)) {
            return;
        }
        int left_ms = (int)(left_us / 1000) + 1;
        sleep_until_work(link, left_ms < TICK_MS ? left_ms : TICK_MS);
    }
}

static void *run(void *argument)
{
    struct bus_link *link = argument;
    unsigned tries = 0;
    while (!is_stopping(link)) {
        struct error err = {0};
        if (establish(link, &err) == OK) {
            (void)serve(link, &err);
        }
        tries = tear_down(link, &err) ? 0 : tries + 1;
        link->role->lost(link->self, &err);
        wait_before_retry(link, tries);
    }
    struct error stopped = {0};
    (void)err_set(&stopped, ERR_STOPPED, "the connection to the broker is closing");
    link->role->lost(link->self, &stopped);
    pthread_mutex_lock(&link->lock);
    link->ended = true;
    pthread_cond_signal(&link->on_end);
    pthread_mutex_unlock(&link->lock);
    return NULL;
}

enum err_code bus_link_init(struct bus_link *link, struct bus_settings *settings_take, const struct bus_link_role *role,
                            void *self, struct error *err)
{
    TRY(bus_cond_init(&link->on_end, err));
    link->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (link->wake_fd < 0) {
        pthread_cond_destroy(&link->on_end);
        return err_set(err, ERR_NO_MEMORY, "could not make an eventfd: %s", strerror(errno));
    }
    pthread_mutex_init(&link->lock, NULL);
    link->socket_fd = -1;
    link->settings = *settings_take;
    *settings_take = (struct bus_settings){0};
    link->self = self;
    link->role = role; /* from here on there is something to undo */
    (void)err_set(&link->down_because, ERR_UNAVAILABLE, "the broker has not been reached yet");
    return OK;
}

enum err_code bus_link_start(struct bus_link *link, struct error *err)
{
    int failure = pthread_create(&link->thread, NULL, run, link);
    if (failure != 0) {
        return err_set(err, ERR_NO_MEMORY, "could not start a thread: %s", strerror(failure));
    }
    link->started = true;
    return OK;
}

/* A thread inside a write that a broker in alarm does not take is woken by shutting its socket. */
static void await_end_locked(struct bus_link *link)
{
    int64_t deadline_us = clock_monotonic_us() + STOP_PATIENCE_US;
    while (!link->ended && bus_cond_wait_until(&link->on_end, &link->lock, deadline_us)) {
    }
    if (!link->ended && link->socket_fd >= 0) {
        (void)shutdown(link->socket_fd, SHUT_RDWR);
    }
}

void bus_link_stop(struct bus_link *link)
{
    if (!link->started) {
        return;
    }
    pthread_mutex_lock(&link->lock);
    link->stopping = true;
    bus_link_wake_locked(link);
    await_end_locked(link);
    pthread_mutex_unlock(&link->lock);
    pthread_join(link->thread, NULL);
    link->started = false;
}

void bus_link_done(struct bus_link *link)
{
    if (link->role == NULL) {
        return;
    }
    bus_link_stop(link);
    close(link->wake_fd);
    pthread_cond_destroy(&link->on_end);
    pthread_mutex_destroy(&link->lock);
    bus_settings_done(&link->settings);
    *link = (struct bus_link){.socket_fd = -1};
}

bool bus_link_ready(struct bus_link *link, struct error *err)
{
    pthread_mutex_lock(&link->lock);
    bool up = link->up;
    if (!up) {
        (void)err_set(err, ERR_UNAVAILABLE, "%s", link->down_because.text);
    }
    pthread_mutex_unlock(&link->lock);
    return up;
}
