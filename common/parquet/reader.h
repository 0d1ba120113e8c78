/* Parquet reader: the flat columns of a file in, batches out. Never trusts a length: hostile bytes give ERR_CORRUPT that
 * says what and where; what we do not read (nested, encrypted, brotli) gives ERR_INVALID that names column and feature, as
 * soon as the column is asked for; the others of the file can be read.
 *
 * Types of other writers become the nearest of ours. Signed and unsigned integers up to 32 bits: int32 or int64; uint64:
 * int64; float16: float; decimals of any carrier: decimal, with at most 18 digits; timestamps of any unit, also INT96:
 * timestamp, those without a zone as if they were UTC; times of day: int64 microseconds; enum: string; bson, fixed-length
 * and unknown types: bytes, or the number that carries them. Every value that such a type could not hold is looked at: one
 * that does not fit is ERR_INVALID that names row (from 1, in the file), column and value. */
#ifndef GRANARY_PARQUET_READER_H
#define GRANARY_PARQUET_READER_H

#include "common/parquet/sink.h"
#include "common/rows/batch.h"
#include "common/rows/predicate.h"

struct parquet_reader;

/* Reads and checks the footer. The source is copied (its context borrowed). A footer over 64 MiB is refused. */
MUST_CHECK enum err_code parquet_reader_open(const struct parquet_source *source, struct parquet_reader **out,
                                             struct error *err);
void parquet_reader_free(struct parquet_reader *reader);
DEFINE_AUTO(struct parquet_reader, parquet_reader_free)

uint64_t parquet_reader_rows(const struct parquet_reader *reader);
size_t parquet_reader_row_groups(const struct parquet_reader *reader);
uint64_t parquet_reader_row_group_rows(const struct parquet_reader *reader, size_t row_group);
/* Columns as the file has them (field ids, or 1.. in order where it has none). Its table id and version come from the
 * key-values where present. A file without a timestamp column has timestamp_column == UINT32_MAX. Borrowed. */
const struct schema *parquet_reader_schema(const struct parquet_reader *reader);
/* Finds a column by name. ERR_NOT_FOUND: there is none. ERR_INVALID: it is one of those that are not read, and why. */
MUST_CHECK enum err_code parquet_reader_find(const struct parquet_reader *reader, const char *name, size_t length,
                                             uint32_t *out, struct error *err);
/* The columns that the schema does not list because they are not read; parquet_reader_find says why. */
size_t parquet_reader_unread_count(const struct parquet_reader *reader);
const char *parquet_reader_unread_name(const struct parquet_reader *reader, size_t i);
const char *parquet_reader_key_value(const struct parquet_reader *reader, const char *key); /* NULL when absent */
/* Trusted statistics of a column chunk; has_min/has_max false where there are none. */
void parquet_reader_stats(const struct parquet_reader *reader, size_t row_group, size_t column,
                          struct column_stats *out);

/* A cursor reads some columns of some row groups front to back, page by page: memory is bounded by a page and a
 * dictionary per column. Several cursors of one reader may exist; one thread at a time. */
struct parquet_cursor;

/* Rows whose value of a column (an integer, a time or a decimal, unscaled) is within both ends; null never is. */
struct parquet_range {
    uint32_t column; /* index into the file's schema */
    int64_t min, max;
};

struct parquet_cursor_options {
    const uint32_t *columns; /* indexes into the file's schema; NULL for all, and an error where one is not read */
    size_t column_count;
    const uint8_t *row_groups; /* one byte per row group: 1 reads it; NULL for all */
    uint32_t batch_rows;       /* 0 means 8192 */
    uint64_t memory_bytes;     /* for the pages and texts of all columns at once; more is ERR_INVALID. 0 means 1 GiB */
    bool round_times;          /* times finer than a microsecond are rounded down; else they do not fit */
    /* Conditions that all must hold. Row groups and pages that statistics, bloom filters and page indexes rule out are
     * passed by without being read: rows that do not match are left out as far as that goes, rows that match never. Columns
     * that are not among `columns` may be asked too. The predicate meets columns by id and is borrowed until the cursor is
     * freed. */
    const struct predicate *predicate; /* NULL: none */
    const struct parquet_range *ranges;
    size_t range_count;
};
MUST_CHECK enum err_code parquet_cursor_open(struct parquet_reader *reader,
                                             const struct parquet_cursor_options *options, struct parquet_cursor **out,
                                             struct error *err);
void parquet_cursor_free(struct parquet_cursor *cursor);
DEFINE_AUTO(struct parquet_cursor, parquet_cursor_free)
/* Schema of the batches: the chosen columns in the order asked. Borrowed from the cursor. */
const struct schema *parquet_cursor_schema(const struct parquet_cursor *cursor);
/* The next rows, at most batch_rows; *out is borrowed until the next call and is NULL at the end. */
MUST_CHECK enum err_code parquet_cursor_next(struct parquet_cursor *cursor, const struct batch **out,
                                             struct error *err);
/* What has been passed by so far, of the row groups that were chosen. */
struct parquet_skipped {
    size_t row_groups;
    uint64_t rows; /* with those of the row groups */
};
struct parquet_skipped parquet_cursor_skipped(const struct parquet_cursor *cursor);
/* The next batch is the first of this row group (or of the next one that was chosen; parquet_reader_row_groups: the end). */
void parquet_cursor_seek(struct parquet_cursor *cursor, size_t row_group);

#endif
