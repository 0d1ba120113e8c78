/* The end of the file: page index, footer, magic. */
#include <string.h>

#include "common/parquet/writer_internal.h"

enum { FORMAT_VERSION = 2 /* the encodings are of format 2; the pages are of version 1 */ };

static enum err_code put_indexes(struct parquet_writer *writer, struct error *err)
{
    int64_t columns_at = (int64_t)writer->file_bytes;
    int64_t offsets_at = columns_at + (int64_t)writer->column_indexes.length_bytes;
    for (size_t g = 0; g < writer->row_group_count; g++) {
        for (size_t i = 0; i < writer->row_groups[g].chunk_count; i++) {
            struct meta_chunk *meta = &writer->row_groups[g].chunks[i];
            meta->column_index_offset = meta->column_index_bytes > 0 ? meta->column_index_offset + columns_at : 0;
            meta->offset_index_offset += offsets_at;
        }
    }
    TRY(parquet_writer_put(writer, writer->column_indexes.data, writer->column_indexes.length_bytes, err));
    return parquet_writer_put(writer, writer->offset_indexes.data, writer->offset_indexes.length_bytes, err);
}

static struct parquet_bytes bytes_of(const char *text)
{
    return (struct parquet_bytes){(const uint8_t *)text, (uint32_t)strlen(text)};
}

static enum err_code fill_meta(const struct parquet_writer *writer, struct meta_file *out, struct error *err)
{
    const struct schema *schema = writer->schema;
    struct meta_file meta = {.version = FORMAT_VERSION,
                             .row_count = (int64_t)writer->row_count,
                             .element_count = schema->column_count + 1,
                             .row_group_count = writer->row_group_count,
                             .row_groups = writer->row_groups,
                             .key_value_count = writer->options.key_value_count,
                             .sorting_count = schema->sort_key_count,
                             .created_by = bytes_of(PARQUET_CREATED_BY GRANARY_VERSION)};
    meta.elements = arena_zalloc(writer->arena, meta.element_count, sizeof *meta.elements);
    meta.key_values = arena_zalloc(writer->arena, meta.key_value_count + 1, sizeof *meta.key_values);
    if (meta.elements == NULL || meta.key_values == NULL) {
        return err_no_memory(err, meta.element_count * sizeof *meta.elements);
    }
    meta.elements[0] = (struct meta_element){.name = bytes_of("schema"),
                                             .physical = -1,
                                             .child_count = (int32_t)schema->column_count,
                                             .converted = CONVERTED_NONE,
                                             .field_id = -1};
    for (size_t i = 0; i < schema->column_count; i++) {
        parquet_type_to_element(&schema->columns[i], &meta.elements[i + 1]);
    }
    for (size_t i = 0; i < meta.key_value_count; i++) {
        meta.key_values[i].key = bytes_of(writer->options.key_values[i].key);
        meta.key_values[i].value = bytes_of(writer->options.key_values[i].value);
    }
    for (size_t i = 0; i < meta.sorting_count; i++) {
        meta.sorting[i].column = (int32_t)schema->sort_keys[i].column;
        meta.sorting[i].descending = schema->sort_keys[i].descending;
    }
    *out = meta;
    return OK;
}

static enum err_code put_footer(struct parquet_writer *writer, struct error *err)
{
    AUTO(buf_done) struct buf footer = {0};
    struct meta_file meta;
    TRY(fill_meta(writer, &meta, err));
    TRY(parquet_meta_encode(&meta, &footer, err));
    uint32_t length = (uint32_t)footer.length_bytes;
    TRY(buf_append(&footer, &length, sizeof length, err));
    TRY(buf_append(&footer, PARQUET_MAGIC, PARQUET_MAGIC_BYTES, err));
    return parquet_writer_put(writer, footer.data, footer.length_bytes, err);
}

enum err_code parquet_writer_put_end(struct parquet_writer *writer, struct error *err)
{
    TRY(put_indexes(writer, err));
    return put_footer(writer, err);
}
