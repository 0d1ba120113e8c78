#include "cli/given.h"

#include <string.h>

#include "cli/client.h"
#include "common/base/clock.h"
#include "common/base/text.h"

static enum err_code parse_time(const char *text, int64_t *out_us, struct error *err)
{
    if (*text != '-') {
        return clock_parse(text, strlen(text), out_us, err);
    }
    int64_t age_us = 0;
    TRY(clock_parse_duration(text + 1, &age_us, err));
    int64_t now_us = clock_now_us();
    if (age_us > now_us) {
        return err_set(err, ERR_INVALID, "expected an age within this era but found \"%.64s\"", text);
    }
    *out_us = now_us - age_us;
    return OK;
}

enum err_code cli_given_time(struct cli *cli, const char *flag, const char **out, struct error *err)
{
    const char *text = cli_flag_value(cli->arguments, flag);
    int64_t us = 0;

    if (text == NULL) {
        *out = NULL;
        return OK;
    }
    if (parse_time(text, &us, err) != OK) {
        return cli_usage(cli, err, "%s: %s; hint: %s 2026-11-30, 2026-11-30T12:00:00Z, or -7d", flag, err->text, flag);
    }
    char formatted[CLOCK_TEXT_BYTES];
    const char *copy = arena_strdup(cli->arena, clock_format(us, formatted));
    if (copy == NULL) {
        return err_no_memory(err, sizeof formatted);
    }
    *out = copy;
    return OK;
}

enum err_code cli_given_number(struct cli *cli, const char *flag, int64_t min, int64_t max, int64_t *out,
                               struct error *err)
{
    const char *text = cli_flag_value(cli->arguments, flag);
    if (text != NULL && text_parse_i64(text, min, max, flag, out, err) != OK) {
        return cli_usage(cli, err, "%s", err->text);
    }
    return OK;
}

enum err_code cli_given_range(struct cli *cli, struct buf *path, struct error *err)
{
    const char *from = NULL;
    const char *to = NULL;
    TRY(cli_given_time(cli, "--from", &from, err));
    TRY(cli_given_time(cli, "--to", &to, err));
    TRY(cli_path_add(path, "min", from, err));
    return cli_path_add(path, "max", to, err);
}

enum err_code cli_given_reason(struct cli *cli, struct json *body, struct error *err)
{
    const char *reason = cli_flag_value(cli->arguments, "--reason");
    const char *user = getenv("USER");
    if (reason != NULL) {
        return json_set_string(body, "reason", reason, err);
    }
    AUTO(buf_done) struct buf text = {0};
    TRY(buf_printf(&text, err, "granary %s%s%s", cli->command->name, user == NULL ? "" : " by ",
                   user == NULL ? "" : user));
    return json_set(body, "reason", json_new_string((const char *)text.data, text.length_bytes), err);
}

enum err_code cli_given_setting(struct cli *cli, const char *text, struct json *settings, struct error *err)
{
    char name[128];
    size_t length = strcspn(text, "=");

    if (text[length] != '=' || length == 0 || length >= sizeof name) {
        return cli_usage(cli, err, "expected name=value but found \"%.64s\"; hint: age.max_age=30d", text);
    }
    (void)snprintf(name, sizeof name, "%.*s", (int)length, text);
    const char *value = text + length + 1;
    return json_set_string(settings, name, *value == '\0' ? NULL : value, err);
}
