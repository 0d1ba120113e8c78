/* Columns of a file as columns of a table. Most are the same and are not touched: the view points at the memory of the
 * cursor's batch. */
#include <inttypes.h>

#include "common/ingest/parquet.h"

bool ingest_parquet_conversion(const struct schema_column *from, const struct schema_column *to,
                               const struct timestamp_format *format, enum conversion *out)
{
    bool takes_numbers = format->kind == TIMESTAMP_DEFAULT || format->kind == TIMESTAMP_EPOCH;
    const struct {
        enum column_type from, to;
        enum conversion conversion;
        bool fits;
    } pairs[] = {
        {COLUMN_STRING, COLUMN_BYTES, CONVERT_NOT, true},
        {COLUMN_JSON, COLUMN_STRING, CONVERT_NOT, true},
        {COLUMN_INT32, COLUMN_INT64, CONVERT_I32_TO_I64, true},
        {COLUMN_INT32, COLUMN_DOUBLE, CONVERT_I32_TO_DOUBLE, true},
        {COLUMN_FLOAT, COLUMN_DOUBLE, CONVERT_FLOAT_TO_DOUBLE, true},
        {COLUMN_DATE, COLUMN_TIMESTAMP, CONVERT_DAYS, true},
        {COLUMN_INT32, COLUMN_TIMESTAMP, CONVERT_I32_TO_TIME, takes_numbers},
        {COLUMN_INT64, COLUMN_TIMESTAMP, CONVERT_I64_TO_TIME, takes_numbers},
        {COLUMN_DECIMAL, COLUMN_DECIMAL, CONVERT_DECIMAL,
         from->scale <= to->scale && from->precision - from->scale <= to->precision - to->scale},
    };
    *out = CONVERT_NOT;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (from->type == pairs[i].from && to->type == pairs[i].to) {
            *out = pairs[i].conversion;
            return pairs[i].fits;
        }
    }
    return from->type == to->type;
}

/* --- values ------------------------------------------------------------------------------------------------------- */

/* Of a day that no time of the years 0001 to 9999 is in, a time that is refused later. */
static int64_t midnight(int32_t day)
{
    return day < FIRST_DAY ? INT64_MIN : day > LAST_DAY ? INT64_MAX : day * CLOCK_DAY_US;
}

static void convert_numbers(enum conversion conversion, const struct column *from, void *values, uint32_t count)
{
    int64_t *i64 = values;
    double *f64 = values;
    for (uint32_t i = 0; i < count; i++) {
        switch (conversion) {
        case CONVERT_I32_TO_I64: i64[i] = from->values.i32[i]; break;
        case CONVERT_I32_TO_DOUBLE: f64[i] = from->values.i32[i]; break;
        case CONVERT_FLOAT_TO_DOUBLE: f64[i] = (double)from->values.f32[i]; break;
        case CONVERT_DAYS: i64[i] = midnight(from->values.i32[i]); break;
        case CONVERT_NOT:
        case CONVERT_ABSENT:
        case CONVERT_DECIMAL:
        case CONVERT_I32_TO_TIME:
        case CONVERT_I64_TO_TIME: break;
        }
    }
}

static enum err_code convert_times(struct parquet_rows *rows, uint32_t column, const struct column *from,
                                   int64_t *values, struct error *err)
{
    const struct timestamp_format *format = &rows->parser->formats[column];
    bool is_narrow = rows->columns[column].conversion == CONVERT_I32_TO_TIME;
    for (uint32_t i = 0; i < rows->read->row_count; i++) {
        int64_t value = is_narrow ? from->values.i32[i] : from->values.i64[i];
        const struct number number = {
            .mantissa = value < 0 ? ~(uint64_t)value + 1 : (uint64_t)value,
            .is_negative = value < 0,
        };
        enum clock_fault fault = timestamp_from_number(format, &number, &values[i]);
        if (fault != CLOCK_FAULT_NONE) {
            char text[TIMESTAMP_EXPECTED_BYTES];
            values[i] = 0;
            TRY(ingest_parquet_refuse(rows, i, column, err, "expected %s but found %" PRId64,
                                      timestamp_expected(format, fault, text), value));
        }
    }
    return OK;
}

static enum err_code convert_decimals(struct parquet_rows *rows, uint32_t column, const struct column *from,
                                      int64_t *values, struct error *err)
{
    const struct schema_column *to = &rows->parser->schema->columns[column];
    uint8_t scale = parquet_cursor_schema(rows->cursor)->columns[rows->columns[column].from].scale;
    for (uint32_t i = 0; i < rows->read->row_count; i++) {
        int64_t value = from->values.i64[i];
        const struct number number = {
            .mantissa = value < 0 ? ~(uint64_t)value + 1 : (uint64_t)value,
            .exponent = -(int32_t)scale,
            .is_negative = value < 0,
        };
        values[i] = 0;
        if (number_to_scaled(&number, to->scale, number_power_of_ten(to->precision) - 1, &values[i]) != NUMBER_FITS) {
            char type[COLUMN_TYPE_TEXT_BYTES];
            TRY(ingest_parquet_refuse(rows, i, column, err,
                                      "expected a number within the range of %s but found %" PRId64 "e-%d",
                                      column_type_format(to, type), value, scale));
        }
    }
    return OK;
}

static enum err_code convert(struct parquet_rows *rows, uint32_t column, struct error *err)
{
    struct parquet_column *mapping = &rows->columns[column];
    const struct column *from = &rows->read->columns[mapping->from];
    uint32_t count = rows->read->row_count;
    buf_clear(&mapping->values);
    TRY(buf_reserve(&mapping->values, count * sizeof(int64_t), err));
    void *values = mapping->values.data;
    rows->view.columns[column] = (struct column){.type = rows->parser->schema->columns[column].type,
                                                 .null_count = from->null_count,
                                                 .valid = from->valid,
                                                 .values.raw = values};
    switch (mapping->conversion) {
    case CONVERT_DECIMAL: return convert_decimals(rows, column, from, values, err);
    case CONVERT_I32_TO_TIME:
    case CONVERT_I64_TO_TIME: return convert_times(rows, column, from, values, err);
    case CONVERT_NOT:
    case CONVERT_ABSENT:
    case CONVERT_I32_TO_I64:
    case CONVERT_I32_TO_DOUBLE:
    case CONVERT_FLOAT_TO_DOUBLE:
    case CONVERT_DAYS: break;
    }
    convert_numbers(mapping->conversion, from, values, count);
    return OK;
}

/* --- columns ------------------------------------------------------------------------------------------------------ */

/* Zeros serve as values, offsets and bits at once: UUIDs are the widest. */
static enum err_code need_nulls(struct parquet_rows *rows, uint32_t count, struct error *err)
{
    size_t bytes = ((size_t)count + 1) * sizeof(struct uuid);
    if (rows->nulls.capacity_bytes < bytes) {
        TRY(buf_reserve(&rows->nulls, bytes, err));
        memset(rows->nulls.data, 0, rows->nulls.capacity_bytes);
    }
    return OK;
}

static void point_to_nulls(struct parquet_rows *rows, uint32_t column)
{
    enum column_type type = rows->parser->schema->columns[column].type;
    struct column *out = &rows->view.columns[column];
    *out = (struct column){.type = type, .null_count = rows->read->row_count, .valid = rows->nulls.data};
    if (column_type_is_variable(type)) {
        out->offsets = (uint32_t *)(void *)rows->nulls.data;
        out->data = rows->nulls.data;
    } else {
        out->values.raw = rows->nulls.data;
    }
}

enum err_code ingest_parquet_convert(struct parquet_rows *rows, struct error *err)
{
    TRY(need_nulls(rows, rows->read->row_count, err));
    rows->view.row_count = rows->read->row_count;
    for (uint32_t c = 0; c < rows->parser->schema->column_count; c++) {
        const struct parquet_column *mapping = &rows->columns[c];
        if (mapping->conversion == CONVERT_ABSENT) {
            point_to_nulls(rows, c);
        } else if (mapping->conversion == CONVERT_NOT) {
            rows->view.columns[c] = rows->read->columns[mapping->from];
            rows->view.columns[c].type = rows->parser->schema->columns[c].type;
        } else {
            TRY(convert(rows, c, err));
        }
    }
    return OK;
}
