#include "common/parquet/column.h"

#include <string.h>

#include "common/parquet/column_page.h"

/* A dictionary lets a small file ask for any amount: one long text, named by every row. */
enum { BATCH_TEXTS_MAX_BYTES = 512 << 20 };

void parquet_column_reader_done(struct column_reader *reader)
{
    parquet_page_reader_done(&reader->pages);
    parquet_values_done(&reader->dictionary);
    parquet_values_done(&reader->values);
    buf_done(&reader->codes);
    buf_done(&reader->levels);
}

void parquet_column_reader_start(struct column_reader *reader, const struct column_chunk *chunk)
{
    parquet_page_reader_start(&reader->pages, chunk->begin, chunk->end);
    reader->places = chunk->places;
    reader->begin = chunk->begin;
    reader->rows = chunk->rows;
    reader->rows_left = chunk->rows;
    reader->indexed_rows = 0;
    reader->has_dictionary = false;
    reader->page_rows = 0;
    reader->page_at = 0;
}

static uint64_t values_bytes(const struct values *values)
{
    return values->fixed.capacity_bytes + values->texts.capacity_bytes + values->physical.capacity_bytes +
           values->bad.capacity_bytes + 2 * sizeof(uint32_t) * values->spans_capacity;
}

/* Looks back: what one page may take has limits of its own, what many columns take together has this one. */
static enum err_code take_budget(struct column_reader *reader, const struct column *column, struct error *err)
{
    uint64_t held = reader->pages.raw.capacity_bytes + reader->pages.payload.capacity_bytes +
                    reader->codes.capacity_bytes + reader->levels.capacity_bytes + values_bytes(&reader->values) +
                    values_bytes(&reader->dictionary) + column->data_capacity_bytes;
    if (reader->budget == NULL) {
        return OK;
    }
    reader->budget->used_bytes += held - reader->held_bytes;
    reader->held_bytes = held;
    if (reader->budget->used_bytes > reader->budget->most_bytes) {
        return err_set(
            err, ERR_INVALID,
            "expected pages and texts of at most %llu bytes at once; hint: read fewer columns or rows at once",
            (unsigned long long)reader->budget->most_bytes);
    }
    return OK;
}

/* A part of the page in progress, and where it goes. */
struct part {
    const struct values *from; /* the page's values, or the dictionary */
    const uint32_t *codes;     /* NULL: the values as they come */
    size_t dense_at, dense_count;
    const uint8_t *levels; /* NULL: no nulls */
    uint32_t slot, rows;
};

/* --- fixed width ------------------------------------------------------------------------------------------------- */

/* Dense values are put at the front of their slots and then moved apart from the end, so that none is overwritten. */
#define DEFINE_FILL_(name, type)                                                   \
    static void fill_##name(const struct part *part, type *out)                    \
    {                                                                              \
        const type *values = (const void *)part->from->fixed.data;                 \
        if (part->codes == NULL) {                                                 \
            memcpy(out, values + part->dense_at, part->dense_count * sizeof *out); \
        } else {                                                                   \
            const uint32_t *codes = part->codes + part->dense_at;                  \
            for (size_t i = 0; i < part->dense_count; i++) {                       \
                out[i] = values[codes[i]];                                         \
            }                                                                      \
        }                                                                          \
        size_t next = part->dense_count;                                           \
        for (size_t i = part->rows; part->levels != NULL && i > 0; i--) {          \
            out[i - 1] = part->levels[i - 1] != 0 ? out[--next] : (type){0};       \
        }                                                                          \
    }
DEFINE_FILL_(u8, uint8_t)
DEFINE_FILL_(u32, uint32_t)
DEFINE_FILL_(u64, uint64_t)
DEFINE_FILL_(u128, struct uuid)
#undef DEFINE_FILL_

static void fill_fixed(const struct part *part, struct column *column)
{
    if (part->dense_count == 0) {
        size_t width = column_type_width(column->type);
        memset(column->values.u8 + part->slot * width, 0, part->rows * width);
        return;
    }
    switch (column_type_width(column->type)) {
    case 1: fill_u8(part, column->values.u8 + part->slot); return;
    case 4: fill_u32(part, (uint32_t *)column->values.raw + part->slot); return;
    case 8: fill_u64(part, (uint64_t *)column->values.raw + part->slot); return;
    default: fill_u128(part, column->values.uuid + part->slot);
    }
}

/* --- texts ------------------------------------------------------------------------------------------------------- */

/* Offsets of the slots, from the first one's on. Returns the bytes of the texts; beyond 32 bits the offsets mean nothing. */
static uint64_t fill_offsets(const struct part *part, uint32_t *offsets)
{
    const uint32_t *lengths = part->from->spans.lengths, *codes = part->codes;
    uint64_t begin = offsets[0], at = begin;
    size_t next = part->dense_at;
    if (part->levels != NULL) {
        for (uint32_t i = 0; i < part->rows; i++) {
            if (part->levels[i] != 0) {
                at += lengths[codes != NULL ? codes[next] : next];
                next++;
            }
            offsets[i + 1] = (uint32_t)at;
        }
    } else if (codes != NULL) {
        for (uint32_t i = 0; i < part->rows; i++) {
            at += lengths[codes[next + i]];
            offsets[i + 1] = (uint32_t)at;
        }
    } else {
        for (uint32_t i = 0; i < part->rows; i++) {
            at += lengths[next + i];
            offsets[i + 1] = (uint32_t)at;
        }
    }
    return at - begin;
}

/* Do the texts stand one behind the other, without gaps? */
static bool is_contiguous(const struct part *part, uint64_t total)
{
    const struct spans *spans = &part->from->spans;
    size_t last = part->dense_at + part->dense_count - 1;
    return part->codes == NULL &&
           (uint64_t)spans->starts[last] + spans->lengths[last] == spans->starts[part->dense_at] + total;
}

/* Both sides have PAGE_SLACK_BYTES behind them: most texts are shorter and take one move without a call. */
static inline void copy_text(uint8_t *to, const uint8_t *from, uint32_t length)
{
    if (length <= PAGE_SLACK_BYTES) {
        memcpy(to, from, PAGE_SLACK_BYTES);
    } else {
        memcpy(to, from, length);
    }
}

/* The texts one behind the other, whatever their slots are. */
static void copy_texts(const struct part *part, uint8_t *to)
{
    const uint8_t *data = part->from->spans.data;
    const uint32_t *starts = part->from->spans.starts, *lengths = part->from->spans.lengths, *codes = part->codes;
    for (size_t i = part->dense_at; i < part->dense_at + part->dense_count; i++) {
        size_t index = codes != NULL ? codes[i] : i;
        uint32_t length = lengths[index];
        copy_text(to, data + starts[index], length);
        to += length;
    }
}

static enum err_code fill_variable(const struct part *part, struct batch *batch, uint32_t index, struct error *err)
{
    struct column *column = &batch->columns[index];
    uint32_t used = part->slot > 0 ? column->offsets[part->slot] : 0;
    column->offsets[part->slot] = used;
    if (part->dense_count == 0) {
        for (uint32_t i = 0; i < part->rows; i++) {
            column->offsets[part->slot + i + 1] = used;
        }
        return OK;
    }
    uint64_t total = fill_offsets(part, column->offsets + part->slot);
    if (used + total > BATCH_TEXTS_MAX_BYTES) {
        return err_set(err, ERR_INVALID, "expected at most %d bytes of texts in a batch; hint: read fewer rows at once",
                       BATCH_TEXTS_MAX_BYTES);
    }
    TRY(batch_reserve_data(batch, index, (size_t)(used + total) + PAGE_SLACK_BYTES, err));
    if (is_contiguous(part, total)) {
        const struct spans *spans = &part->from->spans;
        memcpy(column->data + used, spans->data + spans->starts[part->dense_at], total);
    } else {
        copy_texts(part, column->data + used);
    }
    return OK;
}

/* --- nulls ------------------------------------------------------------------------------------------------------- */

static void set_bits(uint8_t *bits, uint32_t first, uint32_t count)
{
    for (; count > 0 && (first & 7) != 0; first++, count--) {
        bits[first >> 3] |= (uint8_t)(1U << (first & 7));
    }
    if (count > 0) {
        memset(bits + (first >> 3), 0xff, (count + 7) / 8);
    }
}

/* The bitmap shows only once there is a null: the slots before it are then set at once. */
static void mark_nulls(const struct part *part, struct batch *batch, uint32_t index)
{
    struct column *column = &batch->columns[index];
    if (column->valid == NULL && part->levels == NULL) {
        return;
    }
    uint8_t *bits = batch->bitmaps[index];
    if (column->valid == NULL) {
        set_bits(bits, 0, part->slot);
        column->valid = bits;
    }
    if (part->levels == NULL) {
        set_bits(bits, part->slot, part->rows);
        return;
    }
    for (uint32_t i = 0; i < part->rows; i++) {
        uint32_t slot = part->slot + i;
        uint8_t mask = (uint8_t)(1U << (slot & 7));
        bits[slot >> 3] = (uint8_t)(part->levels[i] != 0 ? bits[slot >> 3] | mask : bits[slot >> 3] & ~mask);
    }
    column->null_count += part->rows - (uint32_t)part->dense_count;
}

/* --- rows -------------------------------------------------------------------------------------------------------- */

static size_t count_ones(const uint8_t *levels, size_t count)
{
    size_t ones = 0;
    for (size_t i = 0; i < count; i++) {
        ones += levels[i];
    }
    return ones;
}

static void pass_in_page(struct column_reader *reader, uint32_t rows)
{
    reader->dense_at += reader->has_nulls ? count_ones(reader->levels.data + reader->page_at, rows) : rows;
    reader->page_at += rows;
}

/* The index says in which page a row is: at most the rows before it in that page are left to pass by. */
static enum err_code jump(struct column_reader *reader, uint64_t *rows, struct error *err)
{
    const struct meta_offset_index *places = &reader->places;
    uint64_t wanted = reader->rows - reader->rows_left + *rows;
    size_t low = 0, high = places->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        *((uint64_t)places->pages[middle].first_row <= wanted ? &low : &high) = middle;
    }
    const struct page_place *place = &places->pages[low];
    if ((uint64_t)place->offset <= reader->pages.at) {
        return OK; /* it is the page that comes next */
    }
    if (reader->pages.at == reader->begin && (uint64_t)places->pages[0].offset > reader->begin) {
        TRY(parquet_column_dictionary_load(reader, err));
    }
    uint64_t end_row = low + 1 < places->count ? (uint64_t)places->pages[low + 1].first_row : reader->rows;
    reader->pages.at = (uint64_t)place->offset;
    reader->rows_left = reader->rows - (uint64_t)place->first_row;
    reader->indexed_rows = end_row - (uint64_t)place->first_row;
    *rows = wanted - (uint64_t)place->first_row;
    return OK;
}

enum err_code parquet_column_reader_skip(struct column_reader *reader, uint64_t rows, struct error *err)
{
    uint32_t here = reader->page_rows - reader->page_at;
    here = rows < here ? (uint32_t)rows : here;
    pass_in_page(reader, here);
    rows -= here;
    if (rows > 0 && reader->places.count > 0) {
        TRY(jump(reader, &rows, err));
    }
    while (rows > 0) {
        uint64_t before = reader->rows_left;
        TRY(parquet_column_page_load(reader, rows, err));
        rows -= before - reader->rows_left - reader->page_rows;
        here = rows < reader->page_rows ? (uint32_t)rows : reader->page_rows;
        pass_in_page(reader, here);
        rows -= here;
    }
    return OK;
}

static struct part next_part(const struct column_reader *reader, uint32_t slot, uint32_t most)
{
    uint32_t left = reader->page_rows - reader->page_at;
    struct part part = {
        .from = reader->coded ? &reader->dictionary : &reader->values,
        .codes = reader->coded ? (const uint32_t *)(const void *)reader->codes.data : NULL,
        .dense_at = reader->dense_at,
        .slot = slot,
        .rows = left < most ? left : most,
    };
    part.dense_count = part.rows;
    if (reader->has_nulls) {
        part.levels = reader->levels.data + reader->page_at;
        part.dense_count = count_ones(part.levels, part.rows);
        part.levels = part.dense_count < part.rows ? part.levels : NULL;
    }
    return part;
}

enum err_code parquet_column_reader_read(struct column_reader *reader, struct batch *batch, uint32_t column,
                                         uint32_t rows, struct error *err)
{
    for (uint32_t done = 0; done < rows;) {
        if (reader->page_at == reader->page_rows) {
            TRY(parquet_column_page_load(reader, 0, err));
            TRY(take_budget(reader, &batch->columns[column], err));
            continue; /* a page may have no rows */
        }
        struct part part = next_part(reader, done, rows - done);
        if (column_type_is_variable(reader->form.type)) {
            TRY(fill_variable(&part, batch, column, err));
            TRY(take_budget(reader, &batch->columns[column], err));
        } else {
            fill_fixed(&part, &batch->columns[column]);
        }
        mark_nulls(&part, batch, column);
        reader->page_at += part.rows;
        reader->dense_at += part.dense_count;
        done += part.rows;
    }
    return OK;
}
