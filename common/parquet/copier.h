/* Reads whole row groups of one file for a writer to take over (parquet_writer_copy_group): decoded, and as they stand. Holds
 * the memory of one row group in both forms, and keeps it from one to the next. */
#ifndef GRANARY_PARQUET_COPIER_H
#define GRANARY_PARQUET_COPIER_H

#include "common/parquet/projection.h"

struct parquet_copier;

/* Reader and projection (of the reader onto the schema of the writer) are borrowed. */
MUST_CHECK enum err_code parquet_copier_new(struct parquet_reader *reader, const struct parquet_projection *projection,
                                            struct parquet_copier **out, struct error *err);
void parquet_copier_free(struct parquet_copier *copier);
DEFINE_AUTO(struct parquet_copier, parquet_copier_free)

#endif
