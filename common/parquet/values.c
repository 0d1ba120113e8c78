#include "common/parquet/values.h"

#include <string.h>

#include "common/base/checked.h"
#include "common/base/clock.h"
#include "common/parquet/page.h"
#include "common/rows/batch.h"

enum { JULIAN_DAY_OF_1970 = 2440588 };

void parquet_values_done(struct values *values)
{
    buf_done(&values->fixed);
    buf_done(&values->texts);
    buf_done(&values->physical);
    free(values->spans.starts);
    free(values->spans.lengths);
    values->spans = (struct spans){0};
    values->spans_capacity = 0;
}

static enum err_code reserve_spans(struct values *values, size_t count, struct error *err)
{
    if (values->spans_capacity > count) {
        return OK;
    }
    size_t capacity = count + 1; /* never a null pointer */
    uint32_t *starts = realloc(values->spans.starts, capacity * sizeof *starts);
    if (starts == NULL) {
        return err_no_memory(err, capacity * sizeof *starts);
    }
    values->spans.starts = starts;
    uint32_t *lengths = realloc(values->spans.lengths, capacity * sizeof *lengths);
    if (lengths == NULL) {
        return err_no_memory(err, capacity * sizeof *lengths);
    }
    values->spans.lengths = lengths;
    values->spans_capacity = capacity;
    return OK;
}

static enum err_code refuse(int32_t encoding, const char *what, struct error *err)
{
    return err_set(err, ERR_INVALID, "could not read %s in the encoding %s (%d)", what, parquet_encoding_name(encoding),
                   (int)encoding);
}

static enum err_code decode_spans(struct values *values, int32_t encoding, struct encoded in, size_t count,
                                  struct error *err)
{
    TRY(reserve_spans(values, count, err));
    switch (encoding) {
    case ENCODING_PLAIN: return parquet_plain_decode_texts(in, &values->spans, count, err);
    case ENCODING_DELTA_LENGTH_BYTE_ARRAY: return parquet_delta_length_decode(in, &values->spans, count, err);
    case ENCODING_DELTA_BYTE_ARRAY:
        return parquet_delta_byte_array_decode(in, &values->spans, count, &values->texts, err);
    }
    return refuse(encoding, "texts", err);
}

/* FIXED values by way of DELTA_BYTE_ARRAY, of which each must have the right length. */
static enum err_code decode_fixed_by_prefix(struct values *values, size_t width, struct encoded in, size_t count,
                                            uint8_t *out, struct error *err)
{
    TRY(decode_spans(values, ENCODING_DELTA_BYTE_ARRAY, in, count, err));
    for (size_t i = 0; i < count; i++) {
        if (values->spans.lengths[i] != width) {
            return err_set(err, ERR_CORRUPT, "expected values of %zu bytes but found %u", width,
                           values->spans.lengths[i]);
        }
        memcpy(out + i * width, values->spans.data + values->spans.starts[i], width);
    }
    return OK;
}

static enum err_code decode_bools(int32_t encoding, struct encoded in, uint8_t *out, size_t count, struct error *err)
{
    uint32_t length = 0;
    size_t ones;
    if (encoding == ENCODING_PLAIN) {
        return parquet_plain_decode_bools(in, out, count, err);
    }
    if (encoding != ENCODING_RLE) {
        return refuse(encoding, "bools", err);
    }
    if (in.end - in.at < (ptrdiff_t)sizeof length) {
        return err_set(err, ERR_CORRUPT, "expected the length of runs but the bytes end");
    }
    memcpy(&length, in.at, sizeof length);
    in.at += sizeof length;
    if (length > (uint64_t)(in.end - in.at)) {
        return err_set(err, ERR_CORRUPT, "expected runs of %u bytes but %td are left", length, in.end - in.at);
    }
    return parquet_rle_decode_bits(in, out, count, &ones, err);
}

static enum err_code decode_physical(struct values *values, const struct column_layout *layout, int32_t encoding,
                                     struct encoded in, size_t count, struct buf *out, struct error *err)
{
    size_t width = parquet_physical_width(layout);
    buf_clear(out);
    TRY(buf_reserve(out, count * width + 1, err));
    bool splits = layout->physical != PHYSICAL_BOOLEAN && layout->physical != PHYSICAL_INT96;
    if (layout->physical == PHYSICAL_BOOLEAN) {
        TRY(decode_bools(encoding, in, out->data, count, err));
    } else if (encoding == ENCODING_PLAIN) {
        TRY(parquet_plain_decode_fixed(in, out->data, count, width, err));
    } else if (encoding == ENCODING_DELTA_BINARY_PACKED && layout->physical == PHYSICAL_INT32) {
        TRY(parquet_delta_decode_i32(&in, (int32_t *)(void *)out->data, count, err));
    } else if (encoding == ENCODING_DELTA_BINARY_PACKED && layout->physical == PHYSICAL_INT64) {
        TRY(parquet_delta_decode_i64(&in, (int64_t *)(void *)out->data, count, err));
    } else if (encoding == ENCODING_BYTE_STREAM_SPLIT && splits) {
        TRY(parquet_split_decode(in, out->data, count, width, err));
    } else if (encoding == ENCODING_DELTA_BYTE_ARRAY && layout->physical == PHYSICAL_FIXED) {
        TRY(decode_fixed_by_prefix(values, width, in, count, out->data, err));
    } else {
        return refuse(encoding, "values of this type", err);
    }
    out->length_bytes = count * width;
    return OK;
}

/* --- conversions ------------------------------------------------------------------------------------------------- */

static enum err_code convert_int96(const uint8_t *from, int64_t *out, size_t count, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        int64_t nanoseconds, day_us;
        int32_t julian_day;
        memcpy(&nanoseconds, from + 12 * i, sizeof nanoseconds);
        memcpy(&julian_day, from + 12 * i + 8, sizeof julian_day);
        if (!checked_mul_i64((int64_t)julian_day - JULIAN_DAY_OF_1970, CLOCK_DAY_US, &day_us) ||
            !checked_add_i64(day_us, nanoseconds / 1000, &out[i])) {
            return err_set(err, ERR_INVALID, "expected a time within 64 bits of microseconds but found day %d",
                           julian_day);
        }
    }
    return OK;
}

static enum err_code convert_millis(const int64_t *from, int64_t *out, size_t count, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (!checked_mul_i64(from[i], 1000, &out[i])) {
            return err_set(err, ERR_INVALID, "expected a time within 64 bits of microseconds but found %lld ms",
                           (long long)from[i]);
        }
    }
    return OK;
}

/* Big-endian two's complement of any length whose value fits. */
static enum err_code convert_decimal(const uint8_t *bytes, size_t length, int64_t *out, struct error *err)
{
    uint8_t sign = length > 0 && (bytes[0] & 0x80) != 0 ? 0xff : 0;
    uint64_t value = sign != 0 ? ~UINT64_C(0) : 0;
    for (size_t i = 0; i < length; i++) {
        if (i + 8 < length && bytes[i] != sign) {
            return err_set(err, ERR_INVALID, "expected a decimal of at most 18 digits but found more");
        }
        value = value << 8 | bytes[i];
    }
    if ((value >> 63 != 0) != (sign != 0)) {
        return err_set(err, ERR_INVALID, "expected a decimal of at most 18 digits but found more");
    }
    *out = (int64_t)value;
    return OK;
}

static enum err_code convert(struct values *values, const struct column_layout *layout, size_t count, struct error *err)
{
    TRY(buf_reserve(&values->fixed, count * sizeof(int64_t) + 1, err));
    int64_t *out = (int64_t *)(void *)values->fixed.data;
    const void *from = values->physical.data;
    size_t width = parquet_physical_width(layout);
    switch (layout->conversion) {
    case CONVERSION_I32_TO_I64:
        for (size_t i = 0; i < count; i++) {
            out[i] = ((const int32_t *)from)[i];
        }
        return OK;
    case CONVERSION_U32_TO_I64:
        for (size_t i = 0; i < count; i++) {
            out[i] = ((const uint32_t *)from)[i];
        }
        return OK;
    case CONVERSION_MILLIS: return convert_millis(from, out, count, err);
    case CONVERSION_INT96: return convert_int96(from, out, count, err);
    case CONVERSION_BYTES_TO_DECIMAL:
        for (size_t i = 0; i < count; i++) {
            const uint8_t *bytes =
                width > 0 ? (const uint8_t *)from + i * width : values->spans.data + values->spans.starts[i];
            TRY(convert_decimal(bytes, width > 0 ? width : values->spans.lengths[i], &out[i], err));
        }
        return OK;
    case CONVERSION_NONE:
    case CONVERSION_COUNT: break;
    }
    return OK;
}

/* FIXED without a type of its own becomes bytes of equal length. */
static enum err_code spans_of_fixed(struct values *values, size_t width, size_t count, struct error *err)
{
    TRY(reserve_spans(values, count, err));
    for (size_t i = 0; i < count; i++) {
        values->spans.starts[i] = (uint32_t)(i * width);
        values->spans.lengths[i] = (uint32_t)width;
    }
    values->spans.data = values->physical.data;
    return OK;
}

enum err_code parquet_values_decode(struct values *values, const struct column_layout *layout, enum column_type type,
                                    int32_t encoding, struct encoded in, size_t count, struct error *err)
{
    size_t physical_width = parquet_physical_width(layout);
    bool converts = layout->conversion != CONVERSION_NONE;
    values->width = column_type_width(type);
    values->count = 0;
    if (physical_width == 0) {
        TRY(decode_spans(values, encoding, in, count, err));
    } else if (!converts && values->width > 0) {
        TRY(decode_physical(values, layout, encoding, in, count, &values->fixed, err));
    } else if (physical_width * (uint64_t)count > PARQUET_VALUES_MAX_BYTES) {
        return err_set(err, ERR_INVALID, "expected at most %d bytes of values in a page", PARQUET_VALUES_MAX_BYTES);
    } else {
        TRY(decode_physical(values, layout, encoding, in, count, &values->physical, err));
    }
    if (converts) {
        TRY(convert(values, layout, count, err));
    } else if (values->width == 0 && physical_width > 0) {
        TRY(spans_of_fixed(values, physical_width, count, err));
    }
    values->count = count;
    return OK;
}

enum err_code parquet_values_detach(struct values *values, struct error *err)
{
    if (values->width > 0) {
        return OK;
    }
    AUTO(buf_done) struct buf texts = {0};
    for (size_t i = 0; i < values->count; i++) {
        uint32_t start = (uint32_t)texts.length_bytes;
        TRY(buf_append(&texts, values->spans.data + values->spans.starts[i], values->spans.lengths[i], err));
        values->spans.starts[i] = start;
    }
    TRY(buf_reserve(&texts, PAGE_SLACK_BYTES, err));
    buf_done(&values->texts);
    values->texts = texts;
    texts = (struct buf){0};
    values->spans.data = values->texts.data;
    return OK;
}
