/* Reading rows: scan, count, files. */
#include "cli/given.h"
#include "cli/groups.h"
#include "cli/output.h"

static const struct cli_column file_columns[] = {
    {"PARTITION", "partition_id", CLI_TEXT},
    {"FROM", "min_timestamp", CLI_TIME},
    {"TO", "max_timestamp", CLI_TIME},
    {"ROWS", "rows", CLI_COUNT},
    {"SIZE", "bytes", CLI_SIZE},
    {"URL", "url", CLI_TEXT},
};

static enum err_code begin(struct cli *cli, const char *what, struct buf *path, struct error *err)
{
    TRY(cli_path(path, "/api/v1/tables/", cli_position(cli, 0), what, err));
    return cli_given_range(cli, path, err);
}

static enum err_code run_scan(struct cli *cli, struct error *err)
{
    AUTO(buf_done) struct buf path = {0};
    const struct cli_arguments *arguments = cli->arguments;

    TRY(begin(cli, "/scan", &path, err));
    TRY(cli_path_add(&path, "columns", cli_flag_value(arguments, "--columns"), err));
    TRY(cli_path_add(&path, "where", cli_flag_value(arguments, "--where"), err));
    TRY(cli_path_add(&path, "limit", cli_flag_value(arguments, "--limit"), err));
    TRY(cli_path_add(&path, "format", cli_flag_value(arguments, "--format"), err));
    return cli_stream(cli, &path, err);
}

static enum err_code run_count(struct cli *cli, struct error *err)
{
    AUTO(buf_done) struct buf path = {0};
    AUTO(json_free_auto) struct json *answer = NULL;
    int64_t rows;

    TRY(begin(cli, "/count", &path, err));
    TRY(cli_path_add(&path, "where", cli_flag_value(cli->arguments, "--where"), err));
    TRY(cli_get(cli, &path, &answer, err));
    if (cli->json) {
        return cli_print_json(answer, err);
    }
    TRY(json_get_i64(answer, NULL, "rows", 0, INT64_MAX, &rows, err));
    printf("%lld\n", (long long)rows);
    return OK;
}

static enum err_code run_files(struct cli *cli, struct error *err)
{
    AUTO(buf_done) struct buf path = {0};
    TRY(begin(cli, "/files", &path, err));
    return cli_list(cli, &path, file_columns, CLI_LENGTH(file_columns), "no active partitions there", err);
}

static const struct cli_flag scan_flags[] = {
    CLI_RANGE_FLAGS,
    {"--columns", "A,B", "only these columns"},
    {"--where", "PREDICATE", "only rows that it is true for"},
    CLI_LIMIT_FLAG,
    {"--format", "ndjson|csv", "ndjson unless told otherwise"},
};
static const struct cli_flag count_flags[] = {
    CLI_RANGE_FLAGS,
    {"--where", "PREDICATE", "only rows that it is true for"},
};
static const struct cli_flag files_flags[] = {CLI_RANGE_FLAGS, CLI_LIMIT_FLAG};

static const struct cli_command commands[] = {
    {
        .name = "scan",
        .usage = "TABLE [--from TIME] [--to TIME] [--columns A,B] [--where PREDICATE] [--limit N]",
        .summary = "Prints rows of active partitions as NDJSON or CSV, as they come.",
        .examples =
            "  granary scan demo.events --from 2026-11-01 --to 2026-11-30T23:59:59Z --limit 10\n"
            "  granary scan demo.events --from -7d --where \"size > 1000 and owner = 'root'\" --columns path,size "
            "--format csv\n",
        .flags = scan_flags,
        .flag_count = CLI_LENGTH(scan_flags),
        .min_positions = 1,
        .max_positions = 1,
        .run = run_scan,
    },
    {
        .name = "count",
        .usage = "TABLE [--from TIME] [--to TIME] [--where PREDICATE]",
        .summary = "Counts rows; without bounds from the catalog alone.",
        .examples = "  granary count demo.events\n  granary count demo.events --from -1d --where \"status = 500\"\n",
        .flags = count_flags,
        .flag_count = CLI_LENGTH(count_flags),
        .min_positions = 1,
        .max_positions = 1,
        .run = run_count,
    },
    {
        .name = "files",
        .usage = "TABLE [--from TIME] [--to TIME]",
        .summary = "Lists the Parquet files of a time range, for another engine to read.",
        .examples = "  granary files demo.events --from 2026-11-01 --output json\n",
        .flags = files_flags,
        .flag_count = CLI_LENGTH(files_flags),
        .min_positions = 1,
        .max_positions = 1,
        .run = run_files,
    },
};
const struct cli_group cli_group_read = {"Rows", commands, CLI_LENGTH(commands)};
