/* Between our column types and the format's: the one place that knows both. */
#ifndef GRANARY_PARQUET_TYPES_H
#define GRANARY_PARQUET_TYPES_H

#include "common/codec/codec.h"
#include "common/parquet/meta.h"
#include "common/rows/schema.h"

/* What becomes of a physical value so that it is one of ours. */
enum parquet_conversion {
    CONVERSION_NONE,
    CONVERSION_I32_TO_I64,       /* decimal */
    CONVERSION_U32_TO_I64,       /* unsigned */
    CONVERSION_MILLIS,           /* timestamp in milliseconds */
    CONVERSION_INT96,            /* Julian day and nanoseconds; what is below a microsecond is dropped */
    CONVERSION_BYTES_TO_DECIMAL, /* big-endian two's complement */
    CONVERSION_COUNT
};

struct column_layout {
    enum parquet_physical physical;
    int32_t type_length; /* PHYSICAL_FIXED */
    bool optional;
    enum parquet_conversion conversion;
};

/* Bytes of a physical value in memory; 0 for BYTE_ARRAY. */
size_t parquet_physical_width(const struct column_layout *layout);

void parquet_type_to_element(const struct schema_column *column, struct meta_element *out);

/* Sets type, nullable, precision and scale of `out`. ERR_INVALID says what about the column we do not read. `name` is
 * for the text of the error. */
MUST_CHECK enum err_code parquet_type_from_element(const struct meta_element *element, const char *name,
                                                   struct schema_column *out, struct column_layout *out_layout,
                                                   struct error *err);

/* ERR_INVALID for the codecs that we do not read, by name. */
MUST_CHECK enum err_code parquet_codec_kind(int32_t codec, enum codec_kind *out, struct error *err);

#endif
