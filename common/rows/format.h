/* Batches as text for people and programs: NDJSON and CSV (RFC 4180). Timestamps RFC 3339 with six digits and Z, dates
 * yyyy-mm-dd, decimals exact (as JSON strings, plain in CSV), bytes base64, uuids in lower case, json columns word for word.
 * int64 are JSON numbers. Floats in the shortest form that reads back the same; NaN and infinities as "NaN", "Infinity",
 * "-Infinity". Null is null in JSON and an empty field in CSV (an empty text is ""). */
#ifndef GRANARY_ROWS_FORMAT_H
#define GRANARY_ROWS_FORMAT_H

#include "common/base/buf.h"
#include "common/rows/batch.h"

enum rows_format { ROWS_FORMAT_NDJSON, ROWS_FORMAT_CSV, ROWS_FORMAT_COUNT };

/* What comes before the rows: the names in CSV, nothing in NDJSON. */
MUST_CHECK enum err_code rows_format_header(const struct schema *schema, enum rows_format format, struct buf *out,
                                            struct error *err);
/* Appends rows [first, first + count), each with its newline. ERR_NO_MEMORY only; `out` then ends somewhere in a row. */
MUST_CHECK enum err_code rows_format_rows(const struct batch *batch, uint32_t first, uint32_t count,
                                          enum rows_format format, struct buf *out, struct error *err);

#endif
