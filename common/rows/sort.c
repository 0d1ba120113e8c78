/* The order of rows. Most tables sort by their timestamp first, and most rows come in nearly sorted: one pass looks
 * whether anything is to be done at all. Otherwise the first key of each row becomes one 64-bit number that sorts like
 * it (a number with its sign turned, the first bytes of a text), the numbers are sorted by radix, and only rows with
 * equal numbers are compared by all their keys. */
#include "common/rows/internal.h"

static int compare_values(const struct column *p, uint32_t a, const struct column *q, uint32_t b)
{
    if (p->offsets != NULL) {
        uint32_t a_length;
        uint32_t b_length;
        const uint8_t *x = column_variable(p, a, &a_length);
        const uint8_t *y = column_variable(q, b, &b_length);
        return bytes_compare(x, a_length, y, b_length);
    }
    size_t width = column_type_width(p->type);
    return column_value_compare(p->type, p->values.u8 + a * width, width, q->values.u8 + b * width, width);
}

int batch_compare_rows(const struct batch *x, uint32_t a, const struct batch *y, uint32_t b)
{
    const struct schema *schema = x->schema;
    for (size_t k = 0; k < schema->sort_key_count; k++) {
        const struct sort_key *key = &schema->sort_keys[k];
        const struct column *p = &x->columns[key->column];
        const struct column *q = &y->columns[key->column];
        bool a_null = column_is_null(p, a);
        bool b_null = column_is_null(q, b);
        if (a_null || b_null) {
            if (a_null != b_null) {
                return a_null ? 1 : -1; /* last in either direction */
            }
            continue;
        }
        int order = compare_values(p, a, q, b);
        if (order != 0) {
            return key->descending ? -order : order;
        }
    }
    return 0;
}

struct ranked {
    uint64_t rank;
    uint32_t row;
};

/* Equal values have equal ranks, and a smaller rank sorts first; a larger value may have the same rank. */
static uint64_t rank_of(const struct column *column, const struct sort_key *key, uint32_t row)
{
    if (column_is_null(column, row)) {
        return UINT64_MAX;
    }
    uint64_t rank = 0;
    switch (column->type) {
    case COLUMN_INT64:
    case COLUMN_TIMESTAMP:
    case COLUMN_DECIMAL: rank = (uint64_t)column->values.i64[row] ^ UINT64_C(1) << 63; break;
    case COLUMN_INT32:
    case COLUMN_DATE: rank = (uint64_t)(column->values.i32[row] + INT64_C(0x80000000)); break;
    case COLUMN_BOOL: rank = column->values.u8[row]; break;
    case COLUMN_UUID: rank = bytes_prefix(column->values.uuid[row].bytes, 8); break;
    case COLUMN_STRING:
    case COLUMN_BYTES:
    case COLUMN_JSON: {
        uint32_t length;
        const uint8_t *value = column_variable(column, row, &length);
        rank = bytes_prefix(value, length);
        break;
    }
    case COLUMN_FLOAT: /* refused as sort keys by schema_new */
    case COLUMN_DOUBLE:
    case COLUMN_TYPE_COUNT: break;
    }
    return key->descending ? ~rank : rank;
}

static bool is_sorted(const struct batch *batch)
{
    const struct sort_key *key = &batch->schema->sort_keys[0];
    const struct column *column = &batch->columns[key->column];
    bool is_plain = column->type == COLUMN_TIMESTAMP && column->valid == NULL && !key->descending;
    for (uint32_t i = 1; i < batch->row_count; i++) {
        if (is_plain && column->values.i64[i - 1] < column->values.i64[i]) {
            continue;
        }
        if (is_plain && column->values.i64[i - 1] > column->values.i64[i]) {
            return false;
        }
        if (batch_compare_rows(batch, i - 1, batch, i) > 0) {
            return false;
        }
    }
    return true;
}

/* Least significant digit first, 11 bits at a time; digits in which all rows agree are skipped. The sorted rows end up
 * in the array that is returned. Stable. */
static struct ranked *radix_sort(struct ranked *rows, struct ranked *spare, uint32_t count)
{
    enum { BITS = 11, BUCKETS = 1 << BITS };
    uint64_t all = UINT64_MAX;
    uint64_t any = 0;
    for (uint32_t i = 0; i < count; i++) {
        all &= rows[i].rank;
        any |= rows[i].rank;
    }
    for (unsigned shift = 0; shift < 64; shift += BITS) {
        if (((all ^ any) >> shift & (BUCKETS - 1)) == 0) {
            continue;
        }
        uint32_t starts[BUCKETS] = {0};
        for (uint32_t i = 0; i < count; i++) {
            starts[rows[i].rank >> shift & (BUCKETS - 1)]++;
        }
        uint32_t next = 0;
        for (size_t b = 0; b < BUCKETS; b++) {
            uint32_t here = starts[b];
            starts[b] = next;
            next += here;
        }
        for (uint32_t i = 0; i < count; i++) {
            spare[starts[rows[i].rank >> shift & (BUCKETS - 1)]++] = rows[i];
        }
        struct ranked *swap = rows;
        rows = spare;
        spare = swap;
    }
    return rows;
}

/* Bottom-up merge sort of rows by all keys: stable, and no worse than n log n whatever the input. */
static struct ranked *merge_sort(const struct batch *batch, struct ranked *rows, struct ranked *spare, size_t count)
{
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t start = 0; start < count; start += 2 * width) {
            size_t middle = start + width < count ? start + width : count;
            size_t end = start + 2 * width < count ? start + 2 * width : count;
            size_t left = start;
            size_t right = middle;
            for (size_t i = start; i < end; i++) {
                bool take_right = right < end && (left == middle || batch_compare_rows(batch, rows[left].row, batch,
                                                                                       rows[right].row) > 0);
                spare[i] = take_right ? rows[right++] : rows[left++];
            }
        }
        struct ranked *swap = rows;
        rows = spare;
        spare = swap;
    }
    return rows;
}

/* One key that its rank says wholly: rows with equal ranks are equal. */
static bool rank_is_exact(const struct batch *batch)
{
    const struct column *column = &batch->columns[batch->schema->sort_keys[0].column];
    return batch->schema->sort_key_count == 1 && column->valid == NULL && column->offsets == NULL &&
           column->type != COLUMN_UUID;
}

static void sort_ties(const struct batch *batch, struct ranked *rows, struct ranked *spare, uint32_t count)
{
    for (uint32_t first = 0; first < count;) {
        uint32_t end = first + 1;
        while (end < count && rows[end].rank == rows[first].rank) {
            end++;
        }
        size_t ties = end - first;
        struct ranked *sorted = merge_sort(batch, rows + first, spare, ties);
        if (sorted != rows + first) {
            memcpy(rows + first, sorted, ties * sizeof *rows);
        }
        first = end;
    }
}

enum err_code batch_sort_order(const struct batch *batch, uint32_t *order, struct error *err)
{
    uint32_t count = batch->row_count;
    if (is_sorted(batch)) {
        for (uint32_t i = 0; i < count; i++) {
            order[i] = i;
        }
        return OK;
    }
    AUTO(free_auto) struct ranked *memory = malloc(2 * (size_t)count * sizeof *memory);
    if (memory == NULL) {
        return err_no_memory(err, 2 * (size_t)count * sizeof *memory);
    }
    const struct sort_key *key = &batch->schema->sort_keys[0];
    for (uint32_t i = 0; i < count; i++) {
        memory[i] = (struct ranked){.rank = rank_of(&batch->columns[key->column], key, i), .row = i};
    }
    struct ranked *sorted = radix_sort(memory, memory + count, count);
    if (!rank_is_exact(batch)) {
        sort_ties(batch, sorted, sorted == memory ? memory + count : memory, count);
    }
    for (uint32_t i = 0; i < count; i++) {
        order[i] = sorted[i].row;
    }
    return OK;
}
