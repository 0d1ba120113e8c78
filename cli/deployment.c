/* What counts for all tables: default settings, and the switch that stops every deleter. */
#include "cli/format.h"
#include "cli/given.h"
#include "cli/groups.h"
#include "cli/output.h"

static const struct cli_column fields[] = {
    {"deployment", "deployment_id", CLI_TEXT},
    {"created", "created_at", CLI_TIME},
    {"version", "version", CLI_TEXT},
};
static const struct cli_column pause_fields[] = {
    {"since", "at", CLI_TIME},
    {"by", "by", CLI_TEXT},
    {"reason", "reason", CLI_TEXT},
};

static enum err_code print_pause(const struct cli *cli, struct json *answer, struct error *err)
{
    struct json *pause = json_find(answer, "deleting_paused");
    bool paused = pause != NULL && json_kind(pause) == JSON_KIND_OBJECT;
    if (cli->json) {
        return cli_print_json(answer, err);
    }
    printf("%s\n", paused ? "deleting is paused: nothing decays, nothing is reaped" : "deleting goes on");
    return paused ? cli_print_fields(cli, pause, pause_fields, CLI_LENGTH(pause_fields), err) : OK;
}

static enum err_code run_pause(struct cli *cli, struct error *err)
{
    AUTO(json_free_auto) struct json *body = json_new_object();
    AUTO(json_free_auto) struct json *answer = NULL;
    AUTO(buf_done) struct buf path = {0};

    if (body == NULL) {
        return err_no_memory(err, 0);
    }
    TRY(cli_given_reason(cli, body, err));
    TRY(cli_path(&path, "/api/v1/deleting/pause", NULL, "", err));
    TRY(cli_call(cli, "POST", &path, body, &answer, err));
    return print_pause(cli, answer, err);
}

static enum err_code run_resume(struct cli *cli, struct error *err)
{
    AUTO(json_free_auto) struct json *answer = NULL;
    AUTO(buf_done) struct buf path = {0};

    TRY(cli_path(&path, "/api/v1/deleting/resume", NULL, "", err));
    TRY(cli_call(cli, "POST", &path, NULL, &answer, err));
    return print_pause(cli, answer, err);
}

static enum err_code print_deployment(const struct cli *cli, struct json *deployment, struct error *err)
{
    struct json *settings = json_find(deployment, "settings");
    void *iterator = NULL;
    const char *name;
    struct json *value;

    if (cli->json) {
        return cli_print_json(deployment, err);
    }
    TRY(cli_print_fields(cli, deployment, fields, CLI_LENGTH(fields), err));
    while (settings != NULL && json_next(settings, &iterator, &name, &value)) {
        const char *text = json_as_text(value, NULL);
        printf("%s = ", name);
        cli_put_tame(text == NULL ? "-" : text, stdout);
        (void)fputc('\n', stdout);
    }
    return OK;
}

static enum err_code run_show(struct cli *cli, struct error *err)
{
    AUTO(json_free_auto) struct json *deployment = NULL;
    AUTO(buf_done) struct buf path = {0};

    TRY(cli_path(&path, "/api/v1/deployment", NULL, "", err));
    TRY(cli_get(cli, &path, &deployment, err));
    return print_deployment(cli, deployment, err);
}

static enum err_code run_set(struct cli *cli, struct error *err)
{
    AUTO(json_free_auto) struct json *body = json_new_object();
    AUTO(json_free_auto) struct json *answer = NULL;
    AUTO(buf_done) struct buf path = {0};

    if (body == NULL) {
        return err_no_memory(err, 0);
    }
    for (size_t i = 0; i < cli->arguments->position_count; i++) {
        TRY(cli_given_setting(cli, cli_position(cli, i), body, err));
    }
    TRY(cli_path(&path, "/api/v1/deployment/settings", NULL, "", err));
    TRY(cli_call(cli, "PATCH", &path, body, &answer, err));
    return print_deployment(cli, answer, err);
}

static const struct cli_flag reason_flags[] = {CLI_REASON_FLAG};
static const struct cli_command commands[] = {
    {
        .name = "pause deleting",
        .usage = "[--reason TEXT]",
        .summary = "Stops every deleter at once, everywhere.",
        .examples = "  granary pause deleting --reason \"restoring a backup\"\n",
        .flags = reason_flags,
        .flag_count = CLI_LENGTH(reason_flags),
        .run = run_pause,
    },
    {
        .name = "resume deleting",
        .usage = "",
        .summary = "Lets the deleters go on.",
        .examples = "  granary resume deleting\n",
        .run = run_resume,
    },
    {
        .name = "deployment show",
        .usage = "",
        .summary = "Shows the deployment's id and the settings that tables take unless they have their own.",
        .examples = "  granary deployment show\n",
        .run = run_show,
    },
    {
        .name = "deployment set",
        .usage = "NAME=VALUE ...",
        .summary = "Changes what tables take unless they have their own; \"NAME=\" goes back to the built-in default.",
        .examples = "  granary deployment set reaper.max_age=2d merge.small.size=64MiB\n",
        .min_positions = 1,
        .max_positions = 100,
        .run = run_set,
    },
};
const struct cli_group cli_group_deployment = {"Deployment", commands, CLI_LENGTH(commands)};
