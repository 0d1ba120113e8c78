#include "common/parquet/types.h"

#include <string.h>

enum { DECIMAL_MAX_PRECISION = 18, INT96_BYTES = 12, UUID_BYTES = 16, FLOAT16_BYTES = 2, FIXED_MAX_BYTES = 1 << 20 };

size_t parquet_physical_width(const struct column_layout *layout)
{
    switch (layout->physical) {
    case PHYSICAL_BOOLEAN: return 1;
    case PHYSICAL_INT32:
    case PHYSICAL_FLOAT: return 4;
    case PHYSICAL_INT64:
    case PHYSICAL_DOUBLE: return 8;
    case PHYSICAL_INT96: return INT96_BYTES;
    case PHYSICAL_FIXED: return (size_t)layout->type_length;
    case PHYSICAL_BYTE_ARRAY:
    case PHYSICAL_COUNT: break;
    }
    return 0;
}

struct written_type {
    int8_t physical, converted, logical;
};

static const struct written_type written_types[COLUMN_TYPE_COUNT] = {
    [COLUMN_BOOL] = {PHYSICAL_BOOLEAN, CONVERTED_NONE, LOGICAL_NONE},
    [COLUMN_INT32] = {PHYSICAL_INT32, CONVERTED_NONE, LOGICAL_NONE},
    [COLUMN_INT64] = {PHYSICAL_INT64, CONVERTED_NONE, LOGICAL_NONE},
    [COLUMN_FLOAT] = {PHYSICAL_FLOAT, CONVERTED_NONE, LOGICAL_NONE},
    [COLUMN_DOUBLE] = {PHYSICAL_DOUBLE, CONVERTED_NONE, LOGICAL_NONE},
    [COLUMN_STRING] = {PHYSICAL_BYTE_ARRAY, CONVERTED_UTF8, LOGICAL_STRING},
    [COLUMN_BYTES] = {PHYSICAL_BYTE_ARRAY, CONVERTED_NONE, LOGICAL_NONE},
    [COLUMN_TIMESTAMP] = {PHYSICAL_INT64, CONVERTED_TIMESTAMP_MICROS, LOGICAL_TIMESTAMP},
    [COLUMN_DATE] = {PHYSICAL_INT32, CONVERTED_DATE, LOGICAL_DATE},
    [COLUMN_DECIMAL] = {PHYSICAL_INT64, CONVERTED_DECIMAL, LOGICAL_DECIMAL},
    [COLUMN_UUID] = {PHYSICAL_FIXED, CONVERTED_NONE, LOGICAL_UUID},
    [COLUMN_JSON] = {PHYSICAL_BYTE_ARRAY, CONVERTED_JSON, LOGICAL_JSON},
};

void parquet_type_to_element(const struct schema_column *column, struct meta_element *out)
{
    const struct written_type *type = &written_types[column->type];
    *out = (struct meta_element){
        .name = {(const uint8_t *)column->name, (uint32_t)strlen(column->name)},
        .physical = type->physical,
        .type_length = UUID_BYTES,
        .repetition = column->nullable ? REPETITION_OPTIONAL : REPETITION_REQUIRED,
        .converted = type->converted,
        .scale = column->scale,
        .precision = column->precision,
        .field_id = (int32_t)column->id,
        .logical = type->logical,
        .unit = TIME_UNIT_MICROS,
        .adjusted_to_utc = true,
    };
}

/* Older writers set only the converted type: say it in the newer words. */
static void complete_logical(struct meta_element *element)
{
    if (element->logical != LOGICAL_NONE) {
        return;
    }
    switch (element->converted) {
    case CONVERTED_UTF8: element->logical = LOGICAL_STRING; break;
    case CONVERTED_ENUM: element->logical = LOGICAL_ENUM; break;
    case CONVERTED_DECIMAL: element->logical = LOGICAL_DECIMAL; break;
    case CONVERTED_DATE: element->logical = LOGICAL_DATE; break;
    case CONVERTED_TIME_MILLIS:
    case CONVERTED_TIME_MICROS:
        element->logical = LOGICAL_TIME;
        element->unit = element->converted == CONVERTED_TIME_MILLIS ? TIME_UNIT_MILLIS : TIME_UNIT_MICROS;
        break;
    case CONVERTED_TIMESTAMP_MILLIS:
    case CONVERTED_TIMESTAMP_MICROS:
        element->logical = LOGICAL_TIMESTAMP;
        element->unit = element->converted == CONVERTED_TIMESTAMP_MILLIS ? TIME_UNIT_MILLIS : TIME_UNIT_MICROS;
        break;
    case CONVERTED_UINT_8:
    case CONVERTED_UINT_16:
    case CONVERTED_UINT_32:
    case CONVERTED_UINT_64:
        element->logical = LOGICAL_INTEGER;
        element->integer_bits = 8 << (element->converted - CONVERTED_UINT_8);
        break;
    case CONVERTED_JSON: element->logical = LOGICAL_JSON; break;
    default: break; /* signed integers are what they seem, and BSON and intervals are bytes */
    }
}

/* A column on its way from the format's words to ours. */
struct reading {
    const struct meta_element *element;
    struct schema_column *out;
    struct column_layout *layout;
};

static const char *take_as(const struct reading *r, enum column_type type, enum parquet_conversion conversion)
{
    r->out->type = type;
    r->layout->conversion = conversion;
    return NULL;
}

/* More digits than ours have are no reason to refuse the column: each value is looked at. */
static const char *take_decimal(const struct reading *r)
{
    const struct meta_element *e = r->element;
    if (e->precision < 1 || e->scale < 0 || e->scale > e->precision) {
        return "a decimal whose precision and scale contradict each other";
    }
    if (e->scale > DECIMAL_MAX_PRECISION) {
        return "decimals with more than 18 digits after the point";
    }
    bool wide = e->precision > DECIMAL_MAX_PRECISION;
    r->out->precision = wide ? DECIMAL_MAX_PRECISION : (uint8_t)e->precision;
    r->out->scale = (uint8_t)e->scale;
    r->layout->digits = r->out->precision;
    switch (r->layout->physical) {
    case PHYSICAL_INT32: return take_as(r, COLUMN_DECIMAL, CONVERSION_I32_TO_I64);
    case PHYSICAL_INT64: return take_as(r, COLUMN_DECIMAL, wide ? CONVERSION_I64_DECIMAL : CONVERSION_NONE);
    case PHYSICAL_FIXED:
    case PHYSICAL_BYTE_ARRAY: return take_as(r, COLUMN_DECIMAL, CONVERSION_BYTES_TO_DECIMAL);
    case PHYSICAL_BOOLEAN:
    case PHYSICAL_INT96:
    case PHYSICAL_FLOAT:
    case PHYSICAL_DOUBLE:
    case PHYSICAL_COUNT: break;
    }
    return "a decimal that is neither an integer nor bytes";
}

static const char *take_number(const struct reading *r)
{
    const struct meta_element *e = r->element;
    bool is_unsigned = e->logical == LOGICAL_INTEGER && !e->integer_signed;
    switch (r->layout->physical) {
    case PHYSICAL_BOOLEAN: return take_as(r, COLUMN_BOOL, CONVERSION_NONE);
    case PHYSICAL_INT32:
        return is_unsigned && e->integer_bits == 32 ? take_as(r, COLUMN_INT64, CONVERSION_U32_TO_I64)
                                                    : take_as(r, COLUMN_INT32, CONVERSION_NONE);
    case PHYSICAL_INT64: return take_as(r, COLUMN_INT64, is_unsigned ? CONVERSION_U64_TO_I64 : CONVERSION_NONE);
    case PHYSICAL_INT96: return take_as(r, COLUMN_TIMESTAMP, CONVERSION_INT96);
    case PHYSICAL_FLOAT: return take_as(r, COLUMN_FLOAT, CONVERSION_NONE);
    case PHYSICAL_DOUBLE: return take_as(r, COLUMN_DOUBLE, CONVERSION_NONE);
    case PHYSICAL_BYTE_ARRAY:
    case PHYSICAL_FIXED: return take_as(r, COLUMN_BYTES, CONVERSION_NONE);
    case PHYSICAL_COUNT: break;
    }
    return "an unknown physical type";
}

/* Both are int64 of microseconds here; milliseconds of a day are kept in 32 bits. */
static const char *take_time(const struct reading *r, enum column_type type)
{
    bool narrow = r->layout->physical == PHYSICAL_INT32, is_time = type == COLUMN_INT64;
    switch (r->element->unit) {
    case TIME_UNIT_MILLIS:
        if (narrow == is_time && (narrow || r->layout->physical == PHYSICAL_INT64)) {
            return take_as(r, type, narrow ? CONVERSION_MILLIS_I32 : CONVERSION_MILLIS);
        }
        break;
    case TIME_UNIT_MICROS:
    case TIME_UNIT_NANOS:
        if (r->layout->physical == PHYSICAL_INT64) {
            return take_as(r, type, r->element->unit == TIME_UNIT_NANOS ? CONVERSION_NANOS : CONVERSION_NONE);
        }
        break;
    default: break;
    }
    return is_time ? "a time of day in an unknown form" : "a timestamp in an unknown form";
}

static const char *take_bytes_as(const struct reading *r, enum column_type type)
{
    return r->layout->physical == PHYSICAL_BYTE_ARRAY ? take_as(r, type, CONVERSION_NONE) : take_number(r);
}

/* Fixed bytes of one length, whose meaning hangs on that length. */
static const char *take_fixed_as(const struct reading *r, int32_t length, enum column_type type,
                                 enum parquet_conversion conversion, const char *refusal)
{
    bool right = r->layout->physical == PHYSICAL_FIXED && r->layout->type_length == length;
    return right ? take_as(r, type, conversion) : refusal;
}

/* A type that we do not know is read as what carries it, as the format asks. */
static const char *take_logical(const struct reading *r)
{
    switch (r->element->logical) {
    case LOGICAL_DECIMAL: return take_decimal(r);
    case LOGICAL_STRING:
    case LOGICAL_ENUM: return take_bytes_as(r, COLUMN_STRING);
    case LOGICAL_JSON: return take_bytes_as(r, COLUMN_JSON);
    case LOGICAL_UUID: return take_fixed_as(r, UUID_BYTES, COLUMN_UUID, CONVERSION_NONE, "a uuid that is not 16 bytes");
    case LOGICAL_FLOAT16:
        return take_fixed_as(r, FLOAT16_BYTES, COLUMN_FLOAT, CONVERSION_FLOAT16, "a 16-bit float that is not 2 bytes");
    case LOGICAL_DATE:
        return r->layout->physical == PHYSICAL_INT32 ? take_as(r, COLUMN_DATE, CONVERSION_NONE)
                                                     : "a date that is not an int32";
    case LOGICAL_TIMESTAMP: return take_time(r, COLUMN_TIMESTAMP);
    case LOGICAL_TIME: return take_time(r, COLUMN_INT64);
    default: return take_number(r);
    }
}

/* The order of bounds belongs to the logical type. INT96, intervals and what has only nulls have none, and the types of later
 * formats one that is not known: reading such values as what carries them says nothing about it. */
static bool has_order(const struct meta_element *element)
{
    if (element->physical == PHYSICAL_INT96) {
        return false;
    }
    switch (element->logical) {
    case LOGICAL_NONE: return element->converted != CONVERTED_INTERVAL;
    case LOGICAL_STRING:
    case LOGICAL_ENUM:
    case LOGICAL_DECIMAL:
    case LOGICAL_DATE:
    case LOGICAL_TIME:
    case LOGICAL_TIMESTAMP:
    case LOGICAL_INTEGER:
    case LOGICAL_JSON:
    case LOGICAL_BSON:
    case LOGICAL_UUID:
    case LOGICAL_FLOAT16: return true;
    default: return false;
    }
}

const char *parquet_type_from_element(const struct meta_element *element, struct schema_column *out,
                                      struct column_layout *out_layout)
{
    struct meta_element complete = *element;
    struct column_layout layout = {.physical = (enum parquet_physical)element->physical,
                                   .type_length = element->type_length,
                                   .optional = element->repetition == REPETITION_OPTIONAL};
    struct schema_column column = *out;
    struct reading r = {&complete, &column, &layout};
    complete_logical(&complete);
    if (element->child_count > 0 || element->physical < 0 || element->repetition == REPETITION_REPEATED) {
        return "nested columns";
    }
    if (element->physical >= PHYSICAL_COUNT || element->repetition < 0 || element->repetition > REPETITION_REPEATED) {
        return "an unknown physical type or repetition";
    }
    if (layout.physical == PHYSICAL_FIXED && (layout.type_length < 1 || layout.type_length > FIXED_MAX_BYTES)) {
        return "a fixed length out of range";
    }
    column.nullable = layout.optional;
    layout.unordered = !has_order(&complete);
    const char *refusal = take_logical(&r);
    if (refusal == NULL) {
        *out = column;
        *out_layout = layout;
    }
    return refusal;
}

const char *parquet_codec_kind(int32_t codec, enum codec_kind *out)
{
    switch (codec) {
    case PARQUET_CODEC_UNCOMPRESSED: *out = CODEC_NONE; return NULL;
    case PARQUET_CODEC_SNAPPY: *out = CODEC_SNAPPY; return NULL;
    case PARQUET_CODEC_GZIP: *out = CODEC_GZIP; return NULL;
    case PARQUET_CODEC_ZSTD: *out = CODEC_ZSTD; return NULL;
    case PARQUET_CODEC_LZ4: *out = CODEC_LZ4_HADOOP; return NULL;
    case PARQUET_CODEC_LZ4_RAW: *out = CODEC_LZ4_RAW; return NULL;
    case PARQUET_CODEC_LZO: return "pages compressed with lzo";
    case PARQUET_CODEC_BROTLI: return "pages compressed with brotli";
    default: return "pages compressed with an unknown codec";
    }
}
