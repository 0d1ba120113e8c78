/* Columnar batches: some rows of one schema, column by column. The one form in which rows travel between the decoders,
 * the partition file, the merge and the HTTP answers. Not thread safe; hand a batch on, do not share it. */
#ifndef GRANARY_ROWS_BATCH_H
#define GRANARY_ROWS_BATCH_H

#include "common/base/buf.h"
#include "common/rows/schema.h"
#include "common/rows/stats.h"

/* Values are dense: slot i belongs to row i, null slots hold zeros (or an empty range).
 * Fixed width: bool uint8_t 0/1; int32, date int32_t; int64, timestamp, decimal int64_t; float; double; uuid 16 bytes.
 * Variable width (string, bytes, json): offsets[i] .. offsets[i + 1] in data; row_count + 1 offsets, offsets[0] == 0. */
struct column {
    enum column_type type;
    uint32_t null_count;
    uint8_t *valid; /* bit i (least significant first) set: not null. NULL while null_count == 0 */
    union {
        uint8_t *u8;
        int32_t *i32;
        int64_t *i64;
        float *f32;
        double *f64;
        struct uuid *uuid;
        void *raw;
    } values;          /* NULL for variable width */
    uint32_t *offsets; /* variable width only */
    uint8_t *data;     /* variable width only */
    size_t data_capacity_bytes;
};

struct batch {
    const struct schema *schema; /* borrowed; outlives the batch */
    uint32_t row_count;
    uint32_t row_capacity;
    struct column *columns; /* schema->column_count of them */
    uint8_t *row_state;     /* private: for the row in progress, 1 where the column has a value */
    uint8_t **bitmaps;      /* private: memory behind columns[i].valid, kept while there are no nulls */
};

enum { BATCH_MAX_ROWS = 1 << 24 };

size_t column_type_width(enum column_type type); /* bytes per value; 0 for variable width */
bool column_type_is_variable(enum column_type type);

/* An empty batch with room for `row_capacity` rows (grown as needed by the appenders). */
MUST_CHECK enum err_code batch_new(const struct schema *schema, uint32_t row_capacity, struct batch **out,
                                   struct error *err);
void batch_free(struct batch *batch);
DEFINE_AUTO(struct batch, batch_free)
void batch_clear(struct batch *batch); /* no rows, memory kept */

/* Row-wise building. batch_row_begin makes room; set every column once for row `row_count`, then batch_row_end; or
 * batch_row_abandon forgets what was set for the row in progress. A column not set becomes null: row_end fails with
 * ERR_INVALID where that is not allowed, names the column, and leaves the row in progress. */
MUST_CHECK enum err_code batch_row_begin(struct batch *batch, struct error *err);
MUST_CHECK enum err_code batch_row_end(struct batch *batch, struct error *err);
void batch_row_abandon(struct batch *batch);
/* `data` must not point into the batch. ERR_NO_MEMORY also when the column would pass 4 GiB. */
MUST_CHECK enum err_code batch_set_variable(struct batch *batch, uint32_t column, const void *data, size_t length_bytes,
                                            struct error *err);

static inline void batch_set_null(struct batch *batch, uint32_t column)
{
    batch->row_state[column] = 0;
}
static inline bool batch_is_set(const struct batch *batch, uint32_t column) /* in the row in progress */
{
    return batch->row_state[column] != 0;
}
#define BATCH_SETTER_(name, type, member)                                                 \
    static inline void batch_set_##name(struct batch *batch, uint32_t column, type value) \
    {                                                                                     \
        batch->columns[column].values.member[batch->row_count] = value;                   \
        batch->row_state[column] = 1;                                                     \
    }
BATCH_SETTER_(bool, bool, u8)
BATCH_SETTER_(i32, int32_t, i32) /* int32, date */
BATCH_SETTER_(i64, int64_t, i64) /* int64, timestamp, decimal */
BATCH_SETTER_(float, float, f32)
BATCH_SETTER_(double, double, f64)
#undef BATCH_SETTER_
static inline void batch_set_uuid(struct batch *batch, uint32_t column, const struct uuid *value)
{
    batch->columns[column].values.uuid[batch->row_count] = *value;
    batch->row_state[column] = 1;
}

/* For who writes the bytes of a variable column in place: make room with batch_reserve_data, write from batch_data_end on,
 * then say how many there are. Until the end of the row the next write starts at the same place. */
static inline uint8_t *batch_data_end(const struct batch *batch, uint32_t column)
{
    return batch->columns[column].data + batch->columns[column].offsets[batch->row_count];
}
static inline size_t batch_data_room(const struct batch *batch, uint32_t column)
{
    return batch->columns[column].data_capacity_bytes - batch->columns[column].offsets[batch->row_count];
}
static inline void batch_set_written(struct batch *batch, uint32_t column, size_t length_bytes)
{
    uint32_t *offsets = batch->columns[column].offsets + batch->row_count;
    offsets[1] = offsets[0] + (uint32_t)length_bytes;
    batch->row_state[column] = 1;
}

/* Column-wise building: make room for rows and data bytes, write the slots [row_count, row_count + n) of every column
 * (and offsets, bits and null_count with them), then raise row_count. */
MUST_CHECK enum err_code batch_reserve(struct batch *batch, uint32_t more_rows, struct error *err);
MUST_CHECK enum err_code batch_reserve_data(struct batch *batch, uint32_t column, size_t more_bytes, struct error *err);
/* Makes `valid` not NULL, with the bits of the rows so far; bits from row_count on are undefined. */
uint8_t *batch_need_valid(struct batch *batch, uint32_t column);

static inline bool column_is_null(const struct column *column, uint32_t row)
{
    return column->valid != NULL && (column->valid[row >> 3] >> (row & 7) & 1) == 0;
}
static inline const uint8_t *column_variable(const struct column *column, uint32_t row, uint32_t *out_length)
{
    *out_length = column->offsets[row + 1] - column->offsets[row];
    return column->data + column->offsets[row];
}

/* Appends rows [first, first + count) of `from` (same schema). */
MUST_CHECK enum err_code batch_append_range(struct batch *to, const struct batch *from, uint32_t first, uint32_t count,
                                            struct error *err);
/* Appends rows from[rows[0]], from[rows[1]], ... */
MUST_CHECK enum err_code batch_append_rows(struct batch *to, const struct batch *from, const uint32_t *rows,
                                           uint32_t count, struct error *err);
/* Same rows under another schema (schema_reconcile decides): added columns null, widened types widened. */
MUST_CHECK enum err_code batch_convert(const struct batch *from, const struct schema *to, struct batch **out,
                                       struct error *err);

/* Stable order by the schema's sort keys: fills `order` (row_count entries) with row indexes. Already sorted input is
 * noticed in one pass. */
MUST_CHECK enum err_code batch_sort_order(const struct batch *batch, uint32_t *order, struct error *err);
/* Compares row a of x with row b of y by the sort keys (same schema). <0, 0, >0. Nulls last, strings bytewise. */
int batch_compare_rows(const struct batch *x, uint32_t a, const struct batch *y, uint32_t b);

size_t batch_memory_bytes(const struct batch *batch); /* values, bitmaps, offsets and data in use */

/* --- wire ------------------------------------------------------------------------------------------------------ */

struct codec; /* common/codec/codec.h */

/* Self-delimiting binary form of a batch (magic, schema version, row count, columns; the whole zstd-compressed level 1
 * and guarded by XXH3), appended to `out`. Deterministic. ERR_INVALID beyond 2 GiB. */
MUST_CHECK enum err_code batch_encode(const struct batch *batch, struct buf *out, struct error *err);
/* The same by a compressor of the caller's (level 1), for who encodes many. */
MUST_CHECK enum err_code batch_encode_with(const struct batch *batch, struct codec *codec, struct buf *out,
                                           struct error *err);
/* Decodes one batch from data[0..length); *out_used says how many bytes it took. Hostile bytes give ERR_CORRUPT; a batch
 * that would need more than max_bytes decoded, or has another schema version than `schema`, gives ERR_INVALID. The text
 * of strings is not checked to be UTF-8: whoever encoded it has done so. */
MUST_CHECK enum err_code batch_decode(const void *data, size_t length, const struct schema *schema, size_t max_bytes,
                                      struct batch **out, size_t *out_used, struct error *err);
/* The same by a decompressor of the caller's, for who decodes many. */
MUST_CHECK enum err_code batch_decode_with(const void *data, size_t length, const struct schema *schema,
                                           size_t max_bytes, struct codec *codec, struct batch **out, size_t *out_used,
                                           struct error *err);
/* Reads only the header: version and rows, without decoding. */
MUST_CHECK enum err_code batch_peek(const void *data, size_t length, int32_t *out_version, uint32_t *out_rows,
                                    struct error *err);

#endif
