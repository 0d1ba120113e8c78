/* The decoded values of a page or dictionary: dense, in our types. */
#ifndef GRANARY_PARQUET_VALUES_H
#define GRANARY_PARQUET_VALUES_H

#include "common/parquet/convert.h"
#include "common/parquet/encoding.h"

enum { PARQUET_VALUES_MAX_BYTES = 1 << 30 };

struct values {
    size_t count;
    size_t width;       /* of ours; 0 for texts */
    struct buf fixed;   /* width > 0 */
    struct spans spans; /* texts; starts and lengths are owned, data are borrowed from the page or `texts` */
    size_t spans_capacity;
    struct buf texts;    /* bytes of texts that the page does not hold as they are, or that must outlive it */
    struct buf physical; /* before conversion */
    size_t bad_count;    /* values that did not fit our type; their slots hold nothing of meaning */
    struct buf bad;      /* when there are any: one byte per value, 1 for those */
};

/* What the values of a column are in the file, and what they are to become. */
struct values_form {
    struct column_layout layout;
    enum column_type type;
    bool round_times; /* times finer than a microsecond are rounded down, else they do not fit */
};

void parquet_values_done(struct values *values);

/* Decodes `count` non-null values in any encoding but a dictionary's. Texts point into `in`. ERR_INVALID names an
 * encoding that does not belong to the type. Values that do not fit are no error here: see bad_count. */
MUST_CHECK enum err_code parquet_values_decode(struct values *values, const struct values_form *form, int32_t encoding,
                                               struct encoded in, size_t count, struct error *err);
/* Of the last values decoded, why value i does not fit. Returns text. */
char *parquet_values_explain(const struct values *values, const struct values_form *form, size_t i,
                             char text[CONVERT_TEXT_BYTES]);
/* Makes the texts independent of the page, with 16 bytes of slack behind them. */
MUST_CHECK enum err_code parquet_values_detach(struct values *values, struct error *err);

#endif
