/* Partitions as their writers and readers see them: staged, published, given up; loaded, listed. Rows are written before
 * their objects are, and go live with them checked.
 *
 * Lock order in a transaction: fences by table id, then the row of the lock, then the rows of partitions. */
#ifndef GRANARY_CATALOG_PARTITIONS_H
#define GRANARY_CATALOG_PARTITIONS_H

#include "common/catalog/catalog.h"
#include "common/catalog/intake.h"
#include "common/rows/stats.h"

/* A lock as its holder knows it: the token fences a holder that was late. */
struct catalog_lock {
    struct uuid lock_id;
    int64_t token;
    int64_t expires_at_us;
    int64_t now_us; /* of the database, when expires_at_us was told: the difference is what is left */
};

/* --- staging ----------------------------------------------------------------------------------------------------- */

struct catalog_stage {
    struct uuid lock_id; /* a new one, of the caller */
    const char *owner;   /* instance */
    const char *reason;  /* "intake", "load 0190..." */
    int64_t lease_us;
    const struct uuid *attempt_id; /* of a rewrite; NULL: none */
    /* Of each record count: partition_id, table_id, schema_version, min/max_timestamp_us, path, row_count, memory_bytes,
     * origin, attempt_id, merge_level. Not data_bytes, sha256, etag: they come with publishing. */
    const struct partition_record *partitions;
    size_t count;
    int32_t *storage_ids; /* receives where the object of each is to go; NULL: nobody asks */
};
/* Stages all under one new write lock, in a transaction of its own. After ERR_UNKNOWN stage anew with other ids: if the
 * first has landed, it is given up when its lease is over. */
MUST_CHECK enum err_code catalog_partitions_stage(struct catalog *catalog, const struct catalog_stage *stage,
                                                  struct catalog_lock *out, struct error *err);
/* The same within a transaction. */
MUST_CHECK enum err_code catalog_partitions_stage_in(struct catalog_transaction *transaction,
                                                     const struct catalog_stage *stage, struct catalog_lock *out,
                                                     struct error *err);

/* Stages more under a lock that stage->lock_id names and this writer holds, and renews it by stage->lease_us (owner, reason
 * and attempt_id of the stage do not count): a load stages as it goes. ERR_CONFLICT as in renewing. */
MUST_CHECK enum err_code catalog_partitions_stage_more(struct catalog *catalog, const struct catalog_stage *stage,
                                                       struct catalog_lock *lock, struct error *err);

/* Moves the expiry to lease_us from now; never to an earlier time. ERR_CONFLICT: the lock is gone, has another token or
 * has expired; then nothing more may be written under it. */
MUST_CHECK enum err_code catalog_lock_renew(struct catalog *catalog, struct catalog_lock *lock, int64_t lease_us,
                                            struct error *err);

/* --- publishing -------------------------------------------------------------------------------------------------- */

struct catalog_publication {
    const struct partition_record *partition; /* with measurements: bounds, row_count, sizes, sha256, etag */
    const struct column_stats *columns;
    size_t column_count;
};
struct catalog_publish {
    struct uuid lock_id;
    int64_t token;
    const struct catalog_publication *publications;
    size_t count;                        /* 0: only the batches are filed (they had no rows), and there is no lock */
    const struct catalog_batch *batches; /* to file in the same commit; may be none */
    size_t batch_count;
    const char *actor; /* of those under the lock that are not published */
};
struct catalog_published {
    uint64_t xid;       /* set as soon as it is known, also when publishing fails: after ERR_UNKNOWN it answers
                         * catalog_transaction_outcome */
    struct uuid *known; /* in the arena: batches that were committed before; none unless ERR_CONFLICT */
    size_t known_count;
};
/* One transaction: the shared fences of the tables, then all become active with their columns, the batch ids are filed,
 * what else was staged under the lock is given up, and the lock is removed.
 * ERR_NOT_FOUND: one of the tables is dropped. ERR_CONFLICT: the lock is gone, expired or another's; or a batch is known
 * (out->known_count > 0): write the files anew without it. ERR_UNKNOWN: it may have landed. Otherwise nothing changed. */
MUST_CHECK enum err_code catalog_partitions_publish(struct catalog *catalog, const struct catalog_publish *publish,
                                                    struct arena *arena, struct catalog_published *out,
                                                    struct error *err);

/* The statistics of published partitions' columns, for whoever activates partitions in a transaction of another kind. */
MUST_CHECK enum err_code catalog_columns_insert(struct catalog_transaction *transaction,
                                                const struct catalog_publication *publications, size_t count,
                                                struct arena *arena, struct error *err);

/* Gives up everything staged under the lock, expired or not, and removes it. ERR_NOT_FOUND: the lock is gone (somebody
 * swept it, or it was done before): nothing is left to do. */
MUST_CHECK enum err_code catalog_partitions_give_up(struct catalog *catalog, const struct uuid *lock_id, int64_t token,
                                                    const char *actor, struct error *err);

/* --- reading ----------------------------------------------------------------------------------------------------- */

MUST_CHECK enum err_code catalog_partition_load(struct catalog *catalog, const struct uuid *partition_id,
                                                struct arena *arena, struct partition_record *out, struct error *err);

struct catalog_live_page {
    struct uuid table_id;
    int64_t min_timestamp_us,
        max_timestamp_us;                 /* partitions that touch it, ends included; INT64_MIN, INT64_MAX: open */
    const struct partition_record *after; /* the last one of the page before; NULL: from the start */
    size_t limit;                         /* 1.. */
    const uint32_t *column_ids;           /* statistics of these; may be none */
    size_t column_count;
};
struct catalog_live {
    struct partition_record *partitions;
    size_t count;
    /* columns[i * column_count + j]: of partition i, column_ids[j]. `type` is not kept in the catalog: take it from the
     * schema of the partition. NULL where nothing is known. */
    const struct column_stats **columns;
};
/* Active ones by (min_timestamp, partition_id). Fewer than limit: the end. Pages fit together only within
 * catalog_begin_snapshot: between two statements a merge may swap inputs for outputs. */
MUST_CHECK enum err_code catalog_partitions_live(struct catalog *catalog, const struct catalog_live_page *page,
                                                 struct arena *arena, struct catalog_live *out, struct error *err);

struct catalog_live_count {
    int64_t partitions, rows, bytes;
};
/* Of the active ones. table_id NULL: of all tables. */
MUST_CHECK enum err_code catalog_partitions_count(struct catalog *catalog, const struct uuid *table_id,
                                                  struct catalog_live_count *out, struct error *err);

#endif
