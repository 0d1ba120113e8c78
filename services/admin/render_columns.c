/* The bounds of columns, which the catalog keeps as plain bytes of their type. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/rows/batch.h"
#include "services/admin/render.h"

enum { HEX_BYTES = 2 * COLUMN_STATS_VALUE_BYTES + 1 };

static struct json *text_value(const char *text)
{
    return json_new_string(text, strlen(text));
}

static struct json *decimal_value(int64_t unscaled, unsigned scale)
{
    char digits[24];
    char text[48];
    uint64_t magnitude = unscaled < 0 ? 0 - (uint64_t)unscaled : (uint64_t)unscaled;
    int length = snprintf(digits, sizeof digits, "%0*llu", (int)scale + 1, (unsigned long long)magnitude);
    int whole = length - (int)scale;
    (void)snprintf(text, sizeof text, "%s%.*s%s%s", unscaled < 0 ? "-" : "", whole, digits, scale > 0 ? "." : "",
                   digits + whole);
    return text_value(text);
}

static struct json *real_value(double value)
{
    return isfinite(value) ? json_new_double(value) : text_value(value > 0 ? "Infinity" : "-Infinity");
}

static struct json *bytes_value(const uint8_t *bytes, size_t length)
{
    char hex[HEX_BYTES];
    text_hex_encode(bytes, length, hex);
    return text_value(hex);
}

static struct json *bound_value(const struct schema_column *column, const uint8_t *bytes, size_t length)
{
    char text[CLOCK_TEXT_BYTES];
    int32_t i32 = 0;
    int64_t i64 = 0;
    float real = 0;
    double wide = 0;
    struct uuid id;
    if (column == NULL || length < column_type_width(column->type)) {
        return bytes_value(bytes, length);
    }
    memcpy(&i32, bytes, length < sizeof i32 ? length : sizeof i32);
    memcpy(&i64, bytes, length < sizeof i64 ? length : sizeof i64);
    switch (column->type) {
    case COLUMN_BOOL: return json_new_bool(bytes[0] != 0);
    case COLUMN_INT32: return json_new_i64(i32);
    case COLUMN_INT64: return json_new_i64(i64);
    case COLUMN_FLOAT: memcpy(&real, bytes, sizeof real); return real_value((double)real);
    case COLUMN_DOUBLE: memcpy(&wide, bytes, sizeof wide); return real_value(wide);
    case COLUMN_TIMESTAMP: return text_value(clock_format(i64, text));
    case COLUMN_DATE: return text_value(clock_format_date(i32 * CLOCK_DAY_US, text));
    case COLUMN_DECIMAL: return decimal_value(i64, column->scale);
    case COLUMN_UUID: memcpy(id.bytes, bytes, sizeof id.bytes); return text_value(uuid_format(&id, text));
    case COLUMN_STRING:
    case COLUMN_JSON: return json_new_string((const char *)bytes, text_utf8_valid_prefix((const char *)bytes, length));
    case COLUMN_BYTES: return bytes_value(bytes, length);
    case COLUMN_TYPE_COUNT: break;
    }
    return json_new_null();
}

static enum err_code render_column(struct json *object, const struct column_stats *stats, const struct schema *schema,
                                   struct error *err)
{
    char unknown[16];
    int index = schema_find_id(schema, stats->column_id);
    const struct schema_column *column = index < 0 ? NULL : &schema->columns[index];
    (void)snprintf(unknown, sizeof unknown, "#%u", stats->column_id);
    TRY(json_set_string(object, "column", column == NULL ? unknown : column->name, err));
    TRY(json_set(object, "min", stats->has_min ? bound_value(column, stats->min, stats->min_length) : json_new_null(),
                 err));
    TRY(json_set(object, "max", stats->has_max ? bound_value(column, stats->max, stats->max_length) : json_new_null(),
                 err));
    return json_set_i64(object, "nulls", (int64_t)stats->null_count, err);
}

enum err_code render_columns(struct json *object, const struct column_stats *columns, size_t count,
                             const struct schema *schema, struct error *err)
{
    struct json *array;
    TRY(render_array(object, "columns", &array, err));
    for (size_t i = 0; i < count; i++) {
        struct json *item;
        TRY(render_item(array, &item, err));
        TRY(render_column(item, &columns[i], schema, err));
    }
    return OK;
}
