/* What there is, and what is going on. */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/format.h"
#include "cli/given.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "common/base/text.h"

static const struct cli_column state_columns[] = {
    {"TABLE", "table", CLI_TEXT}, {"STATE", "state", CLI_STATE}, {"PARTITIONS", "partitions", CLI_COUNT},
    {"ROWS", "rows", CLI_COUNT},  {"SIZE", "bytes", CLI_SIZE},   {"OLDEST", "oldest", CLI_TIME},
};
static const struct cli_column queue_columns[] = {
    {"QUEUE", "name", CLI_TEXT},
    {"MESSAGES", "messages", CLI_COUNT},
    {"CONSUMERS", "consumers", CLI_COUNT},
};
static const struct cli_column job_columns[] = {
    {"JOB", "job", CLI_TEXT},         {"FINISHED AGO", "finished_at", CLI_AGE},
    {"EXIT", "exit_code", CLI_COUNT}, {"COUNTS", "counts", CLI_TEXT},
    {"ERROR", "error", CLI_TEXT},
};
static const struct cli_column lock_columns[] = {
    {"LOCK", "kind", CLI_TEXT},        {"OWNER", "owner", CLI_TEXT},      {"COUNT", "count", CLI_COUNT},
    {"OLDEST AGO", "oldest", CLI_AGE}, {"EXPIRED", "expired", CLI_COUNT},
};
static const struct cli_column attempt_columns[] = {
    {"ATTEMPT", "attempt_id", CLI_TEXT}, {"TABLE", "table", CLI_TEXT},         {"TARGET", "target", CLI_TEXT},
    {"STATE", "state", CLI_STATE},       {"DONE", "rows_done", CLI_COUNT},     {"OF", "rows_total", CLI_COUNT},
    {"WORKER", "worker", CLI_TEXT},      {"BEGUN AGO", "created_at", CLI_AGE},
};
static const struct cli_column storage_columns[] = {
    {"STORAGE", "storage", CLI_TEXT},
    {"STATE", "state", CLI_STATE},
    {"FINDING", "finding", CLI_STATE},
    {"MARK", "catalog_mark", CLI_COUNT},
    {"NONCURRENT", "noncurrent_bytes", CLI_SIZE},
    {"URL", "url", CLI_TEXT},
    {"CAN", "can", CLI_TEXT},
};
static const struct cli_column overdue_columns[] = {
    {"PAST RETENTION BUT KEPT", "table", CLI_TEXT},
    {"PARTITIONS", "partitions", CLI_COUNT},
    {"ROWS", "rows", CLI_COUNT},
};

static const struct {
    const char *member;
    const struct cli_column *columns;
    size_t count;
    const char *empty; /* NULL: leave the whole section out */
} sections[] = {
    {"states", state_columns, CLI_LENGTH(state_columns), "no partitions"},
    {"queues", queue_columns, CLI_LENGTH(queue_columns), NULL},
    {"attempts", attempt_columns, CLI_LENGTH(attempt_columns), NULL},
    {"jobs", job_columns, CLI_LENGTH(job_columns), NULL},
    {"locks", lock_columns, CLI_LENGTH(lock_columns), NULL},
    {"storages", storage_columns, CLI_LENGTH(storage_columns), NULL},
    {"overdue", overdue_columns, CLI_LENGTH(overdue_columns), NULL},
};

static void print_warning(const struct cli *cli, const char *text, const char *detail)
{
    printf("%s%s", cli_colour_start(cli, CLI_RED), text);
    if (detail != NULL) {
        (void)fputs(": ", stdout);
        cli_put_tame(detail, stdout);
    }
    printf("%s\n\n", cli_colour_end(cli, CLI_RED));
}

/* A storage that is not the one that the catalog knows stops every deleter. */
static void warn_of_storages(const struct cli *cli, struct json *storages)
{
    for (size_t i = 0; i < json_length(storages); i++) {
        const char *finding = json_as_text(json_find(json_at(storages, i), "finding"), NULL);
        const char *error = json_as_text(json_find(json_at(storages, i), "error"), NULL);
        if (finding != NULL && error != NULL && strcmp(finding, "not_asked") != 0) {
            print_warning(cli, "nothing is deleted until granary recover", error);
        }
    }
}

/* What deleted objects still take is paid for, and no deleter of ours can see it. */
static void tell_noncurrent(struct json *storages)
{
    char size[TEXT_SIZE_BYTES];
    for (size_t i = 0; i < json_length(storages); i++) {
        const char *name = json_as_text(json_find(json_at(storages, i), "storage"), NULL);
        struct json *bytes = json_find(json_at(storages, i), "noncurrent_bytes");
        if (name != NULL && bytes != NULL && json_kind(bytes) == JSON_KIND_INTEGER && json_as_i64(bytes) > 0) {
            (void)fputs("\nnoncurrent versions in ", stdout);
            cli_put_tame(name, stdout);
            printf(" take %s or more; hint: a lifecycle rule NoncurrentVersionExpiration frees them\n",
                   text_format_bytes(json_as_i64(bytes), size));
        }
    }
}

static void print_warnings(const struct cli *cli, struct json *status)
{
    struct json *paused = cli_member(status, "deployment.deleting_paused");
    struct json *store_ok = cli_member(status, "store.ok");

    if (paused != NULL && json_kind(paused) == JSON_KIND_OBJECT) {
        print_warning(cli, "deleting is paused", json_as_text(json_find(paused, "reason"), NULL));
    }
    int64_t missing = json_as_i64(cli_member(status, "cleaner.missing_live"));
    if (missing > 0) {
        char count[CLI_FORMAT_BYTES];
        print_warning(cli, "objects of live partitions are missing from the store", cli_format_count(missing, count));
    }
    if (store_ok != NULL && !json_as_bool(store_ok)) {
        print_warning(cli, "the object store does not answer", json_as_text(cli_member(status, "store.error"), NULL));
    }
    warn_of_storages(cli, json_find(status, "storages"));
}

static enum err_code print_status(const struct cli *cli, struct json *status, struct error *err)
{
    bool first = true;
    if (cli->json) {
        return cli_print_json(status, err);
    }
    print_warnings(cli, status);
    for (size_t i = 0; i < CLI_LENGTH(sections); i++) {
        struct json *array = json_find(status, sections[i].member);
        if (json_length(array) == 0 && sections[i].empty == NULL) {
            continue;
        }
        if (!first) {
            (void)fputc('\n', stdout);
        }
        first = false;
        TRY(cli_print_array(cli, array, sections[i].columns, sections[i].count, sections[i].empty, err));
    }
    tell_noncurrent(json_find(status, "storages"));
    return OK;
}

static enum err_code show_once(struct cli *cli, bool clear, struct error *err)
{
    AUTO(buf_done) struct buf path = {0};
    AUTO(json_free_auto) struct json *status = NULL;

    TRY(cli_path(&path, "/api/v1/status", NULL, "", err));
    TRY(cli_get(cli, &path, &status, err));
    if (clear) {
        (void)fputs("\x1b[H\x1b[2J", stdout);
    }
    return print_status(cli, status, err);
}

static enum err_code run_status(struct cli *cli, struct error *err)
{
    int64_t seconds = 2;
    bool watch = cli_flag_given(cli->arguments, "--watch");
    bool clear = watch && !cli->json && isatty(STDOUT_FILENO) == 1;

    TRY(cli_given_number(cli, "--every", 1, 3600, &seconds, err));
    TRY(show_once(cli, clear, err));
    while (watch && fflush(stdout) == 0) {
        const struct timespec pause = {.tv_sec = (time_t)seconds};
        (void)nanosleep(&pause, NULL); /* a signal ends the program */
        TRY(show_once(cli, clear, err));
    }
    return OK;
}

static const struct cli_flag status_flags[] = {
    {"--watch", NULL, "again and again, until interrupted"},
    {"--every", "SECONDS", "how often --watch looks; 2 unless told otherwise"},
};
static const struct cli_command commands[] = {
    {
        .name = "status",
        .usage = "[--watch [--every SECONDS]]",
        .summary = "Shows states of partitions, queues, merges under way, last runs of jobs, locks, overdue data.",
        .examples = "  granary status\n  granary status --watch --every 5\n  granary status --output json\n",
        .flags = status_flags,
        .flag_count = CLI_LENGTH(status_flags),
        .run = run_status,
    },
};
const struct cli_group cli_group_status = {"Overview", commands, CLI_LENGTH(commands)};
