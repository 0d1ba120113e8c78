/* One row group of the writer: its columns encoded or taken over and put, and what the footer will need kept. */
#include "common/parquet/writer_internal.h"

static enum err_code row_group_new(struct parquet_writer *writer, uint32_t rows, struct meta_row_group **out,
                                   struct error *err)
{
    if (writer->row_group_count == writer->row_group_capacity) {
        size_t capacity = writer->row_group_capacity > 0 ? 2 * writer->row_group_capacity : 8;
        struct meta_row_group *groups = realloc(writer->row_groups, capacity * sizeof *groups);
        if (groups == NULL) {
            return err_no_memory(err, capacity * sizeof *groups);
        }
        writer->row_groups = groups;
        writer->row_group_capacity = capacity;
    }
    struct meta_row_group group = {
        .row_count = rows, .file_offset = (int64_t)writer->file_bytes, .chunk_count = writer->schema->column_count};
    group.chunks = arena_zalloc(writer->arena, group.chunk_count, sizeof *group.chunks);
    if (group.chunks == NULL) {
        return err_no_memory(err, group.chunk_count * sizeof *group.chunks);
    }
    writer->row_groups[writer->row_group_count] = group;
    *out = &writer->row_groups[writer->row_group_count++];
    return OK;
}

static enum err_code keep_index(struct parquet_writer *writer, const struct chunk *chunk, struct meta_chunk *meta,
                                struct error *err)
{
    struct buf *columns = &writer->column_indexes, *offsets = &writer->offset_indexes;
    meta->column_index_offset = (int64_t)columns->length_bytes;
    if (parquet_column_index_possible(chunk->pages, chunk->page_count)) {
        TRY(parquet_column_index_encode(chunk->pages, chunk->page_count, writer->arena, columns, err));
    }
    meta->column_index_bytes = (int32_t)((int64_t)columns->length_bytes - meta->column_index_offset);
    meta->offset_index_offset = (int64_t)offsets->length_bytes;
    TRY(parquet_offset_index_encode(chunk->pages, chunk->page_count, offsets, err));
    meta->offset_index_bytes = (int32_t)((int64_t)offsets->length_bytes - meta->offset_index_offset);
    return OK;
}

static enum err_code make_chunk(struct parquet_writer *writer, const struct batch *rows, size_t column,
                                struct parquet_bytes raw, const struct chunk **out, struct error *err)
{
    const struct schema_column *definition = &writer->schema->columns[column];
    const struct column *values = &rows->columns[column];
    *out = NULL;
    if (raw.data != NULL) {
        TRY(parquet_chunk_adopt(writer->encoder, definition, values, rows->row_count, raw, (int64_t)writer->file_bytes,
                                out, err));
    }
    return *out != NULL ? OK
                        : parquet_chunk_encode(writer->encoder, definition, values, rows->row_count,
                                               (int64_t)writer->file_bytes, out, err);
}

static enum err_code put_chunk(struct parquet_writer *writer, const struct chunk *chunk, size_t column,
                               struct meta_row_group *group, struct error *err)
{
    struct meta_chunk *meta = &group->chunks[column];
    *meta = chunk->meta;
    TRY(parquet_writer_put(writer, chunk->data.data, chunk->data.length, err));
    TRY(parquet_stats_encode(&chunk->stats, writer->arena, &meta->statistics, err));
    TRY(keep_index(writer, chunk, meta, err));
    meta->bloom_offset = (int64_t)writer->blooms.length_bytes;
    meta->bloom_bytes = (int32_t)chunk->bloom.length_bytes;
    TRY(buf_append(&writer->blooms, chunk->bloom.data, chunk->bloom.length_bytes, err));
    column_stats_merge(&writer->stats[column], &chunk->stats);
    group->total_bytes += meta->uncompressed_bytes;
    group->compressed_bytes += meta->compressed_bytes;
    return OK;
}

/* The filters follow the pages of their row group. */
static enum err_code put_blooms(struct parquet_writer *writer, struct meta_row_group *group, struct error *err)
{
    for (size_t i = 0; i < group->chunk_count; i++) {
        struct meta_chunk *meta = &group->chunks[i];
        meta->bloom_offset = meta->bloom_bytes > 0 ? (int64_t)writer->file_bytes + meta->bloom_offset : 0;
    }
    TRY(parquet_writer_put(writer, writer->blooms.data, writer->blooms.length_bytes, err));
    buf_clear(&writer->blooms);
    return OK;
}

enum err_code parquet_writer_put_group(struct parquet_writer *writer, const struct batch *rows,
                                       const struct parquet_bytes *raws, struct error *err)
{
    static const struct parquet_bytes none;
    struct meta_row_group *group = NULL;
    TRY(row_group_new(writer, rows->row_count, &group, err));
    for (size_t i = 0; i < writer->schema->column_count; i++) {
        const struct chunk *chunk = NULL;
        TRY(make_chunk(writer, rows, i, raws != NULL ? raws[i] : none, &chunk, err));
        TRY(put_chunk(writer, chunk, i, group, err));
    }
    TRY(put_blooms(writer, group, err));
    writer->row_count += rows->row_count;
    writer->memory_bytes += batch_memory_bytes(rows);
    return OK;
}

enum err_code parquet_writer_flush(struct parquet_writer *writer, struct error *err)
{
    if (writer->pending->row_count > 0) {
        TRY(parquet_writer_put_group(writer, writer->pending, NULL, err));
        batch_clear(writer->pending);
    }
    return OK;
}
