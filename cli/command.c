#include <string.h>

#include "cli/cli.h"
#include "cli/groups.h"
#include "common/base/text.h"

/* clang-format off */
const struct cli_group *const cli_groups[] = {
    &cli_group_status,
    &cli_group_tables,
    &cli_group_load,
    &cli_group_read,
    &cli_group_partitions,
    &cli_group_explain,
    &cli_group_retention,
    &cli_group_store,
    &cli_group_storages,
    &cli_group_holds,
    &cli_group_history,
    &cli_group_dead,
    &cli_group_deployment,
    &cli_group_catalog,
};
/* clang-format on */
const size_t cli_group_count = sizeof cli_groups / sizeof cli_groups[0];

enum { MOST_WORDS = 2, NEAR_LETTERS = 4, NAME_BYTES = 64 };

/* "table create" of the words "table", "create", ...; cut where it is too long to be a name. */
static void join(size_t count, const char *const *words, char out[NAME_BYTES])
{
    (void)snprintf(out, NAME_BYTES, "%s%s%s", words[0], count > 1 ? " " : "", count > 1 ? words[1] : "");
}

static const struct cli_command *find_exactly(const char *name)
{
    for (size_t i = 0; i < cli_group_count; i++) {
        for (size_t j = 0; j < cli_groups[i]->count; j++) {
            if (strcmp(cli_groups[i]->commands[j].name, name) == 0) {
                return &cli_groups[i]->commands[j];
            }
        }
    }
    return NULL;
}

const struct cli_command *cli_command_find(size_t count, const char *const *words, size_t *out_words)
{
    for (size_t length = count < MOST_WORDS ? count : MOST_WORDS; length > 0; length--) {
        char name[NAME_BYTES];
        join(length, words, name);
        const struct cli_command *command = find_exactly(name);
        if (command != NULL) {
            *out_words = length;
            return command;
        }
    }
    return NULL;
}

/* Compares as many words as the command's name has. */
static size_t distance(const char *name, size_t count, const char *const *words)
{
    char given[NAME_BYTES];
    join(strchr(name, ' ') == NULL || count < MOST_WORDS ? 1 : MOST_WORDS, words, given);
    return text_distance(name, given);
}

const char *cli_command_nearest(size_t count, const char *const *words)
{
    const char *best = NULL;
    size_t least = NEAR_LETTERS;
    for (size_t i = 0; i < cli_group_count; i++) {
        for (size_t j = 0; j < cli_groups[i]->count; j++) {
            const char *name = cli_groups[i]->commands[j].name;
            size_t found = distance(name, count, words);
            bool more_words = found == least && best != NULL && strlen(name) > strlen(best);
            if ((found < least || more_words) && found < strlen(name)) {
                least = found;
                best = name;
            }
        }
    }
    return best;
}
