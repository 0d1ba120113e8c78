/* The frame of the command line: commands in groups, their flags, settings, exit codes. A group is one file with a table
 * of commands; command.c lists the groups, and makes help and dispatch from them. */
#ifndef GRANARY_CLI_CLI_H
#define GRANARY_CLI_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/arguments.h"
#include "cli/config.h"
#include "common/base/arena.h"
#include "common/base/error.h"

enum cli_exit {
    CLI_DONE = 0,
    CLI_FAILED = 1,
    CLI_PARTIAL = 2, /* done in part, or with findings */
    CLI_REFUSED = 3, /* by a safety rule */
    CLI_USAGE = 64,
    CLI_BAD_CONFIG = 78,
};

struct net_client;

struct cli {
    const struct cli_command *command;
    const struct cli_arguments *arguments;
    struct cli_config config;
    struct arena *arena;       /* lives as long as the process */
    struct net_client *client; /* opened by the first request */
    bool output_closed;        /* whoever read standard output has seen enough */
    bool json;                 /* --output json */
    bool colour;               /* on standard output */
    int exit_code;             /* CLI_DONE unless a command, or the place of a failure, knows better */
};

struct cli_command {
    const char *name;     /* "table create" */
    const char *usage;    /* what stands behind the name: "PROJECT.NAME [--yes]" */
    const char *summary;  /* one sentence */
    const char *examples; /* whole lines, each ending in a newline */
    const struct cli_flag *flags;
    size_t flag_count;
    size_t min_positions, max_positions;
    bool guarded; /* safety rules may refuse it: a conflict is then CLI_REFUSED */
    enum err_code (*run)(struct cli *cli, struct error *err);
};
struct cli_group {
    const char *title;
    const struct cli_command *commands;
    size_t count;
};

/* Runs the command that the arguments name. Returns the exit code; what went wrong stands on stderr by then. */
int cli_main(int argc, char **argv);

/* --- command.c ----------------------------------------------------------------------------------------------------- */
extern const struct cli_group *const cli_groups[];
extern const size_t cli_group_count;
/* The command whose name the words begin with; *out_words is how many of them are its name. NULL: none. */
const struct cli_command *cli_command_find(size_t count, const char *const *words, size_t *out_words);
/* The command whose name is nearest to the words, for "did you mean"; NULL: nothing is near. */
const char *cli_command_nearest(size_t count, const char *const *words);

/* --- help.c -------------------------------------------------------------------------------------------------------- */
void cli_help_print(FILE *out); /* all commands */
/* The commands that begin with that word. False: none. */
bool cli_help_group(const char *first_word, FILE *out);
void cli_help_command(const struct cli_command *command, FILE *out);

/* --- failures ------------------------------------------------------------------------------------------------------ */
/* ERR_INVALID that ends in exit code 64. */
enum err_code cli_usage(struct cli *cli, struct error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));
/* Standard output could not be written, for the reason in errno. A closed pipe is no fault worth a word. */
enum err_code cli_output_failed(struct cli *cli, struct error *err);
/* The text of a failure on stderr: "granary: what", and "hint: ..." on a line of its own. */
void cli_print_error(const char *text);

#endif
