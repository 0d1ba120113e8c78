#include "common/parquet/meta.h"
#include "common/parquet/thrift.h"

const char *parquet_encoding_name(int32_t encoding)
{
    switch (encoding) {
    case ENCODING_PLAIN: return "PLAIN";
    case ENCODING_PLAIN_DICTIONARY: return "PLAIN_DICTIONARY";
    case ENCODING_RLE: return "RLE";
    case ENCODING_BIT_PACKED: return "BIT_PACKED";
    case ENCODING_DELTA_BINARY_PACKED: return "DELTA_BINARY_PACKED";
    case ENCODING_DELTA_LENGTH_BYTE_ARRAY: return "DELTA_LENGTH_BYTE_ARRAY";
    case ENCODING_DELTA_BYTE_ARRAY: return "DELTA_BYTE_ARRAY";
    case ENCODING_RLE_DICTIONARY: return "RLE_DICTIONARY";
    case ENCODING_BYTE_STREAM_SPLIT: return "BYTE_STREAM_SPLIT";
    }
    return "unknown";
}

static void get_data_header(struct thrift_in *in, struct thrift_field field, struct page_header *out)
{
    struct thrift_field member;
    out->has_body = true;
    parquet_thrift_enter(in, field);
    while (parquet_thrift_next(in, &member)) {
        switch (member.id) {
        case 1: out->value_count = parquet_thrift_get_i32(in, member); break;
        case 2: out->encoding = parquet_thrift_get_i32(in, member); break;
        case 3: /* in a dictionary's header: whether it is sorted */
            if (field.id == 5) {
                out->definition_encoding = parquet_thrift_get_i32(in, member);
            }
            break;
        default: parquet_thrift_skip(in, member);
        }
    }
}

static void get_data_v2_header(struct thrift_in *in, struct thrift_field field, struct page_header *out)
{
    struct thrift_field member;
    out->has_body = true;
    out->compressed = true;
    parquet_thrift_enter(in, field);
    while (parquet_thrift_next(in, &member)) {
        switch (member.id) {
        case 1: out->value_count = parquet_thrift_get_i32(in, member); break;
        case 2: out->null_count = parquet_thrift_get_i32(in, member); break;
        case 3: out->row_count = parquet_thrift_get_i32(in, member); break;
        case 4: out->encoding = parquet_thrift_get_i32(in, member); break;
        case 5: out->definition_bytes = parquet_thrift_get_i32(in, member); break;
        case 6: out->repetition_bytes = parquet_thrift_get_i32(in, member); break;
        case 7: out->compressed = parquet_thrift_get_bool(in, member); break;
        default: parquet_thrift_skip(in, member);
        }
    }
}

enum err_code parquet_page_header_decode(const void *data, size_t length, struct page_header *out, size_t *out_used,
                                         bool *out_cut_off, struct error *err)
{
    struct thrift_in in = parquet_thrift_in(data, length, err);
    struct thrift_field member;
    struct page_header header = {.type = -1, .encoding = -1, .definition_encoding = -1};
    while (parquet_thrift_next(&in, &member)) {
        switch (member.id) {
        case 1: header.type = parquet_thrift_get_i32(&in, member); break;
        case 2: header.uncompressed_bytes = parquet_thrift_get_i32(&in, member); break;
        case 3: header.compressed_bytes = parquet_thrift_get_i32(&in, member); break;
        case 4:
            header.crc = parquet_thrift_get_i32(&in, member);
            header.has_crc = true;
            break;
        case 5:
        case 7: get_data_header(&in, member, &header); break; /* a dictionary's header begins like a data page's */
        case 8: get_data_v2_header(&in, member, &header); break;
        default: parquet_thrift_skip(&in, member);
        }
    }
    *out_cut_off = in.cut_off;
    TRY(in.code);
    *out = header;
    *out_used = (size_t)(in.at - (const uint8_t *)data);
    return OK;
}

enum err_code parquet_page_header_encode(const struct page_header *header, struct buf *buf, struct error *err)
{
    struct thrift_out out = parquet_thrift_out(buf, err);
    parquet_thrift_put_i32(&out, 1, header->type);
    parquet_thrift_put_i32(&out, 2, header->uncompressed_bytes);
    parquet_thrift_put_i32(&out, 3, header->compressed_bytes);
    parquet_thrift_put_i32(&out, 4, header->crc);
    parquet_thrift_put_struct(&out, header->type == PAGE_DICTIONARY ? 7 : 5);
    parquet_thrift_put_i32(&out, 1, header->value_count);
    parquet_thrift_put_i32(&out, 2, header->encoding);
    if (header->type == PAGE_DATA) {
        parquet_thrift_put_i32(&out, 3, ENCODING_RLE);
        parquet_thrift_put_i32(&out, 4, ENCODING_RLE);
    }
    parquet_thrift_end_struct(&out);
    return parquet_thrift_out_end(&out);
}
