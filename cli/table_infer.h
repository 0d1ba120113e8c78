/* "table create --infer FILE": a table proposed for some data. */
#ifndef GRANARY_CLI_TABLE_INFER_H
#define GRANARY_CLI_TABLE_INFER_H

#include "cli/cli.h"
#include "common/json/json.h"

/* {"columns":[{"name","type","nullable","format","why"}...],"timestamp":..,"rows":..,"note":..,"command":..}: the proposal,
 * with the command that creates it. */
MUST_CHECK enum err_code cli_table_infer(struct cli *cli, const char *path, struct json **out, struct error *err);
/* The schema of a proposal, as the API takes it. */
MUST_CHECK enum err_code cli_table_infer_schema(const struct json *proposal, struct json **out, struct error *err);
MUST_CHECK enum err_code cli_table_infer_print(const struct cli *cli, struct json *proposal, struct error *err);

#endif
