/* How the rows of a file are read under another schema: which columns to ask a cursor for, and whether what comes has to be
 * converted. */
#ifndef GRANARY_PARQUET_PROJECTION_H
#define GRANARY_PARQUET_PROJECTION_H

#include "common/parquet/reader.h"

struct parquet_projection {
    const struct schema *to; /* borrowed */
    int *map;                /* owned; per column of `to` its index in the file's schema, or -1 */
    uint32_t *columns;       /* owned; those to ask for, in the order of `to` */
    size_t column_count;
    bool converts; /* columns are missing or are widened: batch_convert is needed */
};

/* ERR_INVALID as schema_reconcile says. */
MUST_CHECK enum err_code parquet_projection_init(const struct parquet_reader *reader, const struct schema *to,
                                                 struct parquet_projection *out, struct error *err);
void parquet_projection_done(struct parquet_projection *projection);

#endif
