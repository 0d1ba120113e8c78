/* Loading a file: cut at line ends into bodies of about a megabyte, several of them in flight. Each body's key is made of
 * who the file is and where the body stands in it, so that a load that was broken off is simply run again. */
#include "cli/load.h"

#include <string.h>
#include <sys/stat.h>

#include "cli/file.h"
#include "cli/format.h"
#include "cli/given.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/base/uuid.h"
#include "common/digest/digest.h"

#define LOOK_EVERY_US (CLOCK_SECOND_US / 5)
enum { LONGEST_LINE_BYTES = 64 << 20, LONGEST_KEY = 150, COMMIT_THREADS_FACTOR = 8, MOST_THREADS = 64 };

/* A file is known by device, inode, size and time of change: another load of the same, unchanged file has the same key.
 * What comes through a pipe has no identity, so that its key is new each time. */
static enum err_code choose_key(struct cli *cli, const struct stat *status, const char **out, struct error *err)
{
    static const struct uuid namespace_id = {
        {0x6b, 0x1d, 0x4f, 0x0e, 0x52, 0x7c, 0x4a, 0x39, 0x8e, 0x21, 0x0c, 0x93, 0x5d, 0xaa, 0x17, 0xf4}};
    const char *given = cli_flag_value(cli->arguments, "--key");
    char identity[160];
    char text[UUID_TEXT_BYTES];
    struct uuid id = uuid_v4();

    if (given != NULL) {
        if (*given == '\0' || strlen(given) > LONGEST_KEY) {
            return cli_usage(cli, err, "expected a --key of 1 to %d characters but found %zu", LONGEST_KEY,
                             strlen(given));
        }
        *out = given;
        return OK;
    }
    if (S_ISREG(status->st_mode)) {
        int length = snprintf(identity, sizeof identity, "%llx:%llx:%llx:%llx.%lx", (unsigned long long)status->st_dev,
                              (unsigned long long)status->st_ino, (unsigned long long)status->st_size,
                              (unsigned long long)status->st_mtim.tv_sec, (unsigned long)status->st_mtim.tv_nsec);
        id = digest_uuid_v5(&namespace_id, identity, (size_t)length);
    }
    *out = arena_printf(cli->arena, "load-%s", uuid_format(&id, text));
    return *out == NULL ? err_no_memory(err, sizeof text) : OK;
}

static void show(struct load_sender *sender, struct load_progress *progress)
{
    struct load_counts counts;
    load_sender_counts(sender, &counts);
    load_progress_show(progress, &counts);
}

static enum err_code send_all(struct load_cutter *cutter, struct load_sender *sender, struct load_progress *progress,
                              struct error *err)
{
    enum err_code code = OK;
    while (code != ERR_STOPPED) { /* a failure of the sender's shows in finish */
        AUTO(load_body_free_auto) struct load_body *body = NULL;
        TRY(load_cut(cutter, &body, err));
        if (body == NULL) {
            break;
        }
        while ((code = load_sender_offer(sender, &body, LOOK_EVERY_US)) == ERR_TIMEOUT) {
            show(sender, progress);
        }
        show(sender, progress);
    }
    while ((code = load_sender_finish(sender, LOOK_EVERY_US, err)) == ERR_TIMEOUT) {
        show(sender, progress);
    }
    return code;
}

static enum err_code print_summary_json(const struct load_counts *counts, const char *key, int64_t spent_us,
                                        bool committed, struct error *err)
{
    AUTO(json_free_auto) struct json *json = json_new_object();
    AUTO(json_free_auto) struct json *rejects = json_new_array();
    if (json == NULL || rejects == NULL) {
        return err_no_memory(err, 0);
    }
    for (size_t i = 0; i < counts->shown; i++) {
        const struct load_reject *from = &counts->rejects[i];
        AUTO(json_free_auto) struct json *reject = json_new_object();
        TRY(json_set_i64(reject, "row", from->row, err));
        TRY(json_set_string(reject, "column", *from->column == '\0' ? NULL : from->column, err));
        TRY(json_set_string(reject, "reason", from->reason, err));
        TRY(json_append(rejects, TAKE(reject), err));
    }
    TRY(json_set_i64(json, "rows", counts->rows, err));
    TRY(json_set_i64(json, "rejected", counts->rejected, err));
    TRY(json_set(json, "rejects", TAKE(rejects), err));
    TRY(json_set_i64(json, "bodies", counts->bodies, err));
    TRY(json_set_i64(json, "known_bodies", counts->known_bodies, err));
    TRY(json_set_i64(json, "bytes", counts->bytes, err));
    TRY(json_set_double(json, "seconds", (double)spent_us / CLOCK_SECOND_US, err));
    TRY(json_set_string(json, "key", key, err));
    TRY(json_set_bool(json, "committed", committed, err));
    return cli_print_json(json, err);
}

static void print_rejects(const struct load_counts *counts, const char *table)
{
    char count[CLI_FORMAT_BYTES];
    printf("%s rows were rejected; \"granary rejects %s\" shows them\n", cli_format_count(counts->rejected, count),
           table);
    for (size_t i = 0; i < counts->shown; i++) {
        const struct load_reject *reject = &counts->rejects[i];
        printf("  row %lld%s%s: ", (long long)reject->row, *reject->column == '\0' ? "" : ", column ", reject->column);
        cli_put_tame(reject->reason, stdout);
        (void)fputc('\n', stdout);
    }
    if (counts->rejected > (int64_t)counts->shown) {
        printf("  ...\n");
    }
}

static void print_summary(const struct load_counts *counts, const char *table, int64_t spent_us, bool committed)
{
    char rows[CLI_FORMAT_BYTES];
    char rate[CLI_FORMAT_BYTES];
    char size[TEXT_SIZE_BYTES];
    double seconds = (double)(spent_us > 0 ? spent_us : 1) / CLOCK_SECOND_US;

    printf("%s rows %s, %s in %.1f s (%s rows/s, %.1f MB/s)\n", cli_format_count(counts->rows, rows),
           committed ? "committed" : "accepted", text_format_bytes(counts->bytes, size), seconds,
           cli_format_count((int64_t)((double)counts->rows / seconds), rate), (double)counts->bytes / seconds / 1e6);
    if (counts->known_bodies > 0) {
        printf("%lld of %lld bodies had come before and added nothing\n", (long long)counts->known_bodies,
               (long long)counts->bodies);
    }
    if (counts->rejected > 0) {
        print_rejects(counts, table);
    }
}

static enum err_code choose_options(struct cli *cli, const struct stat *status, struct load_options *out,
                                    struct error *err)
{
    const char *retry_for = cli_flag_value(cli->arguments, "--retry-for");
    struct load_options options = {
        .table = cli_position(cli, 0),
        .wait_committed = cli_flag_given(cli->arguments, "--wait"),
        .threads = (size_t)cli->config.load.threads,
    };
    if (clock_parse_duration(retry_for == NULL ? "10m" : retry_for, &options.retry_for_us, err) != OK) {
        return cli_usage(cli, err, "--retry-for: %s", err->text);
    }
    if (options.wait_committed) { /* they wait for the writer most of the time */
        options.threads *= COMMIT_THREADS_FACTOR;
        options.threads = options.threads < MOST_THREADS ? options.threads : MOST_THREADS;
    }
    TRY(choose_key(cli, status, &options.key, err));
    *out = options;
    return OK;
}

static enum err_code run_load(struct cli *cli, struct error *err)
{
    AUTO(cli_file_close) int file = -1;
    AUTO(load_cutter_done) struct load_cutter cutter = {0};
    AUTO(load_sender_free_auto) struct load_sender *sender = NULL;
    struct load_options options;
    struct load_progress progress;
    struct load_counts counts;
    struct stat status;

    TRY(cli_file_open(cli_position(cli, 1), &file, err));
    if (fstat(file, &status) != 0 || S_ISDIR(status.st_mode)) {
        return err_set(err, ERR_INVALID, "expected a file but found \"%.256s\"", cli_position(cli, 1));
    }
    TRY(choose_options(cli, &status, &options, err));
    cutter = (struct load_cutter){
        .file = file, .target_bytes = (size_t)cli->config.load.body_bytes, .most_bytes = LONGEST_LINE_BYTES};
    TRY(load_sender_start(cli, &options, &sender, err));
    load_progress_begin(&progress, S_ISREG(status.st_mode) ? status.st_size : 0);
    enum err_code code = send_all(&cutter, sender, &progress, err);
    load_progress_end(&progress);
    load_sender_counts(sender, &counts);
    if (code != OK) {
        return err_wrap(err, "after %lld rows", (long long)counts.rows);
    }
    cli->exit_code = counts.rejected > 0 ? CLI_PARTIAL : CLI_DONE;
    int64_t spent_us = clock_monotonic_us() - progress.begun_us;
    if (cli->json) {
        return print_summary_json(&counts, options.key, spent_us, options.wait_committed, err);
    }
    print_summary(&counts, options.table, spent_us, options.wait_committed);
    return OK;
}

static const struct cli_flag load_flags[] = {
    {"--wait", NULL, "until the rows are queryable"},
    {"--key", "PREFIX", "names this load: another one with the same key adds nothing"},
    {"--retry-for", "DURATION", "how long to go on when intake is full or away; 10m unless told otherwise"},
};
static const struct cli_command commands[] = {
    {
        .name = "load",
        .usage = "TABLE FILE|- [--wait] [--key PREFIX]",
        .summary =
            "Sends NDJSON rows to intake. The same file again adds nothing. Exit code 2: some rows were rejected.",
        .examples = "  granary load demo.events events.ndjson --wait\n"
                    "  zcat events.ndjson.gz | granary load demo.events - --key events-2026-11-30\n",
        .flags = load_flags,
        .flag_count = CLI_LENGTH(load_flags),
        .min_positions = 2,
        .max_positions = 2,
        .run = run_load,
    },
};
const struct cli_group cli_group_load = {"Loading", commands, CLI_LENGTH(commands)};
