#include "cli/arguments.h"

#include <string.h>

#include "common/base/text.h"

enum { NEAR_LETTERS = 3 };

const struct cli_flag cli_global_flags[] = {
    {"--url", "URL", "address of the admin service (GRANARY_URL)"},
    {"--intake-url", "URL", "address of intake (GRANARY_INTAKE_URL)"},
    {"--token-file", "FILE", "file with the bearer token (GRANARY_TOKEN_FILE)"},
    {"--output", "table|json", "table for people, json for programs"},
    {"--no-color", NULL, "no colours, as does NO_COLOR"},
    {"--help", NULL, "this text"},
};
const size_t cli_global_flag_count = sizeof cli_global_flags / sizeof *cli_global_flags;

static const struct cli_flag *find_in(const struct cli_flag *flags, size_t count, const char *name, size_t length)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(flags[i].name) == length && memcmp(flags[i].name, name, length) == 0) {
            return &flags[i];
        }
    }
    return NULL;
}

static const char *nearest(const struct cli_flag *flags, size_t count, const char *name, size_t *distance)
{
    const char *best = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t found = text_distance(flags[i].name, name);
        if (found < *distance) {
            *distance = found;
            best = flags[i].name;
        }
    }
    return best;
}

static enum err_code refuse_unknown(const struct cli_flag *flags, size_t flag_count, const char *word,
                                    struct error *err)
{
    size_t distance = NEAR_LETTERS;
    const char *own = nearest(flags, flag_count, word, &distance);
    const char *global = nearest(cli_global_flags, cli_global_flag_count, word, &distance);
    const char *best = global != NULL ? global : own;

    if (best == NULL) {
        return err_set(err, ERR_INVALID, "expected a flag of this command but found \"%.64s\"", word);
    }
    return err_set(err, ERR_INVALID, "expected a flag of this command but found \"%.64s\"; hint: did you mean %s?",
                   word, best);
}

static enum err_code take_flag(size_t count, char *const *words, size_t *at, const struct cli_flag *flags,
                               size_t flag_count, struct cli_given_flag *out, struct error *err)
{
    const char *word = words[*at];
    size_t length = strcspn(word, "=");
    const struct cli_flag *flag = find_in(flags, flag_count, word, length);

    if (flag == NULL) {
        flag = find_in(cli_global_flags, cli_global_flag_count, word, length);
    }
    if (flag == NULL) {
        return refuse_unknown(flags, flag_count, word, err);
    }
    const char *value = "";
    if (word[length] == '=') {
        if (flag->value == NULL) {
            return err_set(err, ERR_INVALID, "expected %s without a value but found \"%.64s\"", flag->name, word);
        }
        value = word + length + 1;
    } else if (flag->value != NULL) {
        if (*at + 1 >= count) {
            return err_set(err, ERR_INVALID, "expected %s behind %s but found nothing", flag->value, flag->name);
        }
        value = words[++*at];
    }
    *out = (struct cli_given_flag){.flag = flag, .value = value};
    return OK;
}

enum err_code cli_arguments_parse(size_t count, char *const *words, const struct cli_flag *flags, size_t flag_count,
                                  struct arena *arena, struct cli_arguments *out, struct error *err)
{
    struct cli_arguments arguments = {
        .positions = arena_zalloc(arena, count + 1, sizeof *arguments.positions),
        .given = arena_zalloc(arena, count + 1, sizeof *arguments.given),
    };
    if (arguments.positions == NULL || arguments.given == NULL) {
        return err_no_memory(err, (count + 1) * sizeof *arguments.given);
    }
    bool flags_end = false;
    for (size_t i = 0; i < count; i++) {
        if (flags_end || words[i][0] != '-' || words[i][1] == '\0') { /* "-" is standard input */
            arguments.positions[arguments.position_count++] = words[i];
        } else if (strcmp(words[i], "--") == 0) {
            flags_end = true;
        } else if (strcmp(words[i], "-h") == 0) {
            const struct cli_flag *help = find_in(cli_global_flags, cli_global_flag_count, "--help", strlen("--help"));
            arguments.given[arguments.given_count++] = (struct cli_given_flag){.flag = help, .value = ""};
        } else {
            TRY(take_flag(count, words, &i, flags, flag_count, &arguments.given[arguments.given_count], err));
            arguments.given_count++;
        }
    }
    *out = arguments;
    return OK;
}

const char *cli_flag_next(const struct cli_arguments *arguments, const char *name, size_t *position)
{
    while (*position < arguments->given_count) {
        const struct cli_given_flag *given = &arguments->given[(*position)++];
        if (strcmp(given->flag->name, name) == 0) {
            return given->value;
        }
    }
    return NULL;
}

const char *cli_flag_value(const struct cli_arguments *arguments, const char *name)
{
    const char *last = NULL;
    const char *value;
    for (size_t position = 0; (value = cli_flag_next(arguments, name, &position)) != NULL;) {
        last = value;
    }
    return last;
}

bool cli_flag_given(const struct cli_arguments *arguments, const char *name)
{
    return cli_flag_value(arguments, name) != NULL;
}
