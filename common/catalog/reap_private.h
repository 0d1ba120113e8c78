/* What reap.c and cleanup.c share. */
#ifndef GRANARY_CATALOG_REAP_PRIVATE_H
#define GRANARY_CATALOG_REAP_PRIVATE_H

#include "common/catalog/internal.h"
#include "common/catalog/reap.h"

/* Rows of (partition_id, deactivated_at), as reap events carry them; in the arena. */
MUST_CHECK enum err_code catalog_reap_items_read(const struct catalog_rows *rows, struct arena *arena,
                                                 struct catalog_reap_item **out, size_t *out_count, struct error *err);

#endif
