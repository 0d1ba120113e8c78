/* Which bounds of other writers can be trusted. A bound that is left out costs time; one that is wrong costs rows. Hence:
 *
 *  - min_value and max_value count only where the footer says that the column is ordered by its type. (Nothing was said
 *    before parquet-format 2.4; a total order of floats puts NaN and zeros elsewhere.)
 *  - The deprecated min and max were compared as signed numbers: they count for those, not for bytes, nor for unsigned ones.
 *  - INT96, intervals and the logical types of later formats have no order, or none that is known here.
 *  - One NaN spoils both: the writer compared with it. -0.0 and +0.0 are equal to whoever compares with these bounds.
 *  - A minimum above its maximum spoils both.
 *  - Bounds of a width that is not the type's are none. Texts may be cut: a short minimum is still one, a maximum longer
 *    than we can keep is none. */
#include <math.h>
#include <string.h>

#include "common/parquet/convert.h"
#include "common/parquet/stats.h"

static bool is_nan(enum column_type type, const uint8_t *value)
{
    double wide = 0;
    float narrow = 0;
    if (type == COLUMN_DOUBLE) {
        memcpy(&wide, value, sizeof wide);
    } else if (type == COLUMN_FLOAT) {
        memcpy(&narrow, value, sizeof narrow);
    }
    return isnan(wide) || isnan(narrow);
}

/* Of a type with values of one width: as a value of ours. Rounding down keeps the order. */
static bool decode_fixed(const struct parquet_bytes *bytes, const struct column_layout *layout, enum column_type type,
                         uint8_t *out, uint8_t *out_length)
{
    size_t width = column_type_width(type), physical_width = parquet_physical_width(layout);
    uint64_t aligned[2] = {0}, converted = 0;
    uint32_t start = 0;
    if (bytes->length > sizeof aligned || (physical_width > 0 && bytes->length != physical_width)) {
        return false;
    }
    memcpy(aligned, bytes->data, bytes->length);
    if (layout->conversion != CONVERSION_NONE) {
        const struct physical_values one = {(const uint8_t *)aligned, physical_width, &start, &bytes->length};
        if (parquet_convert(layout, &one, true, &converted, 0, 1) == 0) {
            return false;
        }
        aligned[0] = converted;
    }
    memcpy(out, aligned, width);
    *out_length = (uint8_t)width;
    return true;
}

static bool decode_bound(const struct parquet_bytes *bytes, const struct column_layout *layout, enum column_type type,
                         bool may_cut, uint8_t *out, uint8_t *out_length)
{
    if (bytes->data == NULL) {
        return false;
    }
    if (column_type_width(type) > 0) {
        return decode_fixed(bytes, layout, type, out, out_length);
    }
    if (bytes->length > COLUMN_STATS_VALUE_BYTES && !may_cut) {
        return false;
    }
    size_t length = bytes->length < COLUMN_STATS_VALUE_BYTES ? bytes->length : COLUMN_STATS_VALUE_BYTES;
    memcpy(out, bytes->data, length);
    *out_length = (uint8_t)length;
    return true;
}

void parquet_stats_decode_bounds(const struct parquet_bytes *min, const struct parquet_bytes *max,
                                 const struct column_layout *layout, struct column_stats *out)
{
    if (layout->unordered) {
        return;
    }
    out->has_min = decode_bound(min, layout, out->type, true, out->min, &out->min_length);
    out->has_max = decode_bound(max, layout, out->type, false, out->max, &out->max_length);
    bool spoilt = (out->has_min && is_nan(out->type, out->min)) || (out->has_max && is_nan(out->type, out->max)) ||
                  (out->has_min && out->has_max &&
                   column_value_compare(out->type, out->min, out->min_length, out->max, out->max_length) > 0);
    if (spoilt) {
        out->has_min = false;
        out->has_max = false;
    }
}

bool parquet_stats_are_ordered(const struct meta_file *meta, const struct column_layout *layout)
{
    return layout->chunk < meta->order_count && meta->typed_orders[layout->chunk] != 0;
}

static bool legacy_is_right(const struct column_layout *layout)
{
    bool is_signed = layout->conversion != CONVERSION_U32_TO_I64 && layout->conversion != CONVERSION_U64_TO_I64;
    return is_signed && layout->physical != PHYSICAL_BYTE_ARRAY && layout->physical != PHYSICAL_FIXED;
}

void parquet_stats_decode(const struct meta_statistics *statistics, const struct meta_file *meta,
                          const struct column_layout *layout, struct column_stats *out)
{
    if (statistics->null_count >= 0) {
        out->null_count = (uint64_t)statistics->null_count;
    } else if (layout->optional) {
        out->null_count = 1; /* not known: neither none nor all */
    }
    bool has_new = statistics->min.data != NULL && statistics->max.data != NULL;
    if (has_new && parquet_stats_are_ordered(meta, layout)) {
        parquet_stats_decode_bounds(&statistics->min, &statistics->max, layout, out);
    } else if (legacy_is_right(layout)) {
        parquet_stats_decode_bounds(&statistics->legacy_min, &statistics->legacy_max, layout, out);
    }
}
