/* A tree of losers finds the next row with one comparison per level. Rows are not copied one by one: which rows come next,
 * from which input, is written down as runs, and the runs are gathered column by column once an input has used up its
 * batch (or enough rows have come together). An input that wins twice in a row is likely to be ahead of all others: it is
 * then asked how far, by doubling steps. An input at the start of a row group that is ahead of all others to its end hands
 * the row group over as it stands. */
#include "common/partition/merge.h"

#include <stdlib.h>

#include "common/partition/internal.h"

enum {
    OUTPUT_ROWS = 8192,
    OUTPUT_BYTES = 4 * 1024 * 1024,
    LARGEST_BATCH_ROWS = 8192,
    SMALLEST_BATCH_ROWS = 64,
    ALL_BATCHES_BYTES = 32 * 1024 * 1024, /* of all inputs, decoded */
    DECODED_TIMES = 5,                    /* how much larger rows are in memory than in the file, at a guess */
    ALL_WINDOWS_BYTES = 64 * 1024 * 1024,
    SMALLEST_WINDOW_BYTES = 4 * 1024,
    LARGEST_WINDOW_BYTES = 256 * 1024
};

struct merge {
    const struct partition_merge_options *options;
    struct partition_writer *writer;
    struct merge_order order;
    struct merge_input *inputs;
    size_t input_count;
    struct merge_input **live; /* those with rows left, in their order */
    size_t live_count;
    uint32_t *losers; /* node n = 1.. holds the loser of the match there, as a place in `live` */
    uint32_t winner;
    struct merge_run *runs;
    size_t run_count;
    uint32_t run_rows;
    const void **bases;
    struct batch *output;
    struct parquet_copier *copier; /* of the input that a row group was copied from last; else NULL */
    int copied_input;
    uint64_t rows_done;
    int bad_input;
};

size_t partition_merge_window_bytes(size_t input_count, size_t column_count)
{
    size_t windows = input_count * column_count;
    size_t bytes = ALL_WINDOWS_BYTES / (windows > 0 ? windows : 1);
    bytes = bytes < LARGEST_WINDOW_BYTES ? bytes : LARGEST_WINDOW_BYTES;
    return bytes > SMALLEST_WINDOW_BYTES ? bytes : SMALLEST_WINDOW_BYTES;
}

/* --- order -------------------------------------------------------------------------------------------------------- */

/* Does row `row` of a come before the current row of b? */
static bool row_before(const struct merge_order *order, const struct merge_input *a, uint32_t row,
                       const struct merge_input *b)
{
    if (order->has_number) {
        int64_t number = merge_number(order, a->numbers, row);
        if (number != b->number) {
            return number < b->number;
        }
        if (order->only_number) {
            return a->index < b->index;
        }
    }
    int compared = batch_compare_rows(&a->rows, row, &b->rows, b->at);
    return compared != 0 ? compared < 0 : a->index < b->index;
}

static bool input_before(const struct merge *merge, uint32_t a, uint32_t b)
{
    const struct merge_input *x = merge->live[a];
    const struct merge_input *y = merge->live[b];
    if (merge->order.has_number && x->number != y->number) {
        return x->number < y->number;
    }
    return row_before(&merge->order, x, x->at, y);
}

static uint32_t play(struct merge *merge, size_t node)
{
    if (node >= merge->live_count) {
        return (uint32_t)(node - merge->live_count);
    }
    uint32_t left = play(merge, 2 * node);
    uint32_t right = play(merge, 2 * node + 1);
    bool left_wins = input_before(merge, left, right);
    merge->losers[node] = left_wins ? right : left;
    return left_wins ? left : right;
}

static void build_tree(struct merge *merge)
{
    merge->winner = merge->live_count > 1 ? play(merge, 1) : 0;
}

/* The winner has moved on to its next row. */
static void replay(struct merge *merge)
{
    uint32_t winner = merge->winner;
    for (size_t node = (winner + merge->live_count) / 2; node >= 1; node /= 2) {
        uint32_t loser = merge->losers[node];
        if (input_before(merge, loser, winner)) {
            merge->losers[node] = winner;
            winner = loser;
        }
    }
    merge->winner = winner;
}

/* The best of those that the winner has beaten on its way up; NULL when it is alone. */
static const struct merge_input *runner_up(const struct merge *merge)
{
    size_t node = (merge->winner + merge->live_count) / 2;
    if (node == 0) {
        return NULL;
    }
    uint32_t best = merge->losers[node];
    for (node /= 2; node >= 1; node /= 2) {
        best = input_before(merge, merge->losers[node], best) ? merge->losers[node] : best;
    }
    return merge->live[best];
}

/* How many rows of the input, from its current one on, come before the current row of the other (NULL: all). The first is
 * known to. */
static uint32_t count_ahead(const struct merge *merge, const struct merge_input *input, const struct merge_input *other)
{
    uint32_t end = input->rows.row_count;
    uint32_t known = input->at; /* comes before */
    if (other == NULL) {
        return end - known;
    }
    uint32_t step = 1;
    while (step < end - known && row_before(&merge->order, input, known + step, other)) {
        known += step;
        step *= 2;
    }
    uint32_t bound = step < end - known ? known + step : end; /* does not, or is the end */
    while (bound - known > 1) {
        uint32_t middle = known + (bound - known) / 2;
        if (row_before(&merge->order, input, middle, other)) {
            known = middle;
        } else {
            bound = middle;
        }
    }
    return known + 1 - input->at;
}

/* --- inputs ------------------------------------------------------------------------------------------------------- */

/* Whose fault it is: not the store's being away, nor the memory's being short. */
static enum err_code blame(struct merge *merge, const struct merge_input *input, enum err_code code)
{
    if (code == ERR_CORRUPT || code == ERR_INVALID || code == ERR_NOT_FOUND) {
        merge->bad_input = input->index;
    }
    return code;
}

static enum err_code load_rows(struct merge *merge, struct merge_input *input, struct error *err)
{
    return blame(merge, input, partition_merge_input_next(input, err));
}

/* So many rows of each input that all together stay within bounds, as far as the files let guess. */
static uint32_t choose_batch_rows(const struct merge *merge, struct partition_reader *reader)
{
    uint64_t rows = parquet_reader_rows(partition_reader_file(reader));
    uint64_t row_bytes = rows == 0 ? 1 : partition_reader_size_bytes(reader) * DECODED_TIMES / rows + 1;
    uint64_t fits = ALL_BATCHES_BYTES / merge->input_count / row_bytes;
    uint64_t wanted = merge->options->batch_rows != 0 ? merge->options->batch_rows : LARGEST_BATCH_ROWS;
    fits = fits < SMALLEST_BATCH_ROWS ? SMALLEST_BATCH_ROWS : fits;
    return (uint32_t)(fits < wanted ? fits : wanted);
}

static enum err_code open_inputs(struct merge *merge, struct error *err)
{
    for (size_t i = 0; i < merge->input_count; i++) {
        struct merge_input *input = &merge->inputs[i];
        input->order = &merge->order;
        input->reader = merge->options->inputs[i];
        input->index = (int)i;
        TRY(blame(merge, input, partition_merge_input_open(input, choose_batch_rows(merge, input->reader), err)));
        TRY(load_rows(merge, input, err));
        if (input->rows.row_count > 0) {
            merge->live[merge->live_count++] = input;
        }
    }
    return OK;
}

/* --- output ------------------------------------------------------------------------------------------------------- */

static enum err_code report_progress(const struct merge *merge, struct error *err)
{
    const struct partition_merge_options *options = merge->options;
    return options->progress == NULL ? OK : options->progress(options->context, merge->rows_done, err);
}

static enum err_code write_output(struct merge *merge, struct error *err)
{
    if (merge->output->row_count == 0) {
        return OK;
    }
    TRY(partition_writer_append(merge->writer, merge->output, 0, merge->output->row_count, err));
    merge->rows_done += merge->output->row_count;
    batch_clear(merge->output);
    return report_progress(merge, err);
}

static enum err_code gather_runs(struct merge *merge, struct error *err)
{
    TRY(partition_merge_gather(merge->output, merge->inputs, merge->input_count, merge->runs, merge->run_count,
                               merge->bases, err));
    merge->run_count = 0;
    merge->run_rows = 0;
    bool full = merge->output->row_count >= OUTPUT_ROWS || batch_memory_bytes(merge->output) >= OUTPUT_BYTES;
    return full ? write_output(merge, err) : OK;
}

static void add_run(struct merge *merge, const struct merge_input *input, uint32_t count)
{
    struct merge_run *last = merge->run_count > 0 ? &merge->runs[merge->run_count - 1] : NULL;
    if (last != NULL && last->input == (uint32_t)input->index) {
        last->count += count; /* rows of one batch follow each other */
    } else {
        merge->runs[merge->run_count++] =
            (struct merge_run){.input = (uint32_t)input->index, .first = input->at, .count = count};
    }
    merge->run_rows += count;
}

/* --- the merge ---------------------------------------------------------------------------------------------------- */

/* The winner has rows again, or has none left. */
static void place_winner(struct merge *merge)
{
    if (merge->live[merge->winner]->rows.row_count > 0) {
        replay(merge);
        return;
    }
    merge->live_count--;
    for (size_t i = merge->winner; i < merge->live_count; i++) {
        merge->live[i] = merge->live[i + 1];
    }
    build_tree(merge);
}

/* The winner's batch is used up: the runs still point into it. */
static enum err_code refill_winner(struct merge *merge, struct error *err)
{
    TRY(gather_runs(merge, err));
    TRY(load_rows(merge, merge->live[merge->winner], err));
    place_winner(merge);
    return OK;
}

/* One at a time: it holds the memory of a row group. */
static enum err_code open_copier(struct merge *merge, const struct merge_input *input, struct error *err)
{
    if (merge->copier != NULL && merge->copied_input == input->index) {
        return OK;
    }
    parquet_copier_free(TAKE(merge->copier));
    merge->copied_input = input->index;
    return parquet_copier_new(partition_reader_file(input->reader), &input->projection, &merge->copier, err);
}

/* The whole row group of which the winner's rows are the first; *out_taken is false where it has to be merged. */
static enum err_code take_group(struct merge *merge, bool *out_taken, struct error *err)
{
    struct merge_input *input = merge->live[merge->winner];
    uint64_t rows = parquet_reader_row_group_rows(partition_reader_file(input->reader), input->group);
    input->starts_group = false; /* asked once */
    TRY(gather_runs(merge, err));
    TRY(write_output(merge, err));
    TRY(open_copier(merge, input, err));
    if (partition_writer_copy_group(merge->writer, merge->copier, input->group, out_taken, err) != OK) {
        return blame(merge, input, err_wrap(err, "\"%s\"", partition_reader_path(input->reader)));
    }
    if (!*out_taken) {
        return OK;
    }
    merge->rows_done += rows;
    TRY(blame(merge, input, partition_merge_input_skip_group(input, err)));
    place_winner(merge);
    return report_progress(merge, err);
}

static enum err_code take_rows(struct merge *merge, bool again, struct error *err)
{
    struct merge_input *input = merge->live[merge->winner];
    if (input->starts_group && input->at == 0 && partition_merge_group_precedes(input, runner_up(merge))) {
        bool taken = false;
        TRY(take_group(merge, &taken, err));
        if (taken) {
            return OK;
        }
    }
    uint32_t count = again || merge->live_count == 1 ? count_ahead(merge, input, runner_up(merge)) : 1;
    uint32_t room = OUTPUT_ROWS - merge->run_rows;
    count = count < room ? count : room;
    add_run(merge, input, count);
    if (input->at + count == input->rows.row_count) {
        return refill_winner(merge, err);
    }
    merge_input_seek(input, input->at + count);
    replay(merge);
    return merge->run_rows == OUTPUT_ROWS ? gather_runs(merge, err) : OK;
}

static enum err_code merge_rows(struct merge *merge, struct error *err)
{
    const struct merge_input *last = NULL;
    build_tree(merge);
    while (merge->live_count > 0) {
        const struct merge_input *input = merge->live[merge->winner];
        TRY(take_rows(merge, input == last, err));
        last = input;
    }
    return write_output(merge, err);
}

static void merge_done(struct merge *merge)
{
    for (size_t i = 0; merge->inputs != NULL && i < merge->input_count; i++) {
        partition_merge_input_done(&merge->inputs[i]);
    }
    parquet_copier_free(merge->copier);
    free(merge->inputs);
    free(merge->live);
    free(merge->losers);
    free(merge->runs);
    free(merge->bases);
    batch_free(merge->output);
}

static enum err_code run(struct merge *merge, struct error *err)
{
    size_t count = merge->input_count;
    merge->inputs = calloc(count + 1, sizeof *merge->inputs);
    merge->live = calloc(count + 1, sizeof *merge->live);
    merge->losers = calloc(count + 1, sizeof *merge->losers);
    merge->bases = calloc(count + 1, sizeof *merge->bases);
    merge->runs = calloc(OUTPUT_ROWS, sizeof *merge->runs);
    if (merge->inputs == NULL || merge->live == NULL || merge->losers == NULL || merge->bases == NULL ||
        merge->runs == NULL) {
        return err_no_memory(err, OUTPUT_ROWS * sizeof *merge->runs);
    }
    TRY(batch_new(merge->options->schema, OUTPUT_ROWS, &merge->output, err));
    TRY(open_inputs(merge, err));
    return merge_rows(merge, err);
}

enum err_code partition_merge(const struct partition_merge_options *options, struct partition_writer *writer,
                              int *out_bad_input, struct error *err)
{
    AUTO(merge_done)
    struct merge merge = {.options = options,
                          .writer = writer,
                          .order = partition_merge_order(options->schema),
                          .input_count = options->input_count,
                          .bad_input = PARTITION_MERGE_NO_INPUT};
    enum err_code code = run(&merge, err);
    if (code != OK && out_bad_input != NULL) {
        *out_bad_input = merge.bad_input;
    }
    return code;
}
