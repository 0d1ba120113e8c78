/* Partitions: list, show, and what an operator may do to one. */
#include <string.h>

#include "cli/given.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "common/base/uuid.h"

static const struct cli_column list_columns[] = {
    {"PARTITION", "partition_id", CLI_TEXT}, {"STATE", "state", CLI_STATE},       {"FROM", "min_timestamp", CLI_TIME},
    {"TO", "max_timestamp", CLI_TIME},       {"ROWS", "rows", CLI_COUNT},         {"SIZE", "bytes", CLI_SIZE},
    {"ORIGIN", "origin", CLI_TEXT},          {"LEVEL", "merge_level", CLI_COUNT}, {"AGE", "created_at", CLI_AGE},
};
static const struct cli_column fields[] = {
    {"partition", "partition_id", CLI_TEXT},
    {"table", "table", CLI_TEXT},
    {"state", "state", CLI_STATE},
    {"reason", "reason", CLI_TEXT},
    {"from", "min_timestamp", CLI_TIME},
    {"to", "max_timestamp", CLI_TIME},
    {"rows", "rows", CLI_COUNT},
    {"size", "bytes", CLI_SIZE},
    {"path", "path", CLI_TEXT},
    {"origin", "origin", CLI_TEXT},
    {"merge level", "merge_level", CLI_COUNT},
    {"created", "created_at", CLI_TIME},
    {"changed", "modified_at", CLI_TIME},
    {"inactive since", "deactivated_at", CLI_TIME},
    {"made inactive by", "deactivated_by", CLI_TEXT},
    {"version", "version", CLI_COUNT},
    {"lock", "lock.kind", CLI_TEXT},
    {"lock owner", "lock.owner", CLI_TEXT},
    {"lock reason", "lock.reason", CLI_TEXT},
    {"locked", "lock.acquired_at", CLI_TIME},
    {"lock expires", "lock.expires_at", CLI_TIME},
    {"lock token", "lock.token", CLI_TEXT},
    {"made of", "parents", CLI_TEXT},
    {"lives on in", "children", CLI_TEXT},
    {"hold", "hold_id", CLI_TEXT},
};
static const struct cli_column statistics_columns[] = {
    {"COLUMN", "column", CLI_TEXT},
    {"MIN", "min", CLI_TEXT},
    {"MAX", "max", CLI_TEXT},
    {"NULLS", "nulls", CLI_COUNT},
};
static const struct cli_column refused_columns[] = {
    {"PARTITION", "partition_id", CLI_TEXT},
    {"REFUSED BECAUSE", "reason", CLI_TEXT},
};

static enum err_code print_partition(const struct cli *cli, struct json *partition, struct error *err)
{
    return cli->json ? cli_print_json(partition, err)
                     : cli_print_fields(cli, partition, fields, CLI_LENGTH(fields), err);
}

static enum err_code run_list(struct cli *cli, struct error *err)
{
    AUTO(buf_done) struct buf path = {0};
    TRY(cli_path(&path, "/api/v1/tables/", cli_position(cli, 0), "/partitions", err));
    TRY(cli_path_add(&path, "state", cli_flag_value(cli->arguments, "--state"), err));
    TRY(cli_given_range(cli, &path, err));
    return cli_list(cli, &path, list_columns, CLI_LENGTH(list_columns), "no partitions", err);
}

static enum err_code run_show(struct cli *cli, struct error *err)
{
    AUTO(buf_done) struct buf path = {0};
    AUTO(json_free_auto) struct json *partition = NULL;

    TRY(cli_path(&path, "/api/v1/partitions/", cli_position(cli, 0), "", err));
    TRY(cli_get(cli, &path, &partition, err));
    TRY(print_partition(cli, partition, err));
    struct json *columns = json_find(partition, "columns");
    if (cli->json || json_length(columns) == 0) {
        return OK;
    }
    (void)fputc('\n', stdout);
    return cli_print_array(cli, columns, statistics_columns, CLI_LENGTH(statistics_columns), NULL, err);
}

/* POST /api/v1/partitions/{id}/<action>. body may be NULL. */
static enum err_code act(struct cli *cli, const char *action, const struct json *body, struct error *err)
{
    AUTO(buf_done) struct buf path = {0};
    AUTO(json_free_auto) struct json *partition = NULL;

    TRY(cli_path(&path, "/api/v1/partitions/", cli_position(cli, 0), action, err));
    TRY(cli_call(cli, "POST", &path, body, &partition, err));
    return print_partition(cli, partition, err);
}

static enum err_code act_with_reason(struct cli *cli, const char *action, struct error *err)
{
    AUTO(json_free_auto) struct json *body = json_new_object();
    if (body == NULL) {
        return err_no_memory(err, 0);
    }
    TRY(cli_given_reason(cli, body, err));
    return act(cli, action, body, err);
}

static enum err_code run_park(struct cli *cli, struct error *err)
{
    return act_with_reason(cli, "/park", err);
}

static enum err_code run_lock(struct cli *cli, struct error *err)
{
    return act_with_reason(cli, "/lock", err);
}

static enum err_code run_unlock(struct cli *cli, struct error *err)
{
    return act(cli, "/unlock", NULL, err);
}

static enum err_code run_unpark(struct cli *cli, struct error *err)
{
    const char *to = cli_flag_value(cli->arguments, "--to");
    AUTO(json_free_auto) struct json *body = json_new_object();

    if (to == NULL || (strcmp(to, "active") != 0 && strcmp(to, "inactive") != 0)) {
        return cli_usage(cli, err,
                         "expected --to active or inactive but found %s%s%s; hint: active brings the rows back, "
                         "inactive leaves them to the reaper",
                         to == NULL ? "nothing" : "\"", to == NULL ? "" : to, to == NULL ? "" : "\"");
    }
    if (body == NULL) {
        return err_no_memory(err, 0);
    }
    TRY(json_set_string(body, "to", to, err));
    return act(cli, "/unpark", body, err);
}

static enum err_code undo_range(struct cli *cli, const char *from, const char *to, struct error *err)
{
    AUTO(buf_done) struct buf path = {0};
    AUTO(json_free_auto) struct json *body = json_new_object();
    AUTO(json_free_auto) struct json *answer = NULL;
    int64_t undone;

    if (body == NULL) {
        return err_no_memory(err, 0);
    }
    TRY(json_set_string(body, "min", from, err));
    TRY(json_set_string(body, "max", to, err));
    TRY(cli_given_reason(cli, body, err));
    TRY(cli_path(&path, "/api/v1/tables/", cli_position(cli, 0), "/undo", err));
    TRY(cli_call(cli, "POST", &path, body, &answer, err));
    TRY(json_get_i64(answer, NULL, "undone", 0, INT64_MAX, &undone, err));
    struct json *refused = json_find(answer, "refused");
    cli->exit_code = json_length(refused) > 0 ? CLI_PARTIAL : CLI_DONE;
    if (cli->json) {
        return cli_print_json(answer, err);
    }
    const char *hold = json_as_text(json_find(answer, "hold_id"), NULL);
    printf("%lld partitions are active again", (long long)undone);
    if (hold != NULL) {
        printf(", under hold %s so that they stay", hold);
    }
    (void)fputc('\n', stdout);
    return json_length(refused) == 0
               ? OK
               : cli_print_array(cli, refused, refused_columns, CLI_LENGTH(refused_columns), NULL, err);
}

static enum err_code run_undo(struct cli *cli, struct error *err)
{
    const char *from = NULL;
    const char *to = NULL;
    struct uuid id;
    const char *name = cli_position(cli, 0);

    TRY(cli_given_time(cli, "--from", &from, err));
    TRY(cli_given_time(cli, "--to", &to, err));
    if (from != NULL && to != NULL) {
        return undo_range(cli, from, to, err);
    }
    if (from != NULL || to != NULL || uuid_parse(name, strlen(name), &id, NULL) != OK) {
        return cli_usage(cli, err,
                         "expected the id of a partition, or a table with --from and --to, but found \"%.64s\"", name);
    }
    return act_with_reason(cli, "/undo", err);
}

static const struct cli_flag list_flags[] = {
    {"--state", "STATE", "only in that state: active, merging, decay_inactive, ..."},
    CLI_RANGE_FLAGS,
    CLI_LIMIT_FLAG,
};
static const struct cli_flag reason_flags[] = {CLI_REASON_FLAG};
static const struct cli_flag unpark_flags[] = {{"--to", "active|inactive", "what it becomes"}};
static const struct cli_flag undo_flags[] = {CLI_RANGE_FLAGS, CLI_REASON_FLAG};

static const struct cli_command commands[] = {
    {
        .name = "ls",
        .usage = "TABLE [--state STATE] [--from TIME] [--to TIME]",
        .summary = "Lists partitions.",
        .examples = "  granary ls demo.events --state active --from -7d\n"
                    "  granary ls 'demo.events$rejects'\n",
        .flags = list_flags,
        .flag_count = CLI_LENGTH(list_flags),
        .min_positions = 1,
        .max_positions = 1,
        .run = run_list,
    },
    {
        .name = "show",
        .usage = "PARTITION",
        .summary = "Shows a partition: state, lock, times, statistics, lineage.",
        .examples = "  granary show 01936f2e-5c1a-7a10-9c55-0242ac120002\n",
        .min_positions = 1,
        .max_positions = 1,
        .run = run_show,
    },
    {
        .name = "undo",
        .usage = "PARTITION | TABLE --from TIME --to TIME",
        .summary = "Makes decayed partitions active again, under a hold so that they stay.",
        .examples = "  granary undo 01936f2e-5c1a-7a10-9c55-0242ac120002 --reason \"needed for the audit\"\n"
                    "  granary undo demo.events --from 2026-01-01 --to 2026-02-01\n",
        .flags = undo_flags,
        .flag_count = CLI_LENGTH(undo_flags),
        .min_positions = 1,
        .max_positions = 1,
        .guarded = true,
        .run = run_undo,
    },
    {
        .name = "park",
        .usage = "PARTITION [--reason TEXT]",
        .summary = "Takes a bad partition out of sight of queries; its data stay for inspection.",
        .examples = "  granary park 01936f2e-5c1a-7a10-9c55-0242ac120002 --reason \"wrong clock of host 7\"\n",
        .flags = reason_flags,
        .flag_count = CLI_LENGTH(reason_flags),
        .min_positions = 1,
        .max_positions = 1,
        .guarded = true,
        .run = run_park,
    },
    {
        .name = "unpark",
        .usage = "PARTITION --to active|inactive",
        .summary = "Brings a parked partition back, or leaves it to the reaper.",
        .examples = "  granary unpark 01936f2e-5c1a-7a10-9c55-0242ac120002 --to active\n",
        .flags = unpark_flags,
        .flag_count = CLI_LENGTH(unpark_flags),
        .min_positions = 1,
        .max_positions = 1,
        .guarded = true,
        .run = run_unpark,
    },
    {
        .name = "lock",
        .usage = "PARTITION [--reason TEXT]",
        .summary = "Pins an active partition: every service leaves it alone; queries go on.",
        .examples = "  granary lock 01936f2e-5c1a-7a10-9c55-0242ac120002\n",
        .flags = reason_flags,
        .flag_count = CLI_LENGTH(reason_flags),
        .min_positions = 1,
        .max_positions = 1,
        .guarded = true,
        .run = run_lock,
    },
    {
        .name = "unlock",
        .usage = "PARTITION",
        .summary = "Takes a manual lock away.",
        .examples = "  granary unlock 01936f2e-5c1a-7a10-9c55-0242ac120002\n",
        .min_positions = 1,
        .max_positions = 1,
        .guarded = true,
        .run = run_unlock,
    },
};
const struct cli_group cli_group_partitions = {"Partitions", commands, CLI_LENGTH(commands)};
