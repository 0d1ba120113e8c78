/* libFuzzer: everything of a Parquet file that is written in thrift. The first byte says what the others are; what decodes as
 * a page header must come back from its encoding. */
#include <stdlib.h>
#include <string.h>

#include "common/parquet/bloom.h"
#include "common/parquet/meta.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool is_right)
{
    if (!is_right) {
        abort();
    }
}

static void try_page_header(const uint8_t *data, size_t size)
{
    struct page_header header, back;
    AUTO(buf_done) struct buf encoded = {0};
    size_t used = 0;
    bool cut_off = false;
    if (parquet_page_header_decode(data, size, &header, &used, &cut_off, NULL) != OK) {
        return;
    }
    check(used <= size);
    if (header.type != PAGE_DATA || !header.has_body) {
        return; /* the writer makes no others */
    }
    check(parquet_page_header_encode(&header, &encoded, NULL) == OK);
    check(parquet_page_header_decode(encoded.data, encoded.length_bytes, &back, &used, &cut_off, NULL) == OK);
    check(used == encoded.length_bytes && back.value_count == header.value_count && back.encoding == header.encoding);
}

static void try_footer(const uint8_t *data, size_t size, struct arena *arena)
{
    struct meta_file meta;
    if (parquet_meta_decode(data, size, arena, &meta, NULL) != OK) {
        return;
    }
    check(meta.element_count > 0);
    for (size_t g = 0; g < meta.row_group_count; g++) {
        check(meta.row_groups[g].chunk_count == 0 || meta.row_groups[g].chunks != NULL);
    }
}

static void try_indexes(const uint8_t *data, size_t size, struct arena *arena)
{
    struct meta_offset_index places;
    struct meta_column_index bounds;
    if (parquet_offset_index_decode(data, size, arena, &places, NULL) == OK) {
        check(places.count == 0 || places.pages != NULL);
    }
    if (parquet_column_index_decode(data, size, arena, &bounds, NULL) == OK) {
        for (size_t i = 0; i < bounds.count; i++) {
            check(bounds.min[i].data >= data && bounds.min[i].data + bounds.min[i].length <= data + size);
            check(bounds.max[i].data >= data && bounds.max[i].data + bounds.max[i].length <= data + size);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct bloom_header bloom;
    if (size == 0 || arena == NULL) {
        return 0;
    }
    switch (data[0] % 4) {
    case 0: try_page_header(data + 1, size - 1); break;
    case 1: try_footer(data + 1, size - 1, arena); break;
    case 2: try_indexes(data + 1, size - 1, arena); break;
    default:
        if (parquet_bloom_decode_header(data + 1, size - 1, &bloom)) {
            check(bloom.header_bytes < size && bloom.filter_bytes % BLOOM_BLOCK_BYTES == 0);
        }
    }
    return 0;
}
