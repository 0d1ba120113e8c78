/* Flags whose values mean more than their text. Faults end in exit code 64. */
#ifndef GRANARY_CLI_GIVEN_H
#define GRANARY_CLI_GIVEN_H

#include "cli/cli.h"
#include "common/base/buf.h"
#include "common/json/json.h"

/* A time as RFC 3339 text: as it was given ("2026-11-30", "2026-11-30T12:00:00+01:00"), or an age ("-7d": seven days before
 * now, by this machine's clock). NULL when the flag was not given. Texts live as long as the process. */
MUST_CHECK enum err_code cli_given_time(struct cli *cli, const char *flag, const char **out, struct error *err);
/* A whole number; *out is untouched when the flag was not given. */
MUST_CHECK enum err_code cli_given_number(struct cli *cli, const char *flag, int64_t min, int64_t max, int64_t *out,
                                          struct error *err);
/* --from and --to as the query's min and max. */
MUST_CHECK enum err_code cli_given_range(struct cli *cli, struct buf *path, struct error *err);
/* {"reason": ...} of --reason, or of a word about who ran the command, since the API wants one. */
MUST_CHECK enum err_code cli_given_reason(struct cli *cli, struct json *body, struct error *err);
/* "name=value" into an object; "name=" sets null. */
MUST_CHECK enum err_code cli_given_setting(struct cli *cli, const char *text, struct json *settings, struct error *err);

static inline const char *cli_position(const struct cli *cli, size_t index) /* NULL: not given */
{
    return index < cli->arguments->position_count ? cli->arguments->positions[index] : NULL;
}

#define CLI_RANGE_FLAGS                                                 \
    {"--from", "TIME", "first timestamp, included; or an age, as -7d"}, \
    {                                                                   \
        "--to", "TIME", "last timestamp, included; or an age, as -1d"   \
    }
#define CLI_REASON_FLAG                                       \
    {                                                         \
        "--reason", "TEXT", "why; it stands in the audit log" \
    }
#define CLI_LIMIT_FLAG                      \
    {                                       \
        "--limit", "N", "that many at most" \
    }
#define CLI_YES_FLAG                                                     \
    {                                                                    \
        "--yes", NULL, "do it; without this, only say what would happen" \
    }

#endif
