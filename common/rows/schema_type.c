#include <stdio.h>
#include <string.h>

#include "common/rows/schema.h"

static const char *const type_names[COLUMN_TYPE_COUNT] = {
    [COLUMN_BOOL] = "bool",       [COLUMN_INT32] = "int32",         [COLUMN_INT64] = "int64",
    [COLUMN_FLOAT] = "float",     [COLUMN_DOUBLE] = "double",       [COLUMN_STRING] = "string",
    [COLUMN_BYTES] = "bytes",     [COLUMN_TIMESTAMP] = "timestamp", [COLUMN_DATE] = "date",
    [COLUMN_DECIMAL] = "decimal", [COLUMN_UUID] = "uuid",           [COLUMN_JSON] = "json",
};

char *column_type_format(const struct schema_column *column, char text[COLUMN_TYPE_TEXT_BYTES])
{
    if (column->type == COLUMN_DECIMAL) {
        (void)snprintf(text, COLUMN_TYPE_TEXT_BYTES, "decimal(%d,%d)", column->precision, column->scale);
    } else {
        (void)snprintf(text, COLUMN_TYPE_TEXT_BYTES, "%s",
                       (unsigned)column->type < COLUMN_TYPE_COUNT ? type_names[column->type] : "unknown");
    }
    return text;
}

/* One or two digits; returns what follows them, or NULL. */
static const char *parse_small(const char *text, unsigned *out)
{
    if (*text < '0' || *text > '9') {
        return NULL;
    }
    unsigned value = (unsigned)(*text++ - '0');
    if (*text >= '0' && *text <= '9') {
        value = value * 10 + (unsigned)(*text++ - '0');
    }
    *out = value;
    return text;
}

static bool parse_decimal(const char *text, unsigned *precision, unsigned *scale)
{
    static const char prefix[] = "decimal(";
    if (strncmp(text, prefix, sizeof prefix - 1) != 0) {
        return false;
    }
    text = parse_small(text + sizeof prefix - 1, precision);
    if (text == NULL || *text != ',') {
        return false;
    }
    text = parse_small(text + 1, scale);
    return text != NULL && strcmp(text, ")") == 0 && *precision >= 1 && *precision <= 18 && *scale <= *precision;
}

enum err_code column_type_parse(const char *text, struct schema_column *column, struct error *err)
{
    unsigned precision = 0;
    unsigned scale = 0;
    int type = parse_decimal(text, &precision, &scale) ? COLUMN_DECIMAL : -1;
    for (int i = 0; type < 0 && i < COLUMN_TYPE_COUNT; i++) {
        type = i != COLUMN_DECIMAL && strcmp(text, type_names[i]) == 0 ? i : -1;
    }
    if (type < 0) {
        return err_set(err, ERR_INVALID,
                       "expected a type (bool, int32, int64, float, double, string, bytes, timestamp, date, "
                       "decimal(precision 1 to 18,scale), uuid, json) but found \"%s\"",
                       text);
    }
    column->type = (enum column_type)type;
    column->precision = (uint8_t)precision;
    column->scale = (uint8_t)scale;
    return OK;
}
