/* The object stores of a deployment: which there are, and whether they and the catalog belong together. */
#include <string.h>

#include "cli/format.h"
#include "cli/given.h"
#include "cli/groups.h"
#include "cli/output.h"

static const struct cli_column columns[] = {
    {"STORAGE", "name", CLI_TEXT},     {"ID", "storage_id", CLI_COUNT}, {"STATE", "state", CLI_STATE},
    {"SINCE", "created_at", CLI_TIME}, {"BY", "created_by", CLI_TEXT},  {"URL", "url", CLI_TEXT},
};
static const struct cli_column fields[] = {
    {"storage", "name", CLI_TEXT}, {"id", "storage_id", CLI_COUNT},   {"url", "url", CLI_TEXT},
    {"state", "state", CLI_STATE}, {"since", "created_at", CLI_TIME}, {"by", "created_by", CLI_TEXT},
};
static const struct cli_column findings[] = {
    {"STORAGE", "storage", CLI_TEXT},
    {"FINDING", "finding", CLI_STATE},
    {"CATALOG'S MARK", "catalog_mark", CLI_COUNT},
    {"STORE'S", "store_mark", CLI_COUNT},
    {"ROWS", "rows", CLI_COUNT},
    {"OBJECTS", "objects", CLI_COUNT},
    {"ROWS WITHOUT OBJECT", "rows_without_object", CLI_COUNT},
    {"OF LIVE ONES", "live_rows_without_object", CLI_COUNT},
    {"OBJECTS WITHOUT ROW", "objects_without_row", CLI_COUNT},
    {"THEIR SIZE", "bytes_without_row", CLI_SIZE},
};

static enum err_code print_storage(const struct cli *cli, struct json *storage, struct error *err)
{
    return cli->json ? cli_print_json(storage, err) : cli_print_fields(cli, storage, fields, CLI_LENGTH(fields), err);
}

static enum err_code run_list(struct cli *cli, struct error *err)
{
    AUTO(buf_done) struct buf path = {0};
    TRY(cli_path(&path, "/api/v1/storages", NULL, "", err));
    return cli_list(cli, &path, columns, CLI_LENGTH(columns), "no storages", err);
}

static enum err_code run_add(struct cli *cli, struct error *err)
{
    AUTO(json_free_auto) struct json *body = json_new_object();
    AUTO(json_free_auto) struct json *storage = NULL;
    AUTO(buf_done) struct buf path = {0};

    if (body == NULL) {
        return err_no_memory(err, 0);
    }
    TRY(json_set_string(body, "name", cli_position(cli, 0), err));
    TRY(json_set_string(body, "url", cli_position(cli, 1), err));
    TRY(cli_path(&path, "/api/v1/storages", NULL, "", err));
    TRY(cli_call(cli, "POST", &path, body, &storage, err));
    return print_storage(cli, storage, err);
}

static enum err_code run_set(struct cli *cli, struct error *err)
{
    AUTO(json_free_auto) struct json *body = json_new_object();
    AUTO(json_free_auto) struct json *storage = NULL;
    AUTO(buf_done) struct buf path = {0};
    const char *url = cli_flag_value(cli->arguments, "--to");
    const char *state = cli_flag_value(cli->arguments, "--state");

    if (body == NULL) {
        return err_no_memory(err, 0);
    }
    if (url == NULL && state == NULL) {
        return cli_usage(cli, err, "expected --to or --state, or both");
    }
    TRY(url == NULL ? OK : json_set_string(body, "url", url, err));
    TRY(state == NULL ? OK : json_set_string(body, "state", state, err));
    TRY(cli_path(&path, "/api/v1/storages/", cli_position(cli, 0), "", err));
    TRY(cli_call(cli, "PATCH", &path, body, &storage, err));
    return print_storage(cli, storage, err);
}

/* --- recover ------------------------------------------------------------------------------------------------------- */

static bool is_adoptable(const char *finding)
{
    return strcmp(finding, "store_ahead") == 0 || strcmp(finding, "other_mark") == 0;
}

/* The reasons in full, and what can be done. */
static void print_reasons(struct json *items, bool *out_adoptable, bool *out_stopped)
{
    *out_adoptable = false;
    *out_stopped = false;
    for (size_t i = 0; i < json_length(items); i++) {
        struct json *item = json_at(items, i);
        const char *finding = json_as_text(json_find(item, "finding"), NULL);
        const char *error = json_as_text(json_find(item, "error"), NULL);
        *out_adoptable |= finding != NULL && is_adoptable(finding);
        *out_stopped |= error != NULL;
        if (error != NULL) {
            cli_put_tame(error, stdout);
            (void)fputc('\n', stdout);
        }
    }
}

static enum err_code show(struct cli *cli, struct error *err)
{
    AUTO(json_free_auto) struct json *answer = NULL;
    AUTO(buf_done) struct buf path = {0};
    bool adoptable;
    bool stopped;

    TRY(cli_path(&path, "/api/v1/recover", NULL, "", err));
    TRY(cli_path_add(&path, "quick", cli_flag_given(cli->arguments, "--quick") ? "true" : NULL, err));
    TRY(cli_get(cli, &path, &answer, err));
    struct json *items = json_find(answer, "storages");
    if (cli->json) {
        TRY(cli_print_json(answer, err));
    } else {
        TRY(cli_print_array(cli, items, findings, CLI_LENGTH(findings), "no storages", err));
    }
    print_reasons(cli->json ? NULL : items, &adoptable, &stopped);
    if (cli->json) {
        return OK;
    }
    cli->exit_code = stopped ? CLI_PARTIAL : CLI_DONE;
    if (adoptable) {
        printf(
            "objects without a row stay until the partition cleaner finds them, rows without an object are reported by "
            "granary fsck\nthis was a dry run; granary recover --yes makes this catalog the one that counts\n");
    } else if (!stopped) {
        printf("catalog and stores belong together; there is nothing to recover\n");
    }
    return OK;
}

static enum err_code run_recover(struct cli *cli, struct error *err)
{
    AUTO(json_free_auto) struct json *body = json_new_object();
    AUTO(json_free_auto) struct json *answer = NULL;
    AUTO(buf_done) struct buf path = {0};

    if (!cli_flag_given(cli->arguments, "--yes")) {
        return show(cli, err);
    }
    if (body == NULL) {
        return err_no_memory(err, 0);
    }
    TRY(cli_given_reason(cli, body, err));
    TRY(cli_path(&path, "/api/v1/recover", NULL, "", err));
    TRY(cli_call(cli, "POST", &path, body, &answer, err));
    if (cli->json) {
        return cli_print_json(answer, err);
    }
    printf("this catalog is the one that counts; deleters go on by themselves\n");
    return cli_print_array(cli, json_find(answer, "storages"), findings, 4, NULL, err);
}

static const struct cli_flag set_flags[] = {
    {"--to", "URL", "where it is now; it must hold this deployment's marker"},
    {"--state", "STATE", "active, or read_only: nothing new goes there"},
};
static const struct cli_flag recover_flags[] = {
    {"--quick", NULL, "only the marks; rows and objects are not compared"},
    CLI_REASON_FLAG,
    CLI_YES_FLAG,
};

static const struct cli_command commands[] = {
    {
        .name = "storage ls",
        .usage = "",
        .summary = "Lists the object stores that partitions lie in.",
        .examples = "  granary storage ls\n",
        .run = run_list,
    },
    {
        .name = "storage add",
        .usage = "NAME URL",
        .summary =
            "Adds an object store, once it has been looked at. Tables name it in storage.default and storage.spread.",
        .examples = "  granary storage add eu-2 \"s3://granary-eu-2/prod?region=eu-central-1&credentials=eu\"\n"
                    "  granary table set demo.events storage.spread=default,eu-2\n",
        .min_positions = 2,
        .max_positions = 2,
        .run = run_add,
    },
    {
        .name = "storage set",
        .usage = "NAME [--to URL] [--state active|read_only]",
        .summary = "Says where a storage is now, or whether new partitions go there.",
        .examples = "  granary storage set eu-2 --state read_only\n",
        .flags = set_flags,
        .flag_count = CLI_LENGTH(set_flags),
        .min_positions = 1,
        .max_positions = 1,
        .run = run_set,
    },
    {
        .name = "recover",
        .usage = "[--quick] [--yes]",
        .summary =
            "After a restore, or with two catalogs on one store: compares catalog and stores; with --yes, makes this "
            "catalog the one that counts.",
        .examples = "  granary recover\n  granary recover --yes --reason \"restored the backup of Monday\"\n",
        .flags = recover_flags,
        .flag_count = CLI_LENGTH(recover_flags),
        .guarded = true,
        .run = run_recover,
    },
};
const struct cli_group cli_group_storages = {"Storages", commands, CLI_LENGTH(commands)};
