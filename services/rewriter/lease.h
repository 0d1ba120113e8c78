/* The lease of one attempt, kept by a thread of its own: the merge and the upload may each take longer than a lease. The
 * upload may be finished only while the last confirmed lease runs, so each renewal moves the writer's deadline. */
#ifndef GRANARY_REWRITER_LEASE_H
#define GRANARY_REWRITER_LEASE_H

#include "common/catalog/rewrite.h"
#include "common/partition/writer.h"

struct lease;

/* Starts the attempt in the catalog; from here on the catalog's connection is the lease's. ERR_CONFLICT: the attempt is
 * over, or another worker's. `terms` is copied, its texts are borrowed. */
MUST_CHECK enum err_code lease_open(struct catalog *catalog, const struct catalog_rewrite_lease *terms,
                                    struct lease **out, struct error *err);
/* Stops renewing. */
void lease_close(struct lease *lease);
DEFINE_AUTO(struct lease, lease_close)

/* The end of the last confirmed lease, by the monotonic clock. */
int64_t lease_end_us(struct lease *lease);
/* The writer whose deadline is to be moved; NULL: none any more. */
void lease_set_writer(struct lease *lease, struct partition_writer *writer);
void lease_set_progress(struct lease *lease, uint64_t rows_done);
/* ERR_CONFLICT with the reason once the lease is lost: refused by the catalog, or not renewed in time. */
MUST_CHECK enum err_code lease_check(struct lease *lease, struct error *err);

#endif
