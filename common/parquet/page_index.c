#include "common/parquet/page_index.h"

enum { INDEX_MAX_BYTES = 16 << 20 };

static const struct meta_chunk *chunk_of(const struct parquet_reader *reader, size_t row_group, size_t column)
{
    return &reader->meta.row_groups[row_group].chunks[reader->layouts[column].chunk];
}

/* *out NULL where there is none, or not in the file. ERR_NO_MEMORY, or what the source answers. */
static enum err_code load(const struct parquet_reader *reader, int64_t offset, int32_t bytes, struct arena *arena,
                          const uint8_t **out, struct error *err)
{
    const struct parquet_source *source = &reader->source;
    *out = NULL;
    if (offset < 4 || bytes <= 0 || bytes > INDEX_MAX_BYTES || (uint64_t)offset > reader->footer_at ||
        (uint64_t)bytes > reader->footer_at - (uint64_t)offset) {
        return OK;
    }
    uint8_t *data = arena_alloc(arena, (size_t)bytes);
    if (data == NULL) {
        return err_no_memory(err, (size_t)bytes);
    }
    TRY(source->read(source->context, (uint64_t)offset, (size_t)bytes, data, err));
    *out = data;
    return OK;
}

static bool are_places_right(const struct meta_offset_index *index, uint64_t begin, uint64_t end, int64_t rows)
{
    uint64_t at = begin;
    int64_t row = 0;
    for (size_t i = 0; i < index->count; i++) {
        const struct page_place *page = &index->pages[i];
        if (page->offset < 0 || (uint64_t)page->offset < at || page->bytes <= 0 || (uint64_t)page->offset > end ||
            (uint64_t)page->bytes > end - (uint64_t)page->offset || page->first_row < row || page->first_row >= rows ||
            (i == 0 && page->first_row != 0)) {
            return false;
        }
        at = (uint64_t)page->offset + (uint64_t)page->bytes;
        row = page->first_row;
    }
    return true;
}

enum err_code parquet_page_index_places(const struct parquet_reader *reader, size_t row_group, size_t column,
                                        struct arena *arena, struct meta_offset_index *out, struct error *err)
{
    const struct meta_chunk *chunk = chunk_of(reader, row_group, column);
    const uint8_t *data;
    uint64_t begin, end;
    *out = (struct meta_offset_index){0};
    TRY(load(reader, chunk->offset_index_offset, chunk->offset_index_bytes, arena, &data, err));
    parquet_reader_chunk_range(reader, chunk, &begin, &end);
    if (data == NULL || parquet_offset_index_decode(data, (size_t)chunk->offset_index_bytes, arena, out, NULL) != OK ||
        !are_places_right(out, begin, end, reader->meta.row_groups[row_group].row_count)) {
        *out = (struct meta_offset_index){0};
    }
    return OK;
}

enum err_code parquet_page_index_bounds(const struct parquet_reader *reader, size_t row_group, size_t column,
                                        size_t pages, struct arena *arena, struct meta_column_index *out,
                                        struct error *err)
{
    const struct meta_chunk *chunk = chunk_of(reader, row_group, column);
    const uint8_t *data;
    *out = (struct meta_column_index){0};
    TRY(load(reader, chunk->column_index_offset, chunk->column_index_bytes, arena, &data, err));
    if (data == NULL || parquet_column_index_decode(data, (size_t)chunk->column_index_bytes, arena, out, NULL) != OK ||
        out->count != pages) {
        *out = (struct meta_column_index){0};
    }
    return OK;
}
