#include <string.h>

#include "cli/cli.h"

enum { NAME_COLUMN = 18, FLAG_COLUMN = 26 };

static const char intro[] =
    "Usage: granary COMMAND [ARGUMENTS] [FLAGS]\n"
    "\n"
    "Keeps time-stamped tables as immutable partitions, and runs their whole life.\n"
    "A TABLE is PROJECT.NAME or an id; times are RFC 3339, as 2026-11-30 or 2026-11-30T12:00:00Z.\n";
static const char exit_codes[] =
    "\nExit codes: 0 done, 1 failed, 2 done in part or with findings, 3 refused by a safety rule, 64 usage,\n"
    "78 bad configuration. What deletes or hides data is a dry run until --yes.\n"
    "\n\"granary COMMAND --help\" tells more, with examples.\n";

static void print_flags(const struct cli_flag *flags, size_t count, FILE *out)
{
    for (size_t i = 0; i < count; i++) {
        int length = fprintf(out, "  %s%s%s", flags[i].name, flags[i].value == NULL ? "" : " ",
                             flags[i].value == NULL ? "" : flags[i].value);
        fprintf(out, "%*s  %s\n", length < FLAG_COLUMN ? FLAG_COLUMN - length : 0, "", flags[i].help);
    }
}

static bool begins_with_word(const char *name, const char *word)
{
    size_t length = strlen(word);
    return strncmp(name, word, length) == 0 && (name[length] == ' ' || name[length] == '\0');
}

static void print_line(const struct cli_command *command, FILE *out)
{
    fprintf(out, "  %-*s  %s\n", NAME_COLUMN, command->name, command->summary);
}

void cli_help_print(FILE *out)
{
    fputs(intro, out);
    for (size_t i = 0; i < cli_group_count; i++) {
        fprintf(out, "\n%s\n", cli_groups[i]->title);
        for (size_t j = 0; j < cli_groups[i]->count; j++) {
            print_line(&cli_groups[i]->commands[j], out);
        }
    }
    fprintf(out, "\nFlags of every command\n");
    print_flags(cli_global_flags, cli_global_flag_count, out);
    fprintf(out, "\nSettings, from the environment\n");
    config_print_help(cli_settings, cli_setting_count, out);
    fputs(exit_codes, out);
}

bool cli_help_group(const char *first_word, FILE *out)
{
    bool found = false;
    for (size_t i = 0; i < cli_group_count; i++) {
        for (size_t j = 0; j < cli_groups[i]->count; j++) {
            if (begins_with_word(cli_groups[i]->commands[j].name, first_word)) {
                print_line(&cli_groups[i]->commands[j], out);
                found = true;
            }
        }
    }
    return found;
}

void cli_help_command(const struct cli_command *command, FILE *out)
{
    fprintf(out, "Usage: granary %s%s%s\n\n%s\n", command->name, *command->usage == '\0' ? "" : " ", command->usage,
            command->summary);
    if (command->flag_count > 0) {
        fprintf(out, "\nFlags\n");
        print_flags(command->flags, command->flag_count, out);
    }
    fprintf(out, "\nFlags of every command\n");
    print_flags(cli_global_flags, cli_global_flag_count, out);
    fprintf(out, "\nExamples\n%s", command->examples);
}
