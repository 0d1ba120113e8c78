/* Evaluation, node by node over the whole batch: plain loops over arrays, which the compiler makes wide. */
#include "common/rows/predicate_internal.h"

/* The loop of one operator over values of one type. */
#define LOOP_(operation)                                         \
    for (uint32_t i = 0; i < count; i++) {                       \
        out[i] = (uint8_t)((values[i] operation wanted) ^ flip); \
    }                                                            \
    break;

#define DEFINE_COMPARE_(name, ctype, literal_type)                                                    \
    static void compare_##name(const ctype *values, uint32_t count, enum predicate_operator operator, \
                               literal_type wanted, bool flip, uint8_t *out)                          \
    {                                                                                                 \
        switch (operator) {                                                                           \
        case OPERATOR_EQUAL: LOOP_(==)                                                                \
        case OPERATOR_NOT_EQUAL: LOOP_(!=)                                                            \
        case OPERATOR_LESS: LOOP_(<)                                                                  \
        case OPERATOR_LESS_EQUAL: LOOP_(<=)                                                           \
        case OPERATOR_GREATER: LOOP_(>)                                                               \
        case OPERATOR_GREATER_EQUAL: LOOP_(>=)                                                        \
        }                                                                                             \
    }
DEFINE_COMPARE_(u8, uint8_t, int64_t)
DEFINE_COMPARE_(i32, int32_t, int64_t)
DEFINE_COMPARE_(i64, int64_t, int64_t)
DEFINE_COMPARE_(f32, float, double)
DEFINE_COMPARE_(f64, double, double)

static void compare_bytes(const struct column *column, uint32_t count, enum predicate_operator operator,
                          const struct literal * wanted, bool flip, uint8_t *out)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t length = sizeof(struct uuid);
        const uint8_t *value =
            column->type == COLUMN_UUID ? column->values.uuid[i].bytes : column_variable(column, i, &length);
        bool differs = operator<= OPERATOR_NOT_EQUAL && length != wanted->length;
        int order = differs ? 1 : bytes_compare(value, length, wanted->bytes, wanted->length);
        out[i] = (uint8_t)(operator_accepts(operator, order) ^ flip);
    }
}

static void compare(const struct column *column, uint32_t count, enum predicate_operator operator,
                    const struct literal * wanted, bool flip, uint8_t *out)
{
    switch (column->type) {
    case COLUMN_BOOL: compare_u8(column->values.u8, count, operator, wanted->integer, flip, out); break;
    case COLUMN_INT32:
    case COLUMN_DATE: compare_i32(column->values.i32, count, operator, wanted->integer, flip, out); break;
    case COLUMN_INT64:
    case COLUMN_TIMESTAMP:
    case COLUMN_DECIMAL: compare_i64(column->values.i64, count, operator, wanted->integer, flip, out); break;
    case COLUMN_FLOAT: compare_f32(column->values.f32, count, operator, wanted->real, flip, out); break;
    case COLUMN_DOUBLE: compare_f64(column->values.f64, count, operator, wanted->real, flip, out); break;
    case COLUMN_STRING:
    case COLUMN_BYTES:
    case COLUMN_JSON:
    case COLUMN_UUID: compare_bytes(column, count, operator, wanted, flip, out); break;
    case COLUMN_TYPE_COUNT: break;
    }
}

static enum err_code compare_any(const struct predicate_node *node, const struct column *column, uint32_t count,
                                 uint8_t *out, struct error *err)
{
    AUTO(free_auto) uint8_t *one = malloc(count);
    if (one == NULL) {
        return err_no_memory(err, count);
    }
    memset(out, 0, count);
    for (size_t n = 0; n < node->literal_count; n++) {
        compare(column, count, OPERATOR_EQUAL, &node->literals[n], false, one);
        for (uint32_t i = 0; i < count; i++) {
            out[i] |= one[i];
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        out[i] ^= (uint8_t)node->is_negated;
    }
    return OK;
}

static void clear_nulls(const struct column *column, uint32_t count, uint8_t *out)
{
    for (uint32_t i = 0; column->valid != NULL && i < count; i++) {
        out[i] &= bitmap_get(column->valid, i);
    }
}

/* Values of another type are compared alike where one widens to the other (int32 and int64, float and double). */
static enum err_code check_type(const struct predicate_node *node, const struct schema_column *found, struct error *err)
{
    const struct schema_column *wanted = node->definition;
    bool both_integers = (wanted->type == COLUMN_INT32 || wanted->type == COLUMN_INT64) &&
                         (found->type == COLUMN_INT32 || found->type == COLUMN_INT64);
    bool both_reals =
        literal_class_of(wanted->type) == LITERAL_DOUBLE && literal_class_of(found->type) == LITERAL_DOUBLE;
    bool same = wanted->type == found->type && (wanted->type != COLUMN_DECIMAL || wanted->scale == found->scale);
    if (same || both_integers || both_reals) {
        return OK;
    }
    char wanted_text[COLUMN_TYPE_TEXT_BYTES];
    char found_text[COLUMN_TYPE_TEXT_BYTES];
    return err_set(err, ERR_INVALID, "expected column \"%s\" to be comparable as %s but found %s", wanted->name,
                   column_type_format(wanted, wanted_text), column_type_format(found, found_text));
}

static enum err_code evaluate_leaf(const struct predicate_node *node, const struct batch *batch, uint8_t *out,
                                   struct error *err)
{
    uint32_t count = batch->row_count;
    int index = schema_find_id(batch->schema, node->definition->id);
    if (index < 0) { /* null in every row */
        memset(out, node->kind == PREDICATE_IS_NULL && !node->is_negated, count);
        return OK;
    }
    const struct column *column = &batch->columns[index];
    if (node->kind == PREDICATE_IS_NULL) {
        for (uint32_t i = 0; i < count; i++) {
            out[i] = (uint8_t)(column_is_null(column, i) ^ node->is_negated);
        }
        return OK;
    }
    TRY(check_type(node, &batch->schema->columns[index], err));
    if (node->kind == PREDICATE_IN) {
        TRY(compare_any(node, column, count, out, err));
    } else {
        compare(column, count, node->operator, node->literals, node->is_negated, out);
    }
    clear_nulls(column, count, out);
    return OK;
}

static enum err_code evaluate(const struct predicate_node *node, const struct batch *batch, uint8_t *out,
                              struct error *err)
{
    if (node->kind != PREDICATE_AND && node->kind != PREDICATE_OR) {
        return evaluate_leaf(node, batch, out, err);
    }
    uint32_t count = batch->row_count;
    TRY(evaluate(node->left, batch, out, err));
    AUTO(free_auto) uint8_t *right = malloc(count);
    if (right == NULL) {
        return err_no_memory(err, count);
    }
    TRY(evaluate(node->right, batch, right, err));
    if (node->kind == PREDICATE_AND) {
        for (uint32_t i = 0; i < count; i++) {
            out[i] &= right[i];
        }
    } else {
        for (uint32_t i = 0; i < count; i++) {
            out[i] |= right[i];
        }
    }
    return OK;
}

enum err_code predicate_evaluate(const struct predicate *predicate, const struct batch *batch, uint8_t *selected,
                                 struct error *err)
{
    return batch->row_count == 0 ? OK : evaluate(predicate->root, batch, selected, err);
}
