/* Makes partitions of what was gathered: sorted, one per table and time bucket, published in one transaction with the batch
 * ids. Batches that turn out to have been committed before are left out and the files written again without them. */
#ifndef GRANARY_INTAKE_WRITER_FLUSH_H
#define GRANARY_INTAKE_WRITER_FLUSH_H

#include "common/catalog/catalog.h"
#include "common/storages/storages.h"
#include "services/intake/writer/gather.h"

struct flush_options {
    struct catalog *catalog;
    struct storages *storages;
    const char *owner;
    int64_t lease_us;
    unsigned threads;
    bool (*stopped)(void *context);
    void *context;
};

struct flush_outcome {
    int64_t partitions, rows, rejects, bytes, batches, duplicates;
};

/* All of `gather`, of any tables, appears or nothing does. On success `gather` holds what was committed; duplicates are gone
 * from it. ERR_NOT_FOUND: a table was dropped. ERR_UNAVAILABLE, ERR_TIMEOUT, ERR_CONFLICT: try again. ERR_UNKNOWN: stopped
 * while the commit's outcome was not known. */
MUST_CHECK enum err_code flush(const struct flush_options *options, struct gather *gather, struct flush_outcome *out,
                               struct error *err);

#endif
