/* What was: receipts of deletions, the audit log, rows that intake rejected. */
#include <string.h>

#include "cli/format.h"
#include "cli/given.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "common/base/uuid.h"

static const struct cli_column receipt_columns[] = {
    {"DELETED", "deleted_at", CLI_TIME}, {"PARTITION", "partition_id", CLI_TEXT},
    {"TABLE", "table", CLI_TEXT},        {"WHY", "reason", CLI_TEXT},
    {"ROWS", "rows", CLI_COUNT},         {"SIZE", "bytes", CLI_SIZE},
    {"FROM", "min_timestamp", CLI_TIME}, {"TO", "max_timestamp", CLI_TIME},
    {"BY", "deleted_by", CLI_TEXT},
};
static const struct cli_column audit_columns[] = {
    {"WHEN", "at", CLI_TIME},
    {"WHO", "actor", CLI_TEXT},
    {"DID", "action", CLI_TEXT},
    {"TABLE", "table", CLI_TEXT},
    {"PARTITION", "partition_id", CLI_TEXT},
    {"DETAILS", "details", CLI_TEXT},
};
static const struct cli_column reject_columns[] = {
    {"RECEIVED", "received_at", CLI_TIME}, {"BATCH", "batch_id", CLI_TEXT}, {"ROW", "row", CLI_COUNT},
    {"COLUMN", "column", CLI_TEXT},        {"REASON", "reason", CLI_TEXT},  {"TEXT", "text", CLI_TEXT},
};
static const char default_rejects[] = "100";

static enum err_code run_receipts(struct cli *cli, struct error *err)
{
    AUTO(buf_done) struct buf path = {0};
    TRY(cli_path(&path, "/api/v1/receipts", NULL, "", err));
    TRY(cli_path_add(&path, "table", cli_position(cli, 0), err));
    return cli_list(cli, &path, receipt_columns, CLI_LENGTH(receipt_columns), "nothing was deleted", err);
}

static enum err_code run_audit(struct cli *cli, struct error *err)
{
    AUTO(buf_done) struct buf path = {0};
    TRY(cli_path(&path, "/api/v1/audit", NULL, "", err));
    TRY(cli_path_add(&path, "table", cli_position(cli, 0), err));
    TRY(cli_path_add(&path, "partition", cli_flag_value(cli->arguments, "--partition"), err));
    return cli_list(cli, &path, audit_columns, CLI_LENGTH(audit_columns), "nothing was noted", err);
}

/* "project.name$rejects" of a name or an id. */
static enum err_code rejects_name(struct cli *cli, const char *table, struct buf *out, struct error *err)
{
    AUTO(json_free_auto) struct json *json = NULL;
    AUTO(buf_done) struct buf path = {0};
    struct uuid id;

    if (uuid_parse(table, strlen(table), &id, NULL) != OK) {
        return buf_printf(out, err, "%s$rejects", table);
    }
    const char *project;
    const char *name;
    TRY(cli_path(&path, "/api/v1/tables/", table, "", err));
    TRY(cli_get(cli, &path, &json, err));
    TRY(json_get_string(json, NULL, "project", &project, err));
    TRY(json_get_string(json, NULL, "name", &name, err));
    return buf_printf(out, err, "%s.%s$rejects", project, name);
}

static enum err_code add_line(struct cli_grid *grid, const char *line, size_t length, struct error *err)
{
    static const struct json_limits limits = {.max_bytes = 64 << 20};
    AUTO(json_free_auto) struct json *row = NULL;
    AUTO(buf_done) struct buf text = {0};

    TRY(json_parse(line, length, &limits, &row, err));
    const char *encoded = json_as_text(json_find(row, "text"), NULL);
    if (encoded != NULL) {
        TRY(cli_format_from_base64(encoded, &text, err));
        AUTO(buf_done) struct buf tame = {0}; /* JSON holds UTF-8 only, and the row may be anything */
        TRY(cli_format_tame((const char *)text.data, text.length_bytes, &tame, err));
        TRY(json_set(row, "text", json_new_string((const char *)tame.data, tame.length_bytes), err));
    }
    return cli_grid_add(grid, row, err);
}

static enum err_code print_rows(const struct cli *cli, const struct buf *ndjson, struct error *err)
{
    AUTO(cli_grid_free_auto) struct cli_grid *grid = NULL;
    TRY(cli_grid_new(cli, reject_columns, CLI_LENGTH(reject_columns), &grid, err));
    for (size_t at = 0; at < ndjson->length_bytes;) {
        const uint8_t *end = memchr(ndjson->data + at, '\n', ndjson->length_bytes - at);
        size_t line_end = end == NULL ? ndjson->length_bytes : (size_t)(end - ndjson->data);
        TRY(add_line(grid, (const char *)ndjson->data + at, line_end - at, err));
        at = line_end + 1;
    }
    cli_grid_print(grid, "no rows were rejected");
    return OK;
}

static enum err_code run_rejects(struct cli *cli, struct error *err)
{
    const char *limit = cli_flag_value(cli->arguments, "--limit");
    AUTO(buf_done) struct buf name = {0};
    AUTO(buf_done) struct buf path = {0};
    AUTO(buf_done) struct buf rows = {0};

    TRY(rejects_name(cli, cli_position(cli, 0), &name, err));
    const char *text = buf_text(&name);
    if (text == NULL) {
        return err_no_memory(err, name.length_bytes);
    }
    TRY(cli_path(&path, "/api/v1/tables/", text, "/scan", err));
    TRY(cli_given_range(cli, &path, err));
    TRY(cli_path_add(&path, "limit", limit != NULL || cli->json ? limit : default_rejects, err));
    if (cli->json) {
        return cli_stream(cli, &path, err);
    }
    TRY(cli_fetch(cli, &path, &rows, err));
    return print_rows(cli, &rows, err);
}

static const struct cli_flag receipts_flags[] = {CLI_LIMIT_FLAG};
static const struct cli_flag audit_flags[] = {{"--partition", "ID", "only what was done to that one"}, CLI_LIMIT_FLAG};
static const struct cli_flag rejects_flags[] = {
    CLI_RANGE_FLAGS,
    {"--limit", "N", "that many at most; as a table 100 unless told otherwise"},
};

static const struct cli_command commands[] = {
    {
        .name = "rejects",
        .usage = "TABLE [--from TIME] [--to TIME] [--limit N]",
        .summary = "Shows rows that intake rejected: when, why, and their text word for word.",
        .examples = "  granary rejects demo.events --from -1d\n"
                    "  granary rejects demo.events --output json\n",
        .flags = rejects_flags,
        .flag_count = CLI_LENGTH(rejects_flags),
        .min_positions = 1,
        .max_positions = 1,
        .run = run_rejects,
    },
    {
        .name = "receipts",
        .usage = "[TABLE] [--limit N]",
        .summary = "Lists what was deleted, newest first: what, why, who, when.",
        .examples = "  granary receipts demo.events --limit 20\n",
        .flags = receipts_flags,
        .flag_count = CLI_LENGTH(receipts_flags),
        .max_positions = 1,
        .run = run_receipts,
    },
    {
        .name = "audit",
        .usage = "[TABLE] [--partition ID] [--limit N]",
        .summary = "Lists what operators and services changed, newest first.",
        .examples = "  granary audit demo.events\n  granary audit --limit 50 --output json\n",
        .flags = audit_flags,
        .flag_count = CLI_LENGTH(audit_flags),
        .max_positions = 1,
        .run = run_audit,
    },
};
const struct cli_group cli_group_history = {"History", commands, CLI_LENGTH(commands)};
