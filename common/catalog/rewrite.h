/* The one thing that a rewriter may do in the catalog. */
#ifndef GRANARY_CATALOG_REWRITE_H
#define GRANARY_CATALOG_REWRITE_H

#include "common/catalog/catalog.h"

struct catalog_rewrite_lease {
    struct uuid attempt_id;
    int64_t token;
    const char *worker;
    int64_t lease_us; /* 1 s to 1 h */
};
/* Starts or renews the lease, with progress. From the moment before the call the lease lasts lease_us by any clock.
 * ERR_CONFLICT: the attempt is over, another worker's, or its lease has run out: stop. */
MUST_CHECK enum err_code catalog_rewrite_renew(struct catalog *catalog, const struct catalog_rewrite_lease *lease,
                                               int64_t rows_done, struct error *err);

#endif
