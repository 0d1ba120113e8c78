/* Why a partition is where it is, and what happens to it next. */
#include <string.h>

#include "cli/format.h"
#include "cli/given.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "common/base/clock.h"

static const struct cli_column fields[] = {
    {"table", "partition.table", CLI_TEXT},
    {"state", "state", CLI_STATE},
    {"from", "partition.min_timestamp", CLI_TIME},
    {"to", "partition.max_timestamp", CLI_TIME},
    {"rows", "partition.rows", CLI_COUNT},
    {"size", "partition.bytes", CLI_SIZE},
    {"path", "partition.path", CLI_TEXT},
    {"inactive since", "partition.deactivated_at", CLI_TIME},
    {"made inactive by", "partition.deactivated_by", CLI_TEXT},
    {"lock", "partition.lock.kind", CLI_TEXT},
    {"lock owner", "partition.lock.owner", CLI_TEXT},
    {"lock reason", "partition.lock.reason", CLI_TEXT},
    {"lock expires", "partition.lock.expires_at", CLI_TIME},
    {"grace", "grace.setting", CLI_TEXT},
    {"grace lasts", "grace.value", CLI_TEXT},
    {"grace over", "grace.over_at", CLI_TIME},
    {"tries", "retries.tries", CLI_COUNT},
    {"last error", "retries.last_error", CLI_TEXT},
    {"last try", "retries.last_at", CLI_TIME},
    {"made of", "lineage.parents", CLI_TEXT},
    {"lives on in", "lineage.children", CLI_TEXT},
};
static const struct cli_column receipt_fields[] = {
    {"deleted", "deleted_at", CLI_TIME},
    {"deleted by", "deleted_by", CLI_TEXT},
    {"table", "table", CLI_TEXT},
    {"why", "reason", CLI_TEXT},
    {"inactive since", "deactivated_at", CLI_TIME},
    {"made inactive by", "deactivated_by", CLI_TEXT},
    {"from", "min_timestamp", CLI_TIME},
    {"to", "max_timestamp", CLI_TIME},
    {"rows", "rows", CLI_COUNT},
    {"size", "bytes", CLI_SIZE},
    {"path", "path", CLI_TEXT},
    {"store answered", "store_answer", CLI_TEXT},
};
static const struct cli_column hold_columns[] = {
    {"HOLD", "hold_id", CLI_TEXT},
    {"REASON", "reason", CLI_TEXT},
    {"BY", "placed_by", CLI_TEXT},
    {"SINCE", "placed_at", CLI_TIME},
};
static const struct cli_column audit_columns[] = {
    {"WHEN", "at", CLI_TIME},
    {"WHO", "actor", CLI_TEXT},
    {"DID", "action", CLI_TEXT},
    {"DETAILS", "details", CLI_TEXT},
};

static void print_lines(struct json *explanation)
{
    struct json *details = json_find(explanation, "details");
    for (size_t i = 0; i < json_length(details); i++) {
        const char *text = json_as_text(json_at(details, i), NULL);
        printf("  - ");
        cli_put_tame(text == NULL ? "" : text, stdout);
        (void)fputc('\n', stdout);
    }
}

static void print_next(const struct cli *cli, struct json *explanation)
{
    const char *what = json_as_text(cli_member(explanation, "next.what"), NULL);
    const char *who = json_as_text(cli_member(explanation, "next.who"), NULL);
    const char *when = json_as_text(cli_member(explanation, "next.when"), NULL);
    char time[CLI_FORMAT_BYTES];
    char distance[CLI_FORMAT_BYTES];
    int64_t when_us;

    if (what == NULL) {
        return;
    }
    printf("\n%snext%s  ", cli_colour_start(cli, CLI_BOLD), cli_colour_end(cli, CLI_BOLD));
    cli_put_tame(what, stdout);
    if (who != NULL) {
        printf(" (%s)", who);
    }
    if (when != NULL && clock_parse(when, strlen(when), &when_us, NULL) == OK) {
        int64_t age_us = clock_now_us() - when_us;
        printf(", %s, %s%s", cli_format_time(when, time), cli_format_age(age_us, distance), age_us > 0 ? " ago" : "");
    }
    (void)fputc('\n', stdout);
}

static enum err_code print_section(const struct cli *cli, struct json *array, const struct cli_column *columns,
                                   size_t count, struct error *err)
{
    if (json_length(array) == 0) {
        return OK;
    }
    (void)fputc('\n', stdout);
    return cli_print_array(cli, array, columns, count, NULL, err);
}

static enum err_code print_explanation(const struct cli *cli, struct json *explanation, struct error *err)
{
    const char *summary = json_as_text(json_find(explanation, "summary"), NULL);

    printf("%s", cli_colour_start(cli, CLI_BOLD));
    cli_put_tame(summary == NULL ? "" : summary, stdout);
    printf("%s\n", cli_colour_end(cli, CLI_BOLD));
    print_lines(explanation);
    print_next(cli, explanation);
    (void)fputc('\n', stdout);
    TRY(cli_print_fields(cli, explanation, fields, CLI_LENGTH(fields), err));
    struct json *receipt = json_find(explanation, "receipt");
    TRY(cli_print_fields(cli, receipt, receipt_fields, CLI_LENGTH(receipt_fields), err));
    TRY(print_section(cli, json_find(explanation, "holds"), hold_columns, CLI_LENGTH(hold_columns), err));
    return print_section(cli, json_find(explanation, "audit"), audit_columns, CLI_LENGTH(audit_columns), err);
}

static enum err_code run_explain(struct cli *cli, struct error *err)
{
    AUTO(json_free_auto) struct json *explanation = NULL;
    AUTO(buf_done) struct buf path = {0};

    TRY(cli_path(&path, "/api/v1/partitions/", cli_position(cli, 0), "/explain", err));
    TRY(cli_get(cli, &path, &explanation, err));
    struct json *receipt = json_find(explanation, "receipt");
    bool known =
        json_as_bool(json_find(explanation, "found")) || (receipt != NULL && json_kind(receipt) == JSON_KIND_OBJECT);
    cli->exit_code = known ? CLI_DONE : CLI_FAILED;
    return cli->json ? cli_print_json(explanation, err) : print_explanation(cli, explanation, err);
}

static const struct cli_command commands[] = {
    {
        .name = "explain",
        .usage = "PARTITION",
        .summary = "Says why a partition is where it is, what happens next and when; or who deleted it and why.",
        .examples = "  granary explain 01936f2e-5c1a-7a10-9c55-0242ac120002\n",
        .min_positions = 1,
        .max_positions = 1,
        .run = run_explain,
    },
};
const struct cli_group cli_group_explain = {"Answers", commands, CLI_LENGTH(commands)};
