#include "services/admin/connections.h"

#include <pthread.h>

#include "common/base/clock.h"

#define IDLE_US CLOCK_SECOND_US

struct connections {
    pthread_mutex_t lock;
    pthread_cond_t given;
    struct connection *free; /* the one given back last comes first: its session is the warmest */
    size_t count;
    struct connection all[];
};

void connections_close(struct connections *connections)
{
    if (connections == NULL) {
        return;
    }
    for (size_t i = 0; i < connections->count; i++) {
        catalog_close(connections->all[i].catalog);
    }
    (void)pthread_cond_destroy(&connections->given);
    (void)pthread_mutex_destroy(&connections->lock);
    free(connections);
}

enum err_code connections_open(const struct catalog_options *options, size_t count, struct connections **out,
                               struct error *err)
{
    size_t bytes = sizeof(struct connections) + count * sizeof(struct connection);
    AUTO(connections_close_auto) struct connections *connections = calloc(1, bytes);
    if (connections == NULL) {
        return err_no_memory(err, bytes);
    }
    (void)pthread_mutex_init(&connections->lock, NULL); /* neither fails on Linux */
    (void)pthread_cond_init(&connections->given, NULL);
    for (; connections->count < count; connections->count++) {
        struct connection *connection = &connections->all[connections->count];
        TRY(catalog_open(options, &connection->catalog, err));
        connection->owner = connections;
        connection->next = connections->free;
        connections->free = connection;
    }
    *out = TAKE(connections);
    return OK;
}

struct connection *connections_take(struct connections *connections)
{
    (void)pthread_mutex_lock(&connections->lock);
    while (connections->free == NULL) {
        (void)pthread_cond_wait(&connections->given, &connections->lock);
    }
    struct connection *connection = connections->free;
    connections->free = connection->next;
    (void)pthread_mutex_unlock(&connections->lock);
    if (connection->used_at_us != 0 && clock_monotonic_us() - connection->used_at_us > IDLE_US) {
        (void)!catalog_ping(connection->catalog, NULL); /* a dead session is dropped by this; the next ask connects */
    }
    return connection;
}

void connections_give(struct connection *connection)
{
    if (connection == NULL) {
        return;
    }
    struct connections *connections = connection->owner;
    connection->used_at_us = clock_monotonic_us();
    (void)pthread_mutex_lock(&connections->lock);
    connection->next = connections->free;
    connections->free = connection;
    (void)pthread_cond_signal(&connections->given);
    (void)pthread_mutex_unlock(&connections->lock);
}
