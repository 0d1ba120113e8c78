/* Calls of the admin API. Failures carry the server's message and hint, and the exit code that fits. */
#ifndef GRANARY_CLI_CLIENT_H
#define GRANARY_CLI_CLIENT_H

#include "cli/cli.h"
#include "common/base/buf.h"
#include "common/json/json.h"
#include "common/net/net.h"

/* Begins a path: before + name, percent-encoded, + after. name NULL: nothing between. */
MUST_CHECK enum err_code cli_path(struct buf *path, const char *before, const char *name, const char *after,
                                  struct error *err);
/* Adds a parameter of the query; none when value is NULL. */
MUST_CHECK enum err_code cli_path_add(struct buf *path, const char *parameter, const char *value, struct error *err);

/* One exchange with the admin service. body may be NULL. The answer is owned by the caller. */
MUST_CHECK enum err_code cli_call(struct cli *cli, const char *method, struct buf *path, const struct json *body,
                                  struct json **out, struct error *err);
MUST_CHECK enum err_code cli_get(struct cli *cli, struct buf *path, struct json **out, struct error *err);

/* Calls on_item for each item of a list, page by page. limit 0: all of them. */
typedef enum err_code cli_item_fn(void *context, struct json *item, struct error *err);
MUST_CHECK enum err_code cli_each(struct cli *cli, struct buf *path, int64_t limit, cli_item_fn *on_item, void *context,
                                  struct error *err);

/* Writes a streamed answer to standard output as it comes. */
MUST_CHECK enum err_code cli_stream(struct cli *cli, struct buf *path, struct error *err);

/* Calls on_line for each line of a streamed answer of NDJSON, as it comes. body may be NULL. */
MUST_CHECK enum err_code cli_lines(struct cli *cli, const char *method, struct buf *path, const struct json *body,
                                   cli_item_fn *on_line, void *context, struct error *err);

/* The whole answer, as it comes. */
MUST_CHECK enum err_code cli_fetch(struct cli *cli, struct buf *path, struct buf *out, struct error *err);

/* What the server said about a status that is no success, as an error: its code, message and hint. `who` names the
 * service. Sets cli's exit code where a safety rule refused. */
enum err_code cli_refusal(struct cli *cli, const char *who, const struct net_answer *answer, struct error *err);
/* A connection of one's own: threads share none. */
MUST_CHECK enum err_code cli_connect(const struct cli *cli, struct net_client **out, struct error *err);

#endif
