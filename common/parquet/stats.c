#include "common/parquet/stats.h"

#include <math.h>
#include <string.h>

#include "common/parquet/thrift.h"

/* The format: a minimum of zero is written as -0.0 and a maximum as +0.0, as both may stand in the column. */
static void set_zero_sign(enum column_type type, uint8_t *value, bool negative)
{
    if (type == COLUMN_DOUBLE) {
        double zero = negative ? -0.0 : 0.0, number;
        memcpy(&number, value, sizeof number);
        memcpy(value, number == 0 ? &zero : &number, sizeof number);
    } else if (type == COLUMN_FLOAT) {
        float zero = negative ? -0.0F : 0.0F, number;
        memcpy(&number, value, sizeof number);
        memcpy(value, number == 0 ? &zero : &number, sizeof number);
    }
}

static enum err_code encode_bound(const struct column_stats *stats, bool is_min, struct arena *arena,
                                  struct parquet_bytes *out, struct error *err)
{
    size_t length = is_min ? stats->min_length : stats->max_length;
    uint8_t *copy = arena_alloc(arena, length + 1);
    if (copy == NULL) {
        return err_no_memory(err, length + 1);
    }
    memcpy(copy, is_min ? stats->min : stats->max, length);
    set_zero_sign(stats->type, copy, is_min);
    *out = (struct parquet_bytes){copy, (uint32_t)length};
    return OK;
}

enum err_code parquet_stats_encode(const struct column_stats *stats, struct arena *arena, struct meta_statistics *out,
                                   struct error *err)
{
    struct meta_statistics encoded = {.null_count = (int64_t)stats->null_count,
                                      .exact = !column_type_is_variable(stats->type)};
    if (stats->has_min) {
        TRY(encode_bound(stats, true, arena, &encoded.min, err));
    }
    if (stats->has_max) {
        TRY(encode_bound(stats, false, arena, &encoded.max, err));
    }
    *out = encoded;
    return OK;
}

static bool only_nulls(const struct page_entry *page)
{
    return page->stats.null_count == page->rows;
}

bool parquet_column_index_possible(const struct page_entry *pages, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct column_stats *stats = &pages[i].stats;
        bool is_time = stats->type == COLUMN_TIMESTAMP || stats->type == COLUMN_DATE;
        if (only_nulls(&pages[i]) ? is_time : !stats->has_min || !stats->has_max) {
            return false;
        }
    }
    return true;
}

enum boundary_order { ORDER_NONE = 0, ORDER_ASCENDING = 1, ORDER_DESCENDING = 2 };

static enum boundary_order boundary_order(const struct page_entry *pages, size_t count)
{
    bool ascending = true, descending = true;
    const struct column_stats *last = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct column_stats *stats = &pages[i].stats;
        if (only_nulls(&pages[i])) {
            continue;
        }
        if (last != NULL) {
            int min = column_value_compare(stats->type, last->min, last->min_length, stats->min, stats->min_length);
            int max = column_value_compare(stats->type, last->max, last->max_length, stats->max, stats->max_length);
            ascending = ascending && min <= 0 && max <= 0;
            descending = descending && min >= 0 && max >= 0;
        }
        last = stats;
    }
    return ascending ? ORDER_ASCENDING : descending ? ORDER_DESCENDING : ORDER_NONE;
}

static enum err_code put_bounds(struct thrift_out *out, int16_t field, bool is_min, const struct page_entry *pages,
                                size_t count, struct arena *arena)
{
    parquet_thrift_put_list(out, field, THRIFT_BINARY, count);
    for (size_t i = 0; i < count; i++) {
        struct parquet_bytes bound = {0};
        if (!only_nulls(&pages[i])) {
            TRY(encode_bound(&pages[i].stats, is_min, arena, &bound, out->err));
        }
        parquet_thrift_element_binary(out, bound.data, bound.length);
    }
    return OK;
}

enum err_code parquet_column_index_encode(const struct page_entry *pages, size_t count, struct arena *arena,
                                          struct buf *buf, struct error *err)
{
    struct thrift_out out = parquet_thrift_out(buf, err);
    parquet_thrift_put_list(&out, 1, THRIFT_TRUE, count);
    for (size_t i = 0; i < count; i++) {
        parquet_thrift_element_bool(&out, only_nulls(&pages[i]));
    }
    TRY(put_bounds(&out, 2, true, pages, count, arena));
    TRY(put_bounds(&out, 3, false, pages, count, arena));
    parquet_thrift_put_i32(&out, 4, boundary_order(pages, count));
    parquet_thrift_put_list(&out, 5, THRIFT_I64, count);
    for (size_t i = 0; i < count; i++) {
        parquet_thrift_element_int(&out, (int64_t)pages[i].stats.null_count);
    }
    return parquet_thrift_out_end(&out);
}

enum err_code parquet_offset_index_encode(const struct page_entry *pages, size_t count, struct buf *buf,
                                          struct error *err)
{
    struct thrift_out out = parquet_thrift_out(buf, err);
    parquet_thrift_put_list(&out, 1, THRIFT_STRUCT, count);
    for (size_t i = 0; i < count; i++) {
        parquet_thrift_element_struct(&out);
        parquet_thrift_put_i64(&out, 1, pages[i].offset);
        parquet_thrift_put_i32(&out, 2, pages[i].bytes);
        parquet_thrift_put_i64(&out, 3, pages[i].first_row);
        parquet_thrift_end_struct(&out);
    }
    return parquet_thrift_out_end(&out);
}
