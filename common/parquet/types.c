#include "common/parquet/types.h"

#include <string.h>

enum { DECIMAL_MAX_PRECISION = 18, INT96_BYTES = 12, UUID_BYTES = 16 };

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
    case 7: /* TIME_MILLIS */
    case 8: element->logical = LOGICAL_TIME; break;
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
    case 20: element->logical = LOGICAL_BSON; break;
    default: break; /* signed integers are what they seem */
    }
}

struct reading {
    const struct meta_element *element;
    const char *name;
    struct schema_column *out;
    struct column_layout *layout;
    struct error *err;
};

static enum err_code refuse(const struct reading *r, const char *what)
{
    return err_set(r->err, ERR_INVALID, "could not read column \"%s\": %s", r->name, what);
}

static enum err_code take_as(const struct reading *r, enum column_type type, enum parquet_conversion conversion)
{
    r->out->type = type;
    r->layout->conversion = conversion;
    return OK;
}

static enum err_code take_decimal(const struct reading *r)
{
    const struct meta_element *e = r->element;
    if (e->precision < 1 || e->precision > DECIMAL_MAX_PRECISION || e->scale < 0 || e->scale > e->precision) {
        return refuse(r, "decimals have 1 to 18 digits");
    }
    r->out->precision = (uint8_t)e->precision;
    r->out->scale = (uint8_t)e->scale;
    switch (r->layout->physical) {
    case PHYSICAL_INT32: return take_as(r, COLUMN_DECIMAL, CONVERSION_I32_TO_I64);
    case PHYSICAL_INT64: return take_as(r, COLUMN_DECIMAL, CONVERSION_NONE);
    case PHYSICAL_FIXED:
    case PHYSICAL_BYTE_ARRAY: return take_as(r, COLUMN_DECIMAL, CONVERSION_BYTES_TO_DECIMAL);
    case PHYSICAL_BOOLEAN:
    case PHYSICAL_INT96:
    case PHYSICAL_FLOAT:
    case PHYSICAL_DOUBLE:
    case PHYSICAL_COUNT: break;
    }
    return refuse(r, "decimals are integers or bytes");
}

static enum err_code take_number(const struct reading *r)
{
    const struct meta_element *e = r->element;
    bool is_unsigned = e->logical == LOGICAL_INTEGER && !e->integer_signed;
    switch (r->layout->physical) {
    case PHYSICAL_BOOLEAN: return take_as(r, COLUMN_BOOL, CONVERSION_NONE);
    case PHYSICAL_INT32:
        return is_unsigned && e->integer_bits == 32 ? take_as(r, COLUMN_INT64, CONVERSION_U32_TO_I64)
                                                    : take_as(r, COLUMN_INT32, CONVERSION_NONE);
    case PHYSICAL_INT64:
        return is_unsigned ? refuse(r, "unsigned integers of 64 bits") : take_as(r, COLUMN_INT64, CONVERSION_NONE);
    case PHYSICAL_INT96: return take_as(r, COLUMN_TIMESTAMP, CONVERSION_INT96);
    case PHYSICAL_FLOAT: return take_as(r, COLUMN_FLOAT, CONVERSION_NONE);
    case PHYSICAL_DOUBLE: return take_as(r, COLUMN_DOUBLE, CONVERSION_NONE);
    case PHYSICAL_BYTE_ARRAY:
    case PHYSICAL_FIXED: return take_as(r, COLUMN_BYTES, CONVERSION_NONE);
    case PHYSICAL_COUNT: break;
    }
    return refuse(r, "unknown physical type");
}

static enum err_code take_logical(const struct reading *r)
{
    enum parquet_physical physical = r->layout->physical;
    switch (r->element->logical) {
    case LOGICAL_NONE:
    case LOGICAL_INTEGER: return take_number(r);
    case LOGICAL_DECIMAL: return take_decimal(r);
    case LOGICAL_STRING:
    case LOGICAL_ENUM:
        return physical == PHYSICAL_BYTE_ARRAY ? take_as(r, COLUMN_STRING, CONVERSION_NONE) : take_number(r);
    case LOGICAL_JSON:
        return physical == PHYSICAL_BYTE_ARRAY ? take_as(r, COLUMN_JSON, CONVERSION_NONE) : take_number(r);
    case LOGICAL_BSON: return take_number(r);
    case LOGICAL_UUID:
        return physical == PHYSICAL_FIXED && r->layout->type_length == UUID_BYTES
                   ? take_as(r, COLUMN_UUID, CONVERSION_NONE)
                   : refuse(r, "a uuid that is not 16 bytes");
    case LOGICAL_DATE:
        return physical == PHYSICAL_INT32 ? take_as(r, COLUMN_DATE, CONVERSION_NONE)
                                          : refuse(r, "a date that is not an int32");
    case LOGICAL_TIMESTAMP:
        if (physical != PHYSICAL_INT64 || r->element->unit == TIME_UNIT_NANOS) {
            return refuse(r, "a timestamp that is not an int64 of micro- or milliseconds");
        }
        return take_as(r, COLUMN_TIMESTAMP, r->element->unit == TIME_UNIT_MILLIS ? CONVERSION_MILLIS : CONVERSION_NONE);
    case LOGICAL_TIME: return refuse(r, "times of day");
    case LOGICAL_FLOAT16: return refuse(r, "floats of 16 bits");
    case LOGICAL_UNKNOWN: return refuse(r, "a column without a type");
    default: return refuse(r, "unknown logical type");
    }
}

enum err_code parquet_type_from_element(const struct meta_element *element, const char *name, struct schema_column *out,
                                        struct column_layout *out_layout, struct error *err)
{
    struct meta_element complete = *element;
    struct column_layout layout = {.physical = (enum parquet_physical)element->physical,
                                   .type_length = element->type_length,
                                   .optional = element->repetition == REPETITION_OPTIONAL};
    struct schema_column column = *out;
    struct reading r = {&complete, name, &column, &layout, err};
    complete_logical(&complete);
    if (element->child_count > 0 || element->physical < 0 || element->repetition == REPETITION_REPEATED) {
        return refuse(&r, "nested columns");
    }
    if (element->physical >= PHYSICAL_COUNT || element->repetition < 0 || element->repetition > REPETITION_REPEATED) {
        return refuse(&r, "unknown physical type or repetition");
    }
    if (layout.physical == PHYSICAL_FIXED && (layout.type_length < 1 || layout.type_length > (1 << 20))) {
        return refuse(&r, "a fixed length out of range");
    }
    column.nullable = layout.optional;
    TRY(take_logical(&r));
    *out = column;
    *out_layout = layout;
    return OK;
}

enum err_code parquet_codec_kind(int32_t codec, enum codec_kind *out, struct error *err)
{
    static const int8_t kinds[] = {
        [PARQUET_CODEC_UNCOMPRESSED] = CODEC_NONE,
        [PARQUET_CODEC_SNAPPY] = CODEC_SNAPPY,
        [PARQUET_CODEC_GZIP] = CODEC_GZIP,
        [PARQUET_CODEC_LZO] = -1,
        [PARQUET_CODEC_BROTLI] = -1,
        [PARQUET_CODEC_LZ4] = -1,
        [PARQUET_CODEC_ZSTD] = CODEC_ZSTD,
        [PARQUET_CODEC_LZ4_RAW] = CODEC_LZ4_RAW,
    };
    if (codec < 0 || (size_t)codec >= sizeof kinds || kinds[codec] < 0) {
        static const char *const names[] = {[PARQUET_CODEC_LZO] = "lzo",
                                            [PARQUET_CODEC_BROTLI] = "brotli",
                                            [PARQUET_CODEC_LZ4] = "lz4 with Hadoop's frame"};
        const char *name = codec >= 0 && codec <= PARQUET_CODEC_LZ4 && names[codec] != NULL ? names[codec] : "unknown";
        return err_set(err, ERR_INVALID, "could not read pages compressed with codec %d (%s)", codec, name);
    }
    *out = (enum codec_kind)kinds[codec];
    return OK;
}
