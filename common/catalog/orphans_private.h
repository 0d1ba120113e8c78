/* What cleaner.c and admin_orphans.c share. */
#ifndef GRANARY_CATALOG_ORPHANS_PRIVATE_H
#define GRANARY_CATALOG_ORPHANS_PRIVATE_H

#include "common/catalog/cleaner.h"
#include "common/catalog/internal.h"

/* The columns of an orphan, in the order that catalog_orphans_read reads. */
#define CATALOG_SQL_ORPHAN "storage_id, path, data_bytes, modified_at, owner, table_id, partition_id"

/* Rows of CATALOG_SQL_ORPHAN; in the arena. */
MUST_CHECK enum err_code catalog_orphans_read(const struct catalog_rows *rows, struct arena *arena,
                                              struct catalog_orphan **out, size_t *out_count, struct error *err);

#endif
