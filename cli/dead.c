/* Dead letters: messages that no retry could help. */
#include <string.h>

#include "cli/format.h"
#include "cli/given.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "common/base/text.h"

static const struct cli_column queue_columns[] = {
    {"QUEUE", "queue", CLI_TEXT},
    {"DEAD", "messages", CLI_COUNT},
};
static const struct cli_column letter_columns[] = {
    {"MESSAGE", "message_id", CLI_TEXT}, {"TYPE", "type", CLI_TEXT},     {"DIED AGO", "dead_at", CLI_AGE},
    {"SIZE", "bytes", CLI_SIZE},         {"REASON", "reason", CLI_TEXT},
};

static enum err_code print_items(struct cli *cli, struct buf *path, const struct cli_column *columns, size_t count,
                                 const char *empty, struct error *err)
{
    AUTO(json_free_auto) struct json *answer = NULL;
    struct json *items;

    TRY(cli_get(cli, path, &answer, err));
    TRY(json_get_array(answer, NULL, "items", &items, err));
    if (!cli->json) {
        return cli_print_array(cli, items, columns, count, empty, err);
    }
    for (size_t i = 0; i < json_length(items); i++) {
        TRY(cli_print_json(json_at(items, i), err));
    }
    return OK;
}

static enum err_code run_list(struct cli *cli, struct error *err)
{
    AUTO(buf_done) struct buf path = {0};
    TRY(cli_path(&path, "/api/v1/dead", NULL, "", err));
    return print_items(cli, &path, queue_columns, CLI_LENGTH(queue_columns), "no queues", err);
}

static enum err_code run_show(struct cli *cli, struct error *err)
{
    const char *limit = cli_flag_value(cli->arguments, "--limit");
    AUTO(buf_done) struct buf path = {0};
    TRY(cli_path(&path, "/api/v1/dead/", cli_position(cli, 0), "", err));
    TRY(cli_path_add(&path, "limit", limit, err));
    return print_items(cli, &path, letter_columns, CLI_LENGTH(letter_columns), "no dead letters", err);
}

static enum err_code run_export(struct cli *cli, struct error *err)
{
    AUTO(buf_done) struct buf path = {0};
    TRY(cli_path(&path, "/api/v1/dead/", cli_position(cli, 0), "/export", err));
    return cli_stream(cli, &path, err);
}

/* POST /api/v1/dead/{queue}/<action>; says how many, by the member of that name. */
static enum err_code act(struct cli *cli, const char *action, const struct json *body, const char *member,
                         struct error *err)
{
    AUTO(json_free_auto) struct json *answer = NULL;
    AUTO(buf_done) struct buf path = {0};
    char count[CLI_FORMAT_BYTES];

    TRY(cli_path(&path, "/api/v1/dead/", cli_position(cli, 0), action, err));
    TRY(cli_call(cli, "POST", &path, body, &answer, err));
    if (cli->json) {
        return cli_print_json(answer, err);
    }
    printf("%s messages %s\n", cli_format_count(json_as_i64(json_find(answer, member)), count), member);
    return OK;
}

static enum err_code run_replay(struct cli *cli, struct error *err)
{
    AUTO(json_free_auto) struct json *body = json_new_object();
    int64_t most = 0;

    if (body == NULL) {
        return err_no_memory(err, 0);
    }
    TRY(cli_given_number(cli, "--max", 1, INT64_MAX, &most, err));
    if (most > 0) {
        TRY(json_set_i64(body, "max", most, err));
    }
    return act(cli, "/replay", body, "replayed", err);
}

static enum err_code run_drop(struct cli *cli, struct error *err)
{
    AUTO(json_free_auto) struct json *body = json_new_object();
    const char *queue = cli_position(cli, 0);

    if (!cli_flag_given(cli->arguments, "--yes")) {
        TRY(run_show(cli, err));
        if (!cli->json) {
            printf(
                "these and all others of %s would be gone for ever; this was a dry run; granary dead drop %s --yes\n",
                queue, queue);
        }
        return OK;
    }
    if (body == NULL) {
        return err_no_memory(err, 0);
    }
    TRY(json_set_bool(body, "yes", true, err));
    return act(cli, "/drop", body, "dropped", err);
}

static const struct cli_flag show_flags[] = {CLI_LIMIT_FLAG};
static const struct cli_flag replay_flags[] = {{"--max", "N", "that many at most"}};
static const struct cli_flag drop_flags[] = {CLI_YES_FLAG, CLI_LIMIT_FLAG};

static const struct cli_command commands[] = {
    {
        .name = "dead ls",
        .usage = "",
        .summary = "Lists the work queues with how many dead letters each has.",
        .examples = "  granary dead ls\n",
        .run = run_list,
    },
    {
        .name = "dead show",
        .usage = "QUEUE [--limit N]",
        .summary = "Shows dead letters of a queue, and why they died; they stay there.",
        .examples = "  granary dead show reap\n  granary dead show reap --output json\n",
        .flags = show_flags,
        .flag_count = CLI_LENGTH(show_flags),
        .min_positions = 1,
        .max_positions = 1,
        .run = run_show,
    },
    {
        .name = "dead replay",
        .usage = "QUEUE [--max N]",
        .summary = "Sends dead letters to their work queue again.",
        .examples = "  granary dead replay intake --max 1\n",
        .flags = replay_flags,
        .flag_count = CLI_LENGTH(replay_flags),
        .min_positions = 1,
        .max_positions = 1,
        .run = run_replay,
    },
    {
        .name = "dead export",
        .usage = "QUEUE",
        .summary = "Prints all dead letters whole, as NDJSON, and notes that they were exported.",
        .examples = "  granary dead export intake >intake-dead.ndjson\n",
        .min_positions = 1,
        .max_positions = 1,
        .run = run_export,
    },
    {
        .name = "dead drop",
        .usage = "QUEUE [--yes]",
        .summary = "Throws dead letters away; those of intake only after their export. A dry run until --yes.",
        .examples = "  granary dead drop reap --yes\n",
        .flags = drop_flags,
        .flag_count = CLI_LENGTH(drop_flags),
        .min_positions = 1,
        .max_positions = 1,
        .guarded = true,
        .run = run_drop,
    },
};
const struct cli_group cli_group_dead = {"Dead letters", commands, CLI_LENGTH(commands)};
