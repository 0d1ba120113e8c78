/* What statistics can rule out. The answer may be a needless yes, never a wrong no: bounds may be cut (a lower one below
 * and an upper one above all values), missing, or silent about NaN. */
#include "common/rows/predicate_internal.h"

static const struct column_stats *find_stats(const struct predicate_node *node, const struct column_stats *stats,
                                             size_t stats_count)
{
    for (size_t i = 0; i < stats_count; i++) {
        if (stats[i].column_id == node->definition->id) {
            return &stats[i];
        }
    }
    return NULL;
}

#define NUMBER_(type)                        \
    {                                        \
        type value;                          \
        memcpy(&value, bytes, sizeof value); \
        out->integer = (int64_t)value;       \
        out->real = (double)value;           \
        break;                               \
    }

/* A bound in the form of a literal. */
static void load_bound(enum column_type type, const uint8_t *bytes, size_t length, struct literal *out)
{
    *out = (struct literal){.bytes = bytes, .length = length};
    switch (type) {
    case COLUMN_BOOL: NUMBER_(uint8_t)
    case COLUMN_INT32:
    case COLUMN_DATE: NUMBER_(int32_t)
    case COLUMN_INT64:
    case COLUMN_TIMESTAMP:
    case COLUMN_DECIMAL: NUMBER_(int64_t)
    case COLUMN_FLOAT: {
        float value;
        memcpy(&value, bytes, sizeof value);
        out->real = (double)value;
        break;
    }
    case COLUMN_DOUBLE: memcpy(&out->real, bytes, sizeof out->real); break;
    case COLUMN_STRING:
    case COLUMN_BYTES:
    case COLUMN_JSON:
    case COLUMN_UUID:
    case COLUMN_TYPE_COUNT: break;
    }
}

static int compare_literals(enum literal_class class, const struct literal *a, const struct literal *b)
{
    switch (class) {
    case LITERAL_INTEGER: return (a->integer > b->integer) - (a->integer < b->integer);
    case LITERAL_DOUBLE: return (a->real > b->real) - (a->real < b->real);
    case LITERAL_BYTES: break;
    }
    return bytes_compare(a->bytes, a->length, b->bytes, b->length);
}

/* Orders of the bounds against a value; when there is no bound, as if it were endlessly far. */
struct bounds {
    int min, max;
    bool has_both;
};

static struct bounds compare_bounds(const struct column_stats *stats, const struct literal *value)
{
    enum literal_class class = literal_class_of(stats->type);
    struct bounds bounds = {.min = -1, .max = 1, .has_both = stats->has_min && stats->has_max};
    struct literal bound;
    if (stats->has_min) {
        load_bound(stats->type, stats->min, stats->min_length, &bound);
        bounds.min = compare_literals(class, &bound, value);
    }
    if (stats->has_max) {
        load_bound(stats->type, stats->max, stats->max_length, &bound);
        bounds.max = compare_literals(class, &bound, value);
    }
    return bounds;
}

static bool may_compare(enum predicate_operator operator, struct bounds bounds)
{
    switch (operator) {
    case OPERATOR_EQUAL: return bounds.min <= 0 && bounds.max >= 0;
    case OPERATOR_NOT_EQUAL: return !(bounds.has_both && bounds.min == 0 && bounds.max == 0);
    case OPERATOR_LESS: return bounds.min < 0;
    case OPERATOR_LESS_EQUAL: return bounds.min <= 0;
    case OPERATOR_GREATER: return bounds.max > 0;
    case OPERATOR_GREATER_EQUAL: return bounds.max >= 0;
    }
    return true;
}

static enum predicate_operator opposite(enum predicate_operator operator)
{
    static const enum predicate_operator opposites[] = {
        [OPERATOR_EQUAL] = OPERATOR_NOT_EQUAL,    [OPERATOR_NOT_EQUAL] = OPERATOR_EQUAL,
        [OPERATOR_LESS] = OPERATOR_GREATER_EQUAL, [OPERATOR_LESS_EQUAL] = OPERATOR_GREATER,
        [OPERATOR_GREATER] = OPERATOR_LESS_EQUAL, [OPERATOR_GREATER_EQUAL] = OPERATOR_LESS,
    };
    return opposites[operator];
}

/* Are the statistics of a type whose values compare with the literals of the node? Older files may hold narrower ones. */
static bool is_comparable(const struct predicate_node *node, const struct column_stats *stats)
{
    return literal_class_of(node->definition->type) == literal_class_of(stats->type) &&
           (node->definition->type == COLUMN_DECIMAL) == (stats->type == COLUMN_DECIMAL);
}

/* -0.0 and 0.0 are equal but not the same bytes; NaN is not even equal to itself. */
static bool may_contain(const struct predicate_evidence *evidence, const struct predicate_node *node,
                        const struct literal *value)
{
    enum column_type type = node->definition->type;
    float narrow = (float)value->real;
    switch (type) {
    case COLUMN_BOOL:
    case COLUMN_TYPE_COUNT: return true;
    case COLUMN_INT32:
    case COLUMN_DATE:
    case COLUMN_INT64:
    case COLUMN_TIMESTAMP:
    case COLUMN_DECIMAL: /* little-endian: the first bytes are the narrower number */
        return evidence->may_contain(evidence->context, node->definition, &value->integer, column_type_width(type));
    case COLUMN_FLOAT:
        return !(narrow < 0 || narrow > 0) ||
               evidence->may_contain(evidence->context, node->definition, &narrow, sizeof narrow);
    case COLUMN_DOUBLE:
        return !(value->real < 0 || value->real > 0) ||
               evidence->may_contain(evidence->context, node->definition, &value->real, sizeof value->real);
    case COLUMN_STRING:
    case COLUMN_BYTES:
    case COLUMN_JSON:
    case COLUMN_UUID: break;
    }
    return evidence->may_contain(evidence->context, node->definition, value->bytes, value->length);
}

static bool leaf_may_match(const struct predicate_node *node, const struct column_stats *stats,
                           const struct predicate_evidence *evidence)
{
    if (node->kind == PREDICATE_IS_NULL) {
        return node->is_negated ? stats->null_count < evidence->row_count : stats->null_count > 0;
    }
    if (stats->null_count >= evidence->row_count) {
        return false; /* no comparison is true of null */
    }
    bool nan_matters =
        literal_class_of(stats->type) == LITERAL_DOUBLE && (node->is_negated || node->operator== OPERATOR_NOT_EQUAL);
    if (nan_matters || !is_comparable(node, stats) || (node->kind == PREDICATE_IN && node->is_negated)) {
        return true;
    }
    enum predicate_operator operator= node->kind == PREDICATE_IN ? OPERATOR_EQUAL : node->operator;
    operator= node->is_negated ? opposite(operator) : operator;
    bool asks = operator== OPERATOR_EQUAL && evidence->may_contain != NULL && stats->type == node->definition->type;
    for (size_t i = 0; i < node->literal_count; i++) {
        if (may_compare(operator, compare_bounds(stats, &node->literals[i])) &&
            (!asks || may_contain(evidence, node, &node->literals[i]))) {
            return true;
        }
    }
    return false;
}

static bool may_match(const struct predicate_node *node, const struct predicate_evidence *evidence)
{
    if (node->kind == PREDICATE_AND) {
        return may_match(node->left, evidence) && may_match(node->right, evidence);
    }
    if (node->kind == PREDICATE_OR) {
        return may_match(node->left, evidence) || may_match(node->right, evidence);
    }
    const struct column_stats *own = find_stats(node, evidence->stats, evidence->stats_count);
    return own == NULL || leaf_may_match(node, own, evidence);
}

bool predicate_may_match_evidence(const struct predicate *predicate, const struct predicate_evidence *evidence)
{
    return may_match(predicate->root, evidence);
}

bool predicate_may_match(const struct predicate *predicate, const struct column_stats *stats, size_t stats_count,
                         uint64_t row_count)
{
    const struct predicate_evidence evidence = {.stats = stats, .stats_count = stats_count, .row_count = row_count};
    return predicate_may_match_evidence(predicate, &evidence);
}

static const struct schema_column *find_column(const struct predicate_node *node, uint32_t column_id)
{
    if (node->kind == PREDICATE_AND || node->kind == PREDICATE_OR) {
        const struct schema_column *left = find_column(node->left, column_id);
        return left != NULL ? left : find_column(node->right, column_id);
    }
    return node->definition->id == column_id ? node->definition : NULL;
}

const struct schema_column *predicate_column(const struct predicate *predicate, uint32_t column_id)
{
    return find_column(predicate->root, column_id);
}
