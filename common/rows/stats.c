/* Bounds of columns. The values are scanned once for the rows that hold the extremes; only those two are then put into
 * the plain form that the statistics keep. */
#include "common/rows/internal.h"

void column_stats_init(struct column_stats *stats, const struct schema_column *column)
{
    *stats = (struct column_stats){.column_id = column->id, .type = column->type};
}

/* Cut at the end of a code point, where the column holds text. */
static size_t cut_length(const uint8_t *data, size_t length, bool text)
{
    if (length <= COLUMN_STATS_VALUE_BYTES) {
        return length;
    }
    size_t cut = COLUMN_STATS_VALUE_BYTES;
    while (text && cut > 0 && (data[cut] & 0xc0) == 0x80) {
        cut--;
    }
    return cut;
}

/* Makes the cut value an upper bound of all that start with it: raises the last byte that can be raised and stay text
 * (0x7f and 0xbf end a range of code points), and drops what follows it. False when there is none. */
static bool raise(uint8_t *data, size_t *length, bool text)
{
    for (size_t i = *length; i > 0; i--) {
        uint8_t last = data[i - 1];
        bool ends_character = i == *length || !text || (data[i] & 0xc0) != 0x80;
        bool can_rise = text ? last < 0x7f || (last >= 0x80 && last < 0xbf) : last < 0xff;
        if (ends_character && can_rise) {
            data[i - 1]++;
            *length = i;
            return true;
        }
    }
    return false;
}

static void set_min(struct column_stats *stats, const void *data, size_t length)
{
    size_t cut = column_type_is_variable(stats->type) ? cut_length(data, length, stats->type != COLUMN_BYTES) : length;
    if (cut != 0) {
        memcpy(stats->min, data, cut);
    }
    stats->min_length = (uint8_t)cut;
    stats->has_min = true;
}

static void set_max(struct column_stats *stats, const void *data, size_t length)
{
    bool text = stats->type != COLUMN_BYTES;
    size_t cut = column_type_is_variable(stats->type) ? cut_length(data, length, text) : length;
    if (cut != 0) {
        memcpy(stats->max, data, cut);
    }
    if (cut < length && !raise(stats->max, &cut, text)) {
        stats->open_max = true;
        stats->has_max = false;
        return;
    }
    stats->max_length = (uint8_t)cut;
    stats->has_max = true;
}

#define COMPARE_AS_(type)         \
    {                             \
        type x;                   \
        type y;                   \
        memcpy(&x, a, sizeof x);  \
        memcpy(&y, b, sizeof y);  \
        return (x > y) - (x < y); \
    }

int column_value_compare(enum column_type type, const void *a, size_t a_length, const void *b, size_t b_length)
{
    switch (type) {
    case COLUMN_BOOL: COMPARE_AS_(uint8_t)
    case COLUMN_INT32:
    case COLUMN_DATE: COMPARE_AS_(int32_t)
    case COLUMN_INT64:
    case COLUMN_TIMESTAMP:
    case COLUMN_DECIMAL: COMPARE_AS_(int64_t)
    case COLUMN_FLOAT: COMPARE_AS_(float)
    case COLUMN_DOUBLE: COMPARE_AS_(double)
    case COLUMN_STRING:
    case COLUMN_BYTES:
    case COLUMN_JSON:
    case COLUMN_UUID:
    case COLUMN_TYPE_COUNT: break;
    }
    return bytes_compare(a, a_length, b, b_length);
}

static void take(struct column_stats *stats, const void *min, size_t min_length, const void *max, size_t max_length)
{
    if (!stats->open_min &&
        (!stats->has_min || column_value_compare(stats->type, min, min_length, stats->min, stats->min_length) < 0)) {
        set_min(stats, min, min_length);
    }
    if (!stats->open_max &&
        (!stats->has_max || column_value_compare(stats->type, max, max_length, stats->max, stats->max_length) > 0)) {
        set_max(stats, max, max_length);
    }
}

/* The rows with the smallest and the largest value; false when there is none. NaN compares unequal to itself. */
#define DEFINE_EXTREMES_(name, ctype)                                                                             \
    static bool extremes_##name(const struct column *column, const ctype *values, uint32_t first, uint32_t count, \
                                ctype *out_min, ctype *out_max)                                                   \
    {                                                                                                             \
        uint32_t i = first;                                                                                       \
        uint32_t end = first + count;                                                                             \
        while (i < end && (column_is_null(column, i) || values[i] != values[i])) {                                \
            i++;                                                                                                  \
        }                                                                                                         \
        if (i == end) {                                                                                           \
            return false;                                                                                         \
        }                                                                                                         \
        ctype min = values[i];                                                                                    \
        ctype max = values[i];                                                                                    \
        if (column->valid == NULL) {                                                                              \
            for (; i < end; i++) {                                                                                \
                min = values[i] < min ? values[i] : min;                                                          \
                max = values[i] > max ? values[i] : max;                                                          \
            }                                                                                                     \
        }                                                                                                         \
        for (; i < end; i++) {                                                                                    \
            bool skip = column_is_null(column, i);                                                                \
            min = !skip && values[i] < min ? values[i] : min;                                                     \
            max = !skip && values[i] > max ? values[i] : max;                                                     \
        }                                                                                                         \
        *out_min = min;                                                                                           \
        *out_max = max;                                                                                           \
        return true;                                                                                              \
    }
DEFINE_EXTREMES_(u8, uint8_t)
DEFINE_EXTREMES_(i32, int32_t)
DEFINE_EXTREMES_(i64, int64_t)
DEFINE_EXTREMES_(f32, float)
DEFINE_EXTREMES_(f64, double)
#undef DEFINE_EXTREMES_

#define UPDATE_(name, ctype)                                                          \
    {                                                                                 \
        ctype min;                                                                    \
        ctype max;                                                                    \
        if (extremes_##name(column, column->values.name, first, count, &min, &max)) { \
            take(stats, &min, sizeof min, &max, sizeof max);                          \
        }                                                                             \
        break;                                                                        \
    }

struct span {
    const uint8_t *data;
    uint32_t length;
    uint64_t prefix;
};

static int span_compare(const struct span *a, const struct span *b)
{
    if (a->prefix != b->prefix) {
        return a->prefix < b->prefix ? -1 : 1;
    }
    return bytes_compare(a->data, a->length, b->data, b->length);
}

static struct span span_of(const struct column *column, uint32_t row)
{
    struct span span = {.length = sizeof(struct uuid)};
    span.data =
        column->type == COLUMN_UUID ? column->values.uuid[row].bytes : column_variable(column, row, &span.length);
    span.prefix = bytes_prefix(span.data, span.length);
    return span;
}

static void update_spans(struct column_stats *stats, const struct column *column, uint32_t first, uint32_t count)
{
    struct span min = {0};
    struct span max = {0};
    bool any = false;
    for (uint32_t i = first; i < first + count; i++) {
        if (column_is_null(column, i)) {
            continue;
        }
        struct span span = span_of(column, i);
        if (!any || span_compare(&span, &min) < 0) {
            min = span;
        }
        if (!any || span_compare(&span, &max) > 0) {
            max = span;
        }
        any = true;
    }
    if (any) {
        take(stats, min.data, min.length, max.data, max.length);
    }
}

static uint64_t count_nulls(const struct column *column, uint32_t first, uint32_t count)
{
    uint64_t nulls = 0;
    for (uint32_t i = first; column->null_count != 0 && i < first + count; i++) {
        nulls += column_is_null(column, i);
    }
    return nulls;
}

void column_stats_update(struct column_stats *stats, const struct column *column, uint32_t first, uint32_t count)
{
    stats->null_count += count_nulls(column, first, count);
    switch (column->type) {
    case COLUMN_BOOL: UPDATE_(u8, uint8_t)
    case COLUMN_INT32:
    case COLUMN_DATE: UPDATE_(i32, int32_t)
    case COLUMN_INT64:
    case COLUMN_TIMESTAMP:
    case COLUMN_DECIMAL: UPDATE_(i64, int64_t)
    case COLUMN_FLOAT: UPDATE_(f32, float)
    case COLUMN_DOUBLE: UPDATE_(f64, double)
    case COLUMN_STRING:
    case COLUMN_BYTES:
    case COLUMN_JSON:
    case COLUMN_UUID: update_spans(stats, column, first, count); break;
    case COLUMN_TYPE_COUNT: break;
    }
}

void column_stats_merge(struct column_stats *into, const struct column_stats *from)
{
    into->null_count += from->null_count;
    into->open_min = into->open_min || from->open_min;
    into->open_max = into->open_max || from->open_max;
    into->has_min = into->has_min && !into->open_min;
    into->has_max = into->has_max && !into->open_max;
    if (from->has_min && !into->open_min &&
        (!into->has_min ||
         column_value_compare(into->type, from->min, from->min_length, into->min, into->min_length) < 0)) {
        set_min(into, from->min, from->min_length);
    }
    if (from->has_max && !into->open_max &&
        (!into->has_max ||
         column_value_compare(into->type, from->max, from->max_length, into->max, into->max_length) > 0)) {
        set_max(into, from->max, from->max_length);
    }
}
