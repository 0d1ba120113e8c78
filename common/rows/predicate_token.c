#include "common/rows/predicate_token.h"

#include <ctype.h>
#include <string.h>

static bool is_name_character(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static const char *span_quoted(const char *at, const char *end, char quote, bool *out_doubled)
{
    for (at++; at < end; at++) {
        if (*at == quote && at + 1 < end && at[1] == quote) {
            *out_doubled = true;
            at++;
        } else if (*at == quote) {
            return at + 1;
        }
    }
    return NULL;
}

static struct token quoted_token(const char *at, const char *end)
{
    struct token token = {.kind = *at == '"' ? TOKEN_QUOTED_NAME : TOKEN_TEXT, .start = at, .text = at + 1};
    const char *stop = span_quoted(at, end, *at, &token.has_doubled_quotes);
    if (stop == NULL) {
        return (struct token){.kind = TOKEN_BAD, .start = at, .end = end, .text = at, .length = (size_t)(end - at)};
    }
    token.end = stop;
    token.length = (size_t)(stop - at) - 2;
    return token;
}

struct token predicate_token_next(const char *at, const char *end)
{
    while (at < end && isspace((unsigned char)*at)) {
        at++;
    }
    struct token token = {.kind = TOKEN_END, .start = at, .end = at, .text = at};
    if (at == end) {
        return token;
    }
    if (*at == '\'' || *at == '"') {
        return quoted_token(at, end);
    }
    const char *stop = at + 1;
    if (isdigit((unsigned char)*at) || *at == '-' || *at == '.') {
        token.kind = TOKEN_NUMBER;
        while (stop < end && (is_name_character(*stop) || *stop == '.' ||
                              ((*stop == '-' || *stop == '+') && (stop[-1] | 0x20) == 'e'))) {
            stop++;
        }
    } else if (is_name_character(*at)) {
        token.kind = TOKEN_NAME;
        while (stop < end && is_name_character(*stop)) {
            stop++;
        }
    } else {
        token.kind = strchr("=!<>(),", *at) != NULL ? TOKEN_SIGN : TOKEN_BAD;
        stop += strchr("!<>", *at) != NULL && stop < end && *stop == '=';
    }
    token.end = stop;
    token.length = (size_t)(stop - at);
    return token;
}
