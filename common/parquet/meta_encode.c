#include "common/parquet/meta.h"
#include "common/parquet/thrift.h"

static void put_unit(struct thrift_out *out, int32_t unit)
{
    parquet_thrift_put_struct(out, 2);
    parquet_thrift_put_struct(out, (int16_t)unit);
    parquet_thrift_end_struct(out);
    parquet_thrift_end_struct(out);
}

static void put_logical(struct thrift_out *out, const struct meta_element *element)
{
    parquet_thrift_put_struct(out, 10);
    parquet_thrift_put_struct(out, (int16_t)element->logical);
    if (element->logical == LOGICAL_DECIMAL) {
        parquet_thrift_put_i32(out, 1, element->scale);
        parquet_thrift_put_i32(out, 2, element->precision);
    } else if (element->logical == LOGICAL_TIMESTAMP) {
        parquet_thrift_put_bool(out, 1, element->adjusted_to_utc);
        put_unit(out, element->unit);
    }
    parquet_thrift_end_struct(out);
    parquet_thrift_end_struct(out);
}

static void put_element(struct thrift_out *out, const struct meta_element *element)
{
    parquet_thrift_element_struct(out);
    if (element->physical >= 0) {
        parquet_thrift_put_i32(out, 1, element->physical);
        if (element->physical == PHYSICAL_FIXED) {
            parquet_thrift_put_i32(out, 2, element->type_length);
        }
        parquet_thrift_put_i32(out, 3, element->repetition);
    }
    parquet_thrift_put_binary(out, 4, element->name.data, element->name.length);
    if (element->physical < 0) {
        parquet_thrift_put_i32(out, 5, element->child_count);
    }
    if (element->converted != CONVERTED_NONE) {
        parquet_thrift_put_i32(out, 6, element->converted);
    }
    if (element->logical == LOGICAL_DECIMAL) {
        parquet_thrift_put_i32(out, 7, element->scale);
        parquet_thrift_put_i32(out, 8, element->precision);
    }
    if (element->field_id >= 0) {
        parquet_thrift_put_i32(out, 9, element->field_id);
    }
    if (element->logical != LOGICAL_NONE) {
        put_logical(out, element);
    }
    parquet_thrift_end_struct(out);
}

static void put_statistics(struct thrift_out *out, const struct meta_statistics *statistics)
{
    parquet_thrift_put_struct(out, 12);
    parquet_thrift_put_i64(out, 3, statistics->null_count);
    if (statistics->max.data != NULL) {
        parquet_thrift_put_binary(out, 5, statistics->max.data, statistics->max.length);
    }
    if (statistics->min.data != NULL) {
        parquet_thrift_put_binary(out, 6, statistics->min.data, statistics->min.length);
    }
    if (statistics->max.data != NULL && statistics->exact) {
        parquet_thrift_put_bool(out, 7, true);
    }
    if (statistics->min.data != NULL && statistics->exact) {
        parquet_thrift_put_bool(out, 8, true);
    }
    parquet_thrift_end_struct(out);
}

static void put_encodings(struct thrift_out *out, uint32_t encodings)
{
    parquet_thrift_put_list(out, 2, THRIFT_I32, (size_t)__builtin_popcount(encodings));
    for (; encodings != 0; encodings &= encodings - 1) {
        parquet_thrift_element_int(out, __builtin_ctz(encodings));
    }
}

static void put_encoding_stats(struct thrift_out *out, const struct meta_chunk *chunk)
{
    parquet_thrift_put_list(out, 13, THRIFT_STRUCT, chunk->encoding_stats_count);
    for (size_t i = 0; i < chunk->encoding_stats_count; i++) {
        parquet_thrift_element_struct(out);
        parquet_thrift_put_i32(out, 1, chunk->encoding_stats[i].page_type);
        parquet_thrift_put_i32(out, 2, chunk->encoding_stats[i].encoding);
        parquet_thrift_put_i32(out, 3, chunk->encoding_stats[i].count);
        parquet_thrift_end_struct(out);
    }
}

static void put_chunk_meta(struct thrift_out *out, const struct meta_chunk *chunk, struct parquet_bytes name)
{
    parquet_thrift_put_struct(out, 3);
    parquet_thrift_put_i32(out, 1, chunk->physical);
    put_encodings(out, chunk->encodings);
    parquet_thrift_put_list(out, 3, THRIFT_BINARY, 1);
    parquet_thrift_element_binary(out, name.data, name.length);
    parquet_thrift_put_i32(out, 4, chunk->codec);
    parquet_thrift_put_i64(out, 5, chunk->value_count);
    parquet_thrift_put_i64(out, 6, chunk->uncompressed_bytes);
    parquet_thrift_put_i64(out, 7, chunk->compressed_bytes);
    parquet_thrift_put_i64(out, 9, chunk->data_page_offset);
    if (chunk->dictionary_page_offset > 0) {
        parquet_thrift_put_i64(out, 11, chunk->dictionary_page_offset);
    }
    put_statistics(out, &chunk->statistics);
    put_encoding_stats(out, chunk);
    if (chunk->bloom_offset > 0) {
        parquet_thrift_put_i64(out, 14, chunk->bloom_offset);
        parquet_thrift_put_i32(out, 15, chunk->bloom_bytes);
    }
    parquet_thrift_end_struct(out);
}

static void put_chunk(struct thrift_out *out, const struct meta_chunk *chunk, struct parquet_bytes name)
{
    parquet_thrift_element_struct(out);
    parquet_thrift_put_i64(out, 2, 0); /* file_offset: required, and to be 0 since format 2.9 */
    put_chunk_meta(out, chunk, name);
    parquet_thrift_put_i64(out, 4, chunk->offset_index_offset);
    parquet_thrift_put_i32(out, 5, chunk->offset_index_bytes);
    if (chunk->column_index_offset > 0) {
        parquet_thrift_put_i64(out, 6, chunk->column_index_offset);
        parquet_thrift_put_i32(out, 7, chunk->column_index_bytes);
    }
    parquet_thrift_end_struct(out);
}

static void put_sorting(struct thrift_out *out, const struct meta_file *meta)
{
    parquet_thrift_put_list(out, 4, THRIFT_STRUCT, meta->sorting_count);
    for (size_t i = 0; i < meta->sorting_count; i++) {
        parquet_thrift_element_struct(out);
        parquet_thrift_put_i32(out, 1, meta->sorting[i].column);
        parquet_thrift_put_bool(out, 2, meta->sorting[i].descending);
        parquet_thrift_put_bool(out, 3, meta->sorting[i].nulls_first);
        parquet_thrift_end_struct(out);
    }
}

static void put_row_group(struct thrift_out *out, const struct meta_file *meta, size_t index)
{
    const struct meta_row_group *group = &meta->row_groups[index];
    parquet_thrift_element_struct(out);
    parquet_thrift_put_list(out, 1, THRIFT_STRUCT, group->chunk_count);
    for (size_t i = 0; i < group->chunk_count; i++) {
        put_chunk(out, &group->chunks[i], meta->elements[i + 1].name);
    }
    parquet_thrift_put_i64(out, 2, group->total_bytes);
    parquet_thrift_put_i64(out, 3, group->row_count);
    put_sorting(out, meta);
    parquet_thrift_put_i64(out, 5, group->file_offset);
    parquet_thrift_put_i64(out, 6, group->compressed_bytes);
    if (index <= INT16_MAX) {
        parquet_thrift_put_i16(out, 7, (int16_t)index);
    }
    parquet_thrift_end_struct(out);
}

static void put_key_values(struct thrift_out *out, const struct meta_file *meta)
{
    parquet_thrift_put_list(out, 5, THRIFT_STRUCT, meta->key_value_count);
    for (size_t i = 0; i < meta->key_value_count; i++) {
        parquet_thrift_element_struct(out);
        parquet_thrift_put_binary(out, 1, meta->key_values[i].key.data, meta->key_values[i].key.length);
        parquet_thrift_put_binary(out, 2, meta->key_values[i].value.data, meta->key_values[i].value.length);
        parquet_thrift_end_struct(out);
    }
}

/* TYPE_ORDER for every column: min_value and max_value are in the order of the logical type. */
static void put_column_orders(struct thrift_out *out, size_t count)
{
    parquet_thrift_put_list(out, 7, THRIFT_STRUCT, count);
    for (size_t i = 0; i < count; i++) {
        parquet_thrift_element_struct(out);
        parquet_thrift_put_struct(out, 1);
        parquet_thrift_end_struct(out);
        parquet_thrift_end_struct(out);
    }
}

enum err_code parquet_meta_encode(const struct meta_file *meta, struct buf *buf, struct error *err)
{
    struct thrift_out out = parquet_thrift_out(buf, err);
    parquet_thrift_put_i32(&out, 1, meta->version);
    parquet_thrift_put_list(&out, 2, THRIFT_STRUCT, meta->element_count);
    for (size_t i = 0; i < meta->element_count; i++) {
        put_element(&out, &meta->elements[i]);
    }
    parquet_thrift_put_i64(&out, 3, meta->row_count);
    parquet_thrift_put_list(&out, 4, THRIFT_STRUCT, meta->row_group_count);
    for (size_t i = 0; i < meta->row_group_count; i++) {
        put_row_group(&out, meta, i);
    }
    if (meta->key_value_count > 0) {
        put_key_values(&out, meta);
    }
    parquet_thrift_put_binary(&out, 6, meta->created_by.data, meta->created_by.length);
    put_column_orders(&out, meta->element_count - 1);
    return parquet_thrift_out_end(&out);
}
