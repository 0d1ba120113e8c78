/* The schema of "table create", from its flags or from a file. */
#ifndef GRANARY_CLI_TABLE_SCHEMA_H
#define GRANARY_CLI_TABLE_SCHEMA_H

#include "cli/cli.h"
#include "common/json/json.h"

/* Checked before it is sent: what is wrong with it is a matter of usage. */
MUST_CHECK enum err_code cli_table_schema(struct cli *cli, struct json **out, struct error *err);

#endif
