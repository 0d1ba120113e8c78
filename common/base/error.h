/* Errors are values: a code that says what the caller can do, and a text that says what happened.
 *
 * A function that can fail returns enum err_code and takes `struct error *err` last. On failure the text is set in
 * the same statement (`return err_set(err, ...)`) and outputs are untouched. Texts are lower case, say "expected X
 * but found Y" with values in quotes, and end in "; hint: ..." where one helps. */
#ifndef GRANARY_BASE_ERROR_H
#define GRANARY_BASE_ERROR_H

#include <stddef.h>

#define MUST_CHECK __attribute__((warn_unused_result))

enum err_code {
    OK = 0,
    ERR_NO_MEMORY,   /* an allocation failed, or a memory bound was reached */
    ERR_INVALID,     /* the input is wrong: trying again cannot help */
    ERR_NOT_FOUND,   /* the thing named does not exist */
    ERR_CONFLICT,    /* the state is not the one that was expected; somebody else was first */
    ERR_TIMEOUT,     /* the deadline passed; trying again may help */
    ERR_UNAVAILABLE, /* a dependency is down or refuses work for now; trying again later helps */
    ERR_CORRUPT,     /* stored data contradict themselves */
    ERR_DENIED,      /* not allowed: credentials, rights, or a safety rule */
    ERR_STOPPED,     /* the process is shutting down */
    ERR_UNKNOWN,     /* a commit was lost on the way: it may have landed, or not */
    ERR_COUNT
};

enum { ERROR_TEXT_BYTES = 768 };

struct error {
    enum err_code code;
    char text[ERROR_TEXT_BYTES]; /* valid UTF-8 is not promised: it may quote hostile input */
};

/* Sets code and text and returns code. err may be NULL. A text too long is cut with "...". */
enum err_code err_set(struct error *err, enum err_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));

/* Puts "format: " before the text that err already has; the code stays. Returns the code. */
enum err_code err_wrap(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3), cold));

/* ERR_NO_MEMORY with a constant text that names the size. Returns the code. */
enum err_code err_no_memory(struct error *err, size_t bytes) __attribute__((cold));

/* "invalid", "not_found", ...: stable names for logs, metrics and JSON. Never NULL. */
const char *err_code_name(enum err_code code);

/* Returns from the calling function unless the expression is OK. */
#define TRY(expression)                         \
    do {                                        \
        enum err_code try_code_ = (expression); \
        if (try_code_ != OK) {                  \
            return try_code_;                   \
        }                                       \
    } while (0)

#endif
