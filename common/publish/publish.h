/* A publish session: partitions that appear together, or not at all. Write ahead, then publish (docs/architecture.md,
 * section 4): rows are staged with their final keys under one leased lock before any object is written; each object is
 * verified; one transaction makes all of them active.
 *
 *     publish_open -> publish_add ... -> publish_write (-> publish_add ... -> publish_write) -> publish_commit
 *
 * Intake flushes a table and its rejects table in one session; a load adds and writes many times before its one commit.
 * Not thread safe; the catalog's connection is used from the calling thread only. */
#ifndef GRANARY_PUBLISH_PUBLISH_H
#define GRANARY_PUBLISH_PUBLISH_H

#include "common/catalog/partitions.h"
#include "common/rows/batch.h"
#include "common/storages/storages.h"

struct publish;

struct publish_options {
    struct catalog *catalog;   /* borrowed, as are the storages */
    struct storages *storages; /* each partition is written where the catalog says when it is staged */
    const char *owner;         /* who holds the lock, for people: "intake-writer host 4711"; copied */
    const char *reason;        /* what for: "flush", "load 7f.."; copied */
    enum partition_origin origin;
    int64_t lease_us;               /* 1 s or more; renewed when a third of it has passed */
    unsigned threads;               /* that write files at the same time; 0 means 1 */
    bool (*stopped)(void *context); /* NULL: never. Asked while an uncertain commit is looked up */
    void *context;
};

MUST_CHECK enum err_code publish_open(const struct publish_options *options, struct publish **out, struct error *err);
/* Gives up what was staged and is known not to be live, as far as the catalog can be reached (otherwise the lease runs out
 * by itself). */
void publish_close(struct publish *publish);
DEFINE_AUTO(struct publish, publish_close)

struct publish_piece {           /* the rows of one partition */
    const struct schema *schema; /* borrowed until close */
    const struct batch *batch;   /* borrowed until publish_write has returned */
    const uint32_t *order;       /* rows in sorted order, borrowed likewise; NULL: the batch is sorted as it stands */
    uint32_t first, count;       /* of the order; count >= 1 */
};
/* No I/O. */
MUST_CHECK enum err_code publish_add(struct publish *publish, const struct publish_piece *piece, struct error *err);

/* Stages the rows of all pieces added since the last call (one transaction), then writes and verifies their objects. After
 * an error the session can only be closed: ERR_CONFLICT when the lease was lost, ERR_TIMEOUT when it ran out before an
 * object was there, ERR_UNAVAILABLE when store or catalog are down, ERR_NOT_FOUND for a table that was dropped. */
MUST_CHECK enum err_code publish_write(struct publish *publish, struct error *err);

/* Renews the lease when a third of it has passed: for sessions that wait for more rows. */
MUST_CHECK enum err_code publish_keep(struct publish *publish, struct error *err);

/* Makes all partitions active and files the batch ids, in one transaction; after it the session can only be closed. A
 * session without partitions may commit batch ids alone. ERR_CONFLICT: with *out_known_count > 0 these batch ids (in `arena`)
 * were committed before: nothing changed, rewrite without them; with 0 the lease was lost. ERR_NOT_FOUND: a table was
 * dropped. ERR_INVALID: pieces were added but not written. A lost answer is looked up until it is known; ERR_UNKNOWN only when options.stopped said so first: then nothing is
 * given up, and a redelivery finds out by the batch ids. A commit that is known not to have landed is tried again. */
MUST_CHECK enum err_code publish_commit(struct publish *publish, const struct catalog_batch *batches, size_t count,
                                        struct arena *arena, struct uuid **out_known, size_t *out_known_count,
                                        struct error *err);

struct publish_totals {
    size_t partitions;
    uint64_t rows, data_bytes;
};
struct publish_totals publish_totals(const struct publish *publish); /* of what was written so far */

#endif
