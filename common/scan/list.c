#include <stdlib.h>

#include "common/catalog/partitions.h"
#include "common/scan/internal.h"

enum { PAGE_PARTITIONS = 1000 };

void scan_list_done(struct scan_list *list)
{
    free(list->partitions);
    arena_free(list->arena);
}

static enum err_code add_partition(const struct scan_options *options, struct scan_list *list,
                                   const struct partition_record *record, struct error *err)
{
    struct store *store;
    TRY(storages_get(options->storages, options->catalog, record->storage_id, &store, err));
    if (list->count == list->capacity) {
        size_t capacity = list->capacity == 0 ? 64 : 2 * list->capacity;
        struct scan_partition *grown = realloc(list->partitions, capacity * sizeof *grown);
        if (grown == NULL) {
            return err_no_memory(err, capacity * sizeof *grown);
        }
        list->partitions = grown;
        list->capacity = capacity;
    }
    const char *path = arena_strdup(list->arena, record->path);
    if (path == NULL) {
        return err_no_memory(err, PARTITION_PATH_BYTES);
    }
    list->partitions[list->count++] = (struct scan_partition){.path = path,
                                                              .store = store,
                                                              .size_bytes = (uint64_t)record->data_bytes,
                                                              .min_timestamp_us = record->min_timestamp_us,
                                                              .max_timestamp_us = record->max_timestamp_us};
    return OK;
}

/* What the predicate reads. */
struct read_columns {
    uint32_t *ids;
    const struct schema_column **columns;
    struct column_stats *stats; /* room for one partition's */
    size_t count;
};

static void read_columns_done(struct read_columns *read)
{
    free(read->ids);
    free(read->columns);
    free(read->stats);
}

static enum err_code find_read_columns(const struct scan_options *options, struct read_columns *out, struct error *err)
{
    const struct schema *schema = options->schema;
    AUTO(free_auto) bool *needed = calloc(schema->column_count, sizeof *needed);
    out->ids = calloc(schema->column_count, sizeof *out->ids);
    out->columns = calloc(schema->column_count, sizeof *out->columns);
    out->stats = calloc(schema->column_count, sizeof *out->stats);
    if (needed == NULL || out->ids == NULL || out->columns == NULL || out->stats == NULL) {
        return err_no_memory(err, schema->column_count * sizeof *out->stats);
    }
    if (options->predicate != NULL) {
        predicate_columns(options->predicate, needed);
    }
    for (size_t i = 0; i < schema->column_count; i++) {
        if (needed[i]) {
            out->ids[out->count] = schema->columns[i].id;
            out->columns[out->count++] = &schema->columns[i];
        }
    }
    return OK;
}

/* The catalog keeps bytes without their type. Bounds of another width are those of a column that has been widened since:
 * they say nothing here. */
static bool fits_type(const struct column_stats *stats, enum column_type type)
{
    size_t width = column_type_width(type);
    return width == 0 ||
           ((!stats->has_min || stats->min_length == width) && (!stats->has_max || stats->max_length == width));
}

static bool may_match(const struct scan_options *options, const struct read_columns *read,
                      const struct catalog_live *live, size_t partition)
{
    size_t count = 0;
    for (size_t i = 0; i < read->count; i++) {
        const struct column_stats *stats = live->columns[partition * read->count + i];
        if (stats != NULL && fits_type(stats, read->columns[i]->type)) {
            read->stats[count] = *stats;
            read->stats[count++].type = read->columns[i]->type;
        }
    }
    return read->count == 0 ||
           predicate_may_match(options->predicate, read->stats, count, (uint64_t)live->partitions[partition].row_count);
}

static enum err_code load_page(const struct scan_options *options, const struct read_columns *read,
                               struct partition_record *after, struct scan_list *list, struct scan_counts *counts,
                               bool *out_more, struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct catalog_live live = {0};
    if (arena == NULL) {
        return err_no_memory(err, 4096);
    }
    const struct catalog_live_page page = {.table_id = options->schema->table_id,
                                           .min_timestamp_us = options->min_timestamp_us,
                                           .max_timestamp_us = options->max_timestamp_us,
                                           .after = counts->partitions > 0 ? after : NULL,
                                           .limit = PAGE_PARTITIONS,
                                           .column_ids = read->ids,
                                           .column_count = read->count};
    TRY(catalog_partitions_live(options->catalog, &page, arena, &live, err));
    for (size_t i = 0; i < live.count; i++) {
        if (may_match(options, read, &live, i)) {
            TRY(add_partition(options, list, &live.partitions[i], err));
        } else {
            counts->partitions_skipped++;
        }
    }
    counts->partitions += live.count;
    if (live.count > 0) {
        *after = live.partitions[live.count - 1]; /* its texts go with the arena; the key is what counts */
    }
    *out_more = live.count == PAGE_PARTITIONS;
    return OK;
}

enum err_code scan_list_load(const struct scan_options *options, struct scan_list *out, struct scan_counts *counts,
                             struct error *err)
{
    AUTO(read_columns_done) struct read_columns read = {0};
    AUTO(catalog_rollback_auto) struct catalog_transaction *snapshot = NULL;
    struct partition_record after = {0};
    out->arena = arena_new(0);
    if (out->arena == NULL) {
        return err_no_memory(err, 4096);
    }
    TRY(find_read_columns(options, &read, err));
    TRY(catalog_begin_snapshot(options->catalog, &snapshot, err));
    for (bool more = true; more;) {
        TRY(load_page(options, &read, &after, out, counts, &more, err));
    }
    return OK;
}
