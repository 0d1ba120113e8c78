/* Arguments: positions and flags in any order, "--name value" or "--name=value", "--" ends the flags. */
#ifndef GRANARY_CLI_ARGUMENTS_H
#define GRANARY_CLI_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/error.h"

struct cli_flag {
    const char *name;  /* "--from" */
    const char *value; /* what to call its value in help: "TIME"; NULL: a switch without one */
    const char *help;
};

struct cli_arguments {
    const char **positions;
    size_t position_count;
    struct cli_given_flag {
        const struct cli_flag *flag;
        const char *value; /* "" for a switch */
    } * given;
    size_t given_count;
};

/* The flags that every command knows: --url, --output, ... */
extern const struct cli_flag cli_global_flags[];
extern const size_t cli_global_flag_count;

/* Texts are borrowed from argv, arrays live in the arena. ERR_INVALID: a flag that is not known (with the nearest as a
 * hint), one without its value, or a switch with one. */
MUST_CHECK enum err_code cli_arguments_parse(size_t count, char *const *words, const struct cli_flag *flags,
                                             size_t flag_count, struct arena *arena, struct cli_arguments *out,
                                             struct error *err);

/* The value as given last; NULL when it was not given. */
const char *cli_flag_value(const struct cli_arguments *arguments, const char *name);
bool cli_flag_given(const struct cli_arguments *arguments, const char *name);
/* One value after the other of a flag that may be repeated: start with *position = 0; NULL at the end. */
const char *cli_flag_next(const struct cli_arguments *arguments, const char *name, size_t *position);

#endif
