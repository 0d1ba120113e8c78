/* Which rows of a file can be passed by, as far as statistics, bloom filters and page indexes show: by row group first, by
 * page within those that remain. What cannot be trusted rules out nothing. */
#ifndef GRANARY_PARQUET_PRUNE_H
#define GRANARY_PARQUET_PRUNE_H

#include "common/parquet/reader_internal.h"

struct row_range {
    uint64_t first, end; /* in the row group */
};

struct pruner;

/* Takes the conditions of the options (their predicate is borrowed). ERR_INVALID: a range over a column that is not an
 * integer, a time or a decimal. */
MUST_CHECK enum err_code parquet_pruner_new(struct parquet_reader *reader, const struct parquet_cursor_options *options,
                                            struct pruner **out, struct error *err);
void parquet_pruner_free(struct pruner *pruner);
DEFINE_AUTO(struct pruner, parquet_pruner_free)

/* May any row of the group match? By the footer only. */
bool parquet_pruner_may_match(struct pruner *pruner, size_t row_group);

/* The rows of such a group that may match: disjoint, in order, borrowed until the next call; none when a bloom filter says
 * so. Reads filters and indexes. */
MUST_CHECK enum err_code parquet_pruner_rows(struct pruner *pruner, size_t row_group, const struct row_range **out,
                                             size_t *out_count, struct error *err);

#endif
