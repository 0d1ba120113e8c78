/* A few catalog connections that requests borrow. */
#ifndef GRANARY_ADMIN_CONNECTIONS_H
#define GRANARY_ADMIN_CONNECTIONS_H

#include "common/catalog/catalog.h"

struct connections;
struct connection {
    struct catalog *catalog;
    int64_t used_at_us;        /* monotonic; 0: never */
    struct connections *owner; /* where it goes back to */
    struct connection *next;   /* in the list of free ones */
};

MUST_CHECK enum err_code connections_open(const struct catalog_options *options, size_t count, struct connections **out,
                                          struct error *err);
void connections_close(struct connections *connections); /* all must have been given back */
DEFINE_AUTO(struct connections, connections_close)

/* Waits for a free one. One that has been idle is asked first whether its server is still there, so that a restart of the
 * catalog does not fail a request of later. */
struct connection *connections_take(struct connections *connections);
void connections_give(struct connection *connection); /* NULL is fine; no transaction may be open */

#endif
