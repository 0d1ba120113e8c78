/* Between our column types and the format's: the one place that knows both. */
#ifndef GRANARY_PARQUET_TYPES_H
#define GRANARY_PARQUET_TYPES_H

#include "common/codec/codec.h"
#include "common/parquet/meta.h"
#include "common/rows/schema.h"

/* What becomes of a physical value so that it is one of ours (see parquet_convert). */
enum parquet_conversion {
    CONVERSION_NONE,
    CONVERSION_I32_TO_I64,       /* decimal */
    CONVERSION_U32_TO_I64,       /* unsigned */
    CONVERSION_U64_TO_I64,       /* unsigned; beyond 63 bits it does not fit */
    CONVERSION_I64_DECIMAL,      /* a decimal that claims more than 18 digits */
    CONVERSION_MILLIS,           /* int64 milliseconds */
    CONVERSION_MILLIS_I32,       /* int32 milliseconds: time of day */
    CONVERSION_NANOS,            /* int64 nanoseconds */
    CONVERSION_INT96,            /* Julian day and nanoseconds */
    CONVERSION_FLOAT16,          /* binary16, little-endian */
    CONVERSION_BYTES_TO_DECIMAL, /* big-endian two's complement */
    CONVERSION_COUNT
};

struct column_layout {
    enum parquet_physical physical;
    int32_t type_length; /* PHYSICAL_FIXED */
    bool optional;
    enum parquet_conversion conversion;
    bool unordered; /* how its bounds compare is not known here, whatever the file says */
    uint8_t digits; /* decimals: no value has more */
    size_t chunk;   /* of the column in each row group */
};

/* Bytes of a physical value in memory; 0 for BYTE_ARRAY. */
size_t parquet_physical_width(const struct column_layout *layout);

void parquet_type_to_element(const struct schema_column *column, struct meta_element *out);

/* Sets type, nullable, precision and scale of `out`, and all of `out_layout` but the chunk. Returns NULL, or what about the
 * column we do not read ("nested columns"). */
const char *parquet_type_from_element(const struct meta_element *element, struct schema_column *out,
                                      struct column_layout *out_layout);

/* NULL, or the codec that we do not read, by name ("pages compressed with brotli"). */
const char *parquet_codec_kind(int32_t codec, enum codec_kind *out);

#endif
