/* Literals of predicates: from text to what a column's values are compared with. */
#ifndef GRANARY_ROWS_PREDICATE_LITERAL_H
#define GRANARY_ROWS_PREDICATE_LITERAL_H

#include "common/rows/predicate_internal.h"

/* A text between quotes (its doubled quotes made single), or a bare word or number as it stands; text[length] is readable
 * and belongs to none. */
struct literal_text {
    const char *text;
    size_t length;
    bool is_quoted;
};

/* ERR_INVALID says what the column's type wants; `out` may borrow from the text. */
MUST_CHECK enum err_code predicate_literal_parse(const struct schema_column *column, const struct literal_text *from,
                                                 struct arena *arena, struct literal *out, struct error *err);

#endif
