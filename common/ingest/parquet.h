/* The inside of the Parquet decoder.
 *
 *   parquet.c          which column of the file is which of the table; batch by batch
 *   parquet_convert.c  columns of the file as columns of the table
 *   parquet_check.c    the rows that cannot be rows of the table, and why */
#ifndef GRANARY_INGEST_PARQUET_H
#define GRANARY_INGEST_PARQUET_H

#include "common/ingest/internal.h"
#include "common/parquet/reader.h"

enum { FIRST_DAY = -719162, LAST_DAY = 2932896 }; /* 0001-01-01, 9999-12-31, since 1970 */

/* --- parquet_convert.c ------------------------------------------------------------------------------------------- */

enum conversion {
    CONVERT_NOT,    /* the values can stand as they are */
    CONVERT_ABSENT, /* the file lacks the column: all null */
    CONVERT_I32_TO_I64,
    CONVERT_I32_TO_DOUBLE,
    CONVERT_FLOAT_TO_DOUBLE,
    CONVERT_DECIMAL,     /* to a larger scale */
    CONVERT_DAYS,        /* date to timestamp: midnight UTC */
    CONVERT_I32_TO_TIME, /* numbers to timestamps by the column's format */
    CONVERT_I64_TO_TIME,
};
/* What makes values of one type of another exactly. False: nothing does. */
bool ingest_parquet_conversion(const struct schema_column *from, const struct schema_column *to,
                               const struct timestamp_format *format, enum conversion *out);

struct parquet_column {
    int from; /* place among the cursor's columns, or ROW_NO_COLUMN */
    enum conversion conversion;
    struct buf values; /* of converted ones */
};

/* --- parquet.c --------------------------------------------------------------------------------------------------- */

struct parquet_bad {
    uint32_t row; /* in the batch */
    int column;   /* of the table */
    const char *reason;
};

struct parquet_rows {
    struct parquet_reader *reader;
    struct parquet_cursor *cursor;
    struct row_parser *parser;      /* borrowed: schema, limits, formats */
    struct parquet_column *columns; /* by column of the table */
    const struct batch *read;       /* the rows at hand as the file has them; borrowed from the cursor */
    struct batch view;              /* the same as rows of the table; its memory belongs to `read` and to `columns` */
    uint8_t *is_bad;                /* by row of the view */
    uint32_t row_capacity;
    struct buf bad;        /* of struct parquet_bad, by row, one each */
    struct arena *reasons; /* of the view */
    struct buf nulls;      /* zeros, for what a column without values points to */
    struct buf text;       /* a row as JSON */
};

MUST_CHECK enum err_code ingest_parquet_open(struct parquet_rows *rows, const struct parquet_source *source,
                                             struct row_parser *parser, struct error *err);
void ingest_parquet_done(struct parquet_rows *rows);
/* The next rows into `view`, those that are bad into `bad`. `read` is NULL at the end. */
MUST_CHECK enum err_code ingest_parquet_next(struct parquet_rows *rows, struct error *err);
/* A row of the view as the file has it, as JSON; borrowed until the next call. */
MUST_CHECK enum err_code ingest_parquet_text(struct parquet_rows *rows, uint32_t row, const uint8_t **out,
                                             size_t *out_length, struct error *err);

/* Fills the view from what was read. Values that do not fit become bad. */
MUST_CHECK enum err_code ingest_parquet_convert(struct parquet_rows *rows, struct error *err);

/* --- parquet_check.c --------------------------------------------------------------------------------------------- */

/* Makes a row of the view bad unless it is. */
MUST_CHECK enum err_code ingest_parquet_refuse(struct parquet_rows *rows, uint32_t row, uint32_t column,
                                               struct error *err, const char *format, ...)
    __attribute__((format(printf, 5, 6), cold));
/* Nulls where none may be, times outside the window, text that is not UTF-8 or not JSON. */
MUST_CHECK enum err_code ingest_parquet_check(struct parquet_rows *rows, struct error *err);

#endif
