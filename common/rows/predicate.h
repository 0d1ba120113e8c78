/* Predicates over rows: `column op literal` joined with and, or, not and parentheses; `is null`, `is not null`, `in (...)`.
 * Operators = != < <= > >=. Literals: 'text' ('' is a quote), numbers, true, false; times, dates, uuids, bytes (hex) and
 * decimals as text; times in RFC 3339, UTC where no offset is given, in whole microseconds. Words in any case; a column
 * named like a word stands in double quotes.
 *
 * Comparison with null is false (two-valued: NOT of it is true only where the column is not null). Comparison with NaN is
 * false but for !=. A float column is compared with the literal rounded to a float. */
#ifndef GRANARY_ROWS_PREDICATE_H
#define GRANARY_ROWS_PREDICATE_H

#include "common/rows/batch.h"

struct predicate;

/* At most 64 KiB of text, 1,000 nodes, depth 64. ERR_INVALID says what was expected and at which character. */
MUST_CHECK enum err_code predicate_parse(const char *text, size_t length, const struct schema *schema,
                                         struct predicate **out, struct error *err);
void predicate_free(struct predicate *predicate);
DEFINE_AUTO(struct predicate, predicate_free)

/* selected[i] = 1 where the row matches, else 0; `selected` holds batch->row_count bytes, undefined after an error. The
 * batch's schema may be any version: columns are met by id. A column that the batch lacks counts as null. */
MUST_CHECK enum err_code predicate_evaluate(const struct predicate *predicate, const struct batch *batch,
                                            uint8_t *selected, struct error *err);

/* May any row within these statistics match? True when in doubt. Columns without statistics are in doubt. */
bool predicate_may_match(const struct predicate *predicate, const struct column_stats *stats, size_t stats_count,
                         uint64_t row_count);

/* What else is known of these rows. */
struct predicate_evidence {
    const struct column_stats *stats;
    size_t stats_count;
    uint64_t row_count;
    /* May any row hold just this value (plain bytes of the type that the column had when the predicate was parsed)? Asked
     * where bounds do not rule it out. NULL: nothing is known. */
    bool (*may_contain)(void *context, const struct schema_column *column, const void *value, size_t length);
    void *context;
};
bool predicate_may_match_evidence(const struct predicate *predicate, const struct predicate_evidence *evidence);

/* Sets needed[i] for each column index of the schema that the predicate reads. */
void predicate_columns(const struct predicate *predicate, bool *needed);
/* The column of this id as it was when the predicate was parsed; NULL where the predicate does not read it. Borrowed. */
const struct schema_column *predicate_column(const struct predicate *predicate, uint32_t column_id);

#endif
