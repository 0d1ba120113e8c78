#include "cli/cli.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "cli/format.h"
#include "common/net/net.h"

static const char hint_mark[] = "; hint: ";

void cli_print_error(const char *text)
{
    char what[ERROR_TEXT_BYTES];
    const char *hint = strstr(text, hint_mark);
    int length = hint == NULL ? (int)strlen(text) : (int)(hint - text);

    (void)fflush(stdout);
    (void)snprintf(what, sizeof what, "%.*s", length, text);
    (void)fputs("granary: ", stderr);
    cli_put_tame(what, stderr); /* texts quote what others sent */
    if (hint != NULL) {
        (void)fputs("\nhint: ", stderr);
        cli_put_tame(hint + strlen(hint_mark), stderr);
    }
    (void)fputc('\n', stderr);
}

enum err_code cli_usage(struct cli *cli, struct error *err, const char *format, ...)
{
    char text[ERROR_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    cli->exit_code = CLI_USAGE;
    return err_set(err, ERR_INVALID, "%s", text);
}

enum err_code cli_output_failed(struct cli *cli, struct error *err)
{
    cli->output_closed = errno == EPIPE;
    return err_set(err, ERR_UNAVAILABLE, "could not write the output: %s", strerror(errno));
}

static enum err_code load_settings(struct cli *cli, struct error *err)
{
    AUTO(buf_done) struct buf faults = {0};
    enum err_code code = config_load(cli_settings, cli_setting_count, &cli->config, cli->arena, &faults, err);
    if (code == OK) {
        return OK;
    }
    cli->exit_code = CLI_BAD_CONFIG;
    while (faults.length_bytes > 0 && faults.data[faults.length_bytes - 1] == '\n') {
        faults.length_bytes--;
    }
    const char *text = buf_text(&faults);
    return faults.length_bytes == 0 || text == NULL ? code : err_set(err, code, "%.*s", ERROR_TEXT_BYTES / 2, text);
}

/* The first line of the file, without its line end. */
static enum err_code read_token(struct cli *cli, const char *path, struct error *err)
{
    char line[4096];
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        cli->exit_code = CLI_BAD_CONFIG;
        return err_set(err, ERR_INVALID, "could not open \"%.256s\": %s", path, strerror(errno));
    }
    const char *got = fgets(line, sizeof line, file);
    (void)fclose(file);
    if (got != NULL) {
        line[strcspn(line, "\r\n")] = '\0';
    }
    cli->config.token = arena_strdup(cli->arena, got == NULL ? "" : line);
    return cli->config.token == NULL ? err_no_memory(err, sizeof line) : OK;
}

static enum err_code apply_flags(struct cli *cli, struct error *err)
{
    const char *url = cli_flag_value(cli->arguments, "--url");
    const char *intake_url = cli_flag_value(cli->arguments, "--intake-url");
    const char *token_file = cli_flag_value(cli->arguments, "--token-file");
    const char *output = cli_flag_value(cli->arguments, "--output");

    cli->config.url = url == NULL ? cli->config.url : url;
    cli->config.intake_url = intake_url == NULL ? cli->config.intake_url : intake_url;
    if (output != NULL && strcmp(output, "table") != 0 && strcmp(output, "json") != 0) {
        return cli_usage(cli, err, "expected --output table or json but found \"%.64s\"", output);
    }
    cli->json = output != NULL && strcmp(output, "json") == 0;
    const char *no_color = getenv("NO_COLOR");
    cli->colour = !cli->json && isatty(STDOUT_FILENO) == 1 && (no_color == NULL || *no_color == '\0') &&
                  !cli_flag_given(cli->arguments, "--no-color");
    return token_file == NULL ? OK : read_token(cli, token_file, err);
}

static enum err_code check_positions(struct cli *cli, struct error *err)
{
    const struct cli_command *command = cli->command;
    size_t count = cli->arguments->position_count;

    if (count < command->min_positions) {
        return cli_usage(cli, err, "expected more behind \"%s\"; hint: granary %s %s", command->name, command->name,
                         command->usage);
    }
    if (count > command->max_positions) {
        return cli_usage(cli, err, "expected nothing more but found \"%.64s\"; hint: granary %s %s",
                         cli->arguments->positions[command->max_positions], command->name, command->usage);
    }
    return OK;
}

static enum err_code run(struct cli *cli, size_t count, char *const *words, struct cli_arguments *arguments,
                         struct error *err)
{
    const struct cli_command *command = cli->command;

    if (cli_arguments_parse(count, words, command->flags, command->flag_count, cli->arena, arguments, err) != OK) {
        return cli_usage(cli, err, "%s", err->text);
    }
    if (cli_flag_given(arguments, "--help")) {
        cli_help_command(command, stdout);
        return OK;
    }
    TRY(check_positions(cli, err));
    TRY(load_settings(cli, err));
    TRY(apply_flags(cli, err));
    TRY(command->run(cli, err));
    if (fflush(stdout) != 0) {
        return cli_output_failed(cli, err);
    }
    return OK;
}

static int refuse_command(int argc, char **argv)
{
    size_t count = (size_t)argc - 1;
    const char *const *words = (const char *const *)(argv + 1);
    char text[ERROR_TEXT_BYTES];
    const char *nearest = cli_command_nearest(count, words);
    const char *hint = nearest != NULL ? "did you mean \"granary " : "\"granary help\" lists them";

    (void)snprintf(text, sizeof text, "expected a command but found \"%.64s\"; hint: %s%s%s", argv[1], hint,
                   nearest != NULL ? nearest : "", nearest != NULL ? "\"?" : "");
    cli_print_error(text);
    return CLI_USAGE;
}

/* "granary help table" and "granary table": what there is under a word. */
static int help_on(size_t count, const char *const *words, FILE *out)
{
    size_t used = 0;
    const struct cli_command *command = count == 0 ? NULL : cli_command_find(count, words, &used);

    if (count == 0) {
        cli_help_print(out);
    } else if (command != NULL) {
        cli_help_command(command, out);
    } else {
        return cli_help_group(words[0], out) ? CLI_DONE : CLI_USAGE;
    }
    return CLI_DONE;
}

static int run_command(const struct cli_command *command, size_t count, char *const *words)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct cli_arguments arguments = {0};
    struct cli cli = {.command = command, .arguments = &arguments, .arena = arena};
    struct error err = {0};

    if (arena == NULL) {
        cli_print_error("could not get memory");
        return CLI_FAILED;
    }
    enum err_code code = run(&cli, count, words, &arguments, &err);
    net_client_close(cli.client);
    if (code != OK && !cli.output_closed) {
        cli_print_error(err.text);
    }
    return code != OK && cli.exit_code == CLI_DONE ? CLI_FAILED : cli.exit_code;
}

int cli_main(int argc, char **argv)
{
    const char *first = argc < 2 ? "" : argv[1];
    const char *const *words = (const char *const *)(argv + 1);
    size_t count = argc < 2 ? 0 : (size_t)argc - 1;
    size_t used = 0;

    (void)signal(SIGPIPE, SIG_IGN); /* a closed connection or pipe is an error of the call */
    if (strcmp(first, "--version") == 0) {
        puts("granary " GRANARY_VERSION);
        return CLI_DONE;
    }
    if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0) {
        cli_help_print(stdout);
        return CLI_DONE;
    }
    if (strcmp(first, "help") == 0) {
        return help_on(count - 1, words + 1, stdout) == CLI_DONE ? CLI_DONE : refuse_command(argc - 1, argv + 1);
    }
    if (count == 0) {
        cli_help_print(stderr);
        return CLI_USAGE;
    }
    const struct cli_command *command = cli_command_find(count, words, &used);
    if (command != NULL) {
        return run_command(command, count - used, argv + 1 + used);
    }
    bool asks = count > 1 && (strcmp(words[1], "--help") == 0 || strcmp(words[1], "-h") == 0);
    if ((count == 1 || asks) && cli_help_group(first, asks ? stdout : stderr)) {
        return asks ? CLI_DONE : CLI_USAGE;
    }
    return refuse_command(argc, argv);
}
