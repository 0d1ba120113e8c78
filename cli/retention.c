/* Deleting by hand what the breaker stopped: a plan, a look, its application; plans of orphans are shown and applied here,
 * too. */
#include <string.h>

#include "cli/format.h"
#include "cli/given.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "common/base/text.h"

static const struct cli_column fields[] = {
    {"plan", "plan_id", CLI_TEXT},       {"table", "table", CLI_TEXT},
    {"older than", "cutoff", CLI_TIME},  {"partitions", "partitions", CLI_COUNT},
    {"rows", "rows", CLI_COUNT},         {"size", "bytes", CLI_SIZE},
    {"held back", "held", CLI_COUNT},    {"locked", "locked", CLI_COUNT},
    {"made", "created_at", CLI_TIME},    {"expires", "expires_at", CLI_TIME},
    {"applied", "applied_at", CLI_TIME}, {"applied by", "applied_by", CLI_TEXT},
};
static const struct cli_column item_columns[] = {
    {"PARTITION", "partition_id", CLI_TEXT}, {"STATE", "state", CLI_STATE}, {"FROM", "min_timestamp", CLI_TIME},
    {"TO", "max_timestamp", CLI_TIME},       {"ROWS", "rows", CLI_COUNT},   {"SIZE", "bytes", CLI_SIZE},
};
static const struct cli_column skipped_columns[] = {
    {"PASSED OVER", "partition_id", CLI_TEXT},
    {"BECAUSE", "reason", CLI_TEXT},
};

static const struct cli_column orphans_fields[] = {
    {"plan", "plan_id", CLI_TEXT},       {"table", "table", CLI_TEXT},           {"objects", "objects", CLI_COUNT},
    {"size", "bytes", CLI_SIZE},         {"made", "created_at", CLI_TIME},       {"expires", "expires_at", CLI_TIME},
    {"applied", "applied_at", CLI_TIME}, {"applied by", "applied_by", CLI_TEXT},
};
static const struct cli_column orphan_columns[] = {
    {"OBJECT", "path", CLI_TEXT},
    {"SIZE", "bytes", CLI_SIZE},
    {"WRITTEN", "at", CLI_TIME},
    {"OWNER", "owner", CLI_TEXT},
};
static const struct cli_column kept_columns[] = {
    {"PASSED OVER", "path", CLI_TEXT},
    {"BECAUSE", "reason", CLI_TEXT},
};

static void print_breaker(const struct cli *cli, struct json *plan)
{
    double share = json_as_double(json_find(plan, "share")) * 100;
    double most = json_as_double(cli_member(plan, "breaker.max_share")) * 100;
    bool allowed = json_as_bool(cli_member(plan, "breaker.allowed"));
    enum cli_colour colour = allowed ? CLI_GREEN : CLI_RED;

    printf("%s%.1f %% of the table's rows would be gone within a day; the breaker %s (breaker.max_share %.1f %%)%s\n",
           cli_colour_start(cli, colour), share,
           allowed ? "allows it" : "stops decay: only this plan, applied, does it", most, cli_colour_end(cli, colour));
}

static enum err_code print_items(const struct cli *cli, struct json *plan, const struct cli_column *columns,
                                 size_t count, int64_t total, struct error *err)
{
    struct json *items = json_find(plan, "items");
    if (json_length(items) > 0) {
        (void)fputc('\n', stdout);
        TRY(cli_print_array(cli, items, columns, count, NULL, err));
    }
    if ((int64_t)json_length(items) < total) {
        printf("...\n");
    }
    return OK;
}

static enum err_code print_plan(const struct cli *cli, struct json *plan, struct error *err)
{
    const char *kind = json_as_text(json_find(plan, "kind"), NULL);
    if (kind != NULL && strcmp(kind, "orphans") == 0) {
        TRY(cli_print_fields(cli, plan, orphans_fields, CLI_LENGTH(orphans_fields), err));
        return print_items(cli, plan, orphan_columns, CLI_LENGTH(orphan_columns),
                           json_as_i64(json_find(plan, "objects")), err);
    }
    TRY(cli_print_fields(cli, plan, fields, CLI_LENGTH(fields), err));
    print_breaker(cli, plan);
    return print_items(cli, plan, item_columns, CLI_LENGTH(item_columns), json_as_i64(json_find(plan, "partitions")),
                       err);
}

static enum err_code run_plan(struct cli *cli, struct error *err)
{
    AUTO(json_free_auto) struct json *body = json_new_object();
    AUTO(json_free_auto) struct json *plan = NULL;
    AUTO(buf_done) struct buf path = {0};

    if (body == NULL) {
        return err_no_memory(err, 0);
    }
    TRY(json_set_string(body, "kind", "retention", err));
    TRY(json_set_string(body, "table", cli_position(cli, 0), err));
    TRY(cli_path(&path, "/api/v1/plans", NULL, "", err));
    TRY(cli_call(cli, "POST", &path, body, &plan, err));
    if (cli->json) {
        return cli_print_json(plan, err);
    }
    TRY(print_plan(cli, plan, err));
    const char *id = json_as_text(json_find(plan, "plan_id"), NULL);
    printf("\nnothing was changed; granary apply %s --yes\n", id == NULL ? "PLAN" : id);
    return OK;
}

static enum err_code show_plan(struct cli *cli, struct error *err)
{
    AUTO(json_free_auto) struct json *plan = NULL;
    AUTO(buf_done) struct buf path = {0};

    TRY(cli_path(&path, "/api/v1/plans/", cli_position(cli, 0), "", err));
    TRY(cli_get(cli, &path, &plan, err));
    if (cli->json) {
        return cli_print_json(plan, err);
    }
    TRY(print_plan(cli, plan, err));
    printf("\nthis was a dry run; granary apply %s --yes\n", cli_position(cli, 0));
    return OK;
}

static void print_deactivated(struct json *answer)
{
    char partitions[CLI_FORMAT_BYTES];
    char rows[CLI_FORMAT_BYTES];
    printf("%s partitions with %s rows are inactive now; they are reaped after reaper.max_age, and can be undone until "
           "then\n",
           cli_format_count(json_as_i64(json_find(answer, "deactivated")), partitions),
           cli_format_count(json_as_i64(json_find(answer, "rows")), rows));
}

static void print_deleted(struct json *answer)
{
    char objects[CLI_FORMAT_BYTES];
    char bytes[TEXT_SIZE_BYTES];
    printf("%s objects are deleted, %s in all\n", cli_format_count(json_as_i64(json_find(answer, "deleted")), objects),
           text_format_bytes(json_as_i64(json_find(answer, "bytes")), bytes));
}

static enum err_code run_apply(struct cli *cli, struct error *err)
{
    AUTO(json_free_auto) struct json *answer = NULL;
    AUTO(buf_done) struct buf path = {0};

    if (!cli_flag_given(cli->arguments, "--yes")) {
        return show_plan(cli, err);
    }
    TRY(cli_path(&path, "/api/v1/plans/", cli_position(cli, 0), "/apply", err));
    TRY(cli_call(cli, "POST", &path, NULL, &answer, err));
    struct json *skipped = json_find(answer, "skipped");
    cli->exit_code = json_length(skipped) > 0 ? CLI_PARTIAL : CLI_DONE;
    if (cli->json) {
        return cli_print_json(answer, err);
    }
    bool objects = json_find(answer, "deleted") != NULL;
    if (objects) {
        print_deleted(answer);
    } else {
        print_deactivated(answer);
    }
    if (json_length(skipped) == 0) {
        return OK;
    }
    return objects ? cli_print_array(cli, skipped, kept_columns, CLI_LENGTH(kept_columns), NULL, err)
                   : cli_print_array(cli, skipped, skipped_columns, CLI_LENGTH(skipped_columns), NULL, err);
}

static const struct cli_flag apply_flags[] = {CLI_YES_FLAG};
static const struct cli_command commands[] = {
    {
        .name = "plan retention",
        .usage = "TABLE",
        .summary = "Plans the decay of what is past retention, for when the breaker stopped it. Changes nothing.",
        .examples = "  granary plan retention demo.events\n",
        .min_positions = 1,
        .max_positions = 1,
        .guarded = true,
        .run = run_plan,
    },
    {
        .name = "apply",
        .usage = "PLAN [--yes]",
        .summary = "Applies a plan: each partition or object that it names is checked again. A dry run until --yes.",
        .examples = "  granary apply 01936f2e-5c1a-7a10-9c55-0242ac120002\n"
                    "  granary apply 01936f2e-5c1a-7a10-9c55-0242ac120002 --yes\n",
        .flags = apply_flags,
        .flag_count = CLI_LENGTH(apply_flags),
        .min_positions = 1,
        .max_positions = 1,
        .guarded = true,
        .run = run_apply,
    },
};
const struct cli_group cli_group_retention = {"Retention", commands, CLI_LENGTH(commands)};
