/* The footer and the page headers as structs, and to and from their thrift form. Knows the format, not our types.
 * Source: parquet.thrift of parquet-format 2.11; the numbers below are its. */
#ifndef GRANARY_PARQUET_META_H
#define GRANARY_PARQUET_META_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/buf.h"

enum parquet_physical {
    PHYSICAL_BOOLEAN,
    PHYSICAL_INT32,
    PHYSICAL_INT64,
    PHYSICAL_INT96,
    PHYSICAL_FLOAT,
    PHYSICAL_DOUBLE,
    PHYSICAL_BYTE_ARRAY,
    PHYSICAL_FIXED,
    PHYSICAL_COUNT
};

enum parquet_repetition { REPETITION_REQUIRED, REPETITION_OPTIONAL, REPETITION_REPEATED };

enum parquet_converted {
    CONVERTED_NONE = -1,
    CONVERTED_UTF8 = 0,
    CONVERTED_ENUM = 4,
    CONVERTED_DECIMAL = 5,
    CONVERTED_DATE = 6,
    CONVERTED_TIME_MILLIS = 7,
    CONVERTED_TIME_MICROS = 8,
    CONVERTED_TIMESTAMP_MILLIS = 9,
    CONVERTED_TIMESTAMP_MICROS = 10,
    CONVERTED_UINT_8 = 11,
    CONVERTED_UINT_16 = 12,
    CONVERTED_UINT_32 = 13,
    CONVERTED_UINT_64 = 14,
    CONVERTED_INT_8 = 15,
    CONVERTED_INT_64 = 18,
    CONVERTED_JSON = 19,
    CONVERTED_INTERVAL = 21
};

/* Field numbers of the LogicalType union. */
enum parquet_logical {
    LOGICAL_NONE = 0,
    LOGICAL_STRING = 1,
    LOGICAL_MAP = 2,
    LOGICAL_LIST = 3,
    LOGICAL_ENUM = 4,
    LOGICAL_DECIMAL = 5,
    LOGICAL_DATE = 6,
    LOGICAL_TIME = 7,
    LOGICAL_TIMESTAMP = 8,
    LOGICAL_INTEGER = 10,
    LOGICAL_UNKNOWN = 11,
    LOGICAL_JSON = 12,
    LOGICAL_BSON = 13,
    LOGICAL_UUID = 14,
    LOGICAL_FLOAT16 = 15
};

enum parquet_time_unit { TIME_UNIT_NONE = 0, TIME_UNIT_MILLIS = 1, TIME_UNIT_MICROS = 2, TIME_UNIT_NANOS = 3 };

enum parquet_encoding {
    ENCODING_PLAIN = 0,
    ENCODING_PLAIN_DICTIONARY = 2,
    ENCODING_RLE = 3,
    ENCODING_BIT_PACKED = 4,
    ENCODING_DELTA_BINARY_PACKED = 5,
    ENCODING_DELTA_LENGTH_BYTE_ARRAY = 6,
    ENCODING_DELTA_BYTE_ARRAY = 7,
    ENCODING_RLE_DICTIONARY = 8,
    ENCODING_BYTE_STREAM_SPLIT = 9
};
const char *parquet_encoding_name(int32_t encoding); /* "unknown" when it is none of these */

enum parquet_codec { /* CompressionCodec; see parquet_codec_kind */
                     PARQUET_CODEC_UNCOMPRESSED = 0,
                     PARQUET_CODEC_SNAPPY = 1,
                     PARQUET_CODEC_GZIP = 2,
                     PARQUET_CODEC_LZO = 3,
                     PARQUET_CODEC_BROTLI = 4,
                     PARQUET_CODEC_LZ4 = 5,
                     PARQUET_CODEC_ZSTD = 6,
                     PARQUET_CODEC_LZ4_RAW = 7
};

enum parquet_page_type { PAGE_DATA = 0, PAGE_INDEX = 1, PAGE_DICTIONARY = 2, PAGE_DATA_V2 = 3 };

/* Bytes borrowed from the footer (reading) or from the writer. data == NULL: absent. */
struct parquet_bytes {
    const uint8_t *data;
    uint32_t length;
};

struct meta_element {
    struct parquet_bytes name;
    int32_t physical; /* enum parquet_physical; -1 in a group */
    int32_t type_length;
    int32_t repetition; /* enum parquet_repetition */
    int32_t child_count;
    int32_t converted; /* enum parquet_converted */
    int32_t scale, precision;
    int32_t field_id; /* -1: none */
    int32_t logical;  /* enum parquet_logical */
    int32_t unit;     /* enum parquet_time_unit */
    int32_t integer_bits;
    bool integer_signed;
    bool adjusted_to_utc;
};

struct meta_statistics {
    struct parquet_bytes min, max; /* min_value and max_value: in the column's order */
    struct parquet_bytes legacy_min, legacy_max;
    int64_t null_count; /* -1: unknown */
    bool exact;         /* writing: the bounds are values of the column */
};

struct meta_encoding_stats {
    int32_t page_type, encoding, count;
};

struct meta_chunk {
    int32_t physical;
    int32_t codec;
    int64_t value_count;
    int64_t uncompressed_bytes, compressed_bytes; /* with page headers */
    int64_t data_page_offset;
    int64_t dictionary_page_offset; /* 0: none */
    int64_t bloom_offset;           /* 0: none */
    int32_t bloom_bytes;
    int64_t offset_index_offset, column_index_offset; /* 0: none */
    int32_t offset_index_bytes, column_index_bytes;
    bool encrypted;
    bool external; /* in another file */
    struct meta_statistics statistics;
    uint32_t encodings; /* a bit for each enum parquet_encoding */
    struct meta_encoding_stats encoding_stats[2];
    uint32_t encoding_stats_count; /* writing only */
};

struct meta_row_group {
    int64_t row_count;
    int64_t total_bytes;      /* uncompressed */
    int64_t compressed_bytes; /* writing only */
    int64_t file_offset;      /* writing only */
    size_t chunk_count;
    struct meta_chunk *chunks;
};

struct meta_sorting {
    int32_t column;
    bool descending;
    bool nulls_first;
};

struct meta_key_value {
    struct parquet_bytes key, value;
};

struct meta_file {
    int32_t version;
    int64_t row_count;
    size_t element_count; /* the root first */
    struct meta_element *elements;
    size_t row_group_count;
    struct meta_row_group *row_groups;
    size_t key_value_count;
    struct meta_key_value *key_values;
    size_t sorting_count; /* of every row group; writing only */
    struct meta_sorting sorting[8];
    struct parquet_bytes created_by;
    bool has_column_orders; /* writing: then min_value and max_value mean something */
    size_t order_count;     /* reading: one byte for each leaf, 1 where its bounds are in the order of its type */
    uint8_t *typed_orders;
};

/* Everything decoded lives in the arena or borrows from `data`. ERR_CORRUPT when it is not thrift or lacks a required
 * field. Offsets and counts are not judged here. */
MUST_CHECK enum err_code parquet_meta_decode(const void *data, size_t length, struct arena *arena,
                                             struct meta_file *out, struct error *err);
MUST_CHECK enum err_code parquet_meta_encode(const struct meta_file *meta, struct buf *out, struct error *err);

/* A data page in the offset index. */
struct page_place {
    int64_t offset;    /* of its header, in the file */
    int32_t bytes;     /* header and payload */
    int64_t first_row; /* in the row group */
};

struct meta_offset_index {
    size_t count;
    struct page_place *pages;
};

struct meta_column_index {
    size_t count;
    uint8_t *null_pages; /* 1: nothing but nulls, and no bounds */
    struct parquet_bytes *min, *max;
    int64_t *null_counts; /* NULL: not known */
};

/* As parquet_meta_decode; the lists of a column index are equally long. */
MUST_CHECK enum err_code parquet_offset_index_decode(const void *data, size_t length, struct arena *arena,
                                                     struct meta_offset_index *out, struct error *err);
MUST_CHECK enum err_code parquet_column_index_decode(const void *data, size_t length, struct arena *arena,
                                                     struct meta_column_index *out, struct error *err);

struct page_header {
    int32_t type; /* enum parquet_page_type */
    int32_t uncompressed_bytes, compressed_bytes;
    int32_t crc;
    bool has_crc;
    bool has_body; /* the part that belongs to the type was there */
    int32_t value_count;
    int32_t encoding;
    int32_t definition_encoding; /* PAGE_DATA */
    /* PAGE_DATA_V2 */
    int32_t null_count, row_count;
    int32_t definition_bytes, repetition_bytes;
    bool compressed;
};

enum { PAGE_HEADER_MAX_BYTES = 1 << 24 };

/* *out_used: bytes of the header. *out_cut_off (on failure): more bytes might help. */
MUST_CHECK enum err_code parquet_page_header_decode(const void *data, size_t length, struct page_header *out,
                                                    size_t *out_used, bool *out_cut_off, struct error *err);
MUST_CHECK enum err_code parquet_page_header_encode(const struct page_header *header, struct buf *out,
                                                    struct error *err);

#endif
