/* Writes one partition: sorted rows in, a verified object in the store out, with everything the catalog wants to know
 * about it. The footer's key-values say granary.table_id, granary.partition_id and granary.schema_version. Knows no
 * catalog: its row must have been staged before. */
#ifndef GRANARY_PARTITION_WRITER_H
#define GRANARY_PARTITION_WRITER_H

#include "common/base/uuid.h"
#include "common/parquet/writer.h"
#include "common/store/store.h"

struct partition_writer;

struct partition_writer_options {
    const char *path; /* the object's key; copied */
    struct uuid partition_id;
    int64_t deadline_us;                          /* of the monotonic clock: the end of the last confirmed lease */
    const struct parquet_writer_options *parquet; /* NULL: the defaults; its key_values do not count */
};

/* What was written, as verified. */
struct partition_facts {
    uint64_t row_count;
    uint64_t data_bytes;   /* of the object */
    uint64_t memory_bytes; /* of the values, uncompressed */
    int64_t min_timestamp_us, max_timestamp_us;
    uint8_t sha256[32]; /* of the object */
    char etag[80];      /* "" where the store has none */
    size_t column_count;
    struct column_stats *columns; /* owned; one per schema column */
};
/* `AUTO(partition_facts_done) struct partition_facts facts = {0};` */
void partition_facts_done(struct partition_facts *facts);

/* The schema (table id and version are its) is borrowed until the writer is freed. */
MUST_CHECK enum err_code partition_writer_open(struct store *store, const struct schema *schema,
                                               const struct partition_writer_options *options,
                                               struct partition_writer **out, struct error *err);
/* Leaves nothing visible in the store unless finish has returned OK. */
void partition_writer_free(struct partition_writer *writer);
DEFINE_AUTO(struct partition_writer, partition_writer_free)

/* Rows [first, first + count) of a batch with the schema's columns, in the schema's order (ERR_INVALID names the row). After
 * an error the writer is dead. */
MUST_CHECK enum err_code partition_writer_append(struct partition_writer *writer, const struct batch *batch,
                                                 uint32_t first, uint32_t count, struct error *err);

/* As parquet_writer_copy_group. */
struct parquet_copier;
MUST_CHECK enum err_code partition_writer_copy_group(struct partition_writer *writer, struct parquet_copier *copier,
                                                     size_t row_group, bool *out_taken, struct error *err);

/* After a lease was renewed. From any thread. */
void partition_writer_set_deadline(struct partition_writer *writer, int64_t deadline_us);

/* Footer, upload, and a look at the store: length, and etag where there is one. ERR_TIMEOUT past the deadline, ERR_CONFLICT
 * when other bytes stand under the key, ERR_UNAVAILABLE when the store takes nothing for now, or has something else than it
 * was sent. At least one row, else ERR_INVALID. */
MUST_CHECK enum err_code partition_writer_finish(struct partition_writer *writer, struct partition_facts *out,
                                                 struct error *err);

#endif
