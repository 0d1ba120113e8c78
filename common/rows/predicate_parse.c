/* Recursive descent:
 *
 *   or      = and { "or" and }
 *   and     = factor { "and" factor }
 *   factor  = "not" factor | "(" or ")" | column test
 *   test    = operator literal | "is" ["not"] "null" | ["not"] "in" "(" literal { "," literal } ")"
 *
 * Words are told from names without regard to case; a column whose name is a word stands in double quotes. */
#include "common/rows/predicate_literal.h"
#include "common/rows/predicate_token.h"

enum { MAX_TEXT_BYTES = 64 << 10, MAX_NODES = 1000, MAX_DEPTH = 64, SHOWN_BYTES = 32 };

struct parser {
    const struct schema *schema;
    struct arena *arena;
    const char *text; /* with a NUL behind it */
    const char *end;
    struct token token; /* the one to look at */
    size_t node_count;
    unsigned depth;
    struct error *err;
};

/* --- tokens ------------------------------------------------------------------------------------------------------ */

static void advance(struct parser *parser)
{
    parser->token = predicate_token_next(parser->token.end, parser->end);
}

static bool token_is(const struct parser *parser, const char *word)
{
    const struct token *token = &parser->token;
    return (token->kind == TOKEN_NAME || token->kind == TOKEN_SIGN) && token->length == strlen(word) &&
           strncasecmp(token->text, word, token->length) == 0;
}

static bool take(struct parser *parser, const char *word)
{
    bool is_there = token_is(parser, word);
    if (is_there) {
        advance(parser);
    }
    return is_there;
}

static enum err_code unexpected(const struct parser *parser, const char *expected)
{
    const struct token *token = &parser->token;
    size_t length = (size_t)(token->end - token->start);
    size_t at = (size_t)(token->start - parser->text) + 1;
    if (token->kind == TOKEN_END) {
        return err_set(parser->err, ERR_INVALID, "expected %s at character %zu but found the end", expected, at);
    }
    return err_set(parser->err, ERR_INVALID, "expected %s at character %zu but found \"%.*s\"", expected, at,
                   (int)(length < SHOWN_BYTES ? length : SHOWN_BYTES), token->start);
}

/* --- nodes ------------------------------------------------------------------------------------------------------- */

static enum err_code count_node(struct parser *parser)
{
    return ++parser->node_count <= MAX_NODES
               ? OK
               : err_set(parser->err, ERR_INVALID, "expected at most %d comparisons and values in a predicate",
                         MAX_NODES);
}

static enum err_code new_node(struct parser *parser, const struct predicate_node *from,
                              const struct predicate_node **out)
{
    TRY(count_node(parser));
    struct predicate_node *node = arena_alloc(parser->arena, sizeof *node);
    if (node == NULL) {
        return err_no_memory(parser->err, sizeof *node);
    }
    *node = *from;
    *out = node;
    return OK;
}

static enum err_code parse_or(struct parser *parser, bool is_negated, const struct predicate_node **out);

static enum err_code copy_definition(struct parser *parser, uint32_t column, const struct schema_column **out)
{
    struct schema_column *copy = arena_alloc(parser->arena, sizeof *copy);
    if (copy == NULL) {
        return err_no_memory(parser->err, sizeof *copy);
    }
    *copy = parser->schema->columns[column];
    copy->name = arena_strdup(parser->arena, copy->name);
    copy->format = NULL; /* of what comes in; a predicate is written in the default form */
    if (copy->name == NULL) {
        return err_no_memory(parser->err, sizeof *copy);
    }
    *out = copy;
    return OK;
}

static enum err_code parse_column(struct parser *parser, struct predicate_node *node)
{
    const struct token *token = &parser->token;
    if (token->kind != TOKEN_NAME && token->kind != TOKEN_QUOTED_NAME) {
        return unexpected(parser, "a column");
    }
    int column = schema_find(parser->schema, token->text, token->length);
    if (column < 0) {
        return unexpected(parser, "a column of the table");
    }
    node->column = (uint32_t)column;
    TRY(copy_definition(parser, node->column, &node->definition));
    advance(parser);
    return OK;
}

/* The text of a literal, as it counts. */
static enum err_code literal_text(struct parser *parser, struct literal_text *out)
{
    const struct token *token = &parser->token;
    *out = (struct literal_text){.text = token->text, .length = token->length, .is_quoted = token->kind == TOKEN_TEXT};
    if (token->kind != TOKEN_TEXT || !token->has_doubled_quotes) {
        return OK;
    }
    char *copy = arena_alloc(parser->arena, token->length + 1);
    if (copy == NULL) {
        return err_no_memory(parser->err, token->length);
    }
    size_t length = 0;
    for (size_t i = 0; i < token->length; i++) {
        copy[length++] = token->text[i];
        i += token->text[i] == '\'';
    }
    copy[length] = '\0';
    out->text = copy;
    out->length = length;
    return OK;
}

/* Literals borrow from the text unless copied: the parser's text lives in the arena. */
static enum err_code parse_literal(struct parser *parser, const struct schema_column *column, struct literal *out)
{
    enum token_kind kind = parser->token.kind;
    struct literal_text text;
    if (kind != TOKEN_TEXT && kind != TOKEN_NUMBER && kind != TOKEN_NAME) {
        return unexpected(parser, "a value");
    }
    TRY(count_node(parser));
    TRY(literal_text(parser, &text));
    TRY(predicate_literal_parse(column, &text, parser->arena, out, parser->err));
    advance(parser);
    return OK;
}

/* --- tests of a column ------------------------------------------------------------------------------------------- */

static enum err_code parse_null_test(struct parser *parser, struct predicate_node *node)
{
    node->kind = PREDICATE_IS_NULL;
    node->is_negated ^= take(parser, "not");
    return take(parser, "null") ? OK : unexpected(parser, "\"null\"");
}

static enum err_code parse_list(struct parser *parser, struct predicate_node *node)
{
    AUTO(buf_done) struct buf list = {0};
    node->kind = PREDICATE_IN;
    if (!take(parser, "(")) {
        return unexpected(parser, "\"(\"");
    }
    do {
        struct literal literal = {0};
        TRY(parse_literal(parser, node->definition, &literal));
        TRY(buf_append(&list, &literal, sizeof literal, parser->err));
    } while (take(parser, ","));
    if (!take(parser, ")")) {
        return unexpected(parser, "\",\" or \")\"");
    }
    struct literal *literals = arena_alloc(parser->arena, list.length_bytes);
    if (literals == NULL) {
        return err_no_memory(parser->err, list.length_bytes);
    }
    memcpy(literals, list.data, list.length_bytes);
    node->literals = literals;
    node->literal_count = list.length_bytes / sizeof *literals;
    return OK;
}

static enum err_code parse_comparison(struct parser *parser, struct predicate_node *node)
{
    static const struct {
        const char *sign;
        enum predicate_operator operator;
    } operators[] = {{"=", OPERATOR_EQUAL}, {"!=", OPERATOR_NOT_EQUAL},     {"<=", OPERATOR_LESS_EQUAL},
                     {"<", OPERATOR_LESS},  {">=", OPERATOR_GREATER_EQUAL}, {">", OPERATOR_GREATER}};
    size_t i = 0;
    while (i < sizeof operators / sizeof operators[0] && !take(parser, operators[i].sign)) {
        i++;
    }
    if (i == sizeof operators / sizeof operators[0]) {
        return unexpected(parser, "an operator (= != < <= > >=), \"is\" or \"in\"");
    }
    struct literal *literal = arena_zalloc(parser->arena, 1, sizeof *literal);
    if (literal == NULL) {
        return err_no_memory(parser->err, sizeof *literal);
    }
    node->kind = PREDICATE_COMPARE;
    node->operator= operators[i].operator;
    node->literals = literal;
    node->literal_count = 1;
    return parse_literal(parser, node->definition, literal);
}

static enum err_code parse_test(struct parser *parser, bool is_negated, const struct predicate_node **out)
{
    struct predicate_node node = {.is_negated = is_negated};
    TRY(parse_column(parser, &node));
    if (take(parser, "is")) {
        TRY(parse_null_test(parser, &node));
    } else if (take(parser, "not")) {
        node.is_negated = !node.is_negated;
        if (!take(parser, "in")) {
            return unexpected(parser, "\"in\"");
        }
        TRY(parse_list(parser, &node));
    } else if (take(parser, "in")) {
        TRY(parse_list(parser, &node));
    } else {
        TRY(parse_comparison(parser, &node));
    }
    return new_node(parser, &node, out);
}

/* --- and, or, not ------------------------------------------------------------------------------------------------ */

static enum err_code parse_nested(struct parser *parser, bool is_negated, const struct predicate_node **out)
{
    TRY(parse_or(parser, is_negated, out));
    return take(parser, ")") ? OK : unexpected(parser, "\"and\", \"or\" or \")\"");
}

static enum err_code parse_factor(struct parser *parser, bool is_negated, const struct predicate_node **out)
{
    enum err_code code;
    if (parser->depth == MAX_DEPTH) {
        return err_set(parser->err, ERR_INVALID, "expected at most %d levels of parentheses and \"not\"", MAX_DEPTH);
    }
    parser->depth++;
    if (take(parser, "not")) {
        code = parse_factor(parser, !is_negated, out);
    } else if (take(parser, "(")) {
        code = parse_nested(parser, is_negated, out);
    } else {
        code = parse_test(parser, is_negated, out);
    }
    parser->depth--;
    return code;
}

typedef enum err_code parse_function(struct parser *parser, bool is_negated, const struct predicate_node **out);

/* part { word part }, joined by nodes of a kind. */
static enum err_code parse_chain(struct parser *parser, bool is_negated, parse_function *part, const char *word,
                                 enum predicate_kind kind, const struct predicate_node **out)
{
    TRY(part(parser, is_negated, out));
    while (take(parser, word)) {
        struct predicate_node node = {.kind = kind, .left = *out};
        TRY(part(parser, is_negated, &node.right));
        TRY(new_node(parser, &node, out));
    }
    return OK;
}

static enum err_code parse_and(struct parser *parser, bool is_negated, const struct predicate_node **out)
{
    return parse_chain(parser, is_negated, parse_factor, "and", is_negated ? PREDICATE_OR : PREDICATE_AND, out);
}

static enum err_code parse_or(struct parser *parser, bool is_negated, const struct predicate_node **out)
{
    return parse_chain(parser, is_negated, parse_and, "or", is_negated ? PREDICATE_AND : PREDICATE_OR, out);
}

enum err_code predicate_parse(const char *text, size_t length, const struct schema *schema, struct predicate **out,
                              struct error *err)
{
    if (length > MAX_TEXT_BYTES) {
        return err_set(err, ERR_INVALID, "expected a predicate of at most %d bytes but found %zu", MAX_TEXT_BYTES,
                       length);
    }
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct predicate *predicate = arena == NULL ? NULL : arena_zalloc(arena, 1, sizeof *predicate);
    const char *copy = predicate == NULL ? NULL : arena_strndup(arena, text, length);
    if (copy == NULL) {
        return err_no_memory(err, length);
    }
    struct parser parser = {.schema = schema, .arena = arena, .text = copy, .end = copy + length, .err = err};
    parser.token = predicate_token_next(copy, parser.end);
    TRY(parse_or(&parser, false, &predicate->root));
    if (parser.token.kind != TOKEN_END) {
        return unexpected(&parser, "\"and\", \"or\" or the end");
    }
    predicate->arena = TAKE(arena);
    *out = predicate;
    return OK;
}

void predicate_free(struct predicate *predicate)
{
    if (predicate != NULL) {
        arena_free(predicate->arena);
    }
}

static void mark_columns(const struct predicate_node *node, bool *needed)
{
    if (node->kind == PREDICATE_AND || node->kind == PREDICATE_OR) {
        mark_columns(node->left, needed);
        mark_columns(node->right, needed);
    } else {
        needed[node->column] = true;
    }
}

void predicate_columns(const struct predicate *predicate, bool *needed)
{
    mark_columns(predicate->root, needed);
}
