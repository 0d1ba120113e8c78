/* How rows of granary.partitions become records: for every file of this module that reads some. */
#ifndef GRANARY_CATALOG_PARTITIONS_PRIVATE_H
#define GRANARY_CATALOG_PARTITIONS_PRIVATE_H

#include "common/catalog/internal.h"

/* The columns that catalog_partition_read expects, first in the select list, of `granary.partitions p`. */
#define PARTITION_COLUMNS                                                                                       \
    "p.partition_id, p.table_id, p.schema_version, p.min_timestamp, p.max_timestamp, p.storage_id, p.path,"     \
    " p.row_count, p.data_bytes, p.memory_bytes, p.sha256, p.etag, p.active, p.lock_id, p.lock_kind, p.origin," \
    " p.attempt_id, p.merge_level, p.created_at, p.modified_at, p.deactivated_at, p.deactivation_reason,"       \
    " p.deactivated_by, p.version"
enum { PARTITION_COLUMN_COUNT = 24 }; /* the index of the first column behind them */

MUST_CHECK enum err_code catalog_partition_read(const struct catalog_rows *rows, size_t row, struct arena *arena,
                                                struct partition_record *out, struct error *err);
MUST_CHECK enum err_code catalog_partitions_read_all(const struct catalog_rows *rows, struct arena *arena,
                                                     struct partition_record **out, size_t *out_count,
                                                     struct error *err);

#endif
