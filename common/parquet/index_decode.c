/* The page index: what the pages of a chunk hold, and where they stand. */
#include "common/parquet/meta.h"
#include "common/parquet/thrift.h"

enum { MAX_PAGES = 1 << 20 };

static void get_place(struct thrift_in *in, struct thrift_field field, struct page_place *out)
{
    struct thrift_field member;
    parquet_thrift_enter(in, field);
    while (parquet_thrift_next(in, &member)) {
        switch (member.id) {
        case 1: out->offset = parquet_thrift_get_i64(in, member); break;
        case 2: out->bytes = parquet_thrift_get_i32(in, member); break;
        case 3: out->first_row = parquet_thrift_get_i64(in, member); break;
        default: parquet_thrift_skip(in, member);
        }
    }
}

enum err_code parquet_offset_index_decode(const void *data, size_t length, struct arena *arena,
                                          struct meta_offset_index *out, struct error *err)
{
    struct thrift_in in = parquet_thrift_in(data, length, err);
    struct thrift_field member, element;
    struct meta_offset_index index = {0};
    while (parquet_thrift_next(&in, &member)) {
        if (member.id != 1) {
            parquet_thrift_skip(&in, member);
            continue;
        }
        index.pages =
            parquet_thrift_get_list_into(&in, member, arena, sizeof *index.pages, MAX_PAGES, &index.count, &element);
        for (size_t i = 0; i < index.count && in.code == OK; i++) {
            get_place(&in, element, &index.pages[i]);
        }
    }
    TRY(in.code);
    *out = index;
    return OK;
}

static struct parquet_bytes *get_bounds(struct thrift_in *in, struct thrift_field field, struct arena *arena,
                                        size_t *out_count)
{
    struct thrift_field element;
    struct parquet_bytes *bounds =
        parquet_thrift_get_list_into(in, field, arena, sizeof *bounds, MAX_PAGES, out_count, &element);
    for (size_t i = 0; i < *out_count && in->code == OK; i++) {
        bounds[i].data = parquet_thrift_get_binary(in, element, &bounds[i].length);
    }
    return bounds;
}

struct index_lengths {
    size_t min, max, null_counts;
};

static void get_index_member(struct thrift_in *in, struct thrift_field member, struct arena *arena,
                             struct meta_column_index *out, struct index_lengths *lengths)
{
    struct thrift_field element;
    switch (member.id) {
    case 1:
        out->null_pages = parquet_thrift_get_list_into(in, member, arena, 1, MAX_PAGES, &out->count, &element);
        for (size_t i = 0; i < out->count && in->code == OK; i++) {
            out->null_pages[i] = parquet_thrift_get_bool_element(in, element);
        }
        break;
    case 2: out->min = get_bounds(in, member, arena, &lengths->min); break;
    case 3: out->max = get_bounds(in, member, arena, &lengths->max); break;
    case 5:
        out->null_counts = parquet_thrift_get_list_into(in, member, arena, sizeof *out->null_counts, MAX_PAGES,
                                                        &lengths->null_counts, &element);
        for (size_t i = 0; i < lengths->null_counts && in->code == OK; i++) {
            out->null_counts[i] = parquet_thrift_get_i64(in, element);
        }
        break;
    default: parquet_thrift_skip(in, member);
    }
}

enum err_code parquet_column_index_decode(const void *data, size_t length, struct arena *arena,
                                          struct meta_column_index *out, struct error *err)
{
    struct thrift_in in = parquet_thrift_in(data, length, err);
    struct thrift_field member;
    struct meta_column_index index = {0};
    struct index_lengths lengths = {0};
    while (parquet_thrift_next(&in, &member)) {
        get_index_member(&in, member, arena, &index, &lengths);
    }
    TRY(in.code);
    if (lengths.min != index.count || lengths.max != index.count ||
        (index.null_counts != NULL && lengths.null_counts != index.count)) {
        return err_set(err, ERR_CORRUPT, "expected bounds for %zu pages but found %zu and %zu", index.count,
                       lengths.min, lengths.max);
    }
    *out = index;
    return OK;
}
