/* Tables: create, list, show, change settings, drop. */
#include <string.h>

#include "cli/format.h"
#include "cli/given.h"
#include "cli/groups.h"
#include "cli/load.h"
#include "cli/output.h"
#include "cli/table_infer.h"
#include "cli/table_schema.h"
#include "common/base/text.h"

static const struct cli_column list_columns[] = {
    {"PROJECT", "project", CLI_TEXT},
    {"NAME", "name", CLI_TEXT},
    {"RETENTION", "retention.effective", CLI_TEXT},
    {"PARTITIONS", "partitions.active", CLI_COUNT},
    {"ROWS", "partitions.rows", CLI_COUNT},
    {"SIZE", "partitions.bytes", CLI_SIZE},
    {"CREATED", "created_at", CLI_TIME},
};
static const struct cli_column fields[] = {
    {"id", "table_id", CLI_TEXT},
    {"project", "project", CLI_TEXT},
    {"name", "name", CLI_TEXT},
    {"kind", "kind", CLI_TEXT},
    {"created", "created_at", CLI_TIME},
    {"dropped", "dropped_at", CLI_TIME},
    {"partitions", "partitions.active", CLI_COUNT},
    {"rows", "partitions.rows", CLI_COUNT},
    {"size", "partitions.bytes", CLI_SIZE},
    {"retention", "retention.effective", CLI_TEXT},
    {"cooling until", "retention.effective_at", CLI_TIME},
    {"schema version", "schema_version", CLI_COUNT},
    {"timestamp", "schema.timestamp", CLI_TEXT},
};
static const struct cli_column schema_columns[] = {
    {"COLUMN", "name", CLI_TEXT},
    {"TYPE", "type", CLI_TEXT},
    {"NULLABLE", "nullable", CLI_TEXT},
    {"BLOOM", "bloom", CLI_TEXT},
};
static const struct cli_column undrop_fields[] = {
    {"table", "table", CLI_TEXT}, {"id", "table_id", CLI_TEXT}, {"partitions back", "partitions", CLI_COUNT},
    {"rows", "rows", CLI_COUNT},  {"lost", "lost", CLI_COUNT},  {"hold", "hold_id", CLI_TEXT},
};
static const struct cli_column preview_fields[] = {
    {"partitions", "partitions", CLI_COUNT}, {"rows", "rows", CLI_COUNT},    {"size", "bytes", CLI_SIZE},
    {"oldest", "oldest", CLI_TIME},          {"newest", "newest", CLI_TIME},
};

static void print_settings(const struct cli *cli, struct json *table)
{
    struct json *own = json_find(table, "settings");
    struct json *effective = json_find(table, "effective");
    void *iterator = NULL;
    const char *name;
    struct json *value;

    printf("\n%s%-25s  VALUE%s\n", cli_colour_start(cli, CLI_BOLD), "SETTING", cli_colour_end(cli, CLI_BOLD));
    while (effective != NULL && json_next(effective, &iterator, &name, &value)) {
        const char *text = json_as_text(value, NULL);
        printf("%-25s  %s%s\n", name, text == NULL ? "-" : text, json_find(own, name) != NULL ? "" : "  (default)");
    }
}

static enum err_code print_table(const struct cli *cli, struct json *table, struct error *err)
{
    if (cli->json) {
        return cli_print_json(table, err);
    }
    TRY(cli_print_fields(cli, table, fields, CLI_LENGTH(fields), err));
    (void)fputc('\n', stdout);
    TRY(cli_print_array(cli, cli_member(table, "schema.columns"), schema_columns, CLI_LENGTH(schema_columns), NULL,
                        err));
    print_settings(cli, table);
    return OK;
}

static enum err_code split_name(struct cli *cli, const char *text, struct json *body, struct error *err)
{
    const char *dot = strchr(text, '.');
    if (dot == NULL || !text_is_identifier(text, (size_t)(dot - text)) ||
        !text_is_identifier(dot + 1, strlen(dot + 1))) {
        return cli_usage(cli, err,
                         "expected PROJECT.NAME of letters, digits and _ but found \"%.64s\"; hint: demo.events", text);
    }
    TRY(json_set(body, "project", json_new_string(text, (size_t)(dot - text)), err));
    return json_set_string(body, "name", dot + 1, err);
}

static enum err_code collect_settings(struct cli *cli, struct json *settings, struct error *err)
{
    const char *text;
    for (size_t position = 0; (text = cli_flag_next(cli->arguments, "--set", &position)) != NULL;) {
        TRY(cli_given_setting(cli, text, settings, err));
    }
    return OK;
}

static enum err_code create(struct cli *cli, struct json **schema, struct error *err)
{
    AUTO(json_free_auto) struct json *body = json_new_object();
    AUTO(json_free_auto) struct json *settings = json_new_object();
    AUTO(json_free_auto) struct json *table = NULL;
    AUTO(buf_done) struct buf path = {0};

    if (body == NULL || settings == NULL) {
        return err_no_memory(err, 0);
    }
    TRY(split_name(cli, cli_position(cli, 0), body, err));
    TRY(collect_settings(cli, settings, err));
    TRY(json_set(body, "schema", TAKE(*schema), err));
    TRY(json_set(body, "settings", TAKE(settings), err));
    TRY(cli_path(&path, "/api/v1/tables", NULL, "", err));
    TRY(cli_call(cli, "POST", &path, body, &table, err));
    return print_table(cli, table, err);
}

static enum err_code run_create(struct cli *cli, struct error *err)
{
    const char *sample = cli_flag_value(cli->arguments, "--infer");
    AUTO(json_free_auto) struct json *proposal = NULL;
    AUTO(json_free_auto) struct json *schema = NULL;

    if (sample == NULL) {
        TRY(cli_table_schema(cli, &schema, err));
        return create(cli, &schema, err);
    }
    TRY(cli_table_infer(cli, sample, &proposal, err));
    if (!cli_flag_given(cli->arguments, "--yes")) {
        return cli_table_infer_print(cli, proposal, err);
    }
    TRY(cli_table_infer_schema(proposal, &schema, err));
    return create(cli, &schema, err);
}

static enum err_code run_list(struct cli *cli, struct error *err)
{
    AUTO(buf_done) struct buf path = {0};
    TRY(cli_path(&path, "/api/v1/tables", NULL, "", err));
    TRY(cli_path_add(&path, "project", cli_flag_value(cli->arguments, "--project"), err));
    TRY(cli_path_add(&path, "dropped", cli_flag_given(cli->arguments, "--dropped") ? "true" : NULL, err));
    return cli_list(cli, &path, list_columns, CLI_LENGTH(list_columns), "no tables; \"granary table create\" makes one",
                    err);
}

static enum err_code run_show(struct cli *cli, struct error *err)
{
    AUTO(json_free_auto) struct json *table = NULL;
    AUTO(buf_done) struct buf path = {0};
    TRY(cli_path(&path, "/api/v1/tables/", cli_position(cli, 0), "", err));
    TRY(cli_get(cli, &path, &table, err));
    return print_table(cli, table, err);
}

static void print_retention(struct json *answer)
{
    const char *effective = json_as_text(cli_member(answer, "retention.effective"), NULL);
    const char *at = json_as_text(cli_member(answer, "retention.effective_at"), NULL);
    char text[CLI_FORMAT_BYTES];

    printf("retention   %s\n", effective == NULL ? "-" : effective);
    if (json_as_bool(cli_member(answer, "retention.cooling")) && at != NULL) {
        printf("the shorter one takes effect at %s; until then it can be changed back\n", cli_format_time(at, text));
    }
}

static enum err_code run_set(struct cli *cli, struct error *err)
{
    AUTO(json_free_auto) struct json *body = json_new_object();
    AUTO(json_free_auto) struct json *answer = NULL;
    AUTO(buf_done) struct buf path = {0};
    bool dry_run = cli_flag_given(cli->arguments, "--dry-run");

    if (body == NULL) {
        return err_no_memory(err, 0);
    }
    for (size_t i = 1; i < cli->arguments->position_count; i++) {
        TRY(cli_given_setting(cli, cli_position(cli, i), body, err));
    }
    TRY(cli_path(&path, "/api/v1/tables/", cli_position(cli, 0), "/settings", err));
    TRY(cli_path_add(&path, "dry_run", dry_run ? "true" : "false", err));
    TRY(cli_call(cli, "PATCH", &path, body, &answer, err));
    if (cli->json) {
        return cli_print_json(answer, err);
    }
    printf("%s\n", dry_run ? "nothing was changed; this would be:" : "changed");
    print_retention(answer);
    printf("data past it:\n");
    return cli_print_fields(cli, json_find(answer, "preview"), preview_fields, CLI_LENGTH(preview_fields), err);
}

static enum err_code run_drop(struct cli *cli, struct error *err)
{
    AUTO(json_free_auto) struct json *answer = NULL;
    AUTO(buf_done) struct buf path = {0};
    bool yes = cli_flag_given(cli->arguments, "--yes");
    const char *name = cli_position(cli, 0);

    TRY(cli_path(&path, "/api/v1/tables/", name, "", err));
    TRY(cli_path_add(&path, "yes", yes ? "true" : NULL, err));
    TRY(cli_call(cli, "DELETE", &path, NULL, &answer, err));
    if (cli->json) {
        return cli_print_json(answer, err);
    }
    if (yes) {
        printf("dropped %s: its partitions decay, and are reaped after reaper.max_age\n", name);
        return OK;
    }
    printf("%s would be dropped, with:\n", name);
    TRY(cli_print_fields(cli, json_find(answer, "preview"), preview_fields, CLI_LENGTH(preview_fields), err));
    printf("this was a dry run; granary table drop %s --yes\n", name);
    return OK;
}

static enum err_code run_undrop(struct cli *cli, struct error *err)
{
    AUTO(json_free_auto) struct json *body = json_new_object();
    AUTO(json_free_auto) struct json *answer = NULL;
    AUTO(buf_done) struct buf path = {0};

    if (body == NULL) {
        return err_no_memory(err, 0);
    }
    TRY(cli_given_reason(cli, body, err));
    TRY(json_set_bool(body, "partial", cli_flag_given(cli->arguments, "--partial"), err));
    TRY(cli_path(&path, "/api/v1/tables/", cli_position(cli, 0), "/undrop", err));
    TRY(cli_call(cli, "POST", &path, body, &answer, err));
    return cli->json ? cli_print_json(answer, err)
                     : cli_print_fields(cli, answer, undrop_fields, CLI_LENGTH(undrop_fields), err);
}

static const struct cli_flag create_flags[] = {
    {"--column", "NAME:TYPE[:notnull][:bloom][:format=FORMAT]", "a column; once for each"},
    {"--timestamp", "COLUMN", "the column of the rows' times"},
    {"--sort", "A,B", "order of the rows in a partition; -A or A:desc descending"},
    {"--schema", "FILE", "the whole schema as JSON instead; - is standard input"},
    {"--set", "NAME=VALUE", "a setting; once for each"},
    {"--infer", "FILE", "propose columns for this data instead; - is standard input"},
    {"--yes", NULL, "create what --infer proposes"},
    LOAD_FORMAT_FLAGS,
};
static const struct cli_flag list_flags[] = {
    {"--project", "NAME", "only of that project"},
    {"--dropped", NULL, "dropped ones too"},
    CLI_LIMIT_FLAG,
};
static const struct cli_flag set_flags[] = {{"--dry-run", NULL, "change nothing; show which data would be old"}};
static const struct cli_flag drop_flags[] = {CLI_YES_FLAG};
static const struct cli_flag undrop_flags[] = {
    {"--partial", NULL, "also where reapers have taken some of its partitions"},
    CLI_REASON_FLAG,
};

static const struct cli_command commands[] = {
    {
        .name = "table create",
        .usage = "PROJECT.NAME --column NAME:TYPE ... --timestamp COLUMN | --schema FILE | --infer FILE [--yes]",
        .summary =
            "Creates a table. Types: bool int32 int64 float double string bytes timestamp date decimal(p,s) uuid "
            "json.",
        .examples = "  granary table create demo.events --column at:timestamp --column user:string:notnull:bloom \\\n"
                    "      --column cost:decimal(12,2) --timestamp at --sort at,user --set age.max_age=30d\n"
                    "  granary table create demo.events --schema events.json\n"
                    "  granary table create demo.events --infer events.csv\n",
        .flags = create_flags,
        .flag_count = CLI_LENGTH(create_flags),
        .min_positions = 1,
        .max_positions = 1,
        .run = run_create,
    },
    {
        .name = "table ls",
        .usage = "[--project NAME]",
        .summary = "Lists tables with their retention, partitions, rows and bytes.",
        .examples = "  granary table ls\n  granary table ls --project demo --output json\n",
        .flags = list_flags,
        .flag_count = CLI_LENGTH(list_flags),
        .run = run_list,
    },
    {
        .name = "table show",
        .usage = "TABLE",
        .summary = "Shows a table: columns, settings, retention, size.",
        .examples = "  granary table show demo.events\n",
        .min_positions = 1,
        .max_positions = 1,
        .run = run_show,
    },
    {
        .name = "table set",
        .usage = "TABLE NAME=VALUE ... [--dry-run]",
        .summary = "Changes settings; \"NAME=\" goes back to the default. A shorter retention waits for "
                   "retention.cooling.",
        .examples = "  granary table set demo.events age.max_age=7d --dry-run\n"
                    "  granary table set demo.events age.max_age=7d reaper.max_age=2d\n",
        .flags = set_flags,
        .flag_count = CLI_LENGTH(set_flags),
        .min_positions = 2,
        .max_positions = 100,
        .run = run_set,
    },
    {
        .name = "table drop",
        .usage = "TABLE [--yes]",
        .summary = "Drops a table: its partitions decay whole. A dry run until --yes; refused under a hold.",
        .examples = "  granary table drop demo.events\n  granary table drop demo.events --yes\n",
        .flags = drop_flags,
        .flag_count = CLI_LENGTH(drop_flags),
        .min_positions = 1,
        .max_positions = 1,
        .guarded = true,
        .run = run_drop,
    },
    {
        .name = "table undrop",
        .usage = "TABLE [--partial]",
        .summary = "Brings a dropped table back, as long as reapers have left it; a hold then keeps it.",
        .examples = "  granary table undrop demo.events --reason \"dropped the wrong one\"\n",
        .flags = undrop_flags,
        .flag_count = CLI_LENGTH(undrop_flags),
        .min_positions = 1,
        .max_positions = 1,
        .guarded = true,
        .run = run_undrop,
    },
};
const struct cli_group cli_group_tables = {"Tables", commands, CLI_LENGTH(commands)};
