/* Taking a drop back, as long as reapers have left something. */
#ifndef GRANARY_CATALOG_UNDROP_H
#define GRANARY_CATALOG_UNDROP_H

#include "common/catalog/catalog.h"

/* The dropped table of that name. ERR_NOT_FOUND: none; ERR_CONFLICT: several were dropped. */
MUST_CHECK enum err_code catalog_table_find_dropped(struct catalog *catalog, const char *project, const char *name,
                                                    struct uuid *out, struct error *err);

struct catalog_undrop {
    struct uuid table_id; /* not of a rejects table: it comes with its parent */
    struct uuid hold_id;  /* a new one, of the caller */
    const char *reason, *actor;
    bool partial; /* also where some partitions are gone */
};
struct catalog_undropped {
    int64_t partitions, rows; /* that came back, its rejects table's included */
    int64_t lost;             /* partitions that reapers have claimed or deleted since the drop */
};
/* In one transaction under the exclusive fences: the tombstone of the table and its rejects table is lifted, what the drop
 * made inactive is active again, and a hold over the table keeps it, with an audit row. Partitions that were replaced, had
 * decayed or were given up before stay as they are.
 * ERR_NOT_FOUND: no such dropped table. ERR_CONFLICT: another table has the name by now; or, unless `partial`, some of its
 * partitions are lost. */
MUST_CHECK enum err_code catalog_table_undrop(struct catalog *catalog, const struct catalog_undrop *undrop,
                                              struct catalog_undropped *out, struct error *err);

#endif
