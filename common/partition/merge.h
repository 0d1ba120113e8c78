/* The k-way merge of sorted partitions into one. Streams: memory is a small batch and a page per column and input, and one
 * row group of the output. Equal inputs in equal order give equal bytes: rows that tie come in the order of the inputs. */
#ifndef GRANARY_PARTITION_MERGE_H
#define GRANARY_PARTITION_MERGE_H

#include "common/partition/reader.h"
#include "common/partition/writer.h"

/* Called every few thousand rows. Anything but OK stops the merge with that code and text. */
typedef enum err_code partition_merge_progress(void *context, uint64_t rows_done, struct error *err);

struct partition_merge_options {
    const struct schema *schema; /* of the output: the writer's. Inputs are read as schema_reconcile says */
    struct partition_reader *const *inputs;
    size_t input_count;                 /* 1.. */
    uint32_t batch_rows;                /* held of each input; 0: chosen by the number of inputs */
    partition_merge_progress *progress; /* may be NULL */
    void *context;
};

enum { PARTITION_MERGE_NO_INPUT = -1 };

/* Appends all rows of the inputs to the writer; finishing it is left to the caller. *out_bad_input (may be NULL) receives
 * on failure the index of the input that is to blame (unreadable: ERR_CORRUPT, ERR_NOT_FOUND; not to be read under the
 * output's schema, or not sorted by its keys: ERR_INVALID), or PARTITION_MERGE_NO_INPUT. */
MUST_CHECK enum err_code partition_merge(const struct partition_merge_options *options, struct partition_writer *writer,
                                         int *out_bad_input, struct error *err);

/* The read-ahead for readers of a merge, so that it stays within some 64 MiB for all inputs together. */
size_t partition_merge_window_bytes(size_t input_count, size_t column_count);

#endif
