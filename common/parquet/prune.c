#include "common/parquet/prune.h"

#include <stdlib.h>
#include <string.h>

#include "common/digest/digest.h"
#include "common/parquet/bloom.h"
#include "common/parquet/page_index.h"
#include "common/parquet/stats.h"
#include "common/rows/predicate.h"

/* What is known of nulls is none, some (or not known) or all. Said as a count of two rows it holds for any rows that have a
 * page in common, however many they are. */
enum { EVIDENCE_ROWS = 2 };

/* A column that the conditions read. */
struct watched {
    uint32_t column; /* of the file's schema */
    struct column_stats stats;
    struct meta_offset_index places; /* no pages: the statistics of the chunk hold for every row */
    struct meta_column_index bounds;
    size_t page; /* that the rows in question are in */
};

struct pruner {
    struct parquet_reader *reader;
    const struct predicate *predicate;
    struct parquet_range *ranges;
    size_t range_count;
    struct watched *watched;
    struct column_stats *evidence; /* one for each watched column */
    size_t watched_count;
    struct arena *arena; /* of the row group in progress */
    struct row_range *kept;
    size_t kept_count, kept_capacity;
};

void parquet_pruner_free(struct pruner *pruner)
{
    if (pruner == NULL) {
        return;
    }
    arena_free(pruner->arena);
    free(pruner->ranges);
    free(pruner->watched);
    free(pruner->evidence);
    free(pruner->kept);
    free(pruner);
}

/* --- conditions --------------------------------------------------------------------------------------------------- */

static bool has_integers(enum column_type type)
{
    return type == COLUMN_INT32 || type == COLUMN_INT64 || type == COLUMN_TIMESTAMP || type == COLUMN_DATE ||
           type == COLUMN_DECIMAL;
}

static enum err_code take_ranges(struct pruner *pruner, const struct parquet_cursor_options *options, bool *watch,
                                 struct error *err)
{
    const struct schema *schema = &pruner->reader->schema;
    pruner->ranges = calloc(options->range_count + 1, sizeof *pruner->ranges);
    if (pruner->ranges == NULL) {
        return err_no_memory(err, options->range_count * sizeof *pruner->ranges);
    }
    for (size_t i = 0; i < options->range_count; i++) {
        const struct parquet_range *range = &options->ranges[i];
        if (range->column >= schema->column_count || !has_integers(schema->columns[range->column].type)) {
            return err_set(err, ERR_INVALID, "expected a range over integers, times or decimals but column %u is none",
                           range->column);
        }
        pruner->ranges[pruner->range_count++] = *range;
        watch[range->column] = true;
    }
    return OK;
}

/* Decimals of another scale do not compare with the literals. */
static bool may_compare(const struct predicate *predicate, const struct schema_column *column)
{
    const struct schema_column *asked = predicate_column(predicate, column->id);
    return asked != NULL && asked->scale == column->scale;
}

enum err_code parquet_pruner_new(struct parquet_reader *reader, const struct parquet_cursor_options *options,
                                 struct pruner **out, struct error *err)
{
    const struct schema *schema = &reader->schema;
    AUTO(parquet_pruner_free_auto) struct pruner *pruner = calloc(1, sizeof *pruner);
    AUTO(free_auto) bool *watch = calloc(schema->column_count + 1, sizeof *watch);
    if (pruner == NULL || watch == NULL) {
        return err_no_memory(err, sizeof *pruner);
    }
    pruner->reader = reader;
    pruner->predicate = options->predicate;
    pruner->arena = arena_new(0);
    pruner->watched = calloc(schema->column_count + 1, sizeof *pruner->watched);
    pruner->evidence = calloc(schema->column_count + 1, sizeof *pruner->evidence);
    if (pruner->arena == NULL || pruner->watched == NULL || pruner->evidence == NULL) {
        return err_no_memory(err, schema->column_count * sizeof *pruner->watched);
    }
    TRY(take_ranges(pruner, options, watch, err));
    for (uint32_t i = 0; i < schema->column_count; i++) {
        if (watch[i] || (pruner->predicate != NULL && may_compare(pruner->predicate, &schema->columns[i]))) {
            pruner->watched[pruner->watched_count++].column = i;
        }
    }
    *out = TAKE(pruner);
    return OK;
}

/* --- evidence ----------------------------------------------------------------------------------------------------- */

static int64_t load_integer(enum column_type type, const uint8_t *bytes)
{
    int32_t narrow;
    int64_t wide;
    memcpy(&narrow, bytes, sizeof narrow);
    memcpy(&wide, bytes, sizeof wide);
    return type == COLUMN_INT32 || type == COLUMN_DATE ? narrow : wide;
}

static bool may_be_in_range(const struct pruner *pruner, const struct parquet_range *range)
{
    for (size_t i = 0; i < pruner->watched_count; i++) {
        const struct column_stats *stats = &pruner->evidence[i];
        if (pruner->watched[i].column == range->column) {
            return stats->null_count < EVIDENCE_ROWS &&
                   (!stats->has_min || load_integer(stats->type, stats->min) <= range->max) &&
                   (!stats->has_max || load_integer(stats->type, stats->max) >= range->min);
        }
    }
    return true;
}

typedef bool may_contain_fn(void *context, const struct schema_column *column, const void *value, size_t length);

static bool weigh(const struct pruner *pruner, may_contain_fn *may_contain, void *context)
{
    const struct predicate_evidence evidence = {.stats = pruner->evidence,
                                                .stats_count = pruner->watched_count,
                                                .row_count = EVIDENCE_ROWS,
                                                .may_contain = may_contain,
                                                .context = context};
    for (size_t i = 0; i < pruner->range_count; i++) {
        if (!may_be_in_range(pruner, &pruner->ranges[i])) {
            return false;
        }
    }
    return pruner->predicate == NULL || predicate_may_match_evidence(pruner->predicate, &evidence);
}

/* -1: not known. */
static uint64_t evident_nulls(const struct column_layout *layout, int64_t null_count, uint64_t rows)
{
    if (!layout->optional || null_count == 0) {
        return 0;
    }
    return null_count > 0 && (uint64_t)null_count >= rows ? EVIDENCE_ROWS : 1;
}

bool parquet_pruner_may_match(struct pruner *pruner, size_t row_group)
{
    const struct meta_row_group *group = &pruner->reader->meta.row_groups[row_group];
    for (size_t i = 0; i < pruner->watched_count; i++) {
        struct watched *watched = &pruner->watched[i];
        const struct column_layout *layout = &pruner->reader->layouts[watched->column];
        const struct meta_statistics *statistics = &group->chunks[layout->chunk].statistics;
        parquet_reader_stats(pruner->reader, row_group, watched->column, &watched->stats);
        watched->stats.null_count = evident_nulls(layout, statistics->null_count, (uint64_t)group->row_count);
        pruner->evidence[i] = watched->stats;
    }
    return weigh(pruner, NULL, NULL);
}

/* --- bloom filters ------------------------------------------------------------------------------------------------ */

/* One question to the filters of a row group. */
struct probe {
    struct pruner *pruner;
    size_t row_group;
    uint32_t column;            /* that `header` is of */
    struct bloom_header header; /* filter_bytes 0: none that can be used */
    bool has_header;
    enum err_code code; /* of the first read that failed; all answers after it are yes */
    struct error *err;
};

static enum err_code load_header(struct probe *probe, const struct meta_chunk *chunk)
{
    const struct parquet_reader *reader = probe->pruner->reader;
    uint8_t head[BLOOM_HEADER_MAX_BYTES];
    probe->has_header = true;
    probe->header = (struct bloom_header){0};
    if (chunk->bloom_offset < 4 || (uint64_t)chunk->bloom_offset >= reader->footer_at) {
        return OK;
    }
    uint64_t left = reader->footer_at - (uint64_t)chunk->bloom_offset;
    size_t length = left < sizeof head ? (size_t)left : sizeof head;
    TRY(reader->source.read(reader->source.context, (uint64_t)chunk->bloom_offset, length, head, probe->err));
    if (!parquet_bloom_decode_header(head, length, &probe->header) ||
        probe->header.header_bytes + probe->header.filter_bytes > left) {
        probe->header = (struct bloom_header){0};
    }
    return OK;
}

static enum err_code ask_filter(struct probe *probe, const struct meta_chunk *chunk, const void *value, size_t length,
                                bool *out)
{
    const struct parquet_reader *reader = probe->pruner->reader;
    uint8_t block[BLOOM_BLOCK_BYTES];
    if (!probe->has_header) {
        TRY(load_header(probe, chunk));
    }
    if (probe->header.filter_bytes > 0) {
        uint64_t hash = digest_xxh64(value, length, 0);
        uint64_t at = (uint64_t)chunk->bloom_offset + probe->header.header_bytes +
                      parquet_bloom_block_offset(probe->header.filter_bytes, hash);
        TRY(reader->source.read(reader->source.context, at, sizeof block, block, probe->err));
        *out = parquet_bloom_may_contain(block, sizeof block, hash);
    }
    return OK;
}

/* Values that are converted stand in the filter in another form. */
static bool may_contain(void *context, const struct schema_column *column, const void *value, size_t length)
{
    struct probe *probe = context;
    const struct parquet_reader *reader = probe->pruner->reader;
    int index = schema_find_id(&reader->schema, column->id);
    bool may = true;
    if (index < 0 || probe->code != OK || reader->schema.columns[index].type != column->type ||
        reader->layouts[index].conversion != CONVERSION_NONE) {
        return true;
    }
    if (probe->column != (uint32_t)index) {
        probe->column = (uint32_t)index;
        probe->has_header = false;
    }
    const struct meta_row_group *group = &reader->meta.row_groups[probe->row_group];
    probe->code = ask_filter(probe, &group->chunks[reader->layouts[index].chunk], value, length, &may);
    return may;
}

/* --- pages -------------------------------------------------------------------------------------------------------- */

static enum err_code load_pages(struct pruner *pruner, size_t row_group, size_t *out_pages, struct error *err)
{
    arena_reset(pruner->arena);
    *out_pages = 0;
    for (size_t i = 0; i < pruner->watched_count; i++) {
        struct watched *watched = &pruner->watched[i];
        watched->page = 0;
        TRY(parquet_page_index_places(pruner->reader, row_group, watched->column, pruner->arena, &watched->places,
                                      err));
        if (watched->places.count > 0) {
            TRY(parquet_page_index_bounds(pruner->reader, row_group, watched->column, watched->places.count,
                                          pruner->arena, &watched->bounds, err));
            watched->places.count = watched->bounds.count;
        }
        *out_pages += watched->places.count;
    }
    return OK;
}

static uint64_t page_end(const struct watched *watched, uint64_t rows)
{
    size_t next = watched->page + 1;
    return next < watched->places.count ? (uint64_t)watched->places.pages[next].first_row : rows;
}

static void weigh_page(const struct pruner *pruner, const struct watched *watched, uint64_t rows,
                       struct column_stats *out)
{
    const struct parquet_reader *reader = pruner->reader;
    const struct column_layout *layout = &reader->layouts[watched->column];
    const struct meta_column_index *index = &watched->bounds;
    size_t page = watched->page;
    uint64_t first = (uint64_t)watched->places.pages[page].first_row;
    column_stats_init(out, &reader->schema.columns[watched->column]);
    int64_t null_count = index->null_counts != NULL ? index->null_counts[page] : -1;
    bool only_nulls = index->null_pages[page] != 0;
    out->null_count = only_nulls && layout->optional /* otherwise the index contradicts the schema */
                          ? EVIDENCE_ROWS
                          : evident_nulls(layout, null_count, page_end(watched, rows) - first);
    if (!only_nulls && parquet_stats_are_ordered(&reader->meta, layout)) {
        parquet_stats_decode_bounds(&index->min[page], &index->max[page], layout, out);
    }
}

static enum err_code keep(struct pruner *pruner, uint64_t first, uint64_t end, struct error *err)
{
    struct row_range *last = pruner->kept_count > 0 ? &pruner->kept[pruner->kept_count - 1] : NULL;
    if (last != NULL && last->end == first) {
        last->end = end;
        return OK;
    }
    if (pruner->kept_count == pruner->kept_capacity) {
        size_t capacity = pruner->kept_capacity > 0 ? 2 * pruner->kept_capacity : 16;
        struct row_range *grown = realloc(pruner->kept, capacity * sizeof *grown);
        if (grown == NULL) {
            return err_no_memory(err, capacity * sizeof *grown);
        }
        pruner->kept = grown;
        pruner->kept_capacity = capacity;
    }
    pruner->kept[pruner->kept_count++] = (struct row_range){first, end};
    return OK;
}

/* Rows from one border of any watched column's pages to the next are in one page of each. */
static enum err_code walk_pages(struct pruner *pruner, uint64_t rows, struct error *err)
{
    for (uint64_t first = 0; first < rows;) {
        uint64_t end = rows;
        for (size_t i = 0; i < pruner->watched_count; i++) {
            struct watched *watched = &pruner->watched[i];
            pruner->evidence[i] = watched->stats;
            if (watched->places.count > 0) {
                while (page_end(watched, rows) <= first) {
                    watched->page++;
                }
                weigh_page(pruner, watched, rows, &pruner->evidence[i]);
                uint64_t own_end = page_end(watched, rows);
                end = own_end < end ? own_end : end;
            }
        }
        if (weigh(pruner, NULL, NULL)) {
            TRY(keep(pruner, first, end, err));
        }
        first = end;
    }
    return OK;
}

enum err_code parquet_pruner_rows(struct pruner *pruner, size_t row_group, const struct row_range **out,
                                  size_t *out_count, struct error *err)
{
    uint64_t rows = (uint64_t)pruner->reader->meta.row_groups[row_group].row_count;
    size_t pages = 0;
    pruner->kept_count = 0;
    bool may = parquet_pruner_may_match(pruner, row_group); /* also gathers what the chunks say */
    if (may && pruner->predicate != NULL) {
        struct probe probe = {.pruner = pruner, .row_group = row_group, .column = UINT32_MAX, .err = err};
        may = weigh(pruner, may_contain, &probe);
        TRY(probe.code);
    }
    if (may) {
        TRY(load_pages(pruner, row_group, &pages, err));
        TRY(pages > 0 ? walk_pages(pruner, rows, err) : keep(pruner, 0, rows, err));
    }
    *out = pruner->kept;
    *out_count = pruner->kept_count;
    return OK;
}
