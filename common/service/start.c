/* From the command line to a running process, in this order: arguments, settings, log, signals, the program itself. */
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/log/log.h"
#include "common/service/internal.h"

enum action { ACTION_RUN, ACTION_HELP, ACTION_VERSION, ACTION_PRINT_CONFIG, ACTION_PRINT_MARKDOWN };

struct arguments {
    enum action action;
    int64_t every_us; /* 0: once */
};

#define SHORTEST_EVERY_US INT64_C(10000)

static enum err_code parse_every(const char *text, int64_t *out, struct error *err)
{
    int64_t every_us;
    if (text == NULL) {
        return err_set(err, ERR_INVALID, "expected a duration after --every but found nothing");
    }
    if (clock_parse_duration(text, &every_us, err) != OK) {
        return err_wrap(err, "--every");
    }
    if (every_us < SHORTEST_EVERY_US || every_us == CLOCK_NEVER) {
        return err_set(err, ERR_INVALID, "expected a duration of at least 10ms after --every but found \"%.64s\"",
                       text);
    }
    *out = every_us;
    return OK;
}

static enum err_code parse_arguments(int argc, char **argv, bool is_job, struct arguments *out, struct error *err)
{
    static const struct {
        const char *name;
        enum action action;
    } actions[] = {
        {"--help", ACTION_HELP},
        {"--version", ACTION_VERSION},
        {"--print-config", ACTION_PRINT_CONFIG},
        {"--print-config-markdown", ACTION_PRINT_MARKDOWN},
    };
    for (int i = 1; i < argc; i++) {
        bool found = false;
        for (size_t j = 0; j < sizeof actions / sizeof *actions; j++) {
            if (strcmp(argv[i], actions[j].name) == 0) {
                out->action = actions[j].action;
                found = true;
            }
        }
        if (is_job && strcmp(argv[i], "--every") == 0) {
            i++; /* argv[argc] is NULL */
            TRY(parse_every(argv[i], &out->every_us, err));
        } else if (is_job && strncmp(argv[i], "--every=", 8) == 0) {
            TRY(parse_every(argv[i] + 8, &out->every_us, err));
        } else if (!found) {
            return err_set(err, ERR_INVALID, "expected an option but found \"%.64s\"; hint: --help lists them",
                           argv[i]);
        }
    }
    return OK;
}

/* --- settings ---------------------------------------------------------------------------------------------------- */

/* The program's settings and the frame's own, whose values stand behind the program's config struct. */
struct table {
    struct setting *settings;
    size_t count;
    void *config;
    size_t log_level_offset;
    struct arena *arena;
};

static void table_done(struct table *table)
{
    free(table->settings);
    free(table->config);
    arena_free(table->arena);
}

/* `table` is zeroed; table_done takes it half built. */
static enum err_code table_init(const struct service_program *program, struct table *table, struct error *err)
{
    size_t alignment = alignof(max_align_t);
    table->count = program->setting_count + 1;
    table->log_level_offset = (program->config_size + alignment - 1) / alignment * alignment;
    table->settings = calloc(table->count, sizeof *table->settings);
    table->config = calloc(1, table->log_level_offset + sizeof(const char *));
    table->arena = arena_new(0);
    if (table->settings == NULL || table->config == NULL || table->arena == NULL) {
        return err_no_memory(err, table->log_level_offset);
    }
    if (program->setting_count > 0) {
        memcpy(table->settings, program->settings, program->setting_count * sizeof *table->settings);
    }
    table->settings[program->setting_count] = (struct setting){
        .name = "GRANARY_LOG_LEVEL",
        .kind = SETTING_CHOICE,
        .offset = table->log_level_offset,
        .default_value = "info",
        .choices = "debug|info|warn|error",
        .help = "least level of the lines that are logged",
    };
    return OK;
}

static enum log_level log_level_of(const struct table *table)
{
    const char *text = NULL;
    enum log_level level = LOG_INFO;
    memcpy(&text, (const char *)table->config + table->log_level_offset, sizeof text);
    return text != NULL && log_level_parse(text, &level, NULL) == OK ? level : LOG_INFO;
}

/* One line for each fault: they are read by people, but through the log. */
static void report_faults(struct buf *faults, const struct error *err)
{
    char *rest = NULL;
    const char *text = buf_text(faults);
    if (text == NULL || faults->length_bytes == 0) {
        log_error("bad configuration", LOG_ERR(err));
        return;
    }
    for (char *line = strtok_r((char *)faults->data, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        log_error("bad configuration", LOG_TEXT("fault", line));
    }
}

static enum err_code load(struct table *table, struct error *err)
{
    AUTO(buf_done) struct buf faults = {0};
    enum err_code code = config_load(table->settings, table->count, table->config, table->arena, &faults, err);
    if (code != OK) {
        report_faults(&faults, err);
    }
    return code;
}

/* --- actions ----------------------------------------------------------------------------------------------------- */

static void print_help(const struct service_program *program, const struct table *table)
{
    (void)printf("granary-%s: %s\n\nOptions:\n", program->name, program->summary);
    if (program->is_job) {
        (void)printf("  --every DURATION          run again and again, instead of once\n");
    }
    (void)printf("  --print-config            print the settings in use, without secrets\n"
                 "  --print-config-markdown   print a table of all settings\n"
                 "  --version                 print the version\n"
                 "  --help                    print this\n\nSettings, from the environment:\n");
    config_print_help(table->settings, table->count, stdout);
}

static int run(const struct service_program *program, const struct table *table, int64_t every_us)
{
    struct error err = {0};
    AUTO(service_close_auto) struct service *service = NULL;
    log_init(program->name, log_level_of(table));
    if (service_open(program->name, &service, &err) != OK) {
        log_error("could not start", LOG_ERR(&err));
        return SERVICE_FAILED;
    }
    return program->run(program->spec, service, table->config, every_us);
}

static int act(const struct service_program *program, const struct arguments *arguments, struct table *table)
{
    struct error err = {0};
    switch (arguments->action) {
    case ACTION_HELP: print_help(program, table); return SERVICE_DONE;
    case ACTION_VERSION: (void)printf("granary-%s %s\n", program->name, GRANARY_VERSION); return SERVICE_DONE;
    case ACTION_PRINT_MARKDOWN: config_print_markdown(table->settings, table->count, stdout); return SERVICE_DONE;
    case ACTION_PRINT_CONFIG:
    case ACTION_RUN: break;
    }
    if (load(table, &err) != OK) {
        return SERVICE_BAD_CONFIG;
    }
    if (arguments->action == ACTION_PRINT_CONFIG) {
        config_print_values(table->settings, table->count, table->config, stdout);
        return SERVICE_DONE;
    }
    return run(program, table, arguments->every_us);
}

int service_start(int argc, char **argv, const struct service_program *program)
{
    struct error err = {0};
    struct arguments arguments = {0};
    AUTO(table_done) struct table table = {0};
    log_init(program->name, LOG_INFO);
    if (parse_arguments(argc, argv, program->is_job, &arguments, &err) != OK) {
        log_error("bad arguments", LOG_ERR(&err));
        return SERVICE_BAD_CONFIG;
    }
    if (table_init(program, &table, &err) != OK) {
        log_error("could not start", LOG_ERR(&err));
        return SERVICE_FAILED;
    }
    return act(program, &arguments, &table);
}

/* --- long-running processes -------------------------------------------------------------------------------------- */

static int run_service(const void *context, struct service *service, const void *config, int64_t every_us)
{
    const struct service_spec *spec = context;
    struct error err = {0};
    (void)every_us;
    log_info("starting", LOG_TEXT("version", GRANARY_VERSION), LOG_TEXT("instance", service_instance(service)));
    enum err_code code = spec->run(service, config, &err);
    service_unlisten(service);
    if (code == OK || (code == ERR_STOPPED && service_stopping(service))) {
        log_info("stopped");
        return SERVICE_DONE;
    }
    log_error("service failed", LOG_ERR(&err));
    return SERVICE_FAILED;
}

int service_main(int argc, char **argv, const struct service_spec *spec)
{
    return service_start(argc, argv,
                         &(struct service_program){
                             .name = spec->name,
                             .summary = spec->summary,
                             .settings = spec->settings,
                             .setting_count = spec->setting_count,
                             .config_size = spec->config_size,
                             .run = run_service,
                             .spec = spec,
                         });
}
