/* The tree of a predicate. There is no node for `not`: it is pushed down while parsing (by De Morgan), so that only
 * leaves are negated, and a negated leaf is true just where its column is not null and the comparison is false. */
#ifndef GRANARY_ROWS_PREDICATE_INTERNAL_H
#define GRANARY_ROWS_PREDICATE_INTERNAL_H

#include "common/base/arena.h"
#include "common/rows/internal.h"
#include "common/rows/predicate.h"

enum predicate_kind { PREDICATE_AND, PREDICATE_OR, PREDICATE_COMPARE, PREDICATE_IN, PREDICATE_IS_NULL };

enum predicate_operator {
    OPERATOR_EQUAL,
    OPERATOR_NOT_EQUAL,
    OPERATOR_LESS,
    OPERATOR_LESS_EQUAL,
    OPERATOR_GREATER,
    OPERATOR_GREATER_EQUAL
};

/* What the literals of a column are kept and compared as. */
enum literal_class { LITERAL_INTEGER, LITERAL_DOUBLE, LITERAL_BYTES };

struct literal {
    int64_t integer; /* bool, integers, timestamp, date, unscaled decimal */
    double real;     /* float (already rounded to one), double */
    const uint8_t *bytes;
    size_t length; /* string, bytes, json, uuid */
};

struct predicate_node {
    enum predicate_kind kind;
    bool is_negated; /* leaves only */
    /* and, or */
    const struct predicate_node *left, *right;
    /* leaves */
    uint32_t column;                        /* index in the schema it was parsed with */
    const struct schema_column *definition; /* its name in the predicate's arena */
    enum predicate_operator operator;
    const struct literal *literals; /* one for a comparison */
    size_t literal_count;
};

struct predicate {
    struct arena *arena; /* holds this and all nodes */
    const struct predicate_node *root;
};

static inline enum literal_class literal_class_of(enum column_type type)
{
    if (type == COLUMN_FLOAT || type == COLUMN_DOUBLE) {
        return LITERAL_DOUBLE;
    }
    return column_type_is_variable(type) || type == COLUMN_UUID ? LITERAL_BYTES : LITERAL_INTEGER;
}

/* Does `order` (<0, 0, >0) satisfy the operator? */
static inline bool operator_accepts(enum predicate_operator operator, int order)
{
    switch (operator) {
    case OPERATOR_EQUAL: return order == 0;
    case OPERATOR_NOT_EQUAL: return order != 0;
    case OPERATOR_LESS: return order < 0;
    case OPERATOR_LESS_EQUAL: return order <= 0;
    case OPERATOR_GREATER: return order > 0;
    case OPERATOR_GREATER_EQUAL: return order >= 0;
    }
    return false;
}

#endif
