/* Loading files: all of them in one session, so that their rows appear together or not at all. */
#include "cli/load.h"

#include <string.h>

#include "cli/format.h"
#include "cli/given.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "common/base/clock.h"
#include "common/base/text.h"

enum { SHOWN_REJECTS = 10, LISTED_REJECTS = 100 };

struct result {
    struct json *rejects; /* of the bodies, with the names of their files; owned */
    struct json *answer;  /* of the end; owned */
};

static void result_done(struct result *result)
{
    json_free(result->rejects);
    json_free(result->answer);
}

/* --- what came of it ----------------------------------------------------------------------------------------------- */
static enum err_code note_body(struct result *result, const struct load_input *input, const struct json *answer,
                               struct load_progress *progress, struct error *err)
{
    const struct json *rejects = json_find(answer, "rejects");
    progress->rows += json_as_i64(json_find(answer, "rows"));
    progress->rejected += json_as_i64(json_find(answer, "rejected"));
    for (size_t i = 0; i < json_length(rejects) && json_length(result->rejects) < LISTED_REJECTS; i++) {
        const struct json *from = json_at(rejects, i);
        AUTO(json_free_auto) struct json *reject = json_new_object();
        if (reject == NULL) {
            return err_no_memory(err, 0);
        }
        TRY(json_set_string(reject, "file", input->path, err));
        TRY(json_set_i64(reject, "row", json_as_i64(json_find(from, "row")), err));
        TRY(json_set_string(reject, "column", json_as_text(json_find(from, "column"), NULL), err));
        TRY(json_set_string(reject, "reason", json_as_text(json_find(from, "reason"), NULL), err));
        TRY(json_append(result->rejects, TAKE(reject), err));
    }
    return OK;
}

static enum err_code print_json(struct result *result, const struct load_inputs *inputs, const char *key,
                                const struct load_progress *progress, struct error *err)
{
    struct json *json = result->answer;
    TRY(json_set(json, "rejects", TAKE(result->rejects), err));
    TRY(json_set_i64(json, "files", (int64_t)inputs->count, err));
    TRY(json_set_i64(json, "sent_bytes", progress->bytes, err));
    TRY(json_set_double(json, "seconds", (double)(clock_monotonic_us() - progress->begun_us) / CLOCK_SECOND_US, err));
    TRY(json_set_string(json, "key", key, err));
    return cli_print_json(json, err);
}

static void print_rejects(const struct result *result, const char *table, int64_t rejected, bool dry_run)
{
    char count[CLI_FORMAT_BYTES];
    size_t listed = json_length(result->rejects);
    size_t shown = listed < SHOWN_REJECTS && !dry_run ? listed : dry_run ? listed : SHOWN_REJECTS;

    if (rejected == 0) {
        return;
    }
    printf("%s rows %s rejected", cli_format_count(rejected, count), dry_run ? "would be" : "were");
    printf(dry_run ? "\n" : "; \"granary rejects %s\" shows them\n", table);
    for (size_t i = 0; i < shown; i++) {
        const struct json *reject = json_at(result->rejects, i);
        const char *column = json_as_text(json_find(reject, "column"), NULL);
        printf("  ");
        cli_put_tame(json_as_text(json_find(reject, "file"), NULL), stdout);
        printf(", row %lld%s%s: ", (long long)json_as_i64(json_find(reject, "row")), column == NULL ? "" : ", column ",
               column == NULL ? "" : column);
        cli_put_tame(json_as_text(json_find(reject, "reason"), NULL), stdout);
        (void)fputc('\n', stdout);
    }
    if (rejected > (int64_t)shown) {
        printf("  ...\n");
    }
}

static void print_buckets(struct json *answer)
{
    const struct json *buckets = json_find(answer, "buckets");
    char start[CLI_FORMAT_BYTES];
    char rows[CLI_FORMAT_BYTES];
    for (size_t i = 0; i < json_length(buckets); i++) {
        const struct json *bucket = json_at(buckets, i);
        printf("  from %s  %15s rows\n", cli_format_time(json_as_text(json_find(bucket, "start"), NULL), start),
               cli_format_count(json_as_i64(json_find(bucket, "rows")), rows));
    }
    if (json_as_i64(json_find(answer, "partitions")) > (int64_t)json_length(buckets)) {
        printf("  ...\n");
    }
}

static void print_summary(const struct result *result, const struct load_session *session,
                          const struct load_progress *progress)
{
    int64_t spent_us = clock_monotonic_us() - progress->begun_us;
    double seconds = (double)(spent_us > 0 ? spent_us : 1) / CLOCK_SECOND_US;
    int64_t rows = json_as_i64(json_find(result->answer, "rows"));
    int64_t partitions = json_as_i64(json_find(result->answer, "partitions"));
    char count[CLI_FORMAT_BYTES];
    char rate[CLI_FORMAT_BYTES];
    char size[TEXT_SIZE_BYTES];

    if (json_as_bool(json_find(result->answer, "duplicate"))) {
        printf("nothing was added: %s rows were loaded under this key before; --key NAME loads them once more\n",
               cli_format_count(rows, count));
        return;
    }
    printf("%s rows %s, %s in %.1f s (%s rows/s, %.1f MB/s), %lld partition%s\n", cli_format_count(rows, count),
           session->dry_run ? "would be loaded" : "committed", text_format_bytes(progress->bytes, size), seconds,
           cli_format_count((int64_t)((double)rows / seconds), rate), (double)progress->bytes / seconds / 1e6,
           (long long)partitions, partitions == 1 ? "" : "s");
    if (session->dry_run) {
        print_buckets(result->answer);
    }
    print_rejects(result, session->table, json_as_i64(json_find(result->answer, "rejected")), session->dry_run);
}

/* --- doing it ------------------------------------------------------------------------------------------------------ */
static enum err_code send_all(struct load_session *session, const struct load_inputs *inputs, struct result *result,
                              struct error *err)
{
    for (size_t i = 0; i < inputs->count; i++) {
        AUTO(json_free_auto) struct json *answer = NULL;
        TRY(load_session_send(session, &inputs->items[i], &answer, err));
        TRY(note_body(result, &inputs->items[i], answer, session->progress, err));
    }
    return load_session_commit(session, &result->answer, err);
}

static enum err_code load_all(struct load_session *session, const struct load_inputs *inputs, struct result *result,
                              struct error *err)
{
    AUTO(json_free_auto) struct json *begun = NULL;
    TRY(load_session_begin(session, &begun, err));
    if (json_as_bool(json_find(begun, "duplicate"))) {
        result->answer = TAKE(begun);
        return OK;
    }
    enum err_code code = send_all(session, inputs, result, err);
    if (code != OK) {
        load_session_abort(session);
        return err_wrap(err, "nothing was loaded");
    }
    return OK;
}

static enum err_code collect(struct cli *cli, struct load_inputs *inputs, struct error *err)
{
    for (size_t i = 1; i < cli->arguments->position_count; i++) {
        TRY(load_inputs_add(cli, cli_position(cli, i), inputs, err));
    }
    if (inputs->count == 0) {
        return err_set(err, ERR_INVALID, "expected files to load but found none of a known format in \"%.256s\"",
                       cli_position(cli, 1));
    }
    return OK;
}

static enum err_code prepare(struct cli *cli, const struct load_inputs *inputs, struct load_session *out,
                             struct error *err)
{
    const char *retry_for = cli_flag_value(cli->arguments, "--retry-for");
    int64_t most = 0;
    out->cli = cli;
    out->table = cli_position(cli, 0);
    out->dry_run = cli_flag_given(cli->arguments, "--dry-run");
    out->max_rejects = cli_flag_value(cli->arguments, "--max-rejects");
    if (clock_parse_duration(retry_for == NULL ? "10m" : retry_for, &out->retry_for_us, err) != OK) {
        return cli_usage(cli, err, "--retry-for: %s", err->text);
    }
    TRY(cli_given_number(cli, "--max-rejects", 0, INT64_MAX, &most, err));
    return out->dry_run ? OK : load_inputs_key(cli, inputs, &out->key, err);
}

static enum err_code run_load(struct cli *cli, struct error *err)
{
    AUTO(load_inputs_done) struct load_inputs inputs = {0};
    AUTO(result_done) struct result result = {.rejects = json_new_array()};
    AUTO(load_session_done) struct load_session session = {0};
    struct load_progress progress;

    if (result.rejects == NULL) {
        return err_no_memory(err, 0);
    }
    TRY(collect(cli, &inputs, err));
    TRY(prepare(cli, &inputs, &session, err));
    session.progress = &progress;
    load_progress_begin(&progress, inputs.total_bytes);
    enum err_code code = load_all(&session, &inputs, &result, err);
    load_progress_end(&progress);
    TRY(code);
    cli->exit_code = progress.rejected > 0 ? CLI_PARTIAL : CLI_DONE;
    if (cli->json) {
        return print_json(&result, &inputs, session.key, &progress, err);
    }
    print_summary(&result, &session, &progress);
    return OK;
}

static const struct cli_flag load_flags[] = {
    {"--dry-run", NULL, "write nothing; tell what would be loaded and rejected"},
    {"--max-rejects", "N", "more rejected rows fail the load"},
    {"--key", "NAME", "names this load: another one with the same key adds nothing"},
    {"--retry-for", "DURATION", "how long to go on when intake is full or away; 10m unless told otherwise"},
    LOAD_FORMAT_FLAGS,
};
static const struct cli_command commands[] = {
    {
        .name = "load",
        .usage = "TABLE FILE|FOLDER|PATTERN|- ... [--dry-run]",
        .summary = "Loads files (NDJSON, JSON, CSV, Parquet; .gz, .zst) in one commit: all rows appear, or none. Exit "
                   "code 2: some rows were rejected.",
        .examples = "  granary load demo.events events.ndjson\n"
                    "  granary load demo.events archive/2026 extra.csv.gz --dry-run\n"
                    "  zcat events.ndjson.gz | granary load demo.events - --key events-2026-11-30\n",
        .flags = load_flags,
        .flag_count = CLI_LENGTH(load_flags),
        .min_positions = 2,
        .max_positions = 10000,
        .run = run_load,
    },
};
const struct cli_group cli_group_load = {"Loading", commands, CLI_LENGTH(commands)};
