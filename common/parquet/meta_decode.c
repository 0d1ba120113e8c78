#include "common/parquet/meta.h"
#include "common/parquet/thrift.h"

/* No file needs more; a footer that claims more wants our memory. */
enum { MAX_ELEMENTS = 1 << 16, MAX_ROW_GROUPS = 1 << 20, MAX_KEY_VALUES = 1 << 16 };

static struct parquet_bytes get_bytes(struct thrift_in *in, struct thrift_field field)
{
    struct parquet_bytes bytes = {0};
    bytes.data = parquet_thrift_get_binary(in, field, &bytes.length);
    return bytes;
}

static void get_unit(struct thrift_in *in, struct thrift_field field, struct meta_element *out)
{
    struct thrift_field member;
    parquet_thrift_enter(in, field);
    while (parquet_thrift_next(in, &member)) {
        out->unit = member.id;
        parquet_thrift_skip(in, member);
    }
}

/* The members of the logical types do not clash: numbers mean scale and precision, or bits and sign, by the type. */
static void get_logical_body(struct thrift_in *in, struct thrift_field field, struct meta_element *out)
{
    struct thrift_field member;
    parquet_thrift_enter(in, field);
    while (parquet_thrift_next(in, &member)) {
        bool is_time = out->logical == LOGICAL_TIMESTAMP || out->logical == LOGICAL_TIME;
        if (is_time && member.id == 1) {
            out->adjusted_to_utc = parquet_thrift_get_bool(in, member);
        } else if (is_time && member.id == 2) {
            get_unit(in, member, out);
        } else if (out->logical == LOGICAL_DECIMAL && member.id == 1) {
            out->scale = parquet_thrift_get_i32(in, member);
        } else if (out->logical == LOGICAL_DECIMAL && member.id == 2) {
            out->precision = parquet_thrift_get_i32(in, member);
        } else if (out->logical == LOGICAL_INTEGER && member.id == 1) {
            out->integer_bits = parquet_thrift_get_i32(in, member);
        } else if (out->logical == LOGICAL_INTEGER && member.id == 2) {
            out->integer_signed = parquet_thrift_get_bool(in, member);
        } else {
            parquet_thrift_skip(in, member);
        }
    }
}

static void get_logical(struct thrift_in *in, struct thrift_field field, struct meta_element *out)
{
    struct thrift_field member;
    parquet_thrift_enter(in, field);
    while (parquet_thrift_next(in, &member)) {
        out->logical = member.id;
        get_logical_body(in, member, out);
    }
}

static void get_element(struct thrift_in *in, struct thrift_field field, struct meta_element *out)
{
    struct thrift_field member;
    *out = (struct meta_element){.physical = -1, .converted = CONVERTED_NONE, .field_id = -1};
    parquet_thrift_enter(in, field);
    while (parquet_thrift_next(in, &member)) {
        switch (member.id) {
        case 1: out->physical = parquet_thrift_get_i32(in, member); break;
        case 2: out->type_length = parquet_thrift_get_i32(in, member); break;
        case 3: out->repetition = parquet_thrift_get_i32(in, member); break;
        case 4: out->name = get_bytes(in, member); break;
        case 5: out->child_count = parquet_thrift_get_i32(in, member); break;
        case 6: out->converted = parquet_thrift_get_i32(in, member); break;
        case 7: out->scale = parquet_thrift_get_i32(in, member); break;
        case 8: out->precision = parquet_thrift_get_i32(in, member); break;
        case 9: out->field_id = parquet_thrift_get_i32(in, member); break;
        case 10: get_logical(in, member, out); break;
        default: parquet_thrift_skip(in, member);
        }
    }
}

static void get_statistics(struct thrift_in *in, struct thrift_field field, struct meta_statistics *out)
{
    struct thrift_field member;
    parquet_thrift_enter(in, field);
    while (parquet_thrift_next(in, &member)) {
        switch (member.id) {
        case 1: out->legacy_max = get_bytes(in, member); break;
        case 2: out->legacy_min = get_bytes(in, member); break;
        case 3: out->null_count = parquet_thrift_get_i64(in, member); break;
        case 5: out->max = get_bytes(in, member); break;
        case 6: out->min = get_bytes(in, member); break;
        default: parquet_thrift_skip(in, member);
        }
    }
}

static uint32_t get_encodings(struct thrift_in *in, struct thrift_field field)
{
    struct thrift_field element;
    uint32_t count = parquet_thrift_get_list(in, field, &element), bits = 0;
    for (uint32_t i = 0; i < count && in->code == OK; i++) {
        int32_t encoding = parquet_thrift_get_i32(in, element);
        bits |= encoding >= 0 && encoding < 32 ? UINT32_C(1) << encoding : 0;
    }
    return bits;
}

static void get_chunk_meta(struct thrift_in *in, struct thrift_field field, struct meta_chunk *out)
{
    struct thrift_field member;
    parquet_thrift_enter(in, field);
    while (parquet_thrift_next(in, &member)) {
        switch (member.id) {
        case 1: out->physical = parquet_thrift_get_i32(in, member); break;
        case 2: out->encodings = get_encodings(in, member); break;
        case 4: out->codec = parquet_thrift_get_i32(in, member); break;
        case 5: out->value_count = parquet_thrift_get_i64(in, member); break;
        case 6: out->uncompressed_bytes = parquet_thrift_get_i64(in, member); break;
        case 7: out->compressed_bytes = parquet_thrift_get_i64(in, member); break;
        case 9: out->data_page_offset = parquet_thrift_get_i64(in, member); break;
        case 11: out->dictionary_page_offset = parquet_thrift_get_i64(in, member); break;
        case 12: get_statistics(in, member, &out->statistics); break;
        case 14: out->bloom_offset = parquet_thrift_get_i64(in, member); break;
        case 15: out->bloom_bytes = parquet_thrift_get_i32(in, member); break;
        default: parquet_thrift_skip(in, member);
        }
    }
}

static void get_chunk(struct thrift_in *in, struct thrift_field field, struct meta_chunk *out)
{
    struct thrift_field member;
    bool has_meta = false;
    *out = (struct meta_chunk){.physical = -1, .statistics.null_count = -1};
    parquet_thrift_enter(in, field);
    while (parquet_thrift_next(in, &member)) {
        switch (member.id) {
        case 1:
            out->external = true;
            parquet_thrift_skip(in, member);
            break;
        case 3:
            has_meta = true;
            get_chunk_meta(in, member, out);
            break;
        case 4: out->offset_index_offset = parquet_thrift_get_i64(in, member); break;
        case 5: out->offset_index_bytes = parquet_thrift_get_i32(in, member); break;
        case 6: out->column_index_offset = parquet_thrift_get_i64(in, member); break;
        case 7: out->column_index_bytes = parquet_thrift_get_i32(in, member); break;
        case 8:
        case 9:
            out->encrypted = true;
            parquet_thrift_skip(in, member);
            break;
        default: parquet_thrift_skip(in, member);
        }
    }
    if (!has_meta && !out->encrypted) {
        parquet_thrift_fail(in, "a column chunk has no metadata");
    }
}

static void get_row_group(struct thrift_in *in, struct thrift_field field, struct arena *arena,
                          struct meta_row_group *out)
{
    struct thrift_field member, element;
    parquet_thrift_enter(in, field);
    while (parquet_thrift_next(in, &member)) {
        switch (member.id) {
        case 1:
            out->chunks = parquet_thrift_get_list_into(in, member, arena, sizeof *out->chunks, MAX_ELEMENTS,
                                                       &out->chunk_count, &element);
            for (size_t i = 0; i < out->chunk_count && in->code == OK; i++) {
                get_chunk(in, element, &out->chunks[i]);
            }
            break;
        case 2: out->total_bytes = parquet_thrift_get_i64(in, member); break;
        case 3: out->row_count = parquet_thrift_get_i64(in, member); break;
        default: parquet_thrift_skip(in, member);
        }
    }
}

/* Of the orders there are, only the one by type is known here. */
static bool get_order(struct thrift_in *in, struct thrift_field field)
{
    struct thrift_field member;
    bool typed = false;
    parquet_thrift_enter(in, field);
    while (parquet_thrift_next(in, &member)) {
        typed |= member.id == 1;
        parquet_thrift_skip(in, member);
    }
    return typed;
}

static void get_key_value(struct thrift_in *in, struct thrift_field field, struct meta_key_value *out)
{
    struct thrift_field member;
    parquet_thrift_enter(in, field);
    while (parquet_thrift_next(in, &member)) {
        switch (member.id) {
        case 1: out->key = get_bytes(in, member); break;
        case 2: out->value = get_bytes(in, member); break;
        default: parquet_thrift_skip(in, member);
        }
    }
}

static void get_member(struct thrift_in *in, struct thrift_field member, struct arena *arena, struct meta_file *out)
{
    struct thrift_field element;
    switch (member.id) {
    case 1: out->version = parquet_thrift_get_i32(in, member); break;
    case 2:
        out->elements = parquet_thrift_get_list_into(in, member, arena, sizeof *out->elements, MAX_ELEMENTS,
                                                     &out->element_count, &element);
        for (size_t i = 0; i < out->element_count && in->code == OK; i++) {
            get_element(in, element, &out->elements[i]);
        }
        break;
    case 3: out->row_count = parquet_thrift_get_i64(in, member); break;
    case 4:
        out->row_groups = parquet_thrift_get_list_into(in, member, arena, sizeof *out->row_groups, MAX_ROW_GROUPS,
                                                       &out->row_group_count, &element);
        for (size_t i = 0; i < out->row_group_count && in->code == OK; i++) {
            get_row_group(in, element, arena, &out->row_groups[i]);
        }
        break;
    case 5:
        out->key_values = parquet_thrift_get_list_into(in, member, arena, sizeof *out->key_values, MAX_KEY_VALUES,
                                                       &out->key_value_count, &element);
        for (size_t i = 0; i < out->key_value_count && in->code == OK; i++) {
            get_key_value(in, element, &out->key_values[i]);
        }
        break;
    case 6: out->created_by = get_bytes(in, member); break;
    case 7:
        out->typed_orders =
            parquet_thrift_get_list_into(in, member, arena, 1, MAX_ELEMENTS, &out->order_count, &element);
        for (size_t i = 0; i < out->order_count && in->code == OK; i++) {
            out->typed_orders[i] = get_order(in, element);
        }
        break;
    default: parquet_thrift_skip(in, member); /* encryption: each column says whether it is */
    }
}

enum err_code parquet_meta_decode(const void *data, size_t length, struct arena *arena, struct meta_file *out,
                                  struct error *err)
{
    struct thrift_in in = parquet_thrift_in(data, length, err);
    struct thrift_field member;
    struct meta_file meta = {0};
    while (parquet_thrift_next(&in, &member)) {
        get_member(&in, member, arena, &meta);
    }
    TRY(in.code);
    if (meta.element_count == 0) {
        return err_set(err, ERR_CORRUPT, "expected a schema in the footer but found none");
    }
    *out = meta;
    return OK;
}
