/* Words, names, signs and literals of the text of a predicate. */
#ifndef GRANARY_ROWS_PREDICATE_TOKEN_H
#define GRANARY_ROWS_PREDICATE_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

enum token_kind { TOKEN_END, TOKEN_NAME, TOKEN_QUOTED_NAME, TOKEN_TEXT, TOKEN_NUMBER, TOKEN_SIGN, TOKEN_BAD };

struct token {
    enum token_kind kind;
    const char *start, *end; /* in the text, with its quotes */
    const char *text;        /* without quotes; doubled ones inside are still double */
    size_t length;
    bool has_doubled_quotes;
};

/* The first token in [at, end); TOKEN_END when there is nothing but space. *end must be readable. */
struct token predicate_token_next(const char *at, const char *end);

#endif
