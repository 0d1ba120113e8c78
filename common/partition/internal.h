/* What the files of the merge share. */
#ifndef GRANARY_PARTITION_INTERNAL_H
#define GRANARY_PARTITION_INTERNAL_H

#include "common/parquet/copier.h"
#include "common/partition/merge.h"

/* How the output's rows are compared: by a 64-bit number first, where the first sort key is one. */
struct merge_order {
    const struct schema *schema;
    bool has_number;  /* the first key is a number of 64 bits that is never null */
    bool only_number; /* and there is no other */
    bool descending;
};

/* One input, read under the output's schema: a batch at a time, and a place in it. */
struct merge_input {
    const struct merge_order *order;
    struct partition_reader *reader;
    struct parquet_cursor *cursor;
    struct parquet_projection projection;
    struct batch *converted;  /* owned, where the projection converts */
    struct batch rows;        /* the current ones: borrows its columns. row_count 0 at the end */
    size_t group;             /* the row group that they are of */
    uint64_t group_rows_left; /* behind them */
    bool starts_group;        /* they are the first of it, and it may yet be copied whole */
    const int64_t *numbers;   /* of the rows; NULL without one */
    uint32_t at;
    int64_t number;      /* of the row at `at`, turned so that smaller comes first */
    int64_t last_number; /* of the batch before */
    int index;           /* decides ties */
};

/* A stretch of the current rows of one input. */
struct merge_run {
    uint32_t input;
    uint32_t first, count;
};

struct merge_order partition_merge_order(const struct schema *schema);
MUST_CHECK enum err_code partition_merge_input_open(struct merge_input *input, uint32_t batch_rows, struct error *err);
void partition_merge_input_done(struct merge_input *input);
/* The next rows: at is 0, rows.row_count 0 at the end. ERR_INVALID when they are not in order. */
MUST_CHECK enum err_code partition_merge_input_next(struct merge_input *input, struct error *err);

static inline int64_t merge_number(const struct merge_order *order, const int64_t *numbers, uint32_t row)
{
    return order->descending ? ~numbers[row] : numbers[row];
}

/* Moves within the current rows; at < rows.row_count. */
static inline void merge_input_seek(struct merge_input *input, uint32_t at)
{
    input->at = at;
    if (input->numbers != NULL) {
        input->number = merge_number(input->order, input->numbers, at);
    }
}

/* The row group whose first rows are the current ones has been dealt with: the next rows are of the next. */
MUST_CHECK enum err_code partition_merge_input_skip_group(struct merge_input *input, struct error *err);
/* Do all rows of the row group that the input is in come before the current row of the other (NULL: there is none)? Says
 * yes only where the row group's bounds tell; rows that tie go by the order of the inputs. */
bool partition_merge_group_precedes(const struct merge_input *input, const struct merge_input *other);

/* Appends the runs' rows, in order. `bases` has room for a pointer per input. */
MUST_CHECK enum err_code partition_merge_gather(struct batch *to, const struct merge_input *inputs, size_t input_count,
                                                const struct merge_run *runs, size_t run_count, const void **bases,
                                                struct error *err);

#endif
