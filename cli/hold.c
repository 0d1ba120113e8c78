/* Legal holds: nothing under one decays or is reaped. */
#include <string.h>

#include "cli/given.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "common/base/uuid.h"

static const struct cli_column columns[] = {
    {"HOLD", "hold_id", CLI_TEXT},
    {"TABLE", "table", CLI_TEXT},
    {"PARTITION", "partition_id", CLI_TEXT},
    {"FROM", "min", CLI_TIME},
    {"TO", "max", CLI_TIME},
    {"SINCE", "placed_at", CLI_TIME},
    {"BY", "placed_by", CLI_TEXT},
    {"RELEASED", "released_at", CLI_TIME},
    {"REASON", "reason", CLI_TEXT},
};
static const struct cli_column fields[] = {
    {"hold", "hold_id", CLI_TEXT},
    {"table", "table", CLI_TEXT},
    {"partition", "partition_id", CLI_TEXT},
    {"from", "min", CLI_TIME},
    {"to", "max", CLI_TIME},
    {"reason", "reason", CLI_TEXT},
    {"placed", "placed_at", CLI_TIME},
    {"placed by", "placed_by", CLI_TEXT},
    {"released", "released_at", CLI_TIME},
    {"released by", "released_by", CLI_TEXT},
    {"claimed by reapers", "claimed", CLI_COUNT},
};

static enum err_code print_hold(const struct cli *cli, struct json *hold, struct error *err)
{
    return cli->json ? cli_print_json(hold, err) : cli_print_fields(cli, hold, fields, CLI_LENGTH(fields), err);
}

/* An id may be a partition's or a table's: a partition names its table. */
static enum err_code put_subject(struct cli *cli, const char *name, struct json *body, struct error *err)
{
    AUTO(json_free_auto) struct json *partition = NULL;
    AUTO(buf_done) struct buf path = {0};
    struct uuid id;

    if (uuid_parse(name, strlen(name), &id, NULL) != OK) {
        return json_set_string(body, "table", name, err);
    }
    TRY(cli_path(&path, "/api/v1/partitions/", name, "", err));
    enum err_code code = cli_get(cli, &path, &partition, err);
    if (code == ERR_NOT_FOUND) {
        return json_set_string(body, "table", name, err);
    }
    TRY(code);
    const char *table;
    TRY(json_get_string(partition, NULL, "table", &table, err));
    TRY(json_set_string(body, "table", table, err));
    return json_set_string(body, "partition_id", name, err);
}

static enum err_code put_range(struct cli *cli, struct json *body, struct error *err)
{
    const char *from = NULL;
    const char *to = NULL;
    TRY(cli_given_time(cli, "--from", &from, err));
    TRY(cli_given_time(cli, "--to", &to, err));
    if ((from == NULL) != (to == NULL)) {
        return cli_usage(cli, err, "expected both --from and --to, or neither, but found one");
    }
    if (from == NULL) {
        return OK;
    }
    TRY(json_set_string(body, "min", from, err));
    return json_set_string(body, "max", to, err);
}

static enum err_code run_add(struct cli *cli, struct error *err)
{
    AUTO(json_free_auto) struct json *body = json_new_object();
    AUTO(json_free_auto) struct json *hold = NULL;
    AUTO(buf_done) struct buf path = {0};

    if (body == NULL) {
        return err_no_memory(err, 0);
    }
    TRY(put_range(cli, body, err));
    TRY(cli_given_reason(cli, body, err));
    TRY(put_subject(cli, cli_position(cli, 0), body, err));
    TRY(cli_path(&path, "/api/v1/holds", NULL, "", err));
    TRY(cli_call(cli, "POST", &path, body, &hold, err));
    return print_hold(cli, hold, err);
}

static enum err_code run_list(struct cli *cli, struct error *err)
{
    AUTO(buf_done) struct buf path = {0};
    TRY(cli_path(&path, "/api/v1/holds", NULL, "", err));
    TRY(cli_path_add(&path, "table", cli_position(cli, 0), err));
    TRY(cli_path_add(&path, "released", cli_flag_given(cli->arguments, "--released") ? "true" : NULL, err));
    return cli_list(cli, &path, columns, CLI_LENGTH(columns), "no holds", err);
}

static enum err_code run_release(struct cli *cli, struct error *err)
{
    AUTO(json_free_auto) struct json *hold = NULL;
    AUTO(buf_done) struct buf path = {0};

    TRY(cli_path(&path, "/api/v1/holds/", cli_position(cli, 0), "", err));
    if (!cli_flag_given(cli->arguments, "--yes")) {
        printf("what it keeps may decay and be reaped again; this was a dry run; granary hold release %s --yes\n",
               cli_position(cli, 0));
        return OK;
    }
    TRY(cli_call(cli, "DELETE", &path, NULL, &hold, err));
    return print_hold(cli, hold, err);
}

static const struct cli_flag add_flags[] = {CLI_RANGE_FLAGS, CLI_REASON_FLAG};
static const struct cli_flag list_flags[] = {{"--released", NULL, "released ones too"}, CLI_LIMIT_FLAG};
static const struct cli_flag release_flags[] = {CLI_YES_FLAG};

static const struct cli_command commands[] = {
    {
        .name = "hold add",
        .usage = "TABLE [--from TIME --to TIME] | PARTITION",
        .summary = "Places a hold on a table, a time range or a partition: nothing under it decays or is reaped.",
        .examples = "  granary hold add demo.events --from 2026-01-01 --to 2026-03-31 --reason \"case 4711\"\n"
                    "  granary hold add 01936f2e-5c1a-7a10-9c55-0242ac120002\n",
        .flags = add_flags,
        .flag_count = CLI_LENGTH(add_flags),
        .min_positions = 1,
        .max_positions = 1,
        .guarded = true,
        .run = run_add,
    },
    {
        .name = "hold ls",
        .usage = "[TABLE] [--released]",
        .summary = "Lists holds.",
        .examples = "  granary hold ls\n  granary hold ls demo.events --released\n",
        .flags = list_flags,
        .flag_count = CLI_LENGTH(list_flags),
        .max_positions = 1,
        .run = run_list,
    },
    {
        .name = "hold release",
        .usage = "HOLD [--yes]",
        .summary = "Releases a hold. A dry run until --yes.",
        .examples = "  granary hold release 01936f2e-5c1a-7a10-9c55-0242ac120002 --yes\n",
        .flags = release_flags,
        .flag_count = CLI_LENGTH(release_flags),
        .min_positions = 1,
        .max_positions = 1,
        .run = run_release,
    },
};
const struct cli_group cli_group_holds = {"Holds", commands, CLI_LENGTH(commands)};
