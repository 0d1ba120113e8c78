/* Store and catalog compared: what is there, what is not, and what nothing names; and plans to delete that. */
#include <string.h>
#include <unistd.h>

#include "cli/format.h"
#include "cli/given.h"
#include "cli/groups.h"
#include "cli/output.h"

enum { SHOWN_OF_A_CLASS = 5, MAX_CLASSES = 16 };

static const struct cli_column class_columns[] = {
    {"CLASS", "class", CLI_TEXT},
    {"COUNT", "count", CLI_COUNT},
    {"SIZE", "bytes", CLI_SIZE},
    {"OLDEST", "oldest", CLI_TIME},
};
static const struct cli_column owner_columns[] = {
    {"ORPHANS BY OWNER", "owner", CLI_TEXT},
    {"COUNT", "count", CLI_COUNT},
    {"SIZE", "bytes", CLI_SIZE},
    {"OLDEST", "oldest", CLI_TIME},
};
static const struct cli_column example_columns[] = {
    {"EXAMPLE", "path", CLI_TEXT}, {"CLASS", "class", CLI_TEXT}, {"SIZE", "bytes", CLI_SIZE},
    {"WRITTEN", "at", CLI_TIME},   {"OWNER", "owner", CLI_TEXT},
};

/* What has been seen of the stream. */
struct report {
    struct cli *cli;
    struct json *examples; /* the first of each class */
    struct json *summary;  /* NULL until it comes */
    struct {
        char name[32];
        size_t shown;
    } classes[MAX_CLASSES];
    bool progress; /* is shown, on a terminal */
};

static void report_done(struct report *report)
{
    json_free(report->examples);
    json_free(report->summary);
}

/* --- the stream ---------------------------------------------------------------------------------------------------- */

static void show_progress(const struct report *report, struct json *progress)
{
    char objects[CLI_FORMAT_BYTES];
    char rows[CLI_FORMAT_BYTES];
    if (report->progress) {
        (void)fprintf(stderr, "\r\x1b[K%s objects, %s rows",
                      cli_format_count(json_as_i64(json_find(progress, "objects")), objects),
                      cli_format_count(json_as_i64(json_find(progress, "rows")), rows));
    }
}

/* How often a finding of this class was shown before. */
static size_t *shown_of(struct report *report, const char *name)
{
    for (size_t i = 0; i < MAX_CLASSES; i++) {
        if (report->classes[i].name[0] == '\0') {
            (void)snprintf(report->classes[i].name, sizeof report->classes[i].name, "%s", name);
        }
        if (strcmp(report->classes[i].name, name) == 0) {
            return &report->classes[i].shown;
        }
    }
    return NULL;
}

static enum err_code keep_example(struct report *report, struct json *finding, struct error *err)
{
    const char *name = json_as_text(json_find(finding, "class"), NULL);
    size_t *shown = shown_of(report, name == NULL ? "" : name);
    if (shown == NULL || (*shown)++ >= SHOWN_OF_A_CLASS) {
        return OK;
    }
    return json_append(report->examples, json_share(finding), err);
}

static enum err_code take_fault(struct json *fault, struct error *err)
{
    const char *message = json_as_text(json_find(fault, "message"), NULL);
    return err_set(err, ERR_UNAVAILABLE, "the comparison broke off: %s",
                   message == NULL ? "nobody knows why" : message);
}

static enum err_code take_line(void *context, struct json *line, struct error *err)
{
    struct report *report = context;
    struct json *progress = json_find(line, "progress");
    struct json *finding = json_find(line, "finding");
    struct json *fault = json_find(line, "error");
    if (progress != NULL) {
        show_progress(report, progress);
        return OK;
    }
    if (fault != NULL) {
        return take_fault(fault, err);
    }
    if (report->cli->json) {
        TRY(cli_print_json(line, err));
    }
    if (finding != NULL) {
        return keep_example(report, finding, err);
    }
    struct json *summary = json_find(line, "summary");
    if (summary != NULL && report->summary == NULL) {
        report->summary = json_share(summary);
    }
    return OK;
}

/* Sets the exit code by what was found. */
static enum err_code ask(struct report *report, const char *method, struct buf *path, const struct json *body,
                         struct error *err)
{
    report->examples = json_new_array();
    report->progress = !report->cli->json && isatty(STDERR_FILENO) == 1;
    if (report->examples == NULL) {
        return err_no_memory(err, 64);
    }
    enum err_code code = cli_lines(report->cli, method, path, body, take_line, report, err);
    if (report->progress) {
        (void)fputs("\r\x1b[K", stderr);
    }
    TRY(code);
    if (report->summary == NULL) {
        return err_set(err, ERR_UNAVAILABLE, "the comparison broke off before its end; hint: try again");
    }
    if (json_as_i64(json_find(report->summary, "findings")) > 0) {
        report->cli->exit_code = CLI_PARTIAL;
    }
    return OK;
}

/* --- printing ------------------------------------------------------------------------------------------------------ */

static enum err_code print_report(const struct report *report, struct error *err)
{
    const struct cli *cli = report->cli;
    struct json *owners = json_find(report->summary, "owners");
    TRY(cli_print_array(cli, json_find(report->summary, "classes"), class_columns, CLI_LENGTH(class_columns),
                        "nothing was found", err));
    if (json_length(owners) > 0) {
        (void)fputc('\n', stdout);
        TRY(cli_print_array(cli, owners, owner_columns, CLI_LENGTH(owner_columns), NULL, err));
    }
    if (json_length(report->examples) > 0) {
        (void)fputc('\n', stdout);
        TRY(cli_print_array(cli, report->examples, example_columns, CLI_LENGTH(example_columns), NULL, err));
    }
    return OK;
}

static void print_reach(const struct report *report)
{
    char time[CLI_FORMAT_BYTES];
    const char *since = json_as_text(json_find(report->summary, "receipts_since"), NULL);
    if (since == NULL) {
        printf("\nthere are no receipts: nothing was ever deleted, or they were pruned\n");
    } else {
        printf("\nreceipts reach back to %s; what was deleted before is not known\n", cli_format_time(since, time));
    }
}

static enum err_code run_fsck(struct cli *cli, struct error *err)
{
    AUTO(report_done) struct report report = {.cli = cli};
    AUTO(buf_done) struct buf path = {0};
    const char *against = NULL;
    TRY(cli_given_time(cli, "--against", &against, err));
    TRY(cli_path(&path, "/api/v1/fsck", NULL, "", err));
    TRY(cli_path_add(&path, "table", cli_flag_value(cli->arguments, "--table"), err));
    TRY(cli_path_add(&path, "against", against, err));
    TRY(ask(&report, "GET", &path, NULL, err));
    if (cli->json) {
        return OK;
    }
    TRY(print_report(&report, err));
    if (against != NULL) {
        print_reach(&report);
    }
    return OK;
}

static enum err_code run_plan(struct cli *cli, struct error *err)
{
    AUTO(report_done) struct report report = {.cli = cli};
    AUTO(json_free_auto) struct json *body = json_new_object();
    AUTO(buf_done) struct buf path = {0};
    char objects[CLI_FORMAT_BYTES];
    if (body == NULL) {
        return err_no_memory(err, 64);
    }
    if (cli_position(cli, 0) != NULL) {
        TRY(json_set_string(body, "table", cli_position(cli, 0), err));
    }
    TRY(cli_path(&path, "/api/v1/plans/orphans", NULL, "", err));
    TRY(ask(&report, "POST", &path, body, err));
    cli->exit_code = CLI_DONE; /* findings are what a plan is for */
    if (cli->json) {
        return OK;
    }
    TRY(print_report(&report, err));
    const char *id = json_as_text(json_find(report.summary, "plan_id"), NULL);
    int64_t count = json_as_i64(json_find(report.summary, "plan_objects"));
    printf("\nnothing was changed; granary apply %s --yes deletes %s objects%s\n", id == NULL ? "PLAN" : id,
           cli_format_count(count, objects),
           json_as_bool(json_find(report.summary, "plan_cut"))
               ? ", as many as a plan may name; make another for the rest"
               : "");
    return OK;
}

static const struct cli_flag fsck_flags[] = {
    {"--table", "TABLE", "only its objects and rows; a dropped one is named by its UUID"},
    {"--against", "TIME", "what a catalog restored to that time would miss; or an age, as -1d"},
};
static const struct cli_command commands[] = {
    {
        .name = "fsck",
        .usage = "[--table TABLE] [--against TIME]",
        .summary =
            "Compares store and catalog: objects that no row names, rows whose objects are gone. Changes nothing.",
        .examples = "  granary fsck\n"
                    "  granary fsck --table demo.events --output json\n"
                    "  granary fsck --against 2026-11-29T03:00:00Z\n",
        .flags = fsck_flags,
        .flag_count = CLI_LENGTH(fsck_flags),
        .run = run_fsck,
    },
    {
        .name = "plan orphans",
        .usage = "[TABLE]",
        .summary = "Plans the deletion of objects that no row names. Changes nothing until it is applied.",
        .examples = "  granary plan orphans\n  granary plan orphans demo.events\n",
        .max_positions = 1,
        .guarded = true,
        .run = run_plan,
    },
};
const struct cli_group cli_group_store = {"Store", commands, CLI_LENGTH(commands)};
